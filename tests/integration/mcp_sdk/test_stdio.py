"""Serving over stdin and stdout: what stands on stdout, and how it ends."""

import signal
import subprocess
from pathlib import Path

import pytest
from support.mcp_client import SERVER
from support.mcp_raw import RawClient
from support.waiting import PATIENCE

pytestmark = pytest.mark.mcp

ENDINGS = [None, signal.SIGTERM, signal.SIGINT]


def test_nothing_but_the_protocol_stands_on_stdout() -> None:
    with RawClient() as client:
        assert client.begin()["serverInfo"]["name"] == "test-server"
        assert client.call("noise")["content"] == [{"type": "text", "text": "quiet"}]
        code, rest, errors = client.end()
    assert (code, rest) == (0, [])
    assert [word for word in ("printed", "written", "from a child") if word not in errors] == []


def test_children_find_stdin_empty() -> None:
    with RawClient() as client:
        client.begin()
        assert client.call("read_stdin")["content"][0]["text"] == "b''"


@pytest.mark.parametrize("ending", ENDINGS, ids=["eof", "term", "int"])
def test_it_ends_at_once_and_in_order_even_when_a_tool_hangs(ending: signal.Signals | None) -> None:
    with RawClient() as client:
        client.begin()
        client.ask("tools/call", name="hang", arguments={})
        client.ask("tools/call", name="wait", arguments={"name": "a"})
        assert client.call("echo", text="still here")["isError"] is False
        code, _, errors = client.end(ending)
    assert code == 0
    assert "Traceback" not in errors


@pytest.mark.parametrize("ending", ENDINGS, ids=["eof", "term", "int"])
def test_it_ends_before_anybody_said_anything(ending: signal.Signals | None) -> None:
    with RawClient() as client:
        client.begin()
        assert client.end(ending)[0] == 0


def test_what_was_asked_before_the_end_is_answered() -> None:
    with RawClient() as client:
        client.begin()
        asked = [client.ask("tools/call", name="echo", arguments={"text": str(number)}) for number in range(20)]
        code, lines, _ = client.end()
    assert code == 0
    assert {line["id"] for line in lines} == set(asked)


def test_requests_of_one_id_are_all_answered_before_the_end() -> None:
    with RawClient() as client:
        client.begin()
        client.send(b'{"jsonrpc":"2.0","id":"x","method":"tools/list"}\n' * 5)
        code, lines, _ = client.end()
    assert (code, [line["id"] for line in lines]) == (0, ["x"] * 5)


def test_a_file_can_be_its_stdin(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    path.write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with path.open("rb") as file:
        done = subprocess.run(SERVER, stdin=file, capture_output=True, timeout=PATIENCE, check=True)
    assert done.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


@pytest.mark.parametrize("garbage", [b"garbage\n", b"{}\n", b"[]\n", b"\xff\xfe\n", b'"text"\n', b"[" * 50_000 + b"\n"])
def test_garbage_is_answered_and_serving_goes_on(garbage: bytes) -> None:
    with RawClient() as client:
        client.begin()
        client.send(garbage)
        assert client.line() == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
        assert client.call("echo", text="x")["content"][0]["text"] == "x"


def test_empty_lines_are_nothing() -> None:
    with RawClient() as client:
        client.begin()
        client.send(b"\n  \r\n")
        assert client.call("echo", text="x")["content"][0]["text"] == "x"


def test_megabytes_pass_both_ways() -> None:
    text = "群" * 1_000_000
    with RawClient() as client:
        client.begin()
        assert client.call("echo", text=text)["content"][0]["text"] == text


def test_a_line_without_end_is_refused_and_not_kept() -> None:
    with RawClient() as client:
        client.begin()
        for _ in range(80):
            client.send(b"x" * 1024 * 1024)
        client.send(b"\n")
        assert client.line()["error"]["code"] == -32700
        assert client.call("echo", text="x")["content"][0]["text"] == "x"


def test_more_requests_than_are_read_ahead_are_answered() -> None:
    with RawClient() as client:
        client.begin()
        asked = [client.ask("ping") for _ in range(3000)]
        assert {client.line()["id"] for _ in asked} == set(asked)


def test_a_client_that_reads_late_gets_everything() -> None:
    text = "x" * 200_000
    with RawClient() as client:
        client.begin()
        asked = [client.ask("tools/call", name="echo", arguments={"text": text}) for _ in range(10)]
        assert {client.line()["id"] for _ in asked} == set(asked)


def test_a_client_that_never_reads_does_not_keep_it_from_ending() -> None:
    with RawClient() as client:
        client.begin()
        for _ in range(10):
            client.ask("tools/call", name="echo", arguments={"text": "x" * 200_000})
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(PATIENCE) == 0


def test_a_quick_call_does_not_wait_for_a_slow_one() -> None:
    with RawClient() as client:
        client.begin()
        slow = client.ask("tools/call", name="wait", arguments={"name": "a"})
        assert client.call("echo", text="x")["isError"] is False
        client.notify("notifications/cancelled", requestId=slow)
        assert client.call("was_cancelled")["content"][0]["text"] == '["a"]'


def test_a_client_that_dies_leaves_no_process_behind() -> None:
    with RawClient() as client:
        client.begin()
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.ask("tools/call", name="echo", arguments={"text": "into the void"})
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.process.stdin = client.process.stdout = None
        assert client.process.wait(PATIENCE) == 0
