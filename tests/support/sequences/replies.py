"""Replies, threads, edits, messages that are taken back, and bundles of forwarded ones."""

from support.play import Play

# --- replies


async def a_reply_to_the_bot_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha hello")
    await play.say(play.bo, "And Monday?", reply_to=play.newest)


async def a_reply_to_another_bot_is_not_answered(play: Play) -> None:
    play.meet_beta()
    said = await play.beta_says("Deployed.")
    await play.say(play.ada, "Which version?", reply_to=said)


async def a_reply_to_a_bot_that_nobody_knows_is_not_answered(play: Play) -> None:
    said = await play.bot_says(play.beta, "Deployed.", heard=True)
    await play.say(play.ada, "Which version?", reply_to=said)


async def a_reply_to_a_person_is_not_answered(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "Are you sure?", reply_to=said)


async def a_reply_to_a_person_that_mentions_the_bot_is_answered(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha is that right?", reply_to=said)


async def a_reply_to_something_old_shows_it(play: Play) -> None:
    old = await play.say(play.bo, "The password is swordfish.")
    for number in range(22):
        await play.say_heard(play.ada, f"Line {number}")
    await play.say(play.ada, "@Alpha what does this mean?", reply_to=old)


async def a_reply_to_something_that_nobody_heard_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha hello")
    old = await play.say_unheard(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha is that right?", reply_to=old)


async def a_reply_to_something_taken_back_is_answered(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.recall(said)
    await play.say(play.ada, "@Alpha what was this?", reply_to=said)


async def a_reply_to_an_answer_that_was_taken_back_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha hello")
    answer = play.newest
    await play.recall(answer)
    await play.say(play.bo, "What did it say?", reply_to=answer)


async def a_reply_to_the_question_is_told_the_answer(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha when do we ship?")
    await play.say(play.ada, "@Alpha and where to?", reply_to=asked)


async def a_talk_goes_on_by_replies(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.say(play.ada, "Why not earlier?", reply_to=play.newest)
    await play.say(play.bo, "It rains on Monday.")
    await play.say(play.ada, "And Monday?", reply_to=play.newest_of(play.alpha))


# --- threads


async def a_thread_that_begins_with_a_mention_is_answered_there(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha is that right?", reply_to=said, in_thread=True)


async def a_thread_in_which_the_bot_spoke_goes_on_without_its_name(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha is that right?", reply_to=said, in_thread=True)
    await play.say(play.ada, "And on Monday?", reply_to=said, in_thread=True)


async def a_thread_of_people_is_left_alone(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "Are you sure?", reply_to=said, in_thread=True)
    await play.say(play.bo, "Is anybody ever sure?", reply_to=said, in_thread=True)


async def another_bots_thread_is_left_alone(play: Play) -> None:
    play.meet_beta()
    said = await play.say(play.ada, "@Beta deploy")
    await play.beta_says("Which version?", reply_to=said, in_thread=True)
    await play.say(play.ada, "The newest. Can you?", reply_to=said, in_thread=True)


async def a_thread_and_the_group_know_of_each_other(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.say(play.ada, "@Alpha is that right?", reply_to=said, in_thread=True)
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def two_threads_have_turns_of_their_own(play: Play) -> None:
    first, second = await play.say(play.ada, "Trains"), await play.say(play.ada, "Ships")
    await play.say(play.ada, "@Alpha how fast?", reply_to=first, in_thread=True)
    await play.say(play.bo, "@Alpha how slow?", reply_to=second, in_thread=True)
    await play.say(play.ada, "And how dear?", reply_to=first, in_thread=True)


# --- edits


async def an_edit_is_seen_after_a_restart(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.feishu.edit(said, "We ship on Monday.")
    await play.restart()
    await play.say(play.ada, "@Alpha when do we ship?")


async def an_edit_of_a_question_is_no_second_one(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha when do we ship?")
    await play.feishu.edit(asked, "@Alpha where do we ship?")
    await play.restart()
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def an_edit_that_nobody_can_know_of_is_not_shown(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    await play.feishu.edit(said, "We ship on Monday.")
    await play.say(play.ada, "@Alpha when do we ship?")


async def an_edit_in_a_talk_that_goes_on_is_shown(play: Play) -> None:
    said = await play.say(play.bo, "We ship on Friday.")
    asked = await play.say(play.ada, "@Alpha when do we ship?", reply_to=said)
    await play.feishu.edit(said, "We ship on Monday.")
    await play.restart()
    await play.say(play.ada, "@Alpha and now?", reply_to=asked)


# --- messages that are taken back


async def what_was_taken_back_is_not_shown(play: Play) -> None:
    said = await play.say(play.bo, "I hate my boss.")
    await play.recall(said)
    await play.say(play.ada, "@Alpha what did Bo say?")


async def a_question_that_is_taken_back_while_the_model_thinks_gets_no_answer(play: Play) -> None:
    play.while_asked = lambda: play.feishu.recall(play.newest)
    await play.say(play.ada, "@Alpha what is my salary?")
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def a_question_that_is_taken_back_after_the_answer_is_gone(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha what is my salary?")
    await play.recall(asked)
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def an_answer_that_is_taken_back_is_gone(play: Play) -> None:
    await play.say(play.ada, "@Alpha what is my salary?")
    await play.recall(play.newest)
    await play.say(play.bo, "@Alpha what did you say?")


async def what_is_taken_back_in_a_talk_is_gone_from_it(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha hello")
    secret = await play.say(play.ada, "@Alpha my salary is 7", reply_to=asked)
    await play.recall(secret)
    await play.say(play.ada, "@Alpha what is it?", reply_to=asked)


async def what_another_bot_takes_back_is_gone(play: Play) -> None:
    play.meet_beta()
    said = await play.beta_says("Deployed.", heard=True)
    play.alpha.grant("im:message.group_msg.include_bot:read")
    await play.recall(said)
    play.alpha.revoke("im:message.group_msg.include_bot:read")
    await play.say(play.ada, "@Alpha what did Beta say?")


async def what_was_taken_back_while_the_host_was_down_is_gone(play: Play) -> None:
    said = await play.say(play.bo, "I hate my boss.")
    play.alpha.events.discard("im.message.recalled_v1")
    await play.recall(said)
    play.alpha.events.add("im.message.recalled_v1")
    await play.restart()
    await play.say(play.ada, "@Alpha what did Bo say?")


# --- bundles


async def a_bundle_shows_what_is_in_it(play: Play) -> None:
    first = await play.say(play.bo, "We ship on Friday.")
    second = await play.say(play.ada, "Fine.")
    await play.forward(play.ada, first, second)
    await play.say(play.ada, "@Alpha what did I forward?")


async def a_bundle_that_nobody_heard_shows_what_is_in_it(play: Play) -> None:
    first = await play.say_unheard(play.bo, "We ship on Friday.", at_ms=play.earlier)
    bundle = await play.feishu.forward(play.group, play.beta, [first])
    bundle.created_ms = play.earlier
    await play.say(play.ada, "@Alpha what was forwarded?")


async def a_bundle_in_reply_to_which_the_bot_is_asked_is_quoted(play: Play) -> None:
    first = await play.say(play.bo, "We ship on Friday.")
    bundle = await play.forward(play.ada, first)
    await play.say(play.ada, "@Alpha what is this?", reply_to=bundle)
