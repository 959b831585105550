"""What the gate would say."""

from collections.abc import Callable
from typing import Any

import pytest

from nanobot_transcript.errors import UnknownNameError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import GateOptions
from nanobot_transcript.relevance.options import Style
from transcript_mcp.transcript.gate_preview import relevance
from transcript_mcp.transcript.reading import View

KEY = "feishu:oc_team"

Say = Callable[..., str]


def decided(
    view: View, text: str, agent: str, sender: str | None = None, *agents: AgentProfile, style: Style = "balanced"
) -> dict[str, Any]:
    options = GateOptions(style=style)
    return relevance(view, KEY, text, agent, sender=sender, agents=agents, options=options)


def test_a_bot_that_is_called_would_answer_and_another_would_not(view: View, say: Say) -> None:
    say("hello")
    alpha = decided(view, "小助手, when is the release?", "alpha")
    beta = decided(view, "小助手, when is the release?", "Beta")
    assert alpha == {
        "agent": "Alpha",
        "respond": True,
        "reason": "named",
        "sentence": "It calls the agent by name or alias.",
        "score": 1.0,
        "stage": "certain",
        "open": False,
    }
    assert (beta["respond"], beta["reason"]) == (False, "other_named")


def test_where_the_score_decides_it_says_what_counted(view: View, say: Say) -> None:
    say("Alpha, when is the release?")
    say("On Friday.", "Alpha", sender_kind="bot", reply_to="om_0", ids={"app_id": "cli_a"})
    answer = decided(view, "and why?", "Alpha", "ada")
    assert (answer["respond"], answer["reason"], answer["stage"]) == (True, "score_high", "score"), "days later"
    assert len(answer["because"]) == 3
    assert "lines since the agent answered the sender: 1" in answer["because"]


def test_who_says_it_counts(view: View, say: Say) -> None:
    say("Alpha, when is the release?")
    say("On Friday.", "Alpha", sender_kind="bot", reply_to="om_0", ids={"app_id": "cli_a"})
    by_ada, by_stranger = (decided(view, "and why?", "Alpha", sender) for sender in ("Ada", None))
    assert by_ada["score"] > by_stranger["score"]
    assert decided(view, "and why?", "Alpha", "Somebody New")["score"] == by_stranger["score"]
    assert decided(view, "and why?", "Alpha", "Alpha")["reason"] == "own"


def test_a_person_who_is_called_like_another_is_told_from_them_by_id(view: View, say: Say) -> None:
    view.store.members.remember_person("on_bo", "Ada")
    view.store.members.saw(KEY, "on_bo")
    say("Alpha, when is the release?")
    say("On Friday.", "Alpha", sender_kind="bot", reply_to="om_0", ids={"app_id": "cli_a"})
    by_ada, by_other = (decided(view, "and why?", "Alpha", sender) for sender in ("on_ada", "on_bo"))
    assert by_ada["score"] > by_other["score"]


def test_bots_of_the_settings_can_be_asked_about(view: View, say: Say) -> None:
    say("hello")
    gamma = AgentProfile("Gamma", aliases=("三号",))
    assert decided(view, "三号?", "三号", None, gamma)["reason"] == "named"


def test_the_options_of_the_gate_count(view: View, say: Say) -> None:
    say("Alpha, when is the release?")
    say("On Friday.", "Alpha", sender_kind="bot", reply_to="om_0", ids={"app_id": "cli_a"})
    quiet, eager = (decided(view, "Friday or Saturday", "Alpha", "ada", style=style) for style in ("quiet", "eager"))
    assert quiet["score"] == eager["score"]
    assert (quiet["respond"], eager["respond"]) == (False, True)


def test_an_unknown_bot_is_an_error_that_lists_the_known(view: View, say: Say) -> None:
    say("hello")
    with pytest.raises(UnknownNameError) as error:
        decided(view, "hello", "Zoe")
    assert error.value.hint == "Bots here: Alpha, Beta."


@pytest.mark.parametrize("text", ["", "?", "\u2060", "x" * 100_000, "\ud800", '"}\n'])
def test_no_text_is_too_odd(view: View, say: Say, text: str) -> None:
    say("hello")
    assert decided(view, text, "Alpha")["respond"] is False


def test_a_chat_where_only_the_asked_bot_spoke_is_no_trouble(view: View) -> None:
    assert decided(view, "hello", "Alpha")["agent"] == "Alpha"
