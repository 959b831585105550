"""Calls Feishu's open API as one app: connections, access token, rate limits and retries."""

import asyncio
import copy
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import isawaitable
from math import isfinite, nan
from typing import Any, BinaryIO, Final, NamedTuple, Self

import httpx

from nanobot_transcript.errors import (
    CallBudgetError,
    ConfigError,
    NoAnswerError,
    PlatformError,
    QuotaExhaustedError,
    RateLimitedError,
    UnexpectedAnswerError,
)
from transcript_channels.feishu.addresses import FEISHU_URL, LARK_URL, console_of, is_loopback, web_origin
from transcript_channels.feishu.responses import (
    CHECK_NETWORK,
    LARGE,
    ApiAnswer,
    Saving,
    decode,
    failure,
    read_answer,
)
from transcript_channels.feishu.retries import Patience, Pauses, Tries, UnsentError

__all__ = ["FEISHU_URL", "LARK_URL", "BotInfo", "Connections", "FeishuClient", "Spend"]

logger = logging.getLogger(__name__)

Spend = Callable[[], bool | Awaitable[bool]]
"""Asked before each request: False when the budget of calls is spent. May be a coroutine function."""

_Read = Callable[[httpx.Response], Awaitable[bytes | None]]

_TOKEN_PATH: Final = "/open-apis/auth/v3/tenant_access_token/internal"
_QUOTA: Final = "quota"
# seconds that an access token lasts, and by which it is renewed before its end
_LEAST_LIFE: Final = 5.0
_USUAL_LIFE: Final = 300.0
_LONGEST_LIFE: Final = 86_400.0
_AHEAD: Final = 600.0
_ID: Final = re.compile(r"/(?:[a-z]{2,4}_[^/]+|\d[^/]*)")
_POOL: Final = httpx.Limits(max_connections=20, max_keepalive_connections=10, keepalive_expiry=60.0)
_ENVIRONMENT: Final = "Check SSL_CERT_FILE, SSL_CERT_DIR and the proxies in the environment."


@dataclass(frozen=True, slots=True)
class BotInfo:
    """The bot as it sees itself."""

    open_id: str
    name: str


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    chat: str = ""
    needs: Sequence[str] = ()

    @property
    def api(self) -> str:
        """The API without the ids in its path: a limit counts for all calls to it."""
        return f"{self.method} {_ID.sub('/*', self.path)}"


class _Token(NamedTuple):
    """A token and how many seconds it lasts."""

    value: str
    seconds: float


