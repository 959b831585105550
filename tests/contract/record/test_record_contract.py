"""The record as a whole: what it takes, and that it can be closed and used again."""

from collections.abc import Callable

import pytest
from contract.conftest import MakeRecord

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.record import Record
from nanobot_transcript.relevance import Decision, Reason, Stage

KEY = "feishu:oc_1"


def sizes(record: Record) -> dict[str, tuple[int, int]]:
    """Bytes and number of each part that every record has."""
    usage = record.usage()
    found = {each.part: (each.bytes, each.count) for each in usage}
    assert len(found) == len(usage)
    assert all(each.where for each in usage)
    return {part: found[part] for part in ("transcripts", "outbox", "decisions")}


def tell_store(record: Record, name: str) -> None:
    assert record.store.append(KEY, "user", "hello", "on_ada", name)


def tell_members(record: Record, name: str) -> None:
    record.members.remember_person("on_ada", name)
    assert record.members.name_of("on_ada") == name


def hold_lease(record: Record, name: str) -> None:
    grant = record.leases.acquire(name, "Alpha#1", 600)
    assert grant is not None
    record.leases.release(grant)


def take_budget(record: Record, name: str) -> None:
    assert record.budgets.take(name, limit=1, window=600)


def put_mark(record: Record, name: str) -> None:
    record.marks.put("session", {"cursor": name}, "a")
    assert (record.marks.get("session", "a") or {})["cursor"] == name


def join_processes(record: Record, _: str) -> None:
    assert record.processes.alive(record.processes.join())


def tell_signals(record: Record, name: str) -> None:
    record.signals.tell(name)


def post(record: Record, name: str) -> None:
    assert record.outbox.status(record.outbox.post(KEY, name)).state == "queued"


def decide(record: Record, name: str) -> None:
    assert record.decisions.write(KEY, Decision(True, Reason.NAMED, 1.0, Stage.CERTAIN, "Alpha", name))
    assert record.decisions.read(KEY)[-1]["message_id"] == name


USES: dict[str, Callable[[Record, str], None]] = {
    "store": tell_store,
    "members": tell_members,
    "leases": hold_lease,
    "budgets": take_budget,
    "marks": put_mark,
    "processes": join_processes,
    "signals": tell_signals,
    "outbox": post,
    "decisions": decide,
}
"""How each part is used."""


def test_each_part_takes_more_when_there_is_more_in_it(make_record: MakeRecord) -> None:
    record, other = make_record(), make_record()
    used: list[str] = []
    for part, use in (("transcripts", tell_store), ("outbox", post), ("decisions", decide)):
        assert [name for name, size in sizes(other).items() if size != (0, 0)] == used
        use(record, "om_1")
        used.append(part)
    before = sizes(other)
    assert all(min(size) > 0 for size in before.values())
    record.store.append(KEY, "user", "x" * 10_000, "on_ada", "om_2")
    record.store.append("feishu:oc_2", "user", "hello", "on_ada", "om_3")
    size, chats = sizes(other)["transcripts"]
    assert size > before["transcripts"][0] + 10_000
    assert (before["transcripts"][1], chats) == (1, 2)


def test_a_record_that_is_well_says_so_and_can_be_used(make_record: MakeRecord) -> None:
    record, other = make_record(), make_record()
    with pytest.raises(StoreUnavailableError) as refused:
        record.require(exists=True)
    assert refused.value.hint
    for begin in (False, True):
        if begin:
            tell_store(record, "om_1")
            record.require(exists=True)
        record.require(written=True)
        assert {found.severity for found in record.check()} <= {"ok", "info"}
        assert [chat.session_key for chat in other.store.chats()] == ([KEY] if begin else [])


@pytest.mark.parametrize("part", USES)
def test_each_part_of_a_record_that_was_closed_twice_opens_again(make_record: MakeRecord, part: str) -> None:
    first, second = make_record(), make_record()
    for number in range(3):
        for record in (first, second):
            USES[part](record, f"{number} {record is first}")
        first.close()
        first.close()
    second.close()


def test_what_another_one_has_open_stays_so_when_a_record_is_closed(make_record: MakeRecord) -> None:
    first, second = make_record(), make_record()
    name = second.processes.join()
    grant = second.leases.acquire("a", "Alpha#1", 600)
    assert grant is not None
    for use in USES.values():
        use(first, "om_1")
    for _ in range(2):
        first.close()
    assert second.leases.renew(grant, 600) is not None
    assert [entry["content"] for entry in second.store.get_recent(KEY)] == ["hello"]
    assert second.outbox.waiting("Alpha") == [KEY]
    assert first.processes.alive(name)
