"""Loads the plugin as nanobot does, into a nanobot that lacks something: ``without_seams.py FOLDER CASES``.

``CASES`` is JSON: by name the places to delete first (``module:attribute.attribute``, or an attribute that a
channel then names differently), or null for a version of nanobot that nobody knows. Each case is a fork, because a
process takes hold of nanobot once. Prints a line of JSON for each: what the process can do afterwards, and its log.
"""

import asyncio
import contextlib
import importlib
import importlib.metadata
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from loguru import logger
from nanobot.agent.tools.context import ToolContext
from nanobot.agent.tools.loader import ToolLoader
from nanobot.agent.tools.registry import ToolRegistry
from nanobot.bus.queue import MessageBus
from nanobot.channels.feishu import runtime
from nanobot.channels.feishu.config import FeishuConfig
from nanobot.session.manager import SessionManager
from support.stub_nanobot import group_event, sdk_object

from transcript_channels.nanobot_host import plugin, seams
from transcript_channels.nanobot_host.install import PARTS

__all__ = ["loaded"]

IMPORTED_WHILE_ALL_IS_THERE = plugin


def delete(place: str) -> None:
    module, _, path = place.partition(":")
    if not path:
        made: Any = runtime.FeishuChannel.__init__
        names = tuple(f"{name}_of_late" if name == place else name for name in made.__code__.co_names)
        made.__code__ = made.__code__.replace(co_names=names)
        return
    *owners, last = path.split(".")
    owner: Any = importlib.import_module(module)
    for name in owners:
        owner = getattr(owner, name)
    if isinstance(owner, dict):
        del owner[last]
    else:
        delattr(owner, last)


def other_version() -> None:
    known = importlib.metadata.version
    for module in (importlib.metadata, seams):
        module.version = lambda name: "0.4.2" if name == "nanobot-ai" else known(name)  # type: ignore[attr-defined]


def loaded(folder: Path) -> dict[str, Any]:
    """The gateway's own steps: the tools, then the channel, then a message."""
    registry, sessions = ToolRegistry(), SessionManager(folder / "workspace")
    asked = []
    ctx = ToolContext(config=SimpleNamespace(), workspace=str(folder), sessions=sessions)  # type: ignore[arg-type]
    ctx.provider_snapshot_loader = lambda: asked.append(1)  # type: ignore[assignment, func-returns-value]
    names = ToolLoader(test_classes=[]).load(ctx, registry)
    from transcript_channels.nanobot_host.install import installation

    host = installation().host
    tool = registry.get("group_transcript")
    kind: Any = getattr(runtime, "FeishuChannel", None)
    if kind is not None:
        channel = kind(FeishuConfig(app_id="cli_a", app_secret="s"), MessageBus())
        with contextlib.suppress(AttributeError):  # what nanobot lacks it misses itself, too
            channel._on_message_sync(sdk_object(group_event("om_1", "hello")))
    provider = tool.runtime_context_provider() if tool is not None else None
    return {
        "tools": names,
        "answers": tool is not None and not str(tool.description).startswith("Not available"),
        "context": provider is not None,
        "forgetting": "get_or_create" in vars(sessions),
        "judge": host is not None and host.model._load is not None,
        "redirected": runtime._load_lark_runtime.__module__.startswith("transcript_channels")
        if hasattr(runtime, "_load_lark_runtime")
        else False,
        "parts": [ability for ability, part in PARTS.items() if kind is not None and part in kind.__mro__],
        "recorded": host is not None and len(host.record.store.recent("feishu:oc_1", 9).entries),
    }


def case(places: list[str] | None, folder: Path) -> dict[str, Any]:
    log = io.StringIO()
    logger.remove()
    logger.add(log, format="{level} {message}")
    os.environ["NANOBOT_TRANSCRIPT_STORE__DIR"] = str(folder / "transcripts")
    os.environ["NANOBOT_TRANSCRIPT_HISTORY__ENABLED"] = "false"
    if places is None:
        other_version()
    for place in places or []:
        delete(place)
    return {**loaded(folder), "log": log.getvalue().splitlines()}


def main(folder: Path, cases: dict[str, list[str] | None]) -> None:
    for name, places in cases.items():
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            outcome = case(places, Path(tempfile.mkdtemp(dir=folder)))
            sys.stdout.write(json.dumps({"name": name, **outcome}) + "\n")
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    asyncio.set_event_loop(asyncio.new_event_loop())
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
