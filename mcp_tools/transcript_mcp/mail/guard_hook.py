"""The pre-commit guard as it runs in a code repository: no commit into what another agent has claimed for itself.

``guard_file`` puts this source and that of ``matching`` into one file. It runs without this product, also while no
server is up: standard library only, nothing newer than Python 3.9. It reads the claims from the mail store's database
and creates nothing there. Whatever is wrong with the store or the guard itself does not keep anybody from a commit; it
is said on stderr.

Whose claims are one's own is told by the name alone: in a project a name means one agent, at home there or a guest.
"""

# Importing pathlib would take a tenth of the guard's time.
# ruff: noqa: PTH100, PTH109, PTH110, PTH116, PTH118, PTH120, PTH123
from __future__ import annotations

import errno
import os
import subprocess
import sys
import time

from transcript_mcp.mail.matching import covered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    Guarded: TypeAlias = Mapping[str, str]
    """A project that is guarded here: ``database``, ``log`` and ``key``; ``repository`` (its common git folder) where
    the hook serves several, else empty; ``below`` is the project's folder in the work tree, ``above`` the work tree's
    in the project's folder, both empty when they are the same."""

    Held: TypeAlias = tuple[str, str, str, float]
    """A claim: holder, pattern, reason, until when."""

__all__ = ["EARLIER", "held_by_others", "main"]

EARLIER = "pre-commit.before-agent-mail"
_RUNNING = "AGENT_MAIL_GUARD_RUNNING"
_BYPASS = "AGENT_MAIL_BYPASS"
_SHOWN = 20
_ATTEMPTS = 4
_PAUSE = 0.005
_CLAIMS = (
    "SELECT agent_name, path, reason, expires_ts FROM claims JOIN projects ON projects.id = project_id"
    " WHERE human_key = ? AND exclusive AND released_ts IS NULL AND expires_ts > ? AND agent_name <> ?"
    " ORDER BY claims.id"
)


def main(guarded: Iterable[Guarded], arguments: list[str]) -> int:
    """What the hook says to git: 0 lets the commit pass. The hook that was there before runs first."""
    folder = os.path.dirname(os.path.abspath(arguments[0]))
    if os.environ.get(_RUNNING) == folder:  # the earlier hook has called this one
        return 0
    status = _earlier(folder, arguments[1:])
    if status:
        return status
    me = os.environ.get("AGENT_NAME") or os.environ.get("GIT_AUTHOR_NAME") or ""
    blocked = False
    for project in guarded:
        try:
            blocked = _is_blocked(project, me) or blocked
        except Exception as error:  # noqa: BLE001 - the guard must never be what keeps people from working
            _say(
                f"Agent Mail: claims were not checked: {type(error).__name__}: {error} ({project.get('database')})",
                "Agent Mail：未能检查占用情况，本次提交不受影响。",
            )
    return 1 if blocked else 0


def _earlier(folder: str, arguments: list[str]) -> int:
    path = os.path.join(folder, EARLIER)
    command = [path]
    if not os.access(path, os.X_OK):
        # husky starts the hooks of its users with sh, executable or not; git skips those that are not.
        if not (os.path.exists(path) and os.path.exists(os.path.join(folder, "_", "h"))):
            return 0
        command = ["sh", "-e", path]
    environment = {**os.environ, _RUNNING: folder}
    try:
        return subprocess.call([*command, *arguments], env=environment)
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # no #! line: git, too, leaves it to the shell
            return subprocess.call(["sh", path, *arguments], env=environment)
        sys.stderr.write(f"{path}: {error.strerror}\n")
        return 1


def _is_blocked(project: Guarded, me: str) -> bool:
    now = time.time()
    held = held_by_others(project["database"], (project["key"], now, me))
    if not held:
        return False
    common, merged = _git("rev-parse", "--git-common-dir", "--git-path", "MERGE_HEAD").split("\n")[:2]
    if project["repository"] and os.path.realpath(common) != project["repository"]:
        return False
    paths = _touched(project, merged)
    met = [(paths[there], held[here]) for there, here in covered([claim[1] for claim in held], paths)]
    if met and os.environ.get(_BYPASS, "").lower() not in ("", "0", "false", "no"):
        _log(project, me, now, met)
    elif met:
        _say(*_explained(met, me))
        return True
    return False


# -- the claims


def held_by_others(database: str, bound: tuple[str, float, str]) -> list[Held]:
    """Other agents' active exclusive claims.

    A database in WAL mode lacks the files beside it while nobody has it open, and whoever opens it as usual makes them
    anew. So it is read as a file that does not change then, and once more when it did.
    """
    import sqlite3

    failure: Exception = OSError("the database changed whenever it was read")
    for _ in range(_ATTEMPTS):
        before = _state(database)
        try:
            rows = _rows(database, bound, in_use=bool(before[1]))
        except (sqlite3.Error, OSError) as error:
            failure = error
            time.sleep(_PAUSE)  # somebody may just be opening or closing it
            continue
        if before[1] or _state(database) == before:
            return rows
    raise failure


