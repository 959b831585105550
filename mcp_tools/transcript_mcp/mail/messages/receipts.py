"""When a recipient read a message, and when it acknowledged it."""

from collections.abc import Sequence

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import LetterNotFoundError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.archive import jobs, records
from transcript_mcp.mail.store import Archive
from transcript_mcp.mail.values import Agent, Receipt

__all__ = ["note"]


def note(db: Sql, agent: Agent, message_ids: Sequence[str], now: float, *, ack: bool) -> list[Receipt]:
    """Note that these messages were read, with ``ack`` also acknowledged; the first time counts.

    Raises LetterNotFoundError for one that is not in the agent's inbox; then none is noted.
    """
    agents.touch(db, agent.id, now)
    return [_note(db, agent, message_id, now, ack=ack) for message_id in dict.fromkeys(map(well_formed, message_ids))]


def _note(db: Sql, agent: Agent, message_id: str, now: float, *, ack: bool) -> Receipt:
    row = db.execute(
        "SELECT kind, read_ts, ack_ts, project_id FROM message_recipients"
        " JOIN messages ON messages.seq = message_recipients.seq WHERE message_id = ? AND agent_id = ?",
        (message_id, agent.id),
    ).fetchone()
    if row is None:
        raise LetterNotFoundError(
            f"{agent.name} has no message {str(message_id)[:80]} in its inbox.",
            hint="check_my_messages shows the ids of what was received.",
        )
    read_ts = now if row["read_ts"] is None else row["read_ts"]
    ack_ts = now if ack and row["ack_ts"] is None else row["ack_ts"]
    if (read_ts, ack_ts) == (row["read_ts"], row["ack_ts"]):
        return Receipt(message_id, agent.name, read_ts, ack_ts, None, changed=False)
    db.execute(
        "UPDATE message_recipients SET read_ts = ?, ack_ts = ? WHERE message_id = ? AND agent_id = ?",
        (read_ts, ack_ts, message_id, agent.id),
    )
    if row["kind"] == "bcc":  # a receipt in the archive would tell the others who else got the message
        return Receipt(message_id, agent.name, read_ts, ack_ts, None)
    files = {Archive.receipt(agent.name, message_id): records.receipt(message_id, agent.name, read_ts, ack_ts)}
    done = "acknowledged" if ack_ts is not None else "read"
    job = jobs.enqueue(db, row["project_id"], f"{done}: {message_id} by {agent.name}", files, now=now)
    return Receipt(message_id, agent.name, read_ts, ack_ts, job)
