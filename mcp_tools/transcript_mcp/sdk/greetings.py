"""Answers a client's ``initialize`` over stdin without the SDK, whose import takes more than half of the start.

The answer is that of SDK 1.x; a test compares the two. Anything unusual in the request is left to the SDK.
"""

from typing import Any, Final

from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.dispatch import Dispatch

__all__ = ["greeting"]

_PROTOCOLS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that every supported SDK 1.x knows."""

_ABILITIES: Final = {"roots", "sampling", "elicitation", "tasks", "experimental"}
_OFFERED: Final[dict[str, tuple[str, Wire]]] = {
    "logging": ("logging/setLevel", {}),
    "prompts": ("prompts/list", {"listChanged": True}),
    "resources": ("resources/list", {"subscribe": True, "listChanged": True}),
    "tools": ("tools/list", {"listChanged": True}),
    "completions": ("completion/complete", {}),
}


def greeting(message: Wire, dispatch: Dispatch) -> Wire | None:
    """The answer to a client's ``initialize``, None when the SDK has to answer."""
    if message.keys() != {"jsonrpc", "id", "method", "params"} or not _is_usual(message):
        return None
    server, methods = dispatch.server, dispatch.methods
    result: Wire = {
        "protocolVersion": message["params"]["protocolVersion"],
        "capabilities": {"experimental": {}}
        | {name: how for name, (method, how) in _OFFERED.items() if method in methods},
        "serverInfo": {"name": server.name, "version": server.version},
    }
    if server.instructions is not None:
        result["instructions"] = server.instructions
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _is_usual(message: Wire) -> bool:
    params: Any = message["params"]
    return (
        message["jsonrpc"] == "2.0"
        and type(message["id"]) in (int, str)
        and isinstance(params, dict)
        and params.keys() == {"protocolVersion", "capabilities", "clientInfo"}
        and params["protocolVersion"] in _PROTOCOLS
        and isinstance(params["capabilities"], dict)
        and params["capabilities"].keys() <= _ABILITIES
        and all(_is_plain(how) for how in params["capabilities"].values())
        and _is_text(params["clientInfo"])
    )


def _is_plain(how: Any, deepest: int = 4) -> bool:
    """True for a capability that only consists of named parts and ``listChanged`` flags."""
    if not isinstance(how, dict) or not deepest:
        return False
    return all(
        type(value) is bool if name == "listChanged" else _is_plain(value, deepest - 1) for name, value in how.items()
    )


def _is_text(about: Any) -> bool:
    return (
        isinstance(about, dict)
        and {"name", "version"} <= about.keys()
        and all(isinstance(value, str) for value in about.values())
    )
