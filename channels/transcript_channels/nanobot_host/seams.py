"""The places where the plugin hooks into nanobot, and whether the installed nanobot has them.

Nothing is started or changed here. Importing this module imports nothing of nanobot; ``check_seams`` imports
nanobot's Feishu channel (half a second), but not the Feishu SDK.
"""

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from typing import Any, Final, Literal

__all__ = ["ENTRY_POINT", "SUPPORTED", "TRIED", "SeamFinding", "check_seams", "describe", "is_supported", "untried"]

SUPPORTED: Final = "nanobot-ai>=0.3.0,<1"
"""The versions with which the plugin starts. For versions that are not in ``TRIED``, the seams decide what works."""

TRIED: Final = ("0.3.0", "0.3.5")
ENTRY_POINT: Final = ("nanobot.tools", "group_transcript")

_RUNTIME: Final = "nanobot.channels.feishu.runtime"
_FIX: Final = (
    f"Install a version that was tried (pip install 'nanobot-ai=={TRIED[-1]}'), or a newer nanobot-transcript."
)
_TOOL: Final = "nanobot.agent.tools.base:Tool"
_OURS: Final = frozenset({"name", "description", "parameters", "execute", "read_only", "runtime_context_provider"})
"""What the plugin's tool implements: a further abstract method of ``Tool`` would be left without a body."""

_ALL_PARTS: Final = ("config",)
"""Attributes that every part of our channel class needs: ``config`` says whose channel it is."""


@dataclass(frozen=True, slots=True)
class SeamFinding:
    """Whether one ability of the plugin finds what it needs in nanobot. ``missing`` names what is not there."""

    ability: str
    severity: Literal["ok", "error"]
    message: str
    fix: str = ""
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ability:
    """What one ability ``needs`` of others, and of nanobot: ``methods`` and ``attributes`` of the channel class, and
    ``names`` as ``module:attribute``. ``lost`` says what does not work without it.
    """

    name: str
    lost: str
    methods: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    is_tool: bool = False


_ABILITIES: Final = (
    _Ability(
        "tool",
        "the agent cannot look into the record",
        names=(
            "nanobot.agent.tools.base:Tool.execute",
            "nanobot.agent.tools.base:ToolResult.error",
            "nanobot.agent.tools.context:current_request_context",
        ),
        is_tool=True,
    ),
    _Ability(
        "context",
        "turns are not given what was said",
        names=(
            "nanobot.agent.tools.base:Tool.runtime_context_provider",
            "nanobot.runtime_context:RuntimeContextBlock",
            "nanobot.runtime_context:wrap_runtime_context_lines",
        ),
        is_tool=True,
    ),
    _Ability(
        "forgetting",
        "what is taken back stays in sessions that were shown it",
        names=(
            "nanobot.session.manager:SessionManager.get_or_create",
            "nanobot.session.manager:SessionManager.save",
            "nanobot.session.manager:Session.__dataclass_fields__.key",
            "nanobot.session.manager:Session.__dataclass_fields__.messages",
        ),
    ),
    _Ability(
        "inbound",
        "messages of people are not recorded",
        methods=("_on_message_sync", "_on_message", "_handle_message", "_is_group_message_for_bot"),
    ),
    _Ability(
        "gate",
        "mode gate has no effect, nanobot's group policy decides",
        methods=("_on_message", "_is_group_message_for_bot", "is_allowed"),
        needs=("inbound",),
    ),
    _Ability(
        "judge",
        "gate.judge.kind `host` cannot ask nanobot's model",
        names=(
            "nanobot.agent.tools.context:ToolContext.__dataclass_fields__.provider_snapshot_loader",
            "nanobot.providers.base:LLMProvider.chat_with_retry",
        ),
    ),
    _Ability(
        "commands",
        "the gate weighs nanobot's commands like any other message",
        names=(
            "nanobot.command.builtin:BUILTIN_COMMAND_SPECS",
            "nanobot.command.builtin:BuiltinCommandSpec.__dataclass_fields__.command",
        ),
    ),
    _Ability(
        "names",
        "bots are called by their app id",
        methods=("_fetch_bot_open_id", "_on_message"),
        attributes=("_client", "_bot_open_id"),
    ),
    _Ability(
        "beside",
        "it neither hears other bots nor sends posts of the outbox",
        methods=("start", "_handle_message", "_fetch_bot_open_id"),
        names=(
            "nanobot.bus.events:InboundMessage",
            "nanobot.bus.queue:MessageBus.publish_inbound",
            "nanobot.channels.base:BaseChannel.supports_streaming",
        ),
        attributes=("_loop", "bus"),
        needs=("names",),
    ),
    _Ability("actions", "pressed buttons do not reach whoever posted the card", methods=("_register_optional_event",)),
    _Ability(
        "reconnects",
        "what was missed while the connection was down is asked for late",
        attributes=("_ws_client", "_loop"),
    ),
    _Ability("recalls", "messages that are taken back stay visible", methods=("_register_optional_event",)),
    _Ability("outbound", "answers of this bot are not recorded", methods=("send",), attributes=("_client",)),
    _Ability(
        "streams",
        "streamed answers of this bot are not recorded",
        methods=("send_delta", "_stream_key"),
        needs=("outbound",),
    ),
    _Ability(
        "base_url", "feishu.base_url has no effect", names=("nanobot.channels.feishu.runtime:_load_lark_runtime",)
    ),
)


