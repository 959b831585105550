"""Replies, and joining copies."""

from hypothesis import given
from hypothesis import strategies as st
from support.mailboxes import SEPARATOR

from transcript_mcp.filebox.message import new_message
from transcript_mcp.filebox.thread import entries, joined, with_reply
from transcript_mcp.filebox.values import Draft

ID = "1b1d8fc0-034e-4fd4-874b-a8d39f95ba68"
T1, T2, T3, T4 = (f"2025-06-30T08:{minute}:22.616Z" for minute in (15, 25, 35, 45))
NEW = new_message(Draft("qa_agent", "dev_agent", "BR", "消息标题", "原始消息内容..."), ID, T1)
ACK = Draft("dev_agent", "qa_agent", "ACK", "", "最新回复内容...")
ANSWER = Draft("qa_agent", "dev_agent", "INFO", "", "noch eine")


def peers_reply(text: str, draft: Draft, time: str) -> str:
    """A reply as the original program writes it: no blank line above its separator, none above older entries."""
    head, marker, thread = text.partition("===== MESSAGE THREAD =====")
    lines = [
        f"**Sender:** {draft.sender}"
        if line.startswith("**Sender:**")
        else f"**Receiver:** {draft.receiver}"
        if line.startswith("**Receiver:**")
        else f"**Timestamp:** {time}"
        if line.startswith("**Timestamp:**")
        else f"**Current Owner:** {draft.receiver}"
        if line.startswith("**Current Owner:**")
        else line
        for line in head.split("\n")
    ]
    entry = f"\n{SEPARATOR}\n\n## {time} - {draft.sender} to {draft.receiver} ({draft.type})\n\n{draft.content}\n"
    return "\n".join(lines) + marker + entry + thread.removeprefix("\n")


def test_a_first_reply_looks_as_in_the_plan() -> None:
    assert with_reply(NEW, ACK, T2) == (
        "# BR: 消息标题\n\n"
        "**Format Version:** 1.0\n"
        f"**Message ID:** {ID}\n"
        "**Sender:** dev_agent\n"
        "**Receiver:** qa_agent\n"
        f"**Timestamp:** {T2}\n"
        "**Original Sender:** qa_agent\n"
        "**Current Owner:** qa_agent\n\n"
        "===== MESSAGE THREAD =====\n\n"
        f"{SEPARATOR}\n\n"
        f"## {T2} - dev_agent to qa_agent (ACK)\n\n"
        "最新回复内容...\n\n"
        f"{SEPARATOR}\n\n"
        f"## {T1} - qa_agent to dev_agent (BR)\n\n"
        "原始消息内容..."
    )


def test_a_second_reply_leaves_what_is_below_as_it_is() -> None:
    first = with_reply(NEW, ACK, T2)
    second = with_reply(first, ANSWER, T3)
    assert second.endswith(first.partition("===== MESSAGE THREAD =====\n\n")[2])
    assert second.count(SEPARATOR) == 3
    assert [entry.text for entry in entries(second)] == ["noch eine", "最新回复内容...", "原始消息内容..."]


def test_a_reply_to_the_original_programs_reply_keeps_all() -> None:
    mixed = with_reply(peers_reply(NEW, ACK, T2), ANSWER, T3)
    assert [(entry.sender, entry.text) for entry in entries(mixed)] == [
        ("qa_agent", "noch eine"),
        ("dev_agent", "最新回复内容..."),
        ("qa_agent", "原始消息内容..."),
    ]
    again = peers_reply(mixed, ACK, T4)
    assert [entry.time for entry in entries(again)] == [T4, T3, T2, T1]


def test_entries_are_read_with_windows_line_ends_too() -> None:
    text = with_reply(NEW, ACK, T2).replace("\n", "\r\n")
    assert [entry.text for entry in entries(text)] == ["最新回复内容...", "原始消息内容..."]


def test_copies_that_went_separate_ways_are_joined_in_the_order_of_time() -> None:
    base = with_reply(NEW, ACK, T2)
    newest = with_reply(NEW, ANSWER, T4)
    other = with_reply(base, Draft("dev_agent", "qa_agent", "INFO", "", "between"), T3)
    text = joined(newest, [other, base, NEW])
    assert [entry.text for entry in entries(text)] == ["noch eine", "between", "最新回复内容...", "原始消息内容..."]
    assert text.startswith(newest.partition("=====")[0])


def test_a_copy_that_knows_nothing_more_changes_nothing() -> None:
    newest = with_reply(with_reply(NEW, ACK, T2), ANSWER, T3)
    assert joined(newest, [NEW, with_reply(NEW, ACK, T2), newest, ""]) is newest
    assert joined(newest, [NEW.replace("\n", "\r\n")]) is newest


def test_text_above_the_first_entry_is_not_lost() -> None:
    noted = NEW.replace("=====\n\n##", "=====\n\na note by hand\n\n##")
    text = joined(with_reply(NEW, ACK, T2), [noted])
    assert "a note by hand" in text
    assert "a note by hand" in with_reply(noted, ACK, T2)


def test_a_mail_without_marker_keeps_its_text() -> None:
    text = with_reply(f"# BR: t\n\n**Message ID:** {ID}\n\nsome text\n\n**bold**", ACK, T2)
    head, _, thread = text.partition("===== MESSAGE THREAD =====")
    assert "**Sender:** dev_agent" in head
    assert thread.endswith("some text\n\n**bold**")


def test_bytes_that_are_no_text_survive_a_reply() -> None:
    broken = NEW.encode().replace("原始".encode(), b"\xff\xfe").decode("utf-8", "surrogateescape")
    assert b"\xff\xfe" in with_reply(broken, ACK, T2).encode("utf-8", "surrogateescape")


texts = st.lists(st.sampled_from(["a", "b", "\n", SEPARATOR, "## x", f"## {T1} - x to y (Z)", "\\", " "]), max_size=8)


@given(st.lists(texts.map("".join).map(str.strip), max_size=6))
def test_no_reply_ever_loses_an_entry(replies: list[str]) -> None:
    text, expected = NEW, ["原始消息内容..."]
    for number, content in enumerate(replies):
        text = with_reply(text, Draft("a", "b", "INFO", "", content), f"2025-07-01T08:{number:02d}:00.000Z")
        expected.insert(0, content)
    assert [entry.text for entry in entries(text)] == expected
