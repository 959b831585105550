"""A server: tools, prompts and resources registered as plain functions. Knows neither the SDK nor transports.

    server = Server("transcript", version="1.0", instructions="Reads what a group said.")

    @server.tool
    def recent(chat: Annotated[str, Field(description="The chat.")]) -> str:
        \"""The newest messages of a chat.\"""

The name comes from the function, the description from its docstring. Registering without a description raises
ValueError, because the description is all that a client's model sees.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from transcript_mcp.sdk.client_subscriptions import Hook, Updates
from transcript_mcp.sdk.context import Context
from transcript_mcp.sdk.signature import Signature, output_schema
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
    """What one server offers. Serve it with ``serve_stdio`` or ``http_app``, on as many transports as you like.

    ``instructions`` tell the client's model what the server is for and how to use its parts together.
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
        self.updates = Updates(self.subscribe_hooks, self.unsubscribe_hooks, lambda uri: self.find(uri) is not None)

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
        """Call the hook when a URI gets its first subscriber, so that the server can start to watch it."""
        self.subscribe_hooks.append(hook)
        return hook

    def on_unsubscribe(self, hook: Hook) -> Hook:
        """Call the hook when a URI has lost its last subscriber, even by a disconnect."""
        self.unsubscribe_hooks.append(hook)
        return hook

    def on_close(self, hook: Callable[[], None]) -> None:
        """Call the hook when the server is closed; it may take a while."""
        self.close_hooks.append(hook)

    def close(self) -> None:
        """Run the ``on_close`` hooks; whoever serves the server calls this after it has stopped."""
        for hook in self.close_hooks:
            hook()

    # -- news for clients ----------------------------------------------------------------------------

    def updated(self, uri: str) -> None:
        """Tell the subscribers of this URI that it changed. Returns at once; may be called from any thread.

        A URI without a query means all its forms: ``transcript://oc_1`` also reaches subscribers of
        ``transcript://oc_1?limit=5``. Updates that a client has not received yet are merged into one.
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
    """One server that offers everything of several. Raises ValueError when two of them use the same name.

    The parts stay alive: their updates reach the merged server's clients, and their hooks are called.
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
