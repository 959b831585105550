"""What somebody writes on the page of questions goes where it is meant to, and is not lost when it cannot go there."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser.expecting import expect
from browser.people import Agent, call_me, connect, fill, said, send
from browser.windows import OpenPage
from support.line import Line

from transcript_mcp.assistant.protocol import proto, wire

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocketRoute

PATH = "/srv/backend/" + "a-path-without-any-place-to-wrap" * 5
MIB = 1024 * 1024


def boxes(page: "Page") -> list[str]:
    return page.get_by_role("textbox").evaluate_all("all => all.filter(e => e.checkVisibility()).map(e => e.ariaLabel)")


def test_while_a_question_is_open_the_one_box_below_answers_it(
    open_page: OpenPage, agent: Agent, picture: Callable[..., None]
) -> None:
    page = open_page("#/questions", phone=True)
    answer = agent.ask("Deploy now?")
    agent.talk(page)
    page.get_by_text(f"{agent.name} is waiting for your answer.").wait_for()
    assert boxes(page) == ["Your answer …"]
    picture(page, "questions-open-phone")
    page.get_by_role("button", name="Send a note").click()
    assert boxes(page) == [f"Send {agent.name} a note …"]
    page.get_by_text(f"{agent.name} is waiting for an answer; this message does not answer it.").wait_for()
    page.get_by_role("button", name="Answer it").click()
    fill(page, "Yes.")
    send(page)
    assert said(answer) == ["Yes."]
    page.get_by_role("textbox", name="a note").wait_for()


def test_of_two_open_questions_the_box_answers_the_older_or_the_one_that_is_picked(
    open_page: OpenPage, agent: Agent
) -> None:
    older = agent.ask("Red or blue?")
    page = agent.talk(open_page("#/questions"))
    newer = agent.ask("Large or small?")
    fill(page, "Red, I")
    page.get_by_role("log").get_by_text("Large or small?").wait_for()
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("Red, I")
    page.get_by_role("button", name="Answer this one").click()
    fill(page, "Small.")
    send(page)
    assert said(newer) == ["Small."]
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("Red, I")
    fill(page, "Red, I think.")
    send(page)
    assert said(older) == ["Red, I think."]


def test_words_that_somebody_else_was_faster_than_are_kept_and_can_be_sent(open_page: OpenPage, agent: Agent) -> None:
    answer = agent.ask("Red or blue?")
    first, second = (agent.talk(open_page("#/questions")) for _ in range(2))
    call_me(first, "Ada")
    fill(second, "Blue, as the")
    fill(first, "Red.")
    send(first)
    assert said(answer) == ["Red."]
    second.get_by_text("Ada answered first. What you wrote was not sent.").wait_for()
    kept = second.get_by_role("textbox", name="What you wrote")
    expect(kept).to_have_value("Blue, as the")
    kept.press("Control+Enter")
    expect(kept).to_have_value("Blue, as the")
    second.get_by_role("button", name="Send as a note").click()
    second.get_by_text("waiting for the agent").wait_for()
    second.get_by_role("log").get_by_text("Blue, as the").wait_for()
    expect(kept).to_have_count(0)


def test_words_that_are_kept_do_not_stand_in_the_way_of_another_answer(open_page: OpenPage, agent: Agent) -> None:
    answer = agent.ask("Red or blue?")
    first, second = (agent.talk(open_page("#/questions")) for _ in range(2))
    fill(second, "Blue, as the")
    fill(first, "Red.")
    send(first)
    assert said(answer) == ["Red."]
    second.get_by_role("textbox", name="What you wrote").wait_for()
    newer = agent.ask("Large or small?")
    second.get_by_role("button", name="Answer this one").click()
    fill(second, "Small.")
    send(second)
    assert said(newer) == ["Small."]
    expect(second.get_by_role("textbox", name="What you wrote")).to_have_value("Blue, as the")


def test_an_answer_that_came_second_is_kept_too(open_page: OpenPage, agent: Agent, line: Line) -> None:
    answer = agent.ask("Red or blue?")
    first = agent.talk(open_page("#/questions"))
    second = agent.talk(open_page("#/questions", base=line.address))
    call_me(first, "Ada")
    fill(first, "Red.")
    fill(second, "Blue.")
    line.hold()
    send(first)
    assert said(answer) == ["Red."]
    send(second)
    line.mend()
    second.get_by_text("Ada answered first.").wait_for()
    expect(second.get_by_role("textbox", name="What you wrote")).to_have_value("Blue.")
    second.get_by_role("button", name="Discard").click()
    second.get_by_role("textbox", name="a note").wait_for()


def test_options_fit_a_phone_and_the_question_stands_there_once(open_page: OpenPage, agent: Agent) -> None:
    page = open_page("#/questions", phone=True)
    answer = agent.ask("Which **path**?", options=["Yes", PATH])
    agent.talk(page)
    path = page.get_by_text(PATH)
    path.wait_for()
    expect(page.get_by_role("log").get_by_text("Which path?")).to_have_count(1)
    assert page.get_by_role("log").get_by_text("**").count() == 0
    assert path.evaluate("each => each.getBoundingClientRect().right") < 390
    expect(page.locator("[aria-disabled]")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.get_by_role("log")).to_be_focused()
    assert said(answer) == [PATH]


def test_where_only_options_are_an_answer_there_is_no_field(open_page: OpenPage, agent: Agent) -> None:
    answer = agent.ask("Which branch?", options=["main", "dev"], free_text=False)
    page = agent.talk(open_page("#/questions"))
    page.get_by_text("Choose one of the options above.").wait_for()
    assert page.locator("footer textarea, footer input[type=file]").count() == 0
    page.get_by_text("dev", exact=True).click()
    assert said(answer) == ["dev"]


def frame_of(data: bytes | str) -> Any:
    assert isinstance(data, bytes)
    return wire.decoded(proto.WebsocketMessage, data)


def refusal(command: str) -> bytes:
    problem = proto.ErrorNotification(code="store_full", message="The disk is full.", cmd=command)
    return proto.WebsocketMessage(Cmd="Error", ErrorNotification=problem).SerializeToString()


class Between:
    """Stands between pages and their hub: notes the commands, and lets ``stop`` answer in the hub's place."""

    def __init__(self, page: "Page", stop: Callable[["WebSocketRoute", Any], bool]) -> None:
        self.commands: list[str] = []
        self._stop = stop
        page.route_web_socket("**/ws", self._serve)
        page.reload()

    def _serve(self, route: "WebSocketRoute") -> None:
        hub = route.connect_to_server()

        def heard(data: bytes | str) -> None:
            frame = frame_of(data)
            self.commands.append(frame.Cmd)
            if not self._stop(route, frame):
                hub.send(data)

        route.on_message(heard)


