"""What goes with an answer, who hears of a question, and what becomes of it when lines break or two people answer."""

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from browser.expecting import drawn, expect, until
from browser.people import Agent, answered, begun, call_me, connect, fill, report, said, send
from browser.windows import OpenPage
from PIL import Image
from support.line import Line
from support.waiting import PATIENCE
from support.web_home import WebHome

from transcript_mcp.assistant.protocol import proto, wire

if TYPE_CHECKING:
    from playwright.sync_api import WebSocketRoute

LONG = token_hex(100_000)
"""Words that do not become fewer on the line."""


def test_a_pasted_picture_reaches_the_agent_as_an_image(open_page: OpenPage, agent: Agent) -> None:
    page = open_page("#/questions")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer = agent.ask("How should it look?")
    agent.talk(page)
    page.evaluate(
        """async () => {
            const canvas = new OffscreenCanvas(3, 2);
            const pen = canvas.getContext("2d");
            pen.fillStyle = "rgb(10, 200, 30)";
            pen.fillRect(0, 0, 3, 2);
            await navigator.clipboard.write([new ClipboardItem({"image/png": await canvas.convertToBlob()})]);
        }"""
    )
    fill(page, "Like this:")
    page.get_by_role("textbox", name="Your answer").press("Control+V")
    page.get_by_role("button", name="Remove").wait_for()
    send(page)
    text, picture = answer.result(PATIENCE)
    assert text["text"] == "Like this:"
    assert (picture["type"], picture["mimeType"]) == ("image", "image/png")
    shown = Image.open(io.BytesIO(base64.b64decode(picture["data"]))).convert("RGB")
    assert (shown.size, shown.getpixel((1, 1))) == ((3, 2), (10, 200, 30))
    page.get_by_role("log").locator("img").wait_for()


def test_a_file_reaches_the_agent_with_its_name_and_bytes(open_page: OpenPage, agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "计划.md").write_text("# 计划\n", encoding="utf-8")
    (tmp_path / "a b.bin").write_bytes(bytes(range(256)))
    answer = agent.ask("Which plan?")
    page = agent.talk(open_page("#/questions"))
    chooser = page.locator("footer input[type=file]")
    chooser.set_input_files([tmp_path / "计划.md", tmp_path / "a b.bin"])
    page.get_by_role("button", name="Remove").nth(1).wait_for()
    send(page)
    plan, binary = (block["resource"] for block in answer.result(PATIENCE))
    assert plan["text"] == "# 计划\n"
    assert base64.b64decode(binary["blob"]) == bytes(range(256))
    assert binary["uri"].endswith("/a%20b.bin")
    page.get_by_role("log").get_by_text("a b.bin").wait_for()


STUBS = """
    window.heard = {notices: [], tones: 0};
    window.Notification = class {
        static permission = "default";
        static async requestPermission() { return (this.permission = "granted"); }
        constructor(title, options) { heard.notices.push({title, body: options.body}); heard.last = this; }
        close() {}
    };
    const begin = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...when) { heard.tones += 1; return begin.apply(this, when); };
    document.hasFocus = () => false;
"""


def test_a_new_question_is_noticed_heard_and_counted_in_the_title(open_page: OpenPage, agent: Agent) -> None:
    page = begun(open_page("#/questions", script=STUBS))
    page.get_by_role("button", name="Notifications and sound").click()
    page.locator("button[aria-pressed=true]").wait_for()
    page.goto(f"{page.url.partition('#')[0]}#/system")
    before = page.evaluate("document.title")
    answer = agent.ask("Deploy now?")
    page.wait_for_function("() => heard.notices.length > 0")
    assert page.evaluate("heard.notices") == [{"title": agent.name, "body": "Deploy now?"}]
    assert page.evaluate("heard.tones") == 1
    page.wait_for_function("() => document.title.startsWith('(1) ')")
    page.evaluate("heard.last.onclick()")
    page.get_by_role("textbox", name="Your answer").fill("Yes.")
    send(page)
    assert said(answer) == ["Yes."]
    page.wait_for_function("() => !document.title.startsWith('(')")
    assert not before.startswith("(")


