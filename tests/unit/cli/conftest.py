"""A small store, and the command line run in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli import main

MakeStore = Callable[..., GroupTranscriptStore]

START = 1_763_600_000_000
"""The time of the first message, 2025-11-20 in UTC."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No settings and no colours of the person who runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("NANOBOT_TRANSCRIPT_CONFIG", raising=False)
    return home


@pytest.fixture
def run(base_dir: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """``run("tail", "oc_team")`` runs a command on the store of this test."""

    def command(*arguments: str, store: Path | None = None) -> Ended:
        place = ["--store", str(store or base_dir)] if arguments and arguments[0] != "--version" else []
        code = main([*arguments, *place])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return command


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """Two chats: in one Ada, Alpha and Beta speak, in the other somebody without a known name."""
    store = make_store()
    team = "feishu:oc_team"
    store.members.remember_person("on_ada", "Ada", {"union_id": "on_ada"})
    for app_id, name in (("cli_a", "Alpha"), ("cli_b", "Beta")):
        store.members.remember_bot(app_id, name)
    store.append(team, "user", "When is the 发布?", "on_ada", "om_1", START, source="event")
    bot: Any = {"sender_kind": "bot", "source": "stream"}
    store.append(team, "assistant", "On Friday.", "Alpha", "om_2", START + 60_000, reply_to="om_1", **bot)
    store.append(team, "assistant", "typo", "Beta", "om_3", START + 120_000, **bot)
    store.edit(team, "om_3", "I agree.", "Beta")
    store.append(team, "user", "a secret", "on_ada", "om_4", START + 180_000)
    store.recall(team, "om_4")
    store.append("feishu:oc_other", "user", "hello Friday", "on_x", "om_1", START + 30_000, sender_name="Xiao")
    return store
