"""The platforms on which `run` has bots: which there are, and what connects each of them."""

from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import listed
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.platform import Platform, platforms
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from nanobot_transcript.conversation.connectors import Connect, Connector
    from nanobot_transcript.entry import Entry
    from nanobot_transcript.store.gaps import Fallback

__all__ = ["code_rooms", "connect_of", "fallback_of", "platform_named"]


def platform_named(name: str, key: str) -> Platform:
    """The platform that the setting ``key`` names. Raises ConfigError for one that `run` cannot connect."""
    installed = {platform.name: platform for platform in platforms()}
    found = installed.get(name)
    if found is not None and found.run:
        return found
    unknown = "{key} is {name}, but no such platform is installed."
    unconnected = "{key} is {name}, but its package does not say how to connect it."
    known = listed(name for name, platform in installed.items() if platform.run)
    sentence = said(unknown if found is None else unconnected, key=key, name=repr(name))
    raise ConfigError(sentence, hint=said("`run` can connect: {names}.", names=known))


def connect_of(platform: Platform) -> "Connect":
    """What connects a platform. Raises ConfigError when it cannot be loaded."""
    module, _, name = platform.run.partition(":")
    try:
        loaded: Connect = getattr(import_module(module), name)
        if not callable(loaded):
            raise TypeError("it cannot be called")
    except (Exception, SystemExit) as error:  # the import runs another package's code
        raise ConfigError(
            said(
                "What connects the platform {name}, {run}, cannot be loaded: {error}.",
                name=platform.name,
                run=platform.run,
                error=error,
            ),
            hint=said("Reinstall the package that provides it, or report this to its authors."),
        ) from error
    return loaded


def fallback_of(connectors: "Mapping[str, Connector]") -> "Fallback":
    """The histories of all platforms as one; each is asked about its own chats. ``connectors`` may be filled later."""

    def ask(session_key: str, since_ms: float | None, limit: int) -> "AbstractAsyncContextManager[Sequence[Entry]]":
        connector = connectors.get(split(session_key)[0])
        asked = connector.fallback if connector is not None else None
        return asked(session_key, since_ms, limit) if asked is not None else nullcontext(())

    return ask


def code_rooms() -> set[str]:
    """Our package and those of the platforms: the names of the loggers that say what `run` does."""
    return {"nanobot_transcript", *(platform.run.partition(".")[0] for platform in platforms() if platform.run)}
