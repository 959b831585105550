"""The tables of the questions with their migrations, and the full-text index.

Answers are not indexed when they are written, but with the next question or before a search: without the index, an
answer is on the disk in half the time. The FTS5 table is contentless (``content=''``): it stores no copy of the text,
so a row is removed by inserting its old words with the command ``'delete'``.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from nanobot_transcript.sql.contract import Schema, Sql, SqliteText
from nanobot_transcript.unicode_text import DENSE

if TYPE_CHECKING:
    from nanobot_transcript.sql.contract import Database
    from nanobot_transcript.sql.location import Shelf

__all__ = ["SCHEMA", "expression", "index", "index_later", "index_new", "is_indexed", "opened"]

_APART: Final = re.compile(f"([{DENSE}\U00020000-\U0003ffff])")
_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_SEARCH: Final = 200
_MOST_WORDS: Final = 16


def spaced(text: str) -> str:
    """The text with spaces around each character of a script without spaces, so that FTS5 takes each for a word.

    >>> spaced("发布 ｖ２")
    ' 发  布  v2'
    """
    return text if text.isascii() else _APART.sub(r" \1 ", unicodedata.normalize("NFKC", text))


def scope_word(scope: str) -> str:
    """A scope as one word of the index, so that a search only reads its own records."""
    return f"s{scope.encode().hex()}"


_BUSY: Final = 10.0

_RECORDS: Final = """
CREATE TABLE records (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('question', 'report', 'message')),
    state TEXT NOT NULL,
    said_as TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    client TEXT NOT NULL,
    timeout INTEGER NOT NULL,
    expects INTEGER NOT NULL,
    fetched INTEGER NOT NULL,
    chat TEXT NOT NULL,
    asked_ts REAL NOT NULL,
    ended_ts REAL,
    shown INTEGER NOT NULL DEFAULT 0,
    answered_by TEXT NOT NULL DEFAULT '',
    answered_where TEXT NOT NULL DEFAULT '',
    taken_by TEXT NOT NULL DEFAULT '',
    choices BLOB NOT NULL,
    text TEXT NOT NULL,
    answer TEXT NOT NULL DEFAULT '',
    contents BLOB,
    UNIQUE (scope, id)
)
"""
_WAITING: Final = "CREATE INDEX records_waiting ON records (scope, seq) WHERE state = 'waiting'"
# A B-tree entry of PostgreSQL has at most 2,700 bytes, but a name may have 4,000; so a hash index there.
_TALKS: Final = SqliteText(
    "CREATE INDEX records_by_agent ON records (scope, project, agent, seq)",
    "CREATE INDEX records_by_agent ON records USING hash (agent)",
)
_TAKEN: Final = "CREATE INDEX records_taken ON records (scope, taken_by) WHERE taken_by <> ''"
_IN_CHATS: Final = "CREATE INDEX records_in_chats ON records (ended_ts) WHERE chat <> ''"
_SEARCH: Final = (
    "CREATE VIRTUAL TABLE records_words USING fts5(text, answer, scope, content='',"
    " tokenize='unicode61 remove_diacritics 2')"
)
_INDEXED: Final = "{row}.seq, spaced({row}.text), spaced({row}.answer), scope_word({row}.scope)"
_INSERTED: Final = SqliteText(f"""
CREATE TRIGGER records_inserted AFTER INSERT ON records BEGIN
    INSERT INTO records_words (rowid, text, answer, scope) VALUES ({_INDEXED.format(row="new")});
END
""")
_ANSWERED: Final = SqliteText(f"""
CREATE TRIGGER records_answered AFTER UPDATE OF answer ON records BEGIN
    INSERT INTO records_words (records_words, rowid, text, answer, scope)
    VALUES ('delete', {_INDEXED.format(row="old")});
    INSERT INTO records_words (rowid, text, answer, scope) VALUES ({_INDEXED.format(row="new")});