def test_the_bell_says_until_the_first_click_that_the_browser_lets_no_sound_through(
    open_page: OpenPage, agent: Agent
) -> None:
    counting = """
        const Real = window.AudioContext;
        window.contexts = [];
        window.AudioContext = class extends Real {
            constructor() { super(); contexts.push(this); }
            resume() { console.info("resumed"); return super.resume(); }
        };
        if (location.protocol === "http:") localStorage.setItem("nanobot-transcript.notify", "on");
    """
    page = open_page("#/questions", script=STUBS + counting)
    address = page.url
    page.goto("about:blank")
    with page.expect_console_message(lambda message: message.text == "resumed"):
        page.goto(address)  # whatever looks at the page afterwards is a gesture to the browser
    silent = "Notifications and sound: the browser plays no sound until you click on the page or press a key"
    page.get_by_role("button", name=silent, exact=True, pressed=True).wait_for()
    page.get_by_role("searchbox").click()
    page.get_by_role("button", name="Notifications and sound", exact=True, pressed=True).wait_for()
    for tones in (1, 2):
        agent.ask(f"Deploy {tones} now?", wait=0)
        page.wait_for_function(f"() => heard.tones === {tones}")
    assert page.evaluate("contexts.map((each) => each.state)") == ["running"]


@pytest.mark.parametrize(
    "soundless",
    ["delete window.AudioContext;", "window.AudioContext = class { constructor() { throw new Error('no device') } };"],
    ids=["missing", "refused"],
)
def test_a_browser_without_sound_shows_the_page_and_its_notices(
    open_page: OpenPage, agent: Agent, soundless: str
) -> None:
    chosen = """
        Notification.permission = "granted";
        if (location.protocol === "http:") localStorage.setItem("nanobot-transcript.notify", "on");
    """
    page = open_page("#/questions", script=STUBS + soundless + chosen)
    page.get_by_role("button", name="Notifications and sound", exact=True, pressed=True).wait_for()
    agent.ask("Deploy without a sound?", wait=0)
    page.wait_for_function("name => heard.notices.some((each) => each.title === name)", arg=agent.name)


@pytest.mark.parametrize("told", [True, False])
def test_the_time_left_is_the_hubs_where_the_browsers_clock_is_wrong(
    open_page: OpenPage, agent: Agent, hub: str, told: bool
) -> None:
    def as_hubs_were(data: str | bytes) -> None:
        """Without what older hubs do not say."""
        assert isinstance(data, bytes)
        frame = wire.decoded(proto.WebsocketMessage, data)
        frame.UserLoginResponse.ClearField("server_time")
        socket.send(frame.SerializeToString() if frame.Cmd == "UserLogin" else data)

    def pass_on(route: "WebSocketRoute") -> None:
        nonlocal socket
        socket = route
        route.connect_to_server().on_message(as_hubs_were)

    ahead = "const real = Date.now; Date.now = () => real() + 20 * 60_000;"
    socket: Any = None
    agent.ask("Which plan?", wait=0, timeout=600)
    page = open_page("#/system", script=ahead)
    if not told:
        page.route_web_socket("**/ws", pass_on)
    page.goto(f"{hub}/#/questions")
    page.reload()
    agent.talk(page)
    page.locator("article", has_text="10 min left" if told else "Which plan?").wait_for()
    expect(page.get_by_role("log").get_by_text(" left")).to_have_count(1 if told else 0)


def test_nothing_is_shown_or_heard_that_nobody_asked_for(open_page: OpenPage, agent: Agent) -> None:
    page = begun(open_page("#/questions", script=STUBS))
    answer = agent.ask("Deploy now?")
    agent.talk(page)
    fill(page, "Yes.")
    send(page)
    assert said(answer) == ["Yes."]
    assert page.evaluate("[heard.notices.length, heard.tones]") == [0, 0]


def test_an_answer_whose_line_breaks_in_the_middle_arrives_whole_and_once(
    open_page: OpenPage, agent: Agent, line: Line
) -> None:
    answer = agent.ask("Tell me everything.")
    page = agent.talk(open_page("#/questions", base=line.address))
    call_me(page, "Ada")
    everything = LONG
    fill(page, everything)
    line.cut_after(50_000)
    send(page)
    line.wait_cut()
    page.get_by_text("Connecting …").first.wait_for()
    second = agent.ask("And while you were away?")
    line.mend()
    page.get_by_role("log").get_by_text("And while you were away?").wait_for()
    assert said(answer) == [everything]
    page.get_by_text("answered by Ada").wait_for()
    expect(page.get_by_text("Connecting …")).to_have_count(0)
    fill(page, "Lunch.")
    send(page)
    assert said(second) == ["Lunch."]
    page.reload()
    page.get_by_role("log").get_by_text("Tell me everything.").wait_for()
    expect(page.get_by_role("log").locator("article[data-state=answered]")).to_have_count(2)


