"""Registers, finds and lists agents in the database. All functions run inside the caller's transaction."""

import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from nanobot_transcript.errors import ActingRefusedError, InvalidLetterError
from nanobot_transcript.sql.contract import Row, Sql
from transcript_mcp.door.identity import digest, fits
from transcript_mcp.mail.agents import names, projects
from transcript_mcp.mail.archive import jobs, json_files
from transcript_mcp.mail.messages.boxes import LAST
from transcript_mcp.mail.one_line import line
from transcript_mcp.mail.store import PROJECT_FILE, Archive
from transcript_mcp.mail.values import END_OF_TIME, Agent, LetterPage, Project, Registration

__all__ = [
    "ROWS",
    "About",
    "about",
    "agent",
    "by_id",
    "create",
    "here",
    "human",
    "is_stale",
    "is_taken",
    "listing",
    "refused",
    "register",
    "taken_by",
    "token_fits",
    "touch",
    "welcome",
]

ROWS: Final = "SELECT agents.*, projects.human_key FROM agents JOIN projects ON projects.id = agents.project_id"
_TOUCH_EVERY: Final = 30.0
_LONGEST_LINE: Final = 200
_LONGEST_TASK: Final = 10_000


@dataclass(frozen=True, slots=True)
class About:
    """How an agent describes itself: its program, its model, its task. All may be empty."""

    program: str = ""
    model: str = ""
    task: str = ""


def about(program: Any, model: Any, task: Any) -> About:
    """The description, cleaned for storage. Raises InvalidLetterError."""
    return About(
        line("program", program or "", _LONGEST_LINE, empty=True),
        line("model", model or "", _LONGEST_LINE, empty=True),
        line("task description", " ".join(str(task or "").split()), _LONGEST_TASK, empty=True),
    )


def create(db: Sql, key: str, said: About, hint: str | None, now: float) -> Registration:
    """A new agent with a generated name; creates the project for its first agent."""
    project, is_new = projects.find_or_make(db, key, now)
    looks = _looks(db, project.id)
    name = names.pick(lambda new: names.skeleton(new) in looks or is_taken(db, project.id, new), hint)
    return _insert(db, project, name, said, now, is_new)


def register(
    db: Sql, key: str, name: str, said: About, now: float, *, token: str | None, token_needed: bool
) -> Registration:
    """The agent with this name: created if there is none, else updated with what is not empty.

    Also finds guests, that is agents of other projects with mail here. Raises ActingRefusedError when ``token_needed``
    and ``token`` is not that of the existing agent, and InvalidLetterError for a new name that differs from another
    only in case or in letters that look alike.
    """
    project, is_new = projects.find_or_make(db, key, now)
    found = here(db, project.id, name)
    if found is None:
        taken = taken_by(db, project.id, name)
        if taken is not None:
            raise InvalidLetterError(
                f"{taken} is registered in {key}: names that differ only in case are the same name.",
                hint=f"Write it as {taken}, or choose another name.",
            )
        names.refuse_disguise(name)
        like = _taken_by_look(db, project.id, name)
        if like is not None:
            raise InvalidLetterError(
                f"{name} looks like {like}, who is registered in {key}.",
                hint=f"If you are {like}, write the name exactly like that; "
                "otherwise choose a name that nobody mistakes for it.",
            )
        return _insert(db, project, name, said, now, is_new)
    if token_needed and not token_fits(db, found, token):
        raise refused(found.name)
    return _update(db, found, said, now)


def human(db: Sql, project: Project, now: float) -> Agent:
    """The agent as which people write in this project; created when needed."""
    found = here(db, project.id, names.HUMAN)
    return found or _insert(db, project, names.HUMAN, About("person"), now, False).agent


def here(db: Sql, project_id: int, name: str) -> Agent | None:
    """The agent with this name in a project: one registered there, or a guest."""
    row = db.execute(
        # By the case-insensitive index, then by exact comparison.
        f"{ROWS} WHERE agents.project_id = ?1 AND folded = ?3 AND name = ?2",
        (project_id, name, names.folded(name)),
    ).fetchone()
    if row is None:
        row = db.execute(
            f"{ROWS} WHERE agents.id = (SELECT agent_id FROM guests WHERE project_id = ?1 AND folded = ?3)"
            " AND agents.name = ?2",
            (project_id, name, names.folded(name)),
        ).fetchone()
    return None if row is None else agent(row)


