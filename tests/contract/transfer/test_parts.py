"""Everything beside the transcripts: each bot goes on where it was, and knows whom it knew."""

from pathlib import Path
from typing import Any

import pytest
from contract.transfer.conftest import Open, Way
from support.moves import KEY, NOW, line, moved, say, texts, write
from support.transcripts import drain

from nanobot_transcript.coordination.write_behind import MarksBehind
from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.move import MoveReport, check, move
from nanobot_transcript.record.transfer.parts import PartReport
from nanobot_transcript.relevance.decision import Decision, Reason, Stage

SESSION = ("cli_a", KEY)


def part(report: MoveReport, name: str) -> PartReport:
    return next(one for one in report.parts if one.part == name)


def put_place(record: Record, cursor: str, **more: Any) -> None:
    """A session's mark, as the plugin keeps it."""
    document = {"app_id": SESSION[0], "session": SESSION[1], "cursor": cursor, "chat": "oc_team", "told": ["om_0"]}
    record.marks.put("session", document | more, *SESSION)


def place(record: Record) -> dict[str, Any]:
    found = record.marks.get("session", *SESSION)
    assert found is not None
    return found


@pytest.mark.parametrize("read", [0, 1, 2, 37, 60, 99])
def test_a_session_goes_on_where_it_was(source: Record, target: Record, read: int) -> None:
    """Also behind what was recalled, had no id, or is an edit."""
    for number in range(50):
        say(source.store, f"message {number}", f"om_{number}" if number % 3 else None)
        if number % 5 == 1:
            source.store.edit(KEY, f"om_{number}", f"edited {number}")
        if number % 7 == 4:
            source.store.recall(KEY, f"om_{number}")
    page = source.store.read(KEY, None, read)
    put_place(source, page.cursor, checked=source.store.end(KEY), odd={"deep": [page.cursor, "c1.is none"]})
    report = move(source, target)
    assert (part(report, "marks").moved, report.is_fine) == (1, True)
    kept = place(target)
    left = [entry["content"] for entry in drain(source.store, KEY, page.cursor).entries]
    assert [entry["content"] for entry in drain(target.store, KEY, kept["cursor"]).entries] == left
    assert kept["checked"] == target.store.end(KEY)
    assert kept["odd"] == {"deep": [kept["cursor"], "c1.is none"]}
    assert kept["told"] == ["om_0"]


def test_a_place_in_a_long_chat_is_found_again(source: Record, target: Record) -> None:
    """Between the places that are remembered."""
    for number in range(3):
        write(source, KEY, [line(f"{number} {each}", f"om_{number}_{each}") for each in range(2500)])
        move(source, target)
    cursors: list[str] = []
    cursor = None
    for _ in range(10):
        cursor = source.store.read(KEY, cursor, 700).cursor
        cursors.append(cursor)
    for number, each in enumerate(cursors):
        source.marks.put("session", {"cursor": each, "session": KEY}, str(number))
    move(source, target)
    for number, each in enumerate(cursors):
        kept = target.marks.get("session", str(number))
        assert kept is not None
        (first,) = source.store.read(KEY, each, 1).entries
        assert target.store.read(KEY, kept["cursor"], 1).entries == [first]


def test_a_mark_is_carried_again_until_its_bot_has_put_one_there(source: Record, target: Record) -> None:
    for number in range(9):
        say(source.store, f"message {number}", f"om_{number}")
    put_place(source, source.store.read(KEY, None, 3).cursor)
    move(source, target)
    put_place(source, source.store.read(KEY, None, 6).cursor)
    assert part(move(source, target), "marks").moved == 1
    assert len(drain(target.store, KEY, place(target)["cursor"]).entries) == 3
    assert part(move(source, target), "marks").moved == 0
    put_place(target, target.store.end(KEY), told=["om_8"])
    put_place(source, source.store.read(KEY, None, 7).cursor)
    assert part(move(source, target), "marks").moved == 0
    assert place(target)["told"] == ["om_8"]


def test_what_a_bot_dealt_with_is_not_told_again_where_both_were_written_to(source: Record, target: Record) -> None:
    for number in range(5):
        say(source.store, f"message {number}", f"om_{number}")
    move(source, target)
    say(target.store, "the bot has not seen this", "om_there")
    say(source.store, "but this", "om_here")
    say(source.store, "not this", "om_late")
    seen = source.store.read(KEY, None, 6).cursor
    put_place(source, seen)
    source.marks.put("relay", {"agent": "Alpha", "session": KEY, "cursor": seen, "handed": []}, "Alpha", KEY)
    move(source, target)
    kept, relay = place(target), target.marks.get("relay", "Alpha", KEY)
    assert relay is not None
    for mark, done in ((kept, kept["told"]), (relay, relay["handed"])):
        behind = [entry["message_id"] for entry in drain(target.store, KEY, mark["cursor"]).entries]
        assert [one for one in behind if one not in done] == ["om_there", "om_late"]


