"""Files of the archive that are JSON: who an agent is, what a project is, what became of a message."""

from typing import Any

import msgspec

from transcript_mcp.mail.moments import iso
from transcript_mcp.mail.values import Agent, Project

__all__ = ["profile", "project_file", "receipt"]


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
    """``agents/<Name>/profile.json``. ``project`` is the agent's home; in another project's archive it is a guest.

    The hash of a random token of 256 bits gives nothing away; with it a rebuilt database knows the agent again.
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


def _json(record: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"
