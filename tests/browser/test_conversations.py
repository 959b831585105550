"""What somebody sees of a conversation is what they answer: where it scrolls, where the focus goes, what is folded."""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pytest
from browser.expecting import drawn, expect
from browser.people import Agent, connect, fill, said, send
from browser.windows import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

Picture = Callable[["Page", str], None]

FOCUSED = "document.activeElement.ariaLabel || document.activeElement.value || document.activeElement.tagName"


def report(hub: str, agent: str, texts: Iterable[str]) -> None:
    for number, text in enumerate(texts):
        about = {"Summary": text, "AgentName": agent, "NotifyOnly": True, "ProjectDirectory": "/srv/shop"}
        body = {"ID": f"{agent}-{number}", "UserToken": "local", "Request": about}
        connect(hub, "SrvAgentAssist/WorkReport", body)


@pytest.mark.parametrize("phone", [False, True])
def test_choosing_an_option_leaves_a_long_conversation_in_place(
    open_page: OpenPage, agent: Agent, hub: str, picture: Picture, phone: bool
) -> None:
    report(hub, agent.name, [f"Step {number} is done." for number in range(30)])
    answer = agent.ask("Which branch?", options=["main", "dev"])
    page = agent.talk(open_page("#/questions", phone=phone))
    page.get_by_text("Step 29 is done.").wait_for()
    fill(page, "At nine.")
    page.get_by_role("log").focus()
    # What has opened by itself takes no key yet.
    expect(page.get_by_role("button", name="dev", disabled=False)).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_role("button", name="dev", pressed=True)).to_be_focused()
    page.locator("footer input[type=file]").evaluate("(each) => each.focus()")
    page.get_by_role("log").evaluate("(box) => { box.scrollTop = box.scrollHeight }")
    root = "[document.documentElement.scrollTop, document.documentElement.scrollHeight - innerHeight]"
    picture(page, f"questions-chosen-{'phone' if phone else 'wide'}")
    assert page.evaluate(root) == [0, 0]
    send(page)
    assert said(answer) == ["dev\n\nAt nine."]


def test_answer_this_leads_to_where_it_is_answered(open_page: OpenPage, agent: Agent) -> None:
    agent.ask("Red or blue?", wait=0).result()
    agent.ask("Which branch?", options=["main", "dev"], multiple=True, free_text=False, wait=0)
    page = agent.talk(open_page("#/questions"))
    page.locator("article", has_text="Which branch?").get_by_role("button", name="Answer this one").click()
    expect(page.locator("article[data-aimed]", has_text="Which branch?")).to_be_focused()
    page.keyboard.press("1")
    expect(page.get_by_role("checkbox", name="main", checked=True)).to_be_focused()
    page.locator("article", has_text="Red or blue?").get_by_role("button", name="Answer this one").click()
    page.wait_for_function(f"() => ({FOCUSED}) === 'Your answer …'")
    page.keyboard.type("1 is red")
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("1 is red")
    page.get_by_role("button", name="Send a note").click()
    page.wait_for_function(f"() => ({FOCUSED}).endsWith('a note …')")
    page.get_by_role("button", name="Answer it").click()
    page.wait_for_function(f"() => ({FOCUSED}) === 'Your answer …'")


@pytest.mark.parametrize("phone", [False, True])
def test_what_the_box_answers_is_in_sight_and_the_box_lets_go_when_that_changes_by_itself(
    open_page: OpenPage, agent: Agent, picture: Picture, phone: bool
) -> None:
    lines = "\n\n".join(f"Line {number}" for number in range(15))
    answers = [agent.ask(f"Question 0?\n\n{lines}")]
    page = open_page("#/questions", phone=phone)
    page.locator("a[data-row]", has_text=agent.name).first.wait_for(state="attached")
    answers += [agent.ask(f"Question {number}?\n\n{lines}") for number in (1, 2)]
    rows = page.locator("a[data-row]", has_text=agent.name)
    rows.nth(2).wait_for(state="attached")
    assert "Question 0?" in (rows.first.text_content() or "")
    agent.talk(page)
    expect(page.get_by_text("Question 0?").last).to_be_in_viewport()
    picture(page, f"questions-three-{'phone' if phone else 'wide'}")
    field = page.get_by_role("textbox", name="Your answer")
    field.fill("Zero.")
    field.press("Control+Enter")
    assert said(answers[0]) == ["Zero."]
    page.locator("article[data-aimed]:not([data-state=answered])").wait_for()
    expect(page.locator("article[data-aimed] header")).to_be_in_viewport()
    page.wait_for_function(f"() => ({FOCUSED}).startsWith('question: ')")
    page.keyboard.type("xx")
    page.keyboard.press("Control+Enter")
    expect(field).to_have_value("")
    first = 1 if "Question 1?" in page.locator("article[data-aimed]").inner_text() else 2
    for answer in (answers[first], answers[3 - first]):
        fill(page, "Next.")
        send(page)
        assert said(answer) == ["Next."]


