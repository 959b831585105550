"""What a person does with the pages, in a real browser."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from browser.conftest import AXE, needs_axe
from browser.expecting import expect
from browser.windows import OpenPage
from support.waiting import PATIENCE
from support.web_home import CHAT, PROJECT, WebHome

if TYPE_CHECKING:
    from playwright.sync_api import Page

Picture = Callable[["Page", str], None]
GROUP, THREAD = f"#/groups/{quote(CHAT, safe='')}", f"#/mail/{quote(PROJECT, safe='')}/threads/USERS-1"


def first_paint(page: "Page") -> float:
    """Milliseconds until something is there: the shortest of three times, as others work on this machine, too."""
    taken: list[float] = []
    for _ in range(3):
        page.reload()
        page.get_by_role("log").wait_for()
        taken.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    return min(taken)


@pytest.mark.soak  # which has the machine to itself
def test_a_page_is_painted_within_a_second(open_page: OpenPage) -> None:
    assert first_paint(open_page()) <= 1000


def test_a_group_is_followed_live_with_edits_recalls_and_decisions(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    page = open_page()
    log = page.get_by_role("log")
    log.get_by_text("Who can run the migration on staging?").first.wait_for()
    expect(log.get_by_text("林小雨 recalled a message")).to_have_count(1)
    assert "hunter2" not in page.content()
    assert page.locator("article script").count() == 0
    log.get_by_text("<script>alert(1)</script>").wait_for()
    page.get_by_role("button", name="Alpha answers").click()
    page.get_by_text("It calls the agent by name or alias.").wait_for()

    page.locator("[data-connection=live]").first.wait_for()
    for number in range(200):  # until the hub has looked for the first time
        home.say("on_ada", f"Live, take {number}", f"om_live_{number}")
        try:
            log.get_by_text("Live, take").first.wait_for(timeout=250)
            break
        except Exception:  # noqa: BLE001, S112 - said again
            continue
    home.store.edit(CHAT, "om_live_0", "Live and corrected", "on_ada")
    log.get_by_text("Live and corrected").wait_for()
    home.store.recall(CHAT, "om_live_0", "on_ada")
    log.get_by_text("Ada Byrne recalled a message").wait_for()
    expect(log.get_by_text("Live and corrected")).to_have_count(0)
    picture(page, "groups")


def test_a_person_finds_a_message_and_posts_with_the_keyboard(open_page: OpenPage, home: WebHome) -> None:
    page = open_page(GROUP)
    page.get_by_role("log").get_by_text("I can, it takes four minutes.").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("迁移")
    page.locator("mark", has_text="迁移").wait_for()
    page.keyboard.press("Escape")
    field = page.get_by_role("textbox", name="Message the group")
    field.fill("Is 1.4 out?")
    field.press("Control+Enter")
    page.get_by_text("waiting for a bot of this group").wait_for()
    expect(field).to_have_value("")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Send what you wrote").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")


def test_mail_is_read_with_its_summary_searched_and_written_as_a_person(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    page = open_page(THREAD)
    page.get_by_text("Summary: 2 messages").wait_for()
    page.get_by_role("heading", name="To do").wait_for()
    picture(page, "mail")
    answer = page.get_by_role("textbox", name="Reply to GreenCastle as a person")
    answer.fill("Please wait for **me**.")
    answer.press("Control+Enter")
    page.locator("strong", has_text="me").wait_for()
    assert [each.sender for each in home.mail.thread("USERS-1", PROJECT).letters][-1] == "human"
    page.get_by_role("searchbox", name="Search mail").fill("migration")
    page.locator("mark", has_text="migration").first.wait_for()
    page.get_by_role("searchbox", name="Search mail").fill("")
    page.get_by_role("link", name="Claims").click()
    page.get_by_text("db/migrations/**").wait_for()
    page.get_by_text("min left").wait_for()
    page.get_by_role("button", name="Write").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("BlueLake").click()
    dialog.get_by_label("Subject").fill("Hold the release")
    dialog.get_by_label("Text (Markdown)").fill("Until tomorrow.")
    dialog.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Hold the release").wait_for()


def test_file_box_opens_where_mail_is_unread_and_stays_there(open_page: OpenPage, home: WebHome) -> None:
    for number in range(3):
        home.boxes.mailbox("qa_agent").send("ops_agent", "INFO", f"Disk {number}", "It fills up.")
    page = open_page("#/boxes")
    page.get_by_role("link", name="Disk 2").wait_for()
    assert page.url.endswith("#/boxes/ops_agent")
    page.locator("[data-connection=live]").first.wait_for()
    for number in range(4):
        home.boxes.mailbox("ops_agent").send("qa_agent", "INFO", f"Late {number}", "It was full.")
    page.get_by_role("combobox").get_by_role("option", name="qa_agent (4)").wait_for(state="attached")
    assert page.url.endswith("#/boxes/ops_agent")
    page.get_by_role("link", name="FileBox").click()
    page.get_by_role("link", name="Late 3").wait_for()


def test_mailboxes_are_read_answered_and_emptied_as_an_agent(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    page = open_page("#/boxes/dev_agent/inbox")
    page.get_by_role("link", name="Login does nothing").click()
    page.get_by_text("nothing.").wait_for()
    picture(page, "boxes")
    assert home.boxes.mailbox("dev_agent").page("inbox", unread=True).total == 1
    home.boxes.mailbox("qa_agent").send("dev_agent", "INFO", "Nightly run", "Green.")
    page.get_by_role("link", name="Nightly run").wait_for()
    page.get_by_role("textbox", name="Reply as dev_agent").fill("Fixed.")
    page.get_by_role("button", name="Reply").click()
    page.get_by_text("Sent", exact=True).last.wait_for()
    page.get_by_role("link", name="Nightly run").click()
    page.get_by_role("button", name="Resolve").click()
    page.get_by_role("dialog").get_by_role("button", name="Resolve").click()
    page.get_by_role("link", name="Resolved").click()
    page.get_by_role("link", name="Nightly run").wait_for()


def test_an_input_is_sent_and_an_output_is_read(open_page: OpenPage, hub: str, picture: Picture) -> None:
    page = open_page("#/io")
    page.get_by_role("textbox", name="Enter a session ID").fill("build-42")
    page.get_by_role("textbox", name="Enter a session ID").press("Enter")
    page.get_by_role("textbox", name="Send an input").fill("Go on with step 2.")
    page.get_by_role("textbox", name="Send an input").press("Control+Enter")
    page.get_by_text("waiting for the agent").wait_for()
    call(hub, "o_tool", session_id="build-42", output="Step 1 is done.")
    page.get_by_text("waiting to be taken").wait_for()
    picture(page, "io")
    page.get_by_role("button", name="Take output").click()
    page.get_by_text("taken here").wait_for()
    assert "Go on with step 2." in call(hub, "i_tool", session_id="build-42", timeout=PATIENCE)
    page.get_by_text("delivered, not confirmed yet").wait_for()


def call(hub: str, tool: str, **arguments: object) -> str:
    """An MCP tool of the hub, as an agent calls it."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{hub}/mcp/io", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read().decode()


