"""Claims: agents reserve files that they work on, for a time, and learn who else works there.

Two claims overlap when both cover some path (see ``patterns``). Shared claims may overlap; an exclusive one conflicts
with every overlapping claim of another agent. The order of transactions decides who comes first.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from nanobot_transcript.errors import InvalidLetterError
from nanobot_transcript.sql.contract import Database, Row, Sql
from transcript_mcp.mail.agents import names, registry
from transcript_mcp.mail.agents import registry as agents
from transcript_mcp.mail.archive import jobs, json_files
from transcript_mcp.mail.claims import checks
from transcript_mcp.mail.claims.overlaps import meetings
from transcript_mcp.mail.claims.values import Claimed, ClaimOptions, Conflict, Extended, FileClaim, Released
from transcript_mcp.mail.messages.boxes import place_in_list
from transcript_mcp.mail.one_line import amount
from transcript_mcp.mail.store import Archive
from transcript_mcp.mail.values import Agent, LetterPage, to_the_millisecond

__all__ = ["ROWS", "Claims", "claim", "claim_file"]

_SHOWN_PATHS: Final = 5
_SHOWN_CONFLICTS: Final = 50
_SHOWN_HELD: Final = 50
_ACTIVE: Final = "claims.released_ts IS NULL AND claims.expires_ts > :now"
_HELD: Final = (
    "SELECT id, agent_id, agent_name, path, exclusive, reason, expires_ts, beside FROM claims"
    f" WHERE project_id = :project AND {_ACTIVE} ORDER BY id"
)
_INSERT: Final = (
    "INSERT INTO claims (project_id, agent_name, path, exclusive, reason, created_ts, expires_ts, agent_id, beside)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class _Wish:
    """A checked request for claims. ``key``: the project's."""

    project_id: int
    key: str
    agent: Agent
    patterns: Sequence[str]
    exclusive: bool
    reason: str
    now: float
    expires_ts: float


class _Held(NamedTuple):
    """An agent's active claims on the given paths, or all; the given paths without a claim; and its claims on other
    paths, if paths were given.
    """

    rows: list[Row]
    missing: list[str]
    others: list[Row]


