"""Taking turns between threads."""

import threading

from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript.sql.postgres.fair_lock import TurnLock


def test_they_have_it_in_the_order_in_which_they_came() -> None:
    turn, had = TurnLock(), list[int]()
    assert turn.take(0)

    def work(number: int) -> None:
        assert turn.take(PATIENCE)
        had.append(number)
        turn.give_on()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for number, thread in enumerate(threads):
        thread.start()
        until(lambda number=number: len(turn._waiting) == number + 1, "it waits")
    turn.give_on()
    for thread in threads:
        thread.join(PATIENCE)
    assert had == list(range(8))
    assert turn.take(0)


def test_who_waits_too_long_stands_in_nobodys_way() -> None:
    turn = TurnLock()
    assert turn.take(0)
    assert not turn.take(0.01)
    turn.give_on()
    assert turn.take(0)
