"""``run -c config.yaml`` end to end: real processes, real programs as minds, the real long connection."""

import asyncio
import json
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript.cli import main
from nanobot_transcript.cli.commands.run.agents import chosen, compose
from nanobot_transcript.settings import load_settings
from transcript_channels.simulator import ScriptedModel

ROOT = Path(__file__).resolve().parents[3]
CAT = {"kind": "command", "command": ["cat"], "input": "message"}


def script(*answers: str) -> dict[str, Any]:
    return {"kind": "scripted", "answers": list(answers)}


def program(folder: Path, code: str) -> dict[str, Any]:
    path = folder / "agent.py"
    path.write_text(code, encoding="utf-8")
    return {"kind": "command", "command": [sys.executable, str(path)], "input": "json"}


def one_agent(responder: dict[str, Any]) -> dict[str, Any]:
    return {"agents": {"cli_1": {"name": "A", "app_secret": "s", "responder": responder}}}


def wrong_config(folder: Path, change: dict[str, Any]) -> Path:
    """A configuration that is refused; nothing outside is asked, whatever happens."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({"feishu": {"base_url": "http://127.0.0.1:9"}, **change}), encoding="utf-8")
    return path


async def test_a_program_of_ones_own_is_told_what_the_others_said(site: Any) -> None:
    alpha, beta = site.app("Alpha"), site.app("Beta")
    code = """
import json, sys
document = json.load(sys.stdin)
prompt = document["turns"][-1]["content"]
print("Beta said something" if '"from": "Beta"' in prompt and '"bot": true' in prompt else "nobody spoke")
"""
    minds = {alpha: program(site.folder, code), beta: script("I am Beta.")}
    await site.run(site.config(minds))
    assert await site.ask("@Beta who are you?", beta) == "I am Beta."
    assert await site.ask("@Alpha who spoke?", alpha) == "Beta said something"


async def test_cat_and_a_script_answer_from_a_process_each_over_the_real_long_connection(site: Any) -> None:
    alpha, beta = site.app("Alpha"), site.app("Beta")
    config = site.config({alpha: script("I am Alpha."), beta: CAT})
    first, second = await asyncio.gather(site.run(config, "Alpha", long=True), site.run(config, "Beta", long=True))
    assert first.events == [{"event": "ready", "agents": ["Alpha"]}]
    assert await site.ask("@Alpha you?", alpha) == "I am Alpha."
    await site.until(lambda: len(site.record()) == 2)  # it stands in the group before it is recorded
    assert await site.ask("@Beta say this 再说一遍", beta) == "@Beta say this 再说一遍"
    await site.until(lambda: len(site.record()) == 4)
    assert [entry["sender"] for entry in site.record()] == [site.ada.union_id, "Alpha", site.ada.union_id, "Beta"]
    question, answer = site.record()[2:]
    assert answer.get("reply_to") == question["message_id"]
    assert answer["message_id"] == site.group.messages[-1].message_id
    assert [await first.stop(), await second.stop()] == [0, 0]
    assert "ERROR" not in first.log + second.log


async def test_a_failing_program_answers_nothing_and_the_log_says_why(site: Any) -> None:
    alpha = site.app("Alpha")
    code = "import sys; print('half'); sys.stderr.write('the key is wrong'); sys.exit(1)"
    running = await site.run(site.config({alpha: {"kind": "command", "command": [sys.executable, "-c", code]}}))
    await site.feishu.say(site.group, site.ada, "@Alpha hello")
    await site.until(lambda: "does not answer" in running.log)
    assert await running.stop() == 0
    (line,) = [line for line in running.log.splitlines() if "does not answer" in line]
    assert "exit code 1: the key is wrong" in line
    assert len(site.group.messages) == 1
    assert "Traceback" not in running.log


async def test_a_failing_program_is_seen_in_the_group_and_by_who_looks_after_the_bot(
    site: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = site.app("Alpha")
    code = "import sys; sys.stderr.write('the key is wrong'); sys.exit(1)"
    mind = {"kind": "command", "command": [sys.executable, "-c", code]}
    config = site.config({alpha: mind}, runner={"failure_text": "I cannot answer just now.", "reaction": "OnIt"})
    running = await site.run(config)
    assert await site.ask("@Alpha hello", alpha) == "I cannot answer just now."
    await site.until(lambda: len(site.record()) == 2)
    assert await running.stop() == 0
    assert site.group.messages[0].reactions == []
    assert main(["gate", "explain", "--store", str(site.folder / "transcripts")]) == 0
    assert "failed: " in (shown := capsys.readouterr().out)
    assert "exit code 1: the key is wrong" in shown
    monkeypatch.setenv("HOME", str(site.folder))
    assert main(["doctor", "--store", str(site.folder / "transcripts"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    (told,) = [one["message"] for one in found if one["check"] == "answers" and one["severity"] == "warning"]
    assert told.startswith("Alpha: 1 of 1 answers of the last day failed; newest: ")
    assert "exit code 1: the key is wrong" in told


async def test_a_message_carries_a_reaction_while_a_program_answers_it(site: Any) -> None:
    alpha = site.app("Alpha")
    flag = site.folder / "go"
    code = f"""
