"""What is generated from the code is up to date, and valid."""

import os
from pathlib import Path

import pytest

from nanobot_transcript.cli.generated_docs import generated
from nanobot_transcript.settings import Settings, load_settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", generated(ROOT), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_generated_file_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated(ROOT)[path], (
        "run `python -m nanobot_transcript.cli.generated_docs` after a setting or a command has changed"
    )


def test_the_example_file_holds_exactly_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NANOBOT_TRANSCRIPT_")]:
        monkeypatch.delenv(name)
    example = load_settings(ROOT / "config.example.yaml")
    assert example.unknown == ()
    assert example.model_dump() == Settings().model_dump()


def test_what_the_example_file_comments_out_is_valid_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("ALPHA_SECRET", "OPENAI_API_KEY"):
        monkeypatch.setenv(secret, "x")
    shown = (ROOT / "config.example.yaml").read_text(encoding="utf-8")
    agents = "\n".join(line.removeprefix("# ") for line in commented(shown, "# agents:"))
    chats = "\n".join("  " + line.removeprefix("  # ") for line in commented(shown, "  # chats:"))
    path = tmp_path / "shown.yaml"
    path.write_text(f"{agents}\ngroups:\n{chats}\n", encoding="utf-8")
    settings = load_settings(path)
    assert settings.unknown == ()
    assert [agent.name for agent in settings.agents.values()] == ["Alpha"]
    assert [chat.mode for chat in settings.groups.chats.values()] == ["observe"]


def commented(text: str, first: str) -> list[str]:
    """The lines from ``first`` to the next blank line."""
    lines = text.splitlines()
    start = lines.index(first)
    return lines[start : lines.index("", start)]
