"""The messages of the wire, by bytes and names that are written down here by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from transcript_mcp.assistant.protocol import frames, proto, schema, wire

LOGIN = b"\x0a\x09UserLogin\x62\x0atest-token\x92\x01\x03Ada"
"""Cmd (1), StrParam (12), Nickname (18)."""

REPLY = (
    b"\x0a\x10AskQuestionReply"
    b"\x12\x04\x0a\x02q1"  # AskQuestionRequest (2) with ID (1)
    b"\x22\x14\x0a\x02q1\x22\x0e\x08\x01\x12\x0a\x0a\x04text\x12\x02ok"  # AskQuestionResponse (4)
)


def test_a_recorded_login_is_understood() -> None:
    frame = wire.decoded(proto.WebsocketMessage, LOGIN)
    assert (frame.Cmd, frame.StrParam, frame.Nickname) == ("UserLogin", "test-token", "Ada")
    assert frame.SerializeToString() == LOGIN


def test_a_recorded_reply_is_understood() -> None:
    frame = wire.decoded(proto.WebsocketMessage, REPLY)
    assert (frame.Cmd, frame.AskQuestionRequest.ID) == ("AskQuestionReply", "q1")
    (content,) = frame.AskQuestionResponse.contents
    assert (content.type, content.text.type, content.text.text) == (1, "text", "ok")


@pytest.mark.parametrize(
    ("recorded", "name"),
    [
        (b"\x0a\x12GetPendingMessages\x7a\x03\x0a\x01t", "GetPendingMessages"),  # GetPendingMessagesRequest (15)
        (b"\x0a\x0eGetOnlineUsers\x9a\x01\x03\x0a\x01t", "GetOnlineUsers"),  # GetOnlineUsersRequest (19)
    ],
)
def test_a_token_beside_a_command_is_read_though_the_login_counts(recorded: bytes, name: str) -> None:
    frame = wire.decoded(proto.WebsocketMessage, recorded)
    assert frame.Cmd == name
    assert getattr(frame, f"{name}Request").user_token == "t"


def test_how_a_program_introduces_itself_and_says_that_it_lives_is_understood() -> None:
    about = b"\x0a\x0a2025-06-18\x12\x02{}\x1a\x06Cursor\x22\x031.2"
    told = wire.decoded(
        proto.McpClientInfoRequest, b"\x0a\x01r\x12\x01t\x1a" + bytes([len(about)]) + about + b"\x20\x05"
    )
    assert (told.ID, told.UserToken, told.Timestamp) == ("r", "t", 5)
    client = told.Request
    assert (client.ProtocolVersion, client.CapabilitiesJson, client.ClientName) == ("2025-06-18", "{}", "Cursor")
    assert client.ClientVersion == "1.2"
    lives = wire.decoded(proto.McpHeartbeatRequest, b"\x0a\x01s\x12\x01t\x18\x05")
    assert (lives.SessionId, lives.UserToken, lives.Timestamp) == ("s", "t", 5)


ASKED = b"\x0a\x02q1\x12\x01t\x1a\x09\x0a\x02/p\x12\x01?\x18\x3c"
"""ID (1), UserToken (2), Request (3) with ProjectDirectory (1), Question (2) and Timeout (3)."""

ASKED_IN_A_GROUP = b"\x0a\x02q1\x12\x01t\x1a\x10\x0a\x02/p\x12\x01?\x18\x3c\xa2\x06\x04oc_2"
"""The same with Chat (100)."""


@pytest.mark.parametrize(
    ("asked", "chat"),
    [(ASKED, None), (ASKED_IN_A_GROUP, "oc_2"), (ASKED.replace(b"\x1a\x09", b"\x1a\x0c") + b"\xa2\x06\x00", "")],
)
def test_a_question_names_its_group_in_a_field_of_our_own_or_leaves_it_out_as_programs_of_the_original_do(
    asked: bytes, chat: str | None
) -> None:
    request = wire.decoded(proto.AskQuestionRequest, asked)
    question = frames.question_of(request, "s", "question", "AskQuestion")
    assert (question.id, question.text, question.timeout, question.chat) == ("q1", "?", 60, chat)


def test_names_in_json_keep_their_first_capital() -> None:
    request = proto.AskQuestionRequest(
        ID="q1",
        UserToken="t",
        Request=proto.McpAskQuestionRequest(ProjectDirectory="/p", Question="你好", Timeout=5),
        Timestamp=1700000000000,
    )
    assert wire.to_json(request).decode() == (
        '{"ID": "q1", "UserToken": "t", "Request": {"ProjectDirectory": "/p", "Question": "你好", "Timeout": 5}, '
        '"Timestamp": "1700000000000"}'
    )
    image = proto.ImageContent(type="image", mime_type="image/png")
    assert b'"mimeType"' in wire.to_json(image)
    assert b'"requestIds"' in wire.to_json(proto.CheckMessageValidityRequest(request_ids=["a"]))


def test_unknown_json_fields_are_left_out() -> None:
    read = wire.from_json(proto.AskQuestionRequest, b'{"ID":"q1","Newer":{"a":[1]},"Timestamp":"7"}')
    assert (read.ID, read.Timestamp) == ("q1", 7)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff", b'{"ID":5}', b"[" * 100_000, b'{"Timestamp":"x"}'])
def test_json_that_is_none_of_ours_is_refused(body: bytes) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.from_json(proto.AskQuestionRequest, body)


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\x05ab", b"\x0a\x02\xff\xfe", b"\x12\x80"])
def test_bytes_that_are_none_of_ours_are_refused(data: bytes) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.decoded(proto.WebsocketMessage, data)


def test_what_only_one_side_knows_is_told_from_what_is_absent() -> None:
    assert not proto.AskQuestionRequest().HasField("Wait")
    again = wire.decoded(proto.AskQuestionRequest, proto.AskQuestionRequest(Wait=0).SerializeToString())
    assert again.HasField("Wait")


def test_every_number_of_a_message_is_used_once() -> None:
    for name, fields in schema.MESSAGES.items():
        assert len({field.number for field in fields}) == len(fields), name


def test_the_proto_file_says_what_the_table_does() -> None:
    shipped = Path(schema.__file__).with_name("agentassist.proto")
    assert shipped.read_text(encoding="utf-8") == schema.proto_text()


def test_the_stub_says_what_the_table_does() -> None:
    shipped = Path(schema.__file__).with_name("proto.pyi")
    assert shipped.read_text(encoding="utf-8") == schema.stub_text(), (
        "python -m transcript_mcp.assistant.protocol.schema"
    )


# -- how many values a message has, before it is understood

MOST = 1000


def asked(options: int, text: str = "?") -> Any:
    listed = [proto.QuestionOption(label=f'{{"{number}"}}', description=r"\",[") for number in range(options)]
    request = proto.McpAskQuestionRequest(Question=text, Questions=[proto.Question(options=listed)])
    return proto.AskQuestionRequest(ID="q1", UserToken="t", Request=request)


def test_a_message_of_a_few_fields_is_understood_however_long_they_are() -> None:
    long = asked(200, '{["\\' * 100_000)
    assert wire.decoded(proto.AskQuestionRequest, long.SerializeToString(), MOST) == long
    assert wire.from_json(proto.AskQuestionRequest, wire.to_json(long), MOST) == long
    escaped = json.dumps(json.loads(wire.to_json(long))).encode()
    assert wire.from_json(proto.AskQuestionRequest, escaped, MOST) == long


def test_a_message_of_too_many_fields_is_refused_however_short_they_are() -> None:
    many = asked(2000)
    with pytest.raises(wire.TooManyValuesError):
        wire.decoded(proto.AskQuestionRequest, many.SerializeToString(), MOST)
    with pytest.raises(wire.TooManyValuesError):
        wire.from_json(proto.AskQuestionRequest, wire.to_json(many), MOST)
    assert wire.decoded(proto.AskQuestionRequest, many.SerializeToString()) == many


@pytest.mark.parametrize(
    "body",
    [
        b'{"Request":{"Questions":[' + b"{}," * 1_000_000 + b"{}]}}",
        b'{"x":[' + b"[]," * 1_000_000 + b"[]]}",
        b'{"x":[' + b"0," * 1_000_000 + b"0]}",
        b'{"x":[' + b'"",' * 1_000_000 + b'""]}',
        b'{"x":["\\\\",' + b"{}," * 1_000_000 + b"{}]}",
        b"[" * 1_000_000,
    ],
)
def test_json_of_too_many_values_is_not_even_read(body: bytes) -> None:
    with pytest.raises(wire.TooManyValuesError):
        wire.from_json(proto.AskQuestionRequest, body, MOST)


def test_json_in_another_encoding_than_the_one_that_was_counted_is_refused() -> None:
    hidden = '{"x":"' + '"["' * 2000 + '"}'
    for encoding in ("utf-16", "utf-32-le"):
        with pytest.raises(wire.UnreadableError):
            wire.from_json(proto.AskQuestionRequest, hidden.encode(encoding), MOST)
    marked = b"\xef\xbb\xbf" + b'{"ID": "q1"}'
    assert wire.from_json(proto.AskQuestionRequest, marked, MOST).ID == "q1"


@pytest.mark.parametrize(
    "data", [b"\x1a\x02\x3a\x00" * 2000, b"\x08\x01" * 2000, b"\x1b\x1c" * 1000, b"\x09" + b"x" * 8]
)
def test_fields_that_nobody_knows_count_too(data: bytes) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.decoded(proto.AskQuestionRequest, data, 500 if len(data) > 9 else 0)


@pytest.mark.parametrize("data", [b"\xff" * 100, b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x1a\x05\x3a", b"\x80"])
def test_bytes_that_are_no_message_are_left_to_who_reads_them(data: bytes) -> None:
    with pytest.raises(wire.UnreadableError) as refused:
        wire.decoded(proto.AskQuestionRequest, data, MOST)
    assert not isinstance(refused.value, wire.TooManyValuesError)


def test_values_are_counted_outside_of_texts() -> None:
    assert wire.values_in(rb'{"a": "{[,\"{[,\\", "b": [1, 2], "c": {}}', MOST) == 6