def test_an_answer_that_the_store_cannot_keep_comes_back_into_the_box(open_page: OpenPage, agent: Agent) -> None:
    full = [True]

    def stop(route: "WebSocketRoute", frame: Any) -> bool:
        if full[0] and frame.Cmd in ("AskQuestionReply", "AgentMessage"):
            route.send(refusal(frame.Cmd))
            return True
        return False

    answer, other = agent.ask("Tell me everything."), agent.ask("And briefly?")
    page = open_page("#/questions")
    Between(page, stop)
    agent.talk(page)
    fill(page, "A long and careful answer")
    send(page)
    page.get_by_text("Not sent: The disk is full.").wait_for()
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("A long and careful answer")
    page.get_by_role("button", name="Send a note").click()
    field = page.get_by_role("textbox", name="a note")
    field.fill("A message")
    field.press("Control+Enter")
    page.get_by_text("Not sent: The disk is full.").wait_for()
    expect(field).to_have_value("A message")
    full[0] = False
    page.get_by_role("button", name="Answer it").click()
    send(page)
    page.get_by_role("button", name="Answer this one").wait_for(state="detached")
    fill(page, "Yes.")
    send(page)
    assert sorted([*said(answer), *said(other)]) == ["A long and careful answer", "Yes."]


def test_a_store_that_cannot_be_read_is_not_asked_again_and_again(open_page: OpenPage, agent: Agent) -> None:
    broken = [True]

    def stop(route: "WebSocketRoute", frame: Any) -> bool:
        if broken[0] and frame.Cmd == "GetHistory":
            route.send(refusal(frame.Cmd))
            return True
        return False

    began = time.monotonic()
    page = open_page("#/questions")
    between = Between(page, stop)
    page.get_by_role("alert").get_by_text("The disk is full.").wait_for()
    page.wait_for_timeout(3000)  # what is counted are frames in a span of time
    assert len(between.commands) <= 3 + (time.monotonic() - began)
    broken[0] = False
    page.get_by_role("alert").wait_for(state="detached")
    assert agent.ask("Well again?", wait=0) is not None
    page.get_by_text("Well again?").first.wait_for()


