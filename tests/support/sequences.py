"""What can happen in a group, step by step, for both hosts."""

from support.stage import Play


async def a_mention_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")


async def what_was_said_before_is_shown(play: Play) -> None:
    await play.say(play.bo, "I am allergic to nuts.")
    await play.say(play.ada, "I love nuts.")
    await play.say(play.ada, "@Alpha which of us is allergic?")


async def a_reply_to_the_bot_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha hello")
    await play.say(play.bo, "And Monday?", reply_to=play.newest)
