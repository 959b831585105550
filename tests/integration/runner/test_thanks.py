"""``run`` puts a reaction on thanks and consent where a setting says so: real processes, the real open API of a bot."""

import asyncio
import signal
from typing import Any

import pytest

from nanobot_transcript.record import Record
from transcript_channels.simulator import App, Message

REACT = "POST /open-apis/im/v1/messages/*/reactions"
ON = {"gate": {"courtesy_reaction": "OK"}, "runner": {"reaction": "off"}}


def script(*answers: str) -> dict[str, Any]:
    return {"kind": "scripted", "answers": list(answers)}


def reacted(message: Message) -> list[tuple[str, Any]]:
    return [(one.emoji, one.member) for one in message.reactions]


async def said(site: Any, text: str, *bots: App) -> Message:
    """What Ada says, once each of the bots has left it unanswered."""
    message = await site.feishu.say(site.group, site.ada, text)
    with Record.open(site.folder / "transcripts") as record:
        read = record.decisions.read
        await site.until(lambda: len(read(site.key, message.message_id)) == len(bots))
        decided = read(site.key, message.message_id)
    assert {one["agent"]: one["respond"] for one in decided} == {bot.name: False for bot in bots}
    return message


async def test_by_default_thanks_get_neither_an_answer_nor_a_reaction(site: Any) -> None:
    alpha = site.app("Alpha")
    running = await site.run(site.config({alpha: script("On Friday.")}))
    await site.ask("@Alpha when do we ship?", alpha)
    await site.until(lambda: len(site.record()) == 2)
    thanks = [await said(site, text, alpha) for text in ("thanks", "@Alpha thanks")]
    assert await running.stop() == 0
    assert [reacted(one) for one in thanks] == [[], []]
    assert len(site.group.messages) == 4


async def test_only_the_bot_that_is_thanked_reacts_and_says_nothing(site: Any) -> None:
    alpha, beta = site.app("Alpha"), site.app("Beta")
    config = site.config({alpha: script("On Friday."), beta: script("I am Beta.")}, **ON)
    running = await asyncio.gather(site.run(config, "Alpha"), site.run(config, "Beta"))
    await site.ask("@Alpha when do we ship?", alpha)
    await site.until(lambda: len(site.record()) == 2)
    bare = await said(site, "thanks", alpha, beta)
    named = await said(site, "@Beta thanks", alpha, beta)
    silent = [await said(site, text, alpha, beta) for text in ("@Alpha 不用回了", "@Beta no need to answer", "闭嘴")]
    assert [await one.stop() for one in running] == [0, 0]
    assert [reacted(one) for one in (bare, named)] == [[("OK", alpha)], [("OK", beta)]]
    assert [reacted(one) for one in silent] == [[]] * 3
    assert [call.method for call in site.feishu.calls if "/reactions" in call.path] == ["POST", "POST"]
    assert len(site.group.messages) == 7


async def test_a_platform_that_takes_no_reaction_costs_one_warning(site: Any) -> None:
    alpha = site.app("Alpha")
    running = await site.run(site.config({alpha: script("On Friday.", "To Lisbon.")}, **ON))
    await site.ask("@Alpha when do we ship?", alpha)
    site.feishu.fail(REACT, code=231002, times=2)
    thanks = [await said(site, "@Alpha thanks", alpha) for _ in range(2)]
    assert await site.ask("@Alpha and where to?", alpha) == "To Lisbon."
    assert await running.stop() == 0
    assert [reacted(one) for one in thanks] == [[], []]
    assert running.log.count("No reaction to") == 1
    assert "ERROR" not in running.log


@pytest.mark.parametrize("repush", [False, True])
async def test_after_a_kill_nothing_carries_two_reactions(site: Any, repush: bool) -> None:
    alpha = site.app("Alpha")
    config = site.config({alpha: script("On Friday.", "To Lisbon.")}, **ON)
    running = await site.run(config)
    thanks = await site.feishu.say(site.group, site.ada, "@Alpha thanks")
    await site.until(lambda: thanks.reactions)
    await running.stop(signal.SIGKILL)
    running = await site.run(config)
    if repush:
        await site.feishu.push_again(thanks, alpha)
    await site.ask("@Alpha when do we ship?", alpha)
    assert await running.stop() == 0
    assert reacted(thanks) == [("OK", alpha)]
    assert sum("/reactions" in call.path for call in site.feishu.calls) == 1 + repush
