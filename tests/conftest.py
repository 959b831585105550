"""Shared by all tests: stores, worker processes that always end, the soak repetitions and their table."""

import gc
import logging
import os
import signal
from collections.abc import Callable, Generator, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import forking
from support.examples import FEW, MANY
from support.procs import Worker

from nanobot_transcript import GroupTranscriptStore

pytest_plugins = ["support.light_lark", "support.needs", "support.postgres", "support.engines"]

MakeStore = Callable[..., GroupTranscriptStore]
_OLDEST_SDK = "1.26.0"
"""It leaves it to the garbage collector to close its streams."""
_UNCLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SoakRow = Callable[..., None]
SpawnWorker = Callable[..., Worker]


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts background jobs with Ctrl-C ignored, and children inherit that: tests that send it need it heard.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # What our commands say is compared in English, and whoever runs the tests may speak Chinese.
    for name in ("LC_ALL", "LC_MESSAGES"):
        os.environ.pop(name, None)
    os.environ["LANG"] = "C.UTF-8"
    settings.load_profile(MANY if _is_soak(config) else FEW)
    # Side by side nobody says so, and no test would fail.
    if missing := [path for path in config.args if not Path(path.partition("::")[0]).exists()]:
        raise pytest.UsageError(f"There is no {', '.join(missing)}.")


def _is_soak(config: pytest.Config) -> bool:
    return config.getoption("markexpr") == "soak"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: the garbage collector need not look at it again and again. And
    it need not look after every 700 objects: seldom costs a tenth less."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the full repetitions, and what needs Node, unless the command line asks with ``-m soak`` and so on.

    Hypothesis' tests are both: some examples always, all of them with the full repetitions.
    """
    if _is_soak(config):
        for item in items:
            if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
                item.add_marker(pytest.mark.soak)
    if version("mcp") == _OLDEST_SDK:
        for item in items:
            if item.get_closest_marker("mcp"):
                item.add_marker(_UNCLOSED)
    asked = str(config.getoption("markexpr") or "")
    unasked = [marker for marker in ("soak", "conformance") if marker not in asked]
    left_out = [item for item in items if any(map(item.get_closest_marker, unasked))]
    kept = [item for item in items if not any(map(item.get_closest_marker, unasked))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.items and not session.config.option.collectonly:
        forking.begin()


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    """``run`` sets up logging for its process, here that of all tests, with a stream that ends with its own test."""
    loggers = [logging.getLogger(name) for name in ("", "nanobot_transcript", "transcript_channels")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture
def base_dir(tmp_path: Path) -> Path:
    """Where a store lies; not made yet."""
    return tmp_path / "transcripts"


@pytest.fixture
def make_store(base_dir: Path) -> Iterator[MakeStore]:
    """``make_store(segment_bytes=2000)``: one more store object on ``base_dir``, as another process would have."""
    opened: list[GroupTranscriptStore] = []

    def make(**options: Any) -> GroupTranscriptStore:
        opened.append(GroupTranscriptStore(base_dir, **options))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def soak_row(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> SoakRow:
    """``soak_row(kills=60, lost=0)``: one row of the table at the end of ``make soak``."""

    def add(**figures: object) -> None:
        text = "  ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
        record_property("soak_row", (request.node.name, text))

    return add


@pytest.fixture
def spawn() -> Iterator[SpawnWorker]:
    """``spawn("append", place=..., ...)`` starts an action of ``support.worker`` in another process."""
    workers: list[Worker] = []

    def start(action: str, **options: Any) -> Worker:
        worker = Worker(action, options)
        workers.append(worker)
        return worker

    yield start
    for worker in workers:
        worker.end()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the soak tests counted, one row each."""
    rows = [
        (name, outcome, text)
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        for key, value in getattr(report, "user_properties", [])
        if key == "soak_row" and report.when == "call"
        for name, text in [value]
        if outcome == "failed" or "soak" in report.keywords
    ]
    if not rows:
        return
    terminalreporter.section("soak table")
    width = max(len(name) for name, _, _ in rows)
    for name, outcome, text in rows:
        terminalreporter.write_line(f"{name:<{width}}  {outcome:<6}  {text}")
