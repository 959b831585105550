"""When an acknowledged entry reaches the disk."""

import logging
import os
import threading
from typing import Final, Literal, get_args

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.os_errors import store_error

__all__ = ["FsyncPolicy", "Syncer"]

FsyncPolicy = Literal["never", "always", "interval"]

logger = logging.getLogger(__name__)


class Syncer:
    """Carries out the fsync policy of one store, always with the transcript's lock free."""

    def __init__(self, policy: FsyncPolicy, interval: float) -> None:
        if policy not in get_args(FsyncPolicy):
            raise ConfigError(
                f"fsync must be never, always or interval, not {policy!r}.",
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

    def written(self, descriptor: int, inode: int) -> None:
        """Call it after each write with the transcript's lock released, so that other processes do not wait for the
        disk.
        """
        if self.policy == "always":
            try:
                os.fdatasync(descriptor)
            except OSError as error:
                store_error(error, "the transcript (the disk did not confirm the entry)")
        elif inode not in self._waiting:
            self._later(os.dup(descriptor), inode)

    def flush(self) -> None:
        """Sync everything that an interval still holds back."""
        with self._guard:
            waiting, self._waiting = self._waiting, {}
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        for descriptor in waiting.values():
            try:
                os.fdatasync(descriptor)
            except OSError:
                logger.exception(
                    "fsync failed: entries of the last %.1f seconds may not be on the disk; check the disk",
                    self._interval,
                )
            finally:
                os.close(descriptor)

    def forget(self) -> None:
        """After a fork: the parent syncs its own writes."""
        for descriptor in self._waiting.values():
            os.close(descriptor)
        self._waiting = {}
        self._timer = None
        self._guard = threading.Lock()

    def _later(self, descriptor: int, inode: int) -> None:
        with self._guard:
            replaced = self._waiting.setdefault(inode, descriptor)
            if replaced != descriptor:
                os.close(descriptor)
            if self._timer is None:
                self._timer = threading.Timer(self._interval, self.flush)
                self._timer.daemon = True
                self._timer.start()