class FeishuClient:
    """One app at the open API. Belongs to one event loop.

    ``http`` may be shared by several clients and is then not closed here. ``spend`` is asked before each request, that
    of a token excepted. ``clock`` counts seconds and ``sleep`` waits for them. Raises ConfigError for what is no web
    address, and for missing credentials.
    """

    def __init__(
        self,
        app_id: str,
        app_secret: str,
        base_url: str = FEISHU_URL,
        http: httpx.AsyncClient | None = None,
        *,
        patience: Patience | None = None,
        spend: Spend | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not app_id or not app_secret:
            raise ConfigError("A Feishu app needs an app id and an app secret.", hint="See the app's credentials page.")
        self.app_id: str = app_id
        self.base_url: str = web_origin(base_url)
        self.console: str = console_of(self.base_url)
        self._secret: str = app_secret
        self._patience: Patience = patience or Patience()
        self._spend: Spend | None = spend
        self._sleep: Callable[[float], Awaitable[None]] = sleep
        self._clock: Callable[[], float] = clock
        self._borrowed: bool = False
        self._connections: Connections = Connections(http, trust_env=not is_loopback(self.base_url))
        self._tokens: _TenantToken = _TenantToken(self._fetch_token, clock)
        self._pauses: Pauses = Pauses(clock)

    def budgeted(self, spend: Spend | None) -> Self:
        """This client with another budget; token, connections and pauses are shared."""
        other = copy.copy(self)
        other._spend = spend
        other._borrowed = True
        return other

    def patient(self, patience: Patience) -> Self:
        """This client with other limits for a call; token, connections and pauses are shared."""
        other = copy.copy(self)
        other._patience = patience
        other._borrowed = True
        return other

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        chat: str = "",
        repeatable: bool | None = None,
        needs: Sequence[str] = (),
    ) -> dict[str, Any]:
        """One call of an API; returns ``data`` of the answer (the whole answer where there is no ``data``).

        ``chat``: the chat whose rate limit applies. ``repeatable``: the call may be repeated when it is unknown whether
        it had an effect; by default everything but POST. ``needs``: the scopes of which any one allows it, named in the
        error. Rate limits are waited out and failures of the platform retried, as ``patience`` says.

        Raises PlatformError kinds.
        """
        request = _Request(method, path, query or {}, body, chat, needs)
        tries = Tries(self._patience, repeatable=method != "POST" if repeatable is None else repeatable)
        answer = (await self._tried(request, tries)).body or {}
        data = answer.get("data")
        return data if isinstance(data, dict) else answer

    async def download(
        self,
        path: str,
        file: BinaryIO,
        most: int,
        *,
        query: Mapping[str, Any] | None = None,
        chat: str = "",
        needs: Sequence[str] = (),
    ) -> Mapping[str, str]:
        """Download into ``file``, from its beginning; returns the headers of the answer, their names in lower case.
        Rate limits and failures are treated as in ``call``.

        Raises PlatformError kinds, TooLargeError beyond ``most`` bytes, and OSError when it cannot be written.
        """
        request = _Request("GET", path, query or {}, None, chat, needs)
        answer = await self._tried(request, Tries(self._patience, repeatable=True), Saving(file, most).read)
        if not answer.is_file:
            raise UnexpectedAnswerError(f"{request.api} returned no file.", hint="Check the address of the API.")
        return answer.headers

    async def _tried(self, request: _Request, tries: Tries, read: _Read = read_answer) -> ApiAnswer:
        """The answer to a request, made again as ``tries`` says."""
        while True:
            await self._wait_out(request, tries)
            try:
                return await self._made(request, read)
            except PlatformError as error:
                seconds = self._pause(request, error, tries.next_after(error))
                if seconds is None or not tries.may_wait(seconds):
                    raise
                logger.info("%s for %s is tried again in %.1f s: %s", request.api, self.app_id, seconds, error)
            await self._sleep(seconds)

    async def bot_info(self) -> BotInfo:
        """Who this app's bot is. Raises PlatformError."""
        answer = await self.call("GET", "/open-apis/bot/v3/info")
        bot = answer.get("bot")
        if not isinstance(bot, Mapping) or not isinstance(bot.get("open_id"), str):
            raise UnexpectedAnswerError("Feishu does not say who the bot is.", hint="Does the app have a bot?")
        name = bot.get("app_name")
        return BotInfo(bot["open_id"], name if isinstance(name, str) else "")

    async def close(self) -> None:
        """Close the connections, unless they belong to somebody else."""
        if not self._borrowed:
            await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"FeishuClient({self.app_id!r}, {self.base_url!r})"

    # --- limits

    async def _wait_out(self, request: _Request, tries: Tries) -> None:
        """Wait for the end of a rate limit that an earlier call ran into."""
        resting = self._pauses.left(_QUOTA)
        if resting > 0:
            error = QuotaExhaustedError(
                "The tenant's calls of this month are used up; Feishu is not called for now.",
                hint="Wait for the next month, or buy more calls in the admin console.",
            )
            error.retry_after = resting
            raise error
        while (seconds := self._pauses.left(request.api, request.chat)) > 0:
            if not tries.may_wait(seconds):
                error = RateLimitedError(f"{request.api} is rate-limited for {seconds:.0f} s.", hint="Try again later.")
                error.retry_after = seconds
                raise error
            await self._sleep(seconds)

    def _pause(self, request: _Request, error: PlatformError, seconds: float | None) -> float | None:
        """Remember a rate limit, so that other calls respect it, too; returns ``seconds``."""
        if isinstance(error, QuotaExhaustedError):
            if not self._pauses.left(_QUOTA):
                self._pauses.hold(_QUOTA, self._patience.quota_rest)
                logger.error("%s %s", error, error.hint)
            error.retry_after = self._pauses.left(_QUOTA)
        elif isinstance(error, RateLimitedError):
            self._pauses.hold((error.chat_only and request.chat) or request.api, seconds or error.retry_after)
        return seconds

    # --- one request

    async def _made(self, request: _Request, read: _Read) -> ApiAnswer:
        token = await self._token()
        answer = await self._asked(request, token, read)
        if answer.token_refused:
            self._tokens.refuse(token)
            answer = await self._asked(request, await self._token(), read)
        if not (answer.ok or answer.is_file):
            raise self._hidden(failure(answer, self.app_id, self.console, request.needs))
        return answer

    async def _token(self) -> str:
        try:
            return await self._tokens.get()
        except NoAnswerError as error:  # the call itself was not made yet
            raise UnsentError(str(error), hint=error.hint) from None

    async def _asked(self, request: _Request, token: str, read: _Read) -> ApiAnswer:
        await self._pay()
        return await self._exchange(request, {"Authorization": f"Bearer {token}"}, read)

    async def _pay(self) -> None:
        if self._spend is None:
            return
        allowed = self._spend()
        if not (await allowed if isawaitable(allowed) else allowed):
            raise CallBudgetError("The budget of calls to Feishu is spent.", hint="Wait, or raise the budget.")

    async def _fetch_token(self) -> _Token:
        credentials = {"app_id": self.app_id, "app_secret": self._secret}
        answer = await self._exchange(_Request("POST", _TOKEN_PATH, body=credentials), {})
        body = answer.body or {}
        value, seconds = body.get("tenant_access_token"), body.get("expire")
        if not answer.ok:
            raise self._hidden(failure(answer, self.app_id, self.console))
        if not isinstance(value, str) or not value.isascii() or not value.isprintable() or not value:
            raise UnexpectedAnswerError("Feishu's answer has no access token.", hint="Check the address of the API.")
        return _Token(value, _life(seconds))

    async def _exchange(self, request: _Request, headers: Mapping[str, str], read: _Read = read_answer) -> ApiAnswer:
        """Send a request and read its answer. Raises NoAnswerError and UnexpectedAnswerError."""
        query = {key: _spelled(value) for key, value in request.query.items() if value is not None}
        url = self.base_url + request.path
        http = await self._connections.get()
        try:
            async with (
                asyncio.timeout(self._patience.timeout),
                http.stream(
                    request.method, url, params=query, json=request.body, headers=headers, follow_redirects=False
                ) as response,
            ):
                raw = await read(response)
                known = {name.lower(): value for name, value in response.headers.items()}
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            sentence = f"Feishu cannot be reached at {self.base_url}: {_why(error)}."
            raise UnsentError(sentence, hint=CHECK_NETWORK) from None
        except (TimeoutError, httpx.TransportError) as error:
            raise NoAnswerError(f"{request.api} got no answer: {_why(error)}.", hint=CHECK_NETWORK) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            sentence = f"{request.api} cannot be understood: {_why(error)}."
            raise UnexpectedAnswerError(sentence, hint=CHECK_NETWORK) from None
        if raw is None:
            return ApiAnswer(response.status_code, None, known, is_file=True)
        body = decode(raw) if len(raw) < LARGE else await asyncio.to_thread(decode, raw)
        return ApiAnswer(response.status_code, body, known)

    def _hidden(self, error: PlatformError) -> PlatformError:
        """The error without secrets: the platform's message may repeat them."""
        text = self._tokens.hide(str(error)).replace(self._secret, "…")
        error.args = (text,)
        return error


