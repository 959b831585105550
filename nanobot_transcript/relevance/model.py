"""The learned model, read from ``weights.json``: which line a message answers, and which member that makes it for.

``benchmarks/gate/train.py`` creates that file. It names its features; weights for other features are refused.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.relevance.candidates import SIGNS
from nanobot_transcript.relevance.features import NAMES
from nanobot_transcript.relevance.phrase_weights import Phrases
from nanobot_transcript.relevance.reply_links import PAIRS
from nanobot_transcript.relevance.trees import Trees

__all__ = ["FORMAT", "ScoreModel", "shipped_model"]

FORMAT: Final = 2


@dataclass(frozen=True, slots=True)
class ScoreModel:
    """``links``: whether a line answers an earlier one. ``members``: whether a message is for a member, by structure.
    ``bots``: whether a bot should answer it, by structure and words, with ``phrases``. ``threshold`` is the probability
    from which a message is for a member.
    """

    links: Trees
    members: Trees
    threshold: float
    bots: Trees
    phrases: Phrases

    @classmethod
    def of(cls, document: Any) -> "ScoreModel":
        """The model of a decoded weights file. Raises ConfigError when it is not one, or is for other features."""
        hint = "Train it anew: python -m benchmarks.gate.train DIR."
        try:
            if document["v"] != FORMAT:
                raise ConfigError("The weights have another form.", hint=hint)
            return cls(
                Trees.of(document["links"], PAIRS),
                Trees.of(document["members"], NAMES),
                float(document["threshold"]),
                Trees.of(document["bots"], SIGNS),
                Phrases.of(document["phrases"]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ConfigError(f"The weights cannot be read: {error!r}.", hint=hint) from error


@cache
def shipped_model() -> ScoreModel:
    """The model that comes with the package."""
    text = files("nanobot_transcript.relevance").joinpath("weights.json").read_text(encoding="utf-8")
    return ScoreModel.of(json.loads(text))
