"""An agent asks over Connect, and a person answers on the page."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from browser.expecting import expect
from browser.people import talk
from browser.windows import OpenPage
from support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

Ask = Callable[..., "Future[dict[str, Any]]"]
PROJECT = "/srv/backend"


@pytest.fixture
def ask(hub: str) -> Iterator[Ask]:
    """``ask("Which?", ["A", "B"])`` asks, and gives what the agent will be told."""
    with ThreadPoolExecutor(4) as calls:

        def asking(
            text: str,
            options: list[str] | None = None,
            *,
            custom: bool = True,
            multiple: bool = False,
            name: str = "AskQuestion",
            **more: Any,
        ) -> Any:
            about = {"ProjectDirectory": PROJECT, "AgentName": "BlueLake", "Timeout": 60, **more}
            about["Question" if name == "AskQuestion" else "Summary"] = text
            if options:
                listed = [{"label": each} for each in options]
                about["Questions"] = [{"question": "Choose", "options": listed, "custom": custom, "multiple": multiple}]
            body = json.dumps({"ID": f"id-{text}", "UserToken": "local", "Request": about}).encode()
            address = f"{hub}/agentassistproto.SrvAgentAssist/{name}"
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            return calls.submit(lambda: json.load(urllib.request.urlopen(request, timeout=PATIENCE)))

        yield asking


def said(answer: "Future[dict[str, Any]]") -> list[str]:
    return [each["text"]["text"] for each in answer.result(PATIENCE)["contents"] if "text" in each]


def conversation(page: "Page") -> "Page":
    return talk(page, "BlueLake")


def test_a_question_is_answered_from_a_phone_and_other_pages_are_told_by_whom(
    open_page: OpenPage, ask: Ask, picture: Callable[..., None]
) -> None:
    page = open_page("#/questions", phone=True)
    other = open_page("#/questions")
    answer = ask("Deploy **1.4** now?", ["Yes", "Tomorrow"])
    conversation(page)
    conversation(other)
    page.get_by_text("left").first.wait_for()
    page.get_by_role("link", name="Back").click()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Your name").press("Enter")
    conversation(page)
    assert page.title().startswith("(1)")
    page.get_by_role("textbox", name="Your answer").fill("After nine.")
    page.get_by_text("Tomorrow").click()
    picture(page, "questions-phone")
    page.get_by_role("button", name="Answer").click()
    assert said(answer) == ["Tomorrow\n\nAfter nine."]
    log = other.get_by_role("log")
    log.get_by_text("After nine.").wait_for()
    log.get_by_text("answered by Ada").wait_for()
    log.get_by_text("Yes", exact=True).wait_for()  # what else there was to choose
    other.locator("a[data-row]").get_by_text("Ada: Tomorrow After nine.").wait_for()
    expect(other.get_by_role("textbox", name="Your answer")).to_have_count(0)
    picture(other, "questions")


def test_where_only_options_count_there_is_no_field_and_a_choice_can_be_taken_back(
    open_page: OpenPage, ask: Ask
) -> None:
    answer = ask("Which colour?", ["Red", "Blue"], custom=False)
    page = conversation(open_page("#/questions"))
    page.get_by_text("Which colour?").last.wait_for()
    assert page.get_by_role("textbox", name="Your answer").count() == 0
    assert page.get_by_role("button", name="Answer").count() == 0  # a click on an option answers
    expect(page.locator("[aria-disabled]")).to_have_count(0)
    page.keyboard.press("1")
    page.get_by_role("button", name="Undo").click()
    page.keyboard.press("2")
    assert said(answer) == ["Blue"]


def test_several_options_are_given_in_the_order_of_the_agent(open_page: OpenPage, ask: Ask) -> None:
    answer = ask("Where to?", ["Test", "Staging", "Live"], multiple=True)
    page = conversation(open_page("#/questions"))
    page.get_by_text("You can choose several.").wait_for()
    for place in ("Live", "Staging", "Test", "Staging"):
        page.get_by_role("checkbox", name=place).locator("..").click()
    page.get_by_role("button", name="Answer").click()
    assert said(answer) == ["Test, Live"]


def test_an_option_that_an_agent_names_twice_is_answered_once(open_page: OpenPage, ask: Ask) -> None:
    answer = ask("Which one?", ["Red", "Red", "Blue"])
    page = conversation(open_page("#/questions"))
    page.get_by_role("button", name="Red").nth(1).click()
    assert said(answer) == ["Red"]


def test_a_report_is_confirmed_and_an_agent_is_written_to_unasked(open_page: OpenPage, ask: Ask) -> None:
    report = ask("All tests pass.", name="TaskFinish")
    page = conversation(open_page("#/questions"))
    page.get_by_role("button", name="Confirm").click()
    assert said(report) == ["OK"]
    field = page.get_by_role("textbox", name="Send BlueLake a note")
    field.fill("Mind the changelog.")
    field.press("Control+Enter")
    page.get_by_text("waiting for the agent").wait_for()
    next_answer = ask("Anything else?")
    page.get_by_role("textbox", name="Your answer").fill("No.")
    page.get_by_role("textbox", name="Your answer").press("Control+Enter")
    heard = " ".join(said(next_answer))
    assert "No." in heard
    assert "Mind the changelog." in heard
    page.get_by_text("picked up").wait_for()


def test_scripts_in_a_question_stay_text_and_history_is_there_after_a_reload(open_page: OpenPage, ask: Ask) -> None:
    answer = ask("<img src=x onerror=alert(1)> Is it safe?")
    page = conversation(open_page("#/questions"))
    page.get_by_text("<img src=x onerror=alert(1)>").last.wait_for()
    assert page.locator("article img").count() == 0
    page.get_by_role("textbox", name="Your answer").fill("It is.")
    page.get_by_role("button", name="Answer").click()
    assert said(answer)[0] == "It is."
    page.reload()
    page.get_by_role("log").get_by_text("It is.").wait_for()
    page.get_by_role("searchbox").fill("safe")
    page.locator("mark", has_text="safe").wait_for()