def test_a_card_that_a_relay_waits_for_is_not_taken_for_passed_on(source: Record, target: Record) -> None:
    say(source.store, "hello", "om_1")
    move(source, target)
    say(target.store, "both are written to", "om_there")
    say(source.store, "being written", "om_card")
    say(source.store, "done", "om_done")
    cursor = source.store.end(KEY)
    mark = {"agent": "Alpha", "session": KEY, "cursor": cursor, "waiting": ["om_card"], "handed": []}
    source.marks.put("relay", mark, "Alpha", KEY)
    move(source, target)
    relay = target.marks.get("relay", "Alpha", KEY)
    assert relay is not None
    assert relay["waiting"] == ["om_card"]
    assert relay["handed"] == ["om_done"]


def test_private_chats_stay_private(source: Record, target: Record, way: Way, opened: Open) -> None:
    source.marks.put("private", {"digest": "d" * 32}, "oc_secret")
    source.marks.put("something new", {"n": 1}, "a", "b")
    move(source, target)
    for marks in (target.marks, opened(way.target).marks, MarksBehind(target.marks, "private")):
        assert marks.has("private", "oc_secret")
        assert not marks.has("private", "oc_team")
    found = target.marks.get("something new", "a", "b")
    assert found is not None
    assert found["n"] == 1


def test_a_place_nobody_knows_stays_what_it_is(source: Record, target: Record) -> None:
    say(source.store, "hello", "om_1")
    for name, cursor in (("gone", "c1.123456.1.20"), ("far", "e1.123456.20"), ("none", "nonsense")):
        source.marks.put("session", {"cursor": cursor}, name)
    assert move(source, target).is_fine
    found = [target.marks.get("session", name) for name in ("gone", "far", "none")]
    assert [one["cursor"] if one else None for one in found] == ["c1.123456.1.20", "e1.123456.20", "nonsense"]


def test_members_are_known_there(source: Record, target: Record) -> None:
    members = source.members
    members.remember_bot("cli_a", "Alpha", aliases=["A"], description="plans", open_ids={"cli_b": "ou_a"})
    members.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_1"}, "cli_a")
    members.saw(KEY, "on_ada")
    members.remember_chat(KEY, "The team")
    members.remember_list(KEY, {"ou_1": "Ada", "ou_2": "Bo"}, "open_id", "cli_a")
    report = move(source, target)
    assert part(report, "members").moved == part(report, "members").count > 0
    there = target.members
    assert there.facts() == members.facts()
    assert (there.name_of("on_ada"), there.title_of(KEY)) == ("Ada", "The team")
    assert part(check(source, target), "members").lacking == 0


def test_who_was_forgotten_there_does_not_come_back(source: Record, target: Record) -> None:
    source.members.remember_person("on_ada", "Ada", {"union_id": "on_ada"})
    move(source, target)
    target.members.forget("on_ada")
    move(source, target)
    assert target.members.name_of("on_ada") is None
    assert part(check(source, target), "members").lacking == 1


def test_what_is_known_in_both_places_is_joined(source: Record, target: Record) -> None:
    source.members.remember_bot("cli_a", "Alpha", aliases=["A"], open_ids={"cli_b": "ou_a"})
    source.members.remember_person("on_ada", "Ada", {"union_id": "on_ada"})
    target.members.remember_bot("cli_a", "Alpha", open_ids={"cli_c": "ou_b"}, aliases=["A"])
    target.members.remember_person("on_bo", "Bo", {"union_id": "on_bo"})
    move(source, target)
    facts = target.members.facts()
    assert facts["bots"]["cli_a"]["open_ids"] == {"cli_b": "ou_a", "cli_c": "ou_b"}
    assert set(facts["people"]) >= {"on_ada", "on_bo"}


def decide(record: Record, number: int, key: str = KEY) -> None:
    decision = Decision(
        message_id=f"om_{number}", agent="Alpha", respond=True, stage=Stage.ANSWER, reason=Reason.MENTIONED, score=1.0
    )
    assert record.decisions.write(key, decision, NOW + number)
    record.decisions.read(key)  # waits until it is there


def test_decisions_are_there_once_and_in_order(source: Record, target: Record) -> None:
    for number in range(30):
        decide(source, number)
    decide(source, 0, "feishu:oc_other")
    assert part(move(source, target), "decisions").moved == 31
    assert target.decisions.read(KEY) == source.decisions.read(KEY)
    decide(source, 31)
    decide(target, 32)
    for _ in range(2):
        move(source, target)
    assert [record["message_id"] for record in target.decisions.read(KEY)] == [
        *(f"om_{number}" for number in range(30)),
        "om_32",
        "om_31",
    ]
    assert len(target.decisions.outcomes(NOW - 1000)) == 33
    assert part(check(source, target), "decisions").lacking == 0


def test_a_file_of_members_that_cannot_be_read_is_told_of(tmp_path: Path, postgres_place: str, opened: Open) -> None:
    source = opened(tmp_path / "folder")
    say(source.store, "hello", "om_1")
    (tmp_path / "folder" / ".state" / "members.json").write_text('{"v": 99}')
    target = opened(postgres_place)
    report = move(source, target)
    assert (part(report, "members").problem, report.is_fine) == (
        f"{tmp_path}/folder/.state/members.json was written by a newer version.",
        False,
    )
    assert (texts(target), moved(report)) == (["hello"], 1)