END
""")

_MESSAGES: Final = SqliteText(
    "CREATE INDEX records_messages ON records (scope, project, agent) WHERE state = 'waiting' AND kind = 'message'",
    "CREATE INDEX records_messages ON records (seq) WHERE state = 'waiting' AND kind = 'message'",
)
_UNINDEXED: Final = "CREATE TABLE records_unindexed (seq INTEGER PRIMARY KEY)"
_NO_LONGER_AT_ONCE: Final = SqliteText("DROP TRIGGER records_answered")
_ANSWERED_SINCE: Final = SqliteText("""
CREATE TRIGGER records_answered AFTER UPDATE OF answer ON records WHEN new.answer <> '' BEGIN
    INSERT INTO records_unindexed VALUES (new.seq);
END
""")

_BOOT: Final = "ALTER TABLE records ADD COLUMN boot TEXT NOT NULL DEFAULT ''"
_UPTIME: Final = "ALTER TABLE records ADD COLUMN uptime REAL NOT NULL DEFAULT 0"

_IN_SCOPE: Final = "CREATE INDEX records_in_scope ON records (scope, seq)"
_NOT_BY_A_TRIGGER: Final = SqliteText("DROP TRIGGER records_answered")
_GONE: Final = SqliteText("""
CREATE TRIGGER records_gone AFTER DELETE ON records BEGIN
    DELETE FROM records_unindexed WHERE seq = old.seq;
END
""")

_LONGEST_INDEXED: Final = 100_000
"""Characters of a question, and of an answer, by which they are found."""

_NO_LONGER_WHOLE: Final = SqliteText("DROP TRIGGER records_inserted")
_INSERTED_IN_PART: Final = SqliteText(f"""
CREATE TRIGGER records_inserted AFTER INSERT ON records BEGIN
    INSERT INTO records_words (rowid, text, answer, scope)
    VALUES (new.seq, spaced(substr(new.text, 1, {_LONGEST_INDEXED})), spaced(new.answer), scope_word(new.scope));
