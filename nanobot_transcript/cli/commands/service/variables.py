"""The file of variables that systemd gives to a service: secrets have a place there that nobody else may read (0600).

It belongs to the person. What is put into it takes the place of a variable of the same name; everything else stays as
it was written.
"""

import re
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dotenv.parser import parse_stream

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.files.replace import write_whole

if TYPE_CHECKING:
    from dotenv.parser import Binding

__all__ = ["put", "read"]

_PLAIN: Final = re.compile(r"[\w/.,:=@%+-]*", re.ASCII)
_HEAD: Final = """\
# Variables of the service {name}, one NAME=VALUE a line. Keep this file to yourself: chmod 600.
# After a change: systemctl --user restart {unit}
"""


def read(path: Path) -> dict[str, str]:
    """The variables in the file; none where there is no file. Raises ConfigError when it cannot be read."""
    return {
        binding.key: binding.value for binding in _bindings(_text(path)) if binding.key and binding.value is not None
    }


def put(path: Path, name: str, unit: str, variables: Mapping[str, str]) -> bool:
    """Put the variables into the file of a service, and give it mode 0600. True if something had to change.

    Raises ConfigError.
    """
    known = _text(path)
    given, present = dict(variables), read(path)
    new = {key: value for key, value in given.items() if present.get(key) != value}
    try:
        if path.exists() and not new:
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
            return False
        kept = "".join(each.original.string for each in _bindings(known) if each.key not in new)
        kept = kept or _HEAD.format(name=name, unit=unit)
        lines = "".join(f"{key}={_quoted(value)}\n" for key, value in sorted(new.items()))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(str(path.resolve()), f"{kept}{'' if kept.endswith(chr(10)) else chr(10)}{lines}".encode())
    except UnicodeEncodeError as error:
        raise ConfigError(
            "A variable that the service needs is no UTF-8 text.", hint=f"Write {', '.join(sorted(new))} anew."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}.", hint="Look at its folder's permissions."
        ) from error
    return True


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode() if path.exists() else ""  # read_text would turn \r\n into \n
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path} cannot be read: {reason}.", hint="Correct or remove it.") from error


def _bindings(text: str) -> "Iterator[Binding]":
    return parse_stream(StringIO(text))


def _quoted(value: str) -> str:
    """A value that systemd and a ``.env`` read alike: nothing is filled in for ``$`` in either."""
    if _PLAIN.fullmatch(value):
        return value
    if "'" not in value and "\\" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
