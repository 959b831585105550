"""Restarts, private chats, and groups in other modes."""

from support.play import Play

# --- restarts


async def a_follow_up_after_a_restart_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.restart()
    await play.say(play.ada, "And where to?")


async def a_reply_after_a_restart_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.restart()
    await play.say(play.ada, "And where to?", reply_to=play.newest)


async def a_talk_in_a_thread_goes_on_after_a_restart(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha is that right?", reply_to=said, in_thread=True)
    await play.restart()
    await play.say(play.ada, "And on Monday?", reply_to=play.newest, in_thread=True)


async def what_was_said_while_the_host_was_down_comes_with_the_history(play: Play) -> None:
    await play.say(play.bo, "We ship on Friday.")
    async with play.down():
        await play.say_unheard(play.bo, "No, on Monday.")
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_question_that_was_asked_while_the_host_was_down_is_not_answered(play: Play) -> None:
    await play.say(play.bo, "We ship on Friday.")
    async with play.down():
        await play.say_unheard(play.ada, "@Alpha is that right?")
    await play.say(play.bo, "The weather is fine.")


async def what_was_said_before_the_bot_heard_anything_comes_with_the_history(play: Play) -> None:
    await play.say_unheard(play.bo, "We ship on Friday.", at_ms=play.earlier)
    await play.say(play.ada, "@Alpha when do we ship?")


async def somebody_unknown_speaks_in_the_history(play: Play) -> None:
    cy = play.person("Cy")
    await play.say_unheard(cy, "I brought @Bo along.", at_ms=play.earlier)
    await play.say(play.ada, "@Alpha who is there?")


async def no_history_may_be_read(play: Play) -> None:
    play.feishu.fail("GET /open-apis/im/v1/messages", code=230002, times=None)
    await play.say_unheard(play.bo, "We ship on Friday.", at_ms=play.earlier)
    await play.say(play.ada, "@Alpha when do we ship?")


# --- private chats


async def what_is_said_privately_is_not_recorded(play: Play) -> None:
    cy = play.person("Cy")
    await play.say_privately(cy, "What is my salary?")


async def a_private_talk_goes_on(play: Play) -> None:
    cy = play.person("Cy")
    await play.say_privately(cy, "My salary is 7.")
    await play.say_privately(cy, "What is it?")


async def the_group_hears_nothing_of_a_private_talk(play: Play) -> None:
    cy = play.person("Cy")
    await play.say_privately(cy, "My salary is 7.")
    await play.say(cy, "@Alpha hello")


async def help_is_asked_privately(play: Play) -> None:
    await play.say_privately(play.person("Cy"), "/help")


# --- modes


async def a_group_that_is_off_is_not_recorded(play: Play) -> None:
    play.in_mode("off")
    await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "The weather is fine.")


async def a_question_in_a_group_that_is_off(play: Play) -> None:
    play.in_mode("off")
    await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_group_that_is_observed_is_recorded(play: Play) -> None:
    play.in_mode("observe")
    await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "The weather is fine.")


async def a_question_in_a_group_that_is_observed(play: Play) -> None:
    play.in_mode("observe")
    await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_question_in_a_group_that_is_listened_to(play: Play) -> None:
    play.in_mode("listen")
    await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_remark_in_a_group_that_is_listened_to(play: Play) -> None:
    play.in_mode("listen")
    await play.say(play.ada, "Alpha, when do we ship?")
    await play.say(play.ada, "Does anybody know?")
