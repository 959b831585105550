"""Fills an empty database from the archives of all projects."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from nanobot_transcript.errors import ArchiveError
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.agents import names
from transcript_mcp.mail.archive.json_files import ClaimRecord
from transcript_mcp.mail.archive.last_commit import LastCommit
from transcript_mcp.mail.claims import patterns
from transcript_mcp.mail.messages import frontmatter
from transcript_mcp.mail.messages.frontmatter import MessageFile
from transcript_mcp.mail.messages.letters import URGENT, RecipientNames, recipients_encoder
from transcript_mcp.mail.store import PROJECT_FILE, index_messages

__all__ = ["Filled", "fill"]

_PROFILE: Final = re.compile(r"agents/([^/]+)/profile\.json")
_INBOX: Final = re.compile(r"agents/([^/]+)/inbox/.+/([^/]+)\.md")
_RECEIPT: Final = re.compile(r"agents/([^/]+)/receipts/([^/]+)\.json")
_CLAIM: Final = re.compile(r"[0-9a-f]{40}(\..+)?\.json")


_TIMES: Final = ("created_ts", "inception_ts", "read_ts", "ack_ts")
_ENDS_OF_TIME: Final = 60_000_000_000.0  # seconds around 1970: the years 68 to 3871, beyond any wrong clock

_T = TypeVar("_T")


class _ProjectRecord(msgspec.Struct):
    human_key: str
    created_ts: float


class _Profile(msgspec.Struct):
    name: str
    project: str
    program: str = ""
    model: str = ""
    task: str = ""
    inception_ts: float = 0.0
    token_sha256: str | None = None


class _Receipt(msgspec.Struct):
    read_ts: float
    ack_ts: float | None = None


@dataclass(slots=True)
class Filled:
    """The numbers of restored rows, and a sentence for each unreadable file that was skipped."""

    projects: int = 0
    agents: int = 0
    messages: int = 0
    claims: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Project:
    """A project being restored. ``people``: the rows of agents and guests by name."""

    snapshot: LastCommit
    record: _ProjectRecord
    id: int = 0
    people: dict[str, int] = field(default_factory=dict)


_Claims: TypeAlias = dict[tuple[int, str, str, float], tuple[_Project, ClaimRecord, bool]]
"""By project, file name, holder and time: a file holds one claim after the other."""


def fill(db: Sql, snapshots: Iterable[LastCommit]) -> Filled:
    """Fill a database with empty tables. Unreadable files are skipped and reported."""
    filling = _Filling(db)
    found = [project for snapshot in snapshots if (project := filling.project(snapshot)) is not None]
    found.sort(key=lambda project: (project.record.created_ts, project.snapshot.slug))
    for project in found:
        filling.insert_project(project)
    filling.insert_people(found)
    filling.insert_messages(found)
    for project in found:
        filling.insert_receipts(project)
    filling.insert_claims(found)
    filling.insert_activity()
    return filling.filled


def _check_moments(*moments: float | None) -> None:
    """Raise ValueError for an impossible time, as in a file that a person has edited."""
    if not all(moment is None or abs(moment) < _ENDS_OF_TIME for moment in moments):
        raise ValueError("It contains an invalid time.")


class _Filling:
    def __init__(self, db: Sql) -> None:
        self.filled: Filled = Filled()
        self._db: Sql = db
        self._homes: dict[str, _Project] = {}

    def project(self, snapshot: LastCommit) -> _Project | None:
        if not snapshot.files:
            return None
        record = self._decoded(snapshot, PROJECT_FILE, _ProjectRecord) if PROJECT_FILE in snapshot.files else None
        if record is None:
            self.filled.problems.append(f"{snapshot.slug} has no readable {PROJECT_FILE}; the project is skipped.")
            return None
        return _Project(snapshot, record)

    def insert_project(self, project: _Project) -> None:
        project.id = self._inserted(
            "projects",
            human_key=project.record.human_key,
            slug=project.snapshot.slug,
            created_ts=project.record.created_ts,
        )
        self._homes[project.record.human_key] = project
        self.filled.projects += 1

    def insert_people(self, projects: Iterable[_Project]) -> None:
        """First the agents of all projects, in the order of registration; then the guests of each project."""
        profiles = [(project, profile) for project in projects for profile in self._profiles(project)]
        profiles.sort(key=lambda each: (each[1].inception_ts, each[1].name))
        for project, profile in profiles:
            if profile.project == project.record.human_key:
                self._insert_agent(project, profile)
        for project, profile in profiles:
            home = self._homes.get(profile.project)
            if home is not None and home is not project:
                self._insert_guest(project, profile, home)

    def insert_messages(self, projects: Iterable[_Project]) -> None:
        """In the order of sending, because the row numbers define the order everywhere."""
        everything: list[tuple[_Project, MessageFile, dict[str, str]]] = []
        for project in projects:
            inboxes = _inboxes(project.snapshot)
            known: dict[str, MessageFile] = {}
            for path in sorted(project.snapshot.files):
                if path.startswith("messages/") and (file := self._message(project.snapshot, path)) is not None:
                    known[file.letter.id] = file
            everything += [(project, file, inboxes.get(message_id, {})) for message_id, file in known.items()]
        everything.sort(key=lambda each: (each[1].letter.created_ts, each[1].letter.id))
        seen: set[str] = set()
        for project, file, inbox in everything:
            if file.letter.id in seen:
                self.filled.problems.append(f"{project.snapshot.slug}: {file.letter.id} is in another project, too.")
            else:
                seen.add(file.letter.id)
                self._insert_message(project, file, inbox)
        index_messages(self._db, 0)

    def insert_receipts(self, project: _Project) -> None:
        for path in project.snapshot.files:
            if (match := _RECEIPT.fullmatch(path)) is None:
                continue
            record = self._decoded(project.snapshot, path, _Receipt)
            if record is not None:
                self._db.execute(
                    "UPDATE message_recipients SET read_ts = ?, ack_ts = ? WHERE message_id = ? AND agent_id = ?",
                    (record.read_ts, record.ack_ts, match[2], self._person(project, match[1])),
                )

    def insert_claims(self, projects: Iterable[_Project]) -> None:
        """All claims from the history of commits, in their last state: a file only holds the newest on its path."""
        found: _Claims = {}
        for project in projects:
            for name, record in self._claim_records(project):
                beside = (match := _CLAIM.fullmatch(name)) is not None and match[1] is not None
                key = (project.id, name, record.agent, record.created_ts)
                found[key] = (project, record, beside)
        found = _ended_by_the_next(found)
        for project, record, beside in sorted(found.values(), key=lambda each: each[1].created_ts):
            self._insert_claim(project, record, beside=beside)

    def insert_activity(self) -> None:
        """Set each agent's last activity: its registration, last message, last reading or last claim."""
        self._db.execute(
            "UPDATE agents SET last_active_ts = max(inception_ts,"
            " coalesce((SELECT max(created_ts) FROM messages WHERE sender_id = agents.id), 0),"
            " coalesce((SELECT max(max(read_ts, coalesce(ack_ts, 0))) FROM message_recipients"
            " WHERE agent_id = agents.id AND read_ts IS NOT NULL), 0),"
            " coalesce((SELECT max(created_ts) FROM claims WHERE agent_id = agents.id), 0))"
        )

    def _profiles(self, project: _Project) -> Iterator[_Profile]:
        for path in project.snapshot.files:
            if _PROFILE.fullmatch(path) and (profile := self._decoded(project.snapshot, path, _Profile)) is not None:
                yield profile

    def _insert_agent(self, home: _Project, profile: _Profile) -> int:
        twin = self._db.execute(
            "SELECT id, name FROM agents WHERE project_id = ? AND folded = ?", (home.id, names.folded(profile.name))
        ).fetchone()
        if twin is not None:
            home.people[profile.name] = twin["id"]
            self.filled.problems.append(f"{home.snapshot.slug}: {profile.name} is taken to be {twin['name']}.")
            return twin["id"]
        row = self._inserted(
            "agents",
            project_id=home.id,
            name=profile.name,
            program=profile.program,
            model=profile.model,
            inception_ts=profile.inception_ts,
            task=profile.task,
            last_active_ts=profile.inception_ts,
            token_sha256=profile.token_sha256,
            folded=names.folded(profile.name),
        )
        home.people[profile.name] = row
        self.filled.agents += 1
        return row

    def _insert_guest(self, project: _Project, profile: _Profile, home: _Project) -> None:
        row = home.people.get(profile.name) or self._insert_agent(home, profile)
        if profile.name not in project.people:
            self._db.execute(
                "INSERT OR IGNORE INTO guests (project_id, name, agent_id, folded) VALUES (?, ?, ?, ?)",
                (project.id, profile.name, row, names.folded(profile.name)),
            )
            project.people[profile.name] = row

    def _person(self, project: _Project, name: str) -> int:
        """The agent with a name in a project; one without a profile is assumed to belong to the project."""
        known = project.people.get(name)
        return known or self._insert_agent(project, _Profile(name, project.record.human_key))

    def _blind(self, project: _Project, name: str, path: str) -> int:
        """The receiver of a ``bcc`` copy; only the copy itself names the receiver's project."""
        copy = self._message(project.snapshot, path)
        return self._person(self._homes.get((copy and copy.bcc_project) or "", project), name)

    def _message(self, snapshot: LastCommit, path: str) -> MessageFile | None:
        try:
            file = frontmatter.parse(snapshot.text(path))
            _check_moments(file.letter.created_ts)
            return file
        except (ArchiveError, ValueError) as error:
            self.filled.problems.append(f"{snapshot.slug}: {path} is skipped. {error}")
            return None

    def _insert_message(self, project: _Project, file: MessageFile, inbox: dict[str, str]) -> None:
        letter = file.letter
        seq = self._inserted(
            "messages",
            id=letter.id,
            project_id=project.id,
            thread_id=letter.thread_id,
            subject=letter.subject,
            from_agent=letter.sender,
            created_ts=letter.created_ts,
            importance=letter.importance,
            ack_required=letter.ack_required,
            attachments_json=msgspec.json.encode(letter.attachments).decode(),
            sender_id=self._person(project, letter.sender),
            reply_to=letter.reply_to,
            idempotency_key=file.idempotency_key,
            recipients_json=recipients_encoder.encode(RecipientNames(letter.to, letter.cc)).decode(),
            body_md=letter.body or "",
        )
        kinds = {**dict.fromkeys(inbox, "bcc"), **dict.fromkeys(letter.cc, "cc"), **dict.fromkeys(letter.to, "to")}
        for name, kind in kinds.items():
            self._inserted(
                "message_recipients",
                message_id=letter.id,
                agent_name=name,
                kind=kind,
                agent_id=self._blind(project, name, inbox[name]) if kind == "bcc" else self._person(project, name),
                seq=seq,
                urgent=letter.importance in URGENT,
            )
        self.filled.messages += 1

    def _claim_records(self, project: _Project) -> Iterator[tuple[str, ClaimRecord]]:
        if not project.snapshot.history_is_whole("claims"):
            self.filled.problems.append(
                f"{project.snapshot.slug}: git has lost part of its history; claims that ended then are skipped."
            )
        for name, text in project.snapshot.history("claims"):
            try:
                record = msgspec.json.decode(text, type=ClaimRecord)
                _check_moments(record.created_ts, record.expires_ts, record.released_ts)
                patterns.normalised(record.path)
                yield name, record
            except ValueError as error:  # includes msgspec's errors
                self.filled.problems.append(f"{project.snapshot.slug}: claims/{name} is skipped. {error}")

    def _insert_claim(self, project: _Project, record: ClaimRecord, *, beside: bool) -> None:
        self._inserted(
            "claims",
            project_id=project.id,
            agent_name=record.agent,
            path=record.path,
            exclusive=record.exclusive,
            reason=record.reason,
            created_ts=record.created_ts,
            expires_ts=record.expires_ts,
            released_ts=record.released_ts,
            agent_id=self._holder(project, record),
            beside=beside,
        )
        self.filled.claims += 1

    def _holder(self, project: _Project, record: ClaimRecord) -> int:
        """The holder of a claim, who may belong to another project and have no mail in this one."""
        home = self._homes.get(record.agent_project or "", project)
        return self._person(home, record.agent)

    def _decoded(self, snapshot: LastCommit, path: str, kind: type[_T]) -> _T | None:
        try:
            record = msgspec.json.decode(snapshot.text(path), type=kind)
            _check_moments(*(getattr(record, name, None) for name in _TIMES))
            return record
        except (ArchiveError, ValueError) as error:
            self.filled.problems.append(f"{snapshot.slug}: {path} is skipped. {error}")
            return None

    def _inserted(self, table: str, **values: Any) -> int:
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        return self._db.insert(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(values.values()))


def _ended_by_the_next(claims: _Claims) -> _Claims:
    """Claims with an end at the latest when another claim took over their file, whatever their last record says."""
    ended = dict(claims)
    later: dict[tuple[int, str], float] = {}
    for key in sorted(claims, key=lambda each: each[3], reverse=True):
        project, record, beside = claims[key]
        began = later.get(key[:2])
        if began is not None and record.released_ts is None and record.expires_ts > began:
            ended[key] = (project, msgspec.structs.replace(record, released_ts=began), beside)
        later[key[:2]] = key[3]
    return ended


def _inboxes(snapshot: LastCommit) -> dict[str, dict[str, str]]:
    """By message id: the paths of its inbox copies, by the receiver's name."""
    found: dict[str, dict[str, str]] = {}
    for path in snapshot.files:
        if (match := _INBOX.fullmatch(path)) is not None:
            found.setdefault(match[2], {})[match[1]] = path
    return found
