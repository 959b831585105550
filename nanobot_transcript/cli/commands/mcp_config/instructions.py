"""Writes rules into a client's file of instructions: for the configured servers, and only when a person agrees."""

import os
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from nanobot_transcript.cli.commands.mcp_config.client_file import Change, change, content
from nanobot_transcript.cli.commands.mcp_config.clients import CLIENTS, Client, Scope
from nanobot_transcript.cli.commands.mcp_config.entry import entries, served
from nanobot_transcript.cli.commands.mcp_config.rules import block, rules_of, with_block, without_block
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import notice
from nanobot_transcript.errors import ConfigError

__all__ = ["Instructions", "rules_for", "rules_taken_out"]


@dataclass(frozen=True, slots=True)
class Instructions:
    """A change to a file of instructions. ``rules`` is the block to write; empty removes it."""

    path: Path
    to: Change
    rules: str

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        known = content(self.path)
        return self.to(known) != known

    def ask(self, *, json: bool) -> None:
        """Go on only when the person agrees. Raises UsageError where nobody can be asked."""
        put, take = "Put these rules into {file}?", "Take our rules out of {file}?"
        question = said(put if self.rules else take, file=self.path)
        if json or not sys.stdin.isatty():
            hint = said("Add --yes to change it without being asked.")
            raise UsageError(said("Cannot ask without a terminal: {question}", question=question), hint=hint)
        if self.rules:
            notice(f"\n{self.rules}\n")
        if not typer.confirm(question, err=True):
            notice(said("Nothing was changed."))
            raise typer.Exit(NEGATIVE)

    def carry_out(self) -> bool:
        """Do it; False when nothing had to be changed."""
        return change(self.path, self.to)

    def tell(self, changed: bool, title: str) -> None:
        """Say what came of it."""
        if self.rules:
            told = "Rules written to {file}." if changed else "Rules already in {file}."
            notice(said(told, file=self.path) + said(" {client} reads them when it starts.", client=title))
        else:
            told = "Rules taken out of {file}." if changed else "There are no rules of ours in {file}."
            notice(said(told, file=self.path))


def rules_for(
    client: Client, scope: Scope | None, entry: Any, file: Path | None, offered: Collection[str]
) -> Instructions:
    """The rules for the servers that the client has, and for those of an ``entry`` that is written now.

    ``file`` is another file of servers than the usual ones, ``offered`` are the servers of a hub that offers all it
    has. Where several clients read the same file of instructions, it has the rules for the servers of all of them.
    Raises UsageError when the client has none.
    """
    path = client.rules_path(scope, Path.home(), Path.cwd())
    servers = _configured(client, scope, file, offered) | _served(entry, offered)
    if servers & rules_of().keys():
        for other in CLIENTS.values():
            if other is not client and _shares(other, scope, path):
                servers |= _tolerant(other, scope, offered)
    else:
        names = ", ".join(rules_of())
        raise UsageError(
            said(
                "{client} has none of the servers that there are rules for ({names}).", client=client.title, names=names
            ),
            hint=said("Add one: --servers assistant --write --rules"),
        )
    rules = block(servers)
    return Instructions(path, lambda known: with_block(path, known, rules, client.preface), rules)


def rules_taken_out(client: Client, scope: Scope | None) -> Instructions:
    """The file without the rules."""
    path = client.rules_path(scope, Path.home(), Path.cwd())
    return Instructions(path, lambda known: without_block(path, known, client.preface), "")


def _shares(other: Client, scope: Scope | None, path: Path) -> bool:
    if not other.rules or (scope is not None and scope not in other.rules):
        return False
    theirs = other.rules_path(scope, Path.home(), Path.cwd())
    return os.path.realpath(theirs) == os.path.realpath(path)  # which has an answer for links in a ring, too


def _tolerant(client: Client, scope: Scope | None, offered: Collection[str]) -> set[str]:
    try:
        return _configured(client, scope, None, offered)
    except ConfigError:
        return set()  # an unreadable file of a client that was not asked for


def _configured(client: Client, scope: Scope | None, file: Path | None, offered: Collection[str]) -> set[str]:
    """The servers in the client's files: for one project also those for all projects."""
    names: set[str] = set()
    scopes: list[Scope] = [each for each in client.files if scope != "user" or each == "user"]
    paths = [file] if file is not None else [client.path(each, Path.home(), Path.cwd()) for each in scopes]
    for path in paths:
        known = content(path)
        for entry in entries(client, path, (known or b"").decode("utf-8", "replace")):
            names |= _served(entry, offered)
    return names


def _served(entry: Any, offered: Collection[str]) -> set[str]:
    behind = served(entry)
    return set(offered if behind is None else behind)
