"""What ``doctor`` says of the hub, of Agent Assistant and of the IO bridge."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.ports import free_port

from nanobot_transcript.cli.commands.doctor import hub
from nanobot_transcript.files.lock import exclusive
from nanobot_transcript.settings import Settings

Serving = Callable[..., int]
ALL = ["groups", "questions", "io", "system"]


class _Answering(BaseHTTPRequestHandler):
    status: int
    body: bytes
    tokens: list[str]

    def do_GET(self) -> None:
        self.tokens.append(self.headers.get("Authorization", ""))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library calls it so
        """Nothing."""


@pytest.fixture
def serving() -> Iterator[Serving]:
    """``serving(["groups"])``: the port of something that answers as a hub with these pages does."""
    servers: list[ThreadingHTTPServer] = []

    def start(pages: list[str], status: int = 200, tokens: list[str] | None = None, body: bytes | None = None) -> int:
        said = json.dumps({"pages": pages}).encode() if body is None else body
        fields = {"status": status, "body": said, "tokens": [] if tokens is None else tokens}
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), type("Answering", (_Answering,), fields)))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1].server_address[1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def found(folder: Path, port: int, **more: Any) -> dict[str, tuple[str, str]]:
    """Severity and words of each check."""
    settings = {"hub": {"port": port, "data_dir": str(folder), **more.pop("hub", {})}, **more}
    findings = hub.check(Settings.model_validate(settings))
    return {each.check: (each.severity, f"{each.message} {each.fix}") for each in findings}


def test_that_no_hub_answers_is_no_fault_and_comes_with_how_to_start_one(tmp_path: Path) -> None:
    findings = found(tmp_path, free_port())
    assert findings.keys() == {"hub"}
    assert findings["hub"][0] == "info"
    assert "nanobot-transcript serve" in findings["hub"][1]


def test_a_hub_that_answers_is_named_with_its_pages_and_where_people_answer(tmp_path: Path, serving: Serving) -> None:
    port = serving(ALL)
    findings = found(tmp_path, port)
    assert findings["hub"] == (
        "ok",
        f"A hub is running at http://127.0.0.1:{port}; its pages: {', '.join(sorted(ALL))}. ",
    )
    assert findings["assistant"] == ("ok", f"People answer agents at http://127.0.0.1:{port}/#/questions. ")
    assert findings["io"][0] == "ok"


def test_a_server_that_the_hub_leaves_out_is_named(tmp_path: Path, serving: Serving) -> None:
    findings = found(tmp_path, serving(["groups", "system"]))
    assert findings["assistant"][0] == findings["io"][0] == "info"
    assert "hub.servers" in findings["io"][1]


def test_the_hub_is_asked_with_its_token_which_is_never_shown(tmp_path: Path, serving: Serving) -> None:
    heard: list[str] = []
    tokens = {"me": "first-secret", "mcp": "other-secret"}
    findings = found(tmp_path, serving(ALL, tokens=heard), hub={"tokens": tokens})
    assert heard == ["Bearer other-secret"]
    assert "/?token=TOKEN#/questions" in findings["assistant"][1]
    assert "secret" not in str(findings)


def test_the_token_of_people_is_asked_with_where_there_is_one(tmp_path: Path, serving: Serving) -> None:
    heard: list[str] = []
    tokens = {"tokens": {"mcp": "first-secret"}, "page_token": "other-secret"}
    findings = found(tmp_path, serving(ALL, tokens=heard), hub=tokens)
    assert heard == ["Bearer other-secret"]
    assert findings["hub"][0] == "ok"
    assert "secret" not in str(findings)


def test_pages_that_no_token_of_the_settings_opens_are_told_of_with_how_to_open_them(
    tmp_path: Path, serving: Serving
) -> None:
    severity, words = found(tmp_path, serving([], 403), hub={"tokens": {"mcp": "first-secret"}})["hub"]
    assert severity == "info"
    assert "set hub.page_token" in words


def test_a_token_that_the_hub_does_not_know_is_a_warning(tmp_path: Path, serving: Serving) -> None:
    assert found(tmp_path, serving([], 401))["hub"][0] == "warning"


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"pages": 5}'])
def test_something_else_at_the_port_is_a_warning(tmp_path: Path, serving: Serving, body: bytes) -> None:
    severity, words = found(tmp_path, serving([], body=body))["hub"]
    assert severity == "warning"
    assert "hub.port" in words


def test_another_hub_on_the_folder_of_the_questions_is_a_warning(tmp_path: Path, serving: Serving) -> None:
    assert "assistant" not in found(tmp_path, free_port())
    with exclusive(str(tmp_path / ".assistant.hub"), 1, "the questions"):
        assert found(tmp_path, serving(ALL))["assistant"][0] == "ok"
        for port in (serving(["groups"]), free_port()):
            severity, words = found(tmp_path, port)["assistant"]
            assert severity == "warning"
            assert str(tmp_path) in words
        assert "assistant" not in found(tmp_path, serving([], 401)), "it may be the one that has them"
    assert "assistant" not in found(tmp_path, free_port())


def test_tokens_that_open_questions_alone_are_told_of_where_the_hub_has_its_own(
    tmp_path: Path, serving: Serving
) -> None:
    both = {"hub": {"tokens": {"me": "first-secret"}}, "assistant": {"tokens": {"me": "other-secret"}}}
    severity, words = found(tmp_path, serving(ALL), **both)["assistant"]
    assert severity == "ok"
    assert "A token from assistant.tokens opens only Questions there." in words
    for one in both:
        assert "opens only" not in found(tmp_path, serving(ALL), **{one: both[one]})["assistant"][1]
    assert "assistant" not in found(tmp_path, free_port(), **both)


def test_a_hub_at_any_free_port_is_not_looked_for(tmp_path: Path) -> None:
    assert found(tmp_path, 0)["hub"][0] == "info"


def test_a_server_that_there_is_not_is_named(tmp_path: Path) -> None:
    findings = found(tmp_path, free_port(), hub={"servers": ["mail", "mial"]})
    assert findings == {
        "hub": (
            "error",
            "hub.servers names 'mial', which is no server. The servers: transcript, filebox, mail, io, assistant.",
        )
    }
