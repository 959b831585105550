"""``doctor``: finds out why something does not work."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nanobot_transcript.cli.options import ConfigOption, JsonOption, StoreOption
from nanobot_transcript.cli.output import console, emit_json, printable
from nanobot_transcript.cli.problems import DONE, NEGATIVE, USAGE

if TYPE_CHECKING:
    from nanobot_transcript.cli.checks import Finding

__all__ = ["doctor"]

_SIGNS = {"ok": ("✓", "green"), "info": ("i", "blue"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}


def doctor(
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Find out why something does not work.

    Checks settings, store, nanobot and the plugin, and says how to mend what is wrong.
    Exit code 0: nothing wrong. 1: a warning or an error. 2: the settings cannot be read.

    \b
    Example:
      nanobot-transcript doctor
    """
    findings = _findings(config, store)
    code = _code(findings)
    if json:
        emit_json({"ok": code == DONE, "findings": [finding.document() for finding in findings]})
    else:
        _print(findings)
    raise typer.Exit(code)


def _findings(config: Path | None, store: Path | None) -> "list[Finding]":
    from nanobot_transcript.cli.checks import host, installation, place, settings

    found, loaded = settings.check(config, store)
    if loaded is not None:
        found += place.check(loaded.store.dir)
        found += settings.check_names(loaded)
    return found + installation.check() + host.check(loaded)


def _code(findings: "list[Finding]") -> int:
    if any(finding.check == "settings" and finding.severity == "error" for finding in findings):
        return USAGE
    return NEGATIVE if any(finding.severity in ("warning", "error") for finding in findings) else DONE


def _print(findings: "list[Finding]") -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    rows = Table.grid(padding=(0, 2, 0, 0))
    for finding in findings:
        sign, style = _SIGNS[finding.severity]
        rows.add_row(Text(sign, style=style), Text(finding.check, style="bold"), Text(printable(finding.message)))
        if finding.fix:
            rows.add_row("", "", Text(f"→ {printable(finding.fix)}", style="dim"))
    out.print(rows)
