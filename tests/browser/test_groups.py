"""What a person sees of a group beside what was said: threads, questions that have ended, and the two charts."""

import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browser.conftest import OpenPage
from browser.people import Agent, Blocks, fill, said, send
from browser.test_pages import GROUP, TOO_WIDE, Picture, faults
from support.web_home import CHAT, WebHome

if TYPE_CHECKING:
    from concurrent.futures import Future

    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.timeout(120)

COUNTED = "feishu:oc_counted"
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


def test_threads_fit_a_phone_in_chinese(open_page: OpenPage, home: WebHome, picture: Picture) -> None:
    home.say("on_lin", "要不要改到周五发布？" * 20, "om_long")
    home.say("on_ada", "可以", "om_short", thread_id="omt_2", root_id="om_long")
    page = open_page(GROUP, phone=True, language="zh-CN")
    page.locator("#m-om_short").get_by_role("link", name="话题：林小雨：要不要改到周五发布？").wait_for()
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, GROUP) == []
    picture(page, "phone-thread")


def test_a_card_whose_question_has_ended_asks_for_no_answer(open_page: OpenPage, home: WebHome, agent: Agent) -> None:
    asked = agent.ask("Deploy now?")
    now = int(time.time() * 1000)
    home.store.append(
        CHAT, "assistant", "Shop asks\nDeploy now?", "Beta", "om_card", now, sender_kind="bot", msg_type="interactive"
    )
    page, answering = open_page(GROUP), open_page("#/questions")
    card = page.locator("#m-om_card")
    card.get_by_role("link", name="Answer it on the page of questions").wait_for()
    answer(answering, agent, asked)
    link = card.get_by_role("link", name="Answered: see it on the page of questions")
    link.wait_for()
    assert card.get_by_role("link").count() == 1
    link.click()
    page.get_by_role("log").get_by_text("Deploy now?").wait_for()


def answer(page: "Page", agent: Agent, asked: "Future[Blocks]") -> None:
    agent.talk(page)
    fill(page, "Go on.")
    send(page)
    assert said(asked) == ["Go on."]


def test_the_charts_count_who_spoke_when_and_how_many_bots_in_a_row(open_page: OpenPage, home: WebHome) -> None:
    begin = int(time.time() * 1000) - 72 * MINUTE
    # Over 72 minutes, the 36 columns of the chart have two each.
    spoken = [
        ("Ada", False, 0),
        ("Rex", True, 1),
        ("Sam", True, 21),
        ("Rex", True, 21),
        ("Rex", True, 22),
        ("Ada", False, 41),
        ("Rex", True, 72),
    ]
    for number, (who, bot, minute) in enumerate(spoken):
        role, kind = ("assistant", "bot") if bot else ("user", "human")
        home.store.append(COUNTED, role, "x", who, f"om_{number}", begin + minute * MINUTE, sender_kind=kind)  # type: ignore[arg-type] - plain texts
    page = open_page(f"#/groups/{quote(COUNTED, safe='')}")
    side = page.get_by_role("complementary", name="About this group")
    for who, columns in (("Rex", {0: 1, 10: 1, 11: 1, 35: 1}), ("Ada", {0: 1, 20: 1}), ("Sam", {10: 1})):
        many = f"{sum(columns.values())} message{'s' if sum(columns.values()) > 1 else ''}"
        chart = side.get_by_role("img", name=f"{who} wrote {many}", exact=True)
        chart.wait_for()
        assert bars(chart, 4) == columns
    turns = side.get_by_role(
        "img", name="Bot turns since a person spoke, over the last 7 messages; at most 4.", exact=True
    )
    turns.wait_for()
    shown = [bar.text_content() for bar in turns.locator("rect title").all()]
    assert shown == ["Ada: 0", "Rex: 1", "Sam: 2", "Rex: 3", "Rex: 4", "Ada: 0", "Rex: 1"]
    heights = turns.locator("rect").evaluate_all("all => all.map(each => +each.getAttribute('height'))")
    assert heights == [1.5, 9.5, 19, 28.5, 38, 1.5, 9.5]


def bars(chart: "Locator", width: int) -> dict[int, int]:
    """How many messages each column says to stand for, by its place."""
    places = chart.locator("rect").evaluate_all("all => all.map(each => +each.getAttribute('x'))")
    said_by = [(title.text_content() or "").rpartition(": ")[2] for title in chart.locator("rect title").all()]
    return {round(place / width): int(count) for place, count in zip(places, said_by, strict=True)}