def test_an_answer_that_arrived_before_the_line_broke_is_not_given_again(
    open_page: OpenPage, agent: Agent, line: Line
) -> None:
    answer = agent.ask("Once?")
    page = agent.talk(open_page("#/questions", base=line.address))
    fill(page, "Once.")
    line.hold()
    send(page)
    assert said(answer) == ["Once."]
    line.cut()
    line.mend()
    page.get_by_text("Connecting …").first.wait_for(state="detached")
    again = agent.ask("Anything else?")
    page.get_by_role("log").get_by_text("Anything else?").wait_for()
    expect(page.get_by_role("log").get_by_text("Once.", exact=True)).to_have_count(1)
    fill(page, "No.")
    send(page)
    assert said(again) == ["No."]


def test_an_answer_on_a_line_that_has_gone_silent_is_on_its_way_until_the_hub_has_it(
    open_page: OpenPage, agent: Agent, line: Line, picture: Callable[..., None]
) -> None:
    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions", base=line.address, clock=True))
    fill(page, "Yes.")
    line.hush()
    send(page)
    article = page.locator("article", has_text="Deploy now?")
    article.get_by_text("on its way").wait_for()
    page.clock.run_for(2000)  # what was told too early was told within a second
    drawn(page)
    expect(article.get_by_text("on its way")).to_have_count(1)
    picture(page, "questions-sending")
    assert said(answer) == ["Yes."]
    page.locator("article[data-state=answered]").wait_for()
    expect(article.get_by_text("on its way")).to_have_count(0)
    expect(page.get_by_role("log").get_by_text("Yes.", exact=True)).to_have_count(1)
    assert page.get_by_text("answered first").count() == 0


def test_an_answer_that_came_through_before_the_line_went_silent_is_this_pages_own(
    open_page: OpenPage, agent: Agent, line: Line
) -> None:
    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions", base=line.address))
    fill(page, "Yes.")
    line.hold()
    send(page)
    assert said(answer) == ["Yes."]
    line.hush()
    line.mend()
    article = page.locator("article", has_text="Deploy now?")
    article.get_by_text("on its way").wait_for()
    page.locator("article[data-state=answered]").wait_for()
    assert page.get_by_text("answered first").count() == 0


def test_an_answer_is_on_its_way_until_the_hub_says_that_nobody_waits_any_more(
    open_page: OpenPage, agent: Agent
) -> None:
    held: list[Callable[[], None]] = []
    passing: list[bool] = []

    def pass_on(route: "WebSocketRoute") -> None:
        hub = route.connect_to_server()

        def heard(data: str | bytes) -> None:
            assert isinstance(data, bytes)
            frame: Any = wire.decoded(proto.WebsocketMessage, data)
            if frame.Cmd == "CheckMessageValidity" and not passing:
                held.append(lambda: route.send(data))
            else:
                route.send(data)

        hub.on_message(heard)

    answer = agent.ask("Deploy now?")
    page = open_page("#/questions")
    page.get_by_text("Deploy now?").first.wait_for()
    page.route_web_socket("**/ws", pass_on)
    page.reload()
    agent.talk(page)
    fill(page, "Yes.")
    before = len(held)
    send(page)
    assert said(answer) == ["Yes."]
    article = page.locator("article[data-state=sending]", has_text="Deploy now?")
    article.wait_for()
    until(page, lambda: len(held) > before)
    expect(article).to_have_count(1)
    passing.append(True)
    for pass_it_on in held:
        pass_it_on()
    page.locator("article[data-state=answered]", has_text="Deploy now?").wait_for()


def test_words_come_back_where_another_answer_counted_that_is_no_longer_among_the_newest(
    open_page: OpenPage, agent: Agent, hub: str, line: Line
) -> None:
    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions", base=line.address))
    asked = page.locator("article[data-item]").first.get_attribute("data-item") or ""
    fill(page, "No, never deploy.")
    line.hush()
    send(page)
    page.locator("article[data-state=sending]").wait_for()
    answered(hub, asked, "Bo", "Yes, deploy.")
    assert said(answer) == ["Yes, deploy."]
    for number in range(110):
        report(hub, f"Step {number} is done.")
    article = page.locator("article[data-state=answered]", has_text="Deploy now?")
    article.get_by_text("Yes, deploy.").wait_for()
    field = page.locator("footer textarea")
    page.wait_for_function("(field) => field.value === 'No, never deploy.'", arg=field.element_handle())


