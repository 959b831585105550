"""A sum of small decision trees over numbers, as a probability: the form of the gate's weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf
from typing import Any, Final, NamedTuple

__all__ = ["Hopeless", "Trees"]

_Node = tuple[int, float, Any, Any, float]
"""Feature, limit, the nodes for values up to and above the limit, the mean below. A leaf has the feature -1, and its
value in place of the limit, so that each step through a tree is one unpacking.
"""
_LEAF: Final = -1


class Hopeless(NamedTuple):
    """Where a sum is stopped early."""

    trees: int = 0
    total: float = -inf
    score: float = 0.0


_TO_THE_END: Final = Hopeless()


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees over numbers that have ``names``.

    Most messages score next to nothing, and that shows early: when the sum after the first ``hopeless.trees`` is at
    most ``hopeless.total``, the probability is ``hopeless.score``.
    """

    names: tuple[str, ...]
    base: float
    trees: tuple[_Node, ...]
    hopeless: Hopeless = _TO_THE_END

    def score(self, values: Sequence[float]) -> float:
        """The probability (0 to 1) for these numbers."""
        early, limit_of_all, least = self.hopeless
        total = _sum(self.base, self.trees[:early], values)
        if total <= limit_of_all:
            return least
        total = _sum(total, self.trees[early:], values)
        return 1 / (1 + exp(-total)) if total > -700 else 0.0

    def reasons(self, values: Sequence[float]) -> list[tuple[str, float]]:
        """What each number added to the score (in log odds) on the way through the trees, strongest first."""
        added = dict.fromkeys(self.names, 0.0)
        for node in self.trees:
            while node[0] != _LEAF:
                name, limit, low, high, here = node
                node = low if values[name] <= limit else high  # noqa: PLW2901 - down the tree
                added[self.names[name]] += node[4] - here
        return sorted(((name, value) for name, value in added.items() if value), key=lambda one: -abs(one[1]))

    @classmethod
    def of(cls, document: Any, names: Sequence[str]) -> "Trees":
        """The trees in a decoded document. Raises ValueError, KeyError, TypeError or IndexError when it holds none, or
        is for numbers with other names.
        """
        if document["features"] != list(names):
            raise ValueError("the weights were made for other features")
        trees = tuple(_tree(tree, len(names)) for tree in document["trees"])
        early, total, score = document.get("hopeless") or _TO_THE_END
        return cls(tuple(names), float(document["base"]), trees, Hopeless(int(early), float(total), float(score)))


def _sum(total: float, trees: Sequence[_Node], values: Sequence[float]) -> float:
    for feature, limit, low, high, _ in trees:
        while feature >= 0:
            feature, limit, low, high, _ = low if values[feature] <= limit else high  # noqa: PLW2901 - down the tree
        total += limit
    return total


def _tree(node: Any, features: int) -> _Node:
    if isinstance(node, list):
        feature, limit, low, high, here = node
        if not 0 <= feature < features:
            raise ValueError(feature)
        return (int(feature), float(limit), _tree(low, features), _tree(high, features), float(here))
    return (_LEAF, float(node), None, None, float(node))
