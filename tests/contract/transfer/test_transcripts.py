"""Transcripts on their way: every line once, whatever is line meanwhile and wherever."""

import pytest
from support.moves import KEY, NOW, all_equal, chat_of, line, moved, outcomes, say, shown, texts, write
from support.transcripts import drain

from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.move import check, move

OTHER = "feishu:oc_other"


def a_history(record: Record) -> None:
    """Some of everything."""
    store = record.store
    say(store, "when is the 发布?", "om_1", source="event", ids={"union_id": "on_ada"}, mentions=[{"name": "Alpha"}])
    store.append(KEY, "assistant", "on Fr…", "Alpha", "om_2", NOW + 1, source="peer_event")
    store.append(KEY, "assistant", "on Friday", "Alpha", "om_2", NOW + 1, source="send", agent="Alpha", hop=1)
    store.append(KEY, "assistant", "part one", "Beta", "om_3", NOW + 2, source="peer_event")
    store.append(KEY, "assistant", "part two", "Beta", "om_4", NOW + 2, source="peer_event")
    store.append(KEY, "assistant", "both", "Beta", "om_3", NOW + 2, message_ids=["om_3", "om_4"], source="send")
    say(store, "ok")
    say(store, "ok")
    say(store, "NUL \0, half a pair \ud800, \u2028 and \\u4f1a", "om_5")
    say(store, "tpyo", "om_6")
    store.edit(KEY, "om_6", "typo", "on_ada")
    say(store, "a secret", "om_7")
    store.recall(KEY, "om_7", "on_ada")
    store.recall(KEY, "om_not_yet", "on_ada")
    say(store, "a worse one", "om_8")
    store.redact(KEY, "om_8", "on_ada")
    say(store, "old", "om_9", source="history")
    for number in range(40):
        say(store, f"message {number} " + "x" * 200, f"om_1{number}")


def test_readers_are_shown_the_same(source: Record, target: Record) -> None:
    a_history(source)
    say(source.store, "elsewhere", "om_1", key=OTHER)
    all_equal(source, target)
    assert [hit.entry for hit in target.store.search("发布")] == [hit.entry for hit in source.store.search("发布")]
    assert target.store.get(KEY, "om_4") == source.store.get(KEY, "om_4")
    assert target.store.get_recent(KEY, 50) == source.store.get_recent(KEY, 50)
    assert not target.store.verify(KEY).duplicates


def test_what_is_known_stays_known(source: Record, target: Record) -> None:
    a_history(source)
    move(source, target)
    for message_id in ("om_1", "om_2", "om_4", "om_5", "om_7", "om_8", "om_not_yet", "om_139"):
        assert not say(target.store, "again", message_id), message_id
    assert not target.store.recall(KEY, "om_7")
    assert not target.store.edit(KEY, "om_8", "back again")
    assert say(target.store, "new", "om_new")


def test_three_runs_move_as_much_as_one(source: Record, target: Record) -> None:
    a_history(source)
    first = move(source, target)
    assert (moved(first), outcomes(first)) == (chat_of(first).lines, {KEY: "equal"})
    before = shown(target)
    for _ in range(2):
        again = move(source, target)
        assert (moved(again), again.is_fine, chat_of(again).hash) == (0, True, chat_of(first).hash)
    assert shown(target) == before


def test_another_run_brings_what_was_said_since(source: Record, target: Record) -> None:
    a_history(source)
    move(source, target)
    say(source.store, "ok")
    say(source.store, "later", "om_later")
    source.store.edit(KEY, "om_1", "when, again?", "on_ada")
    say(source.store, "a new chat", "om_1", key=OTHER)
    again = move(source, target)
    assert (moved(again), outcomes(again)) == (4, {KEY: "equal", OTHER: "equal"})
    all_equal(source, target)


def test_a_move_there_and_back_and_there_again(source: Record, target: Record) -> None:
    a_history(source)
    move(source, target)
    say(target.store, "line there")
    assert outcomes(move(target, source)) == {KEY: "equal"}
    say(source.store, "line here")
    assert outcomes(move(source, target)) == {KEY: "equal"}
    say(source.store, "and here")
    all_equal(source, target)
    assert texts(target)[-3:] == ["line there", "line here", "and here"]


def test_lines_from_both_places_are_there_once(source: Record, target: Record) -> None:
    """Some bots write in the new place already, others still in the old one: each of them what everybody hears."""
    a_history(source)
    move(source, target)
    say(target.store, "heard by both", "om_both")
    target.store.append(KEY, "assistant", "an ans…", "Alpha", "om_answer", NOW, source="peer_event")
    say(target.store, "without an id, there")
    say(source.store, "heard by both", "om_both")
    source.store.append(KEY, "assistant", "an answer", "Alpha", "om_answer", NOW, source="send", agent="Alpha")
    say(source.store, "without an id, here")
    source.store.edit(KEY, "om_1", "edited", "on_ada")
    source.store.recall(KEY, "om_2")
    for _ in range(3):
        report = move(source, target)
        assert (report.is_fine, outcomes(report)) == (True, {KEY: "more"})
    found = texts(target)
    for text in ("heard by both", "an answer", "without an id, there", "without an id, here", "edited"):
        assert found.count(text) == 1, text
    assert "on Friday" not in found
    say(source.store, "without an id, here")
    assert moved(move(source, target)) == 1
    assert texts(target).count("without an id, here") == 2
    compared = check(source, target)
    assert (outcomes(compared), chat_of(compared).missing) == ({KEY: "more"}, 0)


