"""``mcp assistant``: what the command does for Agent Assistant."""

import asyncio
from pathlib import Path

from nanobot_transcript.cli.options import read_settings

__all__ = ["serve_assistant"]


def serve_assistant(config: Path | None, host: str | None, port: int | None, token: str | None, *, web: bool) -> None:
    """Serve the tools over stdin and stdout, with the questions going to a hub; open its page first with ``web``."""
    from transcript_mcp.assistant.adapter import adapter_server, open_page, target_from
    from transcript_mcp.sdk import serve_stdio

    settings = read_settings(config, None, dotenv="none")  # a stranger's .env must not say where the token goes
    target = target_from(settings, Path.cwd(), host=host, port=port, token=token)
    if web:
        open_page(target)
    asyncio.run(serve_stdio(adapter_server(settings, target)))
