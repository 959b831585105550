"""The guard hook: blocks commits that change files which another agent has claimed exclusively.

``guard_file`` puts this source and that of ``patterns`` into one file, which git runs under several names: merges and
``git am`` run ``pre-merge-commit`` and ``pre-applypatch`` instead of ``pre-commit``, and a rebase runs no hook before
it is done (``post-rewrite``). It runs without this product and without a server, so it uses the standard library only,
and nothing newer than Python 3.9. It reads the claims from the mail store's database, read-only, or asks a hub
(``guard_hub``). Problems with the store, the hub or the guard itself never block a commit; they are reported on stderr.

Own claims are recognised by name alone: in a project a name means one agent or guest. Changes that a merge takes over
unchanged from another parent were checked when they were committed, and are not checked again.
"""

# No pathlib: importing it would take a tenth of the guard's time.
# ruff: noqa: PTH100, PTH109, PTH110, PTH116, PTH118, PTH119, PTH120, PTH123
from __future__ import annotations

import errno
import os
import subprocess
import sys
import time

from transcript_mcp.mail.claims.guard_hub import asked
from transcript_mcp.mail.claims.patterns import covered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    Guarded: TypeAlias = Mapping[str, str]
    """A guarded project: ``database``, ``log`` and ``key``. ``repository``: its common git folder if several
    repositories share the hook, else empty. ``below``: the project's folder in the work tree; ``above``: the work
    tree's in the project's folder; both empty when they are the same. If a hub is asked, ``database`` is empty, ``hub``
    is its address, and ``token_file`` may be empty."""

    Held: TypeAlias = tuple[str, str, str, float]
    """A claim: holder, pattern, reason, until when."""

    Met: TypeAlias = list[tuple[str, Held]]
    """Changed paths, each with a claim on it."""

__all__ = ["EARLIER", "held_by_others", "main", "own_name"]

EARLIER = ".before-agent-mail"
"""The suffix of an earlier hook that the guard has replaced."""
_RUNNING = "AGENT_MAIL_GUARD_RUNNING"
_BYPASS = "AGENT_MAIL_BYPASS"
_MERGE = "pre-merge-commit"
_PATCH = "pre-applypatch"
_AFTER = "post-rewrite"
_SHOWN = 20
_ATTEMPTS = 4
_PAUSE = 0.005
_CLAIMS = (
    "SELECT agent_name, path, reason, expires_ts FROM claims JOIN projects ON projects.id = project_id"
    " WHERE human_key = ? AND exclusive AND released_ts IS NULL AND expires_ts > ? AND agent_name <> ?"
    " ORDER BY claims.id"
)


def main(guarded: Iterable[Guarded], arguments: list[str]) -> int:
    """The exit status for git: 0 lets the change pass. The earlier hook runs first."""
    hook = os.path.abspath(arguments[0])
    if hook in os.environ.get(_RUNNING, "").split("\n"):  # the earlier hook calls this one: avoid a loop
        return 0
    name = os.path.basename(hook)
    rewritten = sys.stdin.buffer.read() if name == _AFTER else None
    status = _earlier(hook, arguments[1:], rewritten)
    if status or (name == _AFTER and arguments[1:] != ["rebase"]):  # `pre-commit` has checked an amended commit
        return status
    me = own_name()
    blocked = False
    silent: list[str] = []
    for project in guarded:
        if project.get("hub") in silent:
            continue
        try:
            blocked = _is_blocked(project, me, name, rewritten or b"") or blocked
        except Exception as error:  # noqa: BLE001 - a broken guard must never stop people from working
            where = project["database"] or project["hub"]
            told = getattr(error, "told", (f"{type(error).__name__}: {error} ({where})", ""))  # a hub's has a hint
            _say(
                f"Agent Mail: claims were not checked: {told[0]}",
                f"Agent Mail：未能检查占用情况，本次提交不受影响。{told[1]}",
            )
            silent += [project["hub"]] if getattr(error, "of_all", False) else []
    return 1 if blocked else 0


def own_name() -> str:
    """The committer's name: AGENT_NAME, else git's author. Git sets GIT_AUTHOR_NAME only for `pre-commit`."""
    name = _normalised(os.environ.get("AGENT_NAME", "")) or _normalised(os.environ.get("GIT_AUTHOR_NAME", ""))
    if name:
        return name
    try:
        return _normalised(_git("var", "GIT_AUTHOR_IDENT").rpartition(" <")[0])
    except OSError:  # git has no author configured
        return ""


