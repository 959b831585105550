"""Is nanobot installed, does it have what the plugin hooks into, and does it find the plugin?"""

import time
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.commands.doctor import mode
from nanobot_transcript.cli.commands.doctor.installation import version_of
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.output import listed
from nanobot_transcript.errors import StoreError
from nanobot_transcript.findings import Finding

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings
    from nanobot_transcript.store.front import GroupTranscriptStore
    from transcript_channels.nanobot_host.seams import SeamFinding

__all__ = ["check", "untold"]

_GROUP: Final = "nanobot.tools"
_NAME: Final = "group_transcript"
_INSTALL: Final = (
    "Install the plugin into nanobot's own environment: pip install 'nanobot-transcript[nanobot]', "
    "or from a clone: pip install '/path/to/nanobot-transcript[nanobot]'."
)
_REINSTALL: Final = (
    "Reinstall it: pip install --force-reinstall --no-deps nanobot-transcript, or from a clone: "
    "pip install --force-reinstall --no-deps /path/to/nanobot-transcript."
)
_NO_PACKAGE: Final = "The plugin's own package cannot be imported: {error}."
_NO_ENTRY_POINT: Final = "nanobot cannot find the plugin: its entry point is missing."
_NOT_NEEDED: Final = (
    "nanobot is not installed in this environment. Bots with a responder do not need it: "
    "`nanobot-transcript run` runs them."
)


def check(loaded: "LoadedSettings | None", store: "GroupTranscriptStore | None") -> list[Finding]:
    """Findings about nanobot and the plugin in this environment."""
    found = version_of("nanobot-ai")
    if found is None and loaded is not None and loaded.run_accounts and not _waiting(loaded, store):
        return [Finding("nanobot", "info", said(_NOT_NEEDED)), mode.check(loaded, nanobot=False)]
    if found is None:
        message = "nanobot is not installed in this environment: the store and the commands work, the plugin does not."
        fix = (
            "Run doctor in nanobot's environment, or install both here: pip install 'nanobot-transcript[nanobot]', "
            "or from a clone: pip install '/path/to/nanobot-transcript[nanobot]'."
        )
        severity = "warning" if loaded is not None and _waiting(loaded, store) else "info"
        return [Finding("nanobot", severity, said(message), said(fix))]
    seen = _nanobot(found)
    findings = [*seen, _plugin(seen[0].fix or said(_REINSTALL))]
    if loaded is not None:
        findings += [mode.check(loaded, nanobot=True), *_traces(store)]
    return findings


def _waiting(loaded: "LoadedSettings", store: "GroupTranscriptStore | None") -> bool:
    """True where a bot needs nanobot: one in the settings that ``run`` does not run, or one that used the store."""
    own = set(loaded.run_accounts)
    try:
        at_work = [] if store is None else [bot.account for bot in store.members.bots() if not bot.silent]
    except StoreError:  # told by the other checks
        at_work = []
    return not own.issuperset([*loaded.agents, *at_work])


def untold() -> str:
    """Name and version of this environment's nanobot if it does not report failed turns; else empty."""
    found = version_of("nanobot-ai")
    if found is None:
        return ""
    try:
        from transcript_channels.nanobot_host.outcomes import turn_completed
    except ImportError:  # told by the other checks
        return ""
    return f"nanobot {found}" if turn_completed() is None else ""


def _nanobot(found: str) -> list[Finding]:
    """nanobot's version, and whether it has what the plugin hooks into."""
    try:
        from transcript_channels.nanobot_host.seams import check_seams
    except ImportError as error:
        return [Finding("seams", "error", said(_NO_PACKAGE, error=error), said(_REINSTALL))]
    seams = check_seams()
    return [_version(found, seams), *_seams(seams)]


def _version(found: str, seams: "list[SeamFinding]") -> Finding:
    from transcript_channels.nanobot_host.seams import SUPPORTED, is_supported, untried

    notice = untried(found, seams)
    if not notice:
        return Finding("nanobot", "ok", said("nanobot {version} is installed.", version=found))
    if is_supported(found):
        return Finding("nanobot", "info", notice)
    fix = said("pip install '{nanobot}', or look for a newer nanobot-transcript.", nanobot=SUPPORTED)
    return Finding("nanobot", "warning", notice, fix)


def _seams(seams: "list[SeamFinding]") -> list[Finding]:
    missing = [Finding("seams", "error", seam.message, seam.fix) for seam in seams if seam.severity != "ok"]
    there = said("All {count} places that the plugin hooks into are there.", count=len(seams))
    return missing or [Finding("seams", "ok", there)]


def _plugin(fix: str) -> Finding:
    points = [point for point in entry_points(group=_GROUP) if point.name == _NAME]
    if not points:
        return Finding("plugin", "error", said(_NO_ENTRY_POINT), said(_INSTALL))
    return _loaded(points[0], fix)


def _loaded(point: EntryPoint, fix: str) -> Finding:
    try:
        point.load()
    except (ImportError, AttributeError) as error:
        message = said("nanobot finds the plugin but cannot load it: {error}.", error=error)
        return Finding("plugin", "error", message, fix)
    return Finding("plugin", "ok", said("nanobot finds the plugin and can load it."))


def _traces(store: "GroupTranscriptStore | None") -> list[Finding]:
    """Traces of running bots in the store, which prove that the plugin works."""
    if store is None:
        return []
    try:
        bots, chats = store.members.bots(), store.chats()
    except StoreError as error:
        return [Finding("activity", "error", str(error), error.hint)]
    if not bots:
        fix = "Start a gateway with a Feishu channel; it then registers right away. If it does not, check its log."
        return [Finding("activity", "info", said("No bot with the plugin has used this store yet."), said(fix))]
    at_work = [bot for bot in bots if not bot.silent]
    if not at_work:
        message = said("{names} gave no sign of life for 30 days.", names=listed(bot.name for bot in bots))
        fix = said("Start their gateways. If they are running, check their logs.")
        return [Finding("activity", "info", message, fix)]
    names = listed(bot.name for bot in at_work)
    if not chats:
        fix = "Say something in a group. If it is not recorded, grant the bots the scope im:message.group_msg."
        message = said("{names} used this store, but no message has been recorded yet.", names=names)
        return [Finding("activity", "info", message, said(fix))]
    age = max(0, int(time.time() - max(chat.last_write_ms for chat in chats) / 1000))
    message = said("{names} used this store; the last line was written {ago} ago.", names=names, ago=_ago(age))
    return [Finding("activity", "ok", message)]


def _ago(seconds: int) -> str:
    for unit, length in (("{count} days", 86_400), ("{count} hours", 3600), ("{count} minutes", 60)):
        if seconds >= 2 * length:
            return said(unit, count=seconds // length)
    return said("{count} seconds", count=seconds)
