"""Checks the configuration and the folders of mailboxes, for ``nanobot-transcript doctor``."""

import os
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.findings import Finding
from transcript_mcp.filebox.agent_folders import BELOW, AgentFolder
from transcript_mcp.filebox.config import BoxAgents, ConfigSource
from transcript_mcp.filebox.values import BOXES

__all__ = ["checks", "token_checks"]

_BEGIN: Final = "To set one up, write a .filebox in the agent's folder, or ~/.filebox, as docs/en/filebox.md shows."

_finding: Final = partial(Finding, "mailboxes")


def checks(source: ConfigSource, identity: str = "") -> list[Finding]:
    """All findings on the configuration that ``source`` finds. Changes nothing and raises nothing.

    ``identity``: the agent that this process is according to the settings.
    """
    try:
        if source.file() is None:
            return [_finding("info", "No mailboxes are set up here: there is no .filebox.", _BEGIN)]
        roster = source.load()
    except TranscriptError as error:
        return [_finding("error", str(error), error.hint)]
    places = [check for place in roster.agents.values() for check in _place(place)]
    places += _disagreements(roster, source)
    broken = any(check.severity == "error" for check in places)
    return [check for check in _identity(roster, source, identity) if check.severity != "ok" or not broken] + places


def token_checks(source: ConfigSource, agents: Collection[str], run_as: str) -> list[Finding]:
    """Findings on the ``agents`` that have tokens for a hub whose configuration ``source`` finds.

    ``run_as``: the setting. Changes nothing and raises nothing.
    """
    if not agents:
        return []
    found: list[Finding] = []
    if run_as == "any":
        message = "filebox.tokens is set while filebox.run_as is any: every token may act as every agent."
        found.append(_finding("warning", message, "Set filebox.run_as: off."))
    try:
        roster = source.load()
    except TranscriptError as error:
        return [*found, _finding("error", f"filebox.tokens is set, but the hub knows no agents. {error}", error.hint)]
    for agent in agents:
        if agent not in roster.agents:
            message = f"filebox.tokens has a token for {agent}, which is not among agents in {roster.file}"
            fix = "Correct the name in filebox.tokens, or add the agent to the file."
            found.append(_finding("error", f"{message}: {roster.names}.", fix))
    return found


def _identity(roster: BoxAgents, source: ConfigSource, identity: str) -> Iterator[Finding]:
    current = identity or roster.current
    if current and current not in roster.agents:
        message = f"filebox.agent is {current}, which is not among agents in {roster.file}: {roster.names}."
        yield _finding("error", message, "Correct filebox.agent, or add the agent to the file.")
    elif current and current == roster.current and roster.doubt:
        yield _finding("warning", roster.doubt, f"Correct current_agent in {roster.file}; the file may be a copy.")
    elif current:
        yield _finding("ok", f"{roster.file} names {roster.names}; the agent here is {current}.")
    elif source.cwd is None:
        yield _finding("ok", f"{roster.file} names {roster.names}.")
    else:
        yield _finding("info", f"{roster.reason} Available agents: {roster.names}.", roster.advice)


def _place(place: AgentFolder) -> Iterator[Finding]:
    if place.problem:
        yield _finding("error", place.problem, f"Correct agents.{place.agent}: the absolute path of its folder.")
    elif not place.root.is_dir():
        yield _finding("error", f"{place.key} is not a folder: {place.root}.", "Create it, or correct the path.")
    elif not os.access(_existing(place), os.R_OK | os.W_OK | os.X_OK):
        yield _finding("error", f"{place.key} cannot be written: {_existing(place)}.", "Give this user access to it.")
    else:
        yield from _links(place)
        yield from _left_behind(place)


def _existing(place: AgentFolder) -> Path:
    """The mailbox folder, or the nearest existing folder above it."""
    folder = place.mailbox
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _links(place: AgentFolder) -> Iterator[Finding]:
    steps = [place.root.joinpath(*place.below[:depth]) for depth in range(1, len(place.below) + 1)]
    for folder in [*steps, *(place.mailbox / box for box in BOXES)]:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            message = f"{folder} of {place.agent} is a link or a file, so no mail can be delivered there."
            yield _finding("error", message, "Put a real folder in its place.")


def _left_behind(place: AgentFolder) -> Iterator[Finding]:
    """Mail from before the folder was shared by several agents."""
    if not place.shared:
        return
    before = place.root.joinpath(*BELOW)
    boxes = [box for box in BOXES if next((before / box).glob("*.md"), None) is not None]
    if boxes:
        yield _finding(
            "warning",
            f"{before} holds mail in {', '.join(boxes)} from before several agents shared {place.root}; "
            f"{place.agent} does not see it.",
            f"Move the mail that is {place.agent}'s into {place.mailbox}.",
        )


def _disagreements(roster: BoxAgents, source: ConfigSource) -> Iterator[Finding]:
    """Differences to the files that apply in the agents' own folders, and to the one in the home folder."""
    seen = {os.path.realpath(roster.file)}
    folders = [place.root for place in roster.agents.values() if not place.problem and place.root.is_dir()]
    for folder in [*folders, source.home]:
        try:
            file = ConfigSource(cwd=folder, home=source.home).file()
            if file is None or os.path.realpath(file) in seen:
                continue
            seen.add(os.path.realpath(file))
            yield from _compared(roster, ConfigSource(explicit=file).load())
        except TranscriptError as error:
            yield _finding("warning", str(error), error.hint)


def _compared(roster: BoxAgents, other: BoxAgents) -> Iterator[Finding]:
    """Agents with another folder in the other file: programs that read that file deliver to the wrong mailbox."""
    for place in roster.agents.values():
        there = other.agents.get(place.agent)
        if there is None or place.problem or there.problem or there.mailbox == place.mailbox:
            continue
        yield _finding(
            "warning",
            f"{roster.file} and {other.file} disagree about the folder of {place.agent}: "
            f"its mailbox is {place.mailbox} according to the one, and {there.mailbox} according to the other.",
            "Put the same agents and folders into both, and move any mail that is in the wrong mailbox.",
        )
