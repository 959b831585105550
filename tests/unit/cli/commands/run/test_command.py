"""``run`` before anything connects: what is wrong is told, and nothing is started."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.readonly import read_only

pytestmark = pytest.mark.usefixtures("logging_as_before")

Run = Callable[..., Any]

AGENT = "{name: A, app_secret: s, responder: {kind: scripted, answers: [hello]}}"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(f"feishu: {{base_url: 'http://127.0.0.1:9'}}\nagents:\n  cli_1: {AGENT}\n", encoding="utf-8")
    return path


def test_a_file_in_the_place_of_the_store_is_told_as_other_commands_tell_it(
    run: Run, config: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for store in (file, file / "below"):
        ended = run("run", "-c", str(config), store=store)
        assert ended.code == 3
        assert [line for line in ended.err.splitlines() if line] == run("tail", store=store).err.splitlines()


@pytest.mark.parametrize("below", [".", "not/yet"])
def test_a_store_that_cannot_be_written_is_told_before_anything_connects(
    run: Run, config: Path, tmp_path: Path, below: str
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with read_only(place):
        ended = run("run", "-c", str(config), store=place / below)
        posted = run("post", "oc_team", "hello", store=place / below)
    assert (ended.code, posted.code) == (3, 3)
    assert ended.err == posted.err
    assert "Read-only file system" in ended.err or "Permission denied" in ended.err
    assert f"{place}" in ended.err
    assert "doctor" in ended.err
    assert ".state" not in ended.err


def test_an_agent_that_is_named_twice_is_refused(run: Run, config: Path) -> None:
    ended = run("run", "-c", str(config), "--agent", "A", "--agent", "A")
    assert ended.code == 2
    assert "--agent A is given twice" in ended.err


def test_an_agent_that_nobody_knows_is_refused_with_those_there_are(run: Run, config: Path) -> None:
    ended = run("run", "-c", str(config), "--agent", "B")
    assert ended.code == 2
    assert "There are: A." in ended.err


def test_without_a_configuration_file_a_person_is_told_to_name_one(run: Run) -> None:
    ended = run("run")
    assert ended.code == 2
    assert "no configuration file was read" in ended.err
    assert "-c FILE" in ended.err


TWO_AGENTS = """
hub: {tokens: {laptop: '${HUB_TOKEN}'}, page_token: '${PAGE_TOKEN}'}
gate: {judge: {kind: off, api_key: '${JUDGE_KEY}'}}
feishu: {base_url: 'https://${HOST}'}
agents:
  cli_1:
    name: A
    app_secret: ${A_SECRET}
    responder: {kind: command, command: [cat], env: {KEY: '${A_KEY}'}}
  cli_2:
    name: B
    app_secret: ${B_SECRET}
    responder: {kind: command, command: [cat, '${B_FILE}'], env: {KEY: '${B_KEY}'}}
"""


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ([], {"HOST", "A_SECRET", "A_KEY", "B_SECRET", "B_KEY", "B_FILE"}),
        (["--agent", "A"], {"HOST", "A_SECRET", "A_KEY"}),
        (["--agent", "B"], {"HOST", "B_SECRET", "B_KEY", "B_FILE"}),
    ],
)
def test_all_variables_that_the_agents_to_run_need_are_asked_for_at_once_and_no_others(
    run: Run, config: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], asked: set[str]
) -> None:
    names = ("HOST", "A_SECRET", "A_KEY", "B_SECRET", "B_KEY", "B_FILE", "HUB_TOKEN", "PAGE_TOKEN", "JUDGE_KEY")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    config.write_text(TWO_AGENTS, encoding="utf-8")
    ended = run("run", "-c", str(config), *options)
    assert ended.code == 2
    assert {name for name in names if f"${{{name}}}, which is not set" in ended.err} == asked
    assert {name for name in names if name in ended.err} == asked
    assert f"agents.cli_{2 if 'B' in options else 1}.app_secret (file {config}:" in ended.err


def test_nothing_is_said_of_connecting_when_a_program_is_missing(run: Run, config: Path) -> None:
    config.write_text(
        config.read_text(encoding="utf-8").replace("scripted, answers: [hello]", "command, command: [no-such-program]"),
        encoding="utf-8",
    )
    ended = run("run", "-c", str(config))
    assert ended.code == 2
    assert "agents.cli_1.responder.command: There is no program no-such-program." in ended.err
    assert "Connecting" not in ended.err
