"""The page as an app of a device: what a browser needs for that, and what the page says where there is none."""

from typing import TYPE_CHECKING

from browser.expecting import expect, until
from browser.windows import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

INSECURE = "Object.defineProperty(window, 'isSecureContext', {value: false})"
"""As over plain http from another machine."""

OFFER = """() => {
    const offer = new Event("beforeinstallprompt", {cancelable: true});
    offer.prompt = async () => { window.asked = true; };
    dispatchEvent(offer);
    return offer.defaultPrevented;
}"""
"""What Chromium does when it finds a page installable; windows of tests are incognito, where it never does."""

APP = """window.matchMedia = ((ask) => (query) =>
    query === "(display-mode: standalone)" ? {matches: true} : ask.call(window, query))(window.matchMedia)"""
"""As in the window of an installed page."""


def shown(page: "Page", name: str) -> None:
    page.get_by_role("button", name=name, exact=True).locator("visible=true").click()


def test_a_browser_finds_on_this_machine_all_it_needs_to_install_the_page(open_page: OpenPage, hub: str) -> None:
    page = open_page("#/questions")
    browser = page.context.new_cdp_session(page)
    found = browser.send("Page.getAppManifest")
    assert found["errors"] == []
    manifest = found["manifest"]
    assert (manifest["startUrl"], manifest["scope"]) == (f"{hub}/", f"{hub}/")
    assert manifest["display"].lower().endswith("standalone")
    for icon in manifest["icons"]:
        size = page.evaluate(
            "async (src) => { const it = new Image(); it.src = src; await it.decode(); return it.naturalWidth }",
            icon["url"],
        )
        assert icon["sizes"] == f"{size}x{size}"
    # One that can show windows says this itself; the others find nothing wrong anywhere.
    wrong = browser.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [each["errorId"] for each in wrong if each["errorId"] != "in-incognito"] == []


def test_the_page_asks_the_browser_to_install_it_where_that_is_offered(open_page: OpenPage) -> None:
    page = open_page("#/questions")
    page.get_by_role("searchbox", name="Search questions").wait_for()
    shown(page, "Install as an app")
    page.get_by_role("dialog").get_by_text("Use your browser").wait_for()
    assert page.evaluate(OFFER), "else the browser asks by itself, at a moment of its own"
    shown(page, "Install")
    until(page, lambda: page.evaluate("window.asked"))
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_page_over_plain_http_says_why_it_cannot_be_installed(open_page: OpenPage) -> None:
    for phone in (False, True):
        page = open_page("#/questions", phone=phone, script=INSECURE)
        page.get_by_role("searchbox", name="Search questions").wait_for()
        shown(page, "Install as an app")
        page.get_by_role("dialog").get_by_text("only over https or on the machine itself").wait_for()


def test_an_installed_page_keeps_the_token_until_it_is_told_to_forget_it(open_page: OpenPage, locked_hub: str) -> None:
    page = open_page("#/?token=token-of-mine", base=locked_hub, script=APP)
    page.get_by_role("navigation").first.wait_for()
    kept = "[sessionStorage, localStorage].map(each => Object.values(each).includes('token-of-mine'))"
    assert page.evaluate(kept) == [False, True]
    page = page.context.new_page()  # closed and opened again
    page.add_init_script(APP)
    page.goto(locked_hub)
    page.get_by_role("navigation").first.wait_for()
    expect(page.get_by_role("button", name="Install as an app")).to_have_count(0)
    shown(page, "Remove the token from this device")
    page.get_by_text("It is kept on this device until").wait_for()
    assert "token-of-mine" not in page.evaluate("Object.values(localStorage)")
    open_page.expected = ("401",)  # the browser itself says that it was refused


def test_a_page_in_a_browser_keeps_the_token_for_its_tab_alone(open_page: OpenPage, locked_hub: str) -> None:
    page = open_page("#/?token=token-of-mine", base=locked_hub)
    page.get_by_role("navigation").first.wait_for()
    assert "token-of-mine" not in page.evaluate("Object.values(localStorage)")
    page = page.context.new_page()
    page.goto(locked_hub)
    page.get_by_text("It is kept in this tab only.").wait_for()
