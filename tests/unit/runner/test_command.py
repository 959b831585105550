"""A program as a mind: real processes, from ``cat`` to those that misbehave."""

import asyncio
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from support.loop_clock import later
from support.memory_chat import profile
from support.waiting import PATIENCE, until

from nanobot_transcript.conversation.prompt import Prompt, build_messages
from nanobot_transcript.errors import ConfigError, ResponderError, ResponderTimeoutError
from nanobot_transcript.runner.responders import process
from nanobot_transcript.runner.responders.command import CommandOptions, CommandResponder

ALPHA = profile("Alpha", description="Plans.")


def prompt(text: str = "What is new?") -> Prompt:
    message: Any = {"role": "user", "content": text, "sender": "on_ada", "message_id": "om_1", "ts": 1.0}
    return build_messages(ALPHA, "feishu:oc_1", message, transcript_history=[])


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def answer(command: list[str], text: str = "What is new?", **options: Any) -> str:
    responder = CommandResponder(CommandOptions(command, **options))
    return "".join([piece async for piece in responder.respond(prompt(text))])


async def answered_too_late(command: list[str], begun: Path) -> None:
    """Raises what a program gets whose time is over once it has written the file ``begun``."""
    asking = asyncio.create_task(answer(command, timeout=3600))
    await until(lambda: begun.exists() and begun.read_text())
    later(3600)
    await asking


async def test_cat_answers_with_the_whole_prompt() -> None:
    given = prompt()
    assert await answer(["cat"]) == given.text
    assert given.text.endswith("What is new?")
    assert "You are Alpha. Plans." in given.text


async def test_the_bare_message_can_be_the_input() -> None:
    assert await answer(["cat"], "早上好 👋", input="message") == "早上好 👋"


async def test_a_program_can_be_given_everything_as_json() -> None:
    document = json.loads(await answer(["cat"], "hello", input="json"))
    assert document["agent"] == "Alpha"
    assert document["message"]["content"] == "hello"
    assert document["turns"][-1]["role"] == "user"


async def test_the_prompt_replaces_its_blank_in_an_argument_and_no_shell_looks_at_it() -> None:
    text = "$(touch x) `id` ; rm -rf / 'a' \"b\" *\n%PATH%"
    assert await answer(["printf", "%s", "{prompt}"], text, input="message") == text


async def test_a_message_never_passes_for_an_option() -> None:
    shown = await answer([*python("import sys; print(sys.argv[1:])"), "{prompt}"], "--rm-all", input="message")
    assert shown.strip() == "[' --rm-all']"


async def test_a_zero_byte_and_lone_surrogates_reach_the_program_as_replacement_characters() -> None:
    assert await answer(["printf", "%s", "{prompt}"], "a\0b\ud800", input="message") == "a\ufffdb\ufffd"


async def test_an_argument_that_is_too_long_is_told_with_the_way_out() -> None:
    with pytest.raises(ResponderError, match="too long") as caught:
        await answer(["echo", "{prompt}"], "x" * 200_000, input="message")
    assert "stdin" in caught.value.hint


async def test_a_long_prompt_comes_whole_on_stdin() -> None:
    assert await answer(["wc", "-c"], "x" * 3_000_000, input="message") == "3000000\n"


async def test_a_program_that_does_not_read_its_input_still_answers() -> None:
    assert await answer(["echo", "done"], "x" * 3_000_000) == "done\n"


async def test_what_is_no_utf8_is_replaced_also_when_a_character_comes_in_two_pieces() -> None:
    code = r"""
import sys, time
out = sys.stdout.buffer
out.write(b"\xff ok \xe4\xbd"); out.flush()
sys.stdin.read()
out.write(b"\xa0\n"); out.flush()
"""
    assert await answer(python(code)) == "\ufffd ok 你\n"


async def test_pieces_come_while_the_program_is_still_running() -> None:
    code = "import sys, time; print('first', flush=True); time.sleep(600)"
    responder = CommandResponder(CommandOptions(python(code)))
    async with aclosing(responder.respond(prompt())) as pieces, asyncio.timeout(PATIENCE):
        assert (await anext(pieces)).startswith("first")


async def test_a_failing_program_gives_an_error_with_the_end_of_its_complaint() -> None:
    code = "import sys; print('half an answer'); sys.stderr.write('x' * 9999 + ' the key\\nis wrong'); sys.exit(3)"
    with pytest.raises(ResponderError, match=r"exit code 3: x+ the key is wrong$") as caught:
        await answer(python(code))
    assert len(str(caught.value)) < 500


