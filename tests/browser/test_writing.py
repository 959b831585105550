"""Forms, and what stays in its place on a page while other things happen."""

import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browser.conftest import Served, _hub
from browser.expecting import drawn, expect
from browser.people import LONG
from browser.windows import OpenPage
from support.waiting import PATIENCE
from support.web_home import PROJECT, WebHome

from transcript_mcp.mail.values import Draft

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

MAIL = "#/mail/%2Fsrv%2Fbackend"
BELOW = "((box) => box.scrollHeight - box.scrollTop - box.clientHeight)"


@pytest.fixture(scope="module")
def strict_hub(home: WebHome, browser: "Browser") -> Iterator[str]:
    """A hub on whose pages one may act as dev_agent only."""
    with Served(_hub(home, filebox={"run_as": "listed", "may_run_as": ["dev_agent"]})) as served:
        yield served.address


def test_a_form_begins_in_its_subject(open_page: OpenPage) -> None:
    for place in (MAIL, "#/boxes/dev_agent/inbox"):
        page = open_page(place)
        page.get_by_role("button", name="Write").click()
        expect(page.get_by_role("dialog").get_by_label("Subject"), place).to_be_focused()


def test_a_form_says_what_it_needs_before_it_can_be_sent(open_page: OpenPage) -> None:
    page = open_page(MAIL)
    page.get_by_role("button", name="Write").click()
    form = page.get_by_role("dialog")
    form.get_by_role("button", name="Send").click()
    assert form.get_by_label("Subject").evaluate("field => field.validity.valueMissing && field.matches(':focus')")
    form.get_by_label("Subject").fill("Lunch")
    form.get_by_label("Text (Markdown)").fill("At twelve.")
    form.get_by_role("button", name="Send").click()
    form.get_by_role("alert").filter(has_text="Choose a recipient.").wait_for()
    form.locator("label").filter(has_text="BlueLake").click()
    expect(form.get_by_role("alert")).to_have_count(0)
    form.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Lunch").first.wait_for()


ON_THIS_FIELD = "field => field.validity.customError && field.matches(':focus') && field.validationMessage"
"""What the browser says below the field, when it is why the form was not sent."""


@pytest.mark.parametrize("place", [MAIL, "#/boxes/dev_agent/inbox"])
def test_a_letter_of_nothing_but_spaces_is_not_sent(open_page: OpenPage, place: str) -> None:
    page, sent = open_page(place), list[str]()
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_role("button", name="Write").click()
    form = page.get_by_role("dialog")
    subject, text = form.get_by_label("Subject"), form.get_by_label("Text (Markdown)")
    if place == MAIL:
        form.locator("label").filter(has_text="BlueLake").click()
    text.fill(" \n\t")
    subject.fill("   ")
    form.get_by_role("button", name="Send").click()
    assert subject.evaluate(ON_THIS_FIELD) == "Enter more than spaces."
    subject.fill(" At noon")
    subject.press("Control+Enter")
    assert text.evaluate(ON_THIS_FIELD) == "Enter more than spaces."
    assert sent == []
    text.fill("    Code stands so.")
    text.press("Control+Enter")
    page.get_by_role("dialog").wait_for(state="hidden")
    assert len(sent) == 1


def test_spaces_alone_are_no_token_and_forget_none(open_page: OpenPage, locked_hub: str) -> None:
    open_page.expected = ("401",)  # the browser itself says that it was refused
    page = open_page("?token=wrong-token", base=locked_hub)
    page.get_by_text("The hub does not know this token.").wait_for()
    page.get_by_label("Token").fill("  ")
    page.get_by_role("button", name="Enter").click()
    assert page.get_by_label("Token").evaluate(ON_THIS_FIELD) == "Enter more than spaces."
    page.get_by_text("The hub does not know this token.").wait_for()


def test_no_key_opens_a_form_in_the_name_of_an_agent_one_may_not_act_as(open_page: OpenPage, strict_hub: str) -> None:
    page = open_page("#/boxes/qa_agent/inbox", base=strict_hub)
    page.get_by_text("You cannot act as this agent").wait_for()
    page.keyboard.press("c")
    assert page.get_by_role("dialog").count() == 0
    page = open_page("#/boxes/dev_agent/inbox", base=strict_hub)
    page.get_by_text("Login does nothing").wait_for()
    page.keyboard.press("c")
    page.get_by_role("dialog", name="Write as dev_agent").wait_for()


