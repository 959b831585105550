"""The gate: decides who answers a message; its judge, and the log of its decisions."""

from nanobot_transcript.relevance.decision import Decision, Reason, Stage
from nanobot_transcript.relevance.gate import RelevanceGate
from nanobot_transcript.relevance.judge import Judge, Prompt
from nanobot_transcript.relevance.openai_judge import OpenAIJudge
from nanobot_transcript.relevance.options import GateOptions

__all__ = [
    "Decision",
    "GateOptions",
    "Judge",
    "OpenAIJudge",
    "Prompt",
    "Reason",
    "RelevanceGate",
    "Stage",
]
