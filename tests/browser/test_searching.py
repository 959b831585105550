"""What was found is reached, walked through and left with the keys that the page tells of."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from browser.expecting import expect
from browser.people import connect
from browser.test_pages import GROUP, THREAD
from browser.windows import OpenPage
from support.web_home import WebHome

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

HARBOURS = ("north", "south", "west")


def test_hits_of_a_group_are_walked_with_the_keys(open_page: OpenPage, home: WebHome) -> None:
    for name in HARBOURS:
        home.say("on_ada", f"The harbour in the {name}", f"om_{name}")
    page = _searched(open_page(GROUP), "harbour")
    _walk(page)
    page.wait_for_function("() => document.querySelector('#m-om_north') !== null")
    page.keyboard.press("/")
    page.keyboard.type("nowhere to be found")  # what was there is replaced
    page.get_by_text("Nothing found").wait_for()


def test_hits_of_the_questions_are_walked_with_the_keys(serve: Callable[..., str], open_page: OpenPage) -> None:
    hub = serve()
    for name in HARBOURS:
        about = {"Question": f"Which harbour in the {name}?", "AgentName": name, "ProjectDirectory": "/srv/shop"}
        body = {"ID": name, "UserToken": "local", "Wait": 0, "Fetched": True, "Request": about}
        connect(hub, "SrvAgentAssist/AskQuestion", body)
    _walk(_searched(open_page("#/questions", base=hub), "harbour"))


def test_the_letter_that_was_found_and_opened_is_marked(open_page: OpenPage) -> None:
    page = _searched(open_page(THREAD), "migration")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('[aria-current=true][data-row]') === document.querySelector('[data-row]')"
    )


def test_the_first_hit_gets_no_focus_when_somebody_writes_on(open_page: OpenPage) -> None:
    page = open_page(GROUP)
    held: list[Route] = []
    holds = True

    def hold(route: "Route") -> None:
        if holds:
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/groups/search*", hold)
    with page.expect_request("**/api/groups/search*"):
        page.get_by_role("searchbox").fill("migr")
        page.keyboard.press("Enter")
    page.keyboard.type("a")  # before the hits are there
    holds = False
    for each in held:
        each.continue_()
    page.locator("a[data-row] mark").first.wait_for()
    assert page.evaluate("document.activeElement.type") == "search"


def _searched(page: "Page", word: str) -> "Page":
    """A page on which somebody typed a word and pressed Enter at once."""
    page.locator("a[data-row]").first.wait_for()
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.matches('[data-hits] [data-row]')")
    assert _at(page) == 0
    return page


def _walk(page: "Page") -> None:
    """Down and up through the hits, into the field and out of it again: they stay, and what is open is marked."""
    for key, place in (("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        page.wait_for_function(f"() => document.querySelectorAll('[data-row]')[{place}].ariaCurrent === 'true'")
        assert _at(page) == place
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement === document.body")
    expect(page.get_by_role("searchbox")).to_have_value("harbour")
    page.keyboard.press("j")
    page.wait_for_function("() => document.querySelectorAll('[data-row]')[2].ariaCurrent === 'true'")
    expect(page.locator("[data-hits] [data-row]")).to_have_count(len(HARBOURS))


def _at(page: "Page") -> int:
    """The place of the focus in the list."""
    return page.evaluate("[...document.querySelectorAll('[data-row]')].indexOf(document.activeElement)")
