"""What was asked and answered long ago is found on the page of questions, and shown where it was said."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from browser.expecting import expect
from browser.people import connect
from browser.windows import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _ask(hub: str, name: str, text: str, *, agent: str = "Steps", project: str = "/srv/shop") -> None:
    about = {"Question": text, "AgentName": agent, "ProjectDirectory": project}
    body = {"ID": name, "UserToken": "local", "Wait": 0, "Fetched": True, "Request": about}
    connect(hub, "SrvAgentAssist/AskQuestion", body)


def _answer(hub: str, name: str, text: str) -> None:
    said = {"type": 1, "text": {"type": "text", "text": text}}
    connect(hub, "SrvAgentAssistReply/AskQuestionReply", {"ID": name, "contents": [said]})


def _report(hub: str, agent: str, most: int) -> None:
    """So many reports that need no answer, several at a time."""

    def report(number: int) -> None:
        about = {"Summary": f"Step {number} is done.", "AgentName": agent, "ProjectDirectory": "/srv/shop"}
        body = {"ID": f"{agent}-{number}", "UserToken": "local", "Request": about | {"NotifyOnly": True}}
        connect(hub, "SrvAgentAssist/WorkReport", body)

    with ThreadPoolExecutor(4) as calls:
        list(calls.map(report, range(most)))


def _find(page: "Page", words: str) -> "Page":
    page.get_by_role("searchbox").fill(words)
    page.locator("a[data-row] mark").first.wait_for()
    return page


def test_what_was_found_in_an_old_conversation_is_shown(serve: Callable[..., str], open_page: OpenPage) -> None:
    hub = serve()
    _ask(hub, "old", "Which harbour has the lighthouse?", agent="Keeper")
    _answer(hub, "old", "The northern one.")
    _report(hub, "Steps", 120)
    page = _find(open_page("#/questions", base=hub), "lighthouse")
    page.get_by_role("link", name="Keeper").click()
    page.get_by_role("log").get_by_text("The northern one.").wait_for()
    page.reload()
    page.get_by_role("log").get_by_text("The northern one.").wait_for()


def test_what_was_found_in_a_long_conversation_is_loaded_in_sight_and_marked(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve()
    _ask(hub, "first", "Which harbour has the lighthouse?")
    _answer(hub, "first", "The northern one.")
    _report(hub, "Steps", 320)
    _ask(hub, "last", "And the lighthouse keeper?")
    page = _find(open_page("#/questions", base=hub), "lighthouse")
    page.get_by_role("link", name="Which harbour").click()
    article = page.get_by_role("log").locator("article", has_text="Which harbour has the lighthouse?")
    expect(article).to_be_in_viewport()
    expect(article).to_have_attribute("data-found", "true")
    expect(article).not_to_have_attribute("data-found", "true")
    page.get_by_role("link", name="And the").click()
    last = page.get_by_role("log").locator("article", has_text="And the lighthouse keeper?")
    expect(last).to_be_in_viewport()
    expect(article).not_to_be_in_viewport()
    _report(hub, "Later", 1)
    expect(last).to_be_in_viewport()


def test_the_hits_show_all_words_that_were_looked_for_in_questions_and_answers(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve()
    _ask(hub, "long", f"{'Before it. ' * 30}Which Café has relaunched?")
    _answer(hub, "long", f"{'Hm, well. ' * 30}The café by the harbour, at ＮＩＮＥ.")
    _ask(hub, "dense", "今天能发布吗？")
    _answer(hub, "dense", "先做数据库迁移，再发布v2。")
    page = open_page("#/questions", base=hub)
    _ask(hub, "apart", "Cafe\u0301s by the \ufb01nal quay, ΟΔΟΣ")
    for words, marked in {
        "cafe nine": ["Café", "café", "ＮＩＮＥ"],
        "launched": [],
        "cafés": ["Cafe\u0301s"],
        "final quay οδος": ["\ufb01nal", "quay", "ΟΔΟΣ"],
        "发布 迁移": ["发布", "迁移", "发布"],
        "v2": ["v2"],
    }.items():
        page.get_by_role("searchbox").fill(words)
        if not marked:
            page.get_by_text("Nothing found").wait_for()
        expect(page.locator("a[data-row] mark")).to_have_text(marked)


def test_a_hit_that_was_scrolled_away_comes_back_with_another_click(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve()
    _ask(hub, "first", "Which harbour has the lighthouse?")
    _report(hub, "Steps", 60)
    page = _find(open_page("#/questions", base=hub), "lighthouse")
    hit = page.get_by_role("link", name="Which harbour")
    article = page.get_by_role("log").locator("article", has_text="Which harbour has the lighthouse?")
    for _ in range(2):
        hit.click()
        expect(article).to_be_in_viewport()
        page.get_by_role("log").evaluate("each => { each.scrollTop = each.scrollHeight }")
        expect(article).not_to_be_in_viewport()


def test_all_hits_are_shown_also_where_answers_carry_large_pictures(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve()
    image = {"type": "image", "data": "A" * 3_000_000, "mime_type": "image/png"}
    for number in range(7):
        _ask(hub, f"with-{number}", "Which harbour has the lighthouse?", agent=f"Keeper{number}")
        reply = {"ID": f"with-{number}", "contents": [{"type": 2, "image": image}]}
        connect(hub, "SrvAgentAssistReply/AskQuestionReply", reply)
    page = _find(open_page("#/questions", base=hub), "lighthouse")
    expect(page.locator("a[data-row]", has=page.locator("mark"))).to_have_count(7)


def test_long_hits_are_not_looked_through_again_whenever_something_is_asked(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve()
    for number in range(4):
        _ask(hub, f"long-{number}", "灯塔" + "今天天气很好我们去海边看看" * 40_000)
    counting = """
        const matchAll = String.prototype.matchAll;
        window.looked = [];
        String.prototype.matchAll = function (...given) {
            looked.push(this.length);
            return matchAll.apply(this, given);
        };
    """
    page = _find(open_page("#/questions", base=hub, script=counting), "灯塔")
    assert max(page.evaluate("looked.splice(0)")) <= 100_000
    _ask(hub, "another", "Something else?")
    page.get_by_role("navigation").get_by_text("5").first.wait_for()
    assert [length for length in page.evaluate("looked") if length > 1000] == []


def test_an_address_that_never_was_says_so_also_where_there_is_more_to_load(
    serve: Callable[..., str], open_page: OpenPage
) -> None:
    hub = serve()
    _report(hub, "Steps", 120)
    page = open_page("#/questions/%5B%22%22%2C%22Nobody%22%5D/x", base=hub)
    page.get_by_text("There is nothing at this address").wait_for()
    page = open_page("#/questions/%5B%22%2Fsrv%2Fshop%22%2C%22Steps%22%5D/x", base=hub)
    page.get_by_role("log").get_by_text("Step 119 is done.").wait_for()


def test_projects_of_one_name_are_told_apart_by_their_folders(serve: Callable[..., str], open_page: OpenPage) -> None:
    hub = serve()
    for number, project in enumerate(["/srv/red/shop", "/srv/blue/shop", "D:\\work\\notes", "/shop"]):
        _ask(hub, f"in-{number}", "Ready for the harbour?", agent="Alpha", project=project)
    page = open_page("#/questions", base=hub)
    rows = page.locator("a[data-row] [data-project]")
    page.locator("a[data-row]").nth(3).wait_for()
    assert sorted(rows.all_inner_texts()) == ["/shop", "blue/shop", "notes", "red/shop"]
    _find(page, "harbour")
    assert sorted(rows.all_inner_texts()) == ["/shop", "blue/shop", "notes", "red/shop"]