def test_a_box_in_which_somebody_is_about_to_write_does_not_become_the_answer_to_what_comes(
    open_page: OpenPage, agent: Agent
) -> None:
    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions"))
    fill(page, "Yes.")
    send(page)
    assert said(answer) == ["Yes."]
    page.get_by_role("textbox", name=f"Send {agent.name} a note").focus()
    agent.ask("Drop the database?", wait=0)
    page.get_by_role("log").get_by_text("Drop the database?").wait_for()
    page.keyboard.type("ok")
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("")


def test_what_somebody_writes_on_when_the_box_lets_go_calls_nothing_on_the_page(
    open_page: OpenPage, agent: Agent
) -> None:
    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions", clock=True))
    fill(page, "Yes.")
    send(page)
    assert said(answer) == ["Yes."]
    page.get_by_role("textbox", name=f"Send {agent.name} a note").focus()
    page.clock.pause_at(time.time() + 5)  # by its clock nobody pauses
    here = page.url
    agent.ask("Drop the database?", wait=0)
    page.get_by_role("log").get_by_text("Drop the database?").wait_for()
    page.keyboard.type("just a minute, can we do 2 things? 1")
    assert page.url == here
    assert page.get_by_role("dialog").count() == 0
    page.clock.run_for(1200)  # nobody writes on for so long
    page.keyboard.press("c")
    expect(page.get_by_role("dialog", name="Write to another agent")).to_be_visible()


def test_the_next_question_is_brought_into_sight_also_where_somebody_came_for_the_one_before(
    open_page: OpenPage, agent: Agent, hub: str
) -> None:
    agent.ask("Drop the database?", wait=0).result()
    report(hub, agent.name, [f"Step {number} is done." for number in range(30)])
    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions"))
    last = page.locator("article", has_text="Deploy now?")
    last.wait_for()
    page.goto(f"{page.url.rpartition('/')[0]}/{last.get_attribute('data-item')}")
    page.reload()
    expect(last).to_be_in_viewport()
    fill(page, "Yes.")
    send(page)
    assert said(answer) == ["Yes."]
    expect(page.locator("article", has_text="Drop the database?")).to_be_in_viewport()


def test_one_double_click_confirms_one_report(open_page: OpenPage, agent: Agent, hub: str) -> None:
    for name in ("one", "two"):
        about = {"Summary": f"Step {name} is done.", "AgentName": agent.name, "ProjectDirectory": "/srv/shop"}
        body = {"ID": f"{agent.name}-{name}", "UserToken": "local", "Wait": 0, "Fetched": True}
        connect(hub, "SrvAgentAssist/WorkReport", body | {"Request": about | {"Timeout": 60}})
    page = agent.talk(open_page("#/questions"))
    page.get_by_role("button", name="Confirm").nth(1).wait_for()
    page.locator("article[data-aimed]").get_by_role("button", name="Confirm").dblclick()
    page.locator("article[data-state=answered]").wait_for()
    expect(page.locator("article[data-state=waiting]")).to_have_count(1)
    page.get_by_role("button", name="Confirm").click()
    page.locator("article[data-state=answered]").nth(1).wait_for()