END
""")
_SO_FAR: Final = "SELECT seq FROM records_unindexed"
_WHOLE_ONES: Final = SqliteText(
    "INSERT INTO records_words (records_words, rowid, text, answer, scope)"
    f" SELECT 'delete', seq, spaced(text), '', scope_word(scope) FROM records WHERE seq IN ({_SO_FAR})"
)
_WITH_ANSWERS: Final = SqliteText(
    "INSERT INTO records_words (rowid, text, answer, scope)"
    f" SELECT seq, spaced(text), spaced(substr(answer, 1, {_LONGEST_INDEXED})), scope_word(scope)"
    f" FROM records WHERE seq IN ({_SO_FAR})"
)
_ALL_INDEXED: Final = "DELETE FROM records_unindexed"
_LONG_ONES: Final = f"FROM records WHERE state = 'waiting' AND answer = '' AND length(text) > {_LONGEST_INDEXED}"
_LONG_ONES_OUT: Final = SqliteText(
    "INSERT INTO records_words (records_words, rowid, text, answer, scope)"
    f" SELECT 'delete', seq, spaced(text), '', scope_word(scope) {_LONG_ONES}"
)
_THEIR_BEGINNING: Final = SqliteText(
    "INSERT INTO records_words (rowid, text, answer, scope)"
    f" SELECT seq, spaced(substr(text, 1, {_LONGEST_INDEXED})), '', scope_word(scope) {_LONG_ONES}"
)

_TEXTS: Final = (
    f"SELECT seq, substr(text, 1, {_LONGEST_INDEXED}), substr(answer, 1, {_LONGEST_INDEXED}), scope FROM records"
)

SCHEMA: Final = Schema(
    migrations=(
        (_RECORDS, _WAITING, _TALKS, _TAKEN, _SEARCH, _INSERTED, _ANSWERED),
        (_IN_CHATS,),
        (_MESSAGES, _UNINDEXED, _NO_LONGER_AT_ONCE, _ANSWERED_SINCE),
        (
            *(_BOOT, _UPTIME, _IN_SCOPE, _GONE, _NOT_BY_A_TRIGGER),
            *(_WHOLE_ONES, _WITH_ANSWERS, _ALL_INDEXED),
            # To index an answer, its question is removed with exactly the words under which it was added. From this
            # version on that is only the beginning of a long text, so long questions are added again.
            *(_LONG_ONES_OUT, _THEIR_BEGINNING, _NO_LONGER_WHOLE, _INSERTED_IN_PART),
        ),
    ),
    functions={"spaced": (1, spaced), "scope_word": (1, scope_word)},
    words={"records_words": (spaced, spaced, scope_word)},
    tables={"records": ("seq",)},
    texts={"records_words": ("records", f"{_TEXTS} WHERE seq > ?")},
)

_MOST_INDEXED: Final = 250_000
"""Characters that are indexed in one transaction, which blocks other writers."""

_LATER: Final = "INSERT OR IGNORE INTO records_unindexed SELECT seq FROM records WHERE seq = ?"
_ANY: Final = "SELECT 1 FROM records_unindexed"
_NEXT: Final = (
    f"SELECT seq, min(length(text), {_LONGEST_INDEXED}) + min(length(answer), {_LONGEST_INDEXED})"
    " FROM records_unindexed"
    " JOIN records USING (seq) ORDER BY seq LIMIT ?"
)
_UNINDEXED_ROWS: Final = "SELECT seq FROM records_unindexed WHERE seq <= ?"
_OUT_OF_THE_INDEX: Final = SqliteText(
    "INSERT INTO records_words (records_words, rowid, text, answer, scope)"
    f" SELECT 'delete', seq, spaced(substr(text, 1, {_LONGEST_INDEXED})), '', scope_word(scope)"
    f" FROM records WHERE seq IN ({_UNINDEXED_ROWS})"
)
_INTO_THE_INDEX: Final = SqliteText(
    "INSERT INTO records_words (rowid, text, answer, scope)"
    f" SELECT seq, spaced(substr(text, 1, {_LONGEST_INDEXED})), spaced(substr(answer, 1, {_LONGEST_INDEXED})),"
    f" scope_word(scope) FROM records WHERE seq IN ({_UNINDEXED_ROWS})"
)
_DONE: Final = "DELETE FROM records_unindexed WHERE seq <= ?"


def opened(shelf: "Shelf") -> "Database":
    """The database of questions on a shelf; in a folder that is ``assistant.sqlite3``."""
    return shelf.database("assistant", SCHEMA, file="assistant.sqlite3", lock=".assistant.lock", busy=_BUSY)


def expression(text: str, scopes: tuple[str, ...]) -> str | None:
    """The right side of MATCH: all words of the text, each run of Chinese as a phrase. None without a word.

    Every word is quoted, so nothing that a person types is parsed as FTS5 syntax.
    """
    phrases = []
    for piece in text[:_LONGEST_SEARCH].split()[:_MOST_WORDS]:
        words = _WORD.findall(spaced(piece))
        if words:
            phrases.append(f'"{" ".join(words)}"')
    where = " OR ".join(f'"{scope_word(scope)}"' for scope in scopes)
    return f"scope:({where}) AND {{text answer}}:({' AND '.join(phrases)})" if phrases and scopes else None


def is_indexed(connection: Sql) -> bool:
    """Whether all answers are indexed."""
    return connection.execute(_ANY).fetchone() is None


def index_later(connection: Sql, seqs: Iterable[int]) -> None:
    """Note that the answers of these records have to be indexed."""
    connection.executemany(_LATER, [(seq,) for seq in seqs])


def index_new(connection: Sql, seq: int) -> None:
    """Index a new question."""
    connection.index("records_words", f"{_TEXTS} WHERE seq = ?", (seq,))


def index(connection: Sql, most: int) -> None:
    """Index up to ``most`` answers, the oldest first, but at least one."""
    last, characters = 0, 0
    for seq, length in connection.execute(_NEXT, (most,)).fetchall():
        if last and characters + length > _MOST_INDEXED:
            break
        last, characters = seq, characters + length
    if last:
        for statement in (_OUT_OF_THE_INDEX, _INTO_THE_INDEX):
            connection.execute(statement, (last,))
        connection.index("records_words", f"{_TEXTS} WHERE seq IN ({_UNINDEXED_ROWS})", (last,))
        connection.execute(_DONE, (last,))
