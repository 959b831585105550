"""The weights, and the words for what they weigh."""

import json
from importlib.resources import files
from typing import Any

import pytest

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.relevance.candidates import SIGNS
from nanobot_transcript.relevance.explanations import WORDS, in_words
from nanobot_transcript.relevance.features import NAMES
from nanobot_transcript.relevance.model import FORMAT, ScoreModel, shipped_model
from nanobot_transcript.relevance.reply_links import PAIRS

TREE = [0, 1.0, -1.0, [1, 0.5, 0.0, 2.0, 1.0], 0.0]


def trees(names: tuple[str, ...], **changes: Any) -> dict[str, Any]:
    return {"features": list(names), "base": 0.0, "trees": [TREE, 0.5]} | changes


def document(**changes: Any) -> dict[str, Any]:
    phrases = {"base": [-1.0, 0.5, 0.0], "weights": {"in": [1.0, 2.0, 0.5]}}
    made = {"v": FORMAT, "threshold": 0.4, "links": trees(PAIRS), "members": trees(NAMES), "bots": trees(SIGNS)}
    return made | {"phrases": phrases} | changes


def values(first: float, second: float) -> list[float]:
    return [first, second, *[0.0] * (len(NAMES) - 2)]


def test_the_trees_are_added_up() -> None:
    model = ScoreModel.of(document()).members
    assert model.score(values(0, 0)) == pytest.approx(0.3775, abs=1e-4)
    assert model.score(values(2, 1)) == pytest.approx(0.9241, abs=1e-4)


def test_what_a_feature_adds_is_told() -> None:
    assert ScoreModel.of(document()).members.reasons(values(2, 1)) == [(NAMES[0], 1.0), (NAMES[1], 1.0)]


def test_a_sum_that_is_hopeless_early_goes_no_further() -> None:
    model = ScoreModel.of(document(members=trees(NAMES, hopeless=[1, -0.5, 0.125]))).members
    assert model.score(values(0, 0)) == 0.125
    assert model.score(values(2, 1)) == pytest.approx(0.9241, abs=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 1},
        {"links": trees(("x",))},
        {"members": trees(NAMES, trees=[[99, 0, 1, 2, 0]])},
        {"bots": trees(SIGNS, trees=[["x"]])},
        {"members": trees(NAMES, base=None)},
        {"phrases": {}},
        {"phrases": {"base": [0, 0, 0], "weights": {"x": 1}}},
        {"phrases": {"base": [0, 0], "weights": {}}},
        {"links": trees(PAIRS, hopeless=[1])},
    ],
)
def test_weights_that_do_not_fit_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ScoreModel.of(document(**changes))
    with pytest.raises(ConfigError):
        ScoreModel.of([])


def test_the_shipped_weights_are_small_and_say_where_they_come_from() -> None:
    text = files("nanobot_transcript.relevance").joinpath("weights.json").read_text(encoding="utf-8")
    assert len(text) < 700_000
    assert "CC-BY-4.0" in json.loads(text)["attribution"]
    assert 0.1 < shipped_model().threshold < 0.9


def test_every_sign_can_be_said_in_words() -> None:
    assert set(WORDS) == set(SIGNS)
    assert all(in_words(name, value) for name in SIGNS for value in (0.0, 1.0, 4.8, -1.0))
