"""Who takes part in a question: an agent that asks, and what a person does on the page to answer."""

import json
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

BOUND = 1000 * PATIENCE
"""In milliseconds, as the browser counts."""

LONG = 600
"""Seconds that a question waits: more than any test's patience."""

Blocks = list[dict[str, Any]]


class Agent:
    """Asks with the MCP tool, each test's under a name of its own."""

    def __init__(self, hub: str, calls: ThreadPoolExecutor) -> None:
        self.name = f"Agent{uuid4().hex[:6]}"
        self._url = f"{hub}/mcp/assistant"
        self._calls = calls
        self._asked: list[str] = []

    def ask(self, question: str, **more: Any) -> "Future[Blocks]":
        """The content of the tool's result, once there is one; ``more`` are arguments of the tool."""
        about = {
            "question": question,
            "agent_name": self.name,
            "project_directory": "/srv/shop",
            "timeout": LONG,
            "id": uuid4().hex,
        } | more
        self._asked.append(about["id"])
        return self._calls.submit(self._call, "ask_question", about)

    def leave(self) -> None:
        """Withdraw what still waits: each page tells everybody how much that is."""
        for each in self._asked:
            self._call("withdraw_question", {"id": each})

    def _call(self, tool: str, arguments: dict[str, Any]) -> Blocks:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        body = json.dumps(message | {"params": {"name": tool, "arguments": arguments}}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["result"]["content"]

    def talk(self, page: "Page") -> "Page":
        """The page with this agent's conversation open, at what waits longest in it."""
        return talk(page, self.name)


def talk(page: "Page", agent: str) -> "Page":
    """The page with the conversation of this agent open; on a phone another one may lie over the list."""
    row = page.locator("a[data-row]", has_text=agent).first
    row.wait_for(state="attached")
    row.evaluate("row => row.click()")
    page.get_by_role("heading", name=agent).wait_for()
    page.get_by_role("log").wait_for()
    return page


def asked(hub: str, token: str, question: str) -> list[str]:
    """Asks over Connect with a token, under the name BlueLake, and gives the texts of the answer."""
    about = {"ProjectDirectory": "/srv/shop", "AgentName": "BlueLake", "Question": question, "Timeout": LONG}
    body = json.dumps({"ID": uuid4().hex, "UserToken": token, "Request": about}).encode()
    address = f"{hub}/agentassistproto.SrvAgentAssist/AskQuestion"
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return [each["text"]["text"] for each in json.load(answer)["contents"]]


def connect(hub: str, call: str, body: dict[str, Any]) -> Any:
    """Makes a call over Connect with the hub's token for who needs none, and gives its answer."""
    headers = {"Content-Type": "application/json", "Authorization": "Bearer local"}
    request = urllib.request.Request(f"{hub}/agentassistproto.{call}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def answered(hub: str, asked: str, by: str, text: str) -> None:
    """Answers the question with this id over Connect."""
    contents = [{"type": 1, "text": {"type": "text", "text": text}}]
    connect(hub, "SrvAgentAssistReply/AskQuestionReply", {"ID": asked, "Meta": {"nickname": by}, "contents": contents})


def report(hub: str, text: str) -> None:
    """Reports over Connect, and waits for nothing."""
    about = {"ProjectDirectory": "/srv/shop", "AgentName": "BlueLake", "Summary": text, "NotifyOnly": True}
    connect(hub, "SrvAgentAssist/WorkReport", {"ID": uuid4().hex, "UserToken": "local", "Request": about})


def begun(page: "Page") -> "Page":
    """The page of questions once it knows what waits."""
    nothing = page.get_by_text("No agent has asked anything yet")
    nothing.or_(page.locator("a[href*='#/questions/']")).first.wait_for()
    return page


def call_me(page: "Page", name: str) -> None:
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Your name").press("Enter")


def fill(page: "Page", text: str) -> None:
    page.get_by_role("textbox", name="Your answer").fill(text)


def send(page: "Page") -> None:
    page.get_by_role("button", name="Answer", exact=True).click()


def said(answer: "Future[Blocks]") -> list[str]:
    return [block["text"] for block in answer.result(PATIENCE)]
