"""Tokens, faults, limits, quota, and the record of calls."""

import aiohttp
import pytest
from support.feishu_client import Api

from transcript_channels.simulator import FeishuSimulator

SEND = "POST /open-apis/im/v1/messages"
TOKEN = "/open-apis/auth/v3/tenant_access_token/internal"


async def test_wrong_credentials_get_no_token(team) -> None:
    wrong = {"app_id": team.alpha.app_id, "app_secret": "no"}
    assert (await team.as_alpha.call("POST", TOKEN, wrong))["code"] == 10014
    assert (await team.as_alpha.call("POST", TOKEN, {"app_id": "cli_no", "app_secret": "x"}))["code"] == 10003


async def test_missing_invalid_and_expired_tokens_get_their_codes(team) -> None:
    good = team.as_alpha.headers
    team.as_alpha.headers = {}
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 99991661
    team.as_alpha.headers = {"Authorization": "Bearer t-nonsense"}
    answer = await team.as_alpha.send(team.group.chat_id, "x")
    assert (answer["code"], answer["status"]) == (99991663, 400)
    team.as_alpha.headers = good
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 0
    team.feishu.expire_tokens(team.alpha)
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 99991663
    assert (await team.as_beta.send(team.group.chat_id, "x"))["code"] == 0
    await team.as_alpha.log_in()
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 0


async def test_a_fresh_token_is_given_again(team) -> None:
    before = team.as_alpha.headers["Authorization"]
    await team.as_alpha.log_in()
    assert team.as_alpha.headers["Authorization"] == before


async def test_tokens_end_after_their_time() -> None:
    async with FeishuSimulator(token_ttl=0) as feishu, aiohttp.ClientSession() as session:
        alpha = feishu.add_app("Alpha")
        api = Api(feishu, alpha, session)
        await api.log_in()
        assert (await api.call("GET", "/open-apis/im/v1/chats"))["code"] == 99991663


async def test_an_app_token_is_good_for_bot_info_only(team) -> None:
    body = {"app_id": team.alpha.app_id, "app_secret": team.alpha.app_secret}
    answer = await team.as_alpha.call("POST", "/open-apis/auth/v3/app_access_token/internal", body)
    team.as_alpha.headers = {"Authorization": f"Bearer {answer['app_access_token']}"}
    assert (await team.as_alpha.call("GET", "/open-apis/bot/v3/info"))["code"] == 0
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 99991663


async def test_a_fault_strikes_as_often_as_asked_and_does_nothing_else(team) -> None:
    fault = team.feishu.fail(SEND, code=230020, times=2)
    for _ in range(2):
        assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 230020
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 0
    assert fault.hits == 2
    assert len(team.feishu.messages(team.group)) == 1


async def test_a_fault_hits_its_route_and_app_alone(team) -> None:
    message = await team.feishu.say(team.group, team.ada, "hello")
    team.feishu.fail(SEND, code=230001, times=None, app=team.alpha)
    assert (await team.as_alpha.reply(message.message_id, "x"))["code"] == 0
    assert (await team.as_beta.send(team.group.chat_id, "x"))["code"] == 0
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 230001
    team.feishu.clear_faults()
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 0


@pytest.mark.parametrize(
    "route",
    ["POST /open-apis/im/v1/messages/{message_id}/reply", "* /open-apis/im/v1/messages/*", "*/reply"],
)
async def test_routes_are_patterns_or_have_stars(team, route: str) -> None:
    message = await team.feishu.say(team.group, team.ada, "hello")
    team.feishu.fail(route, code=230001)
    assert (await team.as_alpha.reply(message.message_id, "x"))["code"] == 230001


async def test_a_rate_limit_tells_when_it_ends(team) -> None:
    team.feishu.limit_rate(SEND, reset=2)
    async with team.session.post(
        team.feishu.base_url + "/open-apis/im/v1/messages", headers=team.as_alpha.headers, json={}
    ) as answer:
        assert answer.status == 429
        assert answer.headers["x-ogw-ratelimit-reset"] == "2"
        assert "Retry-After" not in answer.headers
        assert (await answer.json())["code"] == 99991400


async def test_the_quota_ends_for_every_app(team) -> None:
    team.feishu.quota = 1
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 0
    answer = await team.as_beta.send(team.group.chat_id, "x")
    assert (answer["code"], answer["status"]) == (99991403, 429)
    team.feishu.quota = None
    assert (await team.as_beta.send(team.group.chat_id, "x"))["code"] == 0


async def test_a_gateway_in_between_answers_with_html(team) -> None:
    team.feishu.fail(SEND, status=502)
    async with team.session.post(
        team.feishu.base_url + "/open-apis/im/v1/messages", headers=team.as_alpha.headers, json={}
    ) as answer:
        assert answer.status == 502
        assert answer.content_type == "text/html"
        assert "Bad Gateway" in await answer.text()


async def test_a_delay_alone_leaves_the_answer_as_it_is(team) -> None:
    team.feishu.fail(SEND, delay=0.01)
    assert (await team.as_alpha.send(team.group.chat_id, "x"))["code"] == 0


@pytest.mark.parametrize("after", [False, True])
async def test_a_cut_line_gives_no_answer(team, after: bool) -> None:
    team.feishu.fail(SEND, drop=True, after=after)
    with pytest.raises(aiohttp.ClientError):
        await team.as_alpha.send(team.group.chat_id, "x")
    assert len(team.feishu.messages(team.group)) == (1 if after else 0)


async def test_every_request_is_recorded(team) -> None:
    await team.as_alpha.send(team.group.chat_id, "hello", uuid="u1")
    await team.as_alpha.call("GET", f"/open-apis/im/v1/chats/{team.group.chat_id}")
    call = team.feishu.calls_to(SEND)[0]
    assert call.app is team.alpha
    assert call.query == {"receive_id_type": "chat_id"}
    assert call.body["uuid"] == "u1"
    assert (call.status, call.code) == (200, 0)
    assert len(team.feishu.calls_to("GET /open-apis/im/v1/chats/{chat_id}", team.alpha)) == 1
    assert team.feishu.calls_to("GET /open-apis/im/v1/chats/{chat_id}", team.beta) == []


async def test_an_unknown_path_is_404_and_recorded(team) -> None:
    async with team.session.get(team.feishu.base_url + "/open-apis/nothing") as answer:
        assert answer.status == 404
    assert team.feishu.calls[-1].status == 404


async def test_listeners_hear_what_happens_until_they_stop(team) -> None:
    heard: list[str] = []
    stop = team.feishu.listen(lambda notice: heard.append(notice.kind))
    message = await team.feishu.say(team.group, team.ada, "hello")
    await team.feishu.recall(message)
    stop()
    await team.feishu.say(team.group, team.ada, "unheard")
    assert heard == ["message", "recall"]


async def test_waiting_for_what_never_comes_ends_with_a_timeout(team) -> None:
    with pytest.raises(TimeoutError, match="rain"):
        await team.feishu.wait_for(lambda: False, timeout=0.02, what="rain")


async def test_the_next_finished_message_is_waited_for(team) -> None:
    await team.as_alpha.send(team.group.chat_id, "first")
    await team.as_alpha.send(team.group.chat_id, "second")
    found = await team.feishu.wait_for_message(team.group, team.alpha, "sec")
    assert found.text == "second"
    assert (await team.feishu.wait_for_message(team.group, team.alpha, after=1)).text == "second"
