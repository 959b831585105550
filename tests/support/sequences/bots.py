"""Other bots: heard by event, read in the record, found in the history, or not at all."""

from support.play import Play

CARD = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "…"}]}}


async def what_another_bot_says_is_shown(play: Play) -> None:
    play.meet_beta()
    await play.beta_says("Deployed.")
    await play.say(play.ada, "@Alpha what did Beta do?")


async def what_is_heard_and_recorded_of_another_bot_is_one_message(play: Play) -> None:
    play.meet_beta()
    await play.beta_says("Deployed.", heard=True)
    await play.say(play.ada, "@Alpha what did Beta do?")


async def what_is_only_heard_of_another_bot_is_shown(play: Play) -> None:
    play.meet_beta()
    await play.bot_says(play.beta, "Deployed.", heard=True)
    await play.say(play.ada, "@Alpha what did Beta do?")


async def what_is_heard_of_a_bot_that_nobody_knows_is_shown(play: Play) -> None:
    await play.bot_says(play.beta, "Deployed.", heard=True)
    await play.say(play.ada, "@Alpha what did Beta do?")


async def a_bot_that_nobody_knows_mentions_the_bot(play: Play) -> None:
    await play.bot_says(play.beta, "@Alpha when do we ship?", heard=True)


async def a_bot_that_nobody_knows_is_mentioned(play: Play) -> None:
    await play.say(play.ada, "@Beta when do we ship?")


async def a_bot_that_nobody_knows_is_mentioned_and_then_speaks(play: Play) -> None:
    await play.say(play.ada, "@Beta deploy")
    await play.bot_says(play.beta, "Deployed.", heard=True)
    await play.say(play.ada, "@Alpha did it?")


async def what_stands_in_the_history_of_another_bot_is_found(play: Play) -> None:
    play.meet_beta()
    await play.bot_says(play.beta, "Deployed.", at_ms=play.earlier)
    await play.say(play.ada, "@Alpha what did Beta do?")


async def what_stands_in_the_history_of_a_bot_that_nobody_knows_is_found(play: Play) -> None:
    await play.bot_says(play.beta, "Deployed by @Bo.", at_ms=play.earlier)
    await play.say(play.ada, "@Alpha what did Beta do?")


async def what_another_bot_says_unheard_in_between_comes_with_the_history(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha hello")
    await play.bot_says(play.beta, "Deployed.")
    await play.restart()
    await play.say(play.ada, "@Alpha what did Beta do?")


async def a_mention_by_another_bot_is_answered(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Beta deploy")
    await play.beta_says("@Alpha which version?")


async def a_mention_by_another_bot_that_is_heard_is_answered_once(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Beta deploy")
    await play.beta_says("@Alpha which version?", heard=True)


async def a_mention_by_another_bot_that_is_heard_but_not_recorded_is_answered(play: Play) -> None:
    play.meet_beta()
    await play.bot_says(play.beta, "@Alpha which version?", heard=True)


async def a_reply_of_another_bot_is_answered(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.beta_says("Is that certain?", reply_to=play.newest)


async def another_bot_talks_to_nobody(play: Play) -> None:
    play.meet_beta()
    await play.beta_says("Is anybody there?", heard=True)


async def another_bot_talks_to_a_person(play: Play) -> None:
    play.meet_beta()
    await play.beta_says("@Ada deployed. Shall I go on?", heard=True)
    await play.say(play.ada, "Yes, please go on.")


async def another_bot_writes_the_name_without_a_mention(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Good morning.")
    said = await play.say(play.beta, content={"text": "@Alpha which version?"})
    play.note_of_beta(said)
    await play.settled()


async def a_card_that_is_still_being_written_is_shown_when_it_is_done(play: Play) -> None:
    play.meet_beta()
    card = await play.bot_says(play.beta, msg_type="interactive", content=CARD, heard=True)
    await play.say(play.ada, "@Alpha what does Beta write?")
    play.note_of_beta(card, "Deployed.", msg_type="interactive", source="stream")
    await play.say(play.ada, "@Alpha what did Beta write?")


async def a_mention_in_a_card_that_was_still_being_written_is_answered(play: Play) -> None:
    play.meet_beta()
    card = await play.bot_says(play.beta, msg_type="interactive", content=CARD, heard=True)
    play.note_of_beta(card, "@Alpha which version?", msg_type="interactive", source="stream")
    await play.settled()


async def a_card_that_is_recorded_before_it_is_heard_is_read(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Good morning.")
    card = await play.bot_says(play.beta, msg_type="interactive", content=CARD)
    play.note_of_beta(card, "@Alpha which version?", msg_type="interactive", source="stream")
    await play.settled()


async def a_card_of_which_no_text_ever_comes_is_left_out(play: Play) -> None:
    play.meet_beta()
    await play.bot_says(play.beta, msg_type="interactive", content=CARD, heard=True)
    await play.say(play.ada, "@Alpha what did Beta write?")


async def two_bots_in_turn_come_to_an_end(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Good morning.")
    await play.beta_says("@Alpha one?", hop=1)
    await play.beta_says("@Alpha two?", hop=3, reply_to=play.newest)
    await play.beta_says("@Alpha three?", hop=5, reply_to=play.newest)
    await play.say(play.ada, "@Alpha go on")


async def a_person_lets_bots_begin_anew(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Good morning.")
    await play.beta_says("@Alpha one?", hop=4)
    await play.say(play.ada, "Go on, you two.")
    await play.beta_says("@Alpha two?", hop=1)


async def thanks_of_a_bot_get_no_answer(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.beta_says("@Alpha thank you!")


async def a_bot_that_repeats_itself_gets_no_answer(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Good morning.")
    await play.beta_says("@Alpha which version is it?")
    await play.beta_says("@Alpha which version is it?")


async def what_a_bot_said_long_ago_gets_no_answer(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Good morning.")
    await play.beta_says("@Alpha which version?", at_ms=play.now_ms - 3_600_000)
    await play.say(play.ada, "@Alpha hello")


async def what_a_bot_says_while_the_host_is_down_is_answered_later(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha hello")
    async with play.down():
        await play.beta_says("@Alpha which version?")
    await play.settled()


# --- who answers what


async def an_open_question_is_answered_by_the_first_bot_that_claims_it(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "Does anybody know when we ship?")


async def an_open_question_that_another_bot_answers_is_left_to_it(play: Play) -> None:
    play.meet_beta()
    asked = await play.say_unheard(play.ada, "Does anybody know when we ship?")
    async with await play.beta_claims(asked):
        await play.feishu.push_again(asked, play.alpha)
        await play.until_noted(asked, "claim_seen")
        await play.answer_of_beta(asked, "On Friday.")
    await play.settled()


async def an_open_question_that_another_bot_leaves_is_taken_over(play: Play) -> None:
    play.meet_beta()
    asked = await play.say_unheard(play.ada, "Does anybody know when we ship?")
    claim = await play.beta_claims(asked)
    await play.feishu.push_again(asked, play.alpha)
    await play.until_noted(asked, "claim_seen")
    claim.release()
    await play.settled()


async def an_open_question_that_another_bot_has_answered_is_done(play: Play) -> None:
    play.meet_beta()
    asked = await play.say_unheard(play.ada, "Does anybody know when we ship?")
    async with await play.beta_claims(asked):
        await play.answer_of_beta(asked, "On Friday.")
    await play.push_again(asked)
