"""The entry point: nanobot's tool loader finds ``GroupTranscriptTool``, and creating it installs the plugin."""

import logging
from collections.abc import Collection
from typing import Any, Final

from nanobot.agent.tools.base import Tool

from nanobot_transcript.errors import HostError, StoreError
from transcript_channels.nanobot_host.context import GroupContext, zone
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.install import installation
from transcript_channels.nanobot_host.query import QueryError, RecordQuery, ShownRecord
from transcript_channels.nanobot_host.tool_request import NoGroupError, group_of, tool_error

__all__ = ["GroupTranscriptTool", "attend"]

logger = logging.getLogger(__name__)

_SOURCE: Final = "group_transcript"
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "description": "How many messages at most (default 20); the newest that match.",
        },
        "since": {
            "type": "string",
            "description": "Only messages since then: a time such as 2025-11-20T09:30, an age such as 30m, 2h or "
            "3d, or the cursor from an earlier answer (then the oldest after it come first).",
        },
        "member": {"type": "string", "description": "Only messages from this person or bot, by name."},
        "query": {"type": "string", "description": "Only messages that contain exactly this text."},
    },
    "additionalProperties": False,
}


class GroupTranscriptTool(Tool):
    """Lets the agent read the record of its own group chat, and gives each turn what is new there."""

    def __init__(self, host: Host, ctx: Any, abilities: Collection[str]) -> None:
        where = zone(getattr(ctx, "timezone", None))
        self._host: Host = host
        self._answers: bool = "tool" in abilities
        self._gives_context: bool = "context" in abilities
        self._sessions: Any = getattr(ctx, "sessions", None)
        self._context: GroupContext = GroupContext(host, where)
        self._query: RecordQuery = RecordQuery(host, where)

    @classmethod
    def enabled(cls, ctx: Any) -> bool:
        """nanobot calls this before ``create``. False hides the tool from the agent and changes nothing else."""
        installed = installation()
        if installed.host is None or not installed.host.conversation.policy.shares_somewhere:
            return False
        attend(installed.host, ctx, installed.abilities)
        return not installed.abilities.isdisjoint({"tool", "context"})

    @classmethod
    def create(cls, ctx: Any) -> "GroupTranscriptTool":
        """nanobot's tool, for one of its agent loops."""
        installed = installation()
        if installed.host is None:
            raise HostError("The group transcript is off.", hint="The startup log says why.")
        return cls(installed.host, ctx, installed.abilities)

    @property
    def name(self) -> str:
        return "group_transcript"

    @property
    def description(self) -> str:
        if not self._answers:  # only tools can give turns their context, so it must be registered all the same
            return "Not available on this version of nanobot. Never call it."
        return (
            "Read what people and other bots said in this group chat, including what was not addressed to you. New "
            "messages come with each turn automatically; use this for older ones, for those of one member, or to "
            "search. Works in group chats only."
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return _PARAMETERS

    @property
    def read_only(self) -> bool:
        return True

    async def execute(self, **kwargs: Any) -> Any:
        """The messages asked for, of the chat this turn belongs to."""
        if not self._answers:
            return "Error: the tool is not available on this version of nanobot."
        from nanobot.agent.tools.context import current_request_context

        request = current_request_context()
        try:
            bot, chat_id = group_of(self._host, request)
            answer = await self._query.answer(
                chat_id,
                bot.app_id,
                limit=kwargs.get("limit") or 20,
                since=kwargs.get("since"),
                member=kwargs.get("member"),
                query=kwargs.get("query"),
            )
            self._note_shown(bot.app_id, getattr(request, "session_key", None), answer)
            return answer.text
        except (NoGroupError, QueryError) as error:
            return tool_error(str(error))
        except Exception as error:
            logger.exception("The record could not be read")
            return tool_error(f"the record cannot be read now ({error}).")

    def _note_shown(self, app_id: str, session_key: str | None, answer: ShownRecord) -> None:
        if session_key:
            self._host.watermarks.change(app_id, session_key, lambda mark: mark and mark.with_told(answer.message_ids))

    def runtime_context_provider(self) -> Any:
        """What nanobot calls at every turn of every session."""
        return self._provide if self._gives_context else None

    async def _provide(self, request: Any) -> Any:
        """What is new in the turn's group; None if nothing is. Never raises: the turn must go on."""
        from nanobot.runtime_context import RuntimeContextBlock, wrap_runtime_context_lines

        try:
            lines = await self._context.lines(request, is_fresh=self._is_fresh)
            return RuntimeContextBlock(_SOURCE, wrap_runtime_context_lines(lines)) if lines else None
        except StoreError as error:
            logger.warning("A turn runs without the latest messages of its group: %s %s", error, error.hint)
        except Exception:
            logger.exception("A turn runs without the latest messages of its group")
        return None

    def _is_fresh(self, session_key: str) -> bool:
        """True when nanobot's session is empty, because it is new or was reset."""
        get_or_create = getattr(self._sessions, "get_or_create", None)
        if get_or_create is None:
            return False
        session = get_or_create(session_key)
        return not getattr(session, "messages", True)


GroupTranscriptTool.__abstractmethods__ = frozenset()
"""nanobot's loader silently skips abstract classes, and then nothing of the plugin would be installed. If a future
``Tool`` has an abstract method that ours lacks, only the abilities tool and context are lost: see ``seams``.
"""


def attend(host: Host, ctx: Any, abilities: Collection[str]) -> None:
    """Take from nanobot's ``ToolContext`` what other abilities need: its model, its bus and its sessions."""
    if "judge" in abilities:
        host.model.attend(getattr(ctx, "provider_snapshot_loader", None))
    host.outcomes.attend(getattr(ctx, "bus", None))
    if "forgetting" in abilities:
        host.forgetting.attend(getattr(ctx, "sessions", None))