class Claims:
    """The claims of all projects in a mail database. For any process and thread.

    All methods raise StoreError when the database cannot be read or written; then nothing was changed.
    """

    def __init__(self, database: Database, clock: Callable[[], float], options: ClaimOptions | None = None) -> None:
        """``clock`` gives seconds since 1970."""
        self.options: ClaimOptions = options or ClaimOptions()
        self._database: Database = database
        self._clock: Callable[[], float] = clock

    def claim(
        self,
        project_id: int,
        agent: Agent,
        paths: Sequence[str],
        ttl_seconds: float | None = None,
        *,
        exclusive: bool = True,
        reason: str = "",
    ) -> Claimed:
        """Claim paths and patterns in a project: all of them, or none if any conflicts with another agent's claim.

        The agent's existing claims on them are renewed: they become exclusive or shared as given, end at the later of
        both times, and keep their reason unless one is given. Raises InvalidLetterError.
        """
        now = to_the_millisecond(self._clock())
        listed, bound = checks.paths(paths, self.options), {"project": project_id, "now": now}
        checks.refuse_slips(listed)
        key, known = self._database.read(
            lambda db: (_root(db, project_id), db.execute(_HELD, bound).fetchall()), ("", [])
        )
        wish = _Wish(
            project_id=project_id,
            key=key,
            agent=agent,
            patterns=checks.as_they_lie(checks.patterns(listed, key), key),
            exclusive=checks.flag(exclusive),
            reason=checks.reason(reason),
            now=now,
            expires_ts=to_the_millisecond(now + checks.ttl(ttl_seconds, self.options)),
        )
        # Compared before the transaction: thousands of patterns take a while, in which nobody else could write.
        refused = _refused(known, wish)
        if refused is not None:
            self._database.write(lambda db: agents.touch(db, agent.id, now))
            return refused
        compared = {(row["id"], row["exclusive"]) for row in known}
        return self._database.write(lambda db: self._claim(db, wish, compared))

    def renew(
        self, project_id: int, agent: Agent, paths: Sequence[str] | None = None, ttl_seconds: float | None = None
    ) -> Extended:
        """Extend the agent's active claims on these paths, or all in the project, to ``ttl_seconds`` from now.

        No claim becomes shorter. Expired claims are not renewed: somebody else may work there by now. Raises
        InvalidLetterError.
        """
        now = to_the_millisecond(self._clock())
        expires_ts = to_the_millisecond(now + checks.ttl(ttl_seconds, self.options))
        wanted = None if paths is None else checks.paths(paths, self.options)

        def work(db: Sql) -> Extended:
            agents.touch(db, agent.id, now)
            held = _held_claims(db, project_id, agent, wanted, now)
            ends = {row["id"]: max(row["expires_ts"], expires_ts) for row in held.rows}
            db.executemany("UPDATE claims SET expires_ts = ? WHERE id = ?", [(end, id_) for id_, end in ends.items()])
            job = self._archived(db, project_id, f"renew: {agent.name}", held.rows, now)
            return Extended(_paths(held.rows), held.missing, min(ends.values(), default=None), job)

        return self._database.write(work)

    def release(
        self,
        project_id: int,
        agent: Agent,
        paths: Sequence[str] | None = None,
        *,
        by_person: bool = False,
        only: Sequence[FileClaim] | None = None,
    ) -> Released:
        """Release the agent's claims on these paths, given as they were claimed, or all in the project.

        With ``only``, just these claims, whatever the agent has claimed since. With ``by_person`` it does not count as
        the agent's activity, and the archive's history names the person. Raises InvalidLetterError.
        """
        now = to_the_millisecond(self._clock())
        wanted = None if paths is None else checks.paths(paths, self.options)
        who = f"{names.HUMAN} for {agent.name}" if by_person else agent.name
        meant = None if only is None else {claim.id for claim in only}

        def work(db: Sql) -> Released:
            if not by_person:
                agents.touch(db, agent.id, now)
            held = _held_claims(db, project_id, agent, wanted, now)
            rows = [row for row in held.rows if meant is None or row["id"] in meant]
            db.executemany("UPDATE claims SET released_ts = ? WHERE id = ?", [(now, row["id"]) for row in rows])
            job = self._archived(db, project_id, f"release: {who}", rows, now)
            shown = _paths(held.others[:_SHOWN_HELD])
            return Released(_paths(rows), held.missing, job, shown, len(held.others) - len(shown))

        return self._database.write(work)

    def held(
        self, project_id: int, agent: Agent, paths: Sequence[str] | None = None
    ) -> tuple[list[FileClaim], Sequence[str]]:
        """The claims that ``release`` would release, and the paths without a claim. Raises InvalidLetterError."""
        wanted = None if paths is None else checks.paths(paths, self.options)
        none = _Held([], list(wanted or ()), [])
        held = self._database.read(lambda db: _held_claims(db, project_id, agent, wanted, self._clock()), none)
        return [claim(row) for row in held.rows], held.missing

    def of_others(self, project_id: int, name: str) -> list[FileClaim]:
        """The active exclusive claims in a project, except those of the agent ``name``, the oldest first."""
        sql = (
            f"{ROWS} WHERE claims.project_id = :project AND {_ACTIVE} AND claims.agent_name <> :name ORDER BY claims.id"
        )
        bound = {"project": project_id, "name": names.normal(name), "now": self._clock()}
        rows: list[Row] = self._database.read(lambda db: db.execute(sql, bound).fetchall(), [])
        return [claim(row) for row in rows if row["exclusive"]]

    def list_claims(
        self,
        project_id: int | None = None,
        agent_id: int | None = None,
        *,
        active_only: bool = True,
        limit: int = 200,
        before: str | None = None,
    ) -> LetterPage[FileClaim]:
        """Claims of a project, an agent, both or all, the newest first.

        ``before``: the position from an earlier page. Raises InvalidLetterError for anything else.
        """
        listed = (
            "(:project IS NULL OR claims.project_id = :project) AND (:agent IS NULL OR claims.agent_id = :agent)"
            f" AND claims.id < :below {f'AND {_ACTIVE}' if active_only else ''}"
        )
        bounds = {
            "project": project_id,
            "agent": agent_id,
            "now": self._clock(),
            "below": place_in_list(before) if before else 2**63 - 1,
        }

        def work(db: Sql) -> LetterPage[FileClaim]:
            sql = f"{ROWS} WHERE {listed} ORDER BY claims.id DESC LIMIT :limit"
            found = [claim(row) for row in db.execute(sql, bounds | {"limit": limit})]
            if len(found) < limit or not found:
                return LetterPage(found)
            counted = bounds | {"below": found[-1].id}
            more = db.execute(f"SELECT count(*) FROM claims WHERE {listed}", counted).fetchone()[0]
            return LetterPage(found, more, str(found[-1].id))

        return self._database.read(work, LetterPage())

    def _claim(self, db: Sql, wish: _Wish, compared: Collection[tuple[int, int]]) -> Claimed:
        """``compared``: claims (id, exclusive) that are known not to conflict."""
        agents.touch(db, wish.agent.id, wish.now)
        active = db.execute(_HELD, {"project": wish.project_id, "now": wish.now}).fetchall()
        refused = _refused([row for row in active if (row["id"], row["exclusive"]) not in compared], wish)
        if refused is not None:
            return refused
        own = {row["path"] for row in active if row["agent_id"] == wish.agent.id}
        checks.bounded(wish.patterns, own, len(active), self.options)
        profiles = registry.welcome(db, wish.project_id, wish.key, [wish.agent])
        same: dict[str, list[Row]] = {path: [] for path in wish.patterns}
        for row in active:
            if row["path"] in same:
                same[row["path"]].append(row)
        ids = [_grant(db, path, rows, wish) for path, rows in same.items()]
        kind = "exclusive" if wish.exclusive else "shared"
        what = f"claim: {wish.agent.name} {kind}"
        granted = _by_ids(db, ids)
        job = self._archived(db, wish.project_id, what, granted, wish.now, profiles)
        return Claimed(wish.patterns, (), min(row["expires_ts"] for row in granted), job)

    def _archived(
        self,
        db: Sql,
        project_id: int,
        what: str,
        rows: Sequence[Row],
        now: float,
        others: Mapping[str, str] | None = None,
    ) -> int | None:
        """Enqueue a job that writes the files of these claims, in their current state, and ``others``."""
        if not rows:
            return None
        files: dict[str, str] = dict(others or {})
        files.update(claim_file(row) for row in _by_ids(db, [row["id"] for row in rows]))
        return jobs.enqueue(db, project_id, f"{what} {_counted_paths(_paths(rows))}", files, now=now)