def _state(database: str) -> tuple[tuple[int, int, int], int]:
    """What tells one content of the database from another, and the size of what is not yet in it."""
    found = os.stat(database)
    try:
        waiting = os.stat(f"{database}-wal").st_size
    except FileNotFoundError:
        waiting = 0
    return (found.st_ino, found.st_size, found.st_mtime_ns), waiting


def _rows(database: str, bound: tuple[str, float, str], *, in_use: bool) -> list[Held]:
    import sqlite3

    if in_use and not os.path.exists(f"{database}-shm"):
        raise OSError("the database was left unfinished; starting the server once mends it")
    quoted = database.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    mode = "mode=ro" if in_use else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quoted}?{mode}", uri=True, timeout=2.0)
    try:
        return connection.execute(_CLAIMS, bound).fetchall()
    finally:
        connection.close()


# -- the commit


def _touched(project: Guarded, merged: str) -> list[str]:
    """The paths in the project that the commit changes, adds or removes.

    In a merge only those that differ from every parent: the others were committed by whoever had them.
    """
    try:
        paths = _changed("diff-index", "HEAD")
    except OSError:
        paths = _changed("diff")  # the first commit; plumbing has no word for what it is compared with
    if os.path.exists(merged):
        with open(merged, encoding="ascii") as parents:
            for parent in parents.read().split():
                paths = sorted({*paths}.intersection(_changed("diff-index", parent)))
    below, above = project["below"], project["above"]
    if below:
        return [path[len(below) + 1 :] for path in paths if path.startswith(f"{below}/")]
    return [f"{above}/{path}" if above else path for path in paths]


def _changed(command: str, *revision: str) -> list[str]:
    # Both sides of a rename; submodules, whatever the configuration says; not what is only intended to be added.
    options = ("--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "--ita-invisible-in-index", "-z")
    return [path for path in _git(command, *options, *revision, "--").split("\0") if path]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    if done.returncode:
        raise OSError(f"git {arguments[0]}: {os.fsdecode(done.stderr).strip()}")
    return os.fsdecode(done.stdout)


# -- what people are told


def _explained(met: list[tuple[str, Held]], me: str) -> tuple[str, str]:
    lines = ["Agent Mail: this commit touches files that other agents have claimed:"]
    for path, (holder, pattern, reason, expires_ts) in met[:_SHOWN]:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(expires_ts))
        why = f" ({_plain(reason)})" if reason else ""
        lines.append(f"  {_plain(path)}: {_plain(holder)} holds {_plain(pattern)} until {until}{why}")
    if len(met) > _SHOWN:
        lines.append(f"  and {len(met) - _SHOWN} more")
    who, chinese_who = _identity(me, met[0][1][0])
    lines += [
        who,
        "Ask the holder to release them, wait, or leave these files out.",
        "To commit all the same (it is logged): AGENT_MAIL_BYPASS=1 git commit ...",
    ]
    chinese = (
        "Agent Mail：上述文件已被其他智能体独占，提交已中止。请联系对方释放、等待到期，或把这些文件移出本次提交；"
        f"确需提交：AGENT_MAIL_BYPASS=1 git commit …（会记入日志）。{chinese_who}"
    )
    return "\n".join(lines), chinese


def _identity(me: str, holder: str) -> tuple[str, str]:
    """As whom somebody commits; who has not said it is told how, because the claims may be their own."""
    name = _plain(me)
    if os.environ.get("AGENT_NAME"):
        return f"You commit as {name}.", f"你的身份：{name}。"
    shown = _plain(holder)
    quoted = f"'{shown}'" if " " in shown else shown
    own = f"AGENT_NAME={quoted} git commit"
    return (
        f"You commit as {name or 'nobody'}, git's author: AGENT_NAME is not set. Are the claims your own? {own} ...",
        f"你的身份：{name or '未知'}（git 的提交作者，没有设置 AGENT_NAME）。如果占用者就是你：{own} …",
    )


def _log(project: Guarded, me: str, now: float, met: list[tuple[str, Held]]) -> None:
    import json

    files = [{"path": path, "holder": claim[0], "pattern": claim[1]} for path, claim in met]
    entry = {"ts": now, "agent": me, "project": project["key"], "work_tree": os.getcwd(), "files": files}
    line = json.dumps(entry).encode("ascii") + b"\n"
    log = os.open(project["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        os.write(log, line)
    finally:
        os.close(log)
    passed = len({claim for _, claim in met})
    _say(
        f"Agent Mail: passed {passed} claim{'' if passed == 1 else 's'} of other agents; noted in {project['log']}",
        "Agent Mail：已跳过占用检查并记入日志。",
    )


def _plain(text: str) -> str:
    """Without what would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _say(english: str, chinese: str) -> None:
    try:
        chinese.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        chinese = ""
    sys.stderr.write(f"{english}\n{chinese}\n" if chinese else f"{english}\n")
