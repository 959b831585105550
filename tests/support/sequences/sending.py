"""What goes out: posts of the outbox, answers that fail wholly or in part, models that fail."""

from support.play import Play

from transcript_channels.simulator import Reply

CARD = {"elements": [{"tag": "markdown", "content": "**Release** on Friday"}]}

# --- the outbox


async def a_post_is_sent_and_shown(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    await play.post("The build is green.")
    await play.say(play.ada, "@Alpha is the build green?")


async def a_post_mentions_a_person(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    await play.post("@Bo the build is red.")


async def a_card_is_posted(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    await play.post(None, card=CARD)
    await play.say(play.ada, "@Alpha when is the release?")


async def a_post_replies_to_a_message(play: Play) -> None:
    said = await play.say(play.bo, "Good morning.")
    await play.post("The build is green.", reply_to=said.message_id)


async def an_answer_to_a_post_is_no_turn(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    posted = await play.post("Shall I deploy?")
    await play.say(play.ada, "Yes", reply_to=posted)


async def an_answer_to_a_post_that_mentions_the_bot_is_no_turn(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    posted = await play.post("Shall I deploy?")
    await play.say(play.ada, "@Alpha yes", reply_to=posted)


async def a_reply_to_a_post_that_wants_no_answers_is_a_turn(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    posted = await play.post("Deployed.", wants_answers=False)
    await play.say(play.ada, "Which version?", reply_to=posted)


async def a_long_post_comes_in_parts(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    await play.post("\n\n".join(f"Paragraph {number}. " + "x" * 500 for number in range(60)))


async def a_post_is_refused(play: Play) -> None:
    await play.say(play.bo, "Good morning.")
    play.refuse_messages()
    await play.post_in_vain("The build is green.")
    play.feishu.clear_faults()
    await play.say(play.ada, "@Alpha is the build green?")


# --- answers


async def a_long_answer_is_one_entry(play: Play) -> None:
    play.answers = ["\n\n".join(f"Paragraph {number}. " + "x" * 500 for number in range(60))]
    await play.say(play.ada, "@Alpha tell me everything")


async def an_answer_has_a_table_and_code(play: Play) -> None:
    play.answers = ["# Plan\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```python\nprint(1)\n```"]
    await play.say(play.ada, "@Alpha show me the plan")
    await play.say(play.bo, "@Alpha again?")


async def an_answer_mentions_a_person(play: Play) -> None:
    play.answers = ["@Bo should know."]
    await play.say(play.ada, "@Alpha who knows?")


async def an_answer_mentions_another_bot(play: Play) -> None:
    play.meet_beta()
    play.answers = ["@Beta please deploy."]
    await play.say(play.ada, "@Alpha let it be deployed")


async def an_answer_is_refused(play: Play) -> None:
    play.refuse_messages()
    await play.say(play.ada, "@Alpha when do we ship?")
    play.feishu.clear_faults()
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def an_answer_is_refused_once(play: Play) -> None:
    play.refuse_messages(times=1)
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_card_cannot_be_made(play: Play) -> None:
    play.feishu.fail("POST /open-apis/cardkit/v1/cards", code=230099, times=None)
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_card_cannot_be_written_on(play: Play) -> None:
    play.feishu.fail("PUT /open-apis/cardkit/v1/cards/*", code=300309, times=None)
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_long_answer_arrives_in_part(play: Play) -> None:
    play.answers = ["\n\n".join(f"Paragraph {number}. " + "x" * 500 for number in range(60))]
    play.refuse_messages_after(1)
    await play.say(play.ada, "@Alpha tell me everything")


async def the_question_is_gone_when_the_answer_comes(play: Play) -> None:
    play.feishu.fail("POST /open-apis/im/v1/messages/*/reply", code=230011, times=None)
    await play.say(play.ada, "@Alpha when do we ship?")


# --- models


async def a_model_fails(play: Play) -> None:
    play.answers = [Reply(status=400, error="no")]
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.say(play.bo, "@Alpha what did Ada ask?")


async def a_model_says_nothing(play: Play) -> None:
    play.answers = [""] * 4
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_model_breaks_off(play: Play) -> None:
    play.answers = [Reply("We ship on Friday, I think.", drop_after=2)] * 4
    await play.say(play.ada, "@Alpha when do we ship?")


async def a_model_speaks_twice_in_a_row(play: Play) -> None:
    play.answers = ["On Friday.", "To Hamburg."]
    await play.say(play.ada, "@Alpha when do we ship?")
    await play.say(play.ada, "@Alpha where to?")
