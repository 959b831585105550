"""What somebody has begun to write is still there when they come back to where they wrote it."""

from pathlib import Path

from browser.expecting import expect
from browser.people import Agent, fill, said, send
from browser.test_pages import GROUP, THREAD
from browser.windows import OpenPage
from support.line import Line
from support.web_home import WebHome

MAIL = "#/mail/%2Fsrv%2Fbackend"


def test_a_letter_that_was_closed_is_there_when_it_is_opened_again(open_page: OpenPage) -> None:
    for place in (MAIL, "#/boxes/qa_agent/inbox"):
        page = open_page(place)
        form = page.get_by_role("dialog")
        for with_the_key in (True, False):
            page.get_by_role("button", name="Write").click()
            form.get_by_label("Subject").fill(f"Kept {place}")
            form.get_by_label("Text (Markdown)").fill("Half of a sen")
            if with_the_key:
                page.keyboard.press("Escape")
            else:
                form.get_by_role("button", name="Close").click()
            form.wait_for(state="hidden")
            page.get_by_role("link", name="System").click()
            page.get_by_role("heading", name="Stores").wait_for()
            page.go_back()
        page.get_by_role("button", name="Write").click()
        expect(form.get_by_label("Subject")).to_have_value(f"Kept {place}")
        expect(form.get_by_label("Text (Markdown)")).to_have_value("Half of a sen")


def test_to_whom_a_letter_goes_is_kept_with_it_until_it_is_sent(open_page: OpenPage) -> None:
    page = open_page(MAIL)
    form = page.get_by_role("dialog")
    page.get_by_role("button", name="Write").click()
    form.locator("label").filter(has_text="BlueLake").click()
    form.get_by_label("Importance").select_option("high")
    form.get_by_label("Subject").fill("Dinner")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Write").click()
    expect(form.get_by_role("checkbox", name="BlueLake")).to_be_checked()
    expect(form.get_by_label("Importance")).to_have_value("high")
    form.get_by_label("Text (Markdown)").fill("At eight.")
    form.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Dinner").first.wait_for()
    page.get_by_role("button", name="Write").click()
    expect(form.get_by_label("Subject")).to_have_value("")
    expect(form.get_by_role("checkbox", name="BlueLake")).not_to_be_checked()


def test_the_letter_to_one_agent_is_not_the_one_to_another(open_page: OpenPage) -> None:
    page = open_page(f"{MAIL}/agents/BlueLake")
    form = page.get_by_role("dialog")
    page.get_by_role("button", name="Write").last.click()
    form.get_by_label("Subject").fill("To BlueLake alone")
    page.keyboard.press("Escape")
    page.goto(f"{page.url.partition('#')[0]}{MAIL}/agents/GreenCastle")
    page.get_by_role("heading", name="GreenCastle").wait_for()
    page.get_by_role("button", name="Write").last.click()
    expect(form.get_by_label("Subject")).to_have_value("")


def test_words_in_a_box_are_there_after_a_visit_to_another_page(open_page: OpenPage) -> None:
    places = {
        GROUP: "Message the group",
        "#/io/kept-words": "Send an input",
        THREAD: "Reply to",
    }
    for place, name in places.items():
        page = open_page(place)
        field = page.get_by_role("textbox", name=name)
        field.fill("Not yet sent")
        page.get_by_role("link", name="System").click()
        page.get_by_role("heading", name="Stores").wait_for()
        page.go_back()
        field.wait_for()
        expect(field, place).to_have_value("Not yet sent")
        page.reload()
        expect(field, place).to_have_value("Not yet sent")
        field.fill("")


def test_what_words_in_a_group_answer_is_kept_with_them(open_page: OpenPage, home: WebHome) -> None:
    page = open_page(GROUP)
    page.locator("#m-om_5").hover()
    page.locator("#m-om_5").get_by_role("button", name="Reply to Beta").click()
    field = page.get_by_role("textbox", name="Message the group")
    page.keyboard.type("Thanks for")
    page.get_by_role("link", name="System").click()
    page.get_by_role("heading", name="Stores").wait_for()
    page.go_back()
    page.locator("footer").get_by_text("Reply to Beta: I can, it takes four minutes.").wait_for()
    expect(field).to_have_value("Thanks for")
    page.reload()
    page.locator("footer").get_by_text("Reply to Beta: I can, it takes four minutes.").wait_for()
    expect(field).to_have_value("Thanks for")


