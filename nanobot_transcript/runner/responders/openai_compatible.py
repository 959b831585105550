"""A model behind an OpenAI-compatible endpoint as a responder; the answer is streamed."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.errors import ConfigError, ResponderError, ResponderTimeoutError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["OpenAIOptions", "OpenAIResponder"]

_NO_KEY: Final = "none"
_SHOWN: Final = 300
_HINTS: Final[Mapping[int, str]] = {
    400: "The model may not know a setting in `extra`, or the prompt is too long for it.",
    401: "Check api_key.",
    403: "Check api_key and what it is allowed to use.",
    404: "Check model and base_url; base_url usually ends in /v1.",
    429: "Too many requests or no credit left; wait, or ask for a higher limit.",
}


@dataclass(frozen=True, slots=True)
class OpenAIOptions:
    """Which model to ask, and how.

    ``base_url`` None is OpenAI's own. ``timeout``: seconds of silence after which the endpoint is given up. ``extra``
    is added to the request unchanged (``temperature``, ``max_tokens``, …).
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    retries: int = 2
    extra: Mapping[str, Any] = field(default_factory=dict)


class OpenAIResponder:
    """Asks a model. The package ``openai`` is imported with the first prompt."""

    def __init__(self, options: OpenAIOptions) -> None:
        if not options.model:
            raise ConfigError("An openai responder needs a model.", hint="Set `model`.")
        self._options: OpenAIOptions = options
        self._client: AsyncOpenAI | None = None
        self._opening: asyncio.Lock = asyncio.Lock()

    async def respond(self, prompt: Prompt) -> AsyncIterator[str]:
        """See ``Responder``. Raises ResponderError, ResponderTimeoutError when the endpoint falls silent."""
        with _typed(self._options):
            events = 0
            async with self._asked(prompt) as answer:
                async for event in answer:
                    events += 1
                    if piece := _piece(event):
                        yield piece
            if not events:
                raise _nonsense(self._options)

    async def close(self) -> None:
        """See ``Responder``."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    @asynccontextmanager
    async def _asked(self, prompt: Prompt) -> AsyncIterator[Any]:
        options = self._options
        messages: list[Any] = [{"role": "system", "content": prompt.system}, *prompt.turns]
        async with self._opening:
            client = await asyncio.to_thread(self._opened)  # the first time, importing takes seconds
        stream = await client.chat.completions.create(
            model=options.model, messages=messages, stream=True, extra_body=dict(options.extra) or None
        )
        try:
            yield stream
        finally:
            await stream.close()

    def _opened(self) -> "AsyncOpenAI":
        if self._client is not None:
            return self._client
        client: AsyncOpenAI = _openai().AsyncOpenAI(
            base_url=self._options.base_url,
            api_key=self._options.api_key or _NO_KEY,
            timeout=self._options.timeout,
            max_retries=self._options.retries,
        )
        self._client = client
        return client


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise ResponderError(
            "The package openai is not installed.", hint="Run `pip install 'nanobot-transcript[openai]'`."
        ) from error
    return openai


def _piece(event: Any) -> str:
    """The text in one event; endpoints differ in what else they send."""
    delta = getattr(event.choices[0], "delta", None) if getattr(event, "choices", None) else None
    text = getattr(delta, "content", None)
    return text if isinstance(text, str) else ""


@contextmanager
def _typed(options: OpenAIOptions) -> Iterator[None]:
    """Turn any failure of the endpoint into a ResponderError that says what to check."""
    try:
        yield
    except ResponderError:
        raise
    except ValueError as error:
        raise _nonsense(options) from error
    except _library_errors() as error:
        raise _told(error, options) from error


def _library_errors() -> tuple[type[Exception], ...]:
    """The errors of openai and of its HTTP library, which some versions let through while streaming."""
    kinds: list[type[Exception]] = [_openai().OpenAIError]
    kinds += [sys.modules[name].HTTPError for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(kinds)


def _told(error: Exception, options: OpenAIOptions) -> ResponderError:
    where = options.base_url or "the model endpoint"
    if "Timeout" in type(error).__name__:
        return ResponderTimeoutError(
            f"{where} said nothing for {options.timeout:g} s.", hint="Check that it is running, or raise `timeout`."
        )
    status = getattr(error, "status_code", None)
    if status is None:
        return ResponderError(f"{where} cannot be reached: {error}", hint="Check base_url, and that it is running.")
    said = " ".join(str(error).split())[:_SHOWN]
    return ResponderError(f"{where} refused: {said}", hint=_HINTS.get(status, "Check the endpoint's own log."))


def _nonsense(options: OpenAIOptions) -> ResponderError:
    return ResponderError(
        f"{options.base_url or 'The model endpoint'} answered, but not like a chat endpoint.",
        hint="Check base_url; it usually ends in /v1.",
    )
