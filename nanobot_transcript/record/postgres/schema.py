"""The tables of a record, version by version.

Bodies, names and ids are bytes, because a text column cannot hold NUL. Times are milliseconds since 1970 where
transcripts have them from platforms, else seconds by the clock of the database.
"""

from typing import Final

from nanobot_transcript.sql.postgres.migrations import TableSet

__all__ = ["RECORD"]

_CHATS: Final = """
CREATE TABLE nanobot.chats (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tag text NOT NULL UNIQUE,
    name bytea NOT NULL,
    seq bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0,
    lost_to bigint NOT NULL DEFAULT 0,
    erased_to bigint NOT NULL DEFAULT 0,
    purged double precision NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    open_from bigint NOT NULL DEFAULT 1,
    open_bytes bigint NOT NULL DEFAULT 0,
    last_ms double precision NOT NULL DEFAULT 0
) WITH (fillfactor = 50)
"""
_CHATS_MEAN: Final = (
    "COMMENT ON COLUMN nanobot.chats.seq IS 'of the last line; no number is used twice'",
    "COMMENT ON COLUMN nanobot.chats.epoch IS 'another one after lines were rewritten or removed'",
    "COMMENT ON COLUMN nanobot.chats.lost_to IS 'lines up to here were removed as a whole'",
    "COMMENT ON COLUMN nanobot.chats.erased_to IS 'recalls up to here were carried out'",
    "COMMENT ON COLUMN nanobot.chats.open_from IS 'where the segment begins that is written now'",
)
_LINES: Final = """
CREATE TABLE nanobot.lines (
    chat bigint NOT NULL,
    seq bigint NOT NULL,
    op boolean NOT NULL,
    line bytea NOT NULL,
    PRIMARY KEY (chat, seq)
)
"""
# Not compressed: the text of chats gains little, and searching would have to undo it.
_LINES_PLAIN: Final = "ALTER TABLE nanobot.lines ALTER COLUMN line SET STORAGE EXTERNAL"
_OPS: Final = "CREATE INDEX lines_ops ON nanobot.lines (chat, seq) WHERE op"
_IDS: Final = """
CREATE TABLE nanobot.ids (
    chat bigint NOT NULL,
    id bytea NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (chat, id)
)
"""
_SEGMENTS: Final = """
CREATE TABLE nanobot.segments (
    chat bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (chat, first)
)
"""
# ``keys`` and ``barring`` are joined digests of 16 bytes each: encoding a list takes a driver longer than all of this
# takes the server. The lock on the chat's row makes line numbers dense and puts them in commit order, so a reader that
# has seen a number has seen all below it. A message that is known already, as most copies are, takes no lock.
_APPEND: Final = """
CREATE FUNCTION nanobot.append(
    wanted text, title bytea, of_chat text, of_all text, body bytea, is_op boolean, keys bytea, barring bytea,
    segment bigint, wait text
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    c nanobot.chats%ROWTYPE;
    known bytea;
    size bigint := length(body) + 1;
    doubtful boolean := barring <> keys;
BEGIN
    SELECT * INTO c FROM nanobot.chats WHERE tag = wanted;
    IF FOUND AND barring <> '' THEN
        known := nanobot.known(c.id, barring);
        IF known IS NOT NULL THEN
            RETURN known;
        END IF;
    END IF;
    PERFORM set_config('lock_timeout', wait, true);
    c := nanobot.grown(wanted, title, 1, size, segment);
    FOR at IN 0 .. length(keys) / 16 - 1 LOOP
        INSERT INTO nanobot.ids VALUES (c.id, substring(keys FROM 1 + 16 * at FOR 16), c.seq) ON CONFLICT DO NOTHING;
        doubtful := doubtful OR NOT FOUND;
    END LOOP;
    IF doubtful THEN
        -- Somebody may have been quicker since the first look.
        SELECT l.line INTO known FROM nanobot.ids AS i JOIN nanobot.lines AS l ON l.chat = i.chat AND l.seq = i.seq
            WHERE i.chat = c.id AND i.seq < c.seq
            AND i.id IN (
                SELECT substring(barring FROM 1 + 16 * k FOR 16) FROM generate_series(0, length(barring) / 16 - 1) AS k
            ) LIMIT 1;
        IF known IS NOT NULL THEN
            DELETE FROM nanobot.ids AS i WHERE i.chat = c.id AND i.seq = c.seq;
            UPDATE nanobot.chats SET seq = seq - 1, bytes = bytes - size, open_bytes = open_bytes - size
                WHERE id = c.id;
            RETURN known;
        END IF;
    END IF;
    INSERT INTO nanobot.lines VALUES (c.id, c.seq, is_op, body);
    PERFORM pg_notify(of_chat, ''), pg_notify(of_all, '');
    RETURN NULL;
END $$
"""
# PL/pgSQL, because SQL functions are planned again at each call.
_KNOWN: Final = """
CREATE FUNCTION nanobot.known(number bigint, barring bytea) RETURNS bytea STABLE LANGUAGE plpgsql AS $$
DECLARE
    met bytea;
BEGIN
    FOR at IN 0 .. length(barring) / 16 - 1 LOOP
        SELECT l.line INTO met FROM nanobot.ids AS i JOIN nanobot.lines AS l ON l.chat = i.chat AND l.seq = i.seq
            WHERE i.chat = number AND i.id = substring(barring FROM 1 + 16 * at FOR 16);
        IF FOUND THEN
            RETURN met;
        END IF;
    END LOOP;
    RETURN NULL;
END $$
"""
# Locks the row of a chat and adds so many lines to it. A segment is closed when the next lines would make it too large.
_GROWN: Final = """
CREATE FUNCTION nanobot.grown(wanted text, title bytea, more bigint, size bigint, segment bigint)
RETURNS nanobot.chats LANGUAGE plpgsql AS $$
DECLARE
    c nanobot.chats%ROWTYPE;
BEGIN
    UPDATE nanobot.chats SET seq = seq + more, bytes = bytes + size, open_bytes = open_bytes + size,
        last_ms = extract(epoch FROM clock_timestamp()) * 1000 WHERE tag = wanted RETURNING * INTO c;
    IF NOT FOUND THEN
        INSERT INTO nanobot.chats (tag, name) VALUES (wanted, title) ON CONFLICT DO NOTHING;
        RETURN nanobot.grown(wanted, title, more, size, segment);
    END IF;
    IF c.open_bytes > segment AND c.open_bytes > size THEN
        INSERT INTO nanobot.segments VALUES (c.id, c.open_from, c.seq - more, c.open_bytes - size);
        UPDATE nanobot.chats SET open_from = c.seq - more + 1, open_bytes = size WHERE id = c.id;
    END IF;
    RETURN c;
END $$
"""
# Many lines at once, none of which bars another. NULL when there was a purge that the caller does not know of, which
# may concern some of them.
_APPEND_ALL: Final = """
CREATE FUNCTION nanobot.append_all(
    wanted text, title bytea, of_chat text, of_all text, bodies bytea[], ops boolean[], keys bytea[], barring bytea[],
    segment bigint, wait text, known_purge bigint
) RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
    c nanobot.chats%ROWTYPE;
    known bytea[];
    size bigint;
    fresh integer[];
BEGIN
    -- Whoever notes a purge waits for this transaction.
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('nanobot.purges', 0));
    PERFORM set_config('lock_timeout', wait, true);
    c := nanobot.grown(wanted, title, 0, 0, segment);
    IF EXISTS (SELECT FROM nanobot.purges WHERE number > known_purge AND (chat IS NULL OR chat = wanted)) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(met ORDER BY at), array_agg(at ORDER BY at) FILTER (WHERE met IS NULL),
        sum(length(body) + 1) FILTER (WHERE met IS NULL)
        INTO known, fresh, size FROM (
            SELECT b.at, b.body, CASE WHEN b.barred <> '' THEN nanobot.known(c.id, b.barred) END AS met
            FROM unnest(bodies, barring) WITH ORDINALITY AS b (body, barred, at)
        ) AS looked;
    IF fresh IS NOT NULL THEN
        c := nanobot.grown(wanted, title, cardinality(fresh), size, segment);
        INSERT INTO nanobot.lines SELECT c.id, c.seq - cardinality(fresh) + f.n, ops[f.at], bodies[f.at]
            FROM unnest(fresh) WITH ORDINALITY AS f (at, n);
        INSERT INTO nanobot.ids
            SELECT c.id, substring(keys[f.at] FROM 1 + 16 * k FOR 16), c.seq - cardinality(fresh) + f.n
            FROM unnest(fresh) WITH ORDINALITY AS f (at, n), generate_series(0, length(keys[f.at]) / 16 - 1) AS k
            ON CONFLICT DO NOTHING;
        PERFORM pg_notify(of_chat, ''), pg_notify(of_all, '');
    END IF;
    RETURN known;
END $$
"""
# Lines that are handed on late must not undo a purge. The row is written before the purge begins, so whoever locks a
# chat's row after it sees it.
_PURGES: Final = """
CREATE TABLE nanobot.purges (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at double precision NOT NULL,
    chat text,
    senders text[] NOT NULL,
    before double precision
)
"""
# Tells this record from all others, whatever its address.
_IDENTITY: Final = "CREATE TABLE nanobot.identity (id text PRIMARY KEY)"
_BORN: Final = "INSERT INTO nanobot.identity VALUES (replace(gen_random_uuid()::text, '-', ''))"
_LEASES: Final = """
CREATE TABLE nanobot.leases (
    name bytea PRIMARY KEY,
    holder text,
    before text,
    token bigint NOT NULL,
    expires double precision NOT NULL,
    ttl double precision NOT NULL,
    reign uuid NOT NULL
) WITH (fillfactor = 50)
"""
_TOKENS: Final = "CREATE SEQUENCE nanobot.tokens"
_LEASES_END: Final = "CREATE INDEX leases_end ON nanobot.leases (expires)"
# What was taken counts until its whole twentieth has left the window.
_BUDGETS: Final = """
CREATE TABLE nanobot.budgets (
    name bytea NOT NULL,
    slice bigint NOT NULL,
    used bigint NOT NULL,
    expires double precision NOT NULL,
    PRIMARY KEY (name, slice)
) WITH (fillfactor = 50)
"""
_BUDGETS_END: Final = "CREATE INDEX budgets_end ON nanobot.budgets (expires)"
_TAKE: Final = """
CREATE FUNCTION nanobot.take(wanted bytea, cost bigint, most bigint, span double precision) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    now double precision;
    this bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(encode(wanted, 'hex'), 20));
    now := extract(epoch FROM clock_timestamp());
    this := floor(now / span * 20);
    DELETE FROM nanobot.budgets WHERE expires < now - 86400;
    IF cost + coalesce((SELECT sum(used) FROM nanobot.budgets
            WHERE name = wanted AND slice BETWEEN this - 20 AND this + 20), 0) > most THEN
        RETURN false;
    END IF;
    IF cost > 0 THEN
        INSERT INTO nanobot.budgets AS b VALUES (wanted, this, cost, now + span * 1.05)
            ON CONFLICT (name, slice) DO UPDATE SET used = b.used + excluded.used;
    END IF;
    RETURN true;
END $$
"""
_MARKS: Final = """
CREATE TABLE nanobot.marks (
    kind bytea NOT NULL,
    name bytea NOT NULL,
    document bytea NOT NULL,
    version integer NOT NULL,
    put bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (kind, name)
)
"""
# ``number`` is that of the lock a process holds; ``reign`` the one in which it last renewed its row.
_PROCESSES: Final = """
CREATE TABLE nanobot.processes (
    id text PRIMARY KEY,
    number bigint NOT NULL,
    renewed double precision NOT NULL,
    reign uuid
)
"""
# When a server was first seen to accept writes, and the last renewal of any process before. Locks held before that are
# lost. The table is unlogged, so a server that crashed or was promoted finds it empty; one that was restarted has
# another name (``nanobot.reign()``).
_REIGNS: Final = """
CREATE UNLOGGED TABLE nanobot.reigns (
    name text PRIMARY KEY,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    began double precision NOT NULL,
    last_word double precision NOT NULL
)
"""
_REIGN: Final = """
CREATE FUNCTION nanobot.reign() RETURNS text LANGUAGE sql AS $$
    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || extract(epoch FROM pg_postmaster_start_time())
$$
"""
# Whether a lease that was granted in some reign still counts. After a failover the noted end means nothing, because the
# new server's clock may be behind: the lease counts for as long as it might have lasted. More time left than was ever
# granted, or a reign that is yet to begin, means that the clock was set back; waiting for it could take forever.
_COUNTS: Final = """
CREATE FUNCTION nanobot.counts(expires double precision, ttl double precision, of_reign uuid) RETURNS boolean
LANGUAGE sql AS $$
    SELECT coalesce((
        SELECT CASE WHEN r.id = of_reign THEN expires > now AND expires <= now + ttl + 1
            ELSE now >= r.began - 1 AND now < r.began + ttl END
        FROM nanobot.reigns AS r, extract(epoch FROM clock_timestamp()) AS now WHERE r.name = nanobot.reign()
    ), true)
$$
"""
# Before these tables existed nobody held a lock.
_FIRST_REIGN: Final = "INSERT INTO nanobot.reigns (name, began, last_word) VALUES (nanobot.reign(), 0, 0)"
# Each fact about a member is a row; a forgotten fact leaves a row without a body, so that other processes forget it
# too.
_MEMBERS: Final = """
CREATE TABLE nanobot.members (
    digest bytea PRIMARY KEY,
    edition bigint NOT NULL,
    body bytea
)
"""
_EDITIONS: Final = "CREATE SEQUENCE nanobot.editions"
_MEMBERS_NEW: Final = "CREATE INDEX members_new ON nanobot.members (edition)"
# The writer chooses ``key``: after a lost connection it cannot know whether a decision was written, and writes it
# again.
_DECISIONS: Final = """
CREATE TABLE nanobot.decisions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat bytea NOT NULL,
    ts double precision NOT NULL,
    noted timestamptz NOT NULL DEFAULT now(),
    stage text NOT NULL,
    message_id bytea,
    document bytea NOT NULL,
    key uuid NOT NULL UNIQUE
)
"""
_DECISIONS_OF: Final = "CREATE INDEX decisions_of ON nanobot.decisions (chat, number)"
_DECISIONS_AT: Final = "CREATE INDEX decisions_at ON nanobot.decisions (ts)"
_DECISIONS_NOTED: Final = "CREATE INDEX decisions_noted ON nanobot.decisions (noted)"

RECORD: Final = TableSet(
    "record",
    (
        (
            *(_CHATS, *_CHATS_MEAN),
            *(_LINES, _LINES_PLAIN, _OPS, _IDS, _SEGMENTS, _PURGES, _KNOWN, _GROWN, _APPEND, _APPEND_ALL),
            *(_IDENTITY, _BORN),
            *(_LEASES, _TOKENS, _LEASES_END, _BUDGETS, _BUDGETS_END, _TAKE),
            *(_MARKS, _PROCESSES, _REIGNS, _REIGN, _FIRST_REIGN, _COUNTS, _MEMBERS, _EDITIONS, _MEMBERS_NEW),
            *(_DECISIONS, _DECISIONS_OF, _DECISIONS_AT, _DECISIONS_NOTED),
        ),
    ),
)
