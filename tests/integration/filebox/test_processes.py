"""Mailboxes between real processes: at the same time, killed at any moment, and on a full disk."""

import os
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from support.filebox_worker import body, is_whole
from support.mailboxes import Office
from support.procs import Worker, until
from support.sizes import short_and_full
from support.spawning import SpawnAction
from support.waiting import PATIENCE

from nanobot_transcript.errors import MailboxBusyError
from transcript_mcp.filebox import Mailbox, Sent
from transcript_mcp.filebox.delivery_journal import Intent
from transcript_mcp.filebox.thread import entries
from transcript_mcp.filebox.values import BOXES

AGENTS = ["qa_agent", "dev_agent"]
MAILS = 1000


def started(worker: Worker) -> Worker:
    worker.go()
    return worker


def notes(office: Office) -> list[str]:
    """Deliveries that are going on or were never finished."""
    return [name for agent in AGENTS for name in office.files(agent, ".state/sending")]


def texts(office: Office, agent: str) -> dict[tuple[str, str], str]:
    """Every mail of an agent as it lies on the disk."""
    return {
        (box, path.name): path.read_bytes().decode()
        for box in BOXES
        if office.folder(agent, box).is_dir()
        for path in office.folder(agent, box).iterdir()
    }


@pytest.mark.parametrize("rounds", short_and_full(1, 10))
def test_replies_of_two_processes_at_once_are_all_kept(
    office: Office, config: Path, spawn_filebox: SpawnAction, soak_row: Callable[..., None], rounds: int
) -> None:
    for _ in range(rounds):
        sent = office.mailbox("qa_agent").send("dev_agent", "BR", "busy", body("first", 10))
        options = {"config": config, "message_id": sent.id, "count": 25}
        workers = [
            spawn_filebox("reply_many", agent="qa_agent", to="dev_agent", **options),
            spawn_filebox("reply_many", agent="dev_agent", to="qa_agent", **options),
        ]
        for worker in workers:
            worker.go()
        assert [worker.result() for worker in workers] == [25, 25]
        found = [entry.text.partition("|")[0] for entry in office.mailbox("qa_agent").thread(sent.id).entries]
        assert Counter(found) == Counter(["first", *(f"{agent}-{n}" for agent in AGENTS for n in range(25))])
        for agent in AGENTS:
            assert sum(name == sent.file for _, name in office.everywhere(agent)) == 1
    soak_row(rounds=rounds, replies=50 * rounds, lost=0)


@pytest.mark.parametrize("count", short_and_full(8, 60))
def test_readers_never_see_half_a_mail(
    office: Office, config: Path, spawn_filebox: SpawnAction, soak_row: Callable[..., None], count: int
) -> None:
    """A thread of megabytes is written again with every reply, while two processes read it in circles."""
    sent = office.mailbox("qa_agent").send("dev_agent", "BR", "large", body("first", 500_000))
    readers = [started(spawn_filebox("read_in_circles", config=config, agents=AGENTS)) for _ in range(2)]
    writer = started(
        spawn_filebox(
            "reply_many", config=config, agent="dev_agent", to="qa_agent", message_id=sent.id, count=count, size=100_000
        )
    )
    assert writer.result(120) == count
    counted = [reader.stop() for reader in readers]
    assert sum(each["halves"] for each in counted) == 0
    assert min(each["reads"] for each in counted) > 0
    soak_row(rewrites=count, reads=sum(each["reads"] for each in counted), halves=0)