def test_lines_are_shown_as_they_were_typed(open_page: OpenPage, agent: Agent) -> None:
    answer = agent.ask("Which?\nThe **first**\nor the second?\n\n- a\n- b\n\n```\nx\ny\n```\n\nend\\\nof it")
    page = agent.talk(open_page("#/questions"))
    fill(page, "First,\nthen <b>\nlast.")
    send(page)
    assert said(answer) == ["First,\nthen <b>\nlast."]
    log = page.get_by_role("log")
    texts = log.locator(".markdown").evaluate_all("all => all.map((each) => each.innerText)")
    question, reply = (text.splitlines() for text in texts)
    assert [line for line in question if line] == [
        "Which?",
        "The first",
        "or the second?",
        "a",
        "b",
        "x",
        "y",
        "end",
        "of it",
    ]
    assert reply == ["First,", "then <b>", "last."]


@pytest.mark.parametrize("mark", [">", "> ", "- "])
def test_a_text_that_is_nested_too_deeply_is_shown_as_it_was_typed(
    open_page: OpenPage, agent: Agent, mark: str
) -> None:
    agent.ask(mark * 2400 * (2 // len(mark)) + "the end", wait=0).result()
    page = agent.talk(open_page("#/questions"))
    page.get_by_role("log").get_by_text("the end").wait_for()
    fill(page, "Yes.")
    send(page)
    page.locator("article[data-state=answered]").wait_for()


@pytest.mark.parametrize("mark", ["-", " "])
def test_a_line_of_one_mark_does_not_keep_the_page_from_showing_anything(
    open_page: OpenPage, agent: Agent, mark: str
) -> None:
    """In time that grows with the square of its length it would be minutes."""
    agent.ask(f"Deploy now?\n\nx\n{mark * 400_000}the end", wait=0).result()
    page = agent.talk(open_page("#/questions"))
    fill(page, "Yes.")
    send(page)
    page.locator("article[data-state=answered]").wait_for()


def test_a_very_long_text_is_folded_until_somebody_wants_all_of_it(
    open_page: OpenPage, agent: Agent, picture: Picture
) -> None:
    agent.ask("\n".join(f"Line {number} of it" for number in range(200)), wait=0)
    page = agent.talk(open_page("#/questions", phone=True))
    log = page.get_by_role("log")
    log.get_by_text("Line 39 of it").wait_for()
    assert log.get_by_text("Line 40 of it").count() == 0
    picture(page, "questions-folded-phone")
    top, button = "(box) => box.scrollTop", page.get_by_role("button", name="Show all")
    button.hover()  # waits until it stands still, and brings it into sight
    drawn(page)
    before = log.evaluate(top)
    button.click()
    log.get_by_text("Line 199 of it").wait_for()
    drawn(page)  # a box that follows its end would have moved by now
    assert log.evaluate(top) == before
    page.get_by_role("button", name="Show less").click()
    log.get_by_text("Line 199 of it").wait_for(state="detached")


def test_notices_leave_the_box_free(open_page: OpenPage, agent: Agent, picture: Picture) -> None:
    agent.ask("Deploy now?", wait=0)
    page = agent.talk(open_page("#/questions", phone=True))
    page.context.set_offline(True)
    notice = page.get_by_text("is larger than")
    page.locator("footer input[type=file]").set_input_files(
        {"name": "large.bin", "mimeType": "application/octet-stream", "buffer": bytes(9 * 1024 * 1024)}
    )
    notice.wait_for()
    picture(page, "questions-notice-phone")
    at, box = notice.bounding_box(), page.locator("footer").bounding_box()
    assert at is not None
    assert box is not None
    assert at["y"] + at["height"] < box["y"]


def test_the_list_shows_what_waits(open_page: OpenPage, agent: Agent) -> None:
    agent.ask("Deploy now?", wait=0).result()
    newer = agent.ask("Which branch?")
    page = agent.talk(open_page("#/questions"))
    page.locator("article", has_text="Which branch?").get_by_role("button", name="Answer this one").click()
    fill(page, "main")
    send(page)
    assert said(newer) == ["main"]
    page.get_by_role("link", name=agent.name).get_by_text("Deploy now?").wait_for()
