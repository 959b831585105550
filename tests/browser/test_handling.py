"""Keys, buttons and panels do what a person expects of them."""

import time
from urllib.parse import quote

import pytest
from browser.expecting import drawn, expect, until
from browser.people import Agent
from browser.test_pages import GROUP, Picture
from browser.windows import OpenPage
from support.line import Line
from support.web_home import PROJECT, WebHome

from nanobot_transcript.relevance import Reason
from nanobot_transcript.relevance.decision import Decision, Stage
from transcript_mcp.mail.claims.ledger import Claims


def test_the_key_to_write_is_told_and_leads_into_the_field_of_what_is_open(open_page: OpenPage) -> None:
    page = open_page(GROUP)
    page.locator("#m-om_5").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").locator("dt", has_text="c").get_by_text("c", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.keyboard.press("c")
    expect(page.get_by_role("textbox", name="Message the group")).to_be_focused()
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#/io/some-session'")
    field = page.get_by_role("textbox", name="Send an input")
    field.wait_for()
    page.keyboard.press("c")
    expect(field).to_be_focused()
    expect(field).to_have_value("")


def test_a_mail_leaves_its_inbox_only_after_somebody_was_asked(
    open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    before = home.boxes.mailbox("ops_agent").page("inbox").total
    home.boxes.mailbox("qa_agent").send("ops_agent", "INFO", "Old news", "Nothing to do.")
    page = open_page("#/boxes/ops_agent/inbox", phone=True)
    page.get_by_role("link", name="Old news").click()
    reject = page.get_by_role("button", name="Reject")
    assert reject.get_attribute("title") == "Reject"
    reject.click()
    asked = page.get_by_role("dialog", name="Reject")
    asked.get_by_text("“Old news” moves from the inbox to Rejected. Only a later reply brings it back.").wait_for()
    picture(page, "boxes-reject-phone")
    page.keyboard.press("Enter")  # it begins in what changes nothing
    asked.wait_for(state="hidden")
    assert home.boxes.mailbox("ops_agent").page("inbox").total == before + 1
    reject.click()
    asked.get_by_role("button", name="Reject").click()
    page.get_by_role("link", name="Rejected").click()
    page.get_by_role("link", name="Old news").wait_for()
    assert home.boxes.mailbox("ops_agent").page("inbox").total == before


def test_a_person_releases_claims_only_after_being_asked(open_page: OpenPage, home: WebHome, picture: Picture) -> None:
    claims, project = Claims(home.mail.database, home.mail.now), home.mail.project(PROJECT).id
    green, blue = (home.mail.acting(PROJECT, name) for name in ("GreenCastle", "BlueLake"))
    claims.claim(project, green, ["src/a.py", "src/b.py"])
    claims.claim(project, blue, ["docs"])

    def held() -> set[str]:
        return {claim.path for claim in claims.list_claims(project)}

    before = held()
    page = open_page(f"#/mail/{quote(PROJECT, safe='')}/claims", phone=True)
    page.get_by_role("button", name="Release src/a.py").click()
    asked = page.get_by_role("dialog", name="Release claims")
    asked.get_by_text("GreenCastle has claimed src/a.py.").wait_for()
    picture(page, "mail-free-phone")
    page.keyboard.press("Enter")  # it begins in what changes nothing
    asked.wait_for(state="hidden")
    assert held() == before
    page.get_by_role("button", name="Release src/a.py").click()
    asked.get_by_role("button", name="Release this one").click()
    page.get_by_role("status").get_by_text("1 claim released").wait_for()
    page.get_by_text("src/a.py").wait_for(state="hidden")
    assert held() == before - {"src/a.py"}
    page.get_by_role("button", name="Release src/b.py").click()
    asked.get_by_role("button", name="Release all of GreenCastle's claims").click()
    page.get_by_text("src/b.py").wait_for(state="hidden")
    assert held() == {"docs"}
    page.get_by_role("button", name="Release docs").click()
    asked.get_by_role("button", name="Release this one").wait_for()
    assert asked.get_by_role("button", name="Release all").count() == 0


def furnished(home: WebHome, chat: str) -> None:
    """A group that is longer than a window, with a wide message and a decision at its end."""
    now = int(time.time() * 1000) - 1000
    for number in range(40):
        home.store.append(chat, "user", f"Line {number}", "on_ada", f"{chat}_{number}", now + number)
    home.store.append(chat, "user", "A very wide message " * 20, "on_ada", f"{chat}_end", now + 100)
    for name in ("Alpha", "Beta"):
        home.log.write(chat, Decision(True, Reason.NAMED, 1.0, Stage.SCORE, name, f"{chat}_end"))


def test_the_button_to_reply_is_as_large_beside_a_wide_message(open_page: OpenPage, home: WebHome) -> None:
    chat = "feishu:oc_wide"
    furnished(home, chat)
    for width in (1280, 390):
        page = open_page(f"#/groups/{chat}", width=width)
        page.get_by_text("A very wide message").last.wait_for()
        buttons = page.get_by_role("log").get_by_role("button", name="Reply to")
        assert min(buttons.evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")) >= 28


def test_why_a_bot_answers_the_newest_message_comes_into_sight(open_page: OpenPage, home: WebHome) -> None:
    chat = "feishu:oc_why"
    furnished(home, chat)
    page = open_page(f"#/groups/{chat}")
    page.get_by_role("button", name="Alpha answers").click()
    reasons = page.get_by_role("log").locator("li", has_text="Beta")
    expect(reasons).to_be_in_viewport(ratio=1)


def test_to_change_the_token_begins_in_its_field(open_page: OpenPage) -> None:
    page = open_page("#/questions")
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_label("Token", exact=True)).to_be_focused()


def test_back_closes_what_is_told_about_a_group_where_it_lies_over_the_page(open_page: OpenPage) -> None:
    page = open_page("#/groups", phone=True)
    page.get_by_role("link", name="林小雨").first.click()
    page.locator("#m-om_5").wait_for()
    about = page.get_by_role("complementary", name="About this group")
    button = page.get_by_role("button", name="About this group")
    button.click()
    about.wait_for()
    page.go_back()
    about.wait_for(state="hidden")
    expect(page.locator("#m-om_5")).to_have_count(1)
    button.click()
    page.keyboard.press("Escape")
    about.wait_for(state="hidden")
    button.click()
    about.get_by_role("button", name="Close").click()
    about.wait_for(state="hidden")
    expect(page.locator("#m-om_5")).to_have_count(1)
    page.go_back()
    page.get_by_role("log").wait_for(state="hidden")
    assert page.url.endswith("#/groups")


@pytest.mark.parametrize("phone", [False, True])
def test_every_page_says_once_what_to_do_while_the_hub_does_not_answer(
    open_page: OpenPage, agent: Agent, line: Line, phone: bool
) -> None:
    agent.ask("Still there?", wait=0)
    hint = "Is nanobot-transcript serve running? This page retries automatically."
    page = agent.talk(open_page("#/questions", base=line.address, phone=phone))
    page.get_by_role("log").get_by_text("Still there?").wait_for()
    failed = list[str]()
    page.on("requestfailed", lambda request: failed.append(request.url))
    line.cut()
    told = page.get_by_role("alert").filter(has_text=hint).filter(visible=True)
    told.wait_for()
    for room in ("questions", "groups", "mail", "boxes", "io", "system"):
        before = len(failed)
        page.locator(f"nav a[href='#/{room}']").click()
        until(page, lambda before=before: len(failed) > before)  # what the room asks for itself
        drawn(page)
        expect(told).to_have_count(1)
    line.mend()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("heading", name="Stores").wait_for()


WHOLE = """field => {
    const alone = field.cloneNode(true);
    alone.style.cssText = "position: absolute; width: max-content";
    document.body.append(alone);
    const wanted = alone.getBoundingClientRect().width;
    alone.remove();
    return field.getBoundingClientRect().width >= wanted;
}"""


def test_nothing_is_cut_off_at_common_widths(open_page: OpenPage, picture: Picture) -> None:
    for language in ("en-US", "zh-CN"):
        for width in (1280, 320):
            page = open_page(GROUP, width=width, language=language)
            page.locator("#m-om_5").wait_for()
            picture(page, f"groups-{width}-{language}")
            assert page.locator("#through").evaluate(WHOLE), (language, width)
        page = open_page("#/boxes/dev_agent/inbox", width=1280, language=language)
        page.get_by_text("Login does nothing").wait_for()
        tabs = page.locator("nav").last.locator("a")
        assert len({tab["y"] for each in tabs.all() if (tab := each.bounding_box())}) == 1, language


def test_a_row_with_a_mark_is_no_taller(open_page: OpenPage, home: WebHome) -> None:
    home.boxes.mailbox("qa_agent").send("ops_agent", "INFO", "With a mark", "Text.")
    page = open_page("#/boxes/ops_agent/inbox")
    row = page.get_by_role("link", name="With a mark")
    row.wait_for()
    heights = row.evaluate("""row => {
        const height = () => row.getBoundingClientRect().height;
        const before = height();
        for (const mark of row.querySelectorAll(".rounded-full.py-0\\\\.5")) mark.remove();
        return [before, height()];
    }""")
    assert heights[0] == heights[1]


def test_the_ring_around_what_has_the_focus_is_seen_on_all_sides(open_page: OpenPage) -> None:
    page = open_page(GROUP)
    page.locator("#m-om_5").wait_for()
    inside = "getComputedStyle(document.activeElement).outlineOffset === '-2px'"
    while not page.evaluate(inside):  # keys are heard a moment after the messages are there
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => document.activeElement.role === 'log' && {inside}")


def test_what_fails_takes_neither_the_rest_of_the_page_away_nor_the_next_place(open_page: OpenPage) -> None:
    open_page.expected = ("TypeError",)
    page = open_page("#/mail/%2Fsrv%2Fbackend")
    page.route("**/api/mail/thread?*", lambda route: route.fulfill(json={}))
    row = page.locator("main a[data-row]").first
    row.click()
    failed = page.get_by_role("alert").filter(has_text="This part of the page crashed.")
    failed.wait_for()
    page.go_back()
    row.wait_for()
    expect(failed).to_have_count(0)
    page.go_forward()
    failed.wait_for()
    page.unroute("**/api/mail/thread?*")
    failed.get_by_role("button", name="Try again").click()
    page.get_by_role("region", name="Thread").locator(".markdown").first.wait_for()
    page.get_by_role("link", name="Groups").wait_for()
