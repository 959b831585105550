"""What a person sees of a group beside what was said: threads, questions that have ended, and the two charts."""

import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from browser.conftest import needs_axe
from browser.expecting import drawn, expect
from browser.people import Agent, Blocks, fill, said, send
from browser.test_pages import GROUP, TOO_WIDE, Picture, faults
from browser.windows import OpenPage
from msgspec.structs import replace
from support.web_home import CHAT, WebHome

from nanobot_transcript.outbox import Outbox
from nanobot_transcript.relevance import Decision, Reason, Stage
from transcript_channels.feishu import text_of
from transcript_mcp.assistant.group_cards import question_card
from transcript_mcp.assistant.questions.values import Choices, Option, Question

if TYPE_CHECKING:
    from concurrent.futures import Future

    from playwright.sync_api import Locator, Page

COUNTED = "feishu:oc_counted"
SEEN = "feishu:oc_seen"
MINUTE = 60_000
IN_SIGHT = """id => {
    const at = document.getElementById(id)?.getBoundingClientRect();
    return at && at.top >= 0 && at.bottom <= innerHeight;
}"""


def test_a_message_of_a_thread_says_so_and_leads_to_where_that_began(open_page: OpenPage, home: WebHome) -> None:
    home.say("on_ada", "Shall we move the release?", "om_root")
    for number in range(80):  # more than a page of messages
        home.say("on_lin", f"Something else {number}", f"om_else_{number}")
    thread = {"thread_id": "omt_1", "root_id": "om_root"}
    home.say("on_ada", "To Friday, then", "om_in", **thread)
    home.say("on_ada", "In the morning", "om_in_too", **thread)
    home.say("on_lin", "Not of that thread", "om_out")
    home.say("Beta", "A reply inside", "om_answer", reply_to="om_root", **thread)
    home.say("Beta", "A reply alone", "om_reply", reply_to="om_out", root_id="om_out")
    page = open_page(GROUP)
    page.locator("#m-om_in").wait_for()
    assert page.locator("#m-om_root").count() == 0
    marks = {each: page.locator(f"#m-om_{each} [data-thread]").count() for each in ("in", "in_too", "out", "reply")}
    assert marks == {"in": 1, "in_too": 0, "out": 0, "reply": 0}
    page.locator("#m-om_in").get_by_role("link", name="In a thread").click()
    page.locator("#m-om_root").wait_for()
    page.wait_for_function(IN_SIGHT, arg="m-om_root")
    link = page.locator("#m-om_in").get_by_role("link", name="Thread: Ada Byrne: Shall we move the release?")
    for _ in range(2):  # the second time the address is the same already
        link.scroll_into_view_if_needed()
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_function(IN_SIGHT, arg="m-om_root")
    inside = page.locator("#m-om_answer")
    inside.get_by_role("link", name="In a thread", exact=True).wait_for()
    inside.get_by_role("button", name="Ada Byrne: Shall we move the release?").wait_for()


