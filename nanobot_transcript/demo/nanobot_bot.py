"""A bot in the real nanobot: a gateway, into which nanobot itself loads the plugin."""

import contextlib
import json
import socket
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, ClassVar

from nanobot_transcript.demo.bot import DemoAddresses, DemoBot
from nanobot_transcript.errors import HostError
from transcript_channels.simulator import App

__all__ = ["nanobot_bots", "require_nanobot"]


def require_nanobot() -> str:
    """The installed nanobot and its version. Raises HostError when the demo cannot run here with it."""
    fix = 'pip install "nanobot-transcript[nanobot]" or, from a clone, pip install ".[nanobot]" (or make demo).'
    try:
        found = version("nanobot-ai")
        version("lark-oapi")
    except PackageNotFoundError as error:
        raise HostError(f"The demo runs the real nanobot, and {error.name} is not installed here.", hint=fix) from None
    if not any(point.name == "group_transcript" for point in entry_points(group="nanobot.tools")):
        raise HostError("nanobot would not find the plugin: its entry point is missing.", hint=fix)
    return f"nanobot {found}"


def nanobot_bots(apps: Sequence[App], folder: Path) -> list[DemoBot]:
    """A gateway for each app, each with a home and a port of its own."""
    ports = _free_ports(len(apps))
    return [NanobotBot(app, folder / app.name.lower(), port) for app, port in zip(apps, ports, strict=True)]


class NanobotBot(DemoBot):
    """A nanobot gateway; it listens on ``port`` of 127.0.0.1."""

    noun: ClassVar[str] = "gateway"
    keeper: ClassVar[str] = "plugin"

    def __init__(self, app: App, home: Path, port: int) -> None:
        super().__init__(app, home)
        self.port: int = port

    def _prepare(self, places: DemoAddresses) -> list[str]:
        config_path = self.home / "config.json"
        config_path.write_text(json.dumps(self._config(places.model), indent=2), encoding="utf-8")
        return [sys.executable, "-m", "nanobot", "gateway", "--foreground", "--config", str(config_path)]

    def _variables(self, places: DemoAddresses) -> dict[str, str]:
        return {
            "NANOBOT_TRANSCRIPT_FEISHU__BASE_URL": places.platform,
            "NANOBOT_TRANSCRIPT_STORE__DIR": str(places.record.folder),
            "NANOBOT_TRANSCRIPT_GROUPS__MODE": "gate",
            "NANOBOT_TRANSCRIPT_RELAY__MODE": "mentions",
            "NANOBOT_TRANSCRIPT_HISTORY__ENABLED": "false",
        }

    def _config(self, model: str) -> dict[str, Any]:
        """nanobot's own configuration: this app, this model, nothing that reaches beyond the folder."""
        feishu = {
            "enabled": True,
            "appId": self.app.app_id,
            "appSecret": self.app.app_secret,
            "allowFrom": ["*"],
            "groupPolicy": "open",  # the gate decides, and not nanobot by mentions alone
        }
        off = {"enable": False}
        return {
            "agents": {
                "defaults": {
                    "workspace": str(self.home / "workspace"),
                    "model": "demo",
                    "provider": "custom",
                    # nanobot tells the group when it compresses its context; the script has no use for that
                    "contextWindowTokens": 1_000_000,
                    "dream": {"enabled": False},
                }
            },
            "providers": {"custom": {"apiKey": self.app.name, "apiBase": model}},
            "channels": {
                "sendProgress": False,
                "sendToolHints": False,
                "feishu": feishu,
                "websocket": {"enabled": False},
            },
            "tools": {"exec": off, "web": off, "cliApps": off, "restrictToWorkspace": True},
            "gateway": {"host": "127.0.0.1", "port": self.port, "heartbeat": {"enabled": False}},
        }


def _free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
