"""The guard as it runs in a code repository: no commit into what another agent has claimed for itself.

``guard_file`` puts this source and that of ``patterns`` into one file, which git runs under several names: merges and
``git am`` run ``pre-merge-commit`` and ``pre-applypatch`` in place of ``pre-commit``, and a rebase asks nobody before
it is done (``post-rewrite``). It runs without this product, also while no
server is up: standard library only, nothing newer than Python 3.9. It reads the claims from the mail store's database
and creates nothing there; where it cannot, it asks a hub (``guard_hub``). Whatever is wrong with the store, the hub or
the guard itself does not keep anybody from a commit; it is said on stderr.

Whose claims are one's own is told by the name alone: in a project a name means one agent, at home there or a guest.
What a merge brings in as it was committed elsewhere is not looked at again.
"""

# Importing pathlib would take a tenth of the guard's time.
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
    """A project that is guarded here: ``database``, ``log`` and ``key``; ``repository`` (its common git folder) where
    the hook serves several, else empty; ``below`` is the project's folder in the work tree, ``above`` the work tree's
    in the project's folder, both empty when they are the same. Where a hub is asked, ``database`` is empty, ``hub`` is
    its address, and ``token_file`` may be empty."""

    Held: TypeAlias = tuple[str, str, str, float]
    """A claim: holder, pattern, reason, until when."""

    Met: TypeAlias = list[tuple[str, Held]]
    """Paths that are changed, each with a claim on it."""

__all__ = ["EARLIER", "held_by_others", "main", "own_name"]

EARLIER = ".before-agent-mail"
"""Behind a hook's name: the hook of somebody else that was there before."""
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
    """What the hook says to git: 0 lets the change pass. The hook that was there before runs first."""
    hook = os.path.abspath(arguments[0])
    if hook in os.environ.get(_RUNNING, "").split("\n"):  # the earlier hook has called this one
        return 0
    name = os.path.basename(hook)
    rewritten = sys.stdin.buffer.read() if name == _AFTER else None
    status = _earlier(hook, arguments[1:], rewritten)
    if status or (name == _AFTER and arguments[1:] != ["rebase"]):  # `pre-commit` has seen what was amended
        return status
    me = own_name()
    blocked = False
    silent: list[str] = []
    for project in guarded:
        if project.get("hub") in silent:
            continue
        try:
            blocked = _is_blocked(project, me, name, rewritten or b"") or blocked
        except Exception as error:  # noqa: BLE001 - the guard must never be what keeps people from working
            where = project["database"] or project["hub"]
            told = getattr(error, "told", (f"{type(error).__name__}: {error} ({where})", ""))  # a hub's has a hint
            _say(
                f"Agent Mail: claims were not checked: {told[0]}",
                f"Agent Mail：未能检查占用情况，本次提交不受影响。{told[1]}",
            )
            silent += [project["hub"]] if getattr(error, "of_all", False) else []
    return 1 if blocked else 0


def own_name() -> str:
    """As whom somebody commits: AGENT_NAME, else git's author. Only to `pre-commit` does git name the author itself."""
    name = _kept(os.environ.get("AGENT_NAME", "")) or _kept(os.environ.get("GIT_AUTHOR_NAME", ""))
    if name:
        return name
    try:
        return _kept(_git("var", "GIT_AUTHOR_IDENT").rpartition(" <")[0])
    except OSError:  # git knows nobody
        return ""


def _kept(name: str) -> str:
    """A name as the server keeps names: composed characters, no spaces around, nothing that is no text."""
    if name.isascii():
        return name.strip()
    import unicodedata  # most names need none, and the guard is in a hurry

    text = name.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return unicodedata.normalize("NFC", text.strip())


def _earlier(hook: str, arguments: list[str], given: bytes | None) -> int:
    """What the earlier hook says; ``given`` is what it reads, None to let it read what this one was given."""
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
        if error.errno == errno.ENOEXEC:  # no #! line: git, too, leaves it to the shell
            return subprocess.run(["sh", path, *arguments], env=environment, input=given, check=False).returncode
        sys.stderr.write(f"{path}: {error.strerror}\n")
        return 1


def _is_blocked(project: Guarded, me: str, name: str, rewritten: bytes) -> bool:
    now = time.time()
    held = _held(project, now, me)
    if not held:
        return False
    wanted = ("--git-common-dir", "--git-path", "MERGE_HEAD", "--git-path", "rebase-apply/rebasing")
    common, merging, rebasing = _git("rev-parse", *wanted).split("\n")[:3]
    if _is_of_another(project, common):
        return False
    if name == _PATCH and os.path.exists(rebasing):  # told of when it is done, as in any other rebase
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
    """True for a project of another repository that has its hooks in the same folder."""
    return bool(project["repository"]) and os.path.realpath(common) != project["repository"]


# -- the claims


def _held(project: Guarded, now: float, me: str) -> list[Held]:
    if "hub" not in project:
        return held_by_others(project["database"], (project["key"], now, me))
    if project["repository"] and _is_of_another(project, _git("rev-parse", "--git-common-dir").rstrip("\n")):
        return []  # its hub is asked by its own commits alone
    return asked(project["hub"], project["key"], me, project["token_file"])[1]


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


def _touched(merging: str) -> list[str]:
    """The paths that the commit changes, adds or removes.

    In a merge only those that differ from every parent: the others were committed by whoever had them.
    """
    try:
        paths = _changed("diff-index", "HEAD")
    except OSError:
        paths = _changed("diff")  # the first commit; plumbing has no word for what it is compared with
    for parent in _merged(merging):
        paths = sorted({*paths}.intersection(_changed("diff-index", parent)))
    return paths


def _merged(merging: str) -> list[str]:
    """The commits that a merge joins to this one; they are not written down yet when `pre-merge-commit` runs."""
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
    """Those of the paths that lie in the project, as the project has them."""
    below, above = project["below"], project["above"]
    if below:
        return [path[len(below) + 1 :] for path in paths if path.startswith(f"{below}/")]
    return [f"{above}/{path}" if above else path for path in paths]


def _changed(command: str, *revision: str) -> list[str]:
    # Both sides of a rename; submodules, whatever the configuration says; not what is only intended to be added.
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
    """As whom somebody commits; who has not said it is told how, because the claims may be their own."""
    name = _plain(me)
    if _kept(os.environ.get("AGENT_NAME", "")):
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
    """Without what would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _say(english: str, chinese: str) -> None:
    try:
        chinese.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        chinese = ""
    sys.stderr.write(f"{english}\n{chinese}\n" if chinese else f"{english}\n")