@needs_axe
def test_who_claimed_a_question_and_why_bots_stopped_stands_at_the_messages(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    home.say("on_ada", "Does anybody know when 2.0 comes?", "om_open")
    for name in ("Alpha", "Beta"):
        home.decide("om_open", name, False, Reason.SCORE_LOW, 0.01)
    page = open_page(GROUP)
    asked = page.locator("#m-om_open")
    asked.get_by_role("button", name="Alpha stays silent Beta stays silent").wait_for()
    home.decide_later("om_open", "Alpha", "claimed")
    home.decide_later("om_open", "Beta", "claim_seen")
    asked.get_by_role("button", name="Alpha claimed it and answers Beta saw the claim, stays silent").click()
    asked.get_by_text("It was the first to claim the message, and answers.").wait_for()
    expect(asked.get_by_text("Before that: What was said before does not suggest")).to_have_count(2)
    home.decide_later("om_open", "Beta", "taken_over")
    asked.get_by_text("The bot that had claimed the message did not answer; this one steps in.").wait_for()
    asked.get_by_role("button", expanded=True).click()
    asked.get_by_text("It was the first to claim").wait_for(state="hidden")
    home.say("Alpha", "@Beta and you?", "om_fourth", hop=4)
    home.decide_later("om_fourth", "Beta", "hop_limit")
    last = page.locator("#m-om_fourth")
    last.get_by_role("button", name="Beta stopped by the loop guard").click()
    last.get_by_text("bots have had enough turns in a row").wait_for()
    last.get_by_text("hop_limit").scroll_into_view_if_needed()
    picture(page, "groups-claim")
    phone = open_page(GROUP, phone=True, language="zh-CN")
    phone.locator("#m-om_open").get_by_role("button", name="Alpha 已认领，应答 Beta 接替应答").click()
    phone.locator("#m-om_open").get_by_text("最先认领了这条消息").wait_for()
    phone.locator("#m-om_fourth").get_by_role("button", name="Beta 防循环，不再接话").click()
    phone.get_by_text("自真人发言以来，机器人连续发言的轮数已满").scroll_into_view_if_needed()
    assert phone.evaluate(TOO_WIDE) == []
    assert faults(phone, GROUP) == []
    picture(phone, "phone-groups-claim")


@needs_axe
def test_an_answer_that_failed_is_no_green_badge_and_opened_it_says_why(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    home.say("on_ada", "@Alpha are you there?", "om_failed")
    home.decide("om_failed", "Alpha", True, Reason.MENTIONED, 1.0)
    page = open_page(GROUP)
    asked = page.locator("#m-om_failed")
    asked.get_by_role("button", name="Alpha answers").wait_for()
    home.decide_later("om_failed", "Alpha", "failed", why="claude ended with exit code 1: Invalid API key")
    asked.get_by_role("button", name="Alpha could not answer").click()
    asked.get_by_text("claude ended with exit code 1: Invalid API key").wait_for()
    asked.get_by_text("Before that: It mentions the agent.").scroll_into_view_if_needed()
    assert faults(page, GROUP) == []
    picture(page, "groups-failed")
    phone = open_page(GROUP, phone=True, language="zh-CN")
    phone.locator("#m-om_failed").get_by_role("button", name="Alpha 没能回答").click()
    phone.locator("#m-om_failed").get_by_text("没能回答。").wait_for()
    assert phone.evaluate(TOO_WIDE) == []


@needs_axe
def test_a_text_that_mentions_a_bot_is_said_by_another_one_and_the_page_says_who_hears_it(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    home.say("Beta", "Here I am", "om_beta_last")  # the bot that was there last
    home.decide("om_beta_last", "Alpha", False, Reason.SCORE_LOW, 0.01)  # and this one runs, too
    page = open_page(GROUP, phone=True)
    field = page.get_by_role("textbox", name="Message the group")
    field.fill("@Betamax is no bot")
    assert page.get_by_text("relay.mode").count() == 0
    field.fill("@beta这边怎么样？")
    page.get_by_text("Alpha says this. Beta hears it from a bot").wait_for()
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, GROUP) == []
    picture(page, "phone-mention")
    page.get_by_label("Send as").select_option("Beta")
    page.get_by_text("Beta says this itself and will not answer.").wait_for()
    page.get_by_label("Send as").select_option("")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("waiting for Alpha to run and send it").wait_for()
    with Outbox(home.store.base_dir) as outbox:
        assert CHAT in outbox.waiting("Alpha")
        assert CHAT not in outbox.waiting("Beta")
    field.fill("@阿尔法 @Beta hello")
    page.get_by_text("Any bot of the group may say this. Alpha, Beta hears it only from another bot").wait_for()
    field.fill("Anybody there?")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("waiting for a bot of this group to run and send it").wait_for()


def test_a_text_that_mentions_a_bot_waits_for_no_bot_of_which_nothing_was_heard_lately(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    chat, now = "feishu:oc_running", time.time() * 1000
    home.store.members.remember_bot("cli_gone", "Gone")
    for number, name in enumerate(("Beta", "Alpha", "Gone")):  # the last one spoke last, and died
        home.store.members.saw(chat, name)
        at = now - (40 - number) * MINUTE
        home.store.append(chat, "assistant", "Here I am", name, f"om_run_{name}", at, sender_kind="bot", agent=name)
    page = open_page(f"#/groups/{quote(chat, safe='')}")
    field = page.get_by_role("textbox", name="Message the group")
    field.fill("@Beta how is it going?")
    page.get_by_text("Any bot of the group may say this. Beta hears it only from another bot").wait_for()
    picture(page, "groups-mention-any")
    for name in ("Beta", "Alpha"):
        home.log.write(chat, Decision(False, Reason.SCORE_LOW, 0.01, Stage.SCORE, name, "om_run_Gone"))
    page.get_by_text("Alpha says this. Beta hears it from a bot").wait_for()
    field.fill("@Alpha how is it going?")
    page.get_by_text("Beta says this. Alpha hears it from a bot").wait_for()
    field.fill("@Alpha and @Beta")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("waiting for a bot of this group to run and send it").wait_for()
    phone = open_page(f"#/groups/{quote(chat, safe='')}", phone=True, language="zh-CN")
    phone.get_by_role("textbox").fill("@Alpha @Beta 怎么样？")
    phone.get_by_text("这句话由群里任意机器人说出").wait_for()
    assert phone.evaluate(TOO_WIDE) == []


def test_members_were_last_seen_when_they_last_spoke(open_page: OpenPage, home: WebHome) -> None:
    long_ago, now = int(time.time() * 1000) - 50 * MINUTE, int(time.time() * 1000) + 3 * MINUTE
    home.store.append(SEEN, "user", "hello", "on_ada", "om_seen_1", long_ago, sender_kind="human")
    home.store.members.saw(SEEN, "on_ada")
    page = open_page(f"#/groups/{quote(SEEN, safe='')}")
    seen = page.get_by_role("complementary", name="About this group").locator("time")
    seen.wait_for()
    assert "Last seen" in (seen.get_attribute("title") or "")
    page.locator("[data-connection=live]").first.wait_for()
    home.store.append(SEEN, "user", "and again", "on_ada", "om_seen_2", now, sender_kind="human")
    page.locator("#m-om_seen_2").wait_for()
    page.wait_for_function("ms => Date.parse(document.querySelector('aside time').dateTime) === ms", arg=now)


@needs_axe
def test_threads_fit_a_phone_in_chinese(open_page: OpenPage, home: WebHome, picture: Picture) -> None:
    home.say("on_lin", "要不要改到周五发布？" * 20, "om_long")
    home.say("on_ada", "可以", "om_short", thread_id="omt_2", root_id="om_long")
    page = open_page(GROUP, phone=True, language="zh-CN")
    page.locator("#m-om_short").get_by_role("link", name="话题：林小雨：要不要改到周五发布？").wait_for()
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, GROUP) == []
    picture(page, "phone-thread")


def test_a_thread_that_began_before_the_record_leads_nowhere_and_loads_nothing(
    open_page: OpenPage, home: WebHome
) -> None:
    for number in range(70):  # more than a page of messages
        home.say("on_lin", f"Something else again {number}", f"om_other_{number}")
    home.say("on_ada", "In an older thread", "om_older", thread_id="omt_9", root_id="om_before_the_bot")
    page = open_page(GROUP)
    mark = page.locator("#m-om_older [data-thread]")
    mark.wait_for()
    mark.click()
    assert mark.evaluate("each => each.tagName") == "P"
    expect(page.get_by_role("button", name="Show earlier messages")).to_have_count(1)


def test_a_found_message_that_was_scrolled_away_comes_back_with_another_click(
    open_page: OpenPage, home: WebHome
) -> None:
    home.say("on_ada", "The lighthouse is painted", "om_painted")
    for number in range(40):
        home.say("on_lin", f"Much later {number}", f"om_later_{number}")
    page = open_page(GROUP)
    page.get_by_role("searchbox").fill("lighthouse")
    for _ in range(2):
        page.get_by_role("link", name="The lighthouse is painted").click()
        page.wait_for_function(IN_SIGHT, arg="m-om_painted")
        page.get_by_role("log").evaluate("each => { each.scrollTop = each.scrollHeight }")
        page.wait_for_function(f"id => !({IN_SIGHT})(id)", arg="m-om_painted")


def test_a_card_whose_question_has_ended_asks_for_no_answer(open_page: OpenPage, home: WebHome, agent: Agent) -> None:
    asked = agent.ask("Deploy now?")
    post_card(home, question(agent, "Deploy now?"), "om_card")
    page, answering = open_page(GROUP), open_page("#/questions")
    card = page.locator("#m-om_card")
    card.get_by_role("link", name="Answer on the Questions page").wait_for()
    answer(answering, agent, asked)
    link = card.get_by_role("link", name="Answered: see it on the Questions page")
    link.wait_for()
    expect(card.get_by_role("link")).to_have_count(1)
    link.click()
    page.get_by_role("log").get_by_text("Deploy now?").wait_for()


def post_card(home: WebHome, question: Question, message_id: str) -> None:
    """A bot shows a question's card in the group, and writes it down."""
    text = text_of("interactive", question_card(question))
    now = int(time.time() * 1000)
    home.store.append(
        CHAT, "assistant", text, "Beta", message_id, now, sender_kind="bot", msg_type="interactive", source="send"
    )


def question(agent: Agent, text: str, *options: str, multiple: bool = False) -> Question:
    choices = (Choices("", options=tuple(map(Option, options)), multiple=multiple),) if options else ()
    return Question("local", "q", "question", text, agent=agent.name, project="/srv/shop", choices=choices)


@needs_axe
def test_a_button_of_a_card_answers_what_an_agent_asks(
    open_page: OpenPage, home: WebHome, agent: Agent, picture: Picture
) -> None:
    options = ["Ship it", "Wait for  Monday", "x" * 150]
    asked = agent.ask("Ship 1.4 now?", options=options)
    post_card(home, question(agent, "Ship 1.4 now?", *options), "om_ship")
    page = open_page(GROUP)
    card = page.locator("#m-om_ship")
    buttons = card.get_by_role("button", name=re.compile(r"^\d\. "))
    expect(buttons).to_have_count(3)
    assert "[button" not in card.inner_text()
    assert faults(page, GROUP) == []
    picture(page, "groups-card")
    card.get_by_role("button", name="2. Wait for Monday").click()
    assert said(asked) == ["Wait for  Monday"]
    card.get_by_role("link", name="Answered: see it on the Questions page").wait_for()
    expect(card.get_by_role("button", name=re.compile(r"^\d\. "))).to_have_count(0)
    card.locator("[data-button]", has_text="2. Wait for Monday").get_by_label("This is the answer.").wait_for()
    expect(card.get_by_label("This is the answer.")).to_have_count(1)


def test_of_a_card_on_which_several_may_be_chosen_all_chosen_ones_are_the_answer(
    open_page: OpenPage, home: WebHome, agent: Agent
) -> None:
    asked = agent.ask("Which hosts?", options=["one", "two", "three"], multiple=True)
    post_card(home, question(agent, "Which hosts?", "one", "two", "three", multiple=True), "om_hosts")
    card = open_page(GROUP, phone=True).locator("#m-om_hosts")
    expect(card.get_by_role("button", name="Send")).to_be_disabled()
    for name in ("three", "two", "one", "two"):
        card.get_by_role("button", name=name, exact=True).click()
    card.get_by_role("button", name="Send").click()
    assert said(asked) == ["one, three"]


def test_a_card_that_is_almost_a_questions_answers_nothing(open_page: OpenPage, home: WebHome, agent: Agent) -> None:
    agent.ask("Go on?", options=["Yes", "No"])
    own = question(agent, "Go on?", "Yes", "No")
    others = {
        "options": question(agent, "Go on?", "Yes", "Never"),
        "line": replace(own, text="Go on? And drop the table?"),
        "lines": replace(own, text="Go on?\nAnd drop the table?"),
        "agent": replace(own, agent="Lunch bot"),
    }
    for name, other in others.items():
        post_card(home, other, f"om_almost_{name}")
    post_card(home, own, "om_exactly")
    page = open_page(GROUP)
    page.locator("#m-om_exactly").get_by_role("button", name="1. Yes").wait_for()
    for name, other in others.items():
        card = page.locator(f"#m-om_almost_{name}")
        labels = [each.label for each in other.choices[0].options]
        expect(card.locator("[data-button]")).to_have_text([f"{at}. {each}" for at, each in enumerate(labels, 1)])
        expect(card.get_by_role("link")).to_have_count(0)


def test_of_two_questions_that_look_the_same_neither_has_the_card(
    open_page: OpenPage, home: WebHome, agent: Agent
) -> None:
    for _ in range(2):
        agent.ask("Continue?", options=["Yes", "No"])
    post_card(home, question(agent, "Continue?", "Yes", "No"), "om_either")
    card = open_page(GROUP).locator("#m-om_either")
    card.get_by_text("These buttons work in the chat app only.").wait_for()
    expect(card.get_by_role("button", name="1. Yes")).to_have_count(0)


@needs_axe
def test_buttons_that_only_the_platform_can_press_are_shown_as_what_they_are(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    card = {
        "elements": [
            {"tag": "markdown", "content": "Build **41** is red."},
            {
                "tag": "action",
                "actions": [
                    {"tag": "button", "text": {"tag": "plain_text", "content": "Retry [all]"}, "value": {}},
                    {"tag": "button", "text": {"tag": "plain_text", "content": "Log"}, "url": "https://ci.test/41"},
                ],
            },
        ]
    }
    now = int(time.time() * 1000)
    for message_id, text in (("om_ci", text_of("interactive", card)), ("om_plain", "[ERROR]\nThat was all.")):
        home.store.append(
            CHAT, "assistant", text, "Beta", message_id, now, sender_kind="bot", msg_type="interactive", source="event"
        )
    page = open_page(GROUP, phone=True)
    shown = page.locator("#m-om_ci")
    expect(shown.locator("[data-button]")).to_have_text("Retry [all]")
    shown.get_by_text("These buttons work in the chat app only.").wait_for()
    assert shown.get_by_role("link", name="Log").get_attribute("href") == "https://ci.test/41"
    expect(page.locator("#m-om_plain [data-button]")).to_have_count(0)
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, GROUP) == []
    picture(page, "phone-groups-card")


@needs_axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_code_has_colours_and_is_copied_with_a_button(open_page: OpenPage, home: WebHome, dark: bool) -> None:
    code = 'def hello(name: str) -> None:\n    # greet\n    print(f"Hello {name}", 3)'
    name = f"om_code_{dark}"
    home.say("Alpha", f"Here:\n\n```python\n{code}\n```\n\nand\n\n```elvish\n<b>plain</b>\n```", name)
    page = open_page(GROUP, dark=dark)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    message = page.locator(f"#m-{name}")
    message.locator(".hljs-comment", has_text="# greet").wait_for()
    assert message.locator("pre").first.inner_text() == code
    colours = message.locator("pre span").evaluate_all("all => all.map((each) => getComputedStyle(each).color)")
    assert len(set(colours)) >= 4
    assert message.locator("pre").last.inner_html() == "<code>&lt;b&gt;plain&lt;/b&gt;</code>"
    message.get_by_role("button", name="Copy the code").first.click()
    message.get_by_role("status").get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == code
    assert faults(page, GROUP) == []


def test_code_is_copied_also_where_the_browser_gives_the_page_no_clipboard(open_page: OpenPage, home: WebHome) -> None:
    home.say("Alpha", "```sh\nmake test\n```", "om_sh")
    page = open_page(GROUP, script="Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.locator("#m-om_sh").get_by_role("button", name="Copy the code").click()
    page.locator("#m-om_sh").get_by_role("status").get_by_text("Copied").wait_for()
    field = page.get_by_role("textbox", name="Message the group")
    field.focus()
    page.keyboard.press("Control+V")
    expect(field).to_have_value("make test")


def answer(page: "Page", agent: Agent, asked: "Future[Blocks]") -> None:
    agent.talk(page)
    fill(page, "Go on.")
    send(page)
    assert said(asked) == ["Go on."]


def test_the_charts_count_who_spoke_when_and_how_many_bots_in_a_row(open_page: OpenPage, home: WebHome) -> None:
    begin = int(time.time() * 1000) - 72 * MINUTE
    # Over 72 minutes, the 36 columns of the chart have two each.
    spoken: list[tuple[str, int | None, int]] = [
        ("Ada", 0, 0),
        ("Rex", 1, 1),
        ("Ada", 0, 20),
        ("Sam", 1, 21),
        ("Rex", 2, 21),
        ("Rex", 2, 22),
        ("Sam", 3, 22),
        ("Rex", None, 22),
        ("Ada", 0, 41),
        ("Rex", 1, 72),
    ]
    for number, (who, hop, minute) in enumerate(spoken):
        bot: dict[str, Any] = {"sender_kind": "bot", "agent": who, "hop": hop}
        fields: dict[str, Any] = {"sender_kind": "human"} if who == "Ada" else bot
        role: Any = "user" if who == "Ada" else "assistant"
        home.store.append(COUNTED, role, "x", who, f"om_{number}", begin + minute * MINUTE, **fields)
    page = open_page(f"#/groups/{quote(COUNTED, safe='')}")
    side = page.get_by_role("complementary", name="About this group")
    for who, columns in (
        ("Rex", {0: 1, 10: 1, 11: 2, 35: 1}),
        ("Ada", {0: 1, 10: 1, 20: 1}),
        ("Sam", {10: 1, 11: 1}),
    ):
        many = f"{sum(columns.values())} message{'s' if sum(columns.values()) > 1 else ''}"
        chart = side.get_by_role("img", name=f"{who} wrote {many}", exact=True)
        chart.wait_for()
        assert bars(chart, 4) == columns
    turns = side.get_by_role(
        "img", name="Bot turns in a row since a person spoke, over the last 10 messages; at most 4.", exact=True
    )
    turns.wait_for()
    shown = [bar.text_content() for bar in turns.locator("rect title").all()]
    assert shown == [
        *("Ada: 0", "Rex: 1", "Ada: 0", "Sam: 1", "Rex: 2", "Rex: 2", "Sam: 3", "Rex: 4"),
        *("Ada: 0", "Rex: 1"),  # the fourth turn is a post
    ]
    heights = turns.locator("rect").evaluate_all("all => all.map(each => +each.getAttribute('height'))")
    assert [round(height, 1) for height in heights] == [1.5, 9.5, 1.5, 9.5, 19, 19, 28.5, 38, 1.5, 9.5]


def bars(chart: "Locator", width: int) -> dict[int, int]:
    """How many messages each column says to stand for, by its place."""
    places = chart.locator("rect").evaluate_all("all => all.map(each => +each.getAttribute('x'))")
    said_by = [(title.text_content() or "").rpartition(": ")[2] for title in chart.locator("rect title").all()]
    return {round(place / width): int(count) for place, count in zip(places, said_by, strict=True)}


def test_who_writes_comes_to_the_end_where_it_will_be_said(open_page: OpenPage, home: WebHome) -> None:
    chat = "feishu:oc_sent"
    now = int(time.time() * 1000) - 1000
    for number in range(80):
        home.store.append(chat, "user", f"Line {number}", "on_ada", f"om_sent_{number}", now + number)
    page = open_page(f"#/groups/{chat}")
    log = page.get_by_role("log")
    log.get_by_text("Line 79", exact=True).wait_for()
    log.evaluate("(box) => { box.scrollTop = 0 }")
    drawn(page)
    home.store.append(chat, "user", "Meanwhile", "on_ada", "om_sent_other", now + 100)
    page.get_by_role("button", name="New messages").wait_for()
    field = page.get_by_role("textbox", name="Message the group")
    field.fill("Said from here")
    field.press("Control+Enter")
    page.get_by_text("waiting for a bot of this group").wait_for()
    home.store.append(chat, "assistant", "Said from here", "Beta", "om_sent_here", now + 200, sender_kind="bot")
    page.locator("#m-om_sent_here").wait_for()
    page.wait_for_function(IN_SIGHT, arg="m-om_sent_here")


def test_what_was_said_is_not_drawn_again_with_each_key(open_page: OpenPage, home: WebHome) -> None:
    chat, now, many = "feishu:oc_drawn", int(time.time() * 1000) - 100_000, 40
    for number in range(many):
        home.store.append(chat, "user", f"Line {number}", "on_ada", f"om_drawn_{number}", now + number)
    counting = """
        const real = Date.prototype.toDateString;
        window.drawn = 0;
        Date.prototype.toDateString = function () {
            drawn += 1;
            return real.call(this);
        };
    """
    page = open_page(f"#/groups/{chat}", script=counting)
    page.get_by_role("log").get_by_text(f"Line {many - 1}", exact=True).wait_for()
    field = page.get_by_role("textbox", name="Message the group")
    field.focus()
    draws = [page.evaluate("drawn")]
    assert draws[0] >= many
    for place, key in enumerate("Hello, all of you"):
        page.keyboard.type(key)
        expect(field).to_have_value("Hello, all of you"[: place + 1])
        draws.append(page.evaluate("drawn"))
    # What is asked for at first may come between two keys, and what stands beside has its times, too.
    assert min(after - before for before, after in pairwise(draws)) < many
