"""Answers requests to a server: everything between an arriving ``tools/call`` and its result.

Works with plain values in the protocol's own spelling, so that answers are the same byte for byte on both generations
of the SDK. An expected error (a ``TranscriptError``, wrong arguments) becomes a result that the client's model can
read; ``ProtocolError`` is for requests that make no sense.
"""

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeAlias
from uuid import uuid4

from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.threads import in_thread, refused_exit
from transcript_mcp.sdk.calls import ClientRequest
from transcript_mcp.sdk.client_subscriptions import MOST_SUBSCRIPTIONS
from transcript_mcp.sdk.content import Embedded, Message, Result, Wire, blocks, json_text
from transcript_mcp.sdk.context import Context
from transcript_mcp.sdk.server import Completion, RegisteredResource, RegisteredTemplate, RegisteredTool, Server
from transcript_mcp.sdk.signature import ArgumentsError, Signature
from transcript_mcp.sdk.watch import Watch, watched

__all__ = ["NOT_FOUND", "PARSE_ERROR", "Answer", "Dispatch", "ProtocolError", "too_many_subscriptions"]

_log = logging.getLogger(__name__)

INVALID_PARAMS, INTERNAL_ERROR, NOT_FOUND = -32602, -32603, -32002
PARSE_ERROR: Final[Wire] = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
"""The answer to what is not a JSON-RPC message."""

_MOST_SUGGESTIONS = 100
_LONGEST_NAME = 128
"""Characters of a tool's name that an error repeats; the protocol allows no more."""


Answer: TypeAlias = Callable[[Any, ClientRequest], Awaitable[Wire]]
"""Takes the SDK's typed parameters, whose attributes have the same names in both generations; returns wire values."""


_Found: TypeAlias = tuple[RegisteredResource | RegisteredTemplate, dict[str, str]]


