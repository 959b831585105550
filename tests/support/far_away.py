"""Records in another process, 20 ms away, for processes that are told of no folder."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from support.forking import REMOTE
from support.places import serving_records
from support.remote_record import BLOCKED

__all__ = ["Far", "far_away", "nobody_was_blocked", "spool_of"]

Far = Callable[..., dict[str, str]]
"""``far(spooled=True)``: the variables of a process whose records lie there, to which it writes by way of a spool."""

_LATENCY: Final = 0.02


@contextmanager
def far_away(folder: Path) -> Iterator[Far]:
    """Serve records; ``folder`` is where it is written down who would have kept an event loop waiting."""
    with tempfile.TemporaryDirectory(prefix="records-") as place:  # the name of a socket is short
        address = Path(place) / "s"
        with serving_records(address):

            def variables(*, spooled: bool = False) -> dict[str, str]:
                told = json.dumps(
                    {"latency": _LATENCY, "strict": True} | ({"spool_dir": f"{place}/spool"} if spooled else {})
                )
                return {REMOTE: f"{address} {told}", BLOCKED: str(folder / "blocked")}

            yield variables
            opened = Path(f"{address}.opened")
            assert opened.exists(), "nobody has opened a record there"
            (folder / "opened").write_text(opened.read_text(encoding="utf-8"), encoding="utf-8")


def spool_of(variables: Mapping[str, str]) -> Path | None:
    """Where a process with these variables spools, if it does."""
    spool = json.loads(variables[REMOTE].partition(" ")[2]).get("spool_dir")
    return None if spool is None else Path(spool)


def nobody_was_blocked(folder: Path) -> None:
    """Fail with the calls that would have kept an event loop waiting."""
    blocked = folder / "blocked"
    assert not blocked.exists(), blocked.read_text(encoding="utf-8")
