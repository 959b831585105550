"""Agent Mail through the hub over HTTP: sending with the audit in git on and off, inboxes, searches, what git costs.

The clients are plain JSON over keep-alive connections. "off" is the same hub with ``mail.archive.enabled: false``.
"""

import http.client
import json
import shutil
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.context import Context
from benchmarks.hubs import Served, resident, served
from benchmarks.table import Bar, Row
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Draft

__all__ = ["mail"]

_SENT = 1000
_SIZES = (1000, 10_000)
_MANY = 100_000
_CLIENTS = 16
_BURST = 1600
_PROJECT = "/bench/backend"
_TEXTS = (
    "The users endpoint takes four seconds when the cache is cold; see POL-358 for the trace and the build plan.",
    "周三的发布窗口改到下午三点，消息队列的迁移脚本已经合并，请大家确认各自的配置。",
    "Rolled back the migration. The nightly job is green again, and the dashboard shows the old numbers.",
)

_Call = Callable[..., Any]


def mail(context: Context) -> Generator[Row]:
    """Three kinds of rows for each size, then searches among many messages."""
    for size in _SIZES[: 1 if context.quick else None]:
        with context.folder() as folder:
            place = Path(folder)
            context.say(f"writing {size:,} letters")
            store = _filled(place / "filled", size)

            def once(store: Path = store, place: Path = place) -> dict[str, dict[str, float]]:
                return {kind: _measured(store, place / kind, kind) for kind in ("on", "off")}

            yield from _rows(
                size, context.measured(f"mail, {size:,} messages", once, min(context.runs, 3 if size == _SENT else 2))
            )
    if not context.quick:
        with context.folder() as folder:
            context.say(f"writing {_MANY:,} letters")
            yield from _searches(_filled(Path(folder) / "many", _MANY))


def _rows(size: int, runs: list[dict[str, dict[str, float]]]) -> Generator[Row]:
    bars = {
        "send p50": ("ms", Bar("<=", 5, of="value")),
        "send p99": ("ms", Bar("<=", 40, of="value")),
        "send, 16 clients": ("/s", Bar(">=", 200, 400, of="value")),
        "inbox p50": ("ms", Bar("<=", 5, of="value")),
        "search p50": ("ms", Bar("<=", 5, of="value")),
        "search in Chinese p50": ("ms", Bar("<=", 5, of="value")),
        "memory": ("MB", Bar("<=", 120, of="value")),
    }
    for name, (unit, bar) in bars.items():
        yield _row(f"mail {name}, {size:,} messages", unit, name, runs, bar)
    slower = [run["off"]["send, 16 clients"] / run["on"]["send, 16 clients"] for run in runs]
    took = [1000 / run["on"]["send, 16 clients"] for run in runs]
    off = median(1000 / run["off"]["send, 16 clients"] for run in runs)
    yield Row(f"mail send with git, {size:,} messages", "ms", median(took), "off", off, slower, Bar("<=", 1.6))
    for name, unit, bar in (
        ("archive lag", "s", Bar("<=", 5, of="value")),
        (".git per message", "KB", Bar("<=", 12, of="value")),
    ):
        values = [run["on"][name] for run in runs]
        yield Row(f"mail {name}, {size:,} messages", unit, median(values), "—", None, values, bar)


def _row(title: str, unit: str, name: str, runs: list[dict[str, dict[str, float]]], bar: Bar) -> Row:
    on, off = ([run[kind][name] for run in runs] for kind in ("on", "off"))
    return Row(title, unit, median(on), "off", median(off), [a / b for a, b in zip(on, off, strict=True)], bar)


