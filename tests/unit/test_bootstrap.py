"""Setting up the environment: one line for each step, and everything that was printed when one fails."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "bootstrap.py"


@pytest.fixture
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def test_a_step_that_goes_well_is_one_line(bootstrap: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    with bootstrap.step("Installing") as facts:
        said = bootstrap.run(python("print('Installed\\n + a==1\\n + b==2')"))
        facts.append(f"{said.count(bootstrap.ADDED)} new")
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("-- Installing … ")
    assert captured.err.endswith(" s, 2 new\n")
    assert captured.err.count("\n") == 1


def test_all_that_a_failed_command_printed_is_shown(bootstrap: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    fails = python("import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)")
    with pytest.raises(bootstrap.SetupError) as caught, bootstrap.step("Installing"):
        bootstrap.run(fails, why="Do this.")
    assert set(str(caught.value).split("\n")) == {"one", "two", "", "Do this."}
    assert capfd.readouterr().err.startswith("-- Installing … ")


def test_a_program_that_is_not_there_is_named(bootstrap: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(bootstrap.SetupError, match="nowhere"):
        bootstrap.run([str(tmp_path / "nowhere")])
