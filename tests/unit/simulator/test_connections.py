"""The long connection: who is let in, pings, drops."""

import json

import aiohttp
import pytest
from support.feishu_client import long_connection

from transcript_channels.simulator import FeishuSimulator

ENDPOINT = "/callback/ws/endpoint"


async def ask_endpoint(team, **body: str) -> dict:
    async with team.session.post(team.feishu.base_url + ENDPOINT, json=body) as answer:
        assert answer.status == 200
        return await answer.json()


async def test_the_endpoint_hands_out_an_address_and_the_client_config(team) -> None:
    answer = await ask_endpoint(team, AppID=team.alpha.app_id, AppSecret=team.alpha.app_secret)
    assert answer["code"] == 0
    assert answer["data"]["URL"].startswith("ws://127.0.0.1:")
    assert "device_id=" in answer["data"]["URL"]
    assert answer["data"]["ClientConfig"] == {
        "ReconnectCount": -1,
        "ReconnectInterval": 1,
        "ReconnectNonce": 0,
        "PingInterval": 120,
    }


async def test_wrong_or_missing_credentials_get_their_codes(team) -> None:
    assert (await ask_endpoint(team, AppID=team.alpha.app_id, AppSecret="no"))["code"] == 514
    assert (await ask_endpoint(team, AppID="", AppSecret=""))["code"] == 1000040344


async def test_an_address_can_be_used_once(team) -> None:
    answer = await ask_endpoint(team, AppID=team.alpha.app_id, AppSecret=team.alpha.app_secret)
    async with team.session.ws_connect(answer["data"]["URL"]):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await team.session.ws_connect(answer["data"]["URL"])
    assert refused.value.headers is not None
    assert refused.value.headers["Handshake-Status"] == "514"


async def test_handshakes_are_refused_on_request(team) -> None:
    team.feishu.refuse_handshakes(514, "too many", auth_code=1000040350, app=team.alpha)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with long_connection(team.feishu, team.alpha, team.session):
            pass
    assert refused.value.headers is not None
    assert refused.value.headers["Handshake-Msg"] == "too many"
    assert refused.value.headers["Handshake-Autherrcode"] == "1000040350"
    async with long_connection(team.feishu, team.alpha, team.session):
        assert team.alpha.connected


async def test_a_51st_connection_is_refused(team) -> None:
    urls = []
    for _ in range(51):
        answer = await ask_endpoint(team, AppID=team.alpha.app_id, AppSecret=team.alpha.app_secret)
        urls.append(answer["data"]["URL"])
    sockets = [await team.session.ws_connect(url) for url in urls[:50]]
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await team.session.ws_connect(urls[50])
    assert refused.value.headers is not None
    assert refused.value.headers["Handshake-Autherrcode"] == "1000040350"
    answer = await ask_endpoint(team, AppID=team.alpha.app_id, AppSecret=team.alpha.app_secret)
    assert answer["code"] == 1000040350
    for socket in sockets:
        await socket.close()


async def test_a_ping_is_answered_with_the_newest_config(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        team.feishu.client_config.ping_interval = 7
        await connection.ping()
        await team.feishu.wait_for(lambda: connection.pongs)
        assert json.loads(connection.pongs[0].payload)["PingInterval"] == 7
        assert team.alpha.connections[0].pings == 1


async def test_junk_on_the_line_does_no_harm(team) -> None:
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        await connection.socket.send_bytes(b"junk")
        await connection.socket.send_str("junk")
        message = await team.feishu.say(team.group, team.ada, "hello")
        assert message.pushes[0].acked


@pytest.mark.parametrize("abrupt", [True, False])
async def test_connections_are_dropped_on_request(team, abrupt: bool) -> None:
    async with long_connection(team.feishu, team.alpha, team.session) as connection:
        await team.feishu.drop_connections(team.alpha, abrupt=abrupt)
        assert not team.alpha.connected
        await team.feishu.wait_for(lambda: connection.socket.closed)


async def test_stopping_the_platform_ends_its_connections() -> None:
    async with aiohttp.ClientSession() as session, FeishuSimulator() as feishu:
        alpha = feishu.add_app("Alpha")
        async with long_connection(feishu, alpha, session) as connection:
            await feishu.stop()
            await feishu.wait_for(lambda: connection.socket.closed)
            assert not alpha.connected


async def test_a_platform_starts_once(team) -> None:
    with pytest.raises(RuntimeError, match="once"):
        await team.feishu.start()


async def test_the_endpoint_fails_on_request_as_the_platform_does(team) -> None:
    team.feishu.fail(f"POST {ENDPOINT}", code=1, msg="busy")
    answer = await ask_endpoint(team, AppID=team.alpha.app_id, AppSecret=team.alpha.app_secret)
    assert (answer["code"], answer["msg"]) == (1, "busy")