class ProtocolError(Exception):
    """A JSON-RPC error: the protocol's ``code``, ``str(error)`` for people, ``data`` for programs."""

    def __init__(self, code: int, message: str, data: Wire | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(eq=False)
class Dispatch:
    """One server's answers. Stateless: the state of a connection is in its ``Peer``."""

    server: Server
    watch: Watch | None = None

    @property
    def methods(self) -> dict[str, Answer]:
        """The protocol's methods that this server supports, depending on what it offers."""
        served: dict[str, Answer] = {"logging/setLevel": self._set_level}
        if self.server.tools:
            served |= {"tools/list": self._list_tools, "tools/call": self._call_tool}
        if self.server.prompts:
            served |= {"prompts/list": self._list_prompts, "prompts/get": self._get_prompt}
        if self.server.resources or self.server.templates:
            served |= {
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_templates,
                "resources/read": self._read_resource,
                "resources/subscribe": self._subscribe,
                "resources/unsubscribe": self._unsubscribe,
            }
        if self.server.completions:
            served["completion/complete"] = self._complete
        return {method: _guarded(method, answer) for method, answer in served.items()}

    # -- lists ---------------------------------------------------------------------------------------

    async def _list_tools(self, params: Any, call: ClientRequest) -> Wire:
        return {"tools": [_tool_wire(tool) for tool in self.server.tools.values()]}

    async def _list_prompts(self, params: Any, call: ClientRequest) -> Wire:
        return {
            "prompts": [
                _head(each.name, each.title, each.description) | {"arguments": each.signature.described()}
                for each in self.server.prompts.values()
            ]
        }

    async def _list_resources(self, params: Any, call: ClientRequest) -> Wire:
        return {
            "resources": [
                {"uri": each.uri} | _head(each.name, each.title, each.description) | {"mimeType": each.mime_type}
                for each in self.server.resources.values()
            ]
        }

    async def _list_templates(self, params: Any, call: ClientRequest) -> Wire:
        return {
            "resourceTemplates": [
                {"uriTemplate": each.uri.text}
                | _head(each.name, each.title, each.description)
                | {"mimeType": each.mime_type}
                for each in self.server.templates.values()
            ]
        }

    # -- work ----------------------------------------------------------------------------------------

    async def _call_tool(self, params: Any, call: ClientRequest) -> Wire:
        return await self.call_tool(params.name, params.arguments, call)

    async def admit(self, uri: str, context: Context) -> None:
        """Raise ProtocolError unless this client may subscribe to a URI."""
        offered, values = self.server.find(uri) or (None, {})
        if isinstance(offered, RegisteredTemplate):
            try:
                offered.signature.check_names(values)
                if offered.admits is not None:
                    await in_thread(offered.admits, context, values)
            except Exception as error:  # noqa: BLE001 - logged by _sentence
                code = INVALID_PARAMS if _is_expected(error) else INTERNAL_ERROR
                raise ProtocolError(code, _sentence(error, f"subscribing to {offered.name}")) from None

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None, context: Context) -> Wire:
        """The result of a tool. Raises ProtocolError for an unknown tool."""
        tool = self.server.tools.get(name)
        with watched(self.watch, "tool", tool and tool.name) as work:
            if tool is None:
                work.outcome = "refused"
                raise ProtocolError(INVALID_PARAMS, _no_such_tool(name, self.server.tools))
            try:
                wire = _result_wire(tool, await _run(tool.function, tool.signature, arguments, context))
            except Exception as error:  # noqa: BLE001 - logged by _sentence
                work.outcome = "refused" if _is_expected(error) else "failed"
                return {"content": blocks(_sentence(error, f"tool {name}")), "isError": True}
            work.outcome = "refused" if wire["isError"] else "ok"
            return wire

    async def _get_prompt(self, params: Any, call: ClientRequest) -> Wire:
        prompt = self.server.prompts.get(params.name)
        if prompt is None:
            known = ", ".join(self.server.prompts)
            raise ProtocolError(INVALID_PARAMS, f"Unknown prompt: {params.name}. There are: {known}")
        value = await _run_or_refuse(prompt.function, prompt.signature, params.arguments, call, f"prompt {prompt.name}")
        messages = value if isinstance(value, (list, tuple)) else [value]
        wires = [(each if isinstance(each, Message) else Message(each)).wire() for each in messages]
        return {"description": prompt.description, "messages": wires}

    async def _read_resource(self, params: Any, call: ClientRequest) -> Wire:
        uri = str(params.uri)
        found = self.server.find(uri)
        with watched(self.watch, "resource", _registered(found[0]) if found else None) as work:
            try:
                offered, values = self._require(uri, found)
                value = await _run_or_refuse(
                    offered.function, offered.signature, values, call, f"resource {offered.name}"
                )
                wire = {"contents": [each.contents() for each in _documents(value, uri, offered)]}
            except Exception as error:
                refused = isinstance(error, ProtocolError) and error.code != INTERNAL_ERROR
                work.outcome = "refused" if refused else "failed"
                raise
            work.outcome = "ok"
            return wire

    async def _subscribe(self, params: Any, call: ClientRequest) -> Wire:
        uri = str(params.uri)
        self._require(uri, self.server.find(uri))
        await self.admit(uri, call)
        if call.peer is not None:
            if not call.peer.has_room(uri):
                raise too_many_subscriptions()
            await call.peer.subscribe(uri)
        return {}

    async def _unsubscribe(self, params: Any, call: ClientRequest) -> Wire:
        if call.peer is not None:
            await call.peer.unsubscribe(str(params.uri))
        return {}

    async def _complete(self, params: Any, call: ClientRequest) -> Wire:
        target = getattr(params.ref, "name", None) or str(getattr(params.ref, "uri", ""))
        completion = self.server.completions.get((target, params.argument.name))
        others = params.context.arguments if params.context else None
        values = await _suggestions(completion, params.argument.value, dict(others or {})) if completion else []
        shown = values[:_MOST_SUGGESTIONS]
        return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}}

    async def _set_level(self, params: Any, call: ClientRequest) -> Wire:
        if call.peer is not None:
            call.peer.level = params.level
        return {}

    def _require(self, uri: str, found: _Found | None) -> _Found:
        if found is None:
            raise ProtocolError(NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})
        return found


def too_many_subscriptions() -> ProtocolError:
    """The error for a client with too many subscriptions."""
    return ProtocolError(
        INVALID_PARAMS,
        f"A connection may have at most {MOST_SUBSCRIPTIONS} subscriptions. Unsubscribe from something first.",
    )