import os, time
while not os.path.exists({str(flag)!r}):
    time.sleep(0.02)
print("finished")
"""
    running = await site.run(site.config({alpha: {"kind": "command", "command": [sys.executable, "-c", code]}}))
    asked = await site.feishu.say(site.group, site.ada, "@Alpha take your time")
    await site.until(lambda: asked.reactions)
    assert [(one.emoji, one.member) for one in asked.reactions] == [("THUMBSUP", alpha)]
    flag.touch()
    await site.feishu.wait_for_message(site.group, alpha, "finished")
    await site.until(lambda: not asked.reactions)
    assert await running.stop() == 0


async def test_a_stop_waits_for_the_answer_under_way(site: Any) -> None:
    alpha = site.app("Alpha")
    flag = site.folder / "go"
    code = f"""
import json, os, sys, time
json.load(sys.stdin)
open({str(site.folder / "begun")!r}, "w").close()
while not os.path.exists({str(flag)!r}):
    time.sleep(0.05)
print("finished")
"""
    running = await site.run(site.config({alpha: program(site.folder, code)}))
    await site.feishu.say(site.group, site.ada, "@Alpha take your time")
    await site.until((site.folder / "begun").exists)
    stopping = asyncio.ensure_future(running.stop())
    await site.until(lambda: "Stopping; unfinished answers" in running.log)
    flag.touch()
    assert await stopping == 0
    await site.feishu.wait_for_message(site.group, alpha, "finished")
    assert [entry["content"] for entry in site.record()] == ["@Alpha take your time", "finished"]
    assert (await running.event("stopped"))["agents"] == ["Alpha"]


async def test_ctrl_c_twice_ends_it_at_once_with_the_program_it_runs(site: Any) -> None:
    alpha = site.app("Alpha")
    code = f"""