def _normalised(name: str) -> str:
    """A name normalised as by the server: NFC, no spaces around it, no lone surrogates."""
    if name.isascii():
        return name.strip()
    import unicodedata  # rarely needed, and imports cost time

    text = name.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", text.strip())


def _earlier(hook: str, arguments: list[str], given: bytes | None) -> int:
    """The exit status of the earlier hook. ``given``: its stdin, None to inherit ours."""
    path = f"{hook}{EARLIER}"
    command = [path]
    if not os.access(path, os.X_OK):
        # husky starts the hooks of its users with sh, executable or not; git skips those that are not.
        if not (os.path.exists(path) and os.path.exists(os.path.join(os.path.dirname(hook), "_", "h"))):
            return 0
        command = ["sh", "-e", path]
    environment = {**os.environ, _RUNNING: "\n".join((os.environ.get(_RUNNING, ""), hook))}
    try:
        return subprocess.run([*command, *arguments], env=environment, input=given, check=False).returncode
    except OSError as error:
        if error.errno == errno.ENOEXEC:  # no #! line: run by the shell, as git does
            return subprocess.run(["sh", path, *arguments], env=environment, input=given, check=False).returncode
        sys.stderr.write(f"{path}: {error.strerror}\n")
        return 1


def _is_blocked(project: Guarded, me: str, name: str, rewritten: bytes) -> bool:
    now = time.time()
    held = _claims_of_others(project, now, me)
    if not held:
        return False
    wanted = ("--git-common-dir", "--git-path", "MERGE_HEAD", "--git-path", "rebase-apply/rebasing")
    common, merging, rebasing = _git("rev-parse", *wanted).split("\n")[:3]
    if _is_of_another(project, common):
        return False
    if name == _PATCH and os.path.exists(rebasing):  # a rebase, which post-rewrite checks
        return False
    paths = _in_project(project, _brought(rewritten) if name == _AFTER else _touched(merging))
    met = [(paths[there], held[here]) for there, here in covered([claim[1] for claim in held], paths)]
    if met and name == _AFTER:
        _say(*_noticed(met))
    elif met and os.environ.get(_BYPASS, "").lower() not in ("", "0", "false", "no"):
        _log(project, me, now, met)
    elif met:
        _say(*_explained(met, me, name))
        return True
    return False


def _is_of_another(project: Guarded, common: str) -> bool:
    """True for a project of another repository that shares the hooks folder."""
    return bool(project["repository"]) and os.path.realpath(common) != project["repository"]


# -- the claims


def _claims_of_others(project: Guarded, now: float, me: str) -> list[Held]:
    if "hub" not in project:
        return held_by_others(project["database"], (project["key"], now, me))
    if project["repository"] and _is_of_another(project, _git("rev-parse", "--git-common-dir").rstrip("\n")):
        return []  # only commits of its own repository ask its hub
    return asked(project["hub"], project["key"], me, project["token_file"])[1]


def held_by_others(database: str, bound: tuple[str, float, str]) -> list[Held]:
    """Other agents' active exclusive claims.

    While nobody has a WAL database open, its -wal and -shm files do not exist, and opening it normally would create
    them. So it is then opened as ``immutable``, and read again if it has changed meanwhile.
    """
    import sqlite3

    failure: Exception = OSError("the database changed whenever it was read")
    for _ in range(_ATTEMPTS):
        before = _state(database)
        try:
            rows = _rows(database, bound, in_use=bool(before[1]))
        except (sqlite3.Error, OSError) as error:
            failure = error
            time.sleep(_PAUSE)  # another process may be opening or closing it right now
            continue
        if before[1] or _state(database) == before:
            return rows
    raise failure


def _state(database: str) -> tuple[tuple[int, int, int], int]:
    """The stamp of the database file, and the size of its write-ahead log."""
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


def _touched(merging: str) -> list[str]:
    """The paths that the commit changes, adds or removes.

    In a merge only those that differ from every parent: others were checked when they were committed.
    """
    try:
        paths = _changed("diff-index", "HEAD")
    except OSError:
        paths = _changed("diff")  # the first commit: diff-index has nothing to compare with, --cached diff does
    for parent in _merged(merging):
        paths = sorted({*paths}.intersection(_changed("diff-index", parent)))
    return paths


def _merged(merging: str) -> list[str]:
    """The other parents of a merge. When `pre-merge-commit` runs, MERGE_HEAD may not exist yet; then git names them in
    GITHEAD_* variables."""
    if not os.path.exists(merging):
        return [name[len("GITHEAD_") :] for name in os.environ if name.startswith("GITHEAD_")]
    with open(merging, encoding="ascii") as parents:
        return parents.read().split()


