"""The command ``nanobot-transcript``: a module or package for each command, heavy imports inside the commands."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see ``nanobot_transcript.cli.terminal.exit_codes``)."""
    from nanobot_transcript.cli.command_line import run

    return run(list(sys.argv[1:] if arguments is None else arguments))
