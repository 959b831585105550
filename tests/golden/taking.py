"""Takes the snapshots: what users and programs rely on, as plain text with one thing a line.

Words that explain (help, descriptions, docstrings) are left out: they may get better at any time.
"""

import asyncio
import enum
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import aiohttp
import typer
from aiohttp import web
from golden.names import names_text
from support.hubs import listening

from nanobot_transcript import errors
from nanobot_transcript.cli.app import app
from nanobot_transcript.cli.terminal.exit_codes import UsageError, exit_code
from nanobot_transcript.settings import Settings, describe
from transcript_mcp.hub import create_app
from transcript_mcp.room import OpenRoom
from transcript_mcp.rooms import ROOMS
from transcript_mcp.sdk import Server

__all__ = ["SERVERS", "take"]

SERVERS: Final = tuple(ROOMS)
_EXPLAINING: Final = frozenset({"description", "title", "default"})


def take(folder: Path) -> dict[str, str]:
    """All snapshots by name. A hub that they need keeps its data in ``folder``."""
    return {
        "commands": _text(_commands(typer.main.get_command(app), "nanobot-transcript")),
        "settings": _text(_settings()),
        "names": names_text(),
        **asyncio.run(_of_a_hub(folder)),
    }


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


# -- commands and settings


def _commands(command: Any, path: str) -> Iterator[str]:
    yield path
    for param in command.params:
        yield f"  {_param(param)}"
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(below, f"{path} {name}")


def _param(param: Any) -> str:
    names = " ".join([*param.opts, *param.secondary_opts])
    kind = "flag" if getattr(param, "is_flag", False) else _value(param.type_descriptor.annotation)
    bounds = "".join(f", {name} {getattr(param, name)}" for name in ("min", "max") if getattr(param, name) is not None)
    many = ", repeatable" if param.multiple or param.nargs != 1 else ""
    required = ", required" if param.required else f" = {_plain(param.default)}"
    return f"{param.param_type_name} {names}: {kind}{bounds}{many}{required}"


def _value(annotation: Any) -> str:
    """What may be given: the values to choose from, or their kind."""
    if inspect.isclass(annotation) and issubclass(annotation, enum.Enum):
        return " | ".join(str(each.value) for each in annotation)
    return " | ".join(getattr(each, "__name__", str(each)) for each in get_args(annotation) or (annotation,))


def _settings() -> Iterator[str]:
    for item in describe():
        if not item.section:
            yield f"{item.key}: {item.kind.en}{', required' if item.required else f' = {_plain(item.default)}'}"


def _plain(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)


# -- what a hub answers


async def _of_a_hub(folder: Path) -> dict[str, str]:
    settings = Settings.model_validate(
        {
            "store": {"dir": folder / "transcripts"},
            "mail": {"store": folder / "mail", "archive": {"enabled": False}},
            "filebox": {"config": folder / "filebox.json"},
            "hub": {"data_dir": folder / "hub"},
        }
    )
    (folder / "dev_agent").mkdir()
    (folder / "filebox.json").write_text(_plain({"agents": {"dev_agent": folder / "dev_agent"}}), encoding="utf-8")
    hub = create_app(settings)
    routes = _text(_routes(hub))
    async with listening(hub) as url, aiohttp.ClientSession(url) as http:
        servers = {f"server-{name}": _text(await _server(http, name)) for name in SERVERS}
        metrics = _text(await _metrics(http))
    return {"routes": routes, "metrics": metrics, "errors": _text(await _errors(settings)), **servers}


def _routes(hub: web.Application) -> Iterator[str]:
    methods: dict[str, set[str]] = {}
    for route in hub.router.routes():
        assert route.resource is not None
        methods.setdefault(_path(route.resource), set()).add(route.method)
    for path, allowed in sorted(methods.items()):
        yield f"{path}: {' '.join(sorted(allowed))}"


def _path(resource: web.AbstractResource) -> str:
    """``/agent/{session_id}``; a part that takes only some words shows its pattern."""
    pattern = resource.get_info().get("pattern")
    if pattern is None:
        return resource.canonical
    return re.sub(r"\(\?P<(\w+)>\[\^\{\}/\]\+\)", r"{\1}", pattern.pattern).replace("\\", "")


