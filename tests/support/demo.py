"""The demo as a person starts it: the real command in a process of its own, with an empty home folder."""

import contextlib
import json
import os
import re
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

from support.waiting import PATIENCE
from support.watched import Watched

__all__ = ["Demo"]

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


class Demo(Watched):
    """One run below ``folder``, by ``python``. ``seen`` is what it has printed so far, without colours."""

    def __init__(
        self, folder: Path, *options: str, python: str = sys.executable, terminal: bool = False, **variables: str
    ) -> None:
        self.home, self.temporary = folder / "home", folder / "tmp"
        for made in (self.home, self.temporary):
            made.mkdir()
        own = {"HOME": str(self.home), "TMPDIR": str(self.temporary), "TERM": "xterm", "LANG": "C.UTF-8"}
        env = {"PATH": os.environ["PATH"], **own, **variables}
        command = [python, "-m", "nanobot_transcript.cli", "demo", *options]
        super().__init__(command, env, terminal=terminal)

    @property
    def coloured(self) -> str:
        """Everything printed, as a terminal gets it."""
        return super().seen

    @property
    def seen(self) -> str:
        """Everything printed, as text."""
        return _ESCAPES.sub("", self.coloured).replace("\r", "")

    @property
    def document(self) -> Any:
        """The JSON document at the end of the output."""
        return json.loads(self.seen.splitlines()[-1])

    def expect_all_scenes(self) -> None:
        """What the document of ``--json`` and the screen say of a demo that went well, and that nothing is left."""
        document = self.document
        said = [event for event in document["events"] if event["kind"] == "said"]
        speakers, texts = [event["from"] for event in said], [event["text"] for event in said]
        one = speakers[7]
        assert one in ("Alpha", "Beta")
        opening = ["Ada", "Bo", "Ada", "Alpha", "Bo", "Beta", "Dana", one]
        assert speakers == [*opening, "Ada", "Alpha", "Beta", "Alpha", "Beta", "Bo"]
        assert texts[3] in texts[5]
        given = [(turn["bot"], [entry["text"] for entry in turn["entries"]]) for turn in document["given"]]
        assert given[:3] == [("Alpha", texts[:2]), ("Beta", texts[:4]), (one, texts[:6])]
        counts = document["counts"]
        assert (counts["messages"], counts["entries"], counts["duplicates"], counts["missing"]) == (14, 14, 0, [])
        for shown in ("✓ Beta knows", f"{one}: open to any bot", "✓ One answer, not two", "✓ The loop guard"):
            assert shown in self.seen
        assert "Alpha 1 → Beta 2 → Alpha 3 → Beta 4" in self.seen
        self.expect_nothing_left()

    @property
    def page(self) -> str:
        """The address of the hub's pages."""
        (address,) = re.findall(r"^ +(?:page|网页) +(http://127\.0\.0\.1:\d+)", self.seen, re.MULTILINE)
        return address

    def post_on_the_page(self, text: str, *, by: str) -> None:
        """Write into the group as the page does it: a bot says it."""
        with urllib.request.urlopen(f"{self.page}/api/groups", timeout=PATIENCE) as answer:
            (chat,) = json.load(answer)["chats"]
        body = json.dumps({"chat": chat["key"], "agent": by, "text": text}).encode()
        asked = urllib.request.Request(f"{self.page}/api/groups/post", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            assert json.load(answer)["state"] in ("queued", "sent")  # a bot may be quicker than the answer

    def expect_nothing_left(self) -> None:
        """No process and no file."""
        assert self.bots == set()
        assert list(self.home.iterdir()) == []
        assert list(self.temporary.iterdir()) == []

    @property
    def bots(self) -> set[int]:
        """Process ids that run with a home below this demo's temporary folder."""
        found = set()
        for place in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # ended, or not ours
                if f"HOME={self.temporary}/".encode() in place.read_bytes():
                    found.add(int(place.parent.name))
        return found

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        self.process.send_signal(number)

    def close(self) -> None:
        """End whatever still runs."""
        super().close()
        for pid in self.bots:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
