"""How the guard asks a hub: what it sends, what it takes for an answer, and what it says when there is none."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from support.answering import Answering, answer, dripping, endless, silent
from support.ports import free_port

from transcript_mcp.mail.claims.guard_hub import UnaskedError, asked, time_limit

CLAIM = {"agent": "GreenCastle", "path": "src/*.py", "reason": "迁移", "expires_ts": 1_900_000_000.5}
NOBODY = {"project": "/srv/后端", "claims": []}
TOKEN = "open-sesame-1"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENT_MAIL_TOKEN", "TRANSCRIPT_MAIL_TOKEN", "TRANSCRIPT_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENT_MAIL_TIMEOUT", "60")


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token of hub"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    file.chmod(0o600)
    return file


def refused(hub: str, token_file: str = "") -> UnaskedError:
    with pytest.raises(UnaskedError) as caught:
        asked(hub, "/srv/后端", "BlueLake", token_file)
    for sentences in (caught.value.why, caught.value.advice):
        assert all(sentences)
    assert TOKEN not in "".join(caught.value.told)
    return caught.value


def sent_token(hub: Answering) -> str | None:
    """What the last request had as its token."""
    lines = hub.heads[-1].split("\r\n")
    return next((line.partition("Bearer ")[2] for line in lines if line.startswith("Authorization")), None)


def test_it_asks_for_a_project_as_somebody_and_is_told_who_holds_what() -> None:
    with Answering(answer(body={**NOBODY, "claims": [CLAIM], "more": 1})) as hub:
        told = asked(hub.url, "/srv/后端", "José & Co", "")
    assert told == ("/srv/后端", [("GreenCastle", "src/*.py", "迁移", 1_900_000_000.5)])
    [head] = hub.heads
    method, target, _ = head.partition("\r\n")[0].split(" ")
    address = urlsplit(target)
    assert (method, address.path) == ("GET", "/mail/claims")
    assert parse_qs(address.query) == {"project_key": ["/srv/后端"], "agent_name": ["José & Co"]}
    assert "Authorization" not in head


def test_an_address_may_have_a_path_of_its_own() -> None:
    with Answering(answer(body=NOBODY)) as hub:
        assert asked(f"{hub.url}/agents", "k", "n")[1] == []
    assert hub.heads[0].startswith("GET /agents/mail/claims?")


# -- the token


def test_the_token_is_the_variable_else_the_files_else_what_clients_send(
    monkeypatch: pytest.MonkeyPatch, token_file: Path
) -> None:
    with Answering(answer(body=NOBODY)) as hub:
        for name in ("TRANSCRIPT_HUB_TOKEN", "TRANSCRIPT_MAIL_TOKEN"):
            monkeypatch.setenv(name, f"of {name}")
            asked(hub.url, "k", "n")
            assert sent_token(hub) == f"of {name}"
        asked(hub.url, "k", "n", str(token_file))
        assert sent_token(hub) == TOKEN
        monkeypatch.setenv("AGENT_MAIL_TOKEN", " of-mine ")
        asked(hub.url, "k", "n", "/no/such/file")
        assert sent_token(hub) == "of-mine"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_token_that_others_can_read_is_not_sent(token_file: Path, mode: int) -> None:
    token_file.chmod(mode)
    with Answering(answer(body=NOBODY)) as hub:
        error = refused(hub.url, str(token_file))
        assert hub.heads == []
    assert error.advice[0] == f"Keep it for yourself: chmod 600 {token_file}"


def test_a_token_file_that_has_none_is_told(tmp_path: Path) -> None:
    empty, pipe = tmp_path / "empty", tmp_path / "pipe"
    empty.touch(0o600)
    os.mkfifo(pipe, 0o600)
    with Answering(answer(body=NOBODY)) as hub:
        assert "No such file" in refused(hub.url, str(tmp_path / "none")).why[0]
        assert "Is a directory" in refused(hub.url, str(tmp_path)).why[0]
        for file in (empty, pipe):
            assert refused(hub.url, str(file)).why[0] == f"the token's file {file} is empty"
        assert hub.heads == []


def test_a_variable_that_is_no_token_is_told_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MAIL_TOKEN", f"{TOKEN}\r\nX-More: 1")
    with Answering(answer(body=NOBODY)) as hub:
        assert refused(hub.url).why[0] == "the token has characters that no token has"
        assert hub.heads == []


def test_a_token_of_other_letters_is_sent_as_the_hub_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MAIL_TOKEN", "芝麻开门-1")
    with Answering(answer(body=NOBODY)) as hub:
        asked(hub.url, "k", "n")
        assert (sent_token(hub) or "").encode("latin-1").decode() == "芝麻开门-1"


# -- who answers


def test_a_proxy_of_the_environment_is_left_out_on_this_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with Answering(answer(body=NOBODY)) as hub, Answering(answer(body={**NOBODY, "project": "by proxy"})) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert asked(hub.url, "k", "n")[0] == "/srv/后端"
        assert asked(hub.url.replace("127.0.0.1", "localhost"), "k", "n")[0] == "/srv/后端"
        assert asked("http://hub.example:8765", "k", "n")[0] == "by proxy"
        monkeypatch.setenv("no_proxy", "hub.example")
        assert "no hub answers" in refused("http://hub.example:1").why[0]
        assert len(proxy.heads) == 1


def test_where_nobody_listens_it_is_told_how_to_start_a_hub() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    error = refused(url)
    assert error.why[0] == f"no hub answers at {url} (Connection refused)"
    assert "nanobot-transcript serve" in error.advice[0]
    assert "nanobot-transcript serve" in error.advice[1]
    assert error.of_all


@pytest.mark.parametrize("way", [silent, dripping])
def test_an_answer_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, way: Any) -> None:
    monkeypatch.setenv("AGENT_MAIL_TIMEOUT", "0.2")
    with Answering(way) as hub:
        error = refused(hub.url)
    assert error.why[0] == f"the hub at {hub.url} did not answer within 0.2 s"
    assert "AGENT_MAIL_TIMEOUT=10" in error.advice[0]


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("", 2), ("x", 2), ("0", 2), ("-1", 2), ("nan", 2), ("0.5", 0.5), ("10", 10), ("inf", 60), ("1e9", 60)],
)
def test_it_waits_two_seconds_or_as_it_is_told_and_never_more_than_a_minute(
    monkeypatch: pytest.MonkeyPatch, given: str, seconds: float
) -> None:
    monkeypatch.setenv("AGENT_MAIL_TIMEOUT", given)
    assert time_limit() == seconds


@pytest.mark.parametrize(
    ("way", "why"),
    [
        (answer(body=b"<html>Welcome"), "(JSONDecodeError)"),
        (answer(body=b"\xff\xfe\xfd"), "(UnicodeDecodeError)"),
        (answer(body=b"[" * 100_000), "(RecursionError)"),
        (answer(body=b"null"), "(TypeError)"),
        (answer(body={"claims": []}), "(KeyError)"),
        (answer(body={"project": 1, "claims": []}), "(no project)"),
        (answer(body={**NOBODY, "claims": [{**CLAIM, "agent": None}]}), "(ValueError)"),
        (answer(body={**NOBODY, "claims": [{**CLAIM, "expires_ts": "soon"}]}), "(TypeError)"),
        (answer(body={**NOBODY, "claims": [{**CLAIM, "expires_ts": 10**400}]}), "(ValueError)"),
        (answer(body=b'{"project":"x","claims":[{"agent":"a","path":"b","reason":"","expires_ts":NaN}]}'), "(Value"),
        (answer(body=b" " * 10_000_000), "(over 8 MiB)"),
        (endless, "(over 8 MiB)"),
        (answer(500, b"<html>"), "(HTTP 500)"),
        (answer(404, {"error": {"code": "http_404", "message": "Not Found.", "hint": ""}}), "(HTTP 404)"),
        (answer(204), "(HTTP 204)"),
    ],
)
def test_who_answers_otherwise_than_a_hub_is_named(way: Any, why: str) -> None:
    with Answering(way) as hub:
        error = refused(hub.url)
    assert error.why[0].startswith(f"what answers at {hub.url} is not a hub that guards can ask {why}")
    assert error.of_all


def test_what_is_no_http_does_not_steer_the_terminal() -> None:
    with Answering(lambda request: request.wfile.write(b"\x1b[31mred\r\n\r\n")) as hub:
        error = refused(hub.url)
    assert "\x1b" not in "".join(error.told)
    assert "is not a hub" in error.why[0]


def test_an_answer_that_breaks_off_is_none() -> None:
    with Answering(answer(body=b'{"project": "x", "cla', **{"Content-Length": "100"})) as hub:
        assert "is not a hub" in refused(hub.url).why[0]


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_is_not_followed(status: int, token_file: Path) -> None:
    with Answering(answer(body=NOBODY)) as elsewhere, Answering(answer(status, Location=elsewhere.url)) as hub:
        error = refused(hub.url, str(token_file))
        assert elsewhere.heads == []
    assert "redirects to another address" in error.why[0]


@pytest.mark.parametrize("status", [401, 403])
def test_without_the_right_token_it_is_told_where_to_put_one(status: int, token_file: Path) -> None:
    with Answering(answer(status)) as hub:
        assert refused(hub.url).why[0] == f"the hub at {hub.url} requires a token"
        error = refused(hub.url, str(token_file))
    assert error.why[0] == f"the hub at {hub.url} refuses this token"
    assert "AGENT_MAIL_TOKEN" in error.advice[0]
    assert "--token-file" in error.advice[1]


def test_a_project_that_the_hub_does_not_have_is_told_and_others_may_be_asked_for() -> None:
    error = {"code": "unknown_project", "message": "There is no project x.", "hint": "Do you mean y?"}
    with Answering(answer(400, {"error": error})) as hub:
        told = refused(hub.url)
    assert told.why[0] == f"the hub at {hub.url} has no project /srv/后端"
    assert told.advice[0].startswith("Do you mean y?")
    assert (told.code, told.of_all) == ("unknown_project", False)


def test_what_the_hub_says_of_itself_is_passed_on() -> None:
    error = {"code": "store_unavailable", "message": "The \x1bdatabase cannot be reached.", "hint": "Start it."}
    with Answering(answer(503, {"error": error})) as hub:
        told = refused(hub.url)
    assert told.told[0] == f"the hub at {hub.url} answered 503: The ?database cannot be reached. Start it"
    assert told.of_all
