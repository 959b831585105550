"""Which servers there are, and how each is made from the settings."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from nanobot_transcript.settings import Settings
from transcript_mcp.sdk import Server

__all__ = ["build_servers"]


def build_servers(
    settings: Settings, names: Iterable[str] | None = None, *, cwd: Path | None = None
) -> dict[str, Server]:
    """The servers by name: those named, or all there are. What they open is closed with the process.

    ``cwd`` is the folder in which a client started this process, which tells who it is; None in the hub.
    """
    return {name: _BUILDERS[name](settings, cwd) for name in (_BUILDERS if names is None else names)}


def _transcript(settings: Settings, _cwd: Path | None) -> Server:
    from nanobot_transcript.identity import AgentProfile
    from transcript_mcp.transcript import build_server

    agents = [
        AgentProfile(agent.name, tuple(agent.aliases), agent.description, frozenset({agent.name, app_id}))
        for app_id, agent in settings.agents.items()
    ]
    return build_server(settings.store.open(), agents=agents, gate=settings.gate.options())


def _filebox(settings: Settings, cwd: Path | None) -> Server:
    from transcript_mcp.filebox.server import server_from

    return server_from(settings, cwd)


def _mail(settings: Settings, _cwd: Path | None) -> Server:
    from transcript_mcp.mail.server import build_server, service_from

    return build_server(service_from(settings), store=settings.store.open)


_BUILDERS: Final[Mapping[str, Callable[[Settings, Path | None], Server]]] = {
    "transcript": _transcript,
    "filebox": _filebox,
    "mail": _mail,
}
