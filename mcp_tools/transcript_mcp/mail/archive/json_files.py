"""The JSON files of the archive: projects, profiles of agents, receipts and claims."""

from typing import Any

import msgspec

from transcript_mcp.mail.claims.values import FileClaim
from transcript_mcp.mail.values import Agent, Project, iso

__all__ = ["ClaimRecord", "claim", "profile", "project_file", "receipt"]


def project_file(project: Project) -> str:
    """``project.json``."""
    return _json(
        {
            "human_key": project.key,
            "slug": project.slug,
            "created": iso(project.created_ts),
            "created_ts": project.created_ts,
        }
    )


def profile(agent: Agent, token_sha256: str | None = None) -> str:
    """``agents/<Name>/profile.json``. ``project`` is the agent's own; in another project's archive it is a guest.

    The token's hash is safe to publish, because the token has 256 random bits; a rebuilt database needs it.
    """
    record: dict[str, Any] = {
        "name": agent.name,
        "project": agent.project,
        "program": agent.program,
        "model": agent.model,
        "task": agent.task,
        "inception": iso(agent.inception_ts),
        "inception_ts": agent.inception_ts,
    }
    if token_sha256 is not None:
        record["token_sha256"] = token_sha256
    return _json(record)


def receipt(message_id: str, agent: str, read_ts: float, ack_ts: float | None) -> str:
    """``agents/<Name>/receipts/<id>.json``."""
    return _json(
        {
            "message_id": message_id,
            "agent": agent,
            "read": iso(read_ts),
            "read_ts": read_ts,
            "ack": None if ack_ts is None else iso(ack_ts),
            "ack_ts": ack_ts,
        }
    )


class ClaimRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a claim's file that are read back; others are for people."""

    project: str
    agent: str
    path: str
    created_ts: float
    expires_ts: float
    agent_project: str | None = None
    exclusive: bool = True
    reason: str = ""
    released_ts: float | None = None


def claim(claim: FileClaim) -> str:
    """``claims/<sha1 of the path>[.<holder>].json``, which is read as a ``ClaimRecord``."""
    return _json(
        {
            "project": claim.project,
            "agent": claim.agent,
            "agent_project": claim.home,
            "path": claim.path,
            "exclusive": claim.exclusive,
            "reason": claim.reason,
            "created": iso(claim.created_ts),
            "expires": iso(claim.expires_ts),
            "released": None if claim.released_ts is None else iso(claim.released_ts),
            "created_ts": claim.created_ts,
            "expires_ts": claim.expires_ts,
            "released_ts": claim.released_ts,
        }
    )


def _json(record: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"
