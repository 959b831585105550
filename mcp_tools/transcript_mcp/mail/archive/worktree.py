"""Writes files in a project's folder, for people to read: atomically, and never through a symbolic link.

Each folder on the way is opened separately with ``O_NOFOLLOW``, so that a link that appears later is noticed, too.
"""

import os
import stat
from collections import OrderedDict
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from nanobot_transcript.errors import UnsafePathError
from nanobot_transcript.files.descriptors import NOT_PLAIN, enter_made, root_folder, to_read, to_write_anew
from nanobot_transcript.files.os_errors import LINK

__all__ = ["WorkTree", "split"]

_OPEN_AT_ONCE: Final = 128
_LONGEST_NAME: Final = 255
_HALF_MADE: Final = (".git", "transcript-half-made")
_NEVER: Final = frozenset({"", ".", "..", ".git", "git~1"})  # the last is Windows' short name of .git


def split(path: str) -> tuple[str, ...]:
    """The parts of a relative path. Raises UnsafePathError for a path that leads elsewhere or into ``.git``."""
    names = tuple(path.split("/"))
    if not all(_is_safe(name) for name in names):
        raise UnsafePathError(f"{path!r} is not a path in the archive.", hint="Use names separated by /.")
    return names


def _is_safe(name: str) -> bool:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    return name.lower() not in _NEVER and "\0" not in name and size <= _LONGEST_NAME


class WorkTree:
    """The folder ``base`` below ``root``. Keeps descriptors of folders open until it is closed.

    Missing folders are created (0700). Raises UnsafePathError where a link or a special file is in the way, and
    OSError.
    """

    def __init__(self, root: str, base: Sequence[str]) -> None:
        self._root: str = root
        self._base: tuple[str, ...] = tuple(base)
        self._open: OrderedDict[tuple[str, ...], int] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the folders; they are opened again when needed."""
        while self._open:
            os.close(self._open.popitem()[1])

    def make(self) -> None:
        """Create the folder itself."""
        self._folder(self._base)

    def write(self, path: str, content: bytes) -> None:
        """Write a file atomically, replacing an old one. The repository must exist."""
        *above, name = split(path)
        workshop = self._folder((*self._base, *_HALF_MADE))
        folder = self._folder((*self._base, *above))
        self._refuse_foreign(path, name, folder)
        descriptor = to_write_anew("next", workshop)
        try:
            _write_all(descriptor, content)
        finally:
            os.close(descriptor)
        os.rename("next", name, src_dir_fd=workshop, dst_dir_fd=folder)

    def read(self, path: str) -> bytes:
        """The content of a plain file. Raises FileNotFoundError when there is none."""
        *above, name = split(path)
        try:
            descriptor = to_read(name, self._folder((*self._base, *above)))
        except OSError as error:
            if error.errno in NOT_PLAIN:
                raise _foreign(path) from error
            raise
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            return file.read()

    def _refuse_foreign(self, path: str, name: str, folder: int) -> None:
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(found.st_mode):
            raise _foreign(path)

    def _folder(self, names: tuple[str, ...]) -> int:
        """A descriptor of the folder. Do not keep it: when too many are open, the least recently used is closed."""
        if (known := self._open.get(names)) is not None:
            self._open.move_to_end(names)
            return known
        descriptor = self._step(names) if names else root_folder(self._root)
        self._open[names] = descriptor
        if len(self._open) > _OPEN_AT_ONCE:
            os.close(self._open.popitem(last=False)[1])
        return descriptor

    def _step(self, names: tuple[str, ...]) -> int:
        above, name = self._folder(names[:-1]), names[-1]
        try:
            return enter_made(above, name)
        except OSError as error:
            if error.errno in LINK:
                raise _foreign("/".join(names)) from error
            raise


def _foreign(path: str) -> UnsafePathError:
    return UnsafePathError(
        f"{path} is a link or not a plain file, and the archive follows no links.", hint="Move it away."
    )


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
