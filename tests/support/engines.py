"""An engine for what a test keeps in PostgreSQL, in a schema of the test's own."""

from collections.abc import Iterator

import pytest

__all__ = ["engine"]


@pytest.fixture
def engine(postgres_place: str) -> Iterator[object]:
    """Nothing is there yet."""
    from nanobot_transcript.sql.postgres.engine import Engine
    from nanobot_transcript.sql.postgres.place import Place

    url, _, schema = postgres_place.partition("#")
    opened = Engine(Place(url, schema=schema))
    yield opened
    opened.close()
