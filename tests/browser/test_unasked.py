"""Writing to agents that have asked nothing: by address, by name, and from where they wait for input."""

import json
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from browser.conftest import needs_axe
from browser.expecting import expect
from browser.people import Agent, fill, said, send
from browser.test_pages import TOO_WIDE, Picture, faults
from browser.test_places import focused
from browser.windows import OpenPage
from support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PROJECT = "/srv/shop"


def place(agent: str, project: str = PROJECT) -> str:
    """The address of a conversation."""
    return f"#/questions/{quote(json.dumps([project, agent], separators=(',', ':')), safe='')}"


def field(page: "Page", agent: str) -> "Locator":
    return page.get_by_role("textbox", name=f"Send {agent} a note")


def write(page: "Page", agent: str, text: str) -> None:
    field(page, agent).fill(text)
    field(page, agent).press("Control+Enter")


def wait_for_input(hub: str, calls: ThreadPoolExecutor, token: str = "", **arguments: Any) -> "Future[str]":
    """The texts that i_tool gives an agent."""

    def call() -> str:
        about = {"name": "i_tool", "arguments": {"timeout": 60} | arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": about}).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        with urllib.request.urlopen(urllib.request.Request(f"{hub}/mcp/io", body, headers), timeout=PATIENCE) as answer:
            return "".join(each["text"] for each in json.load(answer)["result"]["content"])

    return calls.submit(call)


def go_on(page: "Page", times: int = 1) -> None:
    """Sends an input for whoever waits in the session that is open."""
    for _ in range(times):
        page.get_by_role("textbox", name="Send an input").fill("Go on.")
        with page.expect_response("**/api/io/input"):
            page.get_by_role("textbox", name="Send an input").press("Control+Enter")


@needs_axe
def test_an_agent_that_never_asked_is_written_to_at_the_address_of_its_conversation(
    open_page: OpenPage, agent: Agent
) -> None:
    page = open_page(place(agent.name))
    page.get_by_text(f"{agent.name} has not asked or reported anything yet.").wait_for()
    page.wait_for_function("() => document.activeElement.ariaLabel?.endsWith('a note …')")
    assert page.get_by_role("link", name=agent.name).count() == 0
    assert faults(page, "an empty conversation") == []
    write(page, agent.name, "Use the other branch.")
    page.get_by_role("log").get_by_text("waiting for the agent").wait_for()
    expect(page.get_by_text("has not asked or reported anything yet")).to_have_count(0)
    page.reload()
    page.goto(f"{page.url.partition('#')[0]}#/questions")
    page.get_by_role("link", name=agent.name).filter(has_text="Use the other branch.").click()
    page.get_by_role("log").get_by_text("waiting for the agent").wait_for()
    answer = agent.ask("Which one?")
    fill(page, "main")
    send(page)
    assert "Use the other branch." in " ".join(said(answer))
    page.get_by_role("log").get_by_text("picked up").wait_for()


def test_an_address_is_the_conversation_however_it_is_spelled(open_page: OpenPage, agent: Agent) -> None:
    spelled = json.dumps(["\u202a/srv/shop", agent.name], ensure_ascii=False)  # as copied from a window of properties
    page = open_page(f"#/questions/{quote(spelled, safe='')}")
    write(page, agent.name, "Hello")
    page.get_by_role("log").get_by_text("Hello").wait_for()
    page.get_by_role("log").get_by_text("waiting for the agent").wait_for()
    expect(page.locator("a[data-row][aria-current=true]").filter(has_text=agent.name)).to_have_count(1)
    answer = agent.ask("Which one?", wait=0)
    fill(page, "This one.")
    send(page)
    assert answer.result(PATIENCE)


@needs_axe
def test_the_list_leads_to_any_agent_by_its_name_with_the_keys_alone(
    serve: Callable[..., str], open_page: OpenPage, picture: Picture
) -> None:
    hub = serve()
    page = open_page("#/questions", base=hub)
    page.get_by_text("No agent has asked anything yet").wait_for()
    page.keyboard.press("c")
    form = page.get_by_role("dialog", name="Write to another agent")
    page.wait_for_function("() => document.activeElement.labels?.[0]?.textContent === 'Project'")
    page.keyboard.press("Enter")
    assert form.get_by_label("Project").evaluate("field => field.validity.valueMissing")
    page.keyboard.type(f" {PROJECT} ")
    page.keyboard.press("Tab")
    page.keyboard.type("Steps")
    picture(page, "questions-whom")
    page.keyboard.press("Enter")
    form.wait_for(state="hidden")
    page.wait_for_function("() => document.activeElement.ariaLabel?.startsWith('Send Steps a note')")
    page.get_by_text("Steps has not asked or reported anything yet.").wait_for()
    picture(page, "questions-new")
    page.keyboard.type("Begin with the tests.")
    page.keyboard.press("Control+Enter")
    page.get_by_role("link", name="Steps").filter(has_text="Begin with the tests.").wait_for()

    button = page.get_by_role("button", name="Write to another agent")
    button.focus()
    page.keyboard.press("Enter")
    assert form.locator("datalist").first.locator("option").evaluate_all("all => all.map(each => each.value)") == [
        PROJECT
    ]
    assert form.locator("datalist").last.locator("option").evaluate_all("all => all.map(each => each.value)") == [
        "Steps"
    ]
    assert faults(page, "the form") == []
    form.get_by_label("Project").fill(PROJECT)
    form.get_by_label("Agent name").fill("Steps")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.ariaLabel?.startsWith('Send Steps a note')")
    page.keyboard.press("Escape")
    button.click()
    page.keyboard.press("Escape")
    form.wait_for(state="hidden")
    assert focused(page) == "Write to another agent"


@needs_axe
def test_writing_to_another_agent_fits_a_phone_in_chinese(
    serve: Callable[..., str], open_page: OpenPage, picture: Picture
) -> None:
    page = open_page("#/questions", base=serve(), phone=True, dark=True, language="zh-CN")
    page.get_by_role("button", name="给其他智能体留言").click()
    form = page.get_by_role("dialog")
    form.get_by_label("项目").fill(f"{PROJECT}/a-project-whose-folder-has-a-very-long-name")
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, "the form") == []
    picture(page, "phone-questions-whom")
    form.get_by_role("button", name="打开对话").click()
    page.get_by_text("智能体 还没有提问或报告").wait_for()
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, "an empty conversation") == []
    picture(page, "phone-questions-new")
    page.keyboard.press("Escape")
    page.keyboard.press("c")  # the list is not shown
    page.get_by_role("dialog").get_by_label("项目").wait_for()


