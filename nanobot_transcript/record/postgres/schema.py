"""The tables of a record, version by version.

Bodies, names and ids are bytes, because a text column cannot hold NUL. Times are milliseconds since 1970 where
transcripts have them from platforms, else seconds by the clock of the database.
"""

from typing import Final

from nanobot_transcript.sql.postgres.migrations import Part

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
    chat bigint NOT NULL REFERENCES nanobot.chats (id),
    seq bigint NOT NULL,
    op boolean NOT NULL,
    line bytea NOT NULL,
    PRIMARY KEY (chat, seq)
)
"""
# Random text in bytes gains nothing from compression, and is to be searched.
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
# One row lock for each chat makes the numbers dense and their order that of the commits: who has read up to a number
# has read all below it. A message that is known already, as most copies are, takes no lock.
_APPEND: Final = """
CREATE FUNCTION nanobot.append(
    wanted text, title bytea, channels text[], texts bytea[], ops boolean[],
    keys bytea[], keys_of integer[], barring bytea[], barring_of integer[],
    segment bigint, wait integer
) RETURNS bytea[] LANGUAGE plpgsql AS $$
DECLARE
    c nanobot.chats%ROWTYPE;
    count integer := cardinality(texts);
    known bytea[] := array_fill(NULL::bytea, ARRAY[count]);
    met bytea;
    written integer := 0;
    size bigint;
    i integer;
BEGIN
    SELECT * INTO c FROM nanobot.chats WHERE tag = wanted;
    IF FOUND AND count = 1 AND cardinality(barring) > 0 THEN
        SELECT line INTO met FROM nanobot.ids JOIN nanobot.lines USING (chat, seq)
            WHERE ids.chat = c.id AND ids.id = ANY (barring) LIMIT 1;
        IF met IS NOT NULL THEN
            RETURN ARRAY[met];
        END IF;
    END IF;
    IF wait IS NOT NULL THEN
        PERFORM set_config('lock_timeout', wait::text, true);
    END IF;
    SELECT * INTO c FROM nanobot.chats WHERE tag = wanted FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO nanobot.chats (tag, name) VALUES (wanted, title) ON CONFLICT DO NOTHING;
        SELECT * INTO c FROM nanobot.chats WHERE tag = wanted FOR UPDATE;
    END IF;
    FOR i IN 1 .. count LOOP
        met := NULL;
        IF i = ANY (barring_of) THEN
            SELECT line INTO met FROM nanobot.ids JOIN nanobot.lines USING (chat, seq)
                WHERE ids.chat = c.id
                AND ids.id IN (SELECT b.id FROM unnest(barring, barring_of) AS b (id, of) WHERE b.of = i) LIMIT 1;
        END IF;
        IF met IS NOT NULL THEN
            known[i] := met;
            CONTINUE;
        END IF;
        size := length(texts[i]) + 1;
        IF c.open_bytes > 0 AND c.open_bytes + size > segment THEN
            INSERT INTO nanobot.segments VALUES (c.id, c.open_from, c.seq, c.open_bytes);
            c.open_from := c.seq + 1;
            c.open_bytes := 0;
        END IF;
        c.seq := c.seq + 1;
        c.bytes := c.bytes + size;
        c.open_bytes := c.open_bytes + size;
        written := written + 1;
        INSERT INTO nanobot.lines VALUES (c.id, c.seq, ops[i], texts[i]);
        INSERT INTO nanobot.ids SELECT c.id, k.id, c.seq FROM unnest(keys, keys_of) AS k (id, of) WHERE k.of = i
            ON CONFLICT DO NOTHING;
    END LOOP;
    IF written > 0 THEN
        UPDATE nanobot.chats SET seq = c.seq, bytes = c.bytes, open_from = c.open_from, open_bytes = c.open_bytes,
            last_ms = extract(epoch FROM clock_timestamp()) * 1000 WHERE id = c.id;
        FOR i IN 1 .. cardinality(channels) LOOP
            PERFORM pg_notify(channels[i], '');
        END LOOP;
    END IF;
    RETURN known;
END $$
"""
_LEASES: Final = """
CREATE TABLE nanobot.leases (
    name bytea PRIMARY KEY,
    holder text,
    before text,
    token bigint NOT NULL,
    expires double precision NOT NULL,
    ttl double precision NOT NULL
) WITH (fillfactor = 50)
"""
_TOKENS: Final = "CREATE SEQUENCE nanobot.tokens"
_LEASES_END: Final = "CREATE INDEX leases_end ON nanobot.leases (expires)"
# What was taken counts until its whole twentieth of the window has left the window.
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
# ``number`` is that of the lock which a process holds.
_PROCESSES: Final = """
CREATE TABLE nanobot.processes (
    id text PRIMARY KEY,
    number bigint NOT NULL,
    renewed double precision NOT NULL
)
"""
# From when on a server has been the one that takes writes, as far as anybody has seen: locks that were held before are
# lost. Nobody held one before there were these tables.
_REIGNS: Final = "CREATE TABLE nanobot.reigns (name text PRIMARY KEY, began double precision NOT NULL)"
_REIGN: Final = """
CREATE FUNCTION nanobot.reign() RETURNS text LANGUAGE sql AS $$
    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || pg_postmaster_start_time()
$$
"""
_FIRST_REIGN: Final = "INSERT INTO nanobot.reigns VALUES (nanobot.reign(), 0)"
# Each fact about a member is a row; what was forgotten leaves one without a body, which does not tell what it was.
_MEMBERS: Final = """
CREATE TABLE nanobot.members (
    digest bytea PRIMARY KEY,
    edition bigint NOT NULL,
    body bytea
)
"""
_EDITIONS: Final = "CREATE SEQUENCE nanobot.editions"
_MEMBERS_NEW: Final = "CREATE INDEX members_new ON nanobot.members (edition)"
_DECISIONS: Final = """
CREATE TABLE nanobot.decisions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat bytea NOT NULL,
    ts double precision NOT NULL,
    noted timestamptz NOT NULL DEFAULT now(),
    stage text NOT NULL,
    message_id bytea,
    document bytea NOT NULL
)
"""
_DECISIONS_OF: Final = "CREATE INDEX decisions_of ON nanobot.decisions (chat, number)"
_DECISIONS_AT: Final = "CREATE INDEX decisions_at ON nanobot.decisions (ts)"
_DECISIONS_NOTED: Final = "CREATE INDEX decisions_noted ON nanobot.decisions (noted)"

RECORD: Final = Part(
    "record",
    (
        (
            *(_CHATS, *_CHATS_MEAN),
            *(_LINES, _LINES_PLAIN, _OPS, _IDS, _SEGMENTS, _APPEND),
            *(_LEASES, _TOKENS, _LEASES_END, _BUDGETS, _BUDGETS_END, _TAKE),
            *(_MARKS, _PROCESSES, _REIGNS, _REIGN, _FIRST_REIGN, _MEMBERS, _EDITIONS, _MEMBERS_NEW),
            *(_DECISIONS, _DECISIONS_OF, _DECISIONS_AT, _DECISIONS_NOTED),
        ),
    ),
)
