"""A server: what it offers, registered with plain functions. Knows nothing of the SDK and of transports.

    server = Server("transcript", version="1.0", instructions="Reads what a group said.")

    @server.tool
    def recent(chat: Annotated[str, Field(description="The chat.")]) -> str:
        \"""The newest messages of a chat.\"""

A name comes from the function, a description from its docstring. Whatever lacks a description is refused with
ValueError, because a client's model has nothing else to go by.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from transcript_mcp.sdk.context import Context
from transcript_mcp.sdk.signature import Signature, output_schema
from transcript_mcp.sdk.updates import Updates
from transcript_mcp.sdk.uritemplate import UriTemplate, canonical

__all__ = [
    "Completion",
    "RegisteredPrompt",
    "RegisteredResource",
    "RegisteredTemplate",
    "RegisteredTool",
    "Server",
    "merged",
]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

Hook = Callable[[str], Any]
"""Called with a URI on the event loop; may be a coroutine function."""


@dataclass(frozen=True)
class RegisteredTool:
    """A registered tool."""

    name: str
    description: str
    function: Callable[..., Any]
    signature: Signature
    title: str | None = None
    hints: Mapping[str, bool] = field(default_factory=dict)
    structured: bool = False

    @cached_property
    def output(self) -> tuple[dict[str, Any], bool] | None:
        """The schema of the result and whether it is wrapped; None unless structured."""
        return output_schema(self.signature.returns) if self.structured else None


@dataclass(frozen=True)
class RegisteredPrompt:
    """A registered prompt."""

    name: str
    description: str
    function: Callable[..., Any]
    signature: Signature
    title: str | None = None


@dataclass(frozen=True)
class RegisteredResource:
    """A registered resource with a fixed URI."""

    uri: str
    name: str
    description: str
    function: Callable[..., Any]
    signature: Signature
    title: str | None = None
    mime_type: str = "text/plain"


@dataclass(frozen=True)
class RegisteredTemplate:
    """A registered family of resources."""

    uri: UriTemplate
    name: str
    description: str
    function: Callable[..., Any]
    signature: Signature
    title: str | None = None
    mime_type: str = "text/plain"
    admits: Callable[[Context, dict[str, str]], None] | None = None


@dataclass(frozen=True)
class Completion:
    """Suggests values for one argument of a prompt (by name) or of a template (by its text)."""

    target: str
    argument: str
    function: Callable[..., Any]


class Server:
    """Collects what is offered. Serve it with ``serve_stdio`` or ``http_app``, on as many transports as you like.

    ``instructions`` tell the client's model what the server is for and how its parts go together.
    """

    def __init__(self, name: str, *, version: str, title: str | None = None, instructions: str | None = None) -> None:
        self.name = name
        self.version = version
        self.title = title
        self.instructions = instructions
        self.tools: dict[str, RegisteredTool] = {}
        self.prompts: dict[str, RegisteredPrompt] = {}
        self.resources: dict[str, RegisteredResource] = {}
        self.templates: dict[str, RegisteredTemplate] = {}
        self.completions: dict[tuple[str, str], Completion] = {}
        self.subscribe_hooks: list[Hook] = []
        self.unsubscribe_hooks: list[Hook] = []
        self.close_hooks: list[Callable[[], None]] = []
        self.updates = Updates(self)

    # -- registration --------------------------------------------------------------------------------

    def tool(
        self,
        function: _Function,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        read_only: bool = False,
        destructive: bool = False,
        idempotent: bool = False,
        open_world: bool = False,
        structured: bool = False,
    ) -> _Function:
        """Offer a function as a tool. The flags are hints for clients that ask their person before they call.

        ``structured`` adds a schema of the result, made from the return annotation, and the result as data beside the
        text. Sending both costs time and tokens, so leave it off where the text is what counts.
        """
        name, description = _introduced(function, name, self.tools)
        hints = {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        }
        self.tools[name] = RegisteredTool(name, description, function, Signature(function), title, hints, structured)
        return function

    def prompt(self, function: _Function, /, *, name: str | None = None, title: str | None = None) -> _Function:
        """Offer a function as a prompt; it returns text, a ``Message``, or a list of them."""
        name, description = _introduced(function, name, self.prompts)
        self.prompts[name] = RegisteredPrompt(name, description, function, Signature(function), title)
        return function

    def resource(
        self,
        uri: str,
        function: _Function,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        mime_type: str = "text/plain",
    ) -> _Function:
        """Offer what a function returns (text, bytes, an ``Embedded``, or data for JSON) under a fixed URI."""
        name, description = _introduced(function, name, ())
        signature = Signature(function)
        if signature.wire_names:
            raise ValueError(f"{uri} is one resource, so {name} cannot take {', '.join(signature.wire_names)}")
        key = canonical(uri)
        if key in self.resources:
            raise ValueError(f"{uri} is offered already")
        self.resources[key] = RegisteredResource(uri, name, description, function, signature, title, mime_type)
        return function

    def template(
        self,
        uri: str,
        function: _Function,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        mime_type: str = "text/plain",
        admits: Callable[[Context, dict[str, str]], None] | None = None,
    ) -> _Function:
        """Offer a family of resources, such as ``resource://inbox/{agent}{?project,limit}``; see ``uritemplate``.

        ``admits(context, values)`` runs in a thread before a client is subscribed, and refuses it by raising.
        """
        name, description = _introduced(function, name, ())
        signature, template = Signature(function), UriTemplate.parse(uri)
        if set(signature.wire_names) != set(template.names):
            raise ValueError(f"{uri} has {template.names}, but {name} takes {signature.wire_names}")
        if uri in self.templates:
            raise ValueError(f"{uri} is offered already")
        self.templates[uri] = RegisteredTemplate(
            template, name, description, function, signature, title, mime_type, admits
        )
        return function

    def completion(self, target: str, argument: str, function: Callable[..., Any], /) -> None:
        """Suggest values: ``function(begun, others)`` with what was typed and the arguments given so far (a dict)."""
        if target not in self.prompts and target not in self.templates:
            raise ValueError(f"there is no prompt or template {target!r}")
        self.completions[target, argument] = Completion(target, argument, function)

    def on_subscribe(self, hook: Hook) -> Hook:
        """Call the hook when a URI gets its first subscriber, for a server that has to start watching something."""
        self.subscribe_hooks.append(hook)
        return hook

    def on_unsubscribe(self, hook: Hook) -> Hook:
        """Call the hook when a URI has lost its last subscriber, also by the client's going away."""
        self.unsubscribe_hooks.append(hook)
        return hook

    def on_close(self, hook: Callable[[], None]) -> None:
        """Call the hook when nobody serves this server any more; it may take a while."""
        self.close_hooks.append(hook)

    def close(self) -> None:
        """End what belongs to the server; whoever serves it calls this when it has stopped."""
        for hook in self.close_hooks:
            hook()

    # -- news for clients ----------------------------------------------------------------------------

    def updated(self, uri: str) -> None:
        """Tell whoever subscribed to this URI that it changed. Returns at once; may be called from any thread.

        A URI without a query stands for all its forms: ``transcript://oc_1`` also reaches who subscribed to
        ``transcript://oc_1?limit=5``. Several updates before a client took notice are told once.
        """
        self.updates.publish(uri)

    def lists_changed(self) -> None:
        """Tell all clients that tools, prompts or resources were added or removed. Any thread."""
        self.updates.publish_lists()

    def find(self, uri: str) -> tuple[RegisteredResource | RegisteredTemplate, dict[str, str]] | None:
        """The resource or the first template that a URI belongs to, with the template's raw values."""
        resource = self.resources.get(canonical(uri))
        if resource is not None:
            return resource, {}
        for template in self.templates.values():
            values = template.uri.match(uri)
            if values is not None:
                return template, values
        return None


