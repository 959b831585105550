"""The page Statistics: its pictures say what the hub counts, of the days and the group that somebody chose."""

import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browser.conftest import needs_axe
from browser.expecting import expect
from browser.test_pages import TOO_WIDE, Picture, faults
from browser.windows import OpenPage
from support.web_home import CHAT, WebHome

from nanobot_transcript.relevance.tally import DAY_MS

if TYPE_CHECKING:
    from playwright.sync_api import Locator

OTHER = "feishu:oc_numbers"
COUNTED = """() => [...document.querySelectorAll("main table tbody tr")].map(
    (row) => [...row.children].slice(1).map((cell) => +cell.textContent))"""


@pytest.fixture(scope="module", autouse=True)
def past(home: WebHome) -> None:
    """What was said and decided before."""
    now = int(time.time() * 1000)
    for number in range(6):
        at = now - number * DAY_MS
        home.store.append(OTHER, "user", "Alpha?", "on_ada", f"om_asked_{number}", at, sender_kind="human")
    for number in range(4):
        at = now - 40 * DAY_MS - number
        home.store.append(OTHER, "assistant", "Yes.", "Alpha", f"om_yes_{number}", at, sender_kind="bot")
    home.store.members.remember_chat(OTHER, "Numbers")
    home.decide_later("om_1", "Alpha", "answered")
    home.decide_later("om_4", "Beta", "failed", why="The model endpoint answered 503.")


def heights(chart: "Locator") -> list[float]:
    found = chart.locator("rect").evaluate_all("all => all.map((each) => +each.getAttribute('height'))")
    return [round(each, 1) for each in found]


@needs_axe
def test_messages_stand_by_day_and_member_for_the_days_and_the_group_that_were_chosen(
    open_page: OpenPage, picture: Picture
) -> None:
    page = open_page("#/statistics")
    page.get_by_role("img", name="Messages by day").wait_for()
    assert faults(page, "#/statistics") == []
    picture(page, "statistics")
    page.get_by_label("Group").select_option("Numbers")
    page.get_by_role("img", name="6 in all, at most 1 on one day").wait_for()
    assert page.url.endswith(f"#/statistics/14/{quote(OTHER, safe='')}")
    page.get_by_role("link", name="7 days").click()
    chart = page.get_by_role("img", name="6 in all, at most 1 on one day")
    chart.wait_for()
    page.get_by_text("Show the numbers").click()
    rows = page.evaluate(COUNTED)
    assert [row[:2] for row in rows] == [[1, 1]] * 6 + [[0, 0]]
    page.get_by_role("link", name="90 days").click()
    page.get_by_role("img", name="10 in all, at most 4 on one day").wait_for()
    whole = sorted((row for row in page.evaluate(COUNTED) if row[0]), reverse=True)
    assert whole == [[4, 0, 4], *[[1, 1, 0]] * 6]


@needs_axe
def test_what_bots_did_and_how_soon_and_which_calls_are_left_is_drawn(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    page = open_page(f"#/statistics/7/{quote(CHAT, safe='')}")
    page.get_by_role("img", name="Alpha: answered 1", exact=True).wait_for()
    page.get_by_role("img", name="Beta: failed 1 · silent 1", exact=True).wait_for()
    page.get_by_text("The model endpoint answered 503.").wait_for()
    page.get_by_text("It calls somebody else by name.").wait_for()
    took = page.get_by_role("img", name="Alpha: 1 answer")
    assert heights(took) == [0, 0, 0, 0, 0, 0, 38]  # an hour after it was asked
    page.get_by_text("120 of 120 left").wait_for()
    phone = open_page("#/statistics/90", phone=True, language="zh-CN", dark=True)
    phone.get_by_role("img", name="Beta：").or_(phone.get_by_role("img", name="Beta: 回答失败 1")).first.wait_for()
    phone.get_by_text("询问裁判模型").or_(phone.get_by_text("飞书历史消息")).first.wait_for()
    assert phone.evaluate(TOO_WIDE) == []
    assert faults(phone, "#/statistics") == []
    picture(phone, "phone-statistics-dark")


def test_a_group_in_which_nothing_was_said_has_no_picture(open_page: OpenPage) -> None:
    page = open_page(f"#/statistics/7/{quote('feishu:oc_nobody', safe='')}")
    page.get_by_text("No messages in this period").wait_for()
    page.get_by_text("No decisions by bots in this period.").wait_for()
    expect(page.get_by_role("img", name="Messages by day")).to_have_count(0)


def test_what_was_said_on_a_day_is_told_where_somebody_points(open_page: OpenPage) -> None:
    page = open_page(f"#/statistics/7/{quote(OTHER, safe='')}")
    chart = page.get_by_role("img", name="6 in all")
    chart.wait_for()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + 5)
    page.get_by_text("· 1 in all · Ada Byrne 1").wait_for()
