"""What other rooms build on, and what importing it must not cost."""

import json
import subprocess
import sys

import pytest
from support.waiting import PATIENCE

import transcript_mcp.sdk as sdk

pytestmark = pytest.mark.mcp

DOCUMENTED = {
    "CALLER",
    "Audio",
    "Content",
    "Context",
    "Elicited",
    "Embedded",
    "HttpApp",
    "Image",
    "Kind",
    "Link",
    "Message",
    "WorkOutcome",
    "Result",
    "Server",
    "Text",
    "Watch",
    "http_app",
    "merged",
    "serve_stdio",
}
HEAVY = ("mcp", "mcp_types", "starlette", "uvicorn", "aiohttp", "httpx", "nanobot", "lark_oapi", "pydantic_settings")


def test_the_public_names_are_those_written_down_here() -> None:
    assert set(sdk.__all__) == DOCUMENTED
    assert list(sdk.__all__) == sorted(sdk.__all__, key=lambda name: (not name.isupper(), name))
    assert [name for name in sdk.__all__ if not hasattr(sdk, name)] == []


def test_importing_imports_neither_the_sdk_nor_a_server_of_http() -> None:
    code = f"import json, sys; import transcript_mcp.sdk; print(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert json.loads(done.stdout) == []


def test_what_rooms_say_of_themselves_is_light() -> None:
    """Commands that must start quickly read it."""
    heavy = (*HEAVY, "pydantic", "msgspec", "sqlite3", "typer", "google")
    code = (
        f"import json, sys; import transcript_mcp.rooms; print(json.dumps([n for n in {heavy!r} if n in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("room", ["assistant", "filebox", "hub", "io_bridge", "mail", "transcript"])
def test_a_room_costs_nothing_before_something_of_it_is_used(room: str) -> None:
    ours = "[name for name in sys.modules if 'transcript' in name]"
    code = f"import json, sys; import transcript_mcp.{room}; print(json.dumps({ours}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE)
    assert set(json.loads(done.stdout)) <= {"transcript_mcp", f"transcript_mcp.{room}", "nanobot_transcript"}