def _held_claims(db: Sql, project_id: int, agent: Agent, wanted: Sequence[str] | None, now: float) -> _Held:
    mine = f"claims.project_id = :project AND claims.agent_id = :agent AND {_ACTIVE}"
    sql = f"{ROWS} WHERE {mine} ORDER BY claims.id"
    rows = db.execute(sql, {"project": project_id, "agent": agent.id, "now": now}).fetchall()
    if wanted is None:
        return _Held(rows, [], [])
    kept = checks.patterns(wanted, _root(db, project_id))
    patterns = {checks.without_folder_mark(path): path for path in kept}
    named = [checks.without_folder_mark(row["path"]) for row in rows]
    return _Held(
        [row for row, path in zip(rows, named, strict=True) if path in patterns],
        [pattern for path, pattern in patterns.items() if path not in named],
        [row for row, path in zip(rows, named, strict=True) if path not in patterns],
    )


def _grant(db: Sql, path: str, same: Sequence[Row], wish: _Wish) -> int:
    """``same``: the active claims on exactly this path."""
    own = next((row["id"] for row in same if row["agent_id"] == wish.agent.id), None)
    if own is not None:
        db.execute(
            "UPDATE claims SET exclusive = ?, expires_ts = max(expires_ts, ?),"
            " reason = coalesce(nullif(?, ''), reason) WHERE id = ?",
            (wish.exclusive, wish.expires_ts, wish.reason, own),
        )
        return own
    beside = any(not row["beside"] for row in same)
    values = (wish.project_id, wish.agent.name, path, wish.exclusive, wish.reason)
    return db.insert(_INSERT, (*values, wish.now, wish.expires_ts, wish.agent.id, beside))


def _refused(held: Sequence[Row], wish: _Wish) -> Claimed | None:
    """The answer with conflicts; None when there are none. Raises InvalidLetterError."""
    others = [row for row in held if row["agent_id"] != wish.agent.id and (wish.exclusive or row["exclusive"])]
    met = meetings(wish.patterns, [row["path"] for row in others])
    if met.found:
        shown = [_conflict(wish.patterns[here], others[there]) for here, there in met.found[:_SHOWN_CONFLICTS]]
        return Claimed((), shown, None, None, len(met.found) - len(shown))
    if not met.complete:
        raise InvalidLetterError(
            f"{len(wish.patterns):,} such patterns cannot be compared with the {len(others):,} claims of others.",
            hint="Claim fewer in one call, or use patterns that start with a folder: src/**/test_*.py.",
        )
    return None


def _conflict(path: str, row: Row) -> Conflict:
    return Conflict(
        path=path,
        holder=row["agent_name"],
        pattern=row["path"],
        reason=row["reason"],
        expires_ts=row["expires_ts"],
        exclusive=bool(row["exclusive"]),
    )


def _root(db: Sql, project_id: int) -> str:
    return db.execute("SELECT human_key FROM projects WHERE id = ?", (project_id,)).fetchone()["human_key"]


def _by_ids(db: Sql, ids: Sequence[int]) -> list[Row]:
    return [db.execute(f"{ROWS} WHERE claims.id = ?", (row_id,)).fetchone() for row_id in ids]


def _paths(rows: Sequence[Row]) -> list[str]:
    return [row["path"] for row in rows]


def _counted_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f"{amount(len(paths), 'path')}: {', '.join(paths[:_SHOWN_PATHS])}{more}"


ROWS: Final = (
    "SELECT claims.*, here.human_key AS project, there.human_key AS home FROM claims"
    " JOIN projects AS here ON here.id = claims.project_id"
    " JOIN agents ON agents.id = claims.agent_id JOIN projects AS there ON there.id = agents.project_id"
)
"""The rows that ``claim`` and ``claim_file`` take."""


def claim(row: Row) -> FileClaim:
    """The claim of a row."""
    return FileClaim(
        id=row["id"],
        project=row["project"],
        agent=row["agent_name"],
        home=row["home"],
        path=row["path"],
        exclusive=bool(row["exclusive"]),
        reason=row["reason"],
        created_ts=row["created_ts"],
        expires_ts=row["expires_ts"],
        released_ts=row["released_ts"],
    )


def claim_file(row: Row) -> tuple[str, str]:
    """Path and text of the file for the claim of a row. Several claims may have the same path."""
    return Archive.claim(row["path"], row["agent_name"] if row["beside"] else None), json_files.claim(claim(row))
