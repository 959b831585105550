"""Our own host: any kind of agent in a group chat, with the shared record, the gate, the loop guard and the claim."""

from nanobot_transcript.conversation.ports import (
    CardAction,
    Channel,
    InboundMessage,
    LiveMessage,
    OutboundMessage,
    Publish,
    Recalled,
    SentMessage,
    StreamingChannel,
)
from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.conversation.prompt import Prompt
from nanobot_transcript.runner.agent_loop import LoopOptions
from nanobot_transcript.runner.hosted_agent import Agent
from nanobot_transcript.runner.reply_stream import AnswerLimits
from nanobot_transcript.runner.responders.command import CommandOptions, CommandResponder
from nanobot_transcript.runner.responders.contract import Responder
from nanobot_transcript.runner.responders.openai_compatible import OpenAIOptions, OpenAIResponder
from nanobot_transcript.runner.responders.scripted import ScriptedResponder
from nanobot_transcript.runner.runner import Runner

__all__ = [
    "Agent",
    "AnswerLimits",
    "CardAction",
    "Channel",
    "CommandOptions",
    "CommandResponder",
    "InboundMessage",
    "LiveMessage",
    "LoopOptions",
    "OpenAIOptions",
    "OpenAIResponder",
    "OutboundMessage",
    "Posts",
    "Prompt",
    "Publish",
    "Recalled",
    "Responder",
    "Runner",
    "ScriptedResponder",
    "SentMessage",
    "StreamingChannel",
]
