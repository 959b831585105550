"""Messages of a group are found in nanobot's sessions, and taken out of them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from nanobot_transcript.conversation.prompt_lines import encode
from transcript_channels.nanobot_host.session_erasure import forget, ids_in, write_ids
from transcript_channels.nanobot_host.watermark import Watermark

LINE = encode({"id": "om_1", "from": "Ada", "text": "secret"})
OTHER = encode({"id": "om_12", "from": "Bo", "text": "kept"})
GONE = '{"id": "om_1", "recalled": true}'


def session(*messages: dict[str, Any], **metadata: Any) -> Any:
    return SimpleNamespace(messages=list(messages), metadata=metadata, provider_state="state")


def told(text: str, *lines: str) -> dict[str, Any]:
    suffix = "\n".join(["[Runtime Context]", *lines, "[/Runtime Context]"])
    marker = {"version": 1, "sources": ["group_transcript"], "suffix": suffix}
    return {"role": "user", "content": f"{text}\n\n{suffix}" if text else suffix, "_runtime_context": marker}


def with_picture(text: str, *lines: str) -> dict[str, Any]:
    block = {"type": "text", "text": "\n".join(lines)}
    content = [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": text}, block]
    return {"role": "user", "content": content, "_runtime_context": {"version": 1, "blocks": [block]}}


def answer(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def gone(*message_ids: str) -> Callable[[str], bool]:
    return lambda message_id: message_id in message_ids


def test_a_shown_line_is_emptied_wherever_it_stands() -> None:
    checkpoint = {"completed_tool_results": [{"role": "tool", "content": f"x\n{LINE}"}]}
    kept = session(
        told("hi", LINE, OTHER),
        {"role": "tool", "content": f"Messages:\n{LINE}\n{OTHER}"},
        with_picture("look", LINE, OTHER),
        told("", LINE),
        runtime_checkpoint=checkpoint,
    )
    assert forget(kept, gone("om_1"))
    assert "secret" not in str(kept)
    assert str(kept.messages).count("kept") == 5
    for message in (kept.messages[0], kept.messages[3]):
        assert message["content"].endswith(message["_runtime_context"]["suffix"])
        assert GONE in message["content"]
    assert kept.messages[2]["content"][-1:] == kept.messages[2]["_runtime_context"]["blocks"]
    assert GONE in kept.metadata["runtime_checkpoint"]["completed_tool_results"][0]["content"]
    assert kept.provider_state is None


def test_a_session_without_the_message_is_left_alone() -> None:
    kept = session(told("hi", OTHER), {"role": "user", "content": None}, told(f"not at the start: {LINE}"))
    before = str(kept)
    assert not forget(kept, gone("om_1"))
    assert str(kept) == before


def test_a_session_that_was_emptied_before_drops_what_the_provider_brought_along_again() -> None:
    kept = session(told("hi", GONE))
    assert forget(kept, gone("om_1"))
    assert kept.provider_state is None
    assert not forget(kept, gone("om_1"))


def test_what_cannot_be_a_line_of_ours_harms_nobody() -> None:
    kept = session(told("hi", '{"id": "\\x", "text"', '{"id": "', '{"id": 7}', '{"id": "a\\"b", "text": "t"}'))
    assert ids_in(kept) == {'a"b'}
    assert forget(kept, gone('a"b'))
    assert '"text": "t"' not in str(kept)


def test_turns_and_answers_are_found_by_the_id_written_beside_them() -> None:
    mark = Watermark("c").with_turn("om_ask", "my secret").with_answer("om_answer", "**your** secret")
    kept = session(told("my secret", OTHER), answer("**your**\nsecret", reasoning_content="the secret"), answer("x"))
    write_ids(kept, mark)
    assert ids_in(kept) == {"om_ask", "om_answer", "om_12"}
    assert forget(kept, gone("om_ask", "om_answer"))
    assert "secret" not in str(kept.messages)
    assert kept.messages[0]["content"].startswith("[this message was taken back]\n\n[Runtime Context]")
    assert "kept" in kept.messages[0]["content"]
    assert kept.messages[2]["content"] == "x"
    kept.provider_state = None
    assert not forget(kept, gone("om_ask", "om_answer"))


def test_a_turn_with_a_picture_is_emptied_and_what_was_told_with_it_stays() -> None:
    kept = session(with_picture("my secret", OTHER))
    write_ids(kept, Watermark("c").with_turn("om_ask", "my secret"))
    assert forget(kept, gone("om_ask"))
    assert "secret" not in str(kept.messages)
    assert "image_url" not in str(kept.messages)
    assert "kept" in str(kept.messages[0]["content"])


def test_an_answer_with_tool_calls_keeps_what_the_provider_insists_on() -> None:
    kept = session(answer("secret", tool_calls=[{"id": "1"}], thinking_blocks=["signed"]))
    write_ids(kept, Watermark("c").with_answer("om_answer", "secret"))
    assert forget(kept, gone("om_answer"))
    assert kept.messages[0]["thinking_blocks"] == ["signed"]
    assert kept.messages[0]["content"] == "[this message was taken back]"


def test_equal_texts_get_their_ids_in_the_order_they_were_said() -> None:
    kept = session(told("again", OTHER), answer("ok"), told("again"), answer("ok"))
    for _ in range(2):
        write_ids(kept, Watermark("c").with_turn("om_1", "again").with_turn("om_2", "again"))
    assert forget(kept, gone("om_2"))
    assert [message["content"][:5] for message in kept.messages] == ["again", "ok", "[this", "ok"]


def test_ids_stay_when_the_mark_has_forgotten_them() -> None:
    kept = session()
    mark = Watermark("c")
    for number in range(300):
        kept.messages += [told(f"question {number}"), answer(f"answer {number}")]
        mark = mark.with_turn(f"om_q{number}", f"question {number}").with_answer(f"om_a{number}", f"answer {number}")
        write_ids(kept, mark)
    assert len(ids_in(kept)) == 600
    assert forget(kept, gone("om_q0", "om_a1"))
    assert "question 0" not in str(kept.messages[0])
    assert "answer 1" not in str(kept.messages[3])


def test_what_nanobot_quotes_of_a_message_that_is_gone_is_emptied() -> None:
    quoting = [f"[Reply to: {text}]\nand this?" for text in ("the [secret]\nof mine", "x" * 200 + "...", "kept")]
    kept = session(*(told(text, OTHER) for text in quoting), told("[Reply to: no end", OTHER))
    mark = Watermark("c")
    for number, message in enumerate(kept.messages):
        mark = mark.with_turn(f"om_{number}", message["content"].split("\n\n[Runtime")[0])
    write_ids(kept, mark)
    parents = {"om_0": "om_gone", "om_1": "om_gone", "om_2": "om_there", "om_3": "om_gone"}
    assert forget(kept, gone("om_gone"), parents.get)
    texts = [message["content"].split("\n\n[Runtime")[0] for message in kept.messages]
    assert texts == ["[this message was taken back]\nand this?"] * 2 + [quoting[2], "[Reply to: no end"]
    kept.provider_state = None
    assert not forget(kept, gone("om_gone"), parents.get)


@pytest.mark.parametrize("content", [None, 7, [], [7], [{"type": "text"}]])
def test_odd_messages_are_left_alone(content: Any) -> None:
    kept = session({"role": "user", "content": content, "_runtime_context": {"suffix": 7, "blocks": {}}})
    write_ids(kept, Watermark("c").with_turn("om_1", "something"))
    assert not forget(kept, gone("om_1"))