def check_seams() -> list[SeamFinding]:
    """One finding for each ability of the plugin, in a fixed order."""
    try:
        version("nanobot-ai")
    except PackageNotFoundError:
        fix = "Install the plugin where nanobot is: pip install 'nanobot-transcript[nanobot]'."
        return [SeamFinding("nanobot", "error", "nanobot is not installed in this environment.", fix)]
    missing: dict[str, tuple[str, ...]] = {}
    for ability in _ABILITIES:
        gone = tuple(_missing(ability))
        needed = (place for need in ability.needs for place in missing[need])
        missing[ability.name] = tuple(dict.fromkeys((*gone, *needed)))
    return [_finding(ability, missing[ability.name]) for ability in _ABILITIES]


def is_supported(found: str) -> bool:
    """True for a version of nanobot in the range of ``SUPPORTED``."""
    number = re.match(r"0\.(\d+)", found)
    return number is not None and int(number[1]) >= 3


def untried(found: str, findings: Sequence[SeamFinding]) -> str:
    """A sentence about a version of nanobot that was not tried with this plugin; empty for one that was."""
    if found.partition("+")[0] in TRIED:
        return ""
    lacking = ", ".join(finding.ability for finding in findings if finding.severity != "ok")
    outcome = f"it lacks what these need: {lacking}" if lacking else "every ability finds what it needs there"
    return f"nanobot {found} was not tried with this plugin ({' and '.join(TRIED)} were); {outcome}."


def describe() -> dict[str, str]:
    """The versions of the packages involved (``""`` if one is not installed), and the plugin's entry point."""
    found = {name: _version(name) for name in ("nanobot-transcript", "nanobot-ai", "lark-oapi")}
    group, name = ENTRY_POINT
    points = [point.value for point in entry_points(group=group) if point.name == name]
    return found | {"entry point": points[0] if points else ""}


def _finding(ability: _Ability, missing: tuple[str, ...]) -> SeamFinding:
    if not missing:
        return SeamFinding(ability.name, "ok", f"{ability.name}: everything is there.")
    gone = ", ".join(missing)
    return SeamFinding(ability.name, "error", f"nanobot lacks {gone}: {ability.lost}.", _FIX, missing)


def _missing(ability: _Ability) -> Iterator[str]:
    if ability.methods or ability.attributes:
        yield from _missing_in_channel(ability)
    yield from (place for place in ability.names if _load(place) is None)
    if ability.is_tool:
        unknown = sorted(getattr(_load(_TOOL), "__abstractmethods__", frozenset()) - _OURS)
        yield from (f"a Tool that does without the abstract method {name}" for name in unknown)


def _missing_in_channel(ability: _Ability) -> Iterable[str]:
    channel = _load(f"{_RUNTIME}:FeishuChannel")
    if not inspect.isclass(channel):
        return ["FeishuChannel"]
    methods = [name for name in ability.methods if not callable(getattr(channel, name, None))]
    attributes = [name for name in (*_ALL_PARTS, *ability.attributes) if not _assigns(channel, name)]
    return [f"FeishuChannel.{name}" for name in (*methods, *attributes)]


def _load(place: str) -> Any:
    """What ``module:attribute.attribute`` names; None when it is not there."""
    module, _, path = place.partition(":")
    try:
        value: Any = importlib.import_module(module)
    except ImportError:
        return None
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _assigns(channel: Any, name: str) -> bool:
    """True when a constructor of the class or of one of its bases sets this attribute."""
    return any(name in _names_in(kind.__dict__.get("__init__")) for kind in channel.__mro__)


def _names_in(constructor: Any) -> tuple[str, ...]:
    code = getattr(inspect.unwrap(constructor), "__code__", None) if callable(constructor) else None
    return code.co_names if code is not None else ()


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
