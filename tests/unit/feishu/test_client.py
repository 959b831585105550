"""The client of the open API: tokens, limits, retries, errors."""

import asyncio
import json
import logging
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.feishu_answers import TOKEN_PATH, ok, refused, token
from support.work import counted_work

from nanobot_transcript.errors import (
    CallBudgetError,
    ConfigError,
    CredentialsRefusedError,
    MessageGoneError,
    NoAnswerError,
    NotPermittedError,
    PlatformError,
    QuotaExhaustedError,
    RateLimitedError,
    RequestRefusedError,
    UnexpectedAnswerError,
)
from transcript_channels.feishu.client import Connections, FeishuClient
from transcript_channels.feishu.responses import ApiAnswer, decode, failure
from transcript_channels.feishu.retries import Patience

PATH = "/open-apis/im/v1/chats"
BAD_GATEWAY = httpx.Response(502, html="<html><body>Bad Gateway</body></html>")
LIMITED = {"x-ogw-ratelimit-limit": "50", "x-ogw-ratelimit-reset": "7"}


# --- tokens


async def test_calls_at_the_same_time_share_one_token(api, client) -> None:
    api.get(PATH).mock(return_value=ok(items=[]))
    await asyncio.gather(*(client.call("GET", PATH) for _ in range(20)))
    assert api["token"].call_count == 1
    assert {call.request.headers["Authorization"] for call in api.calls if call.request.url.path == PATH} == {
        "Bearer t-1"
    }


async def test_a_token_is_renewed_before_it_ends(api, client, time) -> None:
    api.get(PATH).mock(return_value=ok())
    await client.call("GET", PATH)
    time.now += 6500
    await client.call("GET", PATH)
    assert api["token"].call_count == 1
    time.now += 150
    api["token"].mock(return_value=token("t-2"))
    await client.call("GET", PATH)
    assert api.calls.last.request.headers["Authorization"] == "Bearer t-2"


async def test_the_old_token_is_used_while_renewing_fails(api, client, time) -> None:
    api.get(PATH).mock(return_value=ok())
    await client.call("GET", PATH)
    api["token"].mock(return_value=BAD_GATEWAY)
    time.now += 6900
    assert await client.call("GET", PATH) == {}
    time.now += 400
    with pytest.raises(NoAnswerError):
        await client.call("GET", PATH)


@pytest.mark.parametrize(("status", "code"), [(400, 99991663), (401, 99991663), (401, 99991668), (200, 99991664)])
async def test_a_refused_token_is_renewed_once_and_the_call_made_again(api, client, status, code) -> None:
    api["token"].mock(side_effect=[token("t-1"), token("t-2")])
    api.get(PATH).mock(side_effect=[refused(code, status), ok(done=True)])
    assert await client.call("GET", PATH) == {"done": True}
    assert api.calls.last.request.headers["Authorization"] == "Bearer t-2"


async def test_ten_refused_calls_renew_the_token_once(api, client) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return ok() if request.headers["Authorization"] == "Bearer t-2" else refused(99991663, 401)

    api["token"].mock(side_effect=[token("t-1"), token("t-2")])
    api.get(PATH).mock(side_effect=answer)
    await asyncio.gather(*(client.call("GET", PATH) for _ in range(10)))
    assert api["token"].call_count == 2


async def test_a_fresh_token_that_is_refused_too_is_an_error(api, client) -> None:
    route = api.get(PATH).mock(return_value=refused(99991663, 401))
    with pytest.raises(CredentialsRefusedError):
        await client.call("GET", PATH)
    assert route.call_count == 2


@pytest.mark.parametrize("code", [10003, 10014])
async def test_wrong_credentials_are_named(api, client, code) -> None:
    api["token"].mock(return_value=refused(code, 200))
    with pytest.raises(CredentialsRefusedError) as caught:
        await client.call("GET", PATH)
    assert "credentials page" in caught.value.hint
    assert "the-secret" not in str(caught.value)


async def test_who_gives_up_waiting_for_the_token_does_not_take_it_from_the_others(api, client) -> None:
    released = asyncio.Event()

    async def slowly(request: httpx.Request) -> httpx.Response:
        await released.wait()
        return token("t-1")

    api["token"].mock(side_effect=slowly)
    api.get(PATH).mock(return_value=ok())
    first = asyncio.create_task(client.call("GET", PATH))
    second = asyncio.create_task(client.call("GET", PATH))
    await asyncio.sleep(0)
    first.cancel()
    released.set()
    assert await second == {}
    with pytest.raises(asyncio.CancelledError):
        await first
    assert api["token"].call_count == 1


