"""The webhook: what it lets in, and what it does not."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faketime import FakeTime
from support.loop_clock import outlast
from support.waiting import PATIENCE
from support.webhooks import seal, served, sign

from nanobot_transcript.errors import ConfigError
from transcript_channels.feishu.webhook import Envelopes, FeishuWebhook, RefusedError, Seen, WebhookOptions

KEY, TOKEN = "the encrypt key", "the token"


def event(number: int = 1, kind: str = "im.message.receive_v1", token: str = TOKEN) -> dict[str, Any]:
    header = {"event_id": f"e{number}", "event_type": kind, "token": token, "app_id": "cli_a"}
    return {"schema": "2.0", "header": header, "event": {"message": {"message_id": f"om_{number}"}}}


class Hook:
    """One webhook, what reached ``on_event``, and a way to send it requests."""

    def __init__(self, time: FakeTime) -> None:
        self.url: str
        self.session: aiohttp.ClientSession
        self.time = time
        self.events: list[Any] = []
        self.heard = threading.Event()
        self.answer: Any = None

    def hear(self, event: dict[str, Any]) -> Any:
        self.events.append(event)
        self.heard.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer

    async def post(self, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        async with self.session.post(self.url, data=body, headers=headers) as answer:
            return answer.status, json.loads(await answer.read() or b"null")

    async def push(self, pushed: Any, nonce: str = "n1", key: str = KEY, late: float = 0.0) -> tuple[int, Any]:
        """A request as the platform makes it."""
        body = seal(pushed, key)
        return await self.post(body, sign(body, key, self.time.now - late, nonce))


@pytest.fixture
async def hook(time: FakeTime) -> AsyncIterator[Hook]:
    hook = Hook(time)
    options = WebhookOptions(most_bytes=100_000, reading=3600)
    webhook = FeishuWebhook(hook.hear, encrypt_key=KEY, verification_token=TOKEN, options=options, clock=time.clock)
    async with served(webhook) as url, aiohttp.ClientSession() as session:
        hook.url, hook.session = url, session
        yield hook


# --- what is let in


async def test_a_signed_event_is_handed_over_and_acknowledged(hook) -> None:
    assert await hook.push(event()) == (200, {})
    assert hook.events == [event()]


async def test_the_check_of_the_address_is_answered(hook) -> None:
    check = {"type": "url_verification", "token": TOKEN, "challenge": "c-1"}
    assert await hook.post(seal(check, KEY)) == (200, {"challenge": "c-1"})
    assert await hook.push(check) == (200, {"challenge": "c-1"})
    assert hook.events == []


async def test_an_event_that_is_not_taken_is_answered_with_500_and_may_come_again(hook) -> None:
    hook.answer = OSError("disk full")
    body = seal(event(), KEY)
    headers = sign(body, KEY, hook.time.now)
    assert (await hook.post(body, headers))[0] == 500
    hook.answer = None
    assert (await hook.post(body, headers))[0] == 200
    assert len(hook.events) == 2


async def test_an_event_that_was_taken_is_not_handed_over_again(hook) -> None:
    assert (await hook.push(event(), "n1"))[0] == 200
    assert (await hook.push(event(), "n2"))[0] == 200
    assert len(hook.events) == 1
    hook.time.now += 8 * 3600
    assert (await hook.push(event(), "n3"))[0] == 200
    assert len(hook.events) == 2


async def test_the_answer_to_a_pressed_button_is_sent_back_each_time(hook) -> None:
    hook.answer = {"toast": {"type": "info", "content": "好"}}
    for nonce in ("n1", "n2"):
        assert await hook.push(event(2, "card.action.trigger"), nonce) == (200, hook.answer)
    assert len(hook.events) == 1
    assert await hook.push(event(3), "n3") == (200, {})


async def test_events_of_the_old_schema_are_handed_over(hook) -> None:
    old = {"uuid": "u1", "token": TOKEN, "type": "event_callback", "event": {"type": "message", "app_id": "cli_a"}}
    assert (await hook.push(old))[0] == 200
    assert hook.events == [old]


async def test_without_an_encrypt_key_the_token_decides(time) -> None:
    hook = Hook(time)
    webhook = FeishuWebhook(hook.hear, verification_token=TOKEN, clock=time.clock)
    async with served(webhook) as hook.url, aiohttp.ClientSession() as hook.session:
        assert (await hook.post(json.dumps(event()).encode()))[0] == 200
        assert (await hook.post(json.dumps(event(2, token="other")).encode()))[0] == 401
        assert (await hook.post(json.dumps(event()).encode()))[0] == 200
    assert hook.events == [event()]


async def test_the_log_says_why_a_request_was_not_let_in(hook, caplog) -> None:
    assert (await hook.post(seal(event(), KEY)))[0] == 401
    assert [record.getMessage() for record in caplog.records if record.name.endswith(".webhook")] == [
        "A request to the webhook was refused with 401: no signature"
    ]


async def test_a_slow_record_does_not_hold_up_other_requests(hook) -> None:
    released = threading.Event()
    hook.answer = lambda: released.wait(PATIENCE)
    first = asyncio.create_task(hook.push(event(1), "n1"))
    try:
        assert await asyncio.to_thread(hook.heard.wait, PATIENCE)
        check = {"type": "url_verification", "token": TOKEN, "challenge": "c"}
        assert (await hook.push(check, "n2"))[0] == 200
    finally:
        released.set()
    assert (await first)[0] == 200


async def test_handlers_that_need_the_loops_threads_do_not_starve_each_other(time) -> None:
    """As the channel does: each waits in its thread for work on the loop that itself needs a thread."""
    loop = asyncio.get_running_loop()

    async def look_up() -> None:
        await asyncio.to_thread(lambda: None)

    def hear(_event: dict[str, Any]) -> None:
        asyncio.run_coroutine_threadsafe(look_up(), loop).result(PATIENCE)

    webhook = FeishuWebhook(hear, encrypt_key=KEY, verification_token=TOKEN, clock=time.clock)
    async with served(webhook) as url, aiohttp.ClientSession() as session:

        async def push(number: int) -> int:
            body = seal(event(number), KEY)
            async with session.post(url, data=body, headers=sign(body, KEY, time.now, f"n{number}")) as answer:
                return answer.status

        assert await asyncio.gather(*(push(number) for number in range(40))) == [200] * 40


async def test_an_event_that_comes_twice_at_once_is_handed_over_once(hook) -> None:
    gate = threading.Event()
    hook.answer = lambda: gate.wait(PATIENCE) and None
    first = asyncio.create_task(hook.push(event(), "n1"))
    await asyncio.to_thread(hook.heard.wait, PATIENCE)
    second = asyncio.create_task(hook.push(event(), "n2"))
    await asyncio.wait({second}, timeout=0.2)
    gate.set()
    assert [await first, await second] == [(200, {}), (200, {})]
    assert hook.events == [event()]


# --- what is not


async def test_a_wrong_signature_is_refused(hook) -> None:
    body = seal(event(), KEY)
    right = sign(body, KEY, hook.time.now)
    for name, value in [
        ("X-Lark-Signature", "0" * 64),
        ("X-Lark-Signature", ""),
        ("X-Lark-Signature", "é"),
        ("X-Lark-Request-Nonce", "other"),
        ("X-Lark-Request-Timestamp", str(int(hook.time.now) + 1)),
        ("X-Lark-Request-Nonce", "n" * 5000),
    ]:
        assert (await hook.post(body, {**right, name: value}))[0] == 401
    assert (await hook.post(seal(event(2), KEY), right))[0] == 401
    assert (await hook.post(body))[0] == 401
    assert (await hook.push(event(), key="another key"))[0] == 401
    assert hook.events == []


async def test_a_replayed_request_is_refused(hook) -> None:
    body = seal(event(), KEY)
    headers = sign(body, KEY, hook.time.now)
    assert (await hook.post(body, headers))[0] == 200
    assert (await hook.post(body, headers))[0] == 403
    hook.time.now += 500
    assert (await hook.post(body, headers))[0] == 403
    hook.time.now += 200
    assert (await hook.post(body, headers))[0] == 401
    assert len(hook.events) == 1


@pytest.mark.parametrize("late", [601, -601, 10**9])
async def test_a_time_that_is_too_far_off_is_refused(hook, late: float) -> None:
    assert (await hook.push(event(), late=late))[0] == 401
    assert hook.events == []


async def test_times_that_are_none_are_refused(hook) -> None:
    body = seal(event(), KEY)
    for stamp in ("now", "1e9", "١٢٣", ""):
        headers = sign(body, KEY, 0)
        headers["X-Lark-Request-Timestamp"] = stamp
        assert (await hook.post(body, headers))[0] == 401


async def test_a_wrong_token_is_refused_also_when_it_is_encrypted(hook) -> None:
    for token in ("other", "", None, 7):
        pushed = event()
        pushed["header"]["token"] = token
        assert (await hook.push(pushed))[0] == 401
    check = {"type": "url_verification", "token": "other", "challenge": "c"}
    assert (await hook.post(seal(check, KEY)))[0] == 401
    assert hook.events == []


async def test_what_is_not_encrypted_is_refused_where_it_has_to_be(hook) -> None:
    body = json.dumps(event()).encode()
    assert (await hook.post(body))[0] == 401
    assert (await hook.post(body, sign(body, KEY, hook.time.now)))[0] == 401
    assert hook.events == []


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 50_000),
        *(b'{"encrypt": %s}' % sealed for sealed in (b"7", b'"no base64!"', b'"AAAA"', b'"' + b"A" * 64 + b'"')),
    ],
)
async def test_garbage_is_answered_with_4xx(hook, body: bytes) -> None:
    assert 400 <= (await hook.post(body))[0] < 500
    assert 400 <= (await hook.post(body, sign(body, KEY, hook.time.now)))[0] < 500
    assert hook.events == []


@pytest.mark.parametrize("inner", [b"no json", b"[]", b"{}", b'{"type": "url_verification", "challenge": 7}', b""])
async def test_garbage_that_is_encrypted_and_signed_is_answered_with_4xx(hook, inner: bytes) -> None:
    assert 400 <= (await hook.push(inner))[0] < 500
    assert hook.events == []


async def test_an_event_without_an_id_is_no_event(hook) -> None:
    for number, change in enumerate([{"event_id": ""}, {"event_id": 7}, {"event_type": None}]):
        pushed = event()
        pushed["header"] |= change
        assert (await hook.push(pushed, f"n{number}"))[0] == 400


async def test_a_body_that_is_too_large_is_refused(hook) -> None:
    assert (await hook.post(b"x" * 100_001))[0] == 413

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 1000

    async with hook.session.post(hook.url, data=pieces()) as answer:
        assert answer.status == 413


async def test_a_body_that_does_not_come_is_not_waited_for(hook) -> None:
    at = urlsplit(hook.url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(f"POST {at.path} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Length: 100\r\n\r\nx".encode())
    answer = asyncio.create_task(reader.readline())
    await outlast(answer, 3600)
    assert answer.result().split()[1] == b"408"
    writer.close()


async def test_a_body_in_a_wrong_encoding_is_answered_with_4xx(hook) -> None:
    assert 400 <= (await hook.post(b"not gzip", {"Content-Encoding": "gzip"}))[0] < 500


async def test_only_posts_are_taken(hook) -> None:
    async with hook.session.get(hook.url) as answer:
        assert answer.status == 405


def test_without_any_secret_there_is_no_webhook() -> None:
    with pytest.raises(ConfigError, match="anybody"):
        FeishuWebhook(lambda event: None)


# --- the parts


def test_what_is_remembered_is_bounded_in_number_and_time() -> None:
    time = FakeTime()
    seen = Seen(2, 10.0, time.clock)
    assert [seen.add(key) for key in "aabca"] == [True, False, True, True, True]
    assert [seen.known(key) for key in "abc"] == [True, False, True]
    time.now += 10
    assert not seen.known("c")


@given(
    body=st.binary(max_size=200),
    headers=st.dictionaries(
        st.sampled_from(["X-Lark-Request-Timestamp", "X-Lark-Request-Nonce", "X-Lark-Signature"]), st.text(max_size=70)
    ),
)
def test_nothing_unsigned_gets_through(body: bytes, headers: dict[str, str]) -> None:
    time = FakeTime()
    envelopes = Envelopes(KEY, TOKEN, 600.0, time.clock, Seen(10, 10.0, time.clock))
    with pytest.raises(RefusedError) as caught:
        envelopes.open(body, headers)
    assert 400 <= caught.value.status < 500