def test_the_system_says_how_it_is_and_what_to_do(open_page: OpenPage, hub: str, picture: Picture) -> None:
    page = open_page("#/system")
    page.get_by_role("heading", name="Recent problems").wait_for()
    foreign = urllib.request.Request(f"{hub}/api/about", headers={"Origin": "https://evil.example"})
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(foreign, timeout=PATIENCE)
    page.get_by_text("Web pages from other sites may not call the hub.").wait_for()
    page.get_by_text("What to do:").first.wait_for()
    page.get_by_text("Transcripts", exact=True).wait_for()
    picture(page, "system")


def test_the_token_leaves_the_address_and_is_asked_for_without_one(open_page: OpenPage, locked_hub: str) -> None:
    for place in ("?token=token-of-mine", "#/system?token=token-of-mine", "#/?token=token-of-mine"):
        page = open_page(place, base=locked_hub)
        page.get_by_role("navigation").first.wait_for()
        assert "token" not in page.url
    page.reload()
    page.get_by_role("navigation").first.wait_for()
    page = open_page(base=locked_hub)
    page.get_by_label("Token").fill("wrong-token")
    page.get_by_role("button", name="Enter").click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Token").fill("token-of-mine")
    page.get_by_role("button", name="Enter").click()
    page.get_by_role("navigation").first.wait_for()
    # The browser itself says that it was refused; that is no mistake of the page.
    wrong = open_page.wrong
    assert [text for text in wrong if "401" not in text] == []
    wrong.clear()


PLACES = (GROUP, "#/groups", THREAD, "#/boxes/qa_agent/inbox", "#/questions", "#/io/build", "#/statistics", "#/system")


TOO_WIDE = """[document.documentElement, ...document.querySelectorAll("main *")]
    .filter((each) => getComputedStyle(each).overflowY === "auto" || each === document.documentElement)
    .filter((each) => each.tagName !== "PRE" && each.scrollWidth > each.clientWidth)
    .map((each) => each.className || each.tagName)"""


def test_pages_fit_a_phone(open_page: OpenPage, picture: Picture) -> None:
    page = open_page(phone=True, language="zh-CN")
    for place in PLACES:
        show(page, place)
        assert page.evaluate(TOO_WIDE) == [], place
        picture(page, f"phone-{place.split('/')[1]}")


@needs_axe
def test_pages_have_no_serious_fault_of_accessibility(open_page: OpenPage) -> None:
    page = open_page()
    found: list[str] = []
    for place in PLACES:
        show(page, place)
        found += faults(page, place)
    assert found == []


@needs_axe
@pytest.mark.soak
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_pages_are_accessible_in_both_colours_and_languages(
    open_page: OpenPage, picture: Picture, phone: bool, dark: bool, language: str
) -> None:
    page = open_page(phone=phone, dark=dark, language=language)
    found: list[str] = []
    for place in PLACES:
        show(page, place)
        found += faults(page, place)
        size, colour = ("phone" if phone else "desktop"), ("dark" if dark else "light")
        picture(page, f"{size}-{colour}-{language[:2]}-{place.replace('#/', '').partition('/')[0]}")
    assert found == []


def show(page: "Page", place: str) -> None:
    page.goto(f"{page.url.partition('#')[0]}{place}")
    page.locator("main h1, main h2").first.wait_for(state="attached")
    page.locator(".animate-pulse").first.wait_for(state="detached")


def faults(page: "Page", place: str) -> list[str]:
    """What axe calls serious, with the element."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    return [
        f"{place}: {fault['id']} at {fault['nodes'][0]['target']}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
