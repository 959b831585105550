"""Finds the agent that acts in a call, and the agent it writes to."""

from nanobot_transcript.errors import NoAgentError, RunAsRefusedError, UnknownAgentError
from transcript_mcp.filebox.agent_folders import AgentFolder
from transcript_mcp.filebox.config import BoxAgents
from transcript_mcp.filebox.options import FileBoxOptions

__all__ = ["acting", "receiver"]


def acting(roster: BoxAgents, options: FileBoxOptions, run_as: str = "", identity: str = "") -> AgentFolder:
    """The agent that acts: ``run_as``, else the caller's ``identity``, else the agent of the working directory.

    Raises UnknownAgentError, RunAsRefusedError, NoAgentError (each lists the agents) and ConfigError.
    """
    own = identity or roster.current
    if run_as and run_as != own:
        if run_as not in roster.agents:
            raise UnknownAgentError(
                f"Invalid runAs agent '{run_as}'. Available agents: {roster.names}.",
                hint=f"Use one of these, or add it to agents in {roster.file}.",
            )
        _refuse_forbidden(run_as, own, options)
    name = run_as or own
    if not name:
        raise NoAgentError(
            f"{roster.reason} Available agents: {roster.names}.",
            hint=roster.advice,
        )
    if name not in roster.agents:
        raise UnknownAgentError(
            f"This process is agent '{name}', which is not among agents in {roster.file}. "
            f"Available agents: {roster.names}.",
            hint="Correct filebox.agent or filebox.tokens, or add the agent to the file.",
        )
    return roster.agents[name].usable()


def receiver(roster: BoxAgents, name: str) -> AgentFolder:
    """The agent to write to. Raises UnknownAgentError, which lists the agents, and ConfigError."""
    if not isinstance(name, str) or name not in roster.agents:
        raise UnknownAgentError(
            f"Receiver agent '{name}' not found. Available agents: {roster.names}.",
            hint=f"Use one of these, or add it to agents in {roster.file}.",
        )
    return roster.agents[name].usable()


def _refuse_forbidden(run_as: str, own: str, options: FileBoxOptions) -> None:
    if options.run_as == "any" or (options.run_as == "listed" and run_as in options.may_run_as):
        return
    allowed = ", ".join(options.may_run_as) if options.run_as == "listed" and options.may_run_as else "nobody else"
    raise RunAsRefusedError(
        f"runAs may not name '{run_as}': this process is {own or 'no agent'}, and it may act for {allowed}.",
        hint="Leave runAs out, or change filebox.run_as and filebox.may_run_as.",
    )
