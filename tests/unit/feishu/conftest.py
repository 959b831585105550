"""Two ways to be at the platform: requests answered by respx, and the simulator with a small team."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import respx
from support.faketime import FakeTime
from support.feishu_answers import TOKEN_PATH, token
from support.waiting import PATIENCE

from transcript_channels.feishu.client import FEISHU_URL, FeishuClient
from transcript_channels.simulator import App, Chat, FeishuSimulator, Person


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def api() -> Iterator[respx.MockRouter]:
    with respx.mock(base_url=FEISHU_URL, assert_all_called=False) as router:
        router.post(TOKEN_PATH, name="token").mock(return_value=token("t-1"))
        yield router


@pytest.fixture
async def client(api: respx.MockRouter, time: FakeTime) -> AsyncIterator[FeishuClient]:
    async with FeishuClient("cli_a", "the-secret", clock=time.clock, sleep=time.sleep) as client:
        yield client


@dataclass
class Team:
    """Ada and Bo, the bots Alpha and Beta, one group, and Alpha's client."""

    feishu: FeishuSimulator
    ada: Person
    bo: Person
    alpha: App
    beta: App
    group: Chat
    client: FeishuClient


@pytest.fixture
async def team(time: FakeTime) -> AsyncIterator[Team]:
    async with FeishuSimulator(ack_timeout=PATIENCE, repush_delays=(0.02, 0.04)) as feishu:
        ada, bo = feishu.add_person("Ada"), feishu.add_person("Bo")
        alpha, beta = feishu.add_app("Alpha"), feishu.add_app("Beta")
        group = feishu.add_group("Team", [ada, bo, alpha, beta])
        options: dict[str, Any] = {"clock": time.clock, "sleep": time.sleep}
        async with FeishuClient(alpha.app_id, alpha.app_secret, feishu.base_url, **options) as client:
            yield Team(feishu, ada, bo, alpha, beta, group, client)
