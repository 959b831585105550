"""What a lease promises, whatever keeps it."""

import threading
import time
from collections.abc import Callable

import pytest
from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript import ConfigError, StoreBusyError
from nanobot_transcript.coordination.contract import Grant, Lease, agent_of, new_holder

MakeLease = Callable[[], Lease]
LONG = 60.0
SHORT = 0.02

ODD_NAMES = ["", "..", "a/b", "\0", "回答 oc_1", "\ud83d", "x" * 10_000, "A", "a", "settled a", " a"]


def granted(grant: Grant | None) -> Grant:
    assert grant is not None
    return grant


def taken_over(lease: Lease, name: str, holder: str) -> Grant:
    """The lease as soon as the present one has run out."""
    won: list[Grant] = []

    def take() -> bool:
        grant = lease.acquire(name, holder, LONG)
        if grant is not None:
            won.append(grant)
        return bool(won)

    until(take, "the lease ran out")
    return won[0]


def test_only_the_first_one_gets_it(lease: Lease, make_lease: MakeLease) -> None:
    grant = granted(lease.acquire("a", "one", LONG))
    assert (grant.name, grant.holder, grant.succeeds) == ("a", "one", None)
    assert make_lease().acquire("a", "two", LONG) is None


def test_the_holder_itself_does_not_get_it_twice(lease: Lease) -> None:
    granted(lease.acquire("a", "one", LONG))
    assert lease.acquire("a", "one", LONG) is None


def test_everybody_can_see_who_holds_it(lease: Lease, make_lease: MakeLease) -> None:
    before = time.time()
    grant = granted(lease.acquire("a", "one", LONG))
    seen = granted(make_lease().current("a"))
    assert (seen.holder, seen.token) == ("one", grant.token)
    assert before + LONG - 1 <= seen.expires_at <= time.time() + LONG + 1


def test_nobody_holds_what_nobody_acquired(lease: Lease) -> None:
    assert lease.current("a") is None


def test_a_released_lease_can_be_had_at_once(lease: Lease, make_lease: MakeLease) -> None:
    lease.release(granted(lease.acquire("a", "one", LONG)))
    assert lease.current("a") is None
    assert granted(make_lease().acquire("a", "two", LONG)).succeeds is None


def test_a_lease_that_ran_out_can_be_had_and_names_the_one_before(lease: Lease) -> None:
    granted(lease.acquire("a", "one", SHORT))
    assert taken_over(lease, "a", "two").succeeds == "one"


def test_tokens_grow_with_every_grant_of_a_name(lease: Lease, make_lease: MakeLease) -> None:
    tokens = []
    for number in range(20):
        grant = granted((lease if number % 2 else make_lease()).acquire("a", "one", LONG))
        tokens.append(grant.token)
        lease.release(grant)
    ran_out = granted(lease.acquire("a", "one", SHORT))
    tokens += [ran_out.token, taken_over(lease, "a", "two").token]
    assert tokens == sorted(set(tokens))


def test_renewing_keeps_the_token_and_moves_the_end(lease: Lease) -> None:
    grant = granted(lease.acquire("a", "one", 5))
    renewed = granted(lease.renew(grant, LONG))
    assert renewed.token == grant.token
    assert renewed.expires_at > grant.expires_at
    assert granted(lease.current("a")).expires_at == pytest.approx(renewed.expires_at, abs=0.01)


def test_a_lease_that_ran_out_and_that_nobody_took_is_given_back(lease: Lease) -> None:
    grant = granted(lease.acquire("a", "one", SHORT))
    until(lambda: lease.current("a") is None, "the lease ran out")
    assert granted(lease.renew(grant, LONG)).token == grant.token
    assert lease.acquire("a", "two", LONG) is None


def test_who_was_succeeded_cannot_renew(lease: Lease) -> None:
    first = granted(lease.acquire("a", "one", SHORT))
    taken_over(lease, "a", "two")
    assert lease.renew(first, LONG) is None


def test_who_was_succeeded_cannot_release_it_from_the_successor(lease: Lease) -> None:
    first = granted(lease.acquire("a", "one", SHORT))
    second = taken_over(lease, "a", "two")
    lease.release(first)
    assert granted(lease.current("a")).token == second.token


def test_releasing_twice_harms_nobody(lease: Lease) -> None:
    grant = granted(lease.acquire("a", "one", LONG))
    lease.release(grant)
    lease.release(grant)
    granted(lease.acquire("a", "two", LONG))
    lease.release(grant)
    assert granted(lease.current("a")).holder == "two"


def test_a_released_lease_is_not_renewed(lease: Lease) -> None:
    grant = granted(lease.acquire("a", "one", LONG))
    lease.release(grant)
    assert lease.renew(grant, LONG) is None


def test_any_text_is_a_name_and_no_two_meet(lease: Lease) -> None:
    held = {name: granted(lease.acquire(name, f"holder {at}", LONG)) for at, name in enumerate(ODD_NAMES)}
    for at, name in enumerate(ODD_NAMES):
        assert granted(lease.current(name)).holder == f"holder {at}"
        assert held[name].name == name


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), 1e12])
def test_a_time_that_makes_no_sense_is_refused(lease: Lease, ttl: float) -> None:
    with pytest.raises(ConfigError):
        lease.acquire("a", "one", ttl)
    grant = granted(lease.acquire("a", "one", LONG))
    with pytest.raises(ConfigError):
        lease.renew(grant, ttl)
    assert granted(lease.current("a")).expires_at == pytest.approx(grant.expires_at, abs=0.01)


def test_of_many_threads_one_gets_each_name(make_lease: MakeLease) -> None:
    names = [f"name {number}" for number in range(30)]
    won: list[str] = []
    start = threading.Barrier(4)

    def work(holder: str) -> None:
        lease = make_lease()
        start.wait()
        for name in names:
            until_asked(lease, name, holder, won)

    threads = [threading.Thread(target=work, args=(f"holder {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(won) == sorted(names)


def until_asked(lease: Lease, name: str, holder: str, won: list[str]) -> None:
    """Ask once and be told, however often the others keep this one waiting too long."""
    while True:
        try:
            if lease.acquire(name, holder, LONG) is not None:
                won.append(name)
        except StoreBusyError:
            continue
        return


def test_a_holder_names_its_agent_and_is_never_the_same() -> None:
    one, two = new_holder("Al#pha"), new_holder("Al#pha")
    assert one != two
    assert agent_of(one) == agent_of(two) == "Al#pha"
    assert agent_of("plain") == "plain"