def _guarded(method: str, answer: Answer) -> Answer:
    """Wraps ``answer``: unexpected errors are logged, and the client gets only a reference to the log."""

    async def guarded(params: Any, call: ClientRequest) -> Wire:
        try:
            return await answer(params, call)
        except ProtocolError:
            raise
        except Exception as error:  # noqa: BLE001 - logged by _sentence
            raise ProtocolError(INTERNAL_ERROR, _sentence(error, method)) from None

    return guarded


def _no_such_tool(name: str, tools: Iterable[str]) -> str:
    shown = name[:_LONGEST_NAME]
    near = get_close_matches(shown, tools, n=1)
    return f"Unknown tool: {shown}. " + (f"Did you mean {near[0]}?" if near else f"There are: {', '.join(tools)}")


# -- running a registered function ---------------------------------------------------------------------


async def _run(
    function: Callable[..., Any], signature: Signature, arguments: Mapping[str, Any] | None, context: Context
) -> Any:
    named = signature.parse(arguments)
    if signature.context_name is not None:
        named[signature.context_name] = context
    if not inspect.iscoroutinefunction(function):
        return await in_thread(function, **named)
    try:
        return await function(**named)
    except (SystemExit, KeyboardInterrupt) as error:
        raise refused_exit(error) from error


async def _run_or_refuse(
    function: Callable[..., Any],
    signature: Signature,
    arguments: Mapping[str, Any] | None,
    context: Context,
    what: str,
) -> Any:
    """For prompts and resources: their results, unlike a tool's, cannot carry an error."""
    try:
        return await _run(function, signature, arguments, context)
    except Exception as error:  # noqa: BLE001 - logged by _sentence
        raise ProtocolError(INVALID_PARAMS if _is_expected(error) else INTERNAL_ERROR, _sentence(error, what)) from None


def _is_expected(error: Exception) -> bool:
    """True for errors whose sentence is written for the client."""
    return isinstance(error, (ArgumentsError, TranscriptError))


def _sentence(error: Exception, what: str) -> str:
    """The text that the client gets. Unexpected errors are logged, and the text is a reference to the log."""
    if isinstance(error, ArgumentsError):
        return str(error)
    if isinstance(error, TranscriptError):
        return f"{error}\n{error.hint}" if error.hint else str(error)
    reference = uuid4().hex[:8]
    _log.error("%s failed (reference %s)", what, reference, exc_info=error)
    return f"Internal error. The server's log says more, under reference {reference}."


async def _suggestions(completion: Completion, begun: str, others: dict[str, str]) -> list[str]:
    if inspect.iscoroutinefunction(completion.function):
        return list(await completion.function(begun, others))
    return list(await in_thread(completion.function, begun, others))


# -- wire forms ----------------------------------------------------------------------------------------


def _head(name: str, title: str | None, description: str) -> Wire:
    return {"name": name, **({"title": title} if title else {}), "description": description}


def _tool_wire(tool: RegisteredTool) -> Wire:
    wire = _head(tool.name, tool.title, tool.description) | {"inputSchema": tool.signature.schema}
    if tool.output is not None:
        wire["outputSchema"] = tool.output[0]
    return wire | {"annotations": dict(tool.hints)}


def _result_wire(tool: RegisteredTool, value: Any) -> Wire:
    if isinstance(value, Result):
        return value.wire()
    if tool.output is None:
        return {"content": blocks(value), "isError": False}
    _, wrapped = tool.output
    text = json_text({"result": value} if wrapped else value)
    return {"content": blocks(text), "structuredContent": json.loads(text), "isError": False}


def _registered(offered: RegisteredResource | RegisteredTemplate) -> str:
    return offered.uri.text if isinstance(offered, RegisteredTemplate) else offered.uri


def _documents(value: Any, uri: str, offered: RegisteredResource | RegisteredTemplate) -> list[Embedded]:
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, Embedded) for each in value):
        return list(value)
    if isinstance(value, Embedded):
        return [value]
    data = value if isinstance(value, (str, bytes)) else json_text(value)
    return [Embedded(uri, data, offered.mime_type)]
