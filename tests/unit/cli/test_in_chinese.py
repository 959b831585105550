"""What people see of the commands where the locale is Chinese."""

import json
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from unit.cli.conftest import Run

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli.terminal import tables
from nanobot_transcript.cli.terminal.output import amount, console, listed
from nanobot_transcript.cli.terminal.tables import print_table


@pytest.fixture(autouse=True)
def _chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")


def test_doctor_finds_in_chinese_and_names_its_checks_as_ever(run: Run) -> None:
    ended = run("doctor")
    assert ended.out.startswith("✓  settings   设置：没有文件，只用默认值和环境变量。\n")
    assert "✓  clock      时钟正常。\n" in ended.out
    assert "→ 要设置邮箱，请按 docs/zh/filebox.md" in ended.out


def test_programs_are_spoken_to_in_english(run: Run) -> None:
    told = {finding["check"]: finding["message"] for finding in run("doctor", "--json").document["findings"]}
    assert told["clock"] == "The clock is plausible."
    assert told["settings"].startswith("Settings: no file")


def test_an_unknown_chat(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("tail", "oc_nowhere")
    assert (ended.code, ended.err) == (
        2,
        "错误：没有群 oc_nowhere。\n提示：现有：feishu:oc_other, feishu:oc_team。\n",
    )


def test_the_same_error_for_a_program(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("tail", "oc_nowhere", "--json")
    assert ended.document["error"]["message"] == "There is no chat oc_nowhere."
    assert ended.err.startswith("Error: There is no chat")


def test_tail_of_a_record_that_is_empty(run: Run, base_dir: Path) -> None:
    base_dir.mkdir(mode=0o700)
    ended = run("tail")
    assert f"错误：{base_dir} 里还没有聊天记录。" in ended.err
    assert "提示：插件或 `nanobot-transcript run` 运行后" in ended.err


def test_mcp_config_says_where_it_belongs_and_prints_what_the_client_reads(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run("mcp-config", "claude-code")
    assert "以上内容应放在" in ended.err
    assert list(json.loads(ended.out)) == ["mcpServers"]


def test_what_is_to_be_erased(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("purge", "--before", "2030-01-01", "--dry-run")
    assert (
        ended.out.splitlines()[0] == "2 个群：早于指定时间的 4 条消息会从磁盘上永久擦除（现在只是说明，什么也没有改）。"
    )


def test_amounts_and_lists() -> None:
    assert (amount(1, "message"), amount(2000, "message"), listed(["甲", "乙"])) == (
        "1 条消息",
        "2,000 条消息",
        "甲、乙",
    )


def test_heads_of_tables_are_as_wide_as_they_look(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["chat", "messages"], [["oc_team", "12"]], right=["messages"])
    head, row = capsys.readouterr().out.splitlines()
    assert head == "群       消息"
    assert cell_len(head) == cell_len(row)


def test_blocks_of_a_narrow_terminal_line_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = console()
    out.width, out._force_terminal = 20, True
    monkeypatch.setattr(tables, "console", lambda: out)
    print_table(["chat", "size", "characters"], [["oc_team", "4 KiB", "x" * 20]])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [["大小", "4", "KiB"], ["字符", "x" * 20]]
    assert {cell_len(line[: line.index(first)]) for line, first in zip(lines[1:], "4x", strict=True)} == {8}


def test_english_does_not_read_the_chinese_sentences(
    run: Run, store: GroupTranscriptStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    language = sys.modules["nanobot_transcript.cli.terminal.language"]
    monkeypatch.setattr(language, "_read", lambda name: pytest.fail("read"))
    language._sentences.cache_clear()
    assert run("stats").out.startswith("chat ")
