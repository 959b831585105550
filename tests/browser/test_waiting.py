"""How what waits is found and answered: by one click, by a key, one question after the other."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from browser.conftest import needs_axe
from browser.expecting import drawn, expect, until
from browser.people import Agent, answered, connect, fill, said, send, talk
from browser.test_pages import TOO_WIDE, Picture, faults
from browser.windows import BROKEN_LINE, OpenPage
from support.line import Line

from transcript_mcp.assistant.protocol import proto, wire

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocketRoute

WORDS = {
    "en-US": {
        "waits": "waiting for you",
        "more": "2 more wait",
        "one more": "1 more waits",
        "undo": "Undo",
        "answer": "Answer",
        "part": "Waiting for you (3)",
        "answered": "answered by",
        "back": "Back",
    },
    "zh-CN": {
        "waits": "等你回答",
        "more": "还有 2 个待回答",
        "one more": "还有 1 个待回答",
        "undo": "撤销",
        "answer": "回答",
        "part": "等你回答（3）",
        "answered": "已回答",
        "back": "返回",
    },
}
everywhere = pytest.mark.parametrize(("language", "phone"), [("en-US", False), ("zh-CN", True)])
at_a_desk = pytest.mark.parametrize(
    ("language", "phone"), [("en-US", False), pytest.param("zh-CN", True, marks=pytest.mark.soak)]
)
YES_NO = ["Yes", "No"]
A_MOMENT = 5000
"""In milliseconds: more than the moment in which an answer can be taken back."""

Agents = Callable[[], Agent]
Show = Callable[..., "Page"]


@pytest.fixture
def desk(serve: Callable[..., str]) -> str:
    """The address of a hub at which nothing was asked before."""
    return serve()


@pytest.fixture
def show(desk: str, open_page: OpenPage) -> Show:
    """Opens pages of that hub."""
    return lambda place="#/questions", base=desk, **options: open_page(place, base=base, **options)


@pytest.fixture
def agents(desk: str) -> Iterator[Agents]:
    """Gives another agent at that hub with each call."""
    there = list[Agent]()
    with ThreadPoolExecutor(8) as calls:

        def come() -> Agent:
            there.append(Agent(desk, calls))
            return there[-1]

        yield come
        for each in there:
            each.leave()


@pytest.fixture
def agent(agents: Agents) -> Agent:
    """One of them."""
    return agents()


def card(page: "Page", text: str) -> "Locator":
    return page.get_by_role("log").locator("article", has_text=text)


def at_hand(page: "Page", text: str) -> "Locator":
    """The card of the question that is open, once it is this one."""
    found = page.locator("article[data-aimed]", has_text=text)
    found.wait_for()
    return found


def press(page: "Page", text: str, key: str) -> None:
    """Presses a key for this question, once it is open and takes clicks and keys."""
    expect(at_hand(page, text).locator("[aria-disabled]")).to_have_count(0)
    page.keyboard.press(key)


def option(page: "Page", text: str, label: str) -> "Locator":
    return card(page, text).get_by_role("button", name=label, exact=True)


def chosen(page: "Page", text: str) -> "Locator":
    """What is marked in a card as what was chosen."""
    return card(page, text).locator("[data-chosen]")


def told(page: "Page", text: str) -> None:
    page.get_by_role("status").get_by_text(text, exact=True).wait_for()


def asked_in_order(page: "Page", agents: Agents, questions: list[str], **more: Any) -> list[Agent]:
    """Agents that have asked these, one after the other, as the page knows."""
    there = []
    for question in questions:
        there.append(agents())
        there[-1].ask(question, wait=0, **more)
        page.locator("a[data-row]", has_text=question).wait_for(state="attached")
    return there


@everywhere
def test_one_click_answers_and_the_next_one_that_waits_opens(
    show: Show, agents: Agents, picture: Picture, language: str, phone: bool
) -> None:
    words = WORDS[language]
    page = show(phone=phone, language=language)
    answers = {}
    for question in ("Deploy the shop?", "Delete the backup?", "Rename the branch?"):
        answers[question] = agents().ask(question, options=["Yes", "Tomorrow"])
        page.locator("a[data-row]", has_text=question).wait_for(state="attached")
    at_hand(page, "Deploy the shop?")  # it was open before the others came
    told(page, words["more"])
    picture(page, f"waiting-{language[:2]}-{'phone' if phone else 'wide'}")
    option(page, "Deploy the shop?", "Tomorrow").click()
    at_hand(page, "Delete the backup?")
    told(page, words["one more"])
    picture(page, f"waiting-next-{language[:2]}-{'phone' if phone else 'wide'}")
    option(page, "Delete the backup?", "Yes").click()
    assert said(answers["Deploy the shop?"]) == ["Tomorrow"]
    at_hand(page, "Rename the branch?")
    expect(page.get_by_role("status").get_by_text(words["one more"])).to_have_count(0)
    option(page, "Rename the branch?", "Yes").click()
    assert said(answers["Rename the branch?"]) == ["Yes"]
    assert said(answers["Delete the backup?"]) == ["Yes"]
    card(page, "Rename the branch?").get_by_text(words["answered"]).wait_for()


@at_a_desk
def test_one_key_answers_and_the_next_one_that_waits_opens(
    show: Show, agents: Agents, language: str, phone: bool
) -> None:
    words = WORDS[language]
    page = show(phone=phone, language=language)
    first, second = agents(), agents()
    answer = first.ask("Deploy the shop?", options=["Yes", "Tomorrow", "Never"])
    at_hand(page, "Deploy the shop?")
    other = second.ask("Delete the backup?", options=YES_NO)
    told(page, words["one more"])
    press(page, "Deploy the shop?", "2")
    press(page, "Delete the backup?", "2")
    assert said(answer) == ["Tomorrow"]
    assert said(other) == ["No"]


def test_what_was_chosen_is_marked_afterwards_also_after_a_reload(show: Show, agent: Agent, picture: Picture) -> None:
    answer = agent.ask("Deploy now?", options=["Yes", "Yes, tomorrow", "No"])
    page = show()
    option(page, "Deploy now?", "Yes, tomorrow").click()
    expect(chosen(page, "Deploy now?")).to_have_text(["Chosen: Yes, tomorrow"])
    assert said(answer) == ["Yes, tomorrow"]
    page.locator("article[data-state=answered]").wait_for()
    picture(page, "answered")
    page.reload()
    expect(chosen(page, "Deploy now?")).to_have_text(["Chosen: Yes, tomorrow"])
    expect(page.get_by_role("log").get_by_text("Yes, tomorrow")).to_have_count(1)


def test_the_marks_are_those_of_each_choice_and_words_stand_beside_them(show: Show, agent: Agent, desk: str) -> None:
    questions = [
        {"question": "Which colour?", "header": "Colour", "options": [{"label": "Red"}, {"label": "Blue"}]},
        {"question": "Which sizes?", "header": "", "options": [{"label": "S, M"}, {"label": "L"}, {"label": "XL"}]},
    ]
    answers = [
        ("Colour: Blue\n\nWhich sizes?: S, M, XL\n\nAs soon as it can be.", ["Blue", "S, M", "XL"], True),
        ("Blue", [], False),
        ("Colour: Green\n\nWhich sizes?: XXL", [], False),
    ]
    for number, (words, _, _) in enumerate(answers):
        asked = [{**each, "custom": True, "multiple": each["header"] == ""} for each in questions]
        request = {"Question": f"Number {number}?", "AgentName": agent.name, "Questions": asked}
        about = {"ID": f"{agent.name}-{number}", "UserToken": "local", "Wait": 0, "Request": request}
        connect(desk, "SrvAgentAssist/AskQuestion", about)
        answered(desk, f"{agent.name}-{number}", "Bo", words)
    page = talk(show(), agent.name)
    for number, (words, marked, rest) in enumerate(answers):
        expect(chosen(page, f"Number {number}?")).to_have_text([f"Chosen: {each}" for each in marked])
        shown = "As soon as it can be." if rest else words.split("\n")[0]
        expect(card(page, f"Number {number}?").locator(".bg-accent .markdown")).to_contain_text(shown)


def test_the_options_that_a_group_has_chosen_are_marked_too(show: Show, agent: Agent, desk: str) -> None:
    agent.ask("Where to?", options=["Test", "Staging", "Live"], multiple=True, id=f"{agent.name} 1", wait=0).result()
    contents = [{"type": 1, "text": {"type": "text", "text": each}} for each in ("Test", "Live")]
    connect(desk, "SrvAgentAssistReply/AskQuestionReply", {"ID": f"{agent.name} 1", "contents": contents})
    page = talk(show(), agent.name)
    expect(chosen(page, "Where to?")).to_have_text(["Chosen: Test", "Chosen: Live"])


@at_a_desk
def test_what_waits_looks_different_from_what_was_answered_and_says_so(
    show: Show, agent: Agent, language: str, phone: bool
) -> None:
    words = WORDS[language]
    answer = agent.ask("Deploy now?", options=YES_NO)
    page = show(phone=phone, language=language)
    question = at_hand(page, "Deploy now?")
    badge = question.get_by_text(words["waits"], exact=True)
    badge.wait_for()
    look = """card => {
        const { borderLeftWidth, borderLeftColor, boxShadow } = getComputedStyle(card);
        return [borderLeftWidth, borderLeftColor, boxShadow];
    }"""
    shown = question.locator("section")
    before = shown.evaluate(look)
    assert question.get_by_role("button", name="Yes").is_visible()
    option(page, "Deploy now?", "Yes").click()
    assert said(answer) == ["Yes"]
    page.locator("article[data-state=answered]").wait_for()
    expect(badge).to_have_count(0)
    expect(question.get_by_role("button")).to_have_count(0)
    after = card(page, "Deploy now?").locator("section").evaluate(look)
    assert all(one != other for one, other in zip(before, after, strict=True))


@at_a_desk
def test_what_waits_comes_first_in_the_list_and_the_oldest_on_top(
    show: Show, agents: Agents, desk: str, picture: Picture, language: str, phone: bool
) -> None:
    report = {"Summary": "All is built.", "AgentName": "Reporter", "NotifyOnly": True}
    page = show(phone=phone, language=language)
    first, second, _ = asked_in_order(page, agents, ["Deploy first?", "Deploy second?", "Deploy third?"])
    first.ask("Deploy fourth?", wait=0)
    page.locator("a[data-row]", has_text="fourth").wait_for(state="attached")
    connect(desk, "SrvAgentAssist/WorkReport", {"ID": second.name, "UserToken": "local", "Request": report})
    page.locator("a[data-row]", has_text="All is built.").wait_for(state="attached")
    if phone:
        page.get_by_role("link", name=WORDS[language]["back"]).click()
    rows = page.locator("a[data-row]").filter(has_text="Deploy").or_(page.locator("a[data-row]", has_text="built."))
    for place, text in enumerate(["first?", "second?", "third?", "fourth?", "built."]):
        expect(rows.nth(place)).to_contain_text(text)
    listed = page.get_by_role("list", name=WORDS[language]["part"].replace("3", "4")).get_by_role("link")
    expect(listed).to_have_count(4)
    picture(page, f"waiting-list-{language[:2]}-{'phone' if phone else 'wide'}")
    page.locator("a[data-row]", has_text="third").click()
    at_hand(page, "Deploy third?")


@pytest.mark.parametrize("phone", [False, True])
def test_the_newest_opens_by_itself_whoever_comes_from_another_page(show: Show, agents: Agents, phone: bool) -> None:
    page = show("#/system", phone=phone)
    for number, question in enumerate(["Deploy first?", "Deploy second?"], 1):
        agents().ask(question, wait=0)
        page.wait_for_function(f"() => document.title.startsWith('({number}) ')")
    page.locator("nav a[href='#/questions']").click()
    at_hand(page, "Deploy second?")
    told(page, "1 more waits")
    page.get_by_role("link", name="1 more waits").click()
    at_hand(page, "Deploy first?")


def test_back_to_the_list_stays_there_until_something_new_is_asked(show: Show, agents: Agents) -> None:
    page = show(phone=True)
    asked_in_order(page, agents, ["Deploy first?"])
    at_hand(page, "Deploy first?")
    page.get_by_role("link", name="Back").click()
    page.get_by_role("searchbox").wait_for()
    drawn(page)
    assert page.url.endswith("#/questions")
    asked_in_order(page, agents, ["Deploy second?"])
    at_hand(page, "Deploy second?")


def test_what_comes_takes_nobody_away_from_what_they_read_or_write(show: Show, agents: Agents) -> None:
    old, new = agents(), agents()
    old.ask("Deploy first?", wait=0).result()
    page = talk(show(), old.name)
    here = page.url
    asked_in_order(page, agents, ["Deploy second?"])  # one is open that waits
    fill(page, "Yes.")
    send(page)
    at_hand(page, "Deploy second?")
    page.get_by_role("textbox", name="Your answer").fill("Half of a sen")
    asked_in_order(page, agents, ["Deploy third?"])
    assert page.get_by_role("textbox", name="Your answer").input_value() == "Half of a sen"
    talk(page, old.name)  # somebody has chosen to read this
    page.locator("article[data-state=answered]").wait_for()
    page.get_by_role("searchbox").fill("Deploy")
    new.ask("Deploy fourth?", wait=0)
    page.wait_for_function("() => document.title.startsWith('(3) ')")
    drawn(page)
    assert page.url.partition("#")[2].split("/")[2] == here.partition("#")[2].split("/")[2]


def test_after_the_last_answer_what_comes_next_opens_by_itself(show: Show, agents: Agents) -> None:
    page = show()
    (agent,) = asked_in_order(page, agents, ["Deploy first?"], options=YES_NO)
    option(page, "Deploy first?", "Yes").click()
    expect(page.get_by_role("log")).to_be_focused()
    asked_in_order(page, agents, ["Deploy second?"], options=YES_NO)
    at_hand(page, "Deploy second?")
    option(page, "Deploy second?", "Yes").click()
    talk(page, agent.name)  # whoever goes back to read stays there
    asked_in_order(page, agents, ["Deploy third?"])
    drawn(page)
    expect(page.get_by_role("heading", name=agent.name)).to_be_visible()


@at_a_desk
def test_a_click_on_the_wrong_option_is_taken_back(show: Show, agents: Agents, language: str, phone: bool) -> None:
    words = WORDS[language]
    page = show(phone=phone, language=language, clock=True)
    agent = agents()
    answer = agent.ask("Deploy now?", options=YES_NO)
    at_hand(page, "Deploy now?")
    agents().ask("And the shop?", options=YES_NO, wait=0)
    told(page, words["one more"])
    page.clock.run_for(A_MOMENT)  # so that what has opened by itself takes clicks
    page.clock.pause_at(time.time() + 60)
    option(page, "Deploy now?", "Yes").click()
    at_hand(page, "And the shop?")
    page.get_by_role("button", name=words["undo"]).click()
    at_hand(page, "Deploy now?")
    page.clock.run_for(A_MOMENT)
    expect(at_hand(page, "Deploy now?")).to_be_focused()
    assert not answer.done()
    expect(page.get_by_role("button", name=words["undo"])).to_have_count(0)
    option(page, "Deploy now?", "No").click()
    at_hand(page, "And the shop?")
    page.clock.run_for(A_MOMENT)
    assert said(answer) == ["No"]
    expect(page.get_by_role("button", name=words["undo"])).to_have_count(0)


def test_a_key_takes_an_answer_back_too(show: Show, agent: Agent) -> None:
    page = show(clock=True)
    answer = agent.ask("Deploy now?", options=YES_NO)
    at_hand(page, "Deploy now?")
    page.clock.run_for(A_MOMENT)
    page.clock.pause_at(time.time() + 60)
    option(page, "Deploy now?", "Yes").click()
    page.get_by_role("button", name="Undo").wait_for()
    page.keyboard.press("u")
    at_hand(page, "Deploy now?")
    page.clock.run_for(A_MOMENT)
    page.keyboard.press("u")  # there is nothing to take back
    press(page, "Deploy now?", "2")
    page.clock.run_for(A_MOMENT)
    assert said(answer) == ["No"]


@pytest.mark.parametrize("leave", ["close", "hide", "reload"])
def test_an_answer_that_could_still_be_taken_back_is_sent_when_somebody_leaves(
    show: Show, agent: Agent, leave: str
) -> None:
    page = show(clock=True)
    answer = agent.ask("Deploy now?", options=YES_NO)
    at_hand(page, "Deploy now?")
    page.clock.run_for(A_MOMENT)
    page.clock.pause_at(time.time() + 60)  # by its clock the moment never ends
    option(page, "Deploy now?", "Yes").click()
    page.get_by_role("button", name="Undo").wait_for()
    if leave == "close":
        page.close(run_before_unload=True)
    elif leave == "reload":
        page.reload()
    else:
        page.evaluate("""() => {
            Object.defineProperty(document, "hidden", { get: () => true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""")
    assert said(answer) == ["Yes"]


def test_an_answer_is_not_held_back_where_the_agent_hardly_waits_any_more(show: Show, agent: Agent) -> None:
    page = show(clock=True)
    answer = agent.ask("Deploy now?", options=YES_NO, timeout=600)
    at_hand(page, "Deploy now?")
    page.clock.run_for(A_MOMENT)
    page.clock.pause_at(time.time() + 590)
    option(page, "Deploy now?", "Yes").click()
    assert said(answer) == ["Yes"]
    assert page.get_by_role("button", name="Undo").count() == 0


def test_somebody_else_is_first_while_an_answer_can_be_taken_back(show: Show, agent: Agent, desk: str) -> None:
    page = show(clock=True)
    answer = agent.ask("Deploy now?", options=YES_NO, id=f"{agent.name} 1")
    at_hand(page, "Deploy now?")
    page.clock.run_for(A_MOMENT)
    page.clock.pause_at(time.time() + 60)
    option(page, "Deploy now?", "Yes").click()
    page.get_by_role("button", name="Undo").wait_for()
    answered(desk, f"{agent.name} 1", "Bo", "No")
    card(page, "Deploy now?").get_by_text("answered by Bo").wait_for()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    expect(chosen(page, "Deploy now?")).to_have_text(["Chosen: No"])
    page.clock.run_for(A_MOMENT)
    assert said(answer) == ["No"]


def test_a_line_that_breaks_sends_nothing_that_can_still_be_taken_back(
    desk: str, open_page: OpenPage, agent: Agent
) -> None:
    open_page.expected = BROKEN_LINE
    with Line(desk) as line:
        page = open_page("#/questions", base=line.address, clock=True)
        answer = agent.ask("Deploy now?", options=YES_NO)
        at_hand(page, "Deploy now?")
        page.clock.run_for(A_MOMENT)
        page.clock.pause_at(time.time() + 60)
        option(page, "Deploy now?", "Yes").click()
        page.get_by_role("button", name="Undo").wait_for()
        line.cut()
        page.get_by_text("Connecting …").first.wait_for()
        line.mend()
        page.clock.run_for(1000)  # in which the page tries it again
        page.get_by_text("Connecting …").first.wait_for(state="detached")
        page.get_by_role("button", name="Undo").click()
        option(page, "Deploy now?", "No").click()
        page.clock.run_for(A_MOMENT)
        assert said(answer) == ["No"]


def test_a_double_click_answers_one_question(show: Show, agents: Agents) -> None:
    page = show()
    first, second = agents(), agents()
    answer = first.ask("Deploy first?", options=YES_NO)
    at_hand(page, "Deploy first?")
    other = second.ask("Deploy second?", options=YES_NO)
    told(page, "1 more waits")
    option(page, "Deploy first?", "Yes").dblclick()
    assert said(answer) == ["Yes"]
    expect(at_hand(page, "Deploy second?")).to_have_attribute("data-state", "waiting")
    assert not other.done()


def test_keys_answer_nothing_while_somebody_types_or_holds_another_key(show: Show, agent: Agent) -> None:
    answer = agent.ask("Deploy now?", options=YES_NO)
    page = show()
    pressed = at_hand(page, "Deploy now?").locator("[aria-pressed=true]")
    for held in ("Control", "Alt", "Meta"):
        page.evaluate(
            "held => dispatchEvent(new KeyboardEvent('keydown', { key: '1', [`${held}Key`]: true, bubbles: true }))",
            "ctrl" if held == "Control" else held.lower(),
        )
    field = page.get_by_role("textbox", name="Your answer")
    field.press("1")
    field.press("Enter")
    field.press("2")
    expect(field).to_have_value("1\n2")
    page.get_by_role("searchbox").press("1")
    page.get_by_label("Your name").press("1")
    page.get_by_role("searchbox").fill("")
    page.get_by_role("log").focus()
    drawn(page)
    assert pressed.count() == 0
    assert not answer.done()
    assert "#/questions" in page.url


def test_keys_go_to_pages_only_where_nothing_waits_for_them(show: Show, agent: Agent) -> None:
    answer = agent.ask("Deploy now?", options=YES_NO)
    page = show()
    at_hand(page, "Deploy now?")
    for key in ("7", "3", "9"):  # there are no such options
        page.keyboard.press(key)
    drawn(page)
    assert "#/questions" in page.url
    press(page, "Deploy now?", "1")
    assert said(answer) == ["Yes"]
    page.locator("article[data-state=answered]").wait_for()
    page.keyboard.press("7")
    page.get_by_role("heading", name="Stores").wait_for()


@pytest.mark.parametrize("key", ["1", "Enter"])
def test_a_key_that_is_held_down_answers_once(show: Show, agents: Agents, key: str) -> None:
    page = show()
    first, second = agents(), agents()
    answer = first.ask("Deploy first?", options=YES_NO)
    expect(at_hand(page, "Deploy first?").locator("[aria-disabled]")).to_have_count(0)
    other = second.ask("Deploy second?", options=YES_NO)
    told(page, "1 more waits")
    option(page, "Deploy first?", "Yes").focus()
    page.keyboard.down(key)
    expect(at_hand(page, "Deploy second?").locator("[aria-disabled]")).to_have_count(0)
    option(page, "Deploy second?", "Yes").focus()
    page.keyboard.down(key)  # as a key that is held down does again and again
    page.keyboard.up(key)
    assert said(answer) == ["Yes"]
    drawn(page)
    assert not other.done()
    expect(at_hand(page, "Deploy second?")).to_have_attribute("data-state", "waiting")


def test_keys_choose_several_options_and_enter_sends_them(show: Show, agent: Agent) -> None:
    answer = agent.ask("Where to?", options=["Test", "Staging", "Live"], multiple=True)
    page = show()
    question = at_hand(page, "Where to?")
    expect(question.get_by_role("button", name="Answer")).to_be_disabled()
    for key in ("3", "2", "1", "2"):
        page.keyboard.press(key)
    expect(question.get_by_role("checkbox", checked=True)).to_have_count(2)
    expect(question.get_by_role("button", name="Answer")).to_be_enabled()
    page.keyboard.press("Enter")
    assert said(answer) == ["Test, Live"]
    expect(chosen(page, "Where to?")).to_have_text(["Chosen: Test", "Chosen: Live"])


def test_a_report_is_confirmed_by_its_key(show: Show, agents: Agents, desk: str) -> None:
    agent = agents()
    about = {"Summary": "All is built.", "AgentName": agent.name, "ProjectDirectory": "/srv/shop", "Timeout": 600}
    body = {"ID": agent.name, "UserToken": "local", "Wait": 0, "Fetched": True, "Request": about}
    connect(desk, "SrvAgentAssist/WorkReport", body)
    page = show()
    at_hand(page, "All is built.")
    press(page, "All is built.", "1")
    page.locator("article[data-state=answered]", has_text="All is built.").get_by_text("OK").wait_for()


def test_words_that_are_written_go_with_the_option_that_is_chosen(show: Show, agent: Agent) -> None:
    answer = agent.ask("Deploy now?", options=YES_NO)
    page = show()
    fill(page, "After nine.")
    yes = option(page, "Deploy now?", "Yes")
    yes.click()
    expect(yes).to_have_attribute("aria-pressed", "true")
    yes.click()
    expect(yes).not_to_have_attribute("aria-pressed", "true")
    yes.click()
    send(page)
    assert said(answer) == ["Yes\n\nAfter nine."]
    expect(chosen(page, "Deploy now?")).to_have_text(["Chosen: Yes"])
    card(page, "Deploy now?").get_by_text("After nine.", exact=True).wait_for()


def test_an_answer_that_was_not_sent_opens_again(show: Show, agents: Agents) -> None:
    full = [True]

    def pass_on(route: "WebSocketRoute") -> None:
        hub = route.connect_to_server()

        def heard(data: str | bytes) -> None:
            assert isinstance(data, bytes)
            if full and wire.decoded(proto.WebsocketMessage, data).Cmd == "AskQuestionReply":
                problem = proto.ErrorNotification(code="x", message="The disk is full.", cmd="AskQuestionReply")
                refused = proto.WebsocketMessage(Cmd="Error", ErrorNotification=problem)
                route.send(refused.SerializeToString())
            else:
                hub.send(data)

        route.on_message(heard)

    page = show("#/system")
    page.route_web_socket("**/ws", pass_on)
    page.reload()
    first, second = agents(), agents()
    answer = first.ask("Deploy first?")
    page.wait_for_function("() => document.title.startsWith('(1) ')")
    second.ask("Deploy second?", wait=0)
    page.wait_for_function("() => document.title.startsWith('(2) ')")
    talk(page.locator("nav a[href='#/questions']").click() or page, first.name)
    fill(page, "Yes.")
    send(page)
    page.get_by_role("alert").get_by_text("Not sent: The disk is full.").wait_for()
    at_hand(page, "Deploy first?")
    full.clear()
    send(page)
    assert said(answer) == ["Yes."]


def test_who_hears_the_page_is_told_what_waits_and_what_each_key_does(show: Show, agents: Agents) -> None:
    page = show()
    first, second = agents(), agents()
    first.ask("Deploy **first**?", options=YES_NO, wait=0)
    at_hand(page, "Deploy first?")
    second.ask("Deploy second?", options=["Red", "Blue"], wait=0)
    told(page, "1 more waits")
    page.get_by_role("article", name="question: Deploy first?").wait_for()
    expect(option(page, "Deploy first?", "No")).to_have_attribute("aria-keyshortcuts", "2")
    page.get_by_role("link", name=first.name).focus()
    page.keyboard.press("Enter")
    expect(at_hand(page, "Deploy first?")).to_be_focused()
    page.keyboard.press("Tab")
    expect(option(page, "Deploy first?", "Yes")).to_be_focused()
    page.keyboard.press("Space")
    expect(at_hand(page, "Deploy second?")).to_be_focused()
    page.get_by_role("status").get_by_text(f"Your answer to {first.name}: Yes").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Enter sends several").wait_for()


@needs_axe
@everywhere
def test_cards_that_wait_and_were_answered_are_accessible_and_fit(
    show: Show, agent: Agent, picture: Picture, language: str, phone: bool
) -> None:
    agent.ask("Which branch?", options=["main", "dev"], id=f"{agent.name} 1", wait=0).result()
    page = show(phone=phone, language=language, dark=language == "zh-CN")
    option(page, "Which branch?", "dev").click()
    agent.ask("Where to?", options=["Test", "Staging"], multiple=True, wait=0)
    agent.ask("Deploy it now, or rather later?", options=["Now", "a very long option of many words " * 4], wait=0)
    page.locator("a[data-row]").nth(1).wait_for(state="attached")
    page.locator("article[data-state=answered]").wait_for()
    page.keyboard.press("1")
    drawn(page)
    until(page, lambda: page.locator("[aria-disabled][data-option]").count() == 0)
    assert faults(page, "questions") == []
    assert page.evaluate(TOO_WIDE) == []
    picture(page, f"questions-cards-{language[:2]}-{'phone' if phone else 'wide'}")