@dataclass(slots=True, eq=False)
class _TenantToken:
    """The access token of one app, fetched once for everybody who waits.

    ``fetch`` asks the platform; ``clock`` counts seconds. A token is renewed ten minutes before it expires, a short one
    at half its life. While that fails, the old one is used until it expires.
    """

    fetch: Callable[[], Awaitable[_Token]]
    clock: Callable[[], float]
    _value: str = field(default="", init=False, repr=False)
    _renew: float = field(default=0.0, init=False)
    _ends: float = field(default=0.0, init=False)
    _under_way: asyncio.Task[str] | None = field(default=None, init=False)

    async def get(self) -> str:
        """A token. All who wait at the same time share one request. Raises PlatformError."""
        if self._value and self.clock() < self._renew:
            return self._value
        try:
            return await self._renewed()
        except PlatformError as error:
            if self._value and self.clock() < self._ends:
                logger.warning("The access token could not be renewed, the old one is still valid: %s", error)
                return self._value
            raise

    def refuse(self, value: str) -> None:
        """The platform does not accept this token any more; one that came after it stays."""
        if value == self._value:
            self._value = ""

    def hide(self, text: str) -> str:
        """A text without the token."""
        return text.replace(self._value, "…") if self._value else text

    async def _renewed(self) -> str:
        task = self._under_way
        if task is None:
            task = self._under_way = asyncio.create_task(self._ask())
            task.add_done_callback(self._over)
        return await asyncio.shield(task)  # a caller that is cancelled must not cancel the request of the others

    async def _ask(self) -> str:
        token = await self.fetch()
        now = self.clock()
        self._value, self._ends = token.value, now + token.seconds
        self._renew = self._ends - min(_AHEAD, token.seconds / 2)
        return token.value

    def _over(self, task: "asyncio.Task[str]") -> None:
        self._under_way = None
        if not task.cancelled():
            task.exception()  # asyncio complains about one that nobody looked at; perhaps nobody waits any more


