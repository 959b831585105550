"""What grows too long is found before it is committed."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "check_lengths.py"
PRODUCT = "nanobot_transcript/store/front.py"


@pytest.fixture(scope="module")
def lengths() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_lengths", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function(lines: int, head: str = "def long():") -> str:
    """A function of so many lines; those within are indented as deep as ``head``."""
    return "\n".join([head, *["    pass"] * (lines - 1)]) + "\n"


def test_a_function_over_the_limit_is_named_with_its_place(lengths: ModuleType) -> None:
    text = "import os\n\n" + function(61)
    assert list(lengths.look_at("tests/worker.py", text)) == ["tests/worker.py:3: long has 61 lines; split it below 61"]
    assert list(lengths.look_at("tests/worker.py", function(60))) == []


def test_an_async_function_counts_and_one_within_another_counts_for_both(lengths: ModuleType) -> None:
    inner = "".join(f"    {line}\n" for line in function(61).splitlines())
    found = list(lengths.look_at(PRODUCT, "async def outer():\n" + inner))
    assert [each.partition(": ")[2].split()[:3] for each in found] == [["outer", "has", "62"], ["long", "has", "61"]]


def test_a_decorator_is_no_part_of_the_function(lengths: ModuleType) -> None:
    assert list(lengths.look_at(PRODUCT, "@staticmethod\n" + function(60))) == []


@pytest.mark.parametrize("name", [PRODUCT, "channels/transcript_channels/new.py", "mcp_tools/transcript_mcp/new.py"])
def test_a_module_of_the_product_over_the_limit_is_found(lengths: ModuleType, name: str) -> None:
    assert [each.split(";")[0] for each in lengths.look_at(name, "a = 1\n" * 451)] == [f"{name}:1: 451 lines"]
    assert list(lengths.look_at(name, "a = 1\n" * 450)) == []


def test_modules_of_tests_and_tools_may_be_longer(lengths: ModuleType) -> None:
    assert list(lengths.look_at("tests/unit/test_new.py", "a = 1\n" * 451)) == []


def test_files_that_are_named_are_looked_at_and_the_exit_code_tells(
    lengths: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.py"
    path.write_text(function(60), encoding="utf-8")
    assert lengths.main([str(path)]) == 0
    path.write_text(function(61), encoding="utf-8")
    assert lengths.main([str(path)]) == 1
    assert capsys.readouterr().out.endswith("1 function(s) or module(s) too long\n")
