"""Installs the plugin into nanobot, once per process: replaces nanobot's channel class by ours."""

import atexit
import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import Settings, load_settings
from transcript_channels.feishu.settings import FeishuSettings
from transcript_channels.nanobot_host.channel import (
    Actions,
    Core,
    Gated,
    Hearing,
    Introducing,
    Recalling,
    Saying,
    Streaming,
)
from transcript_channels.nanobot_host.channel_lifecycle import ChannelLifecycle, Connected
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.seams import SeamFinding, check_seams, describe, untried

__all__ = ["PARTS", "Installation", "channel_class", "installation"]

logger = logging.getLogger(__name__)

_LOGGERS: Final = ("nanobot_transcript", "transcript_channels")

PARTS: Final[dict[str, type[Core]]] = {
    "names": Introducing,
    "gate": Gated,
    "beside": ChannelLifecycle,
    "actions": Actions,
    "reconnects": Connected,
    "inbound": Hearing,
    "recalls": Recalling,
    "streams": Streaming,
    "outbound": Saying,
}
"""The parts of our channel class by ability, in the order in which their methods are called (MRO)."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The plugin in this process; ``host`` is None if it is switched off or cannot work."""

    host: Host | None
    abilities: frozenset[str]


_mutex = threading.Lock()
_installed: Installation | None = None


def installation() -> Installation:
    """The plugin in this process: the first call reads the settings and installs it. Never raises."""
    global _installed
    with _mutex:
        if _installed is None:
            _bridge_logging()
            try:
                _installed = _install(load_settings(look_in_cwd=False))
            except ConfigError as error:
                logger.error("The group transcript is off: %s %s", error, error.hint)
                _installed = _nothing()
            except Exception:
                logger.exception("The group transcript is off on nanobot %s", describe()["nanobot-ai"])
                _installed = _nothing()
        return _installed


def channel_class(base: type[Any], host: Host, abilities: Collection[str]) -> type[Any]:
    """A subclass of nanobot's channel class with the given abilities (those of ``PARTS``); everything else stays as it
    is in ``base``.
    """
    parts = [part for ability, part in PARTS.items() if ability in abilities]
    namespace = {"_transcript_host": host, "__module__": __name__, "__doc__": base.__doc__}
    return type("TranscriptFeishuChannel", (*parts, Core, base), namespace)


def _install(settings: Settings) -> Installation:
    active = settings.groups.policy.active
    base_url = settings.section(FeishuSettings).base_url
    if not active and not base_url:
        return _nothing()
    findings = check_seams()
    abilities = frozenset(finding.ability for finding in findings if finding.severity == "ok")
    if base_url and "base_url" in abilities:
        _redirect(base_url)
    if not active:
        _report_lost([finding for finding in findings if finding.ability == "base_url"])
        return _nothing()
    host = Host(settings, settings.open_record())
    _replace_channel(host, abilities)
    _report(findings, host)
    host.conversation.background.start()
    atexit.register(host.conversation.write_down)  # nanobot has no hook for its end
    return Installation(host, abilities)


def _replace_channel(host: Host, abilities: frozenset[str]) -> None:
    """Put our class where nanobot looks for its own."""
    needed = abilities & PARTS.keys()
    if not needed:
        return
    from nanobot.channels.feishu import runtime

    base: type[Any] = runtime.FeishuChannel
    ours = channel_class(base, host, needed)
    runtime.FeishuChannel = ours
    from nanobot.channels.feishu.runtime import FeishuChannel  # as nanobot itself will import it

    if FeishuChannel is not ours or ours.name != base.name:
        raise RuntimeError("nanobot's channel class could not be replaced")


def _redirect(base_url: str) -> None:
    """Send the SDK's requests and its long connection to ``base_url``."""
    from nanobot.channels.feishu import runtime

    load = runtime._load_lark_runtime

    def redirected() -> tuple[Any, str, str]:
        return (load()[0], base_url, base_url)

    runtime._load_lark_runtime = redirected


def _report(findings: list[SeamFinding], host: Host) -> None:
    _report_lost(findings)
    versions = describe()
    if notice := untried(versions["nanobot-ai"], findings):
        logger.info("%s", notice)
    logger.info(
        "Group transcript %s on nanobot %s: groups.mode is %s, %d of %d abilities work, the record is in %s",
        versions["nanobot-transcript"],
        versions["nanobot-ai"],
        host.settings.groups.mode,
        sum(finding.severity == "ok" for finding in findings),
        len(findings),
        host.record.place,
    )


def _report_lost(findings: list[SeamFinding]) -> None:
    """Log one line about what this nanobot lacks, and which abilities that costs."""
    lost = [finding.message for finding in findings if finding.severity != "ok"]
    if lost:
        found = describe()["nanobot-ai"]
        logger.error("The group transcript works in part on nanobot %s: %s", found, " ".join(lost))


def _bridge_logging() -> None:
    """Send our log to loguru, with which nanobot logs."""
    try:
        from nanobot.utils.logging_bridge import redirect_lib_logging
    except ImportError:
        return
    for name in _LOGGERS:
        redirect_lib_logging(name)
        logging.getLogger(name).setLevel(logging.INFO)


def _nothing() -> Installation:
    return Installation(None, frozenset())
