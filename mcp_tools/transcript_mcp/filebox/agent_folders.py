"""The mailbox folder of each agent: ``docs/mailbox`` below its folder, one level deeper if agents share the folder."""

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from transcript_mcp.filebox.values import BOXES

__all__ = ["BELOW", "AgentFolder", "places"]

BELOW: Final = ("docs", "mailbox")
_ODD: Final = re.compile(r"[/\\\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONGEST_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """The folder of one agent, from the configuration file ``config``.

    ``root``: the folder with all links resolved. ``below``: the way from there to the mailbox. ``problem``: why it
    cannot be used; then the other fields mean nothing. Other agents are not affected.
    """

    agent: str
    config: Path
    root: Path = Path()
    below: tuple[str, ...] = BELOW
    problem: str = ""

    @property
    def shared(self) -> bool:
        """True when several agents have the same folder."""
        return len(self.below) > len(BELOW)

    @property
    def mailbox(self) -> Path:
        """The folder of the four boxes."""
        return self.root.joinpath(*self.below)

    @property
    def key(self) -> str:
        """The agent's entry in the configuration file, for messages."""
        return f"agents.{self.agent} in {self.config}"

    def usable(self) -> "AgentFolder":
        """Itself. Raises ConfigError when there is a problem."""
        if self.problem:
            raise ConfigError(self.problem, hint=f"Correct agents.{self.agent}: the absolute path of its folder.")
        return self


def places(agents: Mapping[str, Any], config: Path) -> dict[str, AgentFolder]:
    """The folder of every agent in a configuration, in the file's order. The folders need not exist."""
    roots = {agent: _root(agent, folder, config) for agent, folder in agents.items()}
    crowd = Counter(root for root in roots.values() if isinstance(root, Path))
    found: dict[str, AgentFolder] = {}
    for agent, root in roots.items():
        if isinstance(root, str):
            found[agent] = AgentFolder(agent, config, problem=root)
        elif crowd[root] > 1:
            found[agent] = _separate(agent, config, root)
        else:
            found[agent] = AgentFolder(agent, config, root)
    return found


def _root(agent: str, folder: Any, config: Path) -> Path | str:
    """The folder with links resolved, or what is wrong with it."""
    where = f"agents.{agent} in {config}"
    if not isinstance(folder, str) or not folder.strip():
        return f"{where} is not the path of a folder."
    if "\0" in folder or not Path(folder).is_absolute():
        return f"{where} is not an absolute path: {folder!r}."
    if not agent.strip() or _ODD.search(agent) or len(agent) > _LONGEST_NAME:
        return f"{agent!r} in {config} cannot be the name of an agent: one line, no slashes, at most 100 characters."
    return Path(os.path.realpath(folder))


def _separate(agent: str, config: Path, root: Path) -> AgentFolder:
    if agent.startswith(".") or agent in BOXES:
        problem = f"{agent!r} in {config} shares its folder, and no agent's part of it can have this name."
        return AgentFolder(agent, config, problem=problem)
    return AgentFolder(agent, config, root, (*BELOW, agent))
