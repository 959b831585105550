"""A conversation is put together from a record, a platform and options, and ends without losing anything."""

import threading
from collections.abc import Iterator
from pathlib import Path

import filelock
import pytest

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.conversation import composition
from nanobot_transcript.conversation.composition import Conversation, Options
from nanobot_transcript.conversation.policy import Policy
from nanobot_transcript.record import Record
from nanobot_transcript.relevance import Prompt
from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.feishu.platform import FEISHU

KEY = "feishu:oc_team"


class Closing:
    """A judge that knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def __call__(self, prompt: Prompt, /) -> bool:
        return False

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    opened = Record.open(tmp_path / "transcripts")
    yield opened
    opened.close()


def conversation(record: Record, options: Options | None = None) -> Conversation:
    store = AsyncGroupTranscriptStore.over(record.store)
    return Conversation(record, FEISHU, options or Options(), store, is_private=lambda chat_id: chat_id == "oc_private")


@pytest.mark.parametrize(
    ("key", "records", "shares"),
    [
        (KEY, True, True),
        ("feishu:oc_observed", True, False),
        ("feishu:oc_off", False, False),
        ("feishu:oc_private", False, False),
        ("line:oc_team", False, False),
    ],
)
def test_what_may_be_done_is_asked_by_the_key_of_a_group(record: Record, key: str, records: bool, shares: bool) -> None:
    policy = Policy("listen", {"oc_observed": "observe", "oc_off": "off"})
    made = conversation(record, Options(policy=policy))
    assert (made.records(key), made.shares(key)) == (records, shares)


def test_a_bot_keeps_what_decides_for_it_until_it_is_called_otherwise(record: Record) -> None:
    made = conversation(record)
    gate = made.gate(None)
    made.people.register("cli_a", "Alpha")
    first = made.decider(made.profile("cli_a"), gate)
    assert made.decider(made.profile("cli_a"), gate) is first
    made.people.register("cli_a", "Gamma")
    second = made.decider(made.profile("cli_a"), gate)
    assert second is not first
    assert second.agent.name == "Gamma"


async def test_the_judge_of_each_gate_is_closed_at_the_end(record: Record) -> None:
    made, judges = conversation(record), [Closing(), Closing()]
    for judge in judges:
        made.gate(judge)
    await made.aclose()
    assert [judge.closed for judge in judges] == [True, True]


async def test_what_was_learned_last_is_written_down_before_it_ends(record: Record) -> None:
    made, done = conversation(record), list[str]()
    made.background.start()
    made.background.submit(done.append, "learned")
    await made.aclose()
    assert done == ["learned"]


async def test_the_end_does_not_wait_for_what_hangs(
    record: Record, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(composition, "_LAST_WORDS", 0.0)
    made = conversation(record)
    made.background.start()
    made.background.submit(threading.Event().wait)
    await made.aclose()
    assert "may not have been saved" in caplog.text


async def test_a_judge_that_cannot_be_closed_keeps_nothing_else_from_its_end(record: Record) -> None:
    class Stuck(Closing):
        async def aclose(self) -> None:
            raise OSError("the connection is gone")

    made, done, other = conversation(record), list[str](), Closing()
    made.gate(other)
    made.gate(Stuck())
    made.background.start()
    made.background.submit(done.append, "learned")
    with pytest.raises(OSError, match="gone"):
        await made.aclose()
    assert (done, other.closed) == (["learned"], True)


def test_what_fails_once_an_hour_does_not_keep_the_rest_from_being_done(
    record: Record, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []
    store = AsyncGroupTranscriptStore.over(record.store)
    made = Conversation(record, FEISHU, Options(), store, hourly=(lambda: 1 / 0, lambda: done.append("pruned")))
    made._maintain()
    assert done == ["pruned"]
    assert "An hourly task failed" in caplog.text


async def test_a_change_that_a_busy_lock_held_up_is_written_at_the_end(record: Record, tmp_path: Path) -> None:
    made = conversation(record)
    made.background.start()
    record.members.remember_person("on_ada", "Ada")
    with filelock.FileLock(tmp_path / "transcripts" / ".state" / "locks" / "members.lock"):
        record.members.remember_person("on_bo", "Bo")
    await made.aclose()
    assert FileMembers(tmp_path / "transcripts").name_of("on_bo") == "Bo"
