"""Who watches a server hears what became of each piece of work."""

import asyncio

import pytest

from nanobot_transcript.errors import ConfigError
from transcript_mcp.sdk import Server
from transcript_mcp.sdk.dispatch import ProtocolError
from transcript_mcp.sdk.testing import InMemoryClient

Heard = list[tuple[str, str | None, str]]


@pytest.fixture
def heard() -> Heard:
    """(kind, name, outcome) of all work so far."""
    return []


@pytest.fixture
def client(heard: Heard) -> InMemoryClient:
    """Of a server that does well, refuses, breaks, and does not come to an end."""
    server = Server("watched", version="1")

    def fine() -> str:
        """Does well."""
        return "fine"

    def refuse() -> str:
        """Says what to do otherwise."""
        raise ConfigError("Not so.", hint="But so.")

    def broken() -> str:
        """Breaks."""
        raise ZeroDivisionError

    async def endless() -> str:
        """Does not come to an end."""
        return await asyncio.get_running_loop().create_future()

    for function in (fine, refuse, broken, endless):
        server.tool(function)
        server.resource(f"a://{function.__name__}", function)

    def note(kind: str, name: str | None, outcome: str, seconds: float) -> None:
        assert 0 <= seconds < 60
        heard.append((kind, name, outcome))

    return InMemoryClient(server, watch=note)


@pytest.mark.parametrize(("name", "outcome"), [("fine", "ok"), ("refuse", "refused"), ("broken", "failed")])
async def test_calls_and_readings_end_well_are_refused_or_fail(
    client: InMemoryClient, heard: Heard, name: str, outcome: str
) -> None:
    await client.request("tools/call", name=name)
    try:
        await client.request("resources/read", uri=f"a://{name}")
    except ProtocolError:
        assert outcome != "ok"
    assert heard == [("tool", name, outcome), ("resource", f"a://{name}", outcome)]


async def test_what_is_not_there_has_no_name(client: InMemoryClient, heard: Heard) -> None:
    for method, params in (("tools/call", {"name": "made_up"}), ("resources/read", {"uri": "made://up"})):
        with pytest.raises(ProtocolError):
            await client.request(method, **params)
    assert heard == [("tool", None, "refused"), ("resource", None, "refused")]


async def test_what_is_cancelled_stays_unfinished(client: InMemoryClient, heard: Heard) -> None:
    for method, params in (("tools/call", {"name": "endless"}), ("resources/read", {"uri": "a://endless"})):
        asking = asyncio.create_task(client.request(method, **params))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert heard == [("tool", "endless", "unfinished"), ("resource", "a://endless", "unfinished")]
