"""Any program as a responder: the prompt on stdin or as an argument, the answer on stdout."""

import asyncio
import codecs
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ConfigError, ResponderError, ResponderTimeoutError
from nanobot_transcript.runner.responders.environment import Inherit, environment_for
from nanobot_transcript.runner.responders.process import Run, Started
from nanobot_transcript.runner.responders.program import Obstacle, obstacle

__all__ = ["CommandOptions", "CommandResponder"]

_BLANK: Final = "{prompt}"
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """How to run it.

    ``command`` is the program and its arguments; no shell is involved. ``{prompt}`` in an argument is replaced by the
    input, which otherwise is written to stdin. ``input``: ``prompt`` is the whole prompt, ``message`` the bare text of
    the message, ``json`` one JSON document with both. ``timeout`` is in seconds, ``max_output`` in bytes.
    """

    command: Sequence[str]
    input: Literal["prompt", "message", "json"] = "prompt"
    timeout: float = 300.0
    max_output: int = 256 * 1024
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    inherit: Inherit = "safe"


class CommandResponder:
    """Runs the command once for each answer. Its stdout is the answer, in pieces as they come."""

    def __init__(self, options: CommandOptions) -> None:
        if not options.command or not options.command[0]:
            raise ConfigError("A command responder needs a command.", hint="Give the program and its arguments.")
        self._options: CommandOptions = options

    def obstacle(self) -> Obstacle | None:
        """Why the program cannot be started, None when it can. Starts nothing to find out."""
        options = self._options
        return obstacle(options.command[0], options.cwd, environment_for(options.inherit, options.env))

    async def respond(self, prompt: Prompt) -> AsyncIterator[str]:
        """See ``Responder``. Raises ResponderError when the command fails, ResponderTimeoutError when it takes too
        long.
        """
        deadline = asyncio.get_running_loop().time() + self._options.timeout
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            async with Started(self._run(prompt)) as started:
                async with aclosing(started.output(deadline)) as output:
                    async for data in output:
                        yield decoder.decode(data)
                yield decoder.decode(b"", final=True)
                self._judge(await started.end(deadline), started.complaint)
        except TimeoutError as error:
            raise ResponderTimeoutError(
                f"{self._options.command[0]} took longer than {self._options.timeout:g} s.",
                hint="Give it a higher `timeout`, or less to do.",
            ) from error

    async def close(self) -> None:
        """See ``Responder``."""

    def _judge(self, code: int, complaint: str) -> None:
        if code == 0:
            return
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        said = f": {complaint[-_SHOWN:]}" if complaint else "."
        raise ResponderError(
            f"{self._options.command[0]} {ended}{said}",
            hint="Try the command in a terminal; secrets reach it through `env` only.",
        )

    def _run(self, prompt: Prompt) -> Run:
        options, given = self._options, self._input(prompt)
        wanted = any(_BLANK in argument for argument in options.command)
        arguments = [_filled(argument, given) for argument in options.command] if wanted else list(options.command)
        about = {
            "TRANSCRIPT_AGENT": prompt.agent.name,
            "TRANSCRIPT_SESSION_KEY": prompt.session_key,
            "TRANSCRIPT_MESSAGE_ID": prompt.message.get("message_id") or "",
        }
        env = environment_for(
            options.inherit, {**{name: _plain(value) for name, value in about.items()}, **options.env}
        )
        stdin = None if wanted else given.encode()
        return Run(arguments, stdin, env, options.cwd, options.max_output)

    def _input(self, prompt: Prompt) -> str:
        if self._options.input == "message":
            return well_formed(prompt.message["content"])
        if self._options.input == "json":
            return well_formed(json.dumps(_document(prompt), ensure_ascii=False)) + "\n"
        return prompt.text


def _plain(text: str) -> str:
    """Text as an argument or a variable can hold it: no zero byte, no lone surrogate."""
    return well_formed(text).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _filled(argument: str, given: str) -> str:
    """An argument with the input in it, which must not be taken for an option."""
    filled = argument.replace(_BLANK, _plain(given))
    return f" {filled}" if argument.startswith(_BLANK) and filled.startswith("-") else filled


def _document(prompt: Prompt) -> dict[str, object]:
    return {
        "agent": prompt.agent.name,
        "session_key": prompt.session_key,
        "message": prompt.message,
        "system": prompt.system,
        "turns": list(prompt.turns),
    }