def merged(servers: Iterable[Server], *, name: str, version: str | None = None, title: str | None = None) -> Server:
    """One server that offers all that several do. Raises ValueError when two of them use the same name.

    The parts stay alive: what they publish reaches the merged server's clients, and their hooks are called.
    """
    parts = list(servers)
    instructions = "\n\n".join(part.instructions for part in parts if part.instructions) or None
    whole = Server(name, version=version or parts[0].version, title=title, instructions=instructions)
    for part in parts:
        for kind in ("tools", "prompts", "resources", "templates", "completions"):
            _take(getattr(whole, kind), getattr(part, kind), part.name)
        whole.updates.include(part.updates)
        whole.close_hooks += part.close_hooks
    return whole


def _take(into: dict[Any, Any], offered: Mapping[Any, Any], source: str) -> None:
    twice = into.keys() & offered.keys()
    if twice:
        raise ValueError(f"{source} offers {', '.join(map(str, sorted(twice)))}, and so does another server")
    into.update(offered)


def _introduced(function: Callable[..., Any], name: str | None, taken: Iterable[str]) -> tuple[str, str]:
    name = name or str(getattr(function, "__name__", ""))
    description = inspect.getdoc(function) or ""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name: letters, digits, '_', '-' and '.', 64 at most")
    if not description:
        raise ValueError(f"{name} has no docstring, which clients see as its description")
    if name in taken:
        raise ValueError(f"{name} is offered already")
    return name, description
