"""When an acknowledged entry reaches the disk."""

import logging
import os
import threading
from typing import Final, Literal, get_args

from nanobot_transcript.errors import ConfigError

__all__ = ["FsyncPolicy", "Syncer"]

FsyncPolicy = Literal["never", "always", "interval"]

logger = logging.getLogger(__name__)


class Syncer:
    """Carries out the fsync policy of one store, always outside the transcript's lock."""

    def __init__(self, policy: FsyncPolicy, interval: float) -> None:
        if policy not in get_args(FsyncPolicy):
            raise ConfigError(
                f"fsync is never, always or interval, not {policy!r}.",
                hint="Correct store.fsync in the settings.",
            )
        self.policy: Final = policy
        self._interval = interval
        self._waiting: dict[int, int] = {}
        self._guard = threading.Lock()
        self._timer: threading.Timer | None = None

    @property
    def wanted(self) -> bool:
        """False when the operating system alone decides."""
        return self.policy != "never"

    def written(self, descriptor: int) -> None:
        """Takes over a duplicated descriptor of a file that was just written to."""
        if self.policy == "always":
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        else:
            self._later(descriptor)

    def flush(self) -> None:
        """Write out what an interval still holds back."""
        with self._guard:
            waiting, self._waiting = self._waiting, {}
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        for descriptor in waiting.values():
            try:
                os.fdatasync(descriptor)
            except OSError:
                logger.exception("entries of the last %.1f s may not be on the disk", self._interval)
            finally:
                os.close(descriptor)

    def forget(self) -> None:
        """After a fork: the parent syncs its own writes."""
        for descriptor in self._waiting.values():
            os.close(descriptor)
        self._waiting = {}
        self._timer = None
        self._guard = threading.Lock()

    def _later(self, descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        with self._guard:
            if inode in self._waiting:
                os.close(descriptor)
                return
            self._waiting[inode] = descriptor
            if self._timer is None:
                self._timer = threading.Timer(self._interval, self.flush)
                self._timer.daemon = True
                self._timer.start()