def test_words_come_back_where_the_hub_says_that_nobody_waits_before_it_says_who_answered(
    open_page: OpenPage, agent: Agent, hub: str
) -> None:
    asked: list[str] = []

    def pass_on(route: "WebSocketRoute") -> None:
        server = route.connect_to_server()

        def from_page(data: str | bytes) -> None:
            assert isinstance(data, bytes)
            if wire.decoded(proto.WebsocketMessage, data).Cmd == "AskQuestionReply":
                answered(hub, asked[0], "Bo", "Yes, deploy.")
            server.send(data)

        def from_hub(data: str | bytes) -> None:
            assert isinstance(data, bytes)
            if wire.decoded(proto.WebsocketMessage, data).Cmd == "AskQuestionReplyNotification":
                nobody = proto.CheckMessageValidityResponse(validity={asked[0]: False})
                frame = proto.WebsocketMessage(Cmd="CheckMessageValidity", CheckMessageValidityResponse=nobody)
                route.send(frame.SerializeToString())
            route.send(data)

        route.on_message(from_page)
        server.on_message(from_hub)

    answer = agent.ask("Deploy now?")
    page = open_page("#/questions")
    page.get_by_text("Deploy now?").first.wait_for()
    page.route_web_socket("**/ws", pass_on)
    page.reload()
    agent.talk(page)
    asked.append(page.locator("article[data-item]").first.get_attribute("data-item") or "")
    fill(page, "No, never deploy.")
    send(page)
    assert said(answer) == ["Yes, deploy."]
    page.locator("article[data-state=answered]").get_by_text("Yes, deploy.").wait_for()
    field = page.locator("footer textarea")
    page.wait_for_function("(field) => field.value === 'No, never deploy.'", arg=field.element_handle())


def test_a_question_is_noticed_also_where_the_history_of_it_comes_first(open_page: OpenPage, agent: Agent) -> None:
    def pass_on(route: "WebSocketRoute") -> None:
        hub, asked, told = route.connect_to_server(), list[bytes](), list[str]()

        def heard(data: str | bytes) -> None:
            assert isinstance(data, bytes)
            frame: Any = wire.decoded(proto.WebsocketMessage, data)
            told.append(frame.Cmd)
            if frame.Cmd == "AskQuestion":
                asked.append(data)
            else:
                route.send(data)
            while asked and "GetHistory" in told:
                route.send(asked.pop())

        hub.on_message(heard)

    chosen = """
        Notification.permission = "granted";
        if (location.protocol === "http:") localStorage.setItem("nanobot-transcript.notify", "on");
    """
    page = open_page("#/system", script=STUBS + chosen)
    agent.ask("Deploy now?", wait=0)
    page.route_web_socket("**/ws", pass_on)
    page.reload()
    page.wait_for_function("(name) => heard.notices.filter((each) => each.title === name).length === 1", arg=agent.name)


def test_a_history_that_was_read_before_an_answer_and_comes_after_it_opens_no_question_again(
    open_page: OpenPage, agent: Agent, hub: str
) -> None:
    asked: list[str] = []
    late: list[bool] = []

    def pass_on(route: "WebSocketRoute") -> None:
        server, history = route.connect_to_server(), list[bytes]()

        def from_hub(data: str | bytes) -> None:
            assert isinstance(data, bytes)
            cmd = wire.decoded(proto.WebsocketMessage, data).Cmd
            if cmd == "GetHistory" and not history:
                history.append(data)
                answered(hub, asked[0], "Bo", "Yes, deploy.")
                return
            route.send(data)
            if cmd == "AskQuestionReplyNotification":
                route.send(history[0])
                late.append(True)

        server.on_message(from_hub)

    answer = agent.ask("Deploy now?")
    page = agent.talk(open_page("#/questions"))
    asked.append(page.locator("article[data-item]").first.get_attribute("data-item") or "")
    page.route_web_socket("**/ws", pass_on)
    page.reload()
    page.locator("article[data-item]").first.wait_for()
    until(page, lambda: late)
    expect(page.locator("article[data-state=answered]").get_by_text("Yes, deploy.")).to_have_count(1)
    assert page.locator("article[data-state=waiting]").count() == 0
    assert said(answer) == ["Yes, deploy."]
    page.get_by_role("textbox", name=f"Send {agent.name} a note").wait_for()


