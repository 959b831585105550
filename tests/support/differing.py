"""In which sequences the hosts may differ as they are, and where they do although they should not."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import pytest
from support.comparing import ASPECTS
from support.sequences import SEQUENCES

__all__ = ["FAILING", "NOBODY_ASKS", "OWN_WAYS", "SELDOM", "cases"]

_Table: TypeAlias = dict[tuple[str, str], str]

_ALL: Final = " ".join(ASPECTS)
_TOLD: Final = "history members asker"


def _in(aspects: str, reason: str, *names: str) -> _Table:
    """A part of a table: in these aspects of these sequences, for this reason."""
    unknown = set(names) - SEQUENCES.keys()
    assert not unknown, f"there are no sequences {sorted(unknown)}"
    return {(name, aspect): reason for name in names for aspect in aspects.split()}


NOBODY_ASKS: Final[frozenset[str]] = frozenset(
    {
        "a_question_that_was_asked_while_the_host_was_down_is_not_answered",
        "a_group_that_is_off_is_not_recorded",
        "a_group_that_is_observed_is_recorded",
        "help_is_asked_of_nobody",
        "help_is_asked_of_another_bot",
        "a_mention_of_another_bot_is_not_answered",
        "a_mention_of_a_person_is_not_answered",
        "a_mention_of_everybody_is_for_nobody",
        "a_typed_name_of_another_bot_is_not_answered",
        "a_name_within_a_longer_word_is_nobodys",
        "a_name_within_a_sentence_is_talk_about_the_bot",
        "a_typed_name_that_nobody_has_is_left_to_people",
        "an_open_remark_is_not_answered",
        "a_reply_to_another_bot_is_not_answered",
        "a_reply_to_a_bot_that_nobody_knows_is_not_answered",
        "a_reply_to_a_person_is_not_answered",
        "a_thread_of_people_is_left_alone",
        "another_bots_thread_is_left_alone",
        "a_bot_that_nobody_knows_is_mentioned",
        "another_bot_talks_to_a_person",
        "another_bot_talks_to_nobody",
        "an_open_question_that_another_bot_answers_is_left_to_it",
        "an_open_question_that_another_bot_has_answered_is_done",
        "another_bots_name_begins_with_the_bots",
        "a_post_mentions_a_person",
        "a_post_replies_to_a_message",
        "an_answer_to_a_post_is_no_turn",
        "an_answer_to_a_post_that_mentions_the_bot_is_no_turn",
        "a_long_post_comes_in_parts",
        # in private the asker is the only other one there
        "what_is_said_privately_is_not_recorded",
        "a_private_talk_goes_on",
    }
)
"""The sequences in which no model has to be told who asks, because none is asked."""

OWN_WAYS: Final[_Table] = {
    **_in(
        f"entries {_TOLD}",
        "nanobot answers its slash commands itself; the runner has none",
        "help_is_asked_of_the_bot",
        "help_is_asked_privately",
        "a_command_that_nobody_knows_is_a_message",
    ),
    **_in(
        _ALL,
        "where ours does not decide, nanobot's group policy does; the runner has none, and is silent or asks its gate",
        "a_question_in_a_group_that_is_off",
        "a_question_in_a_group_that_is_observed",
        "a_remark_in_a_group_that_is_listened_to",
    ),
    **_in(
        "decisions",
        "where ours does not decide, nanobot's group policy does; the runner has none, and asks its gate",
        "a_question_in_a_group_that_is_listened_to",
    ),
    **_in(
        _ALL,
        "nanobot tells the group that its model failed, or asks once more; the runner tells its log",
        "a_model_fails",
        "a_model_says_nothing",
        "a_model_breaks_off",
    ),
    **_in(
        "decisions",
        "the runner leaves out what it has handled before it asks the gate; nanobot does so behind the gate",
        "thanks_that_are_pushed_again_get_one_reaction",
    ),
    **_in(
        "decisions",
        "nanobot does not tell the plugin that the end of a streamed answer did not arrive",
        "a_long_answer_arrives_in_part",
    ),
    **_in(
        "entries",
        "the runner takes back an answer that did not arrive as a whole; nanobot lets stand what is there",
        "a_card_cannot_be_written_on",
        "a_long_answer_arrives_in_part",
    ),
}
"""What is not compared, and why: here a host keeps to its own ways."""

FAILING: Final[_Table] = {}
"""What is to be mended: a test that fails today, and why. It has to be taken out of here when it is mended."""


SELDOM: Final = frozenset(list(SEQUENCES)[1::2])
"""Every second one: to play all of them takes two minutes, which is for `make soak`."""


def cases(
    names: Iterable[str],
    failing: Mapping[tuple[str, str], str] = FAILING,
    *,
    seldom: Collection[str] = (),
) -> Iterator[Any]:
    """The parameters of a test that compares the hosts: sequence and aspect; those of ``seldom`` with `make soak`."""
    for name in names:
        for aspect in ASPECTS:
            if (name, aspect) not in OWN_WAYS:
                reason = failing.get((name, aspect))
                marks: list[Any] = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
                marks += [pytest.mark.soak] if name in seldom else []
                yield pytest.param(name, aspect, marks=marks)
