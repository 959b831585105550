"""The installed command as a person and a pipe meet it."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.forking import HUB, Forked, preload
from support.ports import free_port
from support.waiting import PATIENCE

import nanobot_transcript
import transcript_channels
import transcript_mcp
from nanobot_transcript import GroupTranscriptStore

preload(*HUB)

TEAM = "feishu:oc_team"
VARIABLE = "NANOBOT_TRANSCRIPT_"
Command = Callable[..., list[str]]
OnTerminal = Callable[..., Any]
Stream = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def store(make_store: Callable[..., GroupTranscriptStore]) -> GroupTranscriptStore:
    store = make_store()
    store.members.remember_person("on_ada", "Ada")
    store.append(TEAM, "user", "hello", "on_ada", "om_1", 1_763_600_000_000)
    return store


@pytest.fixture
def stream(command: Command, env: dict[str, str]) -> Iterator[Stream]:
    """Starts a command whose output is read line by line."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, encoding="utf-8"
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)


def test_the_installed_command_prints_its_version() -> None:
    script = Path(sys.executable).with_name("nanobot-transcript")
    if not script.exists():
        pytest.skip("the package is not installed with its script")
    done = subprocess.run([script, "--version"], capture_output=True, timeout=PATIENCE, check=True, encoding="utf-8")
    assert done.stdout.startswith("nanobot-transcript ")


@pytest.mark.parametrize("arguments", [["--help"], ["tail", "--help"], ["doctor", "--help"], ["--version"]])
def test_help_comes_without_loading_what_commands_need(arguments: list[str], env: dict[str, str]) -> None:
    heavy = ["pydantic_settings", "aiohttp", "httpx", "nanobot", "lark_oapi", "filelock", "yaml", "rich.markdown"]
    code = (
        "import sys\n"
        "from nanobot_transcript.cli import main\n"
        f"assert main({arguments!r}) == 0\n"
        f"loaded = [name for name in {heavy!r} if name in sys.modules]\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], env=env, timeout=PATIENCE, check=True, stdout=subprocess.DEVNULL)


def test_tail_follows_what_others_write_and_what_they_change(store: GroupTranscriptStore, stream: Stream) -> None:
    process = stream("tail", "-f", "oc_team", "--jsonl")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["content"] == "hello"
    store.append(TEAM, "user", "news", "on_ada", "om_2")
    store.recall(TEAM, "om_1")
    assert json.loads(process.stdout.readline())["content"] == "news"
    recalled = json.loads(process.stdout.readline())
    assert (recalled["op"], recalled["target"]) == ("recall", "om_1")


def test_tail_of_all_chats_also_follows_one_that_begins_later(store: GroupTranscriptStore, stream: Stream) -> None:
    process = stream("tail", "-f")
    assert process.stdout is not None
    assert process.stdout.readline().endswith("feishu:oc_team  Ada: hello\n")
    store.append("feishu:oc_new", "user", "first", "on_x", "om_1", sender_name="Xiao")
    assert process.stdout.readline().endswith("feishu:oc_new  Xiao: first\n")
    store.append("feishu:oc_new", "user", "second", "on_x", "om_2", sender_name="Xiao")
    assert process.stdout.readline().endswith("feishu:oc_new  Xiao: second\n")


def test_tail_waits_for_the_first_chat_of_an_empty_store(
    make_store: Callable[..., GroupTranscriptStore], stream: Stream
) -> None:
    process = stream("tail", "-f", "--jsonl")
    assert process.stdout is not None
    make_store().append(TEAM, "user", "the first ever", "on_ada", "om_1")
    assert json.loads(process.stdout.readline())["content"] == "the first ever"


def test_a_person_is_told_what_tail_waits_for(on_terminal: OnTerminal, base_dir: Path) -> None:
    terminal = on_terminal("tail", "-f")
    terminal.until("Ctrl-C ends it.")
    assert str(base_dir) in terminal.seen.replace("\r\n", "")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130


def test_the_package_itself_can_be_run(env: dict[str, str]) -> None:
    command = [sys.executable, "-m", "nanobot_transcript", "-V"]
    done = subprocess.run(command, env=env, capture_output=True, timeout=PATIENCE, check=True, encoding="utf-8")
    assert done.stdout.startswith("nanobot-transcript ")


def test_ctrl_c_ends_a_stream_with_130_and_no_traceback(store: GroupTranscriptStore, stream: Stream) -> None:
    process = stream("tail", "-f", "oc_team")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_reader_that_has_enough_is_no_error(store: GroupTranscriptStore, stream: Stream) -> None:
    for number in range(5000):
        store.append(TEAM, "user", "x" * 100, "on_ada", f"om_x{number}")
    for arguments in (("show", "oc_team"), ("show", "oc_team", "--jsonl"), ("export", "oc_team")):
        process = stream(*arguments)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert process.wait(PATIENCE) == 0


def test_a_stream_whose_reader_is_gone_ends(store: GroupTranscriptStore, stream: Stream) -> None:
    process = stream("tail", "-f", "oc_team")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    store.append(TEAM, "user", "nobody reads this", "on_ada")
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(PATIENCE) == 0


def test_a_pipe_gets_no_colours_and_no_wrapping(
    store: GroupTranscriptStore, command: Command, env: dict[str, str]
) -> None:
    store.append(TEAM, "user", "word " * 100, "on_ada", "om_2")
    done = subprocess.run(command("tail"), env=env, capture_output=True, timeout=PATIENCE, check=True, encoding="utf-8")
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) == 2