@pytest.mark.parametrize("answer", [{"code": 0}, {"code": 0, "tenant_access_token": "a\nb"}, {"code": 0, "expire": 1}])
async def test_an_answer_without_a_usable_token_is_an_error(api, client, answer) -> None:
    api["token"].mock(return_value=httpx.Response(200, json=answer))
    with pytest.raises(UnexpectedAnswerError):
        await client.call("GET", PATH)


@pytest.mark.parametrize(
    ("expire", "seconds"), [("7200", 7200), ("7200.5", 7200), (1800, 1800), (10**400, 300), (10**9, 86_400), (-1, 5)]
)
async def test_how_long_a_token_lasts_is_read_however_it_is_written(api, client, time, expire, seconds) -> None:
    await _lasts(api, client, time, expire, seconds)


@pytest.mark.parametrize("expire", [None, "", "soon", "nan", "inf", True, [], {"s": 1}])
async def test_a_token_of_unknown_life_is_kept_for_a_while(api, client, time, expire) -> None:
    await _lasts(api, client, time, expire, 300)


async def _lasts(api, client, time, expire, seconds) -> None:
    """A token is renewed ten minutes, or half its life, before its end."""
    body = json.dumps({"code": 0, "tenant_access_token": "t-1", "expire": expire})
    api["token"].mock(return_value=httpx.Response(200, content=body))
    api.get(PATH).mock(return_value=ok())
    renewed = seconds - min(600, seconds / 2)
    for later, calls in ((0.0, 1), (renewed - 1, 1), (2.0, 2)):
        time.now += later
        await client.call("GET", PATH)
        assert api["token"].call_count == calls


