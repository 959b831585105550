"""Tokens and addresses, keys, and how wide the pages are."""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from browser.expecting import expect
from browser.people import Agent, begun, said
from browser.test_answering import STUBS
from browser.test_pages import GROUP, PLACES, THREAD, TOO_WIDE, show
from browser.windows import OpenPage
from support.web_home import CHAT, WebHome

from nanobot_transcript.outbox import Outbox

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

OWN = {"ada": "token-of-ada", "bo": "token-of-bo"}


def enter(page: "Page", token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Enter").click()


def test_questions_ask_for_their_token_and_say_which_one_it_is(serve: Callable[..., str], open_page: OpenPage) -> None:
    hub = serve(assistant={"tokens": OWN})
    page = open_page("#/questions", base=hub)
    page.get_by_text("Questions require a token").wait_for()
    assert page.get_by_role("alert").count() == 0
    assert page.get_by_text("No agent has asked anything yet").count() == 0
    enter(page, "wrong-token")
    page.get_by_role("alert").get_by_text(re.compile(r"The hub does not know the token …\S+\.")).wait_for()
    enter(page, OWN["ada"])
    page.get_by_text("No agent has asked anything yet").wait_for()
    page.get_by_text("Using token …-ada").wait_for()
    page.get_by_text("You see only what the token …-ada gives access to.").wait_for()
    page.reload()
    page.get_by_text("Using token …-ada").wait_for()
    page.get_by_role("button", name="Change").click()
    enter(page, OWN["bo"])
    page.get_by_text("Using token …-bo").wait_for()
    page.get_by_role("button", name="Change").wait_for()


def test_a_page_that_comes_with_nothing_but_a_token_opens_questions(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve(assistant={"tokens": OWN})
    for place in ("?token=token-of-ada", "#/?token=token-of-ada"):
        page = open_page(place, base=hub)
        page.get_by_text("No agent has asked anything yet").wait_for()
        assert page.url == f"{hub}/#/questions"
    page = open_page("#/system?token=token-of-ada", base=hub)
    page.get_by_role("heading", name="Recent problems").wait_for()


def test_no_link_of_an_agent_leads_to_the_hub_or_brings_a_token(open_page: OpenPage, agent: Agent, hub: str) -> None:
    links = ("#/?token=evil", f"{hub}/?token=evil", f"{hub}/#/?%74oken=evil", "http://localhost:1/?token=evil")
    words = " ".join(f"[link {at}]({link})" for at, link in enumerate(links))
    agent.ask(f"{words} and [the manual](https://example.org/?page=1)", wait=0)
    page = agent.talk(open_page("#/questions"))
    page.get_by_role("log").get_by_role("link", name="the manual").wait_for()
    page.get_by_role("log").get_by_text("link 3").wait_for()
    expect(page.get_by_role("log").get_by_role("link")).to_have_count(1)


def test_addresses_that_lead_nowhere_say_so(open_page: OpenPage) -> None:
    page = open_page("#/nowhere")
    for place in ("#/nowhere", "#/groups/x", "#/questions/x"):
        page.goto(f"{page.url.partition('#')[0]}{place}")
        page.get_by_text("There is nothing at this address").wait_for()
        assert page.get_by_role("button", name="Send").count() == 0
    page.get_by_role("link", name="Back").last.click()
    page.get_by_role("searchbox", name="Search questions").wait_for()


def focused(page: "Page") -> str:
    return page.evaluate("document.activeElement.ariaLabel || document.activeElement.tagName")


def test_escape_leaves_a_field_and_enter_goes_from_the_list_into_the_conversation(
    open_page: OpenPage, agent: Agent
) -> None:
    answer = agent.ask("Deploy now?")
    page = open_page("#/questions")
    page.get_by_role("link", name=agent.name).first.wait_for()
    page.keyboard.press("j")
    page.get_by_role("log").wait_for()
    page.get_by_role("link", name=agent.name).first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.ariaLabel === 'Your answer …'")
    page.keyboard.type("Yes.")
    page.keyboard.press("Escape")
    assert focused(page) == "BODY"
    page.get_by_role("log").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("log").wait_for(state="detached")
    page.get_by_role("link", name=agent.name).first.click()
    page.get_by_role("textbox", name="Your answer").press("Control+Enter")
    assert said(answer) == ["Yes."]
    page.goto(f"{page.url.partition('#')[0]}#/io/build-7")
    field = page.get_by_role("textbox", name="Send an input")
    field.fill("x")
    field.press("Escape")
    assert focused(page) == "BODY"


def test_writing_a_letter_begins_in_its_first_field_and_escape_gives_the_focus_back(open_page: OpenPage) -> None:
    page = open_page(THREAD)
    page.get_by_role("link", name="Build plan for users").first.focus()
    page.keyboard.press("c")
    page.get_by_role("dialog").wait_for()
    page.wait_for_function("() => document.activeElement.matches('dialog input')")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.wait_for_function("() => document.activeElement.matches('a[data-row]')")


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_pages_are_no_wider_than_the_window(open_page: OpenPage, width: int) -> None:
    page = open_page(width=width)
    for place in PLACES:
        show(page, place)
        assert page.evaluate(TOO_WIDE) == [], (place, width)
    bar = page.get_by_role("navigation").first
    assert bar.evaluate("each => each.scrollWidth - each.clientWidth") <= 0


def test_a_card_that_asks_leads_to_the_question_and_shows_its_lines(
    open_page: OpenPage, home: WebHome, agent: Agent
) -> None:
    agent.ask("Deploy **1.4** now?\n\nIt takes long.", wait=0)
    text = f"{agent.name} asks · shop\nDeploy **1.4** now?\n\nIt takes long."
    now = int(time.time() * 1000)
    home.store.append(CHAT, "assistant", text, "Beta", "om_card", now, sender_kind="bot", msg_type="interactive")
    home.store.append(CHAT, "user", "cat.png", "on_ada", "om_picture", now + 1, sender_kind="human", msg_type="image")
    page = open_page(GROUP)
    card = page.locator("#m-om_card")
    link = card.get_by_role("link", name="Answer on the Questions page")
    link.wait_for()
    assert card.get_by_text("interactive").count() == 0
    assert "shop\nDeploy 1.4 now?" in card.inner_text()
    page.locator("#m-om_picture").get_by_text("picture", exact=True).wait_for()
    link.click()
    page.get_by_role("textbox", name="Your answer").wait_for()


def test_what_was_written_on_this_page_is_marked_where_a_bot_said_it(open_page: OpenPage, home: WebHome) -> None:
    page = open_page(GROUP)
    page.locator("[data-connection=live]").first.wait_for()
    field = page.get_by_role("textbox", name="Message the group")
    field.fill("From the page")
    field.press("Control+Enter")
    page.get_by_text("waiting for a bot of this group").wait_for()
    with Outbox(home.store.base_dir) as outbox:
        while job := outbox.take("a-bot", [CHAT], "Beta"):
            outbox.sent(job, f"om_{job.id}", "Beta")
            now = int(time.time() * 1000)
            home.store.append(CHAT, "assistant", job.content or "", "Beta", f"om_{job.id}", now, sender_kind="bot")
    page.locator("article", has_text="From the page").get_by_text("sent from this page").wait_for()


def test_the_bell_says_so_where_the_browser_refuses_notices(open_page: OpenPage, agent: Agent) -> None:
    denied = STUBS.replace('= "granted"', '= "denied"')
    page = begun(open_page("#/questions", script=denied))
    page.get_by_role("button", name="Notifications and sound").click()
    page.get_by_text("This browser does not allow notifications. You will only hear a sound.").wait_for()
    agent.ask("Deploy now?", wait=0)
    page.wait_for_function("() => heard.tones === 1")
    assert page.evaluate("heard.notices") == []


def test_a_browser_that_throws_at_notices_is_heard_all_the_same(open_page: OpenPage, agent: Agent) -> None:
    throwing = STUBS.replace("heard.notices.push", "throw new TypeError('Illegal constructor'); heard.notices.push")
    page = begun(open_page("#/questions", script=throwing))
    page.get_by_role("button", name="Notifications and sound").click()
    page.locator("button[aria-pressed=true]").wait_for()
    agent.ask("Deploy now?", wait=0)
    page.wait_for_function("() => heard.tones === 1")
    page.get_by_role("link", name=agent.name).first.wait_for()


def test_hints_show_code_as_code_and_commands_that_everybody_has(
    serve: Callable[..., str], open_page: OpenPage, home: WebHome
) -> None:
    page = open_page("#/groups", base=serve(store={"dir": home.folder / "empty"}))
    page.locator("code", has_text="make demo").wait_for()
    assert page.get_by_text("`").count() == 0


def test_two_minutes_are_not_called_one(open_page: OpenPage, agent: Agent) -> None:
    agent.ask("Soon?", timeout=120, wait=0)
    page = agent.talk(open_page("#/questions"))
    page.get_by_text(" s left").wait_for()


def test_a_letter_says_why_its_text_is_missing(open_page: OpenPage) -> None:
    page = open_page("#/mail")

    def without_text(route: object) -> None:
        answer = route.fetch()  # type: ignore[attr-defined]
        thread = answer.json()
        letter = thread["messages"][0]
        del letter["body_md"]
        letter["body_left_out"] = "This answer is full."
        route.fulfill(response=answer, json=thread)  # type: ignore[attr-defined]

    page.route("**/api/mail/thread?*", without_text)
    page.goto(f"{page.url.partition('#')[0]}{THREAD}")
    page.get_by_text("This answer is full.").wait_for()
    page.get_by_role("link", name="open it separately").wait_for()


def test_whoever_leaves_while_a_mail_is_put_away_is_not_taken_back(open_page: OpenPage) -> None:
    page = open_page("#/boxes/dev_agent/inbox")
    page.get_by_role("link", name="Login does nothing").click()
    held: list[Route] = []

    def hold(route: "Route") -> None:
        held.append(route)

    page.route("**/api/boxes/reject", hold)
    page.get_by_role("button", name="Reject").click()
    with page.expect_request("**/api/boxes/reject"):
        page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    page.get_by_role("link", name="Sent", exact=True).click()
    page.wait_for_url("**/outbox")
    held[0].continue_()
    page.get_by_role("status").get_by_text("Rejected").wait_for()
    assert page.url.endswith("/outbox")
