"""The command ``post``."""

import asyncio
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli import main
from nanobot_transcript.errors import DeliveryError
from nanobot_transcript.outbox import Action, Job, Outbox, OutboxServer

KEY = "feishu:oc_team"


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def run(base_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("oc_team", "text")`` posts into the store of this test."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("NANOBOT_TRANSCRIPT_CONFIG", raising=False)

    def command(*arguments: str) -> Ended:
        code = main(["post", *arguments, "--store", str(base_dir)])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return command


@pytest.fixture
def box(base_dir: Path) -> Iterator[Outbox]:
    with Outbox(base_dir) as opened:
        yield opened


@contextmanager
def bot(base_dir: Path, send: Callable[[Job], str]) -> Iterator[None]:
    """A bot that serves the outbox in a thread, as another process would."""
    outbox = Outbox(base_dir)

    async def deliver(job: Job) -> str:
        return send(job)

    server = OutboxServer(outbox, deliver, agent="Alpha", sits_in=lambda _: True, look_every=0.01)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join(PATIENCE)
        outbox.close()


def test_a_post_is_queued_and_named(run: Run, box: Outbox) -> None:
    ended = run("oc_team", "Build 7 is done.", "--json")
    assert ended.code == 0
    assert (ended.document["state"], ended.document["session_key"]) == ("queued", KEY)
    job = box.take("one", [KEY])
    assert job is not None
    assert (job.content, job.id) == ("Build 7 is done.", ended.document["id"])


def test_people_are_told_what_became_of_it(run: Run, base_dir: Path) -> None:
    assert "Queued" in run("oc_team", "text").err
    with bot(base_dir, lambda job: "om_7"):
        ended = run("oc_team", "text", "--wait", "20")
    assert (ended.code, ended.err.strip(), ended.out) == (0, "Sent to feishu:oc_team as om_7.", "")


def test_a_chat_is_named_as_elsewhere(run: Run, base_dir: Path) -> None:
    with GroupTranscriptStore(base_dir) as store:
        store.append(KEY, "user", "hello", "on_ada", "om_1")
        store.append("slack:C1", "user", "hello", "on_ada", "om_1")
    assert run("oc_te", "text", "--json").document["session_key"] == KEY
    assert run("C1", "text", "--json").document["session_key"] == "slack:C1"
    assert run("slack:C2", "text", "--json").document["session_key"] == "slack:C2"
    assert run("nonsense", "text").code == 2


def test_the_same_key_posts_once_and_other_content_is_refused(run: Run) -> None:
    first, again = (run("oc_team", "text", "--key", "build-7", "--json") for _ in range(2))
    assert first.document["id"] == again.document["id"]
    other = run("oc_team", "other", "--key", "build-7", "--json")
    assert (other.code, other.document["error"]["code"]) == (2, "post_conflict")


def test_a_card_comes_from_a_file(run: Run, box: Outbox, tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    file.write_text('{"elements": []}')
    assert run("oc_team", "--card", str(file), "--agent", "Beta", "--reply-to", "om_0").code == 0
    job = box.take("one", [KEY], "Beta")
    assert job is not None
    assert (job.card, job.agent, job.reply_to) == ({"elements": []}, "Beta", "om_0")


def test_a_text_comes_from_stdin(run: Run, box: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    assert run("oc_team", "-").code == 0
    job = box.take("one", [KEY])
    assert job is not None
    assert job.content == "from a pipe"


@pytest.mark.parametrize(
    "arguments",
    [("oc_team",), ("oc_team", ""), ("oc_team", "--card", "missing.json"), ("oc_team", "text", "--answer")],
)
def test_what_makes_no_sense_is_a_usage_error(run: Run, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert "Error" in ended.err


@pytest.mark.parametrize("body", ["garbage", "[1]", "{}", "\udcff"])
def test_a_file_that_is_no_card_is_a_usage_error(run: Run, tmp_path: Path, body: str) -> None:
    file = tmp_path / "card.json"
    file.write_bytes(body.encode("utf-8", "surrogateescape"))
    assert run("oc_team", "--card", str(file)).code == 2


def test_what_could_not_be_sent_is_a_negative_result(run: Run, base_dir: Path) -> None:
    def refuse(job: Job) -> str:
        raise DeliveryError("the card is broken")

    with bot(base_dir, refuse):
        ended = run("oc_team", "text", "--wait", "20")
    assert ended.code == 1
    assert "the card is broken" in ended.err


def reply(message_id: str = "om_9") -> Any:
    fields = {"role": "user", "content": "Yes, ship it", "sender": "on_ada", "reply_to": "om_7", "ts": 1}
    return {"message_id": message_id, **fields}


def answering(box: Outbox, offer: Callable[[], bool]) -> threading.Thread:
    """A person who answers once it is noted where the post stands."""

    def answer() -> None:
        until(lambda: any(post.message_id for post in box.open_posts()), "the post was sent")
        assert offer()

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def test_an_answer_is_waited_for_and_printed(run: Run, base_dir: Path, box: Outbox) -> None:
    person = answering(box, lambda: box.offer_reply(reply()))
    with bot(base_dir, lambda job: "om_7"):
        ended = run("oc_team", "Ship it?", "--wait", "20", "--answer")
    person.join(PATIENCE)
    assert (ended.code, ended.out.strip()) == (0, "Yes, ship it")
    assert not box.offer_reply(reply("om_10"))


def test_a_pressed_button_is_an_answer_too(run: Run, base_dir: Path, box: Outbox) -> None:
    pressed = Action("om_7", {"choice": "好"}, "on_ada", "Ada")
    person = answering(box, lambda: box.offer_action(pressed))
    with bot(base_dir, lambda job: "om_7"):
        ended = run("oc_team", "Ship it?", "--wait", "20", "--answer", "--json")
    person.join(PATIENCE)
    assert ended.code == 0
    assert ended.document["answer"]["value"] == {"choice": "好"}


def test_no_answer_in_time_is_a_negative_result(run: Run, base_dir: Path) -> None:
    with bot(base_dir, lambda job: "om_7"):
        ended = run("oc_team", "Ship it?", "--wait", "1.5", "--answer")
    assert ended.code == 1


def test_without_answer_replies_stay_with_the_bots(run: Run, base_dir: Path, box: Outbox) -> None:
    with bot(base_dir, lambda job: "om_7"):
        assert run("oc_team", "Ship it?", "--wait", "20").code == 0
    assert not box.offer_reply(reply())
