"""``config show`` and what all commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import __version__
from nanobot_transcript.cli import main

Run = Callable[..., Any]


def test_config_show_names_the_origin_of_each_value(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("context:\n  max_entries: 7\nfeishu: {base_url: 'https://${SECRET_HOST}'}\n", encoding="utf-8")
    monkeypatch.setenv("SECRET_HOST", "hush.example.org")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_GROUPS__MODE", "observe")
    out = run("config", "show", "--origin", "--config", str(file)).out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert rows["context.max_entries"] == ["7", "file", f"{file}:2"]
    assert rows["groups.mode"] == ["observe", "environment", "NANOBOT_TRANSCRIPT_GROUPS__MODE"]
    assert rows["store.dir"][1:] == ["command", "line"]
    assert rows["context.max_chars"] == ["8000", "default"]
    assert rows["feishu.base_url"][0] == "https://${SECRET_HOST}"
    assert "hush" not in out


def test_config_show_is_a_document_under_json(run: Run, base_dir: Path) -> None:
    document = run("config", "show", "--json", "--origin").document
    assert document["values"]["store.dir"] == str(base_dir)
    assert document["origins"]["store.fsync"] == "default"
    assert document["file"] is None


@pytest.mark.parametrize(
    ("written", "nested"),
    [
        ("gate.style: quiet", "gate: {style: …}"),
        ("gate.stlye: quiet", "gate: {style: …}"),
        ("gate: {judge.timeout: 3}", "judge: {timeout: …}"),
        ("agents.cli_a.name: Alpha", "agents: {cli_a: {name: …}}"),
        ("gate: {store.fsync: always}", "store: {fsync: …}"),
    ],
)
def test_a_setting_that_is_written_with_dots_is_shown_nested(
    run: Run, tmp_path: Path, written: str, nested: str
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(written, encoding="utf-8")
    (sentence,) = run("config", "show", "--config", str(file), "--json").document["unknown"]
    assert sentence.endswith(f"; sections are nested, not written with dots: `{nested}`.")


def test_an_unknown_setting_is_told_on_stderr(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("store: {fsinc: always}", encoding="utf-8")
    ended = run("config", "show", "--config", str(file), "--json")
    assert ended.code == 0
    assert "did you mean store.fsync?" in ended.document["unknown"][0]
    assert "did you mean store.fsync?" in caplog.text


@pytest.mark.parametrize("variable", ["NANOBOT_TRANSCRIPT_STORE__DIR", "NANOBOT_TRANSCRIPT_CONFIG"])
def test_the_home_of_nobody_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "~nobody-of-that-name/x")
    assert main(["config", "show"]) == 2
    assert run("tail", store=Path("~nobody-of-that-name/x")).code == 2


@pytest.mark.parametrize("text", ["store: {fsync: sometimes}", "store: ["])
def test_a_wrong_file_ends_any_command_with_two(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(text, encoding="utf-8")
    ended = run("tail", "--config", str(file))
    assert ended.code == 2
    assert str(file) in ended.err


def test_a_store_that_cannot_be_used_ends_with_three(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    log = tmp_path / "log.txt"
    log.write_text("Ada: hello\n", encoding="utf-8")
    ended = run("import", str(log), "--chat", "feishu:oc_1", "--json", store=file / "below")
    assert ended.code == 3
    assert ended.document["error"]["code"] in ("store_unavailable", "unsafe_path")


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"nanobot-transcript {__version__}\n", "")
    assert main(["-V"]) == 0


@pytest.mark.parametrize("arguments", [["nonsense"], ["tail", "--nonsense"], ["tail", "-n", "many"], ["search"], []])
def test_wrong_usage_ends_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Usage" in capsys.readouterr().err
