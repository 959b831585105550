"""The small parts: policy, private chats, turns, plain objects."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.settings.sections.groups import GroupsSettings
from transcript_channels.nanobot_host.bot import Turns
from transcript_channels.nanobot_host.inbound import PrivateChats, plain


@pytest.mark.parametrize(
    ("groups", "records", "shares", "active", "somewhere"),
    [
        ({}, True, True, True, True),
        ({"mode": "observe"}, True, False, True, False),
        ({"mode": "off"}, False, False, False, False),
        ({"mode": "off", "chats": {"oc_1": {"mode": "listen"}}}, True, True, True, True),
        ({"mode": "listen", "chats": {"oc_1": {"mode": "off"}}}, False, False, True, True),
        ({"mode": "observe", "chats": {"oc_1": {"mode": None}}}, True, False, True, False),
    ],
)
def test_a_chat_has_its_own_mode_or_that_of_all(
    groups: dict[str, object], records: bool, shares: bool, active: bool, somewhere: bool
) -> None:
    policy = GroupsSettings.model_validate(groups).policy
    assert (policy.records("oc_1"), policy.shares("oc_1")) == (records, shares)
    assert (policy.active, policy.shares_somewhere) == (active, somewhere)


def test_people_and_chats_seen_to_be_private_are_private(tmp_path: Path) -> None:
    chats = PrivateChats(FileMarks(tmp_path / "t"))
    assert "ou_ada" in chats
    assert "oc_group" not in chats
    assert not (tmp_path / "t").exists()
    chats.remember("oc_private")
    chats.remember("oc_private")
    for known in (chats, PrivateChats(FileMarks(tmp_path / "t"))):
        assert "oc_private" in known
        assert "oc_group" not in known


def test_while_nobody_can_tell_a_chat_counts_as_private(caplog: pytest.LogCaptureFixture) -> None:
    class Away(FileMarks):
        def has(self, kind: str, *name: str) -> bool:
            raise StoreUnavailableError("The other side is away.")

    assert "oc_group" in PrivateChats(Away("nowhere"))
    assert "until the record can be read" in caplog.text


def test_a_folder_that_refuses_is_reported_and_the_chat_stays_private(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "t").write_text("in the way", encoding="utf-8")
    chats = PrivateChats(FileMarks(tmp_path / "t"))
    chats.remember("oc_private")
    assert "oc_private" in chats
    assert "only until the next restart" in caplog.text


def test_an_expected_message_that_was_not_handed_over_belongs_to_nobody() -> None:
    turns = Turns()
    turns.expect("om_1", "s")
    turns.expect("om_2", "s")
    turns.confirm("om_2", "other")
    turns.settle("om_1")
    turns.settle("om_2")
    turns.expect("om_2", "s")
    assert (turns.session_of("om_1"), turns.session_of("om_2"), turns.session_of(None)) == (None, "other", None)


def test_only_the_newest_messages_are_remembered() -> None:
    turns = Turns()
    for number in range(5000):
        turns.confirm(f"om_{number}", "s")
    assert turns.session_of("om_0") is None
    assert turns.session_of("om_4999") == "s"


def test_objects_become_dictionaries_at_any_depth() -> None:
    deep = SimpleNamespace(a=1, _hidden=2, b=[SimpleNamespace(c="x"), {"d": (None, True)}], e=object())
    assert plain(deep) == {"a": 1, "b": [{"c": "x"}, {"d": [None, True]}], "e": None}
    loop = SimpleNamespace()
    loop.me = loop
    assert plain(loop)["me"]["me"] is not None
