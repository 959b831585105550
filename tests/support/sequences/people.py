"""Who is who: newcomers, namesakes, other names, bots that are gone or want a name that is taken."""

from support.play import Play


async def a_newcomer_is_shown_by_name(play: Play) -> None:
    cy = play.person("Cy")
    await play.say(cy, "I am new here.")
    await play.say(play.ada, "@Alpha who is new?")


async def a_newcomer_asks(play: Play) -> None:
    cy = play.person("Cy")
    await play.say(cy, "@Alpha when do we ship?")


async def somebody_who_has_left_is_still_called_by_name(play: Play) -> None:
    cy = play.person("Cy")
    await play.say(cy, "@Bo good-bye")
    await play.say(play.bo, "@Cy good-bye")
    await play.leave(cy)
    await play.say(play.ada, "@Alpha who has left?")


async def somebody_who_comes_and_says_nothing_is_mentioned(play: Play) -> None:
    cy = play.person("Cy")
    await play.say(play.ada, f"@Alpha {cy.at} is new.")


async def the_bot_leaves_and_comes_back(play: Play) -> None:
    events = {"im.chat.member.bot.added_v1", "im.chat.member.bot.deleted_v1"}
    play.alpha.events |= events
    await play.say(play.ada, "@Alpha hello")
    await play.leave(play.alpha)
    await play.feishu.say(play.group, play.bo, "Now it does not hear us.")
    await play.join(play.alpha)
    play.alpha.events -= events
    await play.say(play.ada, "@Alpha hello again")


async def another_bot_leaves(play: Play) -> None:
    play.meet_beta()
    await play.beta_says("Deployed.")
    await play.leave(play.beta)
    await play.say(play.ada, "@Alpha who is left?")


async def a_person_takes_another_name(play: Play) -> None:
    cy = play.person("Cy")
    await play.say(play.ada, "@Alpha @Cy is here")
    await play.say(cy, "I marry.")
    cy.name = "Cyrus"
    await play.say(play.ada, "@Cyrus congratulations")
    await play.say(play.ada, "@Alpha who marries?")


async def the_bot_takes_another_name_on_the_platform(play: Play) -> None:
    play.alpha.name = "Alfred"
    await play.restart()
    await play.say(play.ada, "@Alfred when do we ship?")
    await play.type(play.ada, "@Alfred and where to?")


async def the_name_before_the_bots_new_one_still_holds(play: Play) -> None:
    play.alpha.name = "Alfred"
    await play.restart()
    await play.type(play.ada, "@Alpha when do we ship?")


async def two_people_have_one_name(play: Play) -> None:
    one, other = play.person("张伟"), play.person("张伟", 2)
    await play.say(one, "我同意。")
    await play.say(other, "我反对。")
    await play.say(play.ada, f"@Alpha 哪个{other.at}反对？")


async def a_person_asks_who_has_a_namesake(play: Play) -> None:
    one, other = play.person("张伟"), play.person("张伟", 2)
    await play.say(one, "我同意。")
    await play.say(other, "@Alpha 我是谁？")


async def a_person_is_called_like_the_bot(play: Play) -> None:
    other = play.person("Alpha")
    await play.say(other, "I am a person.")
    await play.say(play.ada, f"{other.at} are you there?")
    await play.say(play.ada, f"{play.alpha.at} and you?")


async def a_person_is_called_like_another_bot(play: Play) -> None:
    play.meet_beta()
    other = play.person("Beta")
    await play.say(other, "I am a person.")
    await play.say(play.ada, f"{other.at} are you there?")
    await play.say(play.ada, "@Alpha which Beta is one?")


async def a_person_is_called_you(play: Play) -> None:
    other = play.person("you")
    await play.say(other, "I owe Bo money.")
    await play.say(play.ada, "@Alpha who owes Bo money?")


async def a_person_has_a_name_of_two_lines(play: Play) -> None:
    other = play.person("Cy\nthe Second")
    await play.say(other, "I am new.")
    await play.say(play.ada, "@Alpha who is new?")


async def a_bot_that_is_gone_has_the_name_of_another_one(play: Play) -> None:
    play.meet(play.bot("Beta", "cli_gone"), silent=True)
    play.meet_beta()
    await play.beta_says("Deployed.")
    await play.say(play.ada, "@Beta and @Alpha: which version?")


async def a_bot_that_is_gone_has_the_name_of_the_bot(play: Play) -> None:
    gone = play.bot("Alpha", "cli_gone_too")
    play.meet(gone, silent=True)
    await play.say(play.ada, f"{play.alpha.at} when do we ship?")
    await play.type(play.ada, "@Alpha and where to?")


async def a_bot_that_is_gone_is_mentioned(play: Play) -> None:
    gone = play.bot("Gamma", "cli_gamma")
    play.meet(gone, silent=True)
    await play.say(play.ada, "@Gamma when do we ship?")
    await play.say(play.ada, "@Alpha where is @Gamma?")


async def two_other_bots_want_one_name(play: Play) -> None:
    play.meet_beta()
    other = play.bot("Beta", "cli_other_beta")
    play.meet(other)
    await play.bot_says(other, "I am another one.", heard=True)
    await play.say(play.ada, f"{other.at} and {play.alpha.at}: who are you?")


async def another_bot_wants_the_name_of_the_bot(play: Play) -> None:
    other = play.bot("Alpha", "cli_other_alpha")
    play.meet(other)
    await play.say(play.ada, f"{play.alpha.at} when do we ship?")
    await play.say(play.ada, f"{other.at} and where to?")
    await play.type(play.ada, "@Alpha and what?")


async def a_bot_has_an_alias_that_is_the_bots_name(play: Play) -> None:
    play.meet(play.beta, aliases=("Alpha",))
    await play.type(play.ada, "@Alpha when do we ship?")


async def another_bot_is_called_by_its_alias(play: Play) -> None:
    play.meet_beta()
    await play.type(play.ada, "@贝塔 部署")
    await play.say(play.ada, "@Alpha 谁部署？")


async def another_bots_name_begins_with_the_bots(play: Play) -> None:
    other = play.bot("Alpha Two", "cli_alpha_two")
    play.meet(other)
    await play.type(play.ada, "@Alpha Two, when do we ship?")
    await play.say(play.ada, "@Alpha Two, and where to?")
