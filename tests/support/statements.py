"""The statements that a database is asked, as it sees them."""

from nanobot_transcript.sql.contract import Database
from nanobot_transcript.sql.sqlite import SqliteDatabase

__all__ = ["statements_of"]


def statements_of(database: Database) -> list[str]:
    """Those from now on, their parameters filled in; the list grows. There is a file already."""
    asked: list[str] = []
    assert isinstance(database, SqliteDatabase)
    database.read(lambda _: None, None)
    connection = database._connection
    assert connection is not None, "there is no file yet"
    connection.set_trace_callback(asked.append)
    return asked
