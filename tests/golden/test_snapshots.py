"""What users and programs rely on is what the snapshots say, and the changelog tells of each difference."""

from pathlib import Path

import pytest
from golden.ledger import Ledger, UnexplainedError
from golden.taking import SERVERS, take

LEDGER = Ledger(Path(__file__).resolve().parents[2])
NAMES = [
    "commands",
    "errors",
    "metrics",
    "names",
    "routes",
    "settings",
    *(f"server-{name}" for name in SERVERS),
]


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The snapshots of this checkout."""
    return take(tmp_path_factory.mktemp("snapshots"))


@pytest.mark.parametrize("name", NAMES)
def test_a_snapshot_is_what_there_is(name: str, taken: dict[str, str]) -> None:
    assert LEDGER.stored(name) == taken[name], LEDGER.difference(name, taken[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_the_changelog_explains_a_snapshot(name: str) -> None:
    assert LEDGER.is_explained(name), LEDGER.difference(name, LEDGER.stored(name))
    assert not LEDGER.unsettled(name, LEDGER.stored(name)), f"{LEDGER.path_of(name)} was changed by hand: `make golden`"


def test_there_is_a_test_for_each_snapshot(taken: dict[str, str]) -> None:
    assert sorted(taken) == sorted(NAMES) == sorted(LEDGER.recorded())
    assert sorted(NAMES) == sorted(path.stem for path in LEDGER.folder.glob("*.txt"))


# -- how a difference is written down

CHANGELOG = """# Changelog

## [Unreleased]

### Added

- Add a setting
  for the port.
- Add a command.
- Add a tool, and another one.
- Add a tool, and its prompt.

## [0.1.0]

- Add everything.
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """That of a checkout with a changelog, and one snapshot that it explains."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, encoding="utf-8")
    ledger = Ledger(tmp_path)
    ledger.settle("settings", "port\n", ledger.line("Add a setting"))
    return ledger


def test_a_difference_is_written_down_with_the_line_that_tells_of_it(ledger: Ledger) -> None:
    assert ledger.unsettled("settings", "port\nhost\n")
    ledger.settle("settings", "port\nhost\n", ledger.line("- Add a command"))
    assert ledger.stored("settings") == "port\nhost\n"
    assert ledger.recorded()["settings"]["line"] == "Add a command."
    assert not ledger.unsettled("settings", "port\nhost\n")


def test_a_line_that_told_of_the_difference_before_explains_no_other_one(ledger: Ledger) -> None:
    with pytest.raises(UnexplainedError, match="as it was"):
        ledger.settle("settings", "port\nhost\n", ledger.line("Add a setting for the port."))
    assert ledger.stored("settings") == "port\n"


@pytest.mark.parametrize("words", ["", "Add everything", "Add a house", "Add a tool"])
def test_only_one_line_about_what_is_not_released_explains(words: str, ledger: Ledger) -> None:
    with pytest.raises(UnexplainedError, match="make golden"):
        ledger.line(words)


def test_a_snapshot_that_was_changed_by_hand_is_noticed(ledger: Ledger) -> None:
    (ledger.root / ledger.path_of("settings")).write_text("port\nhost\n", encoding="utf-8")
    assert ledger.unsettled("settings", "port\nhost\n")


def test_a_line_that_was_written_anew_has_to_be_named_again(ledger: Ledger) -> None:
    (ledger.root / "CHANGELOG.md").write_text(CHANGELOG.replace("for the port", "for ports"), encoding="utf-8")
    assert ledger.unsettled("settings", "port\n")
    ledger.settle("settings", "port\n", ledger.line("Add a setting for ports"))
    assert not ledger.unsettled("settings", "port\n")


def test_a_snapshot_of_what_is_gone_goes_with_its_line(ledger: Ledger) -> None:
    ledger.drop("settings")
    assert not ledger.stored("settings")
    assert not ledger.recorded()


def test_a_difference_shows_its_lines_and_the_command_that_writes_it_down(ledger: Ledger) -> None:
    told = ledger.difference("settings", "port\nhost\n")
    assert "\n+host\n" in told
    assert "make golden LINE=" in told
