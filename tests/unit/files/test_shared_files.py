"""The files behind leases and budgets: private, bounded, and never trusted."""

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import PATIENCE

from nanobot_transcript import StoreError, StoreUnavailableError, UnsafePathError
from nanobot_transcript.turns import FileBudget, FileLease, Grant


class Clock:
    """A clock that goes when told."""

    def __init__(self) -> None:
        self.now = 1_763_600_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def files(base_dir: Path, kind: str = "leases") -> list[Path]:
    return sorted((base_dir / ".state" / "locks" / kind).glob("*.json"))


def damage(base_dir: Path, body: bytes) -> None:
    for path in files(base_dir):
        path.write_bytes(body)


def test_folders_and_files_are_private(base_dir: Path) -> None:
    old = os.umask(0)
    try:
        FileLease(base_dir).acquire("a", "one", 60)
        FileBudget(base_dir).take("a", limit=1, window=60)
    finally:
        os.umask(old)
    for path in (base_dir / ".state" / "locks").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_looking_makes_nothing(base_dir: Path) -> None:
    assert FileLease(base_dir).current("a") is None
    assert not base_dir.exists()


def test_names_do_not_reach_the_disk(base_dir: Path) -> None:
    FileLease(base_dir).acquire("../../escape", "one", 60)
    assert "escape" not in "".join(path.read_text() + path.name for path in files(base_dir))


def test_many_names_share_few_files_that_do_not_grow(base_dir: Path, clock: Clock) -> None:
    lease = FileLease(base_dir, clock=clock)
    for number in range(400):
        lease.acquire(f"name {number}", "one", 1)
        clock.now += 10
    assert len(files(base_dir)) <= 16
    assert sum(path.stat().st_size for path in files(base_dir)) < 40_000


def test_a_lease_that_ran_out_can_be_had(base_dir: Path, clock: Clock) -> None:
    lease = FileLease(base_dir, clock=clock)
    first = lease.acquire("a", "one", 10)
    clock.now += 9.9
    assert lease.acquire("a", "two", 10) is None
    clock.now += 0.2
    second = lease.acquire("a", "two", 10)
    assert first
    assert second
    assert second.token > first.token


def test_a_clock_that_was_set_back_does_not_lock_a_name_for_ever(base_dir: Path, clock: Clock) -> None:
    lease = FileLease(base_dir, clock=clock)
    first = lease.acquire("a", "one", 10)
    clock.now -= 86_400
    assert lease.current("a") is None
    second = lease.acquire("a", "two", 10)
    assert first
    assert second
    assert second.token > first.token


@pytest.mark.parametrize("body", [b"", b"garbage", b"\xff\xfe", b"[]", b'{"v": 1, "facts": 7}', b"{" * 5000])
def test_a_damaged_file_is_begun_anew(base_dir: Path, body: bytes) -> None:
    lease = FileLease(base_dir)
    lease.acquire("a", "one", 60)
    damage(base_dir, body)
    assert lease.current("a") is None
    assert lease.acquire("a", "two", 60) is not None
    assert lease.acquire("a", "three", 60) is None


@pytest.mark.parametrize("fact", [{}, {"token": "x"}, {"holder": 1, "token": 1, "expires": "x", "ttl": None}])
def test_a_damaged_fact_is_nobodys(base_dir: Path, fact: dict[str, Any]) -> None:
    lease = FileLease(base_dir)
    lease.acquire("a", "one", 60)
    (path,) = files(base_dir)
    document = json.loads(path.read_text())
    document["facts"] = dict.fromkeys(document["facts"], fact)
    path.write_text(json.dumps(document))
    assert lease.current("a") is None
    assert isinstance(lease.acquire("a", "two", 60), Grant)


def test_a_newer_file_is_left_untouched(base_dir: Path) -> None:
    lease = FileLease(base_dir)
    lease.acquire("a", "one", 60)
    body = b'{"v": 99, "other": true}'
    damage(base_dir, body)
    for call in (lambda: lease.acquire("a", "two", 60), lambda: lease.current("a")):
        with pytest.raises(StoreUnavailableError, match="newer version") as caught:
            call()
        assert caught.value.hint
    assert files(base_dir)[0].read_bytes() == body


