"""Leases in files: atomic between the processes of one machine, and free again when they expire."""

from math import isfinite
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.coordination.contract import LONGEST_HOLDER, LONGEST_TTL, Grant
from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.key_values import Clock, SharedFiles

__all__ = ["FileLease"]

_REMEMBERED: Final = 600.0
_SLACK: Final = 1.0
_END: Final = 2**62


class FileLease:
    """``Lease`` in the folder ``.state/locks/leases`` of a store.

    ``wait`` (seconds) bounds the wait for another process's call; StoreBusyError after that. Keep it short on an event
    loop. Times are the file system's unless a ``clock`` is given, because the clocks of processes may differ.
    """

    def __init__(self, base_dir: str | Path, *, wait: float = 0.05, clock: Clock | None = None) -> None:
        self._files: SharedFiles = SharedFiles(base_dir, "leases", wait=wait, grace=_REMEMBERED, clock=clock)

    @property
    def blocking(self) -> bool:
        """False: it takes microseconds."""
        return False

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """See ``Lease.acquire``. Raises ConfigError for an invalid ``ttl``."""
        _check(ttl)
        with self._files.change(name) as (drawer, key):
            now = self._files.now(name)
            held = _grant(name, drawer.facts.get(key))  # also None for an entry that no version of this program writes
            if held is not None and _is_live(drawer.facts[key], now):
                return None
            # Microseconds since 1970: if the file is lost, new tokens are still larger than the old ones.
            drawer.last = token = max(drawer.last + 1, int(now * 1e6))
            holder = well_formed(holder)[:LONGEST_HOLDER]
            drawer.facts[key] = {"holder": holder, "token": token, "expires": now + ttl, "ttl": ttl}
            drawer.changed = True
            return Grant(name, holder, token, now + ttl, held.holder if held else None)

    def renew(self, grant: Grant, ttl: float) -> Grant | None:
        """See ``Lease.renew``. Raises ConfigError for an invalid ``ttl``."""
        _check(ttl)
        with self._files.change(grant.name) as (drawer, key):
            fact = drawer.facts.get(key)
            if fact is None or fact.get("token") != grant.token:
                return None
            expires = self._files.now(grant.name) + ttl
            drawer.facts[key] = {**fact, "expires": expires, "ttl": ttl}
            drawer.changed = True
            return Grant(grant.name, grant.holder, grant.token, expires, grant.succeeds)

    def release(self, grant: Grant) -> None:
        """See ``Lease.release``."""
        with self._files.change(grant.name) as (drawer, key):
            fact = drawer.facts.get(key)
            if fact is not None and fact.get("token") == grant.token:
                del drawer.facts[key]
                drawer.changed = True

    def current(self, name: str) -> Grant | None:
        """See ``Lease.current``."""
        fact = self._files.look(name)
        held = _grant(name, fact)
        if held is None or fact is None or not _is_live(fact, self._files.now(name)):
            return None
        return held


def _is_live(fact: dict[str, Any], now: float) -> bool:
    # More time left than was ever granted means that the clock was set back; waiting for it could take forever.
    return now < fact["expires"] <= now + min(fact["ttl"], LONGEST_TTL) + _SLACK


def _check(ttl: float) -> None:
    if not (isfinite(ttl) and 0 < ttl <= LONGEST_TTL):
        raise ConfigError(
            f"A lease cannot last {ttl} seconds.", hint="Give a number of seconds above 0, at most a week."
        )


def _grant(name: str, fact: dict[str, Any] | None) -> Grant | None:
    match fact:
        case {
            "holder": str(holder),
            "token": int(token),
            "expires": int() | float() as expires,
            "ttl": int() | float(),
        } if 0 <= expires < _END and 0 <= token < _END:
            return Grant(name, holder, token, float(expires))
        case _:
            return None
