"""A schema that exists for a while, such as for a demo, and is removed with everything in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from nanobot_transcript.errors import StoreError
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.engine import Engine
from nanobot_transcript.sql.postgres.errors import may_make_schemas

__all__ = ["drop_schema", "make_schema"]


def make_schema(address: str, schema: str) -> None:
    """Create it, with the tables of a record. Raises StoreError kinds when that is impossible."""
    with _engine(address, schema) as engine:
        try:
            engine.write(RECORD, lambda connection: None)
        except StoreError as error:
            granted = may_make_schemas(engine.place)
            if error.hint.startswith(granted):
                error.hint = granted  # an administrator cannot create it in advance: its name is new each time
            raise


def drop_schema(address: str, schema: str) -> None:
    """Remove it with everything in it, for good. Raises StoreError kinds when that is impossible."""
    with _engine(address, schema) as engine, engine.connection() as connection:
        connection.execute(cast("Any", f"DROP SCHEMA IF EXISTS {engine.place.quoted_schema} CASCADE"))


@contextmanager
def _engine(address: str, schema: str) -> Iterator[Engine]:
    engine = Engine(DatabaseAddress(address, schema))
    try:
        yield engine
    finally:
        engine.close()
