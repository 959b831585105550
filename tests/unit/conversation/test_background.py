"""What must not hold up a message: done in order, in a thread that ends."""

import threading

import pytest
from support.waiting import PATIENCE

from nanobot_transcript.conversation import background as background_module
from nanobot_transcript.conversation.background import Background


def test_background_work_is_done_in_order_and_survives_failures(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []
    background = Background(lambda: None)
    background.start()
    background.start()
    background.submit(done.append, 1)
    background.submit(lambda: 1 / 0)
    background.submit(done.append, 2)
    assert background.drain(PATIENCE)
    assert done == [1, 2]
    assert "Background work failed" in caplog.text


def test_the_periodic_work_comes_by_itself_again_and_again() -> None:
    first, second = threading.Event(), threading.Event()

    def work() -> None:
        if first.is_set():
            second.set()
            threading.Event().wait()  # until the process ends: a daemon thread
        first.set()

    Background(work, first=0.0, every=0.01).start()
    assert first.wait(PATIENCE)
    assert second.wait(PATIENCE)


def test_at_its_end_the_background_does_what_was_submitted_and_nothing_after_it() -> None:
    done: list[str] = []
    background = Background(lambda: done.append("periodic"), every=0.0)
    background.start()
    background.submit(done.append, "submitted")
    assert background.close(PATIENCE)
    background.submit(done.append, "too late")
    assert background.drain(0.0)
    assert done == ["submitted"]


def test_background_work_that_does_not_end_is_left_behind() -> None:
    background = Background(lambda: None)
    background.start()
    background.submit(threading.Event().wait)
    assert not background.close(0.0)


def test_a_background_that_never_began_says_whether_something_was_left() -> None:
    idle, submitted = Background(lambda: None), Background(lambda: None)
    submitted.submit(print)
    assert idle.close(0.0)
    assert not submitted.close(0.0)
    submitted.start()
    assert not submitted.close(0.0)


def test_a_background_with_too_much_to_do_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_module, "_WAITING", 3)
    done, begin = list[int](), threading.Event()
    background = Background(lambda: None)
    background.start()
    background.submit(begin.wait)
    for number in range(10):
        background.submit(done.append, number)
    begin.set()
    assert background.close(PATIENCE)
    assert background.close(0.0)
    assert done in ([0, 1], [0, 1, 2])  # the first may have been taken out already


def test_a_background_can_be_closed_from_within() -> None:
    closed = list[bool]()
    background = Background(lambda: None)
    background.start()
    background.submit(lambda: closed.append(background.close(0.0)))
    assert background.drain(PATIENCE)
    assert closed == [False]
