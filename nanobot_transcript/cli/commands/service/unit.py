"""The text of the unit file with which systemd keeps a command of ours running. Pure: reads and writes nothing."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.errors import ConfigError

__all__ = ["MARK", "PREFIX", "Unit", "check_name", "description_of", "name_from"]

PREFIX: Final = "nanobot-transcript-"
"""The beginning of our units' names, by which they are found again."""

MARK: Final = "# Written by `nanobot-transcript service install`"
"""The beginning of our unit files: a file without it is never overwritten or removed."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LONGEST: Final = 100
_PLAIN: Final = re.compile(r"[\w/.,:=@+-]+", re.ASCII)

_TEXT: Final = """\
{mark}; `nanobot-transcript service uninstall {name}` removes it.
[Unit]
Description={description}

[Service]
Type=notify
ExecStart={command}
WorkingDirectory={folder}
Environment={search_path}
EnvironmentFile=-{variables}
Restart=on-failure
RestartSec=5
# Of a wrong configuration (2), and of bots that the platform refuses (4), another start would change nothing.
RestartPreventExitStatus=2 4

[Install]
WantedBy=default.target
"""


@dataclass(frozen=True, slots=True)
class Unit:
    """One service: ``words`` are started in ``folder``, with the variables in the file ``variables`` and with ``path``,
    the PATH by which it finds programs. Paths are absolute.

    Raises UsageError or ConfigError for a name or a path that systemd cannot have.
    """

    name: str
    description: str
    words: tuple[str, ...]
    folder: Path
    variables: Path
    path: str

    def __post_init__(self) -> None:
        check_name(self.name)
        for text in (*self.words, str(self.folder), str(self.variables), self.path):
            if re.search(r"[\x00-\x1f\x7f]|^\s|[\s\\]$", text) or not _is_utf8(text):
                raise UsageError(
                    f"systemd cannot be given {text!r}.",
                    hint="Line breaks, spaces at an end, and what is no UTF-8 have no place in a path of a service.",
                )
        if re.search(r"[\"'\\]", self.words[0]):
            raise ConfigError(
                f"systemd cannot start {self.words[0]}.",
                hint="Install nanobot-transcript in a folder without quotes and backslashes in its path.",
            )
        if re.search(r"[\[*?\\]", str(self.variables)):  # to systemd a glob, without an error if it fits nothing
            raise ConfigError(
                f"systemd would not find the variables in {self.variables}.",
                hint="Set XDG_CONFIG_HOME to a folder without '[', '*', '?' and backslashes in its path.",
            )

    @property
    def file_name(self) -> str:
        """What systemd calls it."""
        return f"{PREFIX}{self.name}.service"

    def text(self) -> str:
        """The unit file."""
        return _TEXT.format(
            mark=MARK,
            name=self.name,
            description=_literal(self.description),
            command=" ".join([_program(self.words[0]), *(_word(word) for word in self.words[1:])]),
            folder=_literal(str(self.folder)),
            search_path=_quoted(f"PATH={self.path}"),
            variables=_literal(str(self.variables)),
        )


def check_name(name: str) -> None:
    """Raises UsageError for what cannot be part of the name of a unit, and of the files that belong to it."""
    if len(name) > _LONGEST:
        raise UsageError(
            f"A name of {len(name)} characters is too long for a service.",
            hint=f"Take one of at most {_LONGEST} characters; `service install` has --name for it.",
        )
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a name for a service.", hint="Use letters from a to z, digits, '-', '_' and '.'."
        )


def name_from(*parts: str) -> str:
    """A name of a service that is made of other names, as far as systemd can have them.

    >>> name_from("run", "my bots", "Alpha")
    'run-my-bots-Alpha'
    """
    words = [re.sub(r"[^A-Za-z0-9_.]+", "-", part).strip("-.") for part in parts]
    return "-".join(word for word in words if word)


def description_of(text: str) -> str:
    """What the service of a unit file is about, as it was said when it was written; empty where nothing is said."""
    found = re.search(r"^Description=(.*)$", text, re.MULTILINE)
    return found[1].replace("%%", "%") if found else ""


def _program(path: str) -> str:
    """The first word of a command, in which systemd does not replace ``$``."""
    return path if _PLAIN.fullmatch(path) else _quoted(path)


def _word(word: str) -> str:
    """One word of a command; systemd replaces ``$`` and ``%`` even between quotes."""
    return word if _PLAIN.fullmatch(word) else _quoted(word).replace("$", "$$")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_literal(escaped)}"'


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