@pytest.mark.parametrize("kills", short_and_full(12, 40))
def test_writers_killed_at_any_moment_lose_and_half_write_nothing(
    office: Office,
    config: Path,
    tmp_path: Path,
    spawn_filebox: SpawnAction,
    soak_row: Callable[..., None],
    kills: int,
) -> None:
    dice, ack = random.Random(kills), tmp_path / "acknowledged"
    ack.touch()
    unfinished = 0
    reader = started(spawn_filebox("read_in_circles", config=config, agents=AGENTS))
    number, wanted = 0, 5 if kills >= 40 else 0
    while number < kills or unfinished < wanted:
        assert number < 10 * kills, "the kills fell between deliveries"
        pair = AGENTS if number % 2 else AGENTS[::-1]
        victim = spawn_filebox(
            "write_forever", config=config, agents=pair, ack=ack, size=dice.choice([100, 400_000]), prefix=f"w{number}"
        )
        victim.go()
        enough = len(ack.read_bytes().splitlines()) + 1
        until(lambda enough=enough: len(ack.read_bytes().splitlines()) >= enough, "something was sent")
        if number % 4:
            until(lambda: notes(office), "something is being delivered")
            time.sleep(dice.uniform(0, 0.001))
        victim.kill()
        unfinished += len(notes(office))
        number += 1
    assert reader.stop()["halves"] == 0
    mails = {agent: office.mailbox(agent) for agent in AGENTS}  # what was begun is finished here
    kept = {agent: texts(office, agent) for agent in AGENTS}
    for found in kept.values():
        assert all(is_whole(entry.text) for text in found.values() for entry in entries(text))
    ids = {agent: Counter(text.split("**Message ID:** ")[1][:36] for text in kept[agent].values()) for agent in AGENTS}
    assert ids["qa_agent"] == ids["dev_agent"]
    assert set(ids["qa_agent"].values()) == {1}
    for (box, name), text in kept["qa_agent"].items():
        where = ("inbox" if box == "outbox" else "outbox", name)
        assert kept["dev_agent"][where] == text
    acknowledged = [line.split() for line in ack.read_text().splitlines()]
    for message_id, token in acknowledged:
        assert token in {entry.text.partition("|")[0] for entry in mails["qa_agent"].thread(message_id).entries}
    soak_row(kills=number, acknowledged=len(acknowledged), unfinished=unfinished, undelivered=0, half=0, lost=0)


def test_two_processes_resolve_the_same_mails_once(office: Office, config: Path, spawn_filebox: SpawnAction) -> None:
    qa = office.mailbox("qa_agent")
    names = [qa.send("dev_agent", "BR", "mail", "text").file for _ in range(40)]
    workers = [spawn_filebox("resolve_all", config=config, agent="dev_agent", names=names) for _ in range(2)]
    for worker in workers:
        worker.go()
    resolved = [name for worker in workers for name in worker.result()]
    assert sorted(resolved) == sorted(names)
    assert office.files("dev_agent", "done") == sorted(names)


def test_new_mails_of_many_processes_all_arrive_and_are_read_once_each(
    office: Office, config: Path, spawn_filebox: SpawnAction
) -> None:
    senders = [spawn_filebox("send_many", config=config, agent="qa_agent", to="dev_agent", count=30) for _ in range(3)]
    readers = [spawn_filebox("read_all_unread", config=config, agent="dev_agent", count=90) for _ in range(2)]
    for worker in [*senders, *readers]:
        worker.go()
    sent = {message_id for worker in senders for message_id in worker.result()}
    seen = {message_id for worker in readers for message_id in worker.result(PATIENCE)}
    assert len(sent) == 90
    assert seen == sent
    assert office.mailbox("dev_agent").page("inbox", unread=True).total == 0


def test_a_process_that_stands_still_makes_others_give_up_and_a_killed_one_does_not(
    office: Office, config: Path, spawn_filebox: SpawnAction
) -> None:
    sent = office.mailbox("qa_agent").send("dev_agent", "BR", "mail", "text")
    dev = office.mailbox("dev_agent", lock_wait=0.1)
    holder = started(spawn_filebox("hold_lock", config=config, agents=AGENTS))
    assert holder.line()["held"]
    holder.pause()
    with pytest.raises(MailboxBusyError):
        dev.send("qa_agent", "ACK", "", "reply", sent.id)
    assert dev.names("inbox") == [sent.file]
    holder.kill()
    assert dev.send("qa_agent", "ACK", "", "reply", sent.id).id == sent.id


