"""Taking turns: who may answer, derived from the shared record by every process alike.

The loop guard limits what bots say to each other, an owner answers in its thread, a claim picks one of several bots,
and a relay lets bots hear each other. ``Lease`` and ``Budget`` are what processes need in order to agree.
"""

from nanobot_transcript.coordination.contract import Budget, Grant, Lease, new_holder
from nanobot_transcript.coordination.files.call_budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from nanobot_transcript.turns.claim import AnswerClaims, Claim, ClaimLimits
from nanobot_transcript.turns.loop_guard import GUARD_HISTORY, LoopGuard, LoopLimits, Verdict, bot_turns
from nanobot_transcript.turns.owner import owner_of
from nanobot_transcript.turns.relay import Relay, RelayMode, RelaySettings

__all__ = [
    "GUARD_HISTORY",
    "AnswerClaims",
    "Budget",
    "Claim",
    "ClaimLimits",
    "FileBudget",
    "FileLease",
    "Grant",
    "Lease",
    "LoopGuard",
    "LoopLimits",
    "Relay",
    "RelayMode",
    "RelaySettings",
    "Verdict",
    "bot_turns",
    "new_holder",
    "owner_of",
]
