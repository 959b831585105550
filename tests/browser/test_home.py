"""Where the bare address opens: where something waits, else where something is, else at what can be started."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser.conftest import needs_axe
from browser.expecting import expect
from browser.people import connect
from browser.test_answering import STUBS
from browser.test_pages import TOO_WIDE, Picture, faults
from browser.windows import OpenPage
from support.web_home import CHAT

from nanobot_transcript import GroupTranscriptStore

if TYPE_CHECKING:
    from playwright.sync_api import Page

Serve = Callable[..., str]
LANGUAGES = pytest.mark.parametrize(
    ("language", "phone"), [("en-US", False), pytest.param("zh-CN", True, marks=pytest.mark.soak)]
)
COMMANDS = [
    "nanobot-transcript mcp-config claude-code --servers assistant --write",
    'pip install ".[nanobot]"',
    "nanobot-transcript run -c command.yaml",
    "make demo",
    "nanobot-transcript mcp-config claude-code --servers mail --write",
]


@pytest.fixture
def empty(serve: Serve, tmp_path: Path) -> str:
    """A hub with nothing in its stores."""
    return serve(**nothing(tmp_path))


def nothing(folder: Path) -> dict[str, Any]:
    """The settings of a hub over stores that are empty."""
    stores = {"store": {"dir": folder / "groups"}, "mail": {"store": folder / "mail"}}
    return stores | {"hub": {"servers": ["transcript", "mail", "io", "assistant"]}}


def ask(hub: str, question: str) -> None:
    about = {"Question": question, "AgentName": "BlueLake", "ProjectDirectory": "/srv/shop", "Timeout": 600}
    body = {"ID": question, "UserToken": "local", "Wait": 0, "Fetched": True, "Request": about}
    connect(hub, "SrvAgentAssist/AskQuestion", body)


def answer(hub: str, question: str) -> None:
    said = {"type": 1, "text": {"type": "text", "text": "Yes."}}
    connect(hub, "SrvAgentAssistReply/AskQuestionReply", {"ID": question, "contents": [said]})


def place(page: "Page") -> str:
    return page.url.partition("#/")[2].split("/")[0]


@LANGUAGES
def test_the_bare_address_opens_the_question_that_waits(
    serve: Serve, open_page: OpenPage, language: str, phone: bool
) -> None:
    hub = serve()  # with groups, mail and mailboxes
    ask(hub, "Deploy first?")
    ask(hub, "Deploy second?")
    page = open_page(base=hub, phone=phone, language=language)
    page.locator("article[data-aimed]", has_text="Deploy second?").wait_for()
    assert place(page) == "questions"
    page.go_back()  # the bare address is none to come back to
    page.wait_for_url("about:blank")


@LANGUAGES
def test_the_bare_address_opens_the_groups_where_nothing_waits(
    serve: Serve, open_page: OpenPage, language: str, phone: bool
) -> None:
    hub = serve()
    ask(hub, "Deploy first?")
    answer(hub, "Deploy first?")
    page = open_page(base=hub, phone=phone, language=language)
    page.locator(f"a[data-row][href*='{CHAT.split(':')[1]}']").wait_for(state="attached")
    assert place(page) == "groups"


@needs_axe
@LANGUAGES
def test_where_there_is_nothing_it_is_said_what_can_be_started_and_with_which_command(
    empty: str, open_page: OpenPage, picture: Picture, language: str, phone: bool
) -> None:
    page = open_page(base=empty, phone=phone, language=language, dark=phone)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy, title = (
        ("Copy", "What would you like to see here?") if language == "en-US" else ("复制", "你想在这里看到什么？")
    )
    page.get_by_role("heading", name=title).wait_for()
    expect(page.locator("main code.select-all")).to_have_text(COMMANDS)
    for command in COMMANDS:
        page.get_by_role("button", name=f"{copy}: {command}", exact=True).click()
        page.wait_for_function("async text => await navigator.clipboard.readText() === text", arg=command)
    assert faults(page, "the start") == []
    assert page.evaluate(TOO_WIDE) == []
    picture(page, f"start-{language[:2]}-{'phone' if phone else 'wide'}")


def test_the_start_leads_on_as_soon_as_there_is_something(empty: str, open_page: OpenPage, tmp_path: Path) -> None:
    first = open_page(base=empty)
    second = open_page(base=empty)
    for page in (first, second):
        page.get_by_role("heading", name="What would you like to see here?").wait_for()
    ask(empty, "Deploy first?")
    first.locator("article[data-aimed]", has_text="Deploy first?").wait_for()
    second.locator("article[data-aimed]", has_text="Deploy first?").wait_for()
    answer(empty, "Deploy first?")
    third = open_page(base=empty)
    third.get_by_role("link", name="BlueLake").wait_for()
    assert place(third) == "questions"  # there is nothing else
    with GroupTranscriptStore(tmp_path / "groups") as store:
        store.append(CHAT, "user", "Hello.", "on_ada", "om_1")
    third.goto(f"{empty}/#/")
    third.get_by_role("log").get_by_text("Hello.").wait_for()
    assert place(third) == "groups"


def test_the_start_opens_a_group_that_is_recorded_while_it_is_shown(
    empty: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(base=empty)
    page.get_by_role("heading", name="What would you like to see here?").wait_for()
    page.locator("[data-connection=live]").first.wait_for()
    with GroupTranscriptStore(tmp_path / "groups") as store:
        store.append(CHAT, "user", "Hello.", "on_ada", "om_1")
        page.get_by_role("log").get_by_text("Hello.").wait_for()


def test_mail_opens_where_there_is_nothing_but_mail(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    settings = nothing(tmp_path)
    del settings["mail"]
    page = open_page(base=serve(**settings))
    page.get_by_role("link", name="Build plan for users").wait_for()
    assert place(page) == "mail"


def test_the_start_offers_only_what_the_hub_serves(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    hub = serve(**nothing(tmp_path) | {"hub": {"servers": ["assistant"]}})
    page = open_page(base=hub)
    page.get_by_role("heading", name="Answer your agents' questions").wait_for()
    expect(page.locator("main code.select-all")).to_have_text(COMMANDS[:1])


def test_the_page_opens_also_where_nobody_says_what_is_asked(serve: Serve, open_page: OpenPage) -> None:
    page = open_page("#/system", base=serve())
    page.route_web_socket("**/ws", lambda route: None)  # a line on which nothing comes
    page.goto(f"{page.url.partition('#')[0]}#/")
    page.reload()
    page.get_by_role("log").wait_for()
    assert place(page) == "groups"


@LANGUAGES
def test_notices_are_offered_when_the_first_question_comes(
    empty: str, open_page: OpenPage, picture: Picture, language: str, phone: bool
) -> None:
    offer, yes, bell = (
        ("Get a notification when an agent asks?", "Turn on", "Notifications and sound")
        if language == "en-US"
        else ("有智能体提问时通知你？", "开启", "桌面通知与提示音")
    )
    page = open_page("#/questions", base=empty, phone=phone, language=language, script=STUBS)
    page.get_by_role("button", name=bell).wait_for()
    assert page.get_by_text(offer).count() == 0
    ask(empty, "Deploy first?")
    page.get_by_text(offer).wait_for()
    picture(page, f"offer-{language[:2]}-{'phone' if phone else 'wide'}")
    page.get_by_role("complementary").get_by_role("button", name=yes).click()
    expect(page.get_by_text(offer)).to_have_count(0)
    ask(empty, "Deploy second?")
    page.wait_for_function("() => heard.notices.length === 1")
    assert page.evaluate("heard.notices[0].body") == "Deploy second?"
    page.reload()
    page.locator("article[data-aimed]").wait_for()
    assert page.get_by_text(offer).count() == 0


def test_notices_that_somebody_does_not_want_are_not_offered_again(empty: str, open_page: OpenPage) -> None:
    ask(empty, "Deploy first?")
    page = open_page("#/questions", base=empty, script=STUBS)
    page.get_by_role("button", name="Not now").click()
    expect(page.get_by_text("Get a notification")).to_have_count(0)
    page.reload()
    page.locator("article[data-aimed]").wait_for()
    assert page.get_by_text("Get a notification").count() == 0
    ask(empty, "Deploy second?")
    page.locator("a[data-row]", has_text="Deploy second?").wait_for()
    assert page.evaluate("[heard.notices.length, heard.tones]") == [0, 0]
    page.get_by_role("button", name="Notifications and sound").click()  # who wants them later
    page.locator("button[aria-pressed=true]").wait_for()