def test_an_export_is_utf8_whatever_the_encoding_of_the_terminal(
    store: GroupTranscriptStore, command: Command, env: dict[str, str]
) -> None:
    store.append(TEAM, "user", "你好", "on_ada", "om_2")
    done = subprocess.run(
        command("export"), env=env | {"PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=PATIENCE, check=True
    )
    assert "你好" in done.stdout.decode("utf-8")


def test_doctor_without_nanobot_says_what_still_works(command: Command, env: dict[str, str], tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for package in Path(pytest.__file__).parents[1].iterdir():
        if not package.name.lower().startswith(("nanobot", "lark", "_editable")):
            (packages / package.name).symlink_to(package)
    for ours in (nanobot_transcript, transcript_channels, transcript_mcp):
        (packages / ours.__name__).symlink_to(Path(ours.__path__[0]))
    python, *arguments = command("doctor", "--json")
    done = subprocess.run(
        [python, "-S", *arguments],
        env=env | {"PYTHONPATH": str(packages)},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        cwd=tmp_path,
    )
    findings = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}
    for package in ("nanobot", "lark-oapi"):
        assert findings[package]["severity"] == "info"
        assert "pip install" in findings[package]["fix"]
    assert "plugin" not in findings
    assert done.returncode == 0


def test_a_terminal_gets_columns_days_and_colours(store: GroupTranscriptStore, on_terminal: OnTerminal) -> None:
    store.append(TEAM, "user", "中文" * 40, "on_ada", "om_2", 1_763_600_001_000)
    terminal = on_terminal("show", "oc_team")
    assert terminal.end() == 0
    assert "\x1b[" in terminal.seen
    assert "2025-11-" in terminal.seen
    assert terminal.seen.count("中文中") >= 2, "a long text goes on in its column"


def test_the_text_keeps_most_of_a_terminal_when_there_are_several_chats(
    store: GroupTranscriptStore, on_terminal: OnTerminal
) -> None:
    other = "feishu:oc_0123456789abcdef0123456789abcdef"
    store.append(other, "user", "word " * 24, "on_bo", "om_1", 1_763_600_001_000, sender_name="Bo")
    store.append(other, "user", "more", "on_bo", "om_2", 1_763_600_002_000)
    for command in (("tail",), ("search", "o")):
        terminal = on_terminal(*command, NO_COLOR="1")
        assert terminal.end() == 0
        lines = terminal.seen.splitlines()
        assert [line for line in lines if "oc_" in line] == ["oc_team", "oc_01234567"]
        assert sum("word word word word word word word word word word" in line for line in lines) == 2
        assert all(len(line) <= 80 for line in lines)


def test_no_color_switches_off_every_escape(store: GroupTranscriptStore, on_terminal: OnTerminal) -> None:
    terminal = on_terminal("show", "oc_team", NO_COLOR="1")
    assert terminal.end() == 0
    assert "hello" in terminal.seen
    assert "\x1b" not in terminal.seen


def test_purge_says_what_goes_and_asks(store: GroupTranscriptStore, on_terminal: OnTerminal) -> None:
    refused = on_terminal("purge", "oc_team")
    refused.until("Erase it?")
    assert "1 message in feishu:oc_team will be erased from the disk for good." in refused.seen.replace("\r\n", " ")
    refused.type("n")
    assert refused.end() == 1
    assert len(store.get_recent(TEAM)) == 1
    agreed = on_terminal("purge", "oc_team")
    agreed.until("Erase it?")
    agreed.type("y")
    assert agreed.end() == 0
    assert store.get_recent(TEAM) == []


def test_an_import_on_a_terminal_shows_progress(on_terminal: OnTerminal, tmp_path: Path) -> None:
    log = tmp_path / "2025-11-20.log"
    log.write_text("".join(f"[12:00] <ada> {number}\n" for number in range(3000)), encoding="utf-8")
    terminal = on_terminal("import", str(log), "--chat", TEAM)
    assert terminal.end() == 0
    assert "100%" in terminal.seen
    assert "3,000 new" in terminal.seen


def test_an_mcp_server_started_by_hand_says_what_it_is(on_terminal: OnTerminal) -> None:
    terminal = on_terminal("mcp", "filebox")
    terminal.until("An MCP server (filebox) for a client to start")
    terminal.until("mcp-config")
    terminal.process.send_signal(signal.SIGINT)
    # 0 from a server that serves, 130 from one that has not begun; Python turns that into the signal itself, a shell's
    # 130, when it comes into an `exec` of a text, of which the imports are full.
    assert terminal.end() in (0, 130, -signal.SIGINT), terminal.seen
    assert "Traceback" not in terminal.seen


def serve(env: dict[str, str], port: str = "0") -> Forked:
    """A hub whose stderr is a pipe."""
    return Forked("nanobot_transcript", "serve", "--port", port, env=env, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def hub_that_says(lines: int, env: dict[str, str]) -> Iterator[list[str]]:
    """So many lines of a hub that starts."""
    process = serve(env)
    try:
        yield [process.stderr.readline() for _ in range(lines)]
    finally:
        process.terminate()
        process.communicate()
    assert process.returncode == 0


def test_the_hub_says_at_once_that_it_starts(env: dict[str, str]) -> None:
    with hub_that_says(3, env) as (starting, servers, page):
        assert starting == "Starting the hub …\n"
        assert servers.startswith("MCP servers at http://127.0.0.1:")
        assert re.fullmatch(r"The page for people: http://127\.0\.0\.1:\d+/\n", page)


def test_a_hub_with_tokens_says_how_each_opens_its_page(env: dict[str, str]) -> None:
    hub, own = {f"{VARIABLE}HUB__TOKENS__ME": "secret-1"}, {f"{VARIABLE}ASSISTANT__TOKENS__ADA": "secret-2"}
    people = {f"{VARIABLE}HUB__PAGE_TOKEN": "secret-3"}
    with hub_that_says(4, env | hub | own | people) as (_, _, page, questions):
        assert re.search(r": http://127\.0\.0\.1:\d+/\?token=TOKEN, with hub\.page_token", page)
        assert re.search(r":\d+/\?token=TOKEN#/questions, with one of assistant\.tokens", questions)
    with hub_that_says(4, env | own) as (_, _, page, questions):
        assert re.fullmatch(r"The page for people: http://127\.0\.0\.1:\d+/\n", page)
        assert "#/questions" in questions


def test_the_second_address_is_told_where_questions_are_held(env: dict[str, str]) -> None:
    address = f"127.0.0.1:{free_port()}"
    listen = {f"{VARIABLE}ASSISTANT__LISTEN": address}
    with hub_that_says(4, env | listen) as lines:
        assert lines[-1] == f"Programs of Agent Assistant find it at {address}, too.\n"
    process = serve(env | listen | {f"{VARIABLE}HUB__SERVERS": '["io"]'})
    said = [process.stderr.readline() for _ in range(3)]
    process.terminate()  # it says all it has to say before it looks for signals
    _, rest = process.communicate()
    assert said[-1].startswith("The page for people: ")
    assert rest == ""


def test_a_hub_without_questions_leaves_the_second_address_to_others(env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = {f"{VARIABLE}ASSISTANT__LISTEN": f"127.0.0.1:{taken.getsockname()[1]}"}
        with hub_that_says(3, env | listen | {f"{VARIABLE}HUB__SERVERS": '["io"]'}) as lines:
            assert lines[-1].startswith("The page for people: ")


def test_a_second_hub_at_the_same_address_is_told_of_that_alone(env: dict[str, str]) -> None:
    with hub_that_says(3, env) as lines:
        port = lines[1].split(":")[-1].split("/")[0]
        second = serve(env, port)
        _, said = second.communicate()
    assert second.returncode == 2
    assert re.search(r"cannot listen at 127\.0\.0\.1:\d+: Address already in use\.", said)
    assert "WARNING" not in said