@needs_axe
def test_a_session_leads_to_the_agent_that_waits_there_for_words_too(
    open_page: OpenPage, agent: Agent, hub: str, picture: Picture
) -> None:
    with ThreadPoolExecutor(2) as calls:
        page = open_page("#/io/steps")
        inputs = wait_for_input(hub, calls, session_id="steps")
        page.locator("a[data-row]").filter(has_text="steps").get_by_text("agent is waiting").wait_for()
        assert page.get_by_role("link", name="Write to").count() == 0  # it did not say who it is
        waiting = wait_for_input(hub, calls, session_id="steps", project_directory=PROJECT, agent_name=agent.name)
        link = page.get_by_role("link", name=f"Write to {agent.name} ({PROJECT})")
        link.wait_for()
        picture(page, "io-write-to")
        assert faults(page, "a session") == []
        link.click()
        write(page, agent.name, "Stop, please.")
        assert "Stop, please." in waiting.result(PATIENCE)
        page.goto(f"{page.url.partition('#')[0]}#/io/steps")
        go_on(page)
        assert inputs.result(PATIENCE) == "Go on."
        page.get_by_text("delivered, not confirmed yet").wait_for()
        assert page.get_by_role("link", name="Write to").count() == 0


def test_a_session_leads_people_to_the_agents_of_all_programs_that_wait_there(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve(hub={"tokens": {"me": "token-of-mine", "you": "token-of-yours"}, "page_token": "token-of-people"})
    with ThreadPoolExecutor(2) as calls:
        about = {"session_id": "s", "project_directory": PROJECT}
        waiting = [
            wait_for_input(hub, calls, token, agent_name=name, **about)
            for token, name in (("token-of-mine", "Mine"), ("token-of-yours", "Yours"))
        ]
        page = open_page("?token=token-of-people#/io/s", base=hub)
        for name in ("Mine", "Yours"):
            page.get_by_role("link", name=f"Write to {name}").wait_for()
        expect(page.get_by_role("link", name="Write to")).to_have_count(2)
        go_on(page, times=2)
        assert [each.result(PATIENCE) for each in waiting] == ["Go on.", "Go on."]
        expect(page.get_by_role("link", name="Write to")).to_have_count(0)


def test_without_questions_a_session_leads_to_no_agent(serve: Callable[..., str], open_page: OpenPage) -> None:
    hub = serve(hub={"servers": ["io", "transcript"]})
    with ThreadPoolExecutor(1) as calls:
        waiting = wait_for_input(hub, calls, session_id="s", project_directory=PROJECT)
        page = open_page("#/io/s", base=hub)
        page.locator("a[data-row]").get_by_text("agent is waiting").wait_for()
        assert page.get_by_role("link", name="Write to").count() == 0
        go_on(page)
        assert waiting.result(PATIENCE) == "Go on."


def test_the_frame_around_what_was_come_for_is_as_wide_as_its_bubble(open_page: OpenPage, agent: Agent) -> None:
    for number in range(2):
        agent.ask(f"Question {number}?", wait=0).result(PATIENCE)
    page = agent.talk(open_page("#/questions"))
    ids = page.locator("[data-item]").evaluate_all("all => all.map((each) => each.dataset.item)")
    page.goto(f"{page.url.partition('#')[0]}{place(agent.name)}/{ids[0]}")
    page.locator("[data-found]").wait_for()
    framed = """[...document.querySelectorAll("[role=log] *")].filter((each) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(each);
        return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    }).map((each) => each.tagName)"""
    assert page.evaluate(framed) == ["SECTION"]


def test_an_open_question_never_has_no_seconds_left(open_page: OpenPage, agent: Agent) -> None:
    agent.ask("Still open?", wait=0).result(PATIENCE)
    page = agent.talk(open_page("#/questions"))
    page.get_by_role("log").get_by_text("left").wait_for()
    page.evaluate("((real) => { Date.now = () => real() + 3_600_000 })(Date.now)")  # as when the clock is set forward
    page.get_by_role("log").get_by_text("left").wait_for(state="detached")
    fill(page, "Yes.")
    send(page)
    page.get_by_role("log").get_by_text("answered").wait_for()