import os, sys, time
open({str(site.folder / "pid")!r}, "w").write(str(os.getpid()))
time.sleep(600)
"""
    running = await site.run(site.config({alpha: program(site.folder, code)}))
    await site.feishu.say(site.group, site.ada, "@Alpha take your time")
    await site.until(lambda: (site.folder / "pid").exists() and (site.folder / "pid").read_text())
    running.process.send_signal(signal.SIGINT)
    await site.until(lambda: "Stopping" in running.log)
    assert await running.stop(signal.SIGINT) == 130
    pid = (site.folder / "pid").read_text()
    until(lambda: not Path(f"/proc/{pid}").exists(), "the program ended")


async def test_the_settings_of_the_runner_and_of_requests_hold(site: Any) -> None:
    alpha = site.app("Alpha")
    async with ScriptedModel(["short", "long" * 20, "short again"]) as model:
        mind = {"kind": "openai", "model": "any", "base_url": model.base_url, "extra": {"temperature": 0.25}}
        config = site.config({alpha: mind}, runner={"grace": 3.5, "max_answer_chars": 40, "parallel_chats": 1})
        running = await site.run(config)
        assert await site.ask("@Alpha one", alpha) == "short"
        await site.feishu.say(site.group, site.ada, "@Alpha two")
        assert await site.ask("@Alpha three", alpha) == "short again"
        assert [request["temperature"] for request in model.requests] == [0.25] * 3
    assert await running.stop() == 0
    assert "more than 40 characters" in running.log
    assert "unfinished answers get 3.5 s" in running.log


async def test_after_a_kill_a_new_process_goes_on_and_answers_nothing_twice(site: Any) -> None:
    alpha = site.app("Alpha")
    config = site.config({alpha: CAT})
    running = await site.run(config)
    first = await site.ask("@Alpha before", alpha)
    assert first == "@Alpha before"
    await site.until(lambda: len(site.record()) == 2)
    await running.stop(signal.SIGKILL)
    await site.run(config)
    await site.feishu.push_again(site.group.messages[0])
    assert await site.ask("@Alpha after", alpha) == "@Alpha after"
    assert len(site.feishu.messages(site.group, alpha)) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"agents": {"cli_1": {"name": "A"}}}, "There is no agent to run"),
        ({"agents": {"cli_1": {"name": "A", "responder": CAT}}}, "agents.cli_1.app_secret is missing"),
        ({"agents": {"cli_1": {"name": "A", "app_secret": "s", "responder": {}}}}, "responder.model is missing"),
        ({"agents": {"cli_1": {"name": "A", "app_secret": "${NOT_SET}", "responder": CAT}}}, "NOT_SET"),
        (
            {
                "agents": {"cli_1": {"name": "A", "app_secret": "s", "responder": CAT}},
                "feishu": {"base_url": "http://127.0.0.1:9", "webhook": {"listen": "9000x"}},
            },
            "not an address and port",
        ),
        (
            one_agent(CAT | {"command": ["no-such-program"]}),
            "responder.command: There is no program",
        ),
        (one_agent(CAT | {"command": ["/etc/passwd"]}), "responder.command: /etc/passwd may not be run"),
        (one_agent(CAT | {"cwd": "/no/such/folder"}), "responder.cwd: There is no directory /no/such/folder"),
        (one_agent(CAT | {"env": {"PATH": "/no/such/folder"}}), "responder.command: There is no program cat"),
    ],
)
@pytest.mark.usefixtures("logging_as_before")
def test_a_wrong_configuration_is_told_in_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    change: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = wrong_config(tmp_path, change)
    assert main(["run", "-c", str(path), "--jsonl"]) == 2
    output, log = capfd.readouterr()
    assert said in log
    assert "Traceback" not in log
    assert json.loads(output)["error"]["code"] == "config"


async def test_a_process_whose_configuration_is_wrong_ends_with_the_sentence(site: Any) -> None:
    running = await site.run(wrong_config(site.folder, {}), wait=False)
    async with asyncio.timeout(PATIENCE):
        output = (await running.process.communicate())[0]
    assert running.process.returncode == 2
    assert "There is no agent to run" in running.log
    assert "Traceback" not in running.log
    assert json.loads(output)["error"]["code"] == "config"


async def test_a_wrong_secret_is_told_and_ends_it(site: Any) -> None:
    alpha = site.app("Alpha")
    config = site.config({alpha: CAT})
    config.write_text(config.read_text().replace("${SECRET_Alpha}", "wrong"), encoding="utf-8")
    running = await site.run(config, wait=False)
    async with asyncio.timeout(PATIENCE):
        await running.process.communicate()
    assert running.process.returncode == 4
    assert f"Error: Alpha (agents.{alpha.app_id}): " in running.log
    assert "Hint: " in running.log
    assert "ERROR" not in running.log, "an only agent is told once"
    assert "Traceback" not in running.log


async def test_a_bot_whose_secret_is_refused_is_named_and_the_others_go_on(site: Any) -> None:
    alpha, beta = site.app("Alpha"), site.app("Beta")
    config = site.config({alpha: CAT, beta: CAT})
    config.write_text(config.read_text().replace("${SECRET_Beta}", "wrong"), encoding="utf-8")
    running = await site.run(config, "Alpha", "Beta")
    ready = running.events[-1]
    assert ready["agents"] == ["Alpha"]
    (refused,) = ready["refused"]
    assert (refused["agent"], refused["error"]["code"]) == ("Beta", "credentials_refused")
    assert await site.ask("@Alpha still there?", alpha) == "@Alpha still there?"
    assert await running.stop() == 4
    (line,) = [line for line in running.log.splitlines() if "ERROR" in line]
    assert f"Beta (agents.{beta.app_id})" in line
    assert "developer console" in line


async def test_when_all_are_refused_it_ends_with_the_remote_exit_code(site: Any) -> None:
    alpha, beta = site.app("Alpha"), site.app("Beta")
    config = site.config({alpha: CAT, beta: CAT})
    for name in ("Alpha", "Beta"):
        config.write_text(config.read_text().replace(f"${{SECRET_{name}}}", "wrong"), encoding="utf-8")
    running = await site.run(config, wait=False)
    async with asyncio.timeout(PATIENCE):
        output = (await running.process.communicate())[0]
    assert running.process.returncode == 4
    assert json.loads(output.splitlines()[-1])["error"]["code"] == "platform"
    assert running.log.count("ERROR") == 2
    names = ", ".join(app.name for app in sorted((alpha, beta), key=lambda app: app.app_id))
    assert f"Error: The platform refused all agents: {names}." in running.log


async def test_two_bots_of_one_name_are_told_apart_with_a_warning(site: Any) -> None:
    alpha, other = site.app("Alpha"), site.app("Alpha")
    config = site.config({alpha: script("one"), other: script("two")})
    config.write_text(config.read_text().replace("${SECRET_Alpha}", "wrong"), encoding="utf-8")
    running = await site.run(config, wait=False)
    async with asyncio.timeout(PATIENCE):
        await running.process.communicate()
    (line,) = [line for line in running.log.splitlines() if "WARNING" in line]
    first, second = sorted([alpha.app_id, other.app_id])
    assert f"agents.{first} is Alpha, agents.{second} is Alpha-" in line


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
async def test_the_examples_can_be_run_and_are_explained_in_both_languages(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = path.read_text(encoding="utf-8")
    for program in ("claude", "codex"):
        (tmp_path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in re.findall(r"\$\{(\w+)\}", text):
        monkeypatch.setenv(name, "given")
    settings = load_settings(path, overrides={"store": {"dir": str(tmp_path / "transcripts")}})
    assert settings.unknown == ()
    composed = compose(settings, chosen(settings))
    assert composed.runner.agents
    await composed.close()
    comments = [line for line in text.splitlines() if line.strip().startswith("#")]
    assert any("\u4e00" <= letter <= "\u9fff" for line in comments for letter in line)
