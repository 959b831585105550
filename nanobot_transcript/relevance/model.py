"""The learned score: a sum of small decision trees over the features, read from ``weights.json``.

``benchmarks/gate/train.py`` makes that file. It names its features; weights for other features are refused.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.relevance.features import NAMES

__all__ = ["FORMAT", "Model", "shipped_model"]

FORMAT: Final = 1
_Node = tuple[int, float, Any, Any, float]
"""Feature, limit, the nodes for values up to the limit and above it, the mean below. A leaf has no feature (-1), and
its value in the place of the limit: this way a step through a tree is one unpacking."""
_LEAF: Final = -1


@dataclass(frozen=True, slots=True)
class Model:
    """Trees and the probability from which they say yes."""

    base: float
    threshold: float
    trees: tuple[_Node, ...]

    def score(self, values: Sequence[float]) -> float:
        """The probability, 0 to 1, that a member with these features is meant."""
        total = self.base
        for feature, limit, low, high, _ in self.trees:
            while feature >= 0:
                feature, limit, low, high, _ = low if values[feature] <= limit else high  # noqa: PLW2901 - down the tree
            total += limit
        return 1 / (1 + exp(-total)) if total > -700 else 0.0

    def reasons(self, values: Sequence[float]) -> list[tuple[str, float]]:
        """What each feature added to the score (in log odds) on the way through the trees, the strongest first."""
        added = dict.fromkeys(NAMES, 0.0)
        for node in self.trees:
            while node[0] != _LEAF:
                name, limit, low, high, here = node
                node = low if values[name] <= limit else high  # noqa: PLW2901 - down the tree
                added[NAMES[name]] += node[4] - here
        return sorted(((name, value) for name, value in added.items() if value), key=lambda one: -abs(one[1]))

    @classmethod
    def of(cls, document: Any) -> "Model":
        """The model of a decoded weights file. Raises ConfigError when it is for other features or none at all."""
        hint = "Train it anew: python -m benchmarks.gate.train DIR."
        try:
            if document["v"] != FORMAT or document["features"] != list(NAMES):
                raise ConfigError("The weights were made for other features.", hint=hint)
            trees = tuple(_tree(tree) for tree in document["trees"])
            return cls(float(document["base"]), float(document["threshold"]), trees)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ConfigError(f"The weights cannot be read: {error!r}.", hint=hint) from error


@cache
def shipped_model() -> Model:
    """The model that comes with the package."""
    text = files("nanobot_transcript.relevance").joinpath("weights.json").read_text(encoding="utf-8")
    return Model.of(json.loads(text))


def _tree(node: Any) -> _Node:
    if isinstance(node, list):
        feature, limit, low, high, here = node
        if not 0 <= feature < len(NAMES):
            raise ValueError(feature)
        return (int(feature), float(limit), _tree(low), _tree(high), float(here))
    return (_LEAF, float(node), None, None, float(node))