async def test_nothing_secret_is_logged_or_shown(api, client, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    api.get(PATH).mock(side_effect=[refused(99991400, 429), httpx.Response(400, json={"code": 1, "msg": "t-1 is bad"})])
    with pytest.raises(PlatformError) as caught:
        await client.call("GET", PATH)
    shown = caplog.text + str(caught.value) + repr(client) + repr(caught.value)
    assert "the-secret" not in shown
    assert "t-1" not in shown


# --- the event loop


async def test_making_a_client_and_its_connections_costs_the_event_loop_next_to_nothing() -> None:
    with counted_work() as plainly:
        await httpx.AsyncClient().aclose()
    assert plainly.named("load_verify_locations") == 1  # of the trust store: tens of milliseconds
    with counted_work() as work:
        await FeishuClient("cli_a", "the-secret").close()
        connections = Connections()
        first, second = await asyncio.gather(connections.get(), connections.get())
    assert work.named("load_verify_locations") == 0
    assert first is second
    await connections.close()
    assert first.is_closed


async def test_connections_that_cannot_be_made_are_a_matter_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    client = FeishuClient("cli_a", "the-secret")
    with pytest.raises(ConfigError, match="connection"):
        await client.call("GET", PATH)
    await client.close()


async def test_an_answer_of_nothing_but_brackets_is_refused_and_keeps_nobody_waiting(api, client) -> None:
    raw = b'{"code": 0, "data": {"items": [' + b",".join([b"[]"] * 2_000_000) + b"]}}"
    api.get(PATH).mock(return_value=httpx.Response(200, content=raw))
    with counted_work() as work, pytest.raises(UnexpectedAnswerError):
        await client.call("GET", PATH)  # taken apart it would be a success
    assert work.of(decode) == 1  # on the event loop: the token's answer, which is short


# --- limits


async def test_a_rate_limit_is_waited_for_as_long_as_the_platform_says(api, client, time) -> None:
    api.get(PATH).mock(side_effect=[refused(99991400, 429, LIMITED), refused(99991400, 400, LIMITED), ok(n=1)])
    assert await client.call("GET", PATH) == {"n": 1}
    assert len(time.slept) == 2
    assert all(7 <= slept < 9 for slept in time.slept)


@pytest.mark.parametrize("reset", ["", "soon", "-3", "nan", "inf", "0"])
async def test_without_a_usable_reset_the_waits_grow(api, client, time, reset) -> None:
    api.get(PATH).mock(return_value=refused(99991400, 429, {"x-ogw-ratelimit-reset": reset}))
    with pytest.raises(RateLimitedError):
        await client.call("GET", PATH)
    assert len(time.slept) == 3
    assert time.slept[-1] > time.slept[0] >= 1


SIX_SECONDS_ON = {"Date": "Sun, 22 Nov 2026 07:00:00 GMT", "Retry-After": "Sun, 22 Nov 2026 07:00:06 GMT"}


@pytest.mark.parametrize("headers", [{"Retry-After": "6"}, {"x-ogw-ratelimit-reset": "0", **SIX_SECONDS_ON}])
async def test_a_gateway_that_says_when_to_come_again_is_obeyed(api, client, time, headers) -> None:
    api.get(PATH).mock(side_effect=[httpx.Response(429, text="slow down", headers=headers), ok(n=1)])
    assert await client.call("GET", PATH) == {"n": 1}
    assert 6 <= time.slept[0] < 8


@pytest.mark.parametrize(
    "told", ["Wed, 21 Oct 2015 07:28:00 GMT", "tomorrow", "-5", "nan", "", "Sun, 99 Nov 2026 0:0:0"]
)
async def test_a_gateway_that_says_nothing_usable_costs_the_usual_wait(api, client, time, told) -> None:
    api.get(PATH).mock(side_effect=[httpx.Response(429, headers={"Retry-After": told}), ok(n=1)])
    assert await client.call("GET", PATH) == {"n": 1}
    assert 1 <= time.slept[0] < 2


async def test_no_gateway_makes_a_bot_wait_longer_than_an_hour(api, client) -> None:
    api.get(PATH).mock(return_value=httpx.Response(429, headers={"Retry-After": "Fri, 22 Nov 2999 07:00:00 GMT"}))
    with pytest.raises(RateLimitedError) as caught:
        await client.call("GET", PATH)
    assert caught.value.retry_after == 3600


async def test_a_limit_that_lasts_longer_than_the_patience_is_reported_at_once(api, client, time) -> None:
    route = api.get(PATH).mock(return_value=refused(99991400, 429, {"x-ogw-ratelimit-reset": "120"}))
    with pytest.raises(RateLimitedError) as caught:
        await client.call("GET", PATH)
    assert caught.value.retry_after == 120
    with pytest.raises(RateLimitedError):
        await client.call("GET", PATH)
    assert (route.call_count, time.slept) == (1, [])
    time.now += 121
    route.mock(return_value=ok())
    await client.call("GET", PATH)


async def test_other_calls_of_a_limited_api_wait_too_and_other_apis_do_not(api, client, time) -> None:
    one, two = "/open-apis/im/v1/messages/om_1", "/open-apis/im/v1/messages/om_2"
    api.get(one).mock(return_value=refused(99991400, 429, {"x-ogw-ratelimit-reset": "90"}))
    other = api.get(two).mock(return_value=ok())
    api.get(PATH).mock(return_value=ok())
    with pytest.raises(RateLimitedError):
        await client.call("GET", one)
    with pytest.raises(RateLimitedError):
        await client.call("GET", two)
    assert other.call_count == 0
    await client.call("GET", PATH)


async def test_the_limit_of_a_chat_holds_for_that_chat_only(api, client, time) -> None:
    send = "/open-apis/im/v1/messages"
    api.post(send).mock(side_effect=[refused(230020), ok(n=1), ok(n=2)])
    assert await client.call("POST", send, chat="oc_1") == {"n": 1}
    assert len(time.slept) == 1
    await client.call("POST", send, chat="oc_2")
    assert len(time.slept) == 1


async def test_http_429_without_json_is_a_rate_limit_as_well(api, client, time) -> None:
    api.get(PATH).mock(side_effect=[httpx.Response(429, text="slow down"), ok(n=1)])
    assert await client.call("GET", PATH) == {"n": 1}


async def test_the_months_quota_stops_every_call_for_an_hour(api, client, time, caplog) -> None:
    route = api.get(PATH).mock(return_value=refused(99991403, 429))
    for _ in range(3):
        with pytest.raises(QuotaExhaustedError) as caught:
            await client.call("GET", PATH)
    with pytest.raises(QuotaExhaustedError):
        await client.budgeted(None).call("POST", "/open-apis/im/v1/messages")
    assert (route.call_count, time.slept) == (1, [])
    assert 0 < caught.value.retry_after <= 3600
    assert len(caplog.records) == 1
    time.now += 3601
    route.mock(return_value=ok())
    await client.call("GET", PATH)


async def test_a_spent_budget_means_no_request(api, client) -> None:
    left = [True, True, False]
    route = api.get(PATH).mock(side_effect=[refused(99991400, 429), ok(), ok()])
    budgeted = client.budgeted(lambda: left.pop(0))
    await budgeted.call("GET", PATH)
    with pytest.raises(CallBudgetError):
        await budgeted.call("GET", PATH)
    assert route.call_count == 2
    await client.call("GET", PATH)


async def test_a_budget_may_be_a_coroutine(api, client) -> None:
    async def spend() -> bool:
        return False

    with pytest.raises(CallBudgetError):
        await client.budgeted(spend).call("GET", PATH)


# --- trouble


async def test_a_page_of_html_from_a_gateway_is_tried_again_and_then_an_error(api, client, time) -> None:
    route = api.get(PATH).mock(side_effect=[BAD_GATEWAY, ok(n=1)])
    assert await client.call("GET", PATH) == {"n": 1}
    route.mock(side_effect=None, return_value=BAD_GATEWAY)
    with pytest.raises(NoAnswerError) as caught:
        await client.call("GET", PATH)
    assert caught.value.status == 502
    assert route.call_count == 2 + 4


@pytest.mark.parametrize("content", [b"<html>Log in</html>", b"", b"[1]", b"{", b"\xff\xfe", b"[" * 100_000])
async def test_what_is_no_json_object_is_an_unexpected_answer(api, client, time, content) -> None:
    route = api.get(PATH).mock(return_value=httpx.Response(200, content=content))
    with pytest.raises(UnexpectedAnswerError):
        await client.call("GET", PATH)
    assert route.call_count == 1


async def test_a_lone_surrogate_in_an_answer_is_read(api, client) -> None:
    api.get(PATH).mock(return_value=httpx.Response(200, content=b'{"code": 0, "data": {"name": "a\\ud83d"}}'))
    assert (await client.call("GET", PATH))["name"] == "a\ud83d"


@pytest.mark.parametrize("error", [httpx.ReadTimeout("slow"), httpx.ReadError("reset"), httpx.RemoteProtocolError("?")])
async def test_what_may_have_had_an_effect_is_repeated_only_if_that_does_no_harm(api, client, time, error) -> None:
    got, sent = api.get(PATH).mock(side_effect=error), api.post(PATH).mock(side_effect=error)
    with pytest.raises(NoAnswerError):
        await client.call("GET", PATH)
    with pytest.raises(NoAnswerError):
        await client.call("POST", PATH)
    assert (got.call_count, sent.call_count) == (4, 1)
    with pytest.raises(NoAnswerError):
        await client.call("POST", PATH, repeatable=True)
    assert sent.call_count == 5


async def test_what_was_never_sent_is_always_repeated(api, client, time) -> None:
    sent = api.post(PATH).mock(side_effect=[httpx.ConnectError("no route"), ok(n=1)])
    assert await client.call("POST", PATH) == {"n": 1}
    assert sent.call_count == 2
    api["token"].mock(side_effect=[httpx.ReadTimeout("slow"), token("t-2")])
    time.now += 7300
    sent.mock(side_effect=None, return_value=ok(n=2))
    assert await client.call("POST", PATH) == {"n": 2}


async def test_an_answer_that_never_ends_is_given_up(api, time) -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    api.get(PATH).mock(side_effect=hang)
    patience = Patience(timeout=0.01, attempts=2)
    async with FeishuClient("cli_a", "s", patience=patience, clock=time.clock, sleep=time.sleep) as client:
        with pytest.raises(NoAnswerError):
            await client.call("GET", PATH)


async def test_redirects_are_not_followed(api, client) -> None:
    api.get(PATH).mock(return_value=httpx.Response(302, headers={"location": "https://elsewhere.example/"}))
    with pytest.raises(UnexpectedAnswerError):
        await client.call("GET", PATH)


# --- errors


async def test_a_missing_scope_is_named_with_the_page_to_grant_it(api, client) -> None:
    url = "https://open.feishu.cn/app/cli_a/auth?q=im:message.group_msg"
    body = {
        "code": 99991672,
        "msg": f"Access denied. Grant it: {url} now",
        "error": {"permission_violations": [{"type": "action_scope_required", "subject": "im:message.group_msg"}, 7]},
    }
    api.get(PATH).mock(return_value=httpx.Response(400, json=body))
    with pytest.raises(NotPermittedError) as caught:
        await client.call("GET", PATH)
    error = caught.value
    assert (error.scopes, error.grant_url) == (("im:message.group_msg",), url)
    assert "im:message.group_msg" in str(error)
    assert url in error.hint


async def test_a_scope_the_platform_does_not_name_is_named_by_the_caller(api, client) -> None:
    api.get(PATH).mock(return_value=refused(230027))
    with pytest.raises(NotPermittedError) as caught:
        await client.call("GET", PATH, needs=["im:message.group_msg"])
    assert caught.value.scopes == ("im:message.group_msg",)
    assert caught.value.grant_url.startswith("https://open.feishu.cn/app/cli_a/auth?q=im:message.group_msg")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (230001, RequestRefusedError),
        (230002, NotPermittedError),
        (230006, NotPermittedError),
        (230011, MessageGoneError),
        (230020, RateLimitedError),
        (230025, RequestRefusedError),
        (230028, RequestRefusedError),
        (230031, RequestRefusedError),
        (230072, RequestRefusedError),
        (230073, NotPermittedError),
        (230075, RequestRefusedError),
        (230099, RequestRefusedError),
        (230110, MessageGoneError),
        (231003, MessageGoneError),
        (11232, RateLimitedError),
        (99991400, RateLimitedError),
        (99991403, QuotaExhaustedError),
        (99991663, CredentialsRefusedError),
        (99991672, NotPermittedError),
        (99992361, RequestRefusedError),
        (987654, RequestRefusedError),
    ],
)
def test_each_code_of_the_platform_has_its_error(code: int, kind: type[PlatformError]) -> None:
    error = failure(ApiAnswer(400, {"code": code, "msg": "why"}, {"x-tt-logid": "L1"}), "cli_a", "https://console")
    assert type(error) is kind
    assert (error.platform_code, error.status, error.log_id) == (code, 400, "L1")
    assert str(code) in str(error)
    assert error.hint


