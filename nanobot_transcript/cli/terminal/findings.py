"""What checks found, as people read it."""

import re
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.terminal.language import retold
from nanobot_transcript.cli.terminal.output import console, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanobot_transcript.findings import Finding

__all__ = ["print_findings"]

_SIGNS: Final = {"ok": ("✓", "green"), "info": ("i", "blue"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}
_NARROWEST: Final = 20
_COMMAND: Final = re.compile(r"`[^`]*`")
_NO_BREAK: Final = "\ue000"
"""For a space inside a command: of the characters that nobody uses one that is as wide."""


def print_findings(findings: "Sequence[Finding]") -> None:
    """One finding after another, what to do about it below."""
    from rich.text import Text

    out = console()
    label = max(len(finding.check) for finding in findings)
    indent = " " * (label + 5)
    for finding in findings:
        sign, style = _SIGNS[finding.severity]
        head = f"{finding.check:<{label}}"
        message = _wrapped(printable(retold(finding.message)), out.width, indent)
        out.print(Text.assemble((sign, style), "  ", (head, "bold"), "  ", message), soft_wrap=True)
        if finding.fix:
            fix = _wrapped(f"→ {printable(retold(finding.fix))}", out.width, indent)
            out.print(Text(f"{indent}{fix}", style="dim"), soft_wrap=True)


def _wrapped(text: str, width: int, indent: str) -> str:
    """Lines for the place behind ``indent``; no path or command is broken, and a line of the text begins a new one."""
    from nanobot_transcript.cli.terminal.line_breaks import wrap

    room = max(width - len(indent), _NARROWEST)
    kept = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), text)
    return f"\n{indent}".join(wrap(kept, room, whole=True)).replace(_NO_BREAK, " ")
