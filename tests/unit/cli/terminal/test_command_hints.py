"""Commands in hints: they carry along what was given, and can be copied."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli import main
from nanobot_transcript.cli.terminal import findings
from nanobot_transcript.cli.terminal.command_hints import again, elsewhere, given
from nanobot_transcript.findings import Finding
from nanobot_transcript.relevance.decision import later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog


def test_a_command_has_the_options_that_were_given_in_a_shells_quotes() -> None:
    with given(Path("my bots.yaml"), Path("/tmp/s")):
        told = again("gate explain", "feishu:oc_1", "it's")
        assert elsewhere() == ""
    words = ["nanobot-transcript", "gate", "explain", "feishu:oc_1", "it's", "--config", "my bots.yaml"]
    assert shlex.split(told) == [*words, "--store", "/tmp/s"]
    assert again("doctor") == "nanobot-transcript doctor"
    assert "--config FILE" in elsewhere()


def test_the_command_that_doctor_names_works_when_it_is_copied(
    store: GroupTranscriptStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my bots.yaml"
    file.write_text(f"store: {{dir: '{store.base_dir}'}}", encoding="utf-8")
    message: Any = {"message_id": "om_1"}
    failed = later("failed", "feishu:oc_team", message, "Alpha", why="boom")
    FileDecisionLog(store.base_dir).write("feishu:oc_team", failed)
    assert main(["doctor", "--config", str(file)]) == 1
    (command,) = (part for part in capsys.readouterr().out.split("`") if "gate explain" in part)
    assert main(shlex.split(command)[1:]) == 0
    assert "failed: boom" in capsys.readouterr().out


@pytest.mark.parametrize("named", [False, True])
def test_a_store_without_chats_names_run_and_where_another_record_could_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], named: bool
) -> None:
    (tmp_path / "s").mkdir()
    place = ["--store", str(tmp_path / "s")] if named else []
    assert main(["gate", "explain", *place]) == 2
    said = capsys.readouterr().err
    assert "once the plugin or `nanobot-transcript run` is running" in said
    assert ("--config FILE" in said) != named
    assert (f"`nanobot-transcript doctor --store {tmp_path / 's'}`" in said) == named


def test_a_narrow_terminal_breaks_no_command_apart(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(findings, "console", lambda: Console(width=40, highlight=False, markup=False))
    command = "`nanobot-transcript gate explain feishu:oc_1 om_1`"
    findings.print_findings([Finding("answers", "warning", "It failed.", f"Look into the log; {command} shows it.")])
    assert command in capsys.readouterr().out