def by_id(db: Sql, agent_id: int) -> Agent:
    """The agent with this row id, which must exist."""
    return agent(db.execute(f"{ROWS} WHERE agents.id = ?", (agent_id,)).fetchone())


def taken_by(db: Sql, project_id: int, name: str) -> str | None:
    """The name as its owner in this project spells it; None when it is free."""
    row = db.execute(
        "SELECT name FROM agents WHERE project_id = ?1 AND folded = ?2"
        " UNION ALL SELECT name FROM guests WHERE project_id = ?1 AND folded = ?2",
        (project_id, names.folded(name)),
    ).fetchone()
    return None if row is None else row["name"]


def is_taken(db: Sql, project_id: int, name: str) -> bool:
    """True when an agent or guest in this project has this name, in any case."""
    return taken_by(db, project_id, name) is not None


def _taken_by_look(db: Sql, project_id: int, name: str) -> str | None:
    """The name in this project that looks like ``name``; None when there is none."""
    return _looks(db, project_id).get(names.skeleton(name))


def listing(
    db: Sql,
    project_id: int,
    active_since: float | None,
    limit: int | None = None,
    before: str | None = None,
) -> LetterPage[Agent]:
    """Agents and guests of a project, the most recently active first.

    ``before``: the position from an earlier page. Raises InvalidLetterError for anything else.
    """
    last_active, last_id = _place(before)
    bounds = {"project": project_id, "since": active_since or 0.0, "active": last_active, "id": last_id}
    rows = db.execute(
        f"{ROWS} WHERE {_LISTED} ORDER BY last_active_ts DESC, agents.id LIMIT :limit",
        bounds | {"limit": LAST if limit is None else limit},
    )
    found = [agent(row) for row in rows]
    if limit is None or len(found) < limit or not found:
        return LetterPage(found)
    end = found[-1]
    bounds |= {"active": end.last_active_ts, "id": end.id}
    more = db.execute(f"SELECT count(*) FROM agents WHERE {_LISTED}", bounds).fetchone()[0]
    return LetterPage(found, more, f"{end.last_active_ts!r}/{end.id}")


_LISTED: Final = (
    "(agents.project_id = :project OR agents.id IN (SELECT agent_id FROM guests WHERE project_id = :project))"
    " AND last_active_ts >= :since AND (last_active_ts, -agents.id) < (:active, -:id)"
)


def _place(before: str | None) -> tuple[float, int]:
    """The position after which a page continues: last activity and row id of an agent."""
    if not before:
        return END_OF_TIME, 0
    active, _, row = before.partition("/")
    with suppress(ValueError):
        if isfinite(when := float(active)):
            return when, int(row[:18])
    raise InvalidLetterError(
        f"{before[:40]!r} is not a position in the list of agents.",
        hint="Pass `before` exactly as an earlier answer gave it.",
    )


def touch(db: Sql, agent_id: int, now: float) -> None:
    """Note that an agent is active."""
    db.execute("UPDATE agents SET last_active_ts = ? WHERE id = ? AND last_active_ts < ?", (now, agent_id, now))


def is_stale(known: Agent, now: float) -> bool:
    """True when the stored last activity is old enough to be worth a write."""
    return now - known.last_active_ts >= _TOUCH_EVERY


def token_fits(db: Sql, known: Agent, token: str | None) -> bool:
    """True when this is the agent's token. Compared in constant time."""
    row = db.execute("SELECT token_sha256 FROM agents WHERE id = ?", (known.id,)).fetchone()
    kept = (row["token_sha256"] if row else None) or ""
    return fits(token, kept)


def refused(name: str) -> ActingRefusedError:
    """The error for acting as an agent without its token."""
    return ActingRefusedError(
        f"Acting as {name} needs the token that it got when it was registered.",
        hint="Pass it as agent_token; if it is lost, register under another name.",
    )


