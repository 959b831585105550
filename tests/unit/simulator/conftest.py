"""A small team on a simulated platform: Ada and Bo, the bots Alpha and Beta, one group."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
from support.feishu_client import Api
from support.waiting import PATIENCE

from transcript_channels.simulator import App, Chat, FeishuSimulator, Person


@dataclass
class Team:
    """Who is there, and REST as each bot."""

    feishu: FeishuSimulator
    session: aiohttp.ClientSession
    ada: Person
    bo: Person
    alpha: App
    beta: App
    group: Chat
    as_alpha: Api
    as_beta: Api


@pytest.fixture
async def team() -> AsyncIterator[Team]:
    async with (
        FeishuSimulator(ack_timeout=PATIENCE, repush_delays=(0.02, 0.04)) as feishu,
        aiohttp.ClientSession() as session,
    ):
        ada, bo = feishu.add_person("Ada"), feishu.add_person("Bo")
        alpha, beta = feishu.add_app("Alpha"), feishu.add_app("Beta")
        group = feishu.add_group("Team", [ada, bo, alpha, beta])
        as_alpha, as_beta = Api(feishu, alpha, session), Api(feishu, beta, session)
        await as_alpha.log_in()
        await as_beta.log_in()
        yield Team(feishu, session, ada, bo, alpha, beta, group, as_alpha, as_beta)
