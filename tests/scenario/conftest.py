"""Both gateways run once for all scenes of a module, and each test begins as if it were the first."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from support.scene import Scene, running_scene


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Two real nanobot gateways, Alpha and Beta, with the plugin; see ``Scene``."""
    pytest.importorskip("nanobot")
    async with running_scene(tmp_path_factory.mktemp("scene")) as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Whatever gateways a test uses, it knows nothing of what was scripted and asked before it."""
    for given in getattr(item, "funcargs", {}).values():
        if isinstance(given, Scene):
            given.begin()
