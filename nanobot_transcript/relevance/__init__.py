"""Who answers? The relevance gate, its judge and its log; relevance of texts; quoting."""

from nanobot_transcript.relevance.decision import SENTENCES, Decision, Reason, Stage
from nanobot_transcript.relevance.gate import RelevanceGate
from nanobot_transcript.relevance.judge import Judge, Prompt
from nanobot_transcript.relevance.log import DecisionLog
from nanobot_transcript.relevance.openai_judge import OpenAIJudge
from nanobot_transcript.relevance.options import GateOptions
from nanobot_transcript.relevance.quote import quote

__all__ = [
    "SENTENCES",
    "Decision",
    "DecisionLog",
    "GateOptions",
    "Judge",
    "OpenAIJudge",
    "Prompt",
    "Reason",
    "RelevanceGate",
    "Stage",
    "quote",
]