def test_what_is_written_to_an_agent_survives_a_broken_line(open_page: OpenPage, agent: Agent, line: Line) -> None:
    first = agent.ask("Hello?")
    page = agent.talk(open_page("#/questions", base=line.address))
    fill(page, "Hello.")
    send(page)
    assert said(first) == ["Hello."]
    everything = LONG
    page.get_by_role("textbox", name=f"Send {agent.name} a note").fill(everything)
    line.cut_after(50_000)
    page.get_by_role("button", name="Send").click()
    line.wait_cut()
    line.mend()
    page.get_by_text("waiting for the agent").wait_for()
    expect(page.get_by_text("waiting for the agent")).to_have_count(1)
    second = agent.ask("And?")
    fill(page, "Go on.")
    send(page)
    assert [text.strip().partition(": ")[2] for text in said(second)[1:]] == [everything.strip()]


def test_what_is_written_to_an_agent_on_a_silent_line_comes_through_once(
    open_page: OpenPage, agent: Agent, line: Line
) -> None:
    first = agent.ask("Hello?")
    page = agent.talk(open_page("#/questions", base=line.address))
    fill(page, "Hello.")
    send(page)
    assert said(first) == ["Hello."]
    page.locator("article[data-state=answered]").wait_for()
    page.get_by_role("textbox", name=f"Send {agent.name} a note").fill("Mind the gap.")
    line.hush()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("on its way").wait_for()
    page.get_by_text("waiting for the agent").wait_for()
    second = agent.ask("And?")
    fill(page, "Go on.")
    send(page)
    assert [text.strip().partition(": ")[2] for text in said(second)[1:]] == ["Mind the gap."]


def test_a_group_whose_news_break_off_shows_each_message_once_when_it_is_back(
    open_page: OpenPage, home: WebHome, line: Line
) -> None:
    page = open_page(base=line.address)
    log = page.get_by_role("log")
    log.get_by_text("I can, it takes four minutes.").first.wait_for()
    page.locator("[data-connection=live]").first.wait_for()
    line.cut()
    page.locator("[data-connection=live]").first.wait_for(state="detached")
    home.say("on_ada", "Said while the line was broken", "om_away")
    line.mend()
    page.locator("[data-connection=live]").first.wait_for()
    log.get_by_text("Said while the line was broken").wait_for()
    expect(log.get_by_text("Said while the line was broken")).to_have_count(1)


def test_who_answers_second_is_told_who_was_first(open_page: OpenPage, agent: Agent, line: Line) -> None:
    answer = agent.ask("Red or blue?")
    first = agent.talk(open_page("#/questions"))
    second = agent.talk(open_page("#/questions", base=line.address))
    call_me(first, "Ada")
    call_me(second, "Bo")
    fill(first, "Red.")
    fill(second, "Blue.")
    line.hold()  # so that Bo's page does not know of Ada's answer yet
    send(first)
    assert said(answer) == ["Red."]
    send(second)
    line.mend()
    second.get_by_text("answered by Ada").wait_for()
    second.get_by_role("log").get_by_text("Red.").wait_for()
    assert second.get_by_role("log").get_by_text("Blue.").count() == 0
    expect(first.get_by_text("answered by Ada")).to_have_count(1)
    second.reload()
    second.get_by_text("answered by Ada").wait_for()


def test_who_refuses_is_named_with_their_words(open_page: OpenPage, agent: Agent, hub: str) -> None:
    answer = agent.ask("Deploy on Friday?", id=f"{agent.name} 1")
    page = agent.talk(open_page("#/questions"))
    contents = [{"type": 1, "text": {"type": "text", "text": "Ask operations."}}]
    reply = {"ID": f"{agent.name} 1", "IsError": True, "Meta": {"nickname": "Bo"}, "contents": contents}
    connect(hub, "SrvAgentAssistReply/AskQuestionReply", reply)
    page.get_by_text("refused by Bo").wait_for()
    page.get_by_role("log").get_by_text("Ask operations.").wait_for()
    page.reload()
    page.get_by_text("refused by Bo").wait_for()
    assert said(answer) == ["Ask operations."]


def test_who_gives_no_name_answers_under_the_one_that_the_field_shows(open_page: OpenPage, agent: Agent) -> None:
    agent.ask("Deploy on Friday?")
    page = agent.talk(open_page("#/questions"))
    field = page.get_by_label("Your name")
    expect(field).to_have_attribute("placeholder", re.compile("^User_[0-9a-f]{8}$"))
    name = field.get_attribute("placeholder")
    fill(page, "No.")
    send(page)
    page.get_by_text(f"answered by {name}").wait_for()
    page.reload()
    page.get_by_text(f"answered by {name}").wait_for()
