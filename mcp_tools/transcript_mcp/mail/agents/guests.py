"""Guests: agents whose name is used in a project that they are not at home in, by their mail or their claims there.

From then on the name means this agent in the project, for good: nobody else gets it there.
"""

from collections.abc import Iterable

from nanobot_transcript.errors import InvalidLetterError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.agents import names
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.archive import records
from transcript_mcp.mail.store import Archive
from transcript_mcp.mail.values import Agent

__all__ = ["welcome"]


def welcome(db: Sql, project_id: int, key: str, people: Iterable[Agent]) -> dict[str, str]:
    """Note who of ``people`` is a guest in the project ``key``; the profiles of new ones, for the project's archive.

    Raises InvalidLetterError when somebody else has one of the names there, or one that looks like it.
    """
    files: dict[str, str] = {}
    for agent in people:
        if agent.project_id != project_id and _is_new(db, project_id, key, agent):
            files[Archive.profile(agent.name)] = records.profile(agent)
    return files


def _is_new(db: Sql, project_id: int, key: str, agent: Agent) -> bool:
    here = agents.here(db, project_id, agent.name)
    if here is not None and here.id == agent.id:
        return False
    if agents.is_taken(db, project_id, agent.name):
        raise InvalidLetterError(
            f"{agent.name} of {agent.project} cannot have mail or claims in {key}: somebody else has this name there.",
            hint="Work in the project where it is registered, or register another name.",
        )
    like = agents.taken_by_look(db, project_id, agent.name)
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