async def _ask(http: aiohttp.ClientSession, server: str, method: str, **params: Any) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with http.post(f"/mcp/{server}", json=call) as answer:
        return (await answer.json()).get("result", {})


async def _server(http: aiohttp.ClientSession, name: str) -> Iterator[str]:
    async def offered(kind: str, key: str) -> list[dict[str, Any]]:
        return (await _ask(http, name, f"{kind}/list")).get(key, [])

    tools = await offered("tools", "tools")
    prompts = await offered("prompts", "prompts")
    resources = await offered("resources", "resources")
    templates = await offered("resources/templates", "resourceTemplates")
    return _offering(tools, prompts, resources, templates)


def _offering(tools: Any, prompts: Any, resources: Any, templates: Any) -> Iterator[str]:
    for tool in tools:
        hints = [name for name, holds in sorted(tool["annotations"].items()) if holds is True]
        yield f"tool {tool['name']}: {' '.join(hints)}".rstrip(": ")
        yield from _parameters(tool["inputSchema"])
        if "outputSchema" in tool:
            yield f"  -> {_schema(tool['outputSchema'])}"
    for prompt in prompts:
        yield f"prompt {prompt['name']}"
        for argument in prompt.get("arguments") or ():
            yield f"  {argument['name']}{', required' if argument.get('required') else ''}"
    for resource in resources:
        yield f"resource {resource['uri']}: {resource['mimeType']}"
    for template in templates:
        yield f"template {template['uriTemplate']}: {template['mimeType']}"


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, about in schema["properties"].items():
        required = ", required" if name in schema.get("required", ()) else f" = {_plain(about.get('default'))}"
        yield f"  {name}: {_schema(about)}{required}"
    rest = {key: value for key, value in schema.items() if key not in ("properties", "required", "type", "title")}
    if rest:
        yield f"  {_schema(rest)}"


def _schema(schema: Any) -> str:
    return _plain(_bare(schema))


def _bare(schema: Any) -> Any:
    """A schema without its words. What stands below ``properties`` are names, not keys of a schema."""
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _bare(each) for name, each in value.items()} if key in ("properties", "$defs") else _bare(value)
        for key, value in schema.items()
        if key not in _EXPLAINING
    }


async def _metrics(http: aiohttp.ClientSession) -> Iterator[str]:
    """Names, types and labels, once each number has been counted."""
    await _ask(http, "transcript", "tools/call", name="transcript_chats", arguments={})
    await _ask(http, "mail", "resources/read", uri="resource://projects")
    async with http.get("/metrics") as answer:
        text = await answer.text()
    return iter(sorted(_numbers(text)))


def _numbers(text: str) -> set[str]:
    from prometheus_client.parser import text_string_to_metric_families

    return {
        f"{sample.name} ({family.type}): {' '.join(sorted(sample.labels))}".rstrip(": ")
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")  # the library's own, and its environment switches them off
    }


# -- errors


async def _errors(settings: Settings) -> Iterator[str]:
    """Class, code, bases, the exit code of a command and the status of an HTTP answer."""
    kinds = [getattr(errors, name) for name in sorted(errors.__all__)]
    fail = _failing({kind.code: kind for kind in kinds})
    hub = create_app(settings, {"errors": OpenRoom(Server("errors", version="1"), lambda: [web.get("/{code}", fail)])})
    async with listening(hub) as url, aiohttp.ClientSession(url) as http:
        lines = [f"{_error(kind)}, http {await _status(http, kind.code)}" for kind in kinds]
    return iter([*lines, _error(UsageError)])


def _failing(kinds: Mapping[str, type[errors.TranscriptError]]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def fail(request: web.Request) -> web.Response:
        raise kinds[request.match_info["code"]]("Told.")

    return fail


async def _status(http: aiohttp.ClientSession, code: str) -> int:
    async with http.get(f"/{code}") as answer:
        assert (await answer.json())["error"]["code"] == code
        return answer.status


def _error(kind: type[errors.TranscriptError]) -> str:
    bases = " ".join(base.__name__ for base in kind.__bases__)
    return f"{kind.__name__}({bases}): {kind.code}, exit {exit_code(kind('Told.'))}"
