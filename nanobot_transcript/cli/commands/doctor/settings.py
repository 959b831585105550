"""Are the settings readable, and do they make sense together?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import read_settings
from nanobot_transcript.cli.terminal.output import listed
from nanobot_transcript.errors import ConfigError, StoreError
from nanobot_transcript.findings import Finding
from nanobot_transcript.identity import name_clashes

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["check", "check_names"]


def check(config: Path | None, store: Path | None) -> "tuple[list[Finding], LoadedSettings | None]":
    """Findings about file and values, and the settings when they can be used."""
    try:
        loaded = read_settings(config, store)
    except ConfigError as error:
        return [Finding("settings", "error", str(error), error.hint)], None
    read, unread = "Settings: read from {file}.", "Settings: no file, defaults and environment only."
    findings = [Finding("settings", "ok", said(read, file=loaded.file) if loaded.file else said(unread))]
    findings += [
        Finding("settings", "warning", sentence, said("Correct the name, or remove it: it has no effect."))
        for sentence in loaded.unknown
    ]
    if loaded.agent.name is not None and len(loaded.agents) > 1:
        message = "agent.name is {name}, but agents names {count} bots."
        fix = "agent.name is for a process with a single bot; name each bot in agents.<app_id>.name."
        told = said(message, name=loaded.agent.name, count=len(loaded.agents))
        findings.append(Finding("settings", "info", told, said(fix)))
    return findings, loaded


def check_names(loaded: "LoadedSettings", store: "GroupTranscriptStore | None") -> list[Finding]:
    """Do two bots want one name, in the settings or in the members of the store, if that can be opened?"""
    clashes = _clashes({account: agent.name for account, agent in loaded.agents.items()}, said("the settings"))
    if store is None:
        return clashes
    try:
        bots = store.members.bots()
    except StoreError as error:
        return [*clashes, Finding("bot names", "error", str(error), error.hint)]
    clashes += _clashes({bot.account: bot.name for bot in bots if not bot.silent}, said("the store"))
    if clashes:
        return clashes
    names = listed(bot.name for bot in bots)
    if len(bots) < 2:
        message = (
            said("1 bot is known: {names}.", names=names) if bots else said("No bot has run with this record yet.")
        )
        return [Finding("bot names", "ok", message)]
    message = said("{count} bots are known: {names}; no two have the same name.", count=len(bots), names=names)
    return [Finding("bot names", "ok", message)]


def _clashes(names: Mapping[str, str], where: str) -> list[Finding]:
    fix = "Give each its own name in agents.<app_id>.name. A bot that no longer runs frees its name after 30 days."
    sentence = "Several bots in {where} are called {name}: {apps}."
    return [
        Finding("bot names", "warning", said(sentence, where=where, name=name, apps=listed(apps)), said(fix))
        for name, apps in name_clashes(names).items()
    ]
