"""What the System page shows as it happens, and in what language."""

import json
import logging
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser.conftest import needs_axe
from browser.expecting import expect
from browser.test_pages import TOO_WIDE, Picture, faults
from browser.windows import OpenPage
from support.waiting import PATIENCE
from support.web_home import WebHome

from nanobot_transcript.conversation.decision import PRIVATE
from nanobot_transcript.relevance.decision import later

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def request(address: str, body: Any = None, **headers: str) -> int:
    data = None if body is None else json.dumps(body).encode()
    kind = {} if body is None else {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data, kind | headers), timeout=PATIENCE) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def ask(hub: str, call: str, program: str, **more: Any) -> int:
    body = {"ID": "q-system", "UserToken": "any", "Wait": 0, "Request": {"Question": "Now?", "Timeout": 60}} | more
    return request(f"{hub}/agentassistproto.SrvAgentAssist/{call}", body, **{"User-Agent": program})


def test_a_new_program_appears_without_a_reload(open_page: OpenPage, hub: str) -> None:
    page = live(open_page("#/system"))
    connected = card(page, "Connected")
    assert request(f"{hub}/api/about", **{"User-Agent": "newcomer/1"}) == 200
    connected.get_by_text("this machine · newcomer/1").wait_for()
    assert ask(hub, "AskQuestion", "asker/2") == 200
    connected.get_by_text("this machine · questions, Connect · asker/2").wait_for()


def test_a_refused_call_is_a_problem_with_what_to_do(open_page: OpenPage, hub: str) -> None:
    page = live(open_page("#/system"))
    assert ask(hub, "Withdraw", "asker", ID="q-unknown") == 404
    page.get_by_text("A program named a question that does not exist.").wait_for()
    page.get_by_text("The question was asked with another token, or the program has the wrong id.").wait_for()
    page.get_by_text("Connect Withdraw").wait_for()
    assert "q-unknown" not in page.content()


def test_each_store_is_shown(open_page: OpenPage, hub: str) -> None:
    assert request(f"{hub}/api/io/input", {"session": "s", "text": "x"}) == 200
    assert ask(hub, "AskQuestion", "asker") == 200
    page = open_page("#/system")
    stores = card(page, "Stores")
    for name in ("FileBox", "Questions", "Queues of the IO bridge"):
        row = stores.get_by_role("listitem").filter(has=page.get_by_text(name, exact=True))
        row.get_by_text(re.compile(r"^[1-9][0-9.]* [kM]?B$")).wait_for()
    stores.get_by_text("The hub's own data").wait_for()


@needs_axe
def test_the_chinese_page_tells_problems_in_chinese_with_the_original_behind(
    open_page: OpenPage, hub: str, picture: Picture
) -> None:
    page = live(open_page("#/system", phone=True, language="zh-CN"))
    assert request(f"{hub}/api/about", Origin="https://evil.example") == 403
    assert request(f"{hub}/api/groups/messages") == 400
    logging.getLogger("transcript_mcp.mail.x").warning("Nobody has foreseen this.")
    foreign = page.get_by_role("listitem").filter(has_text="别处的网页试图调用 hub，已拒绝。")
    foreign.get_by_text("如果这是你自己的页面，请把它的来源加入 hub.allowed_origins。").wait_for()
    english = foreign.get_by_text("Web pages from other sites may not call the hub.")
    expect(english).not_to_be_visible()
    foreign.get_by_text("英文原文").click()
    english.wait_for()
    wrong = page.get_by_role("listitem").filter(has_text="对页面接口的请求缺少内容或内容有误。")
    wrong.get_by_text("接口的用法见 docs/zh/web.md。").wait_for()
    unforeseen = page.get_by_role("listitem").filter(has_text="Agent Mail 报告了异常。")
    unforeseen.get_by_text("Nobody has foreseen this.").wait_for()  # nothing else says what it is
    assert page.evaluate(TOO_WIDE) == []
    assert faults(page, "#/system") == []
    picture(page, "phone-problems")


@needs_axe
def test_while_the_answers_of_a_bot_fail_the_page_never_says_that_all_is_well(
    serve: Callable[..., str], open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    page = live(open_page("#/system", base=serve()))
    page.get_by_text("All is well").wait_for()
    wrong = card(page, "Recent problems")
    home.say("on_ada", "@Gamma are you there?", "om_gone")
    home.decide_later("om_gone", "Gamma", "failed", why="claude ended with exit code 1: Invalid API key")
    failing = wrong.get_by_role("listitem").filter(has_text="Gamma: 1 of 1 answers of the last 24 hours failed.")
    failing.get_by_role("link", name="claude ended with exit code 1: Invalid API key").wait_for()
    failing.get_by_text("Check the log of Gamma").wait_for()
    expect(page.get_by_text("All is well")).to_have_count(0)
    expect(wrong.get_by_text("None since the hub was started.")).to_have_count(0)
    assert page.evaluate(TOO_WIDE) == faults(page, "#/system") == []
    picture(page, "failing-answers")
    failing.get_by_role("link").click()
    page.locator("#m-om_gone").wait_for()


@needs_axe
def test_a_bot_that_fails_in_private_is_told_as_it_happens_without_a_way_to_the_chat(
    serve: Callable[..., str], open_page: OpenPage, home: WebHome, picture: Picture
) -> None:
    page = live(open_page("#/system", base=serve(), phone=True, dark=True, language="zh-CN"))
    message: Any = {"message_id": None}
    home.log.write(PRIVATE, later("failed", PRIVATE, message, "Delta", why="It was in a private chat."))
    failing = page.get_by_role("listitem").filter(has_text="Delta：最近 24 小时的 1 次回答中有 1 次失败。")
    failing.get_by_text("发生在私聊里，没有记下更多内容。").wait_for()
    expect(failing.get_by_role("link")).to_have_count(0)
    expect(page.get_by_text("一切正常")).to_have_count(0)
    assert page.evaluate(TOO_WIDE) == faults(page, "#/system") == []
    picture(page, "phone-failing-answers")


def test_where_nobody_notes_how_answers_end_nothing_is_called_well(
    tmp_path: Path, serve: Callable[..., str], open_page: OpenPage
) -> None:
    page = live(open_page("#/system", base=serve(gate={"log": False}, store={"dir": tmp_path / "other"})))
    page.get_by_text("No problem known").wait_for()
    page.get_by_text("failed answers are not recorded").wait_for()
    expect(page.get_by_text("All is well")).to_have_count(0)


def card(page: "Page", title: str) -> "Locator":
    return page.locator("section", has=page.get_by_role("heading", name=title, exact=True))


def live(page: "Page") -> "Page":
    """The page, once it is told what is new."""
    page.locator("[data-connection=live]").first.wait_for(state="attached")
    return page
