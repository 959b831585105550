"""The text of the pre-commit guard: one file, known again, and seen when it was changed."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.needs import lacks
from support.old_guard import first_version
from support.waiting import PATIENCE

from transcript_mcp.mail.claims import guard_file, guard_hook, guard_hub, patterns

PROJECT = {
    "database": "/store with 'quotes' \" 仓库\udcff\\/mail.sqlite3",
    "log": "/store/guard-bypass.log",
    "key": "/abs/path/后端\n''' + '''",
    "repository": "",
    "below": "",
    "above": "",
}
OF_HUB = {
    "database": "",
    "hub": "http://127.0.0.1:8765",
    "token_file": "/a token\udcff",
    **{name: PROJECT[name] for name in ("log", "key", "repository", "below", "above")},
}


def test_what_was_put_in_comes_out() -> None:
    guarded = [PROJECT, {**PROJECT, "key": "b"}, {**OF_HUB, "key": "c"}]
    assert guard_file.parse(guard_file.render(guarded)) == guard_file.Guard(guard_file.RULES, guarded)


def test_a_guard_that_asks_no_hub_does_not_know_how_and_is_read_sooner() -> None:
    assert "urllib" not in guard_file.render([PROJECT])
    assert "urllib" in guard_file.render([PROJECT, OF_HUB])


def test_a_guard_says_the_version_of_its_rules_at_its_beginning() -> None:
    text = guard_file.render([PROJECT] * 1000)
    assert guard_file.rules(text[: guard_file.HEAD_LENGTH]) == guard_file.RULES


def test_a_guard_of_the_first_version_says_none_and_is_known_all_the_same() -> None:
    text = first_version({**PROJECT, "database": "/store/mail.sqlite3"})
    assert "rules=" not in text[: guard_file.HEAD_LENGTH]
    assert guard_file.rules(text[: guard_file.HEAD_LENGTH]) == 1
    assert guard_file.parse(text) == guard_file.Guard(1, [{**PROJECT, "database": "/store/mail.sqlite3"}])


@pytest.mark.parametrize("text", ["", "#!/bin/sh\n", "#!/bin/sh\n''':'\n# agent-mail", "x" * 1000])
def test_somebody_elses_beginning_has_no_rules(text: str) -> None:
    assert guard_file.rules(text) is None


@pytest.mark.parametrize("number", ["", "x", "-1", "²"])
def test_a_version_that_is_no_number_is_the_first(number: str) -> None:
    text = guard_file.render([PROJECT]).replace(f"rules={guard_file.RULES}", f"rules={number}", 1)
    assert guard_file.rules(text[: guard_file.HEAD_LENGTH]) == 1


def test_no_name_means_two_things_in_the_one_file() -> None:
    tree = ast.parse(guard_file.render([OF_HUB]))
    made = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    values = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    made += [value.id for value in values if isinstance(value, ast.Name)]
    assert {name for name in made if made.count(name) > 1} == {"TYPE_CHECKING", "__all__"}


@pytest.mark.parametrize("text", ["", "#!/bin/sh\nexit 0\n", "#!/bin/sh\n''':'\n", "GUARDED = []\n"])
def test_somebody_elses_text_is_told_apart(text: str) -> None:
    assert guard_file.parse(text) is None


@pytest.mark.parametrize(("old", "new"), [("exit 0", "exit 1"), ("#!/bin/sh", "#!/bin/bash"), ("'b'", "'c'")])
def test_a_changed_text_is_noticed(old: str, new: str) -> None:
    text = guard_file.render([{**PROJECT, "key": "b"}])
    assert old in text
    with pytest.raises(guard_file.ChangedGuardError):
        guard_file.parse(text.replace(old, new, 1))


def test_the_text_is_a_program_of_the_oldest_python_it_meets_without_anything_of_ours() -> None:
    tree = ast.parse(guard_file.render([OF_HUB]), feature_version=(3, 9))
    froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {each.partition(".")[0] for each in froms if each} | names <= set(sys.stdlib_module_names)
    for module, imports in ((guard_hook, 2), (guard_hub, 0), (patterns, 0)):
        assert Path(str(module.__file__)).read_text(encoding="utf-8").count("transcript_mcp") == imports


@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_every_shell_finds_the_python(tmp_path: Path, shell: str) -> None:
    hook = tmp_path / "pre-commit"
    hook.write_text(guard_file.render([{**PROJECT, "database": str(tmp_path / "none")}]), encoding="utf-8")
    found = [folder for folder in os.environ["PATH"].split(":") if Path(folder, shell).exists()]
    if not found:
        pytest.skip(lacks(f"no {shell}", f"apt-get install {shell}"))
    done = subprocess.run([shell, hook], capture_output=True, timeout=PATIENCE, check=False, cwd=tmp_path)
    assert done.returncode == 0
    assert b"claims were not checked" in done.stderr