async def test_a_program_that_kills_itself_is_told_by_signal() -> None:
    with pytest.raises(ResponderError, match="signal 9"):
        await answer(python("import os; os.kill(os.getpid(), 9)"))


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        (["/no/such/program"], {}, "no program"),
        (["cat"], {"cwd": Path("/no/such/folder")}, "no directory"),
        (["/etc/passwd"], {}, "may not be run"),
        (["cat\0"], {}, "could not be started"),
    ],
)
async def test_what_cannot_be_started_says_why(command: list[str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ResponderError, match=said) as caught:
        await answer(command, **options)
    assert caught.value.hint


def test_a_command_without_a_program_is_refused() -> None:
    with pytest.raises(ConfigError):
        CommandResponder(CommandOptions([]))


async def test_a_program_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""
    with pytest.raises(ResponderTimeoutError, match=r"longer than 3600 s"):
        await answered_too_late(python(code), pids)
    await until(lambda: not any(map(alive, pids.read_text().split())))


async def test_a_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    ready = tmp_path / "pid"
    code = f"""
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(ready)!r}, "w").write(str(os.getpid()))
time.sleep(600)
"""
    with pytest.raises(ResponderTimeoutError):
        await answered_too_late(python(code), ready)
    assert not Path("/proc", ready.read_text()).exists()  # collected, too: asyncio complains if its loop ends before


async def test_whoever_stops_reading_ends_the_program(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    responder = CommandResponder(CommandOptions(python(code)))
    async with aclosing(responder.respond(prompt())) as pieces, asyncio.timeout(PATIENCE):
        pid = (await anext(pieces)).strip()
    await until(lambda: not alive(pid))


async def test_a_child_left_behind_with_stdout_open_holds_up_nobody_and_is_ended(tmp_path: Path) -> None:
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""
    pid = (await answer(python(code), timeout=PATIENCE)).strip()
    await until(lambda: not alive(pid))


@pytest.mark.parametrize("told", [True, False])
async def test_why_a_program_failed_may_be_heard_after_its_end(monkeypatch: pytest.MonkeyPatch, told: bool) -> None:
    class Program:
        """Has ended, and its last words are still in the pipe; or a child of it keeps the pipe open."""

        def get_returncode(self) -> int:
            return 1

    monkeypatch.setattr(process, "_LAST_WORDS", PATIENCE if told else 0.01)
    started = process.Started(process.Run([], None, {}))
    wire, started._transport = started._wire, Program()  # pyright: ignore[reportAttributeAccessIssue]
    wire.process_exited()
    loop = asyncio.get_running_loop()
    ending = loop.create_task(started.end(loop.time() + PATIENCE))
    await asyncio.sleep(0)
    assert not ending.done()
    if told:
        wire.pipe_data_received(2, b"the key is wrong")
        wire.pipe_connection_lost(2, None)
    assert await ending == 1
    assert started.complaint == ("the key is wrong" if told else "")


async def test_endless_output_is_an_error_and_not_an_answer() -> None:
    with pytest.raises(ResponderError, match="more than 100000 bytes"):
        await answer(["yes"], max_output=100_000)


async def test_secrets_of_this_process_do_not_reach_the_program_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hidden")
    monkeypatch.setenv("PLAIN_VALUE", "seen")
    code = "import os; print(os.environ.get('SOME_API_KEY'), os.environ.get('PLAIN_VALUE'), os.environ.get('GIVEN'))"
    assert await answer(python(code), env={"GIVEN": "1"}) == "None seen 1\n"
    assert await answer(python(code), inherit="minimal") == "None None None\n"
    assert await answer(python(code), inherit="all") == "hidden seen None\n"


async def test_the_program_is_told_who_it_is_and_what_it_answers(tmp_path: Path) -> None:
    code = (
        "import os; e = os.environ; "
        "print(e['TRANSCRIPT_AGENT'], e['TRANSCRIPT_SESSION_KEY'], e['TRANSCRIPT_MESSAGE_ID'], os.getcwd())"
    )
    assert (await answer(python(code), cwd=tmp_path)).strip() == f"Alpha feishu:oc_1 om_1 {tmp_path.resolve()}"


def alive(pid: str) -> bool:
    """True while a process runs; one that has ended and was not collected yet does not."""
    if not pid:
        return True
    try:
        stat = Path(f"/proc/{int(pid)}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
