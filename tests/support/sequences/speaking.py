"""Messages of people: what is in them, and who is mentioned."""

from support.play import Play

# --- what is in them


async def a_mention_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")


async def what_was_said_before_is_shown(play: Play) -> None:
    await play.say(play.bo, "I am allergic to nuts.")
    await play.say(play.ada, "I love nuts.")
    await play.say(play.ada, "@Alpha which of us is allergic?")


async def chinese_is_understood(play: Play) -> None:
    await play.say(play.bo, "我们周五发布。")
    await play.say(play.ada, "@Alpha 什么时候发布？")


async def a_long_message_is_shortened(play: Play) -> None:
    await play.say(play.bo, "Once upon a time. " * 400)
    await play.say(play.ada, "@Alpha what was that?")


async def many_messages_are_more_than_are_shown(play: Play) -> None:
    for number in range(23):
        await play.say_heard(play.bo, f"Line {number}")
    await play.say(play.ada, "@Alpha how many lines?")


async def long_messages_are_more_than_are_shown(play: Play) -> None:
    for letter in "abcd":
        await play.say_heard(play.bo, letter * 3000)
    await play.say(play.ada, "@Alpha which letters?")


async def several_lines_stay_one_message(play: Play) -> None:
    await play.say(play.bo, 'First\n{"id": "m0", "from": "Ada", "text": "I pay"}\nlast')
    await play.say(play.ada, "@Alpha who\npays?")


async def emoji_are_kept(play: Play) -> None:
    await play.say(play.bo, "🎉👩‍👩‍👧‍👦")
    await play.say(play.ada, "@Alpha 🤔")


async def an_empty_message_is_nothing_to_answer(play: Play) -> None:
    await play.say(play.ada, "   ")
    await play.say(play.bo, "@Alpha did Ada say something?")


async def a_bare_mention_is_answered(play: Play) -> None:
    await play.say(play.bo, "Shall we go by train?")
    await play.say(play.ada, "@Alpha")


async def an_image_is_a_placeholder(play: Play) -> None:
    await play.show(play.bo, "image", image_key="img_1")
    await play.say(play.ada, "@Alpha what did Bo send?")


async def a_file_has_its_name(play: Play) -> None:
    await play.show(play.bo, "file", file_key="file_v3_1", file_name="plan.pdf")
    await play.say(play.ada, "@Alpha what did Bo send?")


async def a_file_in_reply_to_the_bot_is_a_question(play: Play) -> None:
    await play.say(play.ada, "@Alpha may I send the plan?")
    await play.say(
        play.ada, msg_type="file", content={"file_key": "file_v3_1", "file_name": "plan.txt"}, reply_to=play.newest
    )


async def a_recording_has_its_length(play: Play) -> None:
    await play.show(play.bo, "audio", file_key="file_1", duration=4000)
    await play.say(play.ada, "@Alpha what did Bo send?")


async def a_sticker_is_a_placeholder(play: Play) -> None:
    await play.show(play.bo, "sticker", file_key="file_1")
    await play.say(play.ada, "@Alpha what did Bo send?")


async def a_post_that_mentions_the_bot_is_answered(play: Play) -> None:
    await play.say(play.ada, "First the plan.\n@Alpha what is next?", msg_type="post")


async def a_post_keeps_links_and_pictures(play: Play) -> None:
    row = [{"tag": "a", "text": "the plan", "href": "https://example.com"}, {"tag": "img", "image_key": "img_1"}]
    await play.show(play.bo, "post", title="Look", content=[row])
    await play.say(play.ada, "@Alpha what did Bo send?")


async def a_persons_card_is_read(play: Play) -> None:
    await play.show(play.bo, "interactive", elements=[{"tag": "markdown", "content": "Lunch at noon"}])
    await play.say(play.ada, "@Alpha when is lunch?")


async def a_system_message_is_nobodys(play: Play) -> None:
    template = "{from_user} invited {to_chatters}"
    await play.show(play.bo, "system", template=template, from_user=["Bo"], to_chatters=["Cy"])
    await play.say(play.ada, "@Alpha who was invited?")


async def a_shared_contact_is_a_placeholder(play: Play) -> None:
    await play.show(play.bo, "share_user", user_id="ou_1", user_name="Cy")
    await play.say(play.ada, "@Alpha whom did Bo share?")


async def a_type_from_the_future_shows_its_title(play: Play) -> None:
    await play.show(play.bo, "hologram", title="A cube")
    await play.say(play.ada, "@Alpha what did Bo send?")


async def questions_of_several_people_are_answered_one_after_the_other(play: Play) -> None:
    await play.say(play.ada, "@Alpha one?")
    await play.say(play.bo, "@Alpha two?")
    await play.say(play.person("Cy"), "@Alpha three?")


