"""Do the mailboxes of FileBox have a configuration that fits, and folders that can be used?"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanobot_transcript.findings import Finding
    from nanobot_transcript.settings import Settings

__all__ = ["check"]


def check(loaded: "Settings") -> "list[Finding]":
    """Findings about the agents that the working directory knows, and those with tokens. Changes nothing."""
    from transcript_mcp.filebox.config import ConfigSource
    from transcript_mcp.filebox.doctor import checks, token_checks

    chosen = loaded.filebox
    found = checks(ConfigSource(explicit=chosen.config, cwd=Path.cwd()), chosen.agent or "")
    return found + token_checks(ConfigSource(explicit=chosen.config), list(chosen.tokens), chosen.run_as)
