"""The way of a message through one of our hosts, as one JSON document.

    python -m benchmarks.way.hosts run FOLDER          our own runner
    python -m benchmarks.way.hosts nanobot FOLDER      nanobot with the plugin in mode gate

One @mention in a group that is answered: from the platform's event to the mind's request and to the record, until the
answer's entry is there. A program of its own, because it looks at all threads from their beginning. Host, platform and
model are those of ``tests/support``, all in this process.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.way.counting import Counting, Way
from benchmarks.way.rooms import room_of, short

__all__ = ["document"]

_IDLE: Final = 1.0
"""Seconds in which what runs is found that nobody's message sets in motion."""
_ASKED: Final = "@Alpha when do we ship?"
_ANSWER: Final = "On Wednesday, in the morning."


async def _way(host: str, folder: Path) -> Way:
    """The hosts are imported when everything is looked at, for the threads that they start."""
    counting = Counting(room_of)
    counting.begin()
    from support.in_process import PluginInProcess, RunnerInProcess
    from support.stage import Play, Stage

    stage = Stage(folder, {"run": RunnerInProcess, "nanobot": PluginInProcess}[host])
    await stage.start()
    try:
        stage.play = play = Play(stage)
        for _ in range(2):  # imports, caches, what is made at the first and what is found at the second message
            await play.say(play.ada, _ASKED)
        with counting.idle():
            await asyncio.sleep(_IDLE)
        play.answers.append(_ANSWER)
        with counting.under_way(lambda: _recorded(folder)) as way:
            await play.say(play.ada, _ASKED)
        assert _recorded(folder), "the answer is not in the record"
        return way
    finally:
        counting.end()
        await stage.stop()


def _recorded(folder: Path) -> bool:
    """Looked at with nothing of ours, so that looking does not count."""
    return any(_ANSWER.encode() in path.read_bytes() for path in (folder / "transcripts").glob("*.jsonl"))


def document(way: Way) -> dict[str, Any]:
    """By room: how many functions, which files, and from where it is entered how often."""
    return {
        room: {
            "functions": len(functions),
            "files": [short(path) for path in way.files(room)],
            "entered": way.entered(room),
        }
        for room, functions in way.functions.items()
    }


def main(host: str, folder: str) -> None:
    print(json.dumps(document(asyncio.run(_way(host, Path(folder))))))


if __name__ == "__main__":
    main(*sys.argv[1:])
