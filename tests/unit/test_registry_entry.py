"""``server.json``, by which the MCP registry and its clients know this package."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from nanobot_transcript import __version__
from nanobot_transcript.cli.app import app
from nanobot_transcript.cli.commands.mcp import server_names
from nanobot_transcript.settings import describe

ROOT = Path(__file__).resolve().parents[2]
TEXT = {"type": "string", "minLength": 1}
INPUT = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        **dict.fromkeys(("name", "value", "valueHint", "description", "default"), TEXT),
        "type": {"enum": ["positional", "named"]},
        "format": {"enum": ["string", "number", "boolean", "filepath"]},
        "isRequired": {"type": "boolean"},
        "isSecret": {"type": "boolean"},
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "maxLength": 200, "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": TEXT | {"maxLength": 100},
        "description": TEXT | {"maxLength": 100},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"const": "pypi"},
                    "identifier": TEXT,
                    "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
                    "runtimeHint": {"const": "uvx"},
                    "transport": {"const": {"type": "stdio"}},
                    "packageArguments": {
                        "type": "array",
                        "items": INPUT
                        | {"required": ["type"], "anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}]},
                    },
                    "environmentVariables": {"type": "array", "items": INPUT | {"required": ["name", "description"]}},
                },
            },
        },
    },
}
"""The published schema of that date, as far as this file makes use of it, and nothing beyond."""


@pytest.fixture
def entry() -> dict[str, Any]:
    return json.loads((ROOT / "server.json").read_text(encoding="utf-8"))


@pytest.fixture
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_has_the_shape_that_the_registry_asks_for(entry: dict[str, Any]) -> None:
    jsonschema.validate(entry, SCHEMA)


def test_it_speaks_of_the_package_that_is_built_here(entry: dict[str, Any], project: dict[str, Any]) -> None:
    (package,) = entry["packages"]
    assert package["identifier"] == entry["name"].partition("/")[2] == project["name"]
    assert entry["version"] == package["version"] == project["version"] == __version__


def test_the_readme_proves_that_package_and_entry_have_one_owner(
    entry: dict[str, Any], project: dict[str, Any]
) -> None:
    readme = (ROOT / project["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"<!-- mcp-name: (\S+) -->", readme) == [entry["name"]]


def test_what_clients_start_is_a_command_of_the_package(entry: dict[str, Any], project: dict[str, Any]) -> None:
    (package,) = entry["packages"]
    assert package["identifier"] in project["scripts"], "uvx starts the script that is called like the package"
    command, servers = package["packageArguments"]
    assert command["value"] in typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]
    assert server_names(servers["default"]) == ("transcript", "filebox")


def test_the_variables_are_settings(entry: dict[str, Any]) -> None:
    (package,) = entry["packages"]
    known = {"NANOBOT_TRANSCRIPT_" + item.key.upper().replace(".", "__") for item in describe()}
    assert {variable["name"] for variable in package["environmentVariables"]} <= known