@pytest.mark.parametrize("what", ["locks", "locks/leases", "file", "lock"])
def test_a_link_in_the_way_is_refused(base_dir: Path, tmp_path: Path, what: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    lease = FileLease(base_dir)
    if what in ("file", "lock"):
        lease.acquire("a", "one", 60)
        (path,) = files(base_dir) if what == "file" else [files(base_dir)[0].with_suffix(".lock")]
        path.unlink()
        elsewhere.write_text("mine")
    else:
        path = base_dir / ".state" / what
        path.parent.mkdir(parents=True)
        elsewhere.mkdir()
    path.symlink_to(elsewhere)
    with pytest.raises(UnsafePathError):
        lease.acquire("a", "one", 60)
    assert list(elsewhere.iterdir()) == [] if elsewhere.is_dir() else elsewhere.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        FileLease(tmp_path / "file" / "store").acquire("a", "one", 60)


ELSEWHERE = """
import sys, time
real, off = time.time, float(sys.argv[2])
time.time = lambda: real() + off  # before our modules are loaded: this process's clock is wrong
from nanobot_transcript.turns import FileBudget, FileLease
lease = FileLease(sys.argv[1], wait=60)
print(lease.current("held") is not None, lease.acquire("held", "two", 60) is not None)
deadline = time.monotonic() + 60
while not (taken := lease.acquire("left", "two", 60)) and time.monotonic() < deadline:
    time.sleep(0.01)
print(taken is not None, FileBudget(sys.argv[1], wait=60).take("calls", limit=1, window=3600))
"""


@pytest.mark.parametrize("off", ["180", "-180", "0"])
def test_processes_whose_clocks_are_minutes_apart_agree_on_what_is_held(base_dir: Path, off: str) -> None:
    lease = FileLease(base_dir)
    lease.acquire("held", "one", 3600)
    lease.acquire("left", "one", 0.05)
    assert FileBudget(base_dir).take("calls", limit=1, window=3600)
    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, base_dir, off], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    assert told.stdout.split() == ["True", "False", "True", "False"]


@pytest.mark.parametrize("number", ["1e308", "9" * 40, "-1e308", "18446744073709551615"])
@pytest.mark.parametrize("field", ["expires", "ttl", "token"])
def test_a_number_that_cannot_be_true_holds_nothing_for_ever(
    base_dir: Path, clock: Clock, field: str, number: str
) -> None:
    lease = FileLease(base_dir, clock=clock)
    lease.acquire("a", "one", 10)
    (path,) = files(base_dir)
    document = json.loads(path.read_text())
    fact = next(iter(document["facts"].values()))
    fact[field], document["last"] = json.loads(number), 2**64 - 1
    path.write_text(json.dumps(document))
    clock.now += 8 * 86_400
    assert lease.current("a") is None
    assert isinstance(lease.acquire("a", "two", 10), Grant)
    clock.now += 86_400
    lease.acquire("b", "two", 10)
    assert number not in path.read_text()


def test_a_fact_that_never_runs_out_is_removed(base_dir: Path) -> None:
    lease = FileLease(base_dir)
    lease.acquire("a", "one", 60)
    (path,) = files(base_dir)
    document = json.loads(path.read_text())
    document["facts"]["f" * 32] = {"expires": 1e308}
    path.write_text(json.dumps(document))
    assert lease.current("a") is not None
    grant = lease.current("a")
    assert grant
    assert lease.renew(grant, 60)
    assert "1e308" not in path.read_text()
    assert "1e+308" not in path.read_text()


Takings = list[tuple[float, int]]


@given(
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 3)), max_size=60),
    st.integers(1, 6),
    st.sampled_from([1.0, 10.0, 60.0]),
)
def test_no_window_ever_holds_more_than_the_limit(
    tmp_path_factory: pytest.TempPathFactory, takings: Takings, limit: int, window: float
) -> None:
    clock = Clock()
    budget = FileBudget(tmp_path_factory.mktemp("budget"), clock=clock)
    granted: list[tuple[float, int]] = []
    for pause, cost in takings:
        clock.now += pause
        if budget.take("calls", cost, limit=limit, window=window):
            granted.append((clock.now, cost))
        recent = [cost for at, cost in granted if at > clock.now - window]
        assert sum(recent) <= limit


def test_a_budget_comes_back_one_twentieth_late_at_most(base_dir: Path, clock: Clock) -> None:
    budget = FileBudget(base_dir, clock=clock)
    assert budget.take("calls", 5, limit=5, window=100)
    clock.now += 99
    assert not budget.take("calls", limit=5, window=100)
    clock.now += 7
    assert budget.take("calls", 5, limit=5, window=100)


def test_a_damaged_budget_grants_from_the_beginning(base_dir: Path) -> None:
    budget = FileBudget(base_dir)
    budget.take("calls", limit=1, window=60)
    for path in files(base_dir, "budgets"):
        document = json.loads(path.read_text())
        key = next(iter(document["facts"]))
        document["facts"][key]["used"] = {"x": 1, "9" * 5000: 2, "-1": "y", "1": None}
        path.write_text(json.dumps(document))
    assert budget.take("calls", limit=1, window=60)


def test_a_call_that_waits_too_long_says_so(base_dir: Path) -> None:
    lease = FileLease(base_dir, wait=0.01)
    lease.acquire("a", "one", 60)
    with files(base_dir)[0].with_suffix(".lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreError) as caught:
            lease.acquire("a", "two", 60)
    assert caught.value.code == "store_busy"
