"""An engine for what a test keeps in PostgreSQL, in a schema of the test's own."""

from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from support.postgres import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nanobot_transcript.sql.postgres.engine import Engine

__all__ = ["engine", "engine_of"]


@pytest.fixture
def engine(cluster: Cluster) -> "Iterator[Engine]":
    """Nothing is there yet."""
    with engine_of(cluster) as opened:
        yield opened


@contextmanager
def engine_of(cluster: Cluster) -> "Iterator[Engine]":
    """One more, at a place of its own."""
    from nanobot_transcript.sql.postgres.address import DatabaseAddress
    from nanobot_transcript.sql.postgres.engine import Engine  # not everybody has its driver

    opened = Engine(DatabaseAddress(cluster.url, schema=f"t_{uuid4().hex[:12]}"))
    try:
        yield opened
    finally:
        opened.close()
