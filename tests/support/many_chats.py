"""What another process does with a record of very many chats: ``python -m support.many_chats``. It says how long each
thing took (s), and how much memory the process has had (MB).
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from support.places import open_record
from support.worker import ready, say

from nanobot_transcript.entry import Entry
from nanobot_transcript.store import arguments

if TYPE_CHECKING:
    from nanobot_transcript.store.contract import FarBackend

_LINES = 3
_SEEN = 1000
"""One chat of so many has the word and the person that are looked for."""


def main(argv: list[str]) -> None:
    """Run one action."""
    say(ACTIONS[argv[1]](**json.loads(argv[2])))


class Taken:
    """Seconds, by what was done."""

    def __init__(self) -> None:
        self.told: dict[str, float] = {}

    @contextmanager
    def noted(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.told[what] = round(time.monotonic() - began, 2)

    def ends(self, **figures: object) -> dict[str, Any]:
        """Everything."""
        return self.told | figures | {"memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


def fill(place: str, first: int, last: int) -> dict[str, Any]:
    """Some lines in each chat of a range."""
    record, taken = open_record(place), Taken()
    backend = cast("FarBackend", record.store.backend)
    ready()
    with taken.noted("fill_s"):
        for number in range(first, last):
            backend.write_many(_key(number), [_line(number, each) for each in range(_LINES)], time.time() * 1000)
    return taken.ends()


def use(place: str, chats: int) -> dict[str, Any]:
    """What a hub and its person do."""
    record, taken = open_record(place), Taken()
    store = record.store
    ready()
    with taken.noted("list_s"):
        assert len(store.chats()) == chats
    with taken.noted("search_in_one_s"):
        assert len(store.search("rare", _key(0))) == 1
    with taken.noted("search_all_hits_s"):
        assert len(store.search("rare", limit=chats)) == len(range(0, chats, _SEEN))
    with taken.noted("search_all_miss_s"):
        assert store.search("nowhere") == []
    with taken.noted("read_500_chats_s"):
        for number in range(0, chats, max(1, chats // 500)):
            assert len(store.get_recent(_key(number), 20)) == _LINES
    with taken.noted("recall_and_maintain_s"):
        store.recall(_key(1), "om_1_0")
        store.maintain()
    with taken.noted("maintain_again_s"):
        store.maintain()
    with taken.noted("purge_a_chat_s"):
        store.purge(_key(2))
    with taken.noted("purge_a_person_s"):
        store.purge(sender="on_rare")
    assert store.search("rare", limit=chats) == []
    with taken.noted("list_again_s"):
        left = len(store.chats())
    return taken.ends(chats_left=left)


def _key(number: int) -> str:
    return f"feishu:oc_{number:06d}"


def _line(number: int, each: int) -> Entry:
    rare = each == 0 and number % _SEEN == 0
    text = f"a {'rare' if rare else 'usual'} word of chat {number}, " + "x" * 200
    sender, ts = "on_rare" if rare else f"on_{number % 5000}", 1_700_000_000_000 + each
    return arguments.entry("user", text, sender, f"om_{number}_{each}", ts, {"source": "event"})


ACTIONS: dict[str, Callable[..., Any]] = {"fill": fill, "use": use}

if __name__ == "__main__":
    main(sys.argv)