def agent(row: Row) -> Agent:
    """An agent from a row of ``ROWS``."""
    return Agent(
        id=row["id"],
        project_id=row["project_id"],
        project=row["human_key"],
        name=row["name"],
        program=row["program"],
        model=row["model"],
        task=row["task"],
        inception_ts=row["inception_ts"],
        last_active_ts=row["last_active_ts"],
    )


def _looks(db: Sql, project_id: int) -> dict[str, str]:
    """The names in a project, by skeleton."""
    # Not stored in a column: skeletons may change with the version, and only new names need them.
    rows = db.execute(
        "SELECT name FROM agents WHERE project_id = ?1 UNION ALL SELECT name FROM guests WHERE project_id = ?1",
        (project_id,),
    )
    return {names.skeleton(row["name"]): row["name"] for row in rows}


def _insert(db: Sql, project: Project, name: str, said: About, now: float, project_is_new: bool) -> Registration:
    token = secrets.token_urlsafe(32)
    agent_id = db.execute(
        "INSERT INTO agents"
        " (project_id, name, program, model, task, inception_ts, last_active_ts, token_sha256, folded)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (project.id, name, said.program, said.model, said.task, now, now, digest(token), names.folded(name)),
    ).fetchone()["id"]
    made = by_id(db, agent_id)
    files = {PROJECT_FILE: json_files.project_file(project)} if project_is_new else {}
    files[Archive.profile(name)] = json_files.profile(made, digest(token))
    job = jobs.enqueue(db, project.id, f"agent: {name} registered ({said.program}, {said.model})", files, now=now)
    return Registration(made, token, job)


def _update(db: Sql, known: Agent, said: About, now: float) -> Registration:
    new = About(said.program or known.program, said.model or known.model, said.task or known.task)
    touch(db, known.id, now)
    if new == About(known.program, known.model, known.task):
        return Registration(by_id(db, known.id), None, None)
    row = db.execute(
        "UPDATE agents SET program = ?, model = ?, task = ? WHERE id = ? RETURNING token_sha256",
        (new.program, new.model, new.task, known.id),
    ).fetchone()
    changed = by_id(db, known.id)
    path, summary = Archive.profile(known.name), f"agent: {known.name} says what it works on"
    for place in db.execute("SELECT project_id FROM guests WHERE agent_id = ?", (known.id,)).fetchall():
        jobs.enqueue(db, place["project_id"], summary, {path: json_files.profile(changed)}, now=now)
    at_home = {path: json_files.profile(changed, row["token_sha256"])}
    return Registration(changed, None, jobs.enqueue(db, known.project_id, summary, at_home, now=now))


def welcome(db: Sql, project_id: int, key: str, people: Iterable[Agent]) -> dict[str, str]:
    """Make those of ``people`` who are not registered in the project ``key`` its guests. Returns files with the
    profiles of new guests, for the project's archive.

    Raises InvalidLetterError when somebody else has such a name there, or one that looks like it.
    """
    files: dict[str, str] = {}
    for agent in people:
        if agent.project_id != project_id and _is_new(db, project_id, key, agent):
            files[Archive.profile(agent.name)] = json_files.profile(agent)
    return files


def _is_new(db: Sql, project_id: int, key: str, agent: Agent) -> bool:
    known = here(db, project_id, agent.name)
    if known is not None and known.id == agent.id:
        return False
    if is_taken(db, project_id, agent.name):
        raise InvalidLetterError(
            f"{agent.name} of {agent.project} cannot have mail or claims in {key}: somebody else has this name there.",
            hint="Work in the project where it is registered, or register another name.",
        )
    like = _taken_by_look(db, project_id, agent.name)
    if like is not None:
        raise InvalidLetterError(
            f"{agent.name} of {agent.project} cannot have mail or claims in {key}: its name looks like {like} there.",
            hint="Work in the project where it is registered, or register another name.",
        )
    db.execute(
        "INSERT INTO guests (project_id, folded, name, agent_id) VALUES (?, ?, ?, ?)",
        (project_id, names.folded(agent.name), agent.name, agent.id),
    )
    return True
