"""Why a demo ended early."""

from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE

__all__ = ["DemoError"]


class DemoError(Exception):
    """Something of the demo did not happen. ``hint`` says what to do next, ``code`` is the command's exit code."""

    def __init__(self, message: str, *, hint: str = "", code: int = NEGATIVE) -> None:
        super().__init__(message)
        self.hint: str = hint
        self.code: int = code
