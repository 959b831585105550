"""A bot in our own runner: one process of ``nanobot-transcript run``, as anybody would start it."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Final

from nanobot_transcript.demo.bot import DemoAddresses, DemoBot
from nanobot_transcript.errors import HostError
from transcript_channels.simulator import App

__all__ = ["require_runner", "runner_bots"]

_NEEDED: Final = {"lark_oapi": "lark-oapi", "openai": "openai"}
_FIX: Final = 'pip install "nanobot-transcript[feishu,openai]" or, from a clone, pip install ".[feishu,openai]".'
_MANNERS: Final = "Be brief. To speak to another bot of the group, begin with @ and its name."


def require_runner() -> str:
    """What runs the bots. Raises HostError when the demo cannot run here with it."""
    for module, package in _NEEDED.items():
        if find_spec(module) is None:
            raise HostError(
                f"The runner needs the package {package}, which is not installed here.",
                hint=_FIX,
            )
    return "nanobot-transcript run"


def runner_bots(apps: Sequence[App], folder: Path) -> list[DemoBot]:
    """A process for each app, each with a home and a configuration of its own."""
    return [RunnerBot(app, folder / app.name.lower()) for app in apps]


class RunnerBot(DemoBot):
    """``nanobot-transcript run -c config.yaml``."""

    noun: ClassVar[str] = "runner"
    keeper: ClassVar[str] = "store"

    def _prepare(self, places: DemoAddresses) -> list[str]:
        import yaml

        config_path = self.home / "config.yaml"
        config_path.write_text(yaml.safe_dump(self._config(places), sort_keys=False), encoding="utf-8")
        return [sys.executable, "-m", "nanobot_transcript", "run", "-c", str(config_path)]

    def _variables(self, places: DemoAddresses) -> dict[str, str]:
        return {"BOT_SECRET": self.app.app_secret}

    def _config(self, places: DemoAddresses) -> dict[str, Any]:
        """The settings of ``run``. Without the platform's history a bot knows of another what the record says."""
        mind = {"kind": "openai", "model": "demo", "base_url": places.model, "api_key": self.app.name}
        agent = {"name": self.app.name, "app_secret": "${BOT_SECRET}", "instructions": _MANNERS, "responder": mind}
        return {
            "store": {"dir": str(places.record.folder)},
            "feishu": {"base_url": places.platform},
            "history": {"enabled": False},
            "relay": {"mode": "mentions"},
            "agents": {self.app.app_id: agent},
        }
