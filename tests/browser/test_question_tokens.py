"""Somebody whose token stands in ``assistant.tokens``, while the hub has tokens of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from browser.people import asked, begun, fill, send, talk
from browser.windows import BROKEN_LINE, OpenPage
from support.line import Line
from support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROGRAM, MINE, ADA = "token-of-codex", "token-of-mine", "token-of-ada"
TOKENS = {
    "hub": {"tokens": {"codex": PROGRAM}, "page_token": MINE},
    "assistant": {"tokens": {"ada": ADA, "bo": "token-of-bo"}},
}
LOCKED = "This hub requires a token"

Ask = Callable[[str, str], "Future[list[str]]"]


@pytest.fixture
def guarded(serve: Callable[..., str]) -> str:
    """The address of a hub with both kinds of tokens."""
    return serve(**TOKENS)


@pytest.fixture
def ask(guarded: str) -> Iterator[Ask]:
    """``ask(token, question)``: an agent asks, and is told the answer."""
    with ThreadPoolExecutor(4) as calls:
        yield lambda token, question: calls.submit(asked, guarded, token, question)


def enter(page: "Page", token: str) -> None:
    page.get_by_label("Token", exact=True).fill(token)
    page.get_by_role("button", name="Enter").click()


def pages(page: "Page") -> list[str]:
    page.get_by_role("searchbox", name="Search questions").wait_for()
    return [each.partition("\n")[0] for each in page.get_by_role("navigation").get_by_role("link").all_inner_texts()]


def conversation(page: "Page") -> "Page":
    return talk(page, "BlueLake")


@pytest.mark.parametrize("place", [f"?token={ADA}", f"#/?token={ADA}", f"?token={ADA}#/questions"])
def test_who_has_a_token_of_the_questions_answers_them_and_sees_nothing_else(
    guarded: str, open_page: OpenPage, ask: Ask, place: str
) -> None:
    hers, mine = ask(ADA, "Deploy the shop?"), ask(PROGRAM, "Pay the bill?")
    page = open_page(place, base=guarded)
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url.removeprefix(guarded)))
    assert pages(page) == ["Questions"]
    assert page.url.startswith(f"{guarded}/#/questions")
    page.locator("[data-connection=live]").first.wait_for()
    conversation(page).get_by_text("Deploy the shop?").last.wait_for()
    assert page.get_by_text("Pay the bill?").count() == 0
    assert "Pay the bill?" not in page.content()
    fill(page, "After nine.")
    send(page)
    assert hers.result(PATIENCE) == ["After nine."]
    page.reload()
    assert pages(page) == ["Questions"]
    conversation(page)
    page.goto(f"{guarded}/#/groups")
    page.get_by_text("This token opens only the Questions page.").wait_for()
    assert {each for each in calls if "/api/" in each} == {"/api/about"}
    mine_too = open_page(f"?token={MINE}", base=guarded)
    fill(conversation(mine_too), "Paid.")
    send(mine_too)
    assert mine.result(PATIENCE) == ["Paid."]
    assert mine_too.get_by_text("After nine.").count() == 0


def test_the_page_comes_back_after_a_break_and_says_how_it_is_connected(
    guarded: str, open_page: OpenPage, ask: Ask
) -> None:
    open_page.expected = BROKEN_LINE
    with Line(guarded) as line:
        page = begun(open_page(f"?token={ADA}", base=line.address))
        line.cut()
        page.locator("[data-connection=offline]").first.wait_for()
        answer = ask(ADA, "Still there?")
        line.mend()
        page.locator("[data-connection=live]").first.wait_for()
        fill(conversation(page), "Yes.")
        send(page)
        assert answer.result(PATIENCE) == ["Yes."]


def test_one_field_takes_either_kind_of_token_and_refuses_others(guarded: str, open_page: OpenPage, ask: Ask) -> None:
    open_page.expected = ("401",)  # the browser itself says that it was refused
    question = ask(ADA, "Deploy the shop?")
    page = open_page("#/questions", base=guarded)
    page.get_by_text(LOCKED).wait_for()
    assert page.get_by_role("alert").count() == 0
    enter(page, "wrong-token")
    page.get_by_role("alert").get_by_text("The hub does not know this token.").wait_for()
    enter(page, ADA)
    assert pages(page) == ["Questions"]
    conversation(page)
    page.get_by_role("textbox", name="Your answer").wait_for()
    page.get_by_role("button", name="Change").click()
    enter(page, MINE)
    page.get_by_text("Using token …mine").wait_for()
    assert {"Groups", "Questions", "Agent Mail", "System"} <= set(pages(page))
    page.locator("[data-connection=live]").first.wait_for()
    assert page.get_by_text("Deploy the shop?").count() == 0
    page.get_by_role("button", name="Change").click()
    enter(page, ADA)
    page.get_by_text("Using token …-ada").wait_for()
    assert pages(page) == ["Questions"]
    fill(conversation(page), "Yes.")
    send(page)
    assert question.result(PATIENCE) == ["Yes."]


@pytest.mark.parametrize("token", ["token-of-qa", PROGRAM])
def test_a_token_of_a_program_opens_nothing_and_makes_room_for_another(
    serve: Callable[..., str], open_page: OpenPage, token: str
) -> None:
    open_page.expected = ("403",)  # the browser itself says that it was refused
    hub = serve(**TOKENS, filebox={"tokens": {"qa_agent": "token-of-qa"}})
    page = open_page(f"?token={token}", base=hub)
    page.get_by_role("alert").get_by_text("This token is for programs").wait_for()
    enter(page, ADA)
    assert pages(page) == ["Questions"]


@pytest.mark.parametrize("phone", [False, True])
def test_a_token_that_was_taken_out_of_the_settings_is_said_to_be_unknown(
    guarded: str, open_page: OpenPage, phone: bool
) -> None:
    page = open_page(f"?token={ADA}", base=guarded, phone=phone)
    live = page.locator("[data-connection=live]")
    live.first.wait_for(state="attached")
    about = page.request.get(f"{guarded}/api/about", headers={"Authorization": f"Bearer {ADA}"}).body()
    page.route("**/api/about", lambda route: route.fulfill(body=about, content_type="application/json"), times=1)
    page.evaluate("sessionStorage.setItem('nanobot-transcript.token', 'token-of-before')")
    page.goto(f"{guarded}/#/questions/%5B%22%22%2C%22Nobody%22%5D")
    page.reload()
    page.get_by_role("alert").get_by_text("The hub does not know this token.").wait_for()
    enter(page, ADA)
    live.first.wait_for(state="attached")


def test_a_token_that_is_taken_out_while_the_page_waits_for_news_is_said_to_be_unknown(
    guarded: str, open_page: OpenPage
) -> None:
    open_page.expected = ("401",)  # the browser itself says that it was refused
    page = open_page()
    page.route(
        "**/api/events",
        lambda route: route.continue_(headers=route.request.headers | {"authorization": "Bearer token-of-before"}),
    )
    page.goto(f"{guarded}/?token={MINE}#/groups")
    page.get_by_role("alert").get_by_text("The hub does not know this token.").wait_for()


def test_a_browser_that_keeps_nothing_takes_a_token_all_the_same(guarded: str, open_page: OpenPage) -> None:
    open_page.expected = ("401",)  # the browser itself says that it was refused
    nothing_kept = "Object.defineProperty(window, 'sessionStorage', {get() { throw new DOMException('no') }})"
    page = open_page("#/questions", base=guarded, script=nothing_kept)
    enter(page, ADA)
    assert pages(page) == ["Questions"]
    assert "token" not in page.url
