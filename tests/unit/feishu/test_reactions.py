"""Emojis on messages: nobody waits for them, and what fails is told once."""

import logging

import pytest

from transcript_channels.feishu.reactions import Reactions
from transcript_channels.simulator import scopes

REACT = "POST /open-apis/im/v1/messages/*/reactions"
LOG = "transcript_channels.feishu.reactions"


async def test_an_emoji_that_may_not_be_shown_is_asked_for_once_and_holds_nobody_up(team, caplog) -> None:
    caplog.set_level("DEBUG", LOG)
    team.alpha.revoke(scopes.MESSAGE, scopes.MESSAGE_READ)
    reactions = Reactions(team.client)
    asked = await team.feishu.say(team.group, team.ada, "tell me")
    for _ in range(2):
        async with reactions.working(asked.message_id, "OnIt"):
            pass
        await reactions.close()
    assert caplog.text.count("could not be updated") == 1
    assert "WARNING" not in caplog.text


async def test_an_emoji_stays_and_takes_one_call(team) -> None:
    reactions = Reactions(team.client)
    thanks = await team.feishu.say(team.group, team.ada, "thanks")
    reactions.react(thanks.message_id, "OK")
    await reactions.close()
    assert [(one.emoji, one.member) for one in thanks.reactions] == [("OK", team.alpha)]
    assert [call.method for call in team.feishu.calls if "/reactions" in call.path] == ["POST"]


@pytest.mark.parametrize("works_first", [False, True])
async def test_without_the_scope_one_warning_tells_why_thanks_get_no_emoji(team, caplog, works_first: bool) -> None:
    team.alpha.revoke(scopes.MESSAGE, scopes.MESSAGE_READ)
    reactions = Reactions(team.client)
    asked = await team.feishu.say(team.group, team.ada, "tell me")
    if works_first:
        async with reactions.working(asked.message_id, "OnIt"):
            pass
        await reactions.close()
    for _ in range(2):
        reactions.react(asked.message_id, "OK")
        await reactions.close()
    (told,) = [one for one in caplog.records if one.name == LOG and one.levelno == logging.WARNING]
    assert "lacks im:message" in told.getMessage()
    assert sum("/reactions" in call.path for call in team.feishu.calls) == 1


async def test_each_kind_of_failure_is_told_once_and_the_next_emoji_is_put_on(team, caplog) -> None:
    reactions = Reactions(team.client)
    thanks = await team.feishu.say(team.group, team.ada, "thanks")
    team.feishu.fail(REACT, code=231002, times=2)
    for _ in range(3):
        reactions.react(thanks.message_id, "OK")
        await reactions.close()
    assert caplog.text.count("No reaction to") == 1
    assert [one.emoji for one in thanks.reactions] == ["OK"]