@pytest.mark.parametrize("doing", ["reply", "resolve", "repair"])
def test_what_is_written_while_another_process_stands_still_in_the_middle_is_not_lost(
    office: Office, config: Path, spawn_filebox: SpawnAction, doing: str
) -> None:
    """The other process has read the thread, and is about to put what it knew then into a box."""
    qa, dev = office.mailbox("qa_agent", lock_wait=0.0), office.mailbox("dev_agent")
    sent = begun(qa, dev) if doing == "repair" else qa.send("dev_agent", "BR", "busy", "first")
    theirs = {"receiver_id": "qa_agent", "content": "theirs", "original_id": sent.id} if doing == "reply" else {}
    options = {"config": config, "agent": "dev_agent", "doing": doing, "name": sent.file, **theirs}
    other = started(spawn_filebox("stop_before_renaming", **options))
    assert other.line()["stands_still"]

    def add() -> bool:
        try:
            return bool(qa.send("dev_agent", "INFO", "", "mine", sent.id).id)
        except MailboxBusyError:
            return False

    added = add()
    other.tell("go on")
    other.result()
    assert added or add()
    assert office.everywhere("qa_agent") == [("outbox", sent.file)]
    assert office.everywhere("dev_agent") == [("inbox", sent.file)]
    texts = {entry.text for entry in entries(office.text("dev_agent", "inbox", sent.file))}
    assert texts == {"first", "mine", *(["theirs"] if theirs else [])}


def begun(receiver: Mailbox, sender: Mailbox) -> Sent:
    """A delivery as a killed process leaves it: arrived, and without the sender's copy."""
    sent = sender.send(receiver.agent, "BR", "busy", "first")
    (mail,) = receiver.page("inbox").mails
    box = sender.folder.place.mailbox
    (box / "outbox" / sent.file).unlink()
    note = Intent(sent.id, receiver.agent, mail.time_ms)
    (box / ".state" / "pending").mkdir(exist_ok=True)  # where earlier versions left it
    (box / ".state" / "pending" / "left.json").write_bytes(msgspec.json.encode(note))
    return sent


def test_a_mail_is_not_taken_for_an_abandoned_one_while_its_copy_is_begun(
    office: Office, config: Path, spawn_filebox: SpawnAction
) -> None:
    lookers = [started(spawn_filebox("look_for_abandoned", config=config, agent="qa_agent")) for _ in range(2)]
    qa = office.mailbox("qa_agent")
    notes = [qa.send("dev_agent", "INFO", f"mail {number}", "text").note for number in range(MAILS)]
    for looker in lookers:
        assert looker.stop() > 0
    assert set(notes) == {""}
    assert len(office.files("qa_agent", "outbox")) == MAILS


def test_mail_needs_no_network(config: Path, spawn_filebox: SpawnAction) -> None:
    told = started(spawn_filebox("call_all_tools", config=config, agent="qa_agent", to="dev_agent")).result()
    assert told == {"failed": [], "wanted": []}


def test_a_full_disk_refuses_and_keeps_what_was_sent(office: Office, config: Path, spawn_filebox: SpawnAction) -> None:
    told = started(
        spawn_filebox("send_until_error", config=config, agent="qa_agent", to="dev_agent", limit=20_000)
    ).result()
    assert told["error"] == "mailbox_unavailable"
    assert told["hint"]
    assert str(office.base) not in told["sentence"]
    assert told["sent"]
    assert {mail.id for mail in office.mailbox("dev_agent").page("inbox").mails} == set(told["sent"])
    assert len(office.files("qa_agent", "outbox")) == len(told["sent"])
    assert office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "x" * 50_000).note == ""


@pytest.fixture
def open_office() -> Iterator[Office]:
    """Agents in folders that other users of the machine can reach."""
    place = Path(tempfile.mkdtemp(prefix="mailboxes-"))
    place.chmod(0o755)
    office = Office(place, *AGENTS)
    office.configure(office.base)
    yield office
    shutil.rmtree(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_user_is_told_which_folder_is_not_theirs(open_office: Office, spawn_filebox: SpawnAction) -> None:
    """Both agents' folders belong to somebody else; their mail may be looked at as far as they allow."""
    office = open_office
    config = office.base / ".filebox"
    office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "text")
    told = started(spawn_filebox("try_all_as", config=config, uid=65534, agent="dev_agent", to="qa_agent")).result()
    assert {answer["error"] for answer in told.values()} == {"config"}
    assert all(re.search(rf"agents\.\w+ in {config}: ", answer["sentence"]) for answer in told.values())
    for path in [office.base, *office.base.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    told = started(spawn_filebox("try_all_as", config=config, uid=65534, agent="dev_agent", to="qa_agent")).result()
    refused = {what for what, answer in told.items() if answer["error"] == "config"}
    assert refused == {"resolve", "send"}
    assert {answer["error"] for what, answer in told.items() if what not in refused} == {""}
