"""The transcript server over stdio, in a process of its own: ``python tests/support/transcript_server.py DIR``."""

import asyncio
import sys
from datetime import timedelta, timezone
from pathlib import Path

from nanobot_transcript import GroupTranscriptStore
from transcript_mcp.sdk import serve_stdio
from transcript_mcp.transcript import build_server

__all__ = ["command"]

SHANGHAI = timezone(timedelta(hours=8))


def command(base_dir: Path) -> list[str]:
    """How a client starts the server over this store; its times are those of Shanghai."""
    return [sys.executable, __file__, str(base_dir)]


if __name__ == "__main__":
    with GroupTranscriptStore(sys.argv[1]) as store:
        asyncio.run(serve_stdio(build_server(store, timezone=SHANGHAI)))
