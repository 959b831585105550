"""Finds, reads and checks the file that names the agents, and reads it again when it has changed.

An explicitly named file wins, then ``.filebox`` in the working directory or the nearest folder above it, then
``~/.filebox``. The agent of the working directory is the file's ``current_agent``, else the agent whose folder it is or
is in. There is no default: the first agent of the list is never assumed.
"""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from transcript_mcp.filebox.agent_folders import AgentFolder, places

__all__ = ["BoxAgents", "ConfigSource"]

_CONFIG_NAME: Final = ".filebox"
_LARGEST: Final = 4 * 1024 * 1024
_EXAMPLE: Final = '{"current_agent": "qa_agent", "agents": {"qa_agent": "/path/to/its/folder", "dev_agent": "/path"}}'


@dataclass(frozen=True, slots=True)
class BoxAgents:
    """The agents of one configuration file, and the agent of the working directory (``current``).

    ``current`` is empty when unknown; then ``reason`` says why. ``doubt`` is a sentence when the file names another
    agent than the folder suggests. ``of_all_projects``: the file's ``current_agent`` does not count, because it is the
    one in the home folder. ``nowhere``: there is no working directory, as in the hub.
    """

    file: Path
    agents: dict[str, AgentFolder]
    current: str = ""
    reason: str = ""
    doubt: str = ""
    of_all_projects: bool = False
    nowhere: bool = False

    @property
    def advice(self) -> str:
        """What to do to be known as an agent."""
        if self.nowhere:
            return "Pass runAs, set filebox.agent, or call with a token of filebox.tokens."
        own = "work in the agent's folder" if self.of_all_projects else f"add current_agent to {self.file}"
        return f"Pass runAs, set filebox.agent, or {own}."

    @property
    def names(self) -> str:
        """All agents, for messages."""
        return ", ".join(self.agents) or "none"


@dataclass(slots=True)
class ConfigSource:
    """Where the configuration comes from. ``explicit`` names the file. ``cwd`` is None where there is no meaningful
    working directory, as in the hub; then there is no current agent.
    """

    explicit: Path | None = None
    cwd: Path | None = None
    home: Path = field(default_factory=Path.home)
    _candidates: list[Path] = field(default_factory=list[Path], init=False, repr=False)
    _seen: tuple[Path, tuple[int, int, int], BoxAgents] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.home = Path(os.path.realpath(self.home))
        if self.cwd is not None:
            self.cwd = Path(os.path.realpath(self.cwd))
        self._candidates = [folder / _CONFIG_NAME for folder in self._folders()]

    def load(self) -> BoxAgents:
        """The current configuration. Raises ConfigError, which names the file, the key and what to do."""
        path = self.file()
        if path is None:
            nearby = f"no {_CONFIG_NAME} in {self.cwd} or above it, and " if self.cwd else ""
            raise ConfigError(
                f"No agents are known: there is {nearby}no {self.home / _CONFIG_NAME}.",
                hint=f"Write one that looks like {_EXAMPLE}.",
            )
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("it is not a file")
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._seen is None or self._seen[:2] != (path, stamp):
                self._seen = (path, stamp, self._read(path))
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        return self._seen[2]

    def file(self) -> Path | None:
        """The file to use, None when there is none. Raises ConfigError when a folder cannot be searched."""
        if self.explicit is not None:
            return self.explicit.expanduser()
        for file in self._candidates:
            try:
                if file.is_file():
                    return file
            except OSError as error:
                raise _unreadable(file, error) from error
        return None

    def _folders(self) -> Iterator[Path]:
        """The working directory and the folders above it, up to the home folder, which always is the last."""
        for folder in (self.cwd, *self.cwd.parents) if self.cwd else ():
            if folder == self.home:
                break
            yield folder
        yield self.home

    def _read(self, path: Path) -> BoxAgents:
        agents, current = _checked(_document(path), path)
        everybody = places(agents, path)
        if self.cwd is None:
            return BoxAgents(
                path, everybody, reason="There is no working directory that says which agent this is.", nowhere=True
            )
        here = _by_folder(path, everybody, Path(os.path.realpath(self.cwd)))
        of_all = path == self.home / _CONFIG_NAME and self.cwd != self.home
        if current and not of_all:
            differs = here.current and here.current != current
            doubt = f"This is the folder of {here.current}, but current_agent in {path} says {current}."
            return BoxAgents(path, everybody, current, doubt=doubt if differs else "")
        return replace(here, of_all_projects=of_all)


def _unreadable(path: Path, error: Exception) -> ConfigError:
    reason = error.strerror if isinstance(error, OSError) else error
    return ConfigError(f"{path} cannot be read: {reason}.", hint=f"It should be a file like {_EXAMPLE}.")


def _document(path: Path) -> Any:
    with path.open("rb") as file:
        body = file.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise ValueError("it is too large")
    try:
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error}.", hint=f"Correct it by hand; it should look like {_EXAMPLE}."
        ) from error


def _checked(document: Any, path: Path) -> tuple[dict[str, Any], str]:
    """Agents and current agent of a document."""
    agents = document.get("agents") if isinstance(document, dict) else None
    if not isinstance(agents, dict) or not agents:
        raise ConfigError(
            f"agents in {path} is missing or not an object of agents and their folders.",
            hint=f"It should look like {_EXAMPLE}.",
        )
    current = document.get("current_agent", "")
    if not isinstance(current, str) or (current and current not in agents):
        raise ConfigError(
            f"current_agent in {path} is not among agents: {current!r}. Available agents: {', '.join(agents)}.",
            hint="Set current_agent to one of these, or add it to agents.",
        )
    return agents, current


def _by_folder(path: Path, everybody: dict[str, AgentFolder], cwd: Path) -> BoxAgents:
    """The agent whose folder is the working directory, or the nearest folder above it."""
    around = [place for place in everybody.values() if not place.problem and cwd.is_relative_to(place.root)]
    nearest = max((len(place.root.parts) for place in around), default=0)
    closest = [place.agent for place in around if len(place.root.parts) == nearest]
    if len(closest) == 1:
        return BoxAgents(path, everybody, closest[0])
    if closest:
        reason = f"{cwd} is the folder of several agents: {', '.join(closest)}."
    else:
        reason = f"{cwd} is not in the folder of any agent of {path}."
    return BoxAgents(path, everybody, reason=reason)