def test_back_to_where_it_came_from_after_both_were_written_to(source: Record, target: Record) -> None:
    a_history(source)
    move(source, target)
    for place, text in ((target, "there"), (source, "here"), (target, "there again")):
        say(place.store, text)
    move(source, target)
    back = move(target, source)
    assert back.is_fine, back.chats
    assert sorted(texts(source)) == sorted(texts(target))
    assert move(source, target).is_fine
    assert sorted(texts(source)) == sorted(texts(target))


def test_another_transcript_of_a_chat_is_left_alone(source: Record, target: Record) -> None:
    say(target.store, "what somebody else has", "om_x")
    a_history(source)
    say(source.store, "elsewhere", "om_1", key=OTHER)
    report = move(source, target)
    assert (report.is_fine, outcomes(report)) == (False, {KEY: "other", OTHER: "equal"})
    assert texts(target) == ["what somebody else has"]
    assert outcomes(check(source, target)) == {KEY: "other", OTHER: "equal"}


def test_text_that_was_taken_back_is_not_carried(source: Record, target: Record) -> None:
    say(source.store, "a secret", "om_1")
    say(source.store, "kept", "om_2")
    source.store.recall(KEY, "om_1")
    all_equal(source, target)
    assert [hit for hit in _bodies(target) if b"a secret" in hit] == []


def test_a_redaction_after_the_copy_erases_there_too(source: Record, target: Record) -> None:
    a_history(source)
    say(source.store, "told too much", "om_much")
    move(source, target)
    source.store.redact(KEY, "om_much", "on_ada")
    assert any(b"told too much" in line for line in _bodies(target))
    assert move(source, target).is_fine
    assert not any(b"told too much" in line for line in _bodies(target))
    all_equal(source, target)


@pytest.mark.parametrize("how", [{}, {"sender": "on_bo"}, {"before_ms": NOW + 5}])
def test_a_purge_after_the_copy_takes_it_there_too(source: Record, target: Record, how: dict[str, object]) -> None:
    a_history(source)
    say(source.store, "Bo was here", "om_bo", sender="on_bo")
    move(source, target)
    source.store.purge(KEY, **how)  # pyright: ignore[reportArgumentType]
    say(source.store, "later", "om_later")
    assert move(source, target).is_fine
    assert texts(target) == texts(source)
    assert not any(b"Bo was here" in line for line in _bodies(target))
    all_equal(source, target)


def test_a_purge_is_told_of_where_others_have_written_meanwhile(source: Record, target: Record) -> None:
    a_history(source)
    move(source, target)
    say(target.store, "line there", "om_there")
    source.store.purge(KEY, before_ms=NOW + 5)
    for _ in range(2):
        assert outcomes(move(source, target)) == {KEY: "purged"}
    target.store.purge(KEY, before_ms=NOW + 5)
    assert move(source, target).is_fine


def test_what_was_purged_does_not_come_back_from_the_platforms_history(source: Record, target: Record) -> None:
    say(source.store, "old", "om_1")
    say(source.store, "all of this goes", "om_1", key=OTHER)
    source.store.purge(KEY, before_ms=NOW + 1000)
    source.store.purge(OTHER)
    move(source, target)
    for key in (KEY, OTHER):
        assert target.store.backend.purged_at(key) == pytest.approx(source.store.backend.purged_at(key), abs=1)
    assert target.store.chats() == [] or [chat.session_key for chat in target.store.chats()] == [KEY]


def test_when_a_chat_was_written_to_last_is_kept(source: Record, target: Record) -> None:
    a_history(source)
    (before,) = source.store.chats()
    move(source, target)
    (after,) = target.store.chats()
    assert after.last_write_ms == pytest.approx(before.last_write_ms, abs=2)


def test_keys_of_any_kind(source: Record, target: Record) -> None:
    keys = ["x", "../../etc/passwd", "a/b\0c", "\ud800", "群 聊", "y" * 3000, "Feishu:OC_TEAM"]
    for number, key in enumerate(keys):
        say(source.store, f"in {number}", "om_1", key=key)
    all_equal(source, target)
    assert sorted(chat.session_key for chat in target.store.chats()) == sorted(keys)


def test_an_empty_record(source: Record, target: Record) -> None:
    source.members.remember_person("on_ada", "Ada")
    report = move(source, target)
    assert (report.is_fine, report.chats) == (True, [])
    assert target.members.name_of("on_ada") == "Ada"


def test_long_lines_and_many_batches(source: Record, target: Record) -> None:
    for number in range(12):
        say(source.store, f"{number} " + "长" * 300_000, f"om_{number}")
    write(source, KEY, [line(f"m {n}", None if n % 7 else f"om_short_{n}") for n in range(4200)])
    all_equal(source, target)
    assert len(drain(target.store, KEY, limit=1000).entries) == 4212


def _bodies(record: Record) -> list[bytes]:
    """What lies in a record, as it lies there."""
    from nanobot_transcript.record.transfer.move import place_of

    transcripts = place_of(record, is_target=False).transcripts
    return [body for _, body in transcripts.bodies(KEY, transcripts.start(KEY))]