@pytest.mark.parametrize(("status", "code"), [(400, 987654), (400, 99991663), (502, None)])
def test_an_error_repeats_what_the_platform_said(status: int, code: int | None) -> None:
    body = {"msg": "Bad\n luck."} | ({} if code is None else {"code": code})
    assert ": Bad luck)" in str(failure(ApiAnswer(status, body, {}), "cli_a", "https://console"))


@pytest.mark.parametrize("base_url", ["", "open.feishu.cn", "ftp://open.feishu.cn", "http://"])
def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError):
        FeishuClient("cli_a", "s", base_url)


def test_credentials_are_needed() -> None:
    with pytest.raises(ConfigError):
        FeishuClient("cli_a", "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["code", "msg", "data", "error", "x"]), inner),
)


@given(body=st.dictionaries(st.sampled_from(["code", "msg", "data", "error"]), JSON), status=st.integers(200, 599))
def test_any_answer_becomes_one_of_our_errors(body, status) -> None:
    answer = ApiAnswer(status, body)
    if not answer.ok:
        error = failure(answer, "cli_a", "https://console", ["a:b"])
        assert isinstance(error, PlatformError)
        assert str(error)


# --- against the simulator


async def test_the_bot_learns_who_it_is(team) -> None:
    bot = await team.client.bot_info()
    assert (bot.open_id, bot.name) == (team.alpha.bot_open_id, "Alpha")


async def test_an_expired_token_is_not_noticed_by_the_caller(team) -> None:
    await team.client.bot_info()
    team.feishu.expire_tokens()
    await team.client.bot_info()
    assert len(team.feishu.calls_to(f"POST {TOKEN_PATH}")) == 2


async def test_quota_and_limits_of_the_simulated_platform_are_understood(team, time) -> None:
    team.feishu.limit_rate("GET /open-apis/bot/v3/info", reset=5)
    await team.client.bot_info()
    assert len(time.slept) == 1
    team.feishu.quota = 0
    with pytest.raises(QuotaExhaustedError):
        await team.client.bot_info()
    calls = len(team.feishu.calls)
    with pytest.raises(QuotaExhaustedError):
        await team.client.bot_info()
    assert len(team.feishu.calls) == calls
