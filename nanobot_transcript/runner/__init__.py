"""Our own host: any mind in a group chat, with the shared record, the gate, the guard and the claim."""

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
from nanobot_transcript.conversation.prompt import ContextLimits, Prompt, build_messages
from nanobot_transcript.runner.agent_loop import AgentLoop, LoopOptions
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.channel_manager import ChannelManager
from nanobot_transcript.runner.hosted_agent import Agent, HostedAgent
from nanobot_transcript.runner.reply_stream import AnswerLimits
from nanobot_transcript.runner.responders.command import CommandOptions, CommandResponder
from nanobot_transcript.runner.responders.contract import Responder
from nanobot_transcript.runner.responders.openai_compatible import OpenAIOptions, OpenAIResponder
from nanobot_transcript.runner.responders.scripted import ScriptedResponder, ScriptLine
from nanobot_transcript.runner.runner import Runner

__all__ = [
    "Agent",
    "AgentLoop",
    "AnswerLimits",
    "CardAction",
    "Channel",
    "ChannelManager",
    "CommandOptions",
    "CommandResponder",
    "ContextLimits",
    "HostedAgent",
    "InboundMessage",
    "LiveMessage",
    "LoopOptions",
    "MessageBus",
    "OpenAIOptions",
    "OpenAIResponder",
    "OutboundMessage",
    "Posts",
    "Prompt",
    "Publish",
    "Recalled",
    "Responder",
    "Runner",
    "ScriptLine",
    "ScriptedResponder",
    "SentMessage",
    "StreamingChannel",
    "build_messages",
]
