"""A judge behind any OpenAI-compatible chat endpoint. Needs the extra ``openai``."""

from typing import Any, Final, NamedTuple

from nanobot_transcript.errors import ConfigError, ResponderError
from nanobot_transcript.relevance.judge import Prompt

__all__ = ["OpenAIJudge", "Reply"]

_CONNECTED: Final = 10.0


class Reply(NamedTuple):
    """The model's answer, and the token counts of its endpoint, if it reports them."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class OpenAIJudge:
    """Asks ``model`` at ``base_url`` (None = OpenAI's own, which needs a key).

    Raises ConfigError when that key is missing, or the package is not installed.

    ``timeout`` (seconds) bounds one request, of which connecting may take 10; there are no retries, because the gate
    does not wait longer anyway.
    """

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 5.0
    ) -> None:
        try:
            from openai import AsyncOpenAI, OpenAIError, Timeout  # slow to import, and most gates have no judge
        except ImportError as error:
            raise ConfigError(
                "The judge needs the package openai.", hint="pip install 'nanobot-transcript[openai]'"
            ) from error
        self.model: str = model
        # A local endpoint needs no key, but the client insists on one.
        key = api_key or ("none" if base_url else None)
        bounds = Timeout(timeout, connect=min(timeout, _CONNECTED))
        try:
            self._client: Any = AsyncOpenAI(api_key=key, base_url=base_url, timeout=bounds, max_retries=0)
        except OpenAIError as error:
            raise ConfigError(
                "The judge needs a key for OpenAI's own endpoint.",
                hint="Set its api_key, or base_url where another endpoint is meant.",
            ) from error

    async def __call__(self, prompt: Prompt, /) -> str:
        """The model's answer; exceptions of the client are passed on to the gate."""
        return (await self.reply(prompt)).text

    async def reply(self, prompt: Prompt, /) -> Reply:
        """The model's answer, and its cost.

        Raises ResponderError for an answer that no chat endpoint gives, and whatever the client raises.
        """
        # No temperature and no token limit: not every endpoint accepts them, and the gate bounds the time.
        answer = await self._client.chat.completions.create(model=self.model, messages=prompt.messages())
        choices = getattr(answer, "choices", None)
        if choices is None:  # an HTML page comes as text
            raise ResponderError(
                "The judge's endpoint answered, but not like a chat endpoint.",
                hint="Check its base_url; it usually ends in /v1.",
            )
        text = choices[0].message.content if choices else ""
        usage = getattr(answer, "usage", None)
        return Reply(
            text if isinstance(text, str) else "", _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def _count(usage: Any, name: str) -> int | None:
    """A number of tokens; endpoints differ in what they report."""
    count = getattr(usage, name, None)
    return count if isinstance(count, int) and count >= 0 else None
