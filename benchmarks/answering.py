"""How long answers take through a hub to those who wait for them, in milliseconds as one JSON document.

    python -m benchmarks.answering assistant PORT ROUNDS COUNT     COUNT answers at once, ROUNDS times
    python -m benchmarks.answering io PORT ROUNDS COUNT            the same with inputs for COUNT agents
    python -m benchmarks.answering hold PORT SOCKETS QUESTIONS     keeps them open until stdin ends; says when they are

Agent Assistant: callers ask over Connect, each on a line of its own, and two clients of ``/ws`` answer in turns;
from the moment at which a reply is written to the last byte of the caller's answer. IO bridge: from an input to the
``i_tool`` that waits for it. A program of its own, because it forks.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from benchmarks.children import child
from benchmarks.hubs import ROOT
from benchmarks.light import Sender, connected, post, until_answered, web_frame, web_upgrade
from transcript_mcp.assistant.protocol import proto

__all__ = ["bursts", "held"]

_LOGIN = ("Ada", "Bo")
_SETTLING = 0.3
"""Seconds until whatever was asked waits, and the hub rests."""


def bursts(kind: str, port: int, rounds: int, count: int) -> list[list[float]]:
    """The times of each round, taken by a program of its own. Raises CalledProcessError."""
    command = [sys.executable, "-m", "benchmarks.answering", kind, str(port), str(rounds), str(count)]
    with child(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        answer, _ = process.communicate(timeout=60 + rounds * (count + 10))
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    taken: list[list[float]] = json.loads(answer)
    return taken


@contextmanager
def held(port: int, sockets: int, questions: int) -> Iterator[None]:
    """So many pages and open questions, as long as this lasts."""
    command = [sys.executable, "-m", "benchmarks.answering", "hold", str(port), str(sockets), str(questions)]
    with child(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield


def _assistant(port: int, rounds: int, count: int) -> list[list[float]]:
    with Sender(port, [_greeting(name) for name in _LOGIN]) as pages:
        return _rounds(port, rounds, count, pages, _question, _reply, shown=True)


def _io(port: int, rounds: int, count: int) -> list[list[float]]:
    with Sender(port, [()] * count) as people:
        return _rounds(port, rounds, count, people, _waiting_tool, _input, shown=False)


def _rounds(
    port: int,
    rounds: int,
    count: int,
    sender: Sender,
    ask: Callable[[str], bytes],
    answer: Callable[[str], bytes],
    *,
    shown: bool,
) -> list[list[float]]:
    lines = [connected(port) for _ in range(count)]
    taken: list[list[float]] = []
    for _ in range(rounds):
        names = [uuid4().hex for _ in lines]
        for line, name in zip(lines, names, strict=True):
            line.sendall(ask(name))
        if shown:
            sender.until_read([name.encode() for name in names])
        time.sleep(_SETTLING if count > 1 else _SETTLING / 30)
        sent = sender.send([(number % sender.lines, answer(name)) for number, name in enumerate(names)])
        arrived = until_answered(dict(zip(names, lines, strict=True)))
        taken.append([(arrived[name] - began) * 1000 for name, began in zip(names, sent, strict=True)])
    return taken


def _hold(port: int, sockets: int, questions: int) -> None:
    with Sender(port, [_greeting(f"page {number}") for number in range(sockets)]) as pages:
        names = [uuid4().hex for _ in range(questions)]
        lines = [connected(port) for _ in names]
        for line, name in zip(lines, names, strict=True):
            line.sendall(_question(name))
        pages.until_read([name.encode() for name in names])
        time.sleep(_SETTLING)
        print("open", flush=True)
        sys.stdin.read()


def _greeting(nickname: str) -> tuple[bytes, ...]:
    login = proto.WebsocketMessage(Cmd="UserLogin", StrParam="bench", Nickname=nickname)
    return web_upgrade("/ws"), web_frame(login.SerializeToString())


def _question(name: str) -> bytes:
    asked = proto.McpAskQuestionRequest(
        Question="Deploy on Wednesday?", ProjectDirectory="/srv/shop", AgentName="Alpha"
    )
    request = proto.AskQuestionRequest(ID=name, UserToken="bench", Request=asked)
    return post("/agentassistproto.SrvAgentAssist/AskQuestion", "application/proto", request.SerializeToString())


def _reply(name: str) -> bytes:
    text = proto.McpResultContent(type=1, text=proto.TextContent(type="text", text="Yes, at noon."))
    frame = proto.WebsocketMessage(
        Cmd="AskQuestionReply",
        AskQuestionRequest=proto.AskQuestionRequest(ID=name),
        AskQuestionResponse=proto.AskQuestionResponse(ID=name, contents=[text]),
    )
    return web_frame(frame.SerializeToString())


def _waiting_tool(name: str) -> bytes:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "i_tool", "arguments": {"session_id": name}},
    }
    return post("/mcp/io", "application/json", json.dumps(call).encode())


def _input(name: str) -> bytes:
    return post(f"/agent/input/{name}", "application/json", b'{"data": "Summarise README.md"}')


def main(kind: str, port: str, *counts: str) -> None:
    if kind == "hold":
        _hold(int(port), *map(int, counts))
    else:
        print(json.dumps({"assistant": _assistant, "io": _io}[kind](int(port), *map(int, counts))))


if __name__ == "__main__":
    main(*sys.argv[1:])