def _filled(store: Path, size: int) -> Path:
    """A store with ``size`` messages between ten agents, none of them archived yet.

    The first thousand are sent, the others are copies of their rows: sending them all would take minutes.
    """
    with AgentMail(store) as box:
        agents = [box.register_agent(_PROJECT, f"Agent{number}", "bench").agent for number in range(10)]
        for number in range(_SENT):
            sender, other = agents[number % 10], agents[(number + 1) % 10]
            text = _TEXTS[number % len(_TEXTS)]
            box.send(_PROJECT, sender, Draft(f"Message {number}", f"{text}\n\n{'x ' * 200}", [other.name]))
        box.database.write(lambda db: _copy(db, size // _SENT - 1))
        box.database.write(lambda db: db.execute("DELETE FROM archive_jobs"))
    return store


def _copy(db: Sql, times: int) -> None:
    """Each message so many times more, with ids of their own, to the same recipients; triggers fill the index."""
    columns = (
        "project_id, subject, from_agent, created_ts, importance, ack_required, attachments_json, sender_id, reply_to,"
        " digest, recipients_json, body_md"
    )
    for number in range(times):
        db.execute(
            f"INSERT INTO messages (id, thread_id, {columns})"
            f" SELECT id || '-' || ?1, thread_id || '-' || ?1, {columns} FROM messages WHERE seq <= ?2 ORDER BY seq",
            (number, _SENT),
        )
        db.execute(
            "INSERT INTO message_recipients (message_id, agent_name, kind, read_ts, ack_ts, agent_id, seq, urgent)"
            " SELECT copied.id, agent_name, kind, read_ts, ack_ts, agent_id, copied.seq, urgent"
            " FROM messages AS sent CROSS JOIN message_recipients ON message_id = sent.id"
            " CROSS JOIN messages AS copied ON copied.id = sent.id || '-' || ?1 WHERE sent.seq <= ?2",
            (number, _SENT),
        )


def _measured(filled: Path, place: Path, kind: str) -> dict[str, float]:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(filled, place)
    with _served(place, archive=kind == "on") as hub:
        call = hub.client()
        letter = {"project_key": _PROJECT, "from_agent": "Agent0", "to": ["Agent1"], "subject": "Build"}
        letter["body_md"] = f"{_TEXTS[0]}\n\n{'y ' * 200}"
        times = _times(300, lambda: call("send_message", **letter))
        began = time.perf_counter()
        _burst(hub, letter)
        took = time.perf_counter() - began
        lag = hub.until_archived(place) if kind == "on" else 0.0
        whole = 300 + _BURST
        return {
            "send p50": median(times),
            "send p99": quantiles(times, n=100)[98],
            "send, 16 clients": _BURST / took,
            "archive lag": lag,
            ".git per message": _git_size(place) / 1024 / whole,
            "inbox p50": median(
                _times(200, lambda: call("check_my_messages", project_key=_PROJECT, agent_name="Agent1"))
            ),
            "search p50": median(_times(200, lambda: call("search_messages", project_key=_PROJECT, query="migration"))),
            "search in Chinese p50": median(
                _times(200, lambda: call("search_messages", project_key=_PROJECT, query="发布窗口"))
            ),
            "memory": hub.memory(),
        }


def _searches(store: Path) -> Generator[Row]:
    with _served(store, archive=False) as hub:
        call = hub.client()
        for name, query in (("search", "migration"), ("search in Chinese", "发布窗口"), ("inbox", "")):
            tool, more = (
                ("search_messages", {"query": query}) if query else ("check_my_messages", {"agent_name": "Agent1"})
            )
            times = _times(200, lambda tool=tool, more=more: call(tool, project_key=_PROJECT, **more))
            bar = Bar("<=", 10, of="value")
            yield Row(f"mail {name} p50, {_MANY:,} messages", "ms", median(times), "—", None, [median(times)], bar)


def _times(count: int, work: Callable[[], object]) -> list[float]:
    times: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return times


def _burst(hub: "_Hub", letter: dict[str, Any]) -> None:
    failures: list[Exception] = []

    def send() -> None:
        try:
            call = hub.client()
            for _ in range(_BURST // _CLIENTS):
                call("send_message", **letter)
        except Exception as error:  # noqa: BLE001 - raised below, where somebody sees it
            failures.append(error)

    threads = [threading.Thread(target=send, daemon=True) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _git_size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.glob("projects/*/repo/.git/**/*") if path.is_file())


class _Hub:
    def __init__(self, hub: Served) -> None:
        self._served = hub

    def client(self) -> _Call:
        """A connection of its own, and a function that calls a tool over it."""
        connection = http.client.HTTPConnection("127.0.0.1", self._served.port, timeout=60)

        def call(tool: str, **arguments: Any) -> Any:
            asked = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            }
            connection.request("POST", "/mcp/mail", json.dumps(asked), {"Content-Type": "application/json"})
            result = json.loads(connection.getresponse().read())["result"]
            assert not result["isError"], result
            return result

        return call

    def until_archived(self, place: Path) -> float:
        """Seconds until nothing waits for the archive."""
        began = time.perf_counter()
        with AgentMail(place) as box:
            while box.reader.read(_waits, False):
                time.sleep(0.02)
        return time.perf_counter() - began

    def memory(self) -> float:
        """Megabytes that the hub has in use."""
        return resident(self._served.pid)


def _waits(connection: Any) -> bool:
    from transcript_mcp.mail.archive.jobs import has_waiting

    return has_waiting(connection)


@contextmanager
def _served(store: Path, *, archive: bool) -> Iterator[_Hub]:
    with served(store.parent, mail__store=str(store), mail__archive__enabled=str(archive).lower()) as hub:
        yield _Hub(hub)
