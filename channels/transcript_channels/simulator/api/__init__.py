"""The open APIs, one module per family. Each has ``routes(platform)`` or more arguments it needs."""

from typing import TYPE_CHECKING

from transcript_channels.simulator.api import auth, cards, chats, files, history, messages, people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript_channels.simulator.connections import Gate
    from transcript_channels.simulator.platform import Platform
    from transcript_channels.simulator.rest import Route
    from transcript_channels.simulator.tokens import Tokens

__all__ = ["all_routes"]


def all_routes(platform: "Platform", tokens: "Tokens", gate: "Gate") -> "Sequence[Route]":
    """Every API of the simulator."""
    return [
        *auth.routes(tokens, gate),
        *messages.routes(platform),
        *history.routes(platform),
        *chats.routes(platform),
        *cards.routes(platform),
        *people.routes(platform),
        *files.routes(platform),
    ]
