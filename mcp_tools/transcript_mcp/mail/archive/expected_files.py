"""The files that the archive of a project should have according to the database: texts by path."""

from collections.abc import Container, Iterator
from typing import Any, Final

import msgspec

from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.archive import json_files
from transcript_mcp.mail.claims import ledger
from transcript_mcp.mail.messages import frontmatter
from transcript_mcp.mail.messages.letters import WHOLE, letter
from transcript_mcp.mail.store import PROJECT_FILE, Archive
from transcript_mcp.mail.values import Letter, Project

__all__ = ["attachments", "expected", "same"]

_RECIPIENTS: Final = (
    "SELECT agent_name, kind, read_ts, ack_ts, projects.human_key AS home FROM message_recipients"
    " JOIN agents ON agents.id = agent_id JOIN projects ON projects.id = agents.project_id WHERE message_id = ?"
)


def expected(db: Sql, project: Project, present: Container[str]) -> dict[str, str]:
    """The files of a project. ``present``: the existing files, which show in which folders messages are stored."""
    files = {PROJECT_FILE: json_files.project_file(project)}
    files.update(_profiles(db, project))
    files.update(_guests(db, project, present))
    files.update(_claims(db, project))
    rows = db.execute(
        f"SELECT {WHOLE}, messages.idempotency_key FROM messages JOIN projects ON projects.id = project_id"
        " WHERE project_id = ? ORDER BY seq",
        (project.id,),
    )
    for row in rows:
        files.update(_message(db, letter(row), row["idempotency_key"], present))
    return files


def attachments(db: Sql, project: Project) -> Iterator[tuple[str, str]]:
    """The attachments of a project's messages: message id and path."""
    rows = db.execute(
        "SELECT id, attachments_json FROM messages WHERE project_id = ? AND attachments_json <> '[]'", (project.id,)
    )
    for row in rows:
        for attachment in msgspec.json.decode(row["attachments_json"], type=list[dict[str, Any]]):
            if isinstance(path := attachment.get("path"), str):
                yield row["id"], path


def same(path: str, found: str, wanted: str) -> bool:
    """True when a file has the wanted values, ignoring others that a later version or a person added.

    Raises ArchiveError and msgspec.DecodeError when it cannot be parsed.
    """
    if path.endswith(".md"):
        return frontmatter.parse(found) == frontmatter.parse(wanted)
    there, should = (msgspec.json.decode(text, type=dict[str, Any]) for text in (found, wanted))
    return all(key in there and there[key] == value for key, value in should.items())


def _profiles(db: Sql, project: Project) -> Iterator[tuple[str, str]]:
    at_home = db.execute(f"{agents.ROWS} WHERE agents.project_id = ?", (project.id,)).fetchall()
    for row in at_home:
        yield Archive.profile(row["name"]), json_files.profile(agents.agent(row), row["token_sha256"])


def _guests(db: Sql, project: Project, present: Container[str]) -> Iterator[tuple[str, str]]:
    """Only a guest's identity is compared: its task is kept up to date in its own project."""
    guests = f"{agents.ROWS} WHERE agents.id IN (SELECT agent_id FROM guests WHERE project_id = ?)"
    for row in db.execute(guests, (project.id,)).fetchall():
        path, agent = Archive.profile(row["name"]), agents.agent(row)
        who = msgspec.json.encode({"name": agent.name, "project": agent.project}).decode()
        yield path, who if path in present else json_files.profile(agent)


def _claims(db: Sql, project: Project) -> Iterator[tuple[str, str]]:
    """Claims on the same path share a file, which holds the newest one."""
    rows = db.execute(f"{ledger.ROWS} WHERE claims.project_id = ? ORDER BY claims.id", (project.id,))
    return map(ledger.claim_file, rows.fetchall())


def _message(db: Sql, sent: Letter, key: str | None, present: Container[str]) -> Iterator[tuple[str, str]]:
    at = (sent.id, sent.created_ts)
    archive = Archive("month" if Archive("month").message(*at) in present else "day")
    text = frontmatter.render(sent, idempotency_key=key)
    yield archive.message(*at), text
    yield archive.outbox(sent.sender, *at), text
    for row in db.execute(_RECIPIENTS, (sent.id,)).fetchall():
        name, read_ts = row["agent_name"], row["read_ts"]
        is_blind = row["kind"] == "bcc"
        own = frontmatter.render_blind(sent, name, row["home"], key) if is_blind else text
        yield archive.inbox(name, *at), own
        if read_ts is not None and not is_blind:
            yield Archive.receipt(name, sent.id), json_files.receipt(sent.id, name, read_ts, row["ack_ts"])
