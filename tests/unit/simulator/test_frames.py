"""Frames of the long connection, against bytes that lark-oapi 1.7.5 wrote."""

import pytest

from transcript_channels.simulator.frames import Frame, FrameError, Method, data_frames, pong

SDK_PING = bytes.fromhex("0800100018f681801020002a0c0a0474797065120470696e67")
SDK_ACK = bytes.fromhex(
    "0807100918f681801020012a0d0a047479706512056576656e742a100a0a6d6573736167655f696412026d312a0e0a08"
    "74726163655f6964120274312a080a0373756d1201312a080a037365711201302a0b0a0662697a5f7274120133420d7b"
    "22636f6465223a203230307d"
)


def test_a_ping_of_the_sdk_is_read() -> None:
    ping = Frame.decode(SDK_PING)
    assert (ping.method, ping.headers, ping.service) == (Method.CONTROL, {"type": "ping"}, 33554678)


def test_an_acknowledgement_of_the_sdk_is_read_and_written_byte_for_byte() -> None:
    ack = Frame.decode(SDK_ACK)
    assert ack.method is Method.DATA
    assert ack.payload == b'{"code": 200}'
    assert ack.headers["message_id"] == "m1"
    assert (ack.seq_id, ack.log_id) == (7, 9)
    assert ack.encode() == SDK_ACK


def test_a_pong_carries_the_new_configuration() -> None:
    answer = Frame.decode(pong(Frame.decode(SDK_PING), b"{}").encode())
    assert (answer.method, answer.headers["type"], answer.payload) == (Method.CONTROL, "pong", b"{}")


def test_an_event_goes_in_one_frame_or_in_numbered_pieces() -> None:
    whole = list(data_frames(b"0123456789", frame_id="f", trace_id="t", service=1))
    assert [(one.headers["sum"], one.headers["seq"], one.payload) for one in whole] == [("1", "0", b"0123456789")]
    pieces = list(data_frames(b"0123456789", frame_id="f", trace_id="t", service=1, fragment_bytes=4))
    assert [one.headers["seq"] for one in pieces] == ["0", "1", "2"]
    assert {one.headers["sum"] for one in pieces} == {"3"}
    assert b"".join(one.payload for one in pieces) == b"0123456789"


@pytest.mark.parametrize("junk", [b"", b"\xff\xff", SDK_PING[:-3], b"\x08\x00\x10\x00\x18\x00\x20\x07"])
def test_bytes_that_are_no_frame_are_refused(junk: bytes) -> None:
    with pytest.raises(FrameError):
        Frame.decode(junk)