def test_the_browser_asks_before_a_page_is_left_with_a_file_that_was_not_sent(
    open_page: OpenPage, agent: Agent, tmp_path: Path
) -> None:
    answer = agent.ask("Which plan?")
    page = agent.talk(open_page("#/questions"))
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    fill(page, "This one:")
    page.reload()
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("This one:")
    assert asked == []
    plan = tmp_path / "plan.md"
    plan.write_text("# Plan")
    page.locator("footer input[type=file]").set_input_files(plan)
    page.get_by_role("button", name="Remove plan.md").wait_for()
    page.reload()
    assert asked == ["beforeunload"]
    send(page)
    assert said(answer) == ["This one:"]
    page.get_by_role("log").get_by_text("This one:").wait_for()
    page.reload()
    assert asked == ["beforeunload"]


def test_words_and_options_for_a_question_outlive_a_reload(open_page: OpenPage, agent: Agent) -> None:
    answer = agent.ask("Red or blue?", options=["Red", "Blue"])
    page = agent.talk(open_page("#/questions"))
    fill(page, "as the sea")
    page.get_by_text("Blue", exact=True).click()
    page.reload()
    page.get_by_role("button", name="Blue", pressed=True).wait_for()
    expect(page.get_by_role("textbox", name="Your answer")).to_have_value("as the sea")
    send(page)
    assert said(answer) == ["Blue\n\nas the sea"]
    page.reload()
    page.get_by_role("log").get_by_text("as the sea").wait_for()
    page.wait_for_function("() => sessionStorage.getItem('nanobot-transcript.drafts') === null")


def test_an_answer_and_a_message_that_are_on_their_way_outlive_a_reload(
    open_page: OpenPage, agent: Agent, line: Line
) -> None:
    answer = agent.ask("Red or blue?")
    page = agent.talk(open_page("#/questions", base=line.address))
    fill(page, "Blue as the sea")
    line.hush()
    send(page)
    page.locator("article[data-state=sending]").wait_for()
    line.cut()
    line.mend()
    page.reload()
    assert said(answer) == ["Blue as the sea"]
    page.locator("article[data-state=answered]").get_by_text("Blue as the sea").wait_for()
    page.wait_for_function("() => sessionStorage.getItem('nanobot-transcript.on-its-way') === null")
    page.get_by_role("textbox", name=f"Send {agent.name} a note").fill("Mind the gap.")
    line.hush()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("on its way").wait_for()
    line.cut()
    line.mend()
    page.reload()
    page.get_by_text("waiting for the agent").wait_for()
    expect(page.get_by_role("log").get_by_text("Mind the gap.")).to_have_count(1)
    page.wait_for_function("() => sessionStorage.getItem('nanobot-transcript.on-its-way') === null")


def test_words_that_were_written_with_one_token_are_not_there_with_another(
    open_page: OpenPage, agent: Agent, hub: str
) -> None:
    agent.ask("Red or blue?", wait=0)
    page = agent.talk(open_page("#/questions"))
    fill(page, "For one token alone")
    page.get_by_role("button", name="Change").click()
    page.get_by_label("Token", exact=True).fill("another-token")
    page.get_by_role("button", name="Enter", exact=True).click()
    page.get_by_text("…oken").first.wait_for()
    page.wait_for_function("() => sessionStorage.getItem('nanobot-transcript.drafts') === null")
    page = agent.talk(open_page("#/questions"))
    fill(page, "For one token alone")
    page.goto(f"{hub}/?token=yet-another")
    page.get_by_text("…her").first.wait_for()
    page.wait_for_function("() => sessionStorage.getItem('nanobot-transcript.drafts') === null")


def test_what_is_written_while_the_page_opens_with_another_token_is_not_there_then(
    open_page: OpenPage, agent: Agent
) -> None:
    agent.ask("Red or blue?", wait=0)
    page = agent.talk(open_page("#/questions"))
    fill(page, "For one token")
    page.evaluate("""() => addEventListener("beforeunload", () => {
        const field = document.querySelector("footer textarea");
        Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, "For one token alone");
        field.dispatchEvent(new Event("input", { bubbles: true }));
        sessionStorage.setItem("written", field.value);
    })""")
    page.get_by_role("button", name="Change").click()
    page.get_by_label("Token", exact=True).fill("another-token")
    page.get_by_role("button", name="Enter", exact=True).click()
    page.get_by_text("…oken").first.wait_for()
    assert page.evaluate("sessionStorage.getItem('written')") == "For one token alone"
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('.kept.'))") == []