def test_a_frame_for_which_the_hub_hangs_up_is_not_sent_again(open_page: OpenPage, agent: Agent) -> None:
    def stop(route: "WebSocketRoute", frame: Any) -> bool:
        if frame.Cmd == "AskQuestionReply":
            route.close(code=1009)
            return True
        return False

    agent.ask("Everything?", wait=0)
    page = open_page("#/questions")
    between = Between(page, stop)
    agent.talk(page)
    fill(page, "More than the hub takes")
    send(page)
    page.get_by_text("Not sent: it is too large for the hub.").wait_for()
    page.get_by_text("Connecting …").first.wait_for(state="detached")
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("More than the hub takes")
    assert between.commands.count("AskQuestionReply") == 1


def test_files_that_an_agent_would_not_be_given_are_not_taken(
    open_page: OpenPage, agent: Agent, tmp_path: Path
) -> None:
    agent.ask("Which file?", wait=0, timeout=600)
    page = agent.talk(open_page("#/questions"))
    chooser = page.locator("footer input[type=file]")
    chooser.set_input_files([_file(tmp_path / "large.bin", 9)])
    page.get_by_text("large.bin is larger than 8 MiB").wait_for()
    chooser.set_input_files([_file(tmp_path / f"part-{at}.bin", 8) for at in range(8)])
    page.get_by_text("part-7.bin was left out").wait_for()
    page.get_by_role("button", name="Remove").nth(6).wait_for()
    page.get_by_role("textbox", name="Your answer").click()
    page.get_by_role("button", name="Answer", exact=True).click(trial=True)


def _file(path: Path, size: int) -> Path:
    """A file of so many MiB."""
    path.write_bytes(bytes(size * MIB))
    return path


def test_the_limit_of_files_is_the_one_of_the_settings(
    serve: Callable[..., str], open_page: OpenPage, tmp_path: Path
) -> None:
    address = serve(assistant={"max_attachment": MIB})
    body = {"ID": "small-files", "UserToken": "local", "Wait": 0, "Fetched": True}
    connect(address, "SrvAgentAssist/AskQuestion", body | {"Request": {"Question": "Which?", "AgentName": "Small"}})
    page = open_page("#/questions", base=address)
    page.get_by_role("link", name="Small").first.click()
    page.locator("footer input[type=file]").set_input_files([_file(tmp_path / "two.bin", 2)])
    page.get_by_text("two.bin is larger than 1 MiB").wait_for()


def test_a_sound_in_an_answer_can_be_heard(open_page: OpenPage, hub: str) -> None:
    body = {"ID": "a-sound", "UserToken": "local", "Wait": 0, "Fetched": True}
    connect(hub, "SrvAgentAssist/AskQuestion", body | {"Request": {"Question": "How?", "AgentName": "Ears"}})
    sound = {"type": 3, "audio": {"type": "audio", "data": "UklGRiQAAABXQVZF", "mimeType": "audio/wav"}}
    connect(hub, "SrvAgentAssistReply/AskQuestionReply", {"ID": "a-sound", "contents": [sound]})
    page = open_page("#/questions")
    page.get_by_role("link", name="Ears").first.click()
    page.locator("audio[controls]").wait_for()
    assert page.locator("audio").get_attribute("src") == "data:audio/wav;base64,UklGRiQAAABXQVZF"


def test_a_conversation_shows_earlier_questions_and_stays_where_it_is(open_page: OpenPage, hub: str) -> None:
    for number in range(130):
        about = {"Summary": f"Step {number} is done.", "AgentName": "Steps", "NotifyOnly": True}
        connect(hub, "SrvAgentAssist/WorkReport", {"ID": f"step-{number}", "UserToken": "local", "Request": about})
    page = open_page("#/questions")
    page.get_by_role("link", name="Steps").first.click()
    log = page.get_by_role("log")
    log.get_by_text("Step 129 is done.").wait_for()
    log.evaluate("box => { box.scrollTop = 0 }")
    first = log.locator("article").first
    before = first.inner_text()
    log.get_by_role("button", name="Show earlier conversations").click()
    log.get_by_text("Step 0 is done.").wait_for(state="attached")
    top = log.evaluate("(box) => box.getBoundingClientRect().top")
    at = log.locator("article", has_text=before.splitlines()[-1]).first.bounding_box()
    assert at is not None
    assert 0 <= at["y"] - top < 200