class Connections:
    """The pooled HTTP client of one app, made when it is first needed.

    ``given`` is used as it is and stays open; without it a client is made and closed here.
    Making one reads all the certificates of the trust store, tens of milliseconds: that is left to a thread.
    """

    def __init__(self, given: httpx.AsyncClient | None = None, *, trust_env: bool = True) -> None:
        self._given: httpx.AsyncClient | None = given
        self._trust_env: bool = trust_env
        self._making: asyncio.Task[httpx.AsyncClient] | None = None

    async def get(self) -> httpx.AsyncClient:
        """The client; the same for all who ask. Raises ConfigError when proxies or certificates are set up wrongly."""
        if self._given is not None:
            return self._given
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(_made_client, self._trust_env))
        try:
            return await asyncio.shield(self._making)  # a caller that is cancelled must not cancel it for the others
        except (OSError, ValueError, httpx.InvalidURL) as error:
            raise ConfigError(f"No connection can be made: {error}.", hint=_ENVIRONMENT) from None

    async def close(self) -> None:
        """Close what was made here."""
        if self._making is not None:
            with suppress(OSError, ValueError, httpx.InvalidURL):
                await (await self._making).aclose()


def _life(expire: Any) -> float:
    """Seconds that a token lasts; five minutes if the platform does not say: one that is refused is renewed anyway."""
    try:
        seconds = float(expire) if isinstance(expire, int | float | str) and not isinstance(expire, bool) else nan
    except (ValueError, OverflowError):
        seconds = nan
    return min(max(seconds, _LEAST_LIFE), _LONGEST_LIFE) if isfinite(seconds) else _USUAL_LIFE


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__


def _spelled(value: Any) -> Any:
    """A query parameter as the platform writes it; a list is a parameter that is given several times."""
    return str(value).lower() if isinstance(value, bool) else value


def _made_client(trust_env: bool) -> httpx.AsyncClient:
    return httpx.AsyncClient(limits=_POOL, trust_env=trust_env)
