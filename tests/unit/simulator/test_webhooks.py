"""Events pushed to an address of the app."""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from Crypto.Cipher import AES
from support.loop_clock import later
from support.waiting import PATIENCE

from transcript_channels.simulator import Webhook


class Receiver:
    """Answers the challenge; keeps what comes; fails as often as it is told."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[bytes, dict[str, str]]] = []
        self.failures: list[int] = []
        self.challenge: Any = None
        self.asked = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        told = json.loads(body)
        if told.get("type") == "url_verification":
            self.asked.set()
            await self.answers.wait()
            return web.json_response({"challenge": self.challenge or told["challenge"]})
        self.requests.append((body, dict(request.headers)))
        return web.json_response({}, status=self.failures.pop(0) if self.failures else 200)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/", receiver.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    yield receiver
    await runner.cleanup()


async def test_an_event_goes_to_the_address_with_the_token_of_the_app(team, receiver) -> None:
    await team.feishu.subscribe(team.alpha, receiver.url, verification_token="tok")
    message = await team.feishu.say(team.group, team.ada, "hello")
    ((body, headers),) = receiver.requests
    assert json.loads(body)["header"]["token"] == "tok"
    assert "X-Lark-Signature" not in headers
    assert message.acks["Alpha"] == 200
    assert json.loads(body) == message.pushes[0].event


async def test_an_address_has_as_long_for_the_challenge_as_for_an_event(team, receiver) -> None:
    receiver.answers.clear()
    subscribing = asyncio.create_task(team.feishu.subscribe(team.alpha, receiver.url))
    await receiver.asked.wait()
    later(PATIENCE / 2)
    await asyncio.sleep(0)
    receiver.answers.set()
    await subscribing
    assert team.alpha.webhook is not None


async def test_an_address_that_does_not_echo_the_challenge_is_not_taken(team, receiver) -> None:
    receiver.challenge = "another"
    with pytest.raises(ValueError, match="challenge"):
        await team.feishu.subscribe(team.alpha, receiver.url)
    assert team.alpha.webhook is None


async def test_an_address_that_fails_is_asked_again_and_then_given_up(team, receiver) -> None:
    await team.feishu.subscribe(team.alpha, receiver.url)
    receiver.failures = [500, 404]
    message = await team.feishu.say(team.group, team.ada, "hello")
    assert [attempt.code for attempt in message.pushes[0].attempts] == [500, 404, 200]
    receiver.failures = [500] * 3
    lost = await team.feishu.say(team.group, team.ada, "again")
    assert lost.pushes[0].state == "gave_up"


async def test_what_is_encrypted_is_signed_and_can_be_opened(team, receiver) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.json_response({"challenge": opened(await request.read(), "the key")["challenge"]})

    application = web.Application()
    application.router.add_post("/", echo)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    checking = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await team.feishu.subscribe(team.alpha, checking, encrypt_key="the key", verification_token="tok")
    await runner.cleanup()
    assert team.alpha.webhook is not None
    team.alpha.webhook.url = receiver.url
    message = await team.feishu.say(team.group, team.ada, "secret")
    ((body, headers),) = receiver.requests
    assert b"secret" not in body
    signed = headers["X-Lark-Request-Timestamp"] + headers["X-Lark-Request-Nonce"] + "the key"
    assert headers["X-Lark-Signature"] == hashlib.sha256(signed.encode() + body).hexdigest()
    assert opened(body, "the key") == message.pushes[0].event


async def test_an_address_that_is_silent_is_not_waited_for_when_the_platform_ends(team) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    team.alpha.webhook = Webhook(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    message = await team.feishu.say(team.group, team.ada, "hello?", wait=False)
    await team.feishu.wait_for(lambda: message.pushes[0].attempts)
    await team.feishu.stop()
    server.close()


def opened(body: bytes, key: str) -> dict[str, Any]:
    """What is in an encrypted body."""
    raw = base64.b64decode(json.loads(body)["encrypt"])
    cipher = AES.new(hashlib.sha256(key.encode()).digest(), AES.MODE_CBC, raw[:16])
    plain = cipher.decrypt(raw[16:])
    return json.loads(plain[: -plain[-1]])
