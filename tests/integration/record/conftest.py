"""A group whose agents have their record in another process."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from integration.runner.conftest import Site
from support.far_away import Far, far_away

from transcript_channels.simulator import FeishuSimulator


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    """See ``Far``."""
    with far_away(tmp_path) as variables:
        yield variables


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A group, and processes that work in it."""
    async with FeishuSimulator() as feishu:
        one = Site(feishu, tmp_path)
        try:
            yield one
        finally:
            for running in one.processes:
                if running.process.returncode is None:
                    running.process.kill()
                await running.process.communicate()
            one.store.close()
