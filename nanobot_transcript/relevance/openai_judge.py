"""A judge behind any endpoint that speaks OpenAI's chat completions. Needs the extra ``openai``."""

from typing import Any

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.relevance.judge import Prompt

__all__ = ["OpenAIJudge"]


class OpenAIJudge:
    """Asks ``model`` at ``base_url`` (None = OpenAI's own). Raises ConfigError when the package is not installed.

    ``timeout`` (seconds) bounds one request; nothing is tried twice, as the gate does not wait longer anyway.
    """

    def __init__(
        self, model: str, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 5.0
    ) -> None:
        try:
            from openai import AsyncOpenAI  # most of a second, and most gates have no judge
        except ImportError as error:
            raise ConfigError(
                "The judge needs the package openai.", hint="pip install 'nanobot-transcript[openai]'"
            ) from error
        self.model: str = model
        # A local endpoint needs no key, but the client insists on one.
        key = api_key or ("none" if base_url else None)
        self._client: Any = AsyncOpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=0)

    async def __call__(self, prompt: Prompt, /) -> str:
        """The model's answer; whatever the client raises goes to the gate."""
        # No temperature and no limit of tokens: not every endpoint takes them, and the gate bounds the time.
        answer = await self._client.chat.completions.create(model=self.model, messages=prompt.messages())
        return (answer.choices[0].message.content or "") if answer.choices else ""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