def test_kinds_of_mail_that_are_short_for_something_say_for_what(open_page: OpenPage) -> None:
    page = open_page("#/boxes/dev_agent/inbox")
    page.locator("a[data-row] [title='bug report']").first.wait_for()
    page.get_by_role("button", name="Write").click()
    kinds = page.get_by_role("dialog").get_by_label("Type")
    assert kinds.locator("option").all_inner_texts()[:4] == [
        "BR · bug report",
        "ACK · acknowledgement",
        "ER · enhancement request",
        "INFO",
    ]
    kinds.select_option("ER")
    expect(kinds).to_have_value("ER")


def test_the_page_of_mail_opens_where_somebody_wrote_last(open_page: OpenPage, home: WebHome) -> None:
    home.mail.send(PROJECT, home.mail.human(PROJECT), Draft("Tea", "At four.", to=["BlueLake"]))
    home.mail.register_agent("/srv/empty", "RedStone")  # the newest project; nobody has written in it
    page = open_page("#/mail")
    page.get_by_role("combobox", name="Project").wait_for()
    expect(page.get_by_role("combobox", name="Project")).to_have_value(PROJECT)


def test_a_letter_in_another_project_takes_nobody_out_of_the_one_they_see(open_page: OpenPage, home: WebHome) -> None:
    home.mail.send(PROJECT, home.mail.human(PROJECT), Draft("Lunch", "At twelve.", to=["BlueLake"]))
    page = open_page("#/mail")
    project = page.get_by_role("combobox", name="Project")
    expect(project).to_have_value(PROJECT)
    page.get_by_role("button", name="Write").click()
    home.mail.register_agent("/srv/elsewhere", "RedField")
    home.mail.send("/srv/elsewhere", home.mail.human("/srv/elsewhere"), Draft("Noise", "Loud.", to=["RedField"]))
    home.mail.register_agent("/srv/later", "RedField")  # whoever knows of this one knows of the letter
    project.locator("option", has_text="/srv/later").wait_for(state="attached")
    expect(project).to_have_value(PROJECT)
    page.get_by_role("dialog").get_by_text("BlueLake", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Agent Mail").first.click()  # where somebody wrote last, when it is opened anew
    expect(project).to_have_value("/srv/elsewhere")


def test_a_letter_goes_only_to_agents_that_the_form_shows(open_page: OpenPage, home: WebHome) -> None:
    human = home.mail.human(PROJECT)
    blue = home.mail.acting(PROJECT, "BlueLake")
    sent = home.mail.send(PROJECT, human, Draft("Lunch", "At twelve.", to=["BlueLake"], thread_id="LUNCH-1"))
    home.mail.reply(blue, sent.id, Draft(body="Fine."))
    page = open_page(f"{MAIL}/agents/human")
    page.get_by_role("heading", name="human").wait_for()
    page.get_by_text("Re: Lunch").wait_for()
    expect(page.get_by_role("button", name="Write")).to_have_count(1)  # the one of the whole page
    home.mail.reply(human, sent.id, Draft(body="With soup."))
    page = open_page(f"{MAIL}/threads/LUNCH-1")
    page.get_by_text("With soup.").last.wait_for()
    page.get_by_role("textbox", name="Reply to BlueLake as a person").wait_for()


def test_a_message_from_long_ago_is_found_and_nothing_is_shown_twice(open_page: OpenPage, home: WebHome) -> None:
    chat = "feishu:oc_long"
    for number in range(400):
        home.store.append(chat, "user", f"Line {number}", "on_ada", f"om_long_{number}", 1_700_000_000_000 + number)
    page = open_page("#/io")
    page.locator("[data-connection=live]").first.wait_for()

    def while_it_is_written(route: "Route") -> None:
        asked.append(route.request.url)
        home.store.append(chat, "user", "Meanwhile", "on_ada", f"om_meanwhile_{len(asked)}")
        page.get_by_text("Meanwhile").nth(len(asked) - 1).wait_for()
        route.continue_()

    asked: list[str] = []
    page.route("**/api/groups/messages*before=*", while_it_is_written)
    page.goto(f"{page.url.partition('#')[0]}#/groups/{chat}/om_long_3")
    page.get_by_text("Line 3", exact=True).wait_for()
    shown = page.evaluate("[...document.querySelectorAll('article[id]')].map((each) => each.id)")
    assert len(shown) == len(set(shown))
    assert len(asked) == len(set(asked))


def test_a_message_that_was_searched_for_is_in_sight(open_page: OpenPage, home: WebHome) -> None:
    chat = "feishu:oc_tall"
    for number in range(120):
        home.store.append(chat, "user", f"Row {number}", "on_ada", f"om_tall_{number}", 1_700_000_000_000 + number)
    for number in (5, 80):
        page = open_page(f"#/groups/{chat}/om_tall_{number}")
        row = page.get_by_role("log").get_by_text(f"Row {number}", exact=True)
        expect(row).to_be_in_viewport()
        home.store.append(chat, "user", "Later", "on_ada", f"om_later_{number}", 1_800_000_000_000 + number)
        page.get_by_role("log").get_by_text("Later").first.wait_for()
        expect(row).to_be_in_viewport()


def test_who_reads_further_up_stays_there_when_something_new_is_asked(open_page: OpenPage, hub: str) -> None:
    with ThreadPoolExecutor(2) as calls:

        def ask(name: str, text: str) -> None:
            about = {"ProjectDirectory": "/srv/tall", "AgentName": "RedHill", "Timeout": LONG, "Summary": text}
            body = json.dumps({"ID": name, "UserToken": "local", "Request": about | {"NotifyOnly": True}}).encode()
            address = f"{hub}/agentassistproto.SrvAgentAssist/WorkReport"
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            calls.submit(lambda: urllib.request.urlopen(request, timeout=PATIENCE).read())

        page = open_page("#/questions")
        ask("tall", "\n\n".join(f"Paragraph {number}" for number in range(20)))
        page.get_by_role("link", name="RedHill").click()
        log = page.get_by_role("log")
        log.get_by_text("Paragraph 19").wait_for()
        ask("second", "One line")
        log.get_by_text("One line").wait_for()
        page.wait_for_function(f"() => {BELOW}(document.querySelector('[role=log]')) < 50")
        log.evaluate("(box) => { box.scrollTop = 0 }")
        log.get_by_text("Paragraph 0", exact=True).wait_for()
        ask("third", "Another line")
        log.get_by_text("Another line").wait_for()
        drawn(page)
        assert log.evaluate("(box) => box.scrollTop") == 0


def test_what_is_known_stays_on_the_page_while_the_hub_does_not_answer(open_page: OpenPage, home: WebHome) -> None:
    page = open_page(MAIL)
    page.get_by_role("link", name="Build plan for users").wait_for()
    page.route("**/api/mail/threads*", lambda route: route.abort())
    page.locator("[data-connection=live]").first.wait_for()
    blue = home.mail.acting(PROJECT, "BlueLake")
    home.mail.send(PROJECT, blue, Draft("Another", "Text.", to=["GreenCastle"]))
    page.get_by_role("alert").wait_for()
    expect(page.get_by_role("link", name="Build plan for users")).to_be_visible()
    page.unroute("**/api/mail/threads*")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("link", name="Another").wait_for()
    expect(page.get_by_role("alert")).to_have_count(0)
    open_page.wrong.clear()  # the browser itself says that a request failed


def test_a_long_inbox_says_how_many_more_letters_there_are_and_shows_all(open_page: OpenPage, home: WebHome) -> None:
    human = home.mail.human(PROJECT)
    home.mail.register_agent("/srv/many", "GrayOwl")
    for number in range(1105):
        home.mail.send("/srv/many", human, Draft(f"Letter {number}", "text", to=["GrayOwl"]))
    page = open_page(f"#/mail/{quote('/srv/many', safe='')}/agents/GrayOwl")
    for more, hidden in (("At least 1,000 more", 1004), ("5 more", 4)):
        page.get_by_text(more).wait_for()
        expect(page.get_by_text(f"Letter {hidden}", exact=True)).to_have_count(0)
        page.get_by_role("button", name="Show more").click()
        page.get_by_text(f"Letter {hidden}", exact=True).wait_for()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    page.get_by_text("Letter 0", exact=True).wait_for()
