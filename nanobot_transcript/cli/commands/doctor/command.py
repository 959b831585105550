"""``doctor``: finds out why something does not work."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nanobot_transcript.cli.terminal.command_hints import given
from nanobot_transcript.cli.terminal.exit_codes import DONE, NEGATIVE, USAGE
from nanobot_transcript.cli.terminal.findings import print_findings
from nanobot_transcript.cli.terminal.options import ConfigOrCOption, JsonOption, StoreOption
from nanobot_transcript.cli.terminal.output import emit_json
from nanobot_transcript.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from nanobot_transcript.findings import Finding
    from nanobot_transcript.record import Record
    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["doctor"]


def doctor(
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOrCOption = None,
) -> None:
    """Find out why something does not work.

    Checks settings, store, the answers and the judge of the last day, mailboxes, mail, the hub, nanobot and the plugin,
    and says how to mend what is wrong.
    Exit code 0: nothing wrong. 1: a warning or an error. 2: the settings cannot be read.

    \b
    Example:
      nanobot-transcript doctor
    """
    with given(config, store):
        findings = _findings(config, store)
    code = _code(findings)
    if json:
        emit_json({"ok": code == DONE, "findings": [finding.document() for finding in findings]})
    else:
        print_findings(findings)
    raise typer.Exit(code)


def _findings(config: Path | None, store: Path | None) -> "list[Finding]":
    from nanobot_transcript.cli.commands.doctor import host, hub, installation, judge, mail, mailboxes, minds, settings

    found, loaded = settings.check(config, store)
    opened = None
    if loaded is not None:
        record, told = _record(loaded)
        found += told
        opened = _readable(record)
        found += settings.check_names(loaded, opened)
        if record is not None and opened is not None:
            found += minds.check(record, noted=loaded.gate.log, untold=host.untold())
            found += judge.check(loaded, record)
        found += mailboxes.check(loaded)
        if record is not None and (opened is not None or loaded.record.address is None):
            found += mail.check(record.shelf(loaded.mail.store), archiving=loaded.mail.archive.enabled)
        found += hub.check(loaded)
    needs_feishu = loaded is not None and any(agent.platform == "feishu" for agent in loaded.agents.values())
    return found + installation.check(needs_feishu=needs_feishu) + host.check(loaded, opened)


def _record(loaded: "LoadedSettings") -> "tuple[Record | None, list[Finding]]":
    """The record and its findings about itself; None where the settings lead to none."""
    from nanobot_transcript.findings import Finding

    try:
        record = loaded.open_record()
    except ConfigError as error:
        return None, [Finding("store", "error", str(error), error.hint)]
    return record, record.check()


def _readable(record: "Record | None") -> "GroupTranscriptStore | None":
    """The store, None when it cannot be read, which the record's own findings say."""
    if record is None:
        return None
    try:
        record.require()
    except StoreError:
        return None
    return record.store


def _code(findings: "list[Finding]") -> int:
    if any(finding.check == "settings" and finding.severity == "error" for finding in findings):
        return USAGE
    return NEGATIVE if any(finding.severity in ("warning", "error") for finding in findings) else DONE
