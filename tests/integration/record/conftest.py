"""A group whose agents have their record in another process."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from integration.runner.conftest import Site, a_site
from support.far_away import Far, far_away


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    """See ``Far``."""
    with far_away(tmp_path) as variables:
        yield variables


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """See ``a_site``."""
    async with a_site(tmp_path) as one:
        yield one