def _brought(rewritten: bytes) -> list[str]:
    """The paths that rewritten commits change, from git's lines of old and new commit."""
    commits = dict.fromkeys(line.split()[1] for line in rewritten.splitlines())
    options = ("--stdin", "--root", "-c", "-r", "--no-commit-id", "--name-only", "--no-renames", "-z")
    found = _git("diff-tree", *options, "--ignore-submodules=none", given=b"\n".join([*commits, b""]))
    return sorted({*found.split("\0")} - {""})


def _in_project(project: Guarded, paths: list[str]) -> list[str]:
    """The paths inside the project, relative to the project."""
    below, above = project["below"], project["above"]
    if below:
        return [path[len(below) + 1 :] for path in paths if path.startswith(f"{below}/")]
    return [f"{above}/{path}" if above else path for path in paths]


def _changed(command: str, *revision: str) -> list[str]:
    # Both sides of a rename; submodules, whatever the configuration says; no entries of `git add --intent-to-add`.
    options = ("--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "--ita-invisible-in-index", "-z")
    return [path for path in _git(command, *options, *revision, "--").split("\0") if path]


def _git(*arguments: str, given: bytes = b"") -> str:
    done = subprocess.run(["git", *arguments], input=given, capture_output=True, check=False)
    if done.returncode:
        raise OSError(f"git {arguments[0]}: {os.fsdecode(done.stderr).strip()}")
    return os.fsdecode(done.stdout)


# -- what people are told


def _explained(met: Met, me: str, name: str) -> tuple[str, str]:
    what, out, again = "this commit", "leave these files out", "git commit ..."
    if name == _MERGE:
        what, out = "this merge", "give it up: git merge --abort"
    elif name == _PATCH:
        what, out, again = "this patch", "give it up: git am --abort", "git am --continue"
    who, chinese_who = _identity(me, met[0][1][0], again)
    lines = [
        f"Agent Mail: {what} touches files that other agents have claimed:",
        *_listed(met),
        who,
        f"Ask the holder to release them, wait, or {out}.",
        f"To commit all the same (it is logged): {_BYPASS}=1 {again}",
    ]
    chinese_again = again.replace("...", "…")
    chinese = (
        "Agent Mail：上述文件已被其他智能体独占，提交已中止。请联系对方释放、等待到期，或把这些文件移出本次提交；"
        f"确需提交：{_BYPASS}=1 {chinese_again}（会记入日志）。{chinese_who}"
    )
    return "\n".join(lines), chinese


def _noticed(met: Met) -> tuple[str, str]:
    lines = [
        "Agent Mail: the commits that were rewritten touch files that other agents have claimed:",
        *_listed(met),
        "A rebase cannot be refused. Talk to the holder before you push.",
    ]
    chinese = "Agent Mail：变基后的提交改动了其他智能体独占的文件（见上）。变基无法拦下，推送前请先联系对方。"
    return "\n".join(lines), chinese


def _listed(met: Met) -> list[str]:
    lines: list[str] = []
    for path, (holder, pattern, reason, expires_ts) in met[:_SHOWN]:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(expires_ts))
        why = f" ({_plain(reason)})" if reason else ""
        lines.append(f"  {_plain(path)}: {_plain(holder)} holds {_plain(pattern)} until {until}{why}")
    if len(met) > _SHOWN:
        lines.append(f"  and {len(met) - _SHOWN} more")
    return lines


def _identity(me: str, holder: str, again: str) -> tuple[str, str]:
    """The committer's name, and how to set it if it is not set: the claims may be their own."""
    name = _plain(me)
    if _normalised(os.environ.get("AGENT_NAME", "")):
        return f"You commit as {name}.", f"你的身份：{name}。"
    shown = _plain(holder)
    quoted = f"'{shown}'" if " " in shown else shown
    own = f"AGENT_NAME={quoted} {again}"
    chinese_own = own.replace("...", "…")
    return (
        f"You commit as {name or 'nobody'}, git's author: AGENT_NAME is not set. Are the claims your own? {own}",
        f"你的身份：{name or '未知'}（git 的提交作者，没有设置 AGENT_NAME）。如果占用者就是你：{chinese_own}",
    )


def _log(project: Guarded, me: str, now: float, met: Met) -> None:
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
    """The text without terminal control characters."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _say(english: str, chinese: str) -> None:
    try:
        chinese.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        chinese = ""
    sys.stderr.write(f"{english}\n{chinese}\n" if chinese else f"{english}\n")
