"""Resolves a name in a project to an agent."""

import difflib
from typing import Any, Final

from nanobot_transcript.errors import InvalidLetterError, UnregisteredAgentError
from nanobot_transcript.sql.contract import Row, Sql
from nanobot_transcript.unicode_text import folded
from transcript_mcp.mail.agents import names
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.values import Agent, Project

__all__ = ["most_recent", "resolve"]

_COMPARED: Final = 1000
_LISTED: Final = 10
_BEGINS: Final = "`nanobot-transcript mail send --as-human` begins."


def resolve(db: Sql, project: Project, name: Any, parameter: str) -> Agent:
    """The agent with this exact name: in this project, else in the only other project that has it.

    ``parameter``: the argument's name for errors. Raises UnregisteredAgentError, which suggests similar names, and
    InvalidLetterError.
    """
    if not isinstance(name, str) or not name.strip():
        raise InvalidLetterError(
            f"{parameter} holds {str(name)[:40]!r}, which is not a name.", hint="Give agents' names."
        )
    clean = names.normal(name)
    found = agents.here(db, project.id, clean)
    if found is not None:
        return found
    elsewhere = [] if names.is_reserved(clean) else _elsewhere(db, clean)
    if len(elsewhere) == 1:
        return elsewhere[0]
    if elsewhere:
        raise _ambiguous(project, clean, parameter, elsewhere)
    raise UnregisteredAgentError(
        f"{parameter} not registered: {project.key} has no agent {clean[:80]}.", hint=_hint(db, project, clean)
    )


def most_recent(db: Sql, name: Any) -> Agent:
    """The most recently active agent with this name, in any project. Raises UnregisteredAgentError."""
    clean = names.normal(str(name))
    row = db.execute(
        f"{agents.ROWS} WHERE name = ? ORDER BY last_active_ts DESC, agents.id DESC LIMIT 1", (clean,)
    ).fetchone()
    if row is None:
        nobody = f"No person has written yet; {_BEGINS}" if names.is_reserved(clean) else ""
        raise UnregisteredAgentError(
            f"agent not registered: no project has an agent {clean[:80]}.",
            hint=nobody or _like(clean, _everybody(db)) or "Names are case-sensitive.",
        )
    return agents.agent(row)


def _elsewhere(db: Sql, name: str) -> list[Agent]:
    rows = db.execute(f"{agents.ROWS} WHERE name = ? ORDER BY last_active_ts DESC LIMIT ?", (name, _LISTED))
    return [agents.agent(row) for row in rows]


def _ambiguous(project: Project, name: str, parameter: str, found: list[Agent]) -> UnregisteredAgentError:
    places = ", ".join(f"{each.name} in {each.project}" for each in found)
    return UnregisteredAgentError(
        f"{parameter} not registered: {project.key} has no agent {name}, and several other projects do: {places}.",
        hint="Give the project of the one you mean as project_key.",
    )


def _hint(db: Sql, project: Project, name: str) -> str:
    if names.is_reserved(name):
        there = agents.here(db, project.id, names.HUMAN)
        return f"Do you mean {names.HUMAN}?" if there else f"No person has written in this project yet; {_BEGINS}"
    at_home = db.execute(
        "SELECT name FROM agents WHERE project_id = ? ORDER BY last_active_ts DESC LIMIT ?", (project.id, _COMPARED)
    ).fetchall()
    at_home += db.execute("SELECT name FROM guests WHERE project_id = ? LIMIT ?", (project.id, _COMPARED)).fetchall()
    like = _like(name, at_home) or _like(name, _everybody(db))
    return like or "Create it first with create_agent or register_agent, or check project_key; list_agents shows all."


def _everybody(db: Sql) -> list[Row]:
    return db.execute("SELECT name FROM agents ORDER BY last_active_ts DESC LIMIT ?", (_COMPARED,)).fetchall()


def _like(name: str, rows: list[Row]) -> str:
    """A question that suggests similar names; empty if there are none."""
    by_folded = {folded(row["name"]): row["name"] for row in rows}
    like = difflib.get_close_matches(folded(name), by_folded, n=3, cutoff=0.6)
    return f"Do you mean {' or '.join(by_folded[each] for each in like)}? Names are case-sensitive." if like else ""