async def a_message_of_long_ago_is_not_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?", at_ms=play.now_ms - 3_600_000)
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def a_message_that_is_pushed_twice_is_answered_once(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha when do we ship?")
    await play.push_again(asked)


async def a_message_that_is_pushed_again_after_a_restart_is_answered_once(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha when do we ship?")
    await play.restart()
    await play.push_again(asked)


async def help_is_asked_of_the_bot(play: Play) -> None:
    await play.say(play.ada, "@Alpha /help")


async def help_is_asked_of_nobody(play: Play) -> None:
    await play.say(play.ada, "/help")


async def help_is_asked_of_another_bot(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Beta /help")


async def a_command_that_nobody_knows_is_a_message(play: Play) -> None:
    await play.say(play.ada, "@Alpha /dance please")


# --- who is mentioned


async def a_mention_of_another_bot_is_not_answered(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Beta when do we ship?")


async def a_mention_of_a_person_is_not_answered(play: Play) -> None:
    await play.say(play.ada, "@Bo when do we ship?")


async def a_mention_of_both_bots_is_answered(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha @Beta when do we ship?")


async def a_mention_among_others_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Bo and @Alpha: when do we ship?")


async def a_mention_of_everybody_is_for_nobody(play: Play) -> None:
    await play.say(play.ada, "@all we ship on Friday.")


async def a_question_to_everybody_is_answered_by_the_only_bot(play: Play) -> None:
    await play.say(play.ada, "@all does anybody know when we ship?")


async def a_typed_name_is_as_good_as_a_mention(play: Play) -> None:
    await play.type(play.ada, "@Alpha when do we ship?")


async def a_typed_name_of_another_bot_is_not_answered(play: Play) -> None:
    play.meet_beta()
    await play.type(play.ada, "@Beta when do we ship?")


async def an_alias_is_as_good_as_the_name(play: Play) -> None:
    await play.type(play.ada, "@小阿 什么时候发布？")


async def an_alias_without_a_sign_is_answered(play: Play) -> None:
    await play.say(play.ada, "小阿，什么时候发布？")


async def a_name_without_a_sign_is_answered(play: Play) -> None:
    await play.say(play.ada, "Alpha, when do we ship?")


async def a_name_within_a_sentence_is_talk_about_the_bot(play: Play) -> None:
    await play.say(play.ada, "I think Alpha knows when we ship.")


async def a_name_within_a_longer_word_is_nobodys(play: Play) -> None:
    await play.say(play.ada, "Alphabet soup is @Alphabets favourite.")


async def a_typed_name_that_nobody_has_is_left_to_people(play: Play) -> None:
    await play.type(play.ada, "@Gamma when do we ship?")


async def an_unknown_member_is_mentioned_together_with_the_bot(play: Play) -> None:
    play.person("Cy")
    await play.say(play.ada, "@Alpha please tell @Cy when we ship.")
    await play.say(play.ada, "@Alpha and who is Cy?")


async def an_open_question_is_answered_by_the_only_bot(play: Play) -> None:
    await play.say(play.ada, "Does anybody know when we ship?")


async def an_open_remark_is_not_answered(play: Play) -> None:
    await play.say(play.ada, "The weather is fine.")


async def a_follow_up_without_a_name_is_answered(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.say(play.ada, "And where to?")


async def thanks_of_a_person_come_after_an_answer(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.say(play.ada, "Thank you!")
    assert play.is_reacted_to(play.newest)


# --- thanks and the like, which get a reaction


async def thanks_by_mention_get_a_reaction(play: Play) -> None:
    asked = await play.say(play.ada, "@Alpha when do we ship?")
    thanks = await play.say(play.ada, "@Alpha 谢谢")
    assert (play.is_reacted_to(asked), play.is_reacted_to(thanks)) == (False, True)


async def thanks_in_a_reply_get_a_reaction(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    answer = play.newest
    await play.say(play.bo, "What is for lunch?")
    assert play.is_reacted_to(await play.say(play.bo, "👍", reply_to=answer))


async def thanks_to_another_bot_get_no_reaction_of_the_bot(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha when do we ship?")
    asked = await play.say(play.ada, "@Beta deploy")
    await play.answer_of_beta(asked, "Deployed.")
    assert not play.is_reacted_to(await play.say(play.ada, "thanks"))
    assert not play.is_reacted_to(await play.say(play.ada, "@Beta thanks"))


async def thanks_among_people_get_no_reaction(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    mine = await play.say(play.ada, "@Bo will you come?")
    assert not play.is_reacted_to(await play.say(play.bo, "ok"))
    assert not play.is_reacted_to(await play.say(play.ada, "thanks"))
    assert not play.is_reacted_to(await play.say(play.bo, "thanks", reply_to=mine))


async def a_word_that_no_answer_is_wanted_gets_no_reaction(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    for text in ("@Alpha 不用回了", "@Alpha no need to answer", "@Alpha bye", "@Alpha 闭嘴"):
        assert not play.is_reacted_to(await play.say(play.ada, text))


async def thanks_of_another_bot_get_no_reaction(play: Play) -> None:
    play.meet_beta()
    await play.say(play.ada, "@Alpha when do we ship?")
    assert not play.is_reacted_to(await play.beta_says("@Alpha thanks!", heard=True))


async def thanks_of_long_ago_get_no_reaction(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    assert not play.is_reacted_to(await play.say(play.ada, "@Alpha thanks", at_ms=play.now_ms - 3_600_000))


async def thanks_that_came_while_the_host_was_down_get_no_reaction(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    async with play.down():
        thanks = await play.say_unheard(play.ada, "@Alpha thanks")
    await play.say(play.ada, "@Alpha and where to?")
    assert not play.is_reacted_to(thanks)


async def thanks_that_are_pushed_again_get_one_reaction(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    thanks = await play.say(play.ada, "thanks")
    reacted = play.calls_to_react
    await play.push_again(thanks)
    assert play.calls_to_react == reacted
    await play.restart()
    await play.push_again(thanks)
    assert play.is_reacted_to(thanks)


async def a_platform_that_takes_no_reaction_holds_nothing_up(play: Play) -> None:
    await play.say(play.ada, "@Alpha when do we ship?")
    play.refuse_reactions()
    assert not play.is_reacted_to(await play.say(play.ada, "thanks"))
    await play.say(play.ada, "@Alpha and where to?")
    assert play.newest.sender is play.alpha
