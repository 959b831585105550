"""What the MCP servers and the hub offer, and the lists of it in the documents and in what clients are told."""

import re
from collections.abc import Iterator, Mapping

import pytest
from support.listed import LANGUAGES, ROOT, differing, first_column, page, spans, table

from nanobot_transcript.cli.commands.mcp_config.clients import CLIENTS
from nanobot_transcript.settings import load_settings
from transcript_mcp.hub.metrics import Metrics
from transcript_mcp.rooms import ROOMS, open_rooms
from transcript_mcp.sdk import Server

SERVERS: tuple[str, ...] = tuple(ROOMS)
PAGES = {name: name for name in SERVERS} | {"transcript": "transcript-server"}
"""On which page the tools of a server stand."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Server]]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.chdir(home)
        rooms = open_rooms(load_settings(), SERVERS)
    yield {name: room.server for name, room in rooms.items()}
    for room in rooms.values():
        room.server.close()


def test_every_server_is_built_and_described(servers: Mapping[str, Server]) -> None:
    places = {f"docs/{language}/mcp.md": first_column(page(language, "mcp"), "transcript") for language in LANGUAGES}
    assert differing({"the rooms of the hub": servers, "ROOMS": SERVERS, **places}) == {}


def test_every_server_has_its_address_in_the_documents() -> None:
    for language in LANGUAGES:
        shown = {name for row in table(page(language, "mcp"), "/mcp") for name in spans(row[0])}
        addresses = {each for each in shown if each.startswith("/mcp/")}
        assert differing({f"docs/{language}/mcp.md": addresses, "ROOMS": {f"/mcp/{name}" for name in SERVERS}}) == {}


def test_every_tool_stands_in_the_table_of_its_page(servers: Mapping[str, Server]) -> None:
    for language in LANGUAGES:
        for name, server in servers.items():
            shown = first_column(page(language, PAGES[name]), next(iter(server.tools)))
            assert differing({f"docs/{language}/{PAGES[name]}.md": shown, f"the server {name}": server.tools}) == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_parameter_of_a_tool_stands_in_its_row(servers: Mapping[str, Server], language: str) -> None:
    wrong: dict[str, object] = {}
    for name, server in servers.items():
        rows = table(page(language, PAGES[name]), next(iter(server.tools)))
        for tool, shown in ((tool, set(named)) for row in rows for tool, named in _parameters(row)):
            others = shown & server.tools.keys()  # "and those of `send_message`"
            taken = set().union(*(_properties(server, other) for other in others))
            real = _properties(server, tool)
            if (shown - others) - real or real - shown - taken:
                wrong[f"{name}: {tool}"] = {"not in the code": shown - others - real, "not shown": real - shown - taken}
    assert wrong == {}


def _parameters(row: list[str]) -> Iterator[tuple[str, list[str]]]:
    """A tool may share its row; the cell of the parameters is the one that holds nothing but names and commas."""
    column = max(row[1:], key=lambda cell: len(spans(cell)))
    yield from ((tool, spans(column)) for tool in spans(row[0]))


def _properties(server: Server, tool: str) -> set[str]:
    return set(server.tools[tool].signature.schema["properties"])


def test_every_resource_stands_on_its_page(servers: Mapping[str, Server]) -> None:
    for language in LANGUAGES:
        for name, server in servers.items():
            offered = {uri.replace("{+", "{") for uri in [*server.templates, *server.resources]}
            shown = set(re.findall(r"`([a-z]+://[^`]*\{[^`]*)`", page(language, PAGES[name])))
            whole = shown - {uri.partition("{?")[0] for uri in offered if "{?" in uri}  # shortened in a sentence
            places = {f"docs/{language}/{PAGES[name]}.md": whole, f"the server {name}": offered}
            assert not (whole or offered) or differing(places) == {}


READ_ONLY_IS_SAFE = ("transcript", "mail")
"""Of the others a client is let into what their seed names, and no further."""


def test_what_clients_may_call_unasked_are_tools_that_there_are(servers: Mapping[str, Server]) -> None:
    gone = {name: set(room.safe) - servers[name].tools.keys() for name, room in ROOMS.items()}
    assert {name: tools for name, tools in gone.items() if tools} == {}


def test_what_only_reads_groups_and_mail_may_be_called_unasked_and_nothing_else(
    servers: Mapping[str, Server],
) -> None:
    for name in READ_ONLY_IS_SAFE:
        reading = {tool.name for tool in servers[name].tools.values() if tool.hints["readOnlyHint"]}
        assert differing({f"ROOMS[{name!r}].safe": ROOMS[name].safe, f"the reading tools of {name}": reading}) == {}


def test_servers_that_a_client_does_not_start_itself_have_a_name_of_their_own_there() -> None:
    assert [room.name for room in ROOMS.values() if (room.stdio == "here") == bool(room.entry)] == []


def test_every_client_stands_in_the_documents_and_the_readmes_name_real_ones() -> None:
    places = {f"docs/{language}/mcp.md": first_column(page(language, "mcp"), "cursor") for language in LANGUAGES}
    assert differing({"CLIENTS": CLIENTS, **places}) == {}
    for name in ("README.md", "README.zh-CN.md"):
        (offered,) = re.findall(r"mcp-config claude-code --servers assistant --write --rules +#(.*)", _text(name))
        shown = {"claude-code", *re.findall(r"[a-z][a-z-]+", offered.replace(" or ", " "))}
        assert shown <= CLIENTS.keys()


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_number_of_the_hub_is_documented_with_its_labels() -> None:
    real = set(_numbers())
    for language in LANGUAGES:
        shown = {
            number
            for names, labels, _ in table(page(language, "mcp"), "hub_open_requests")
            for number in zip(spans(names), map(_label_names, re.split("[;；]", labels)), strict=True)
        }
        assert differing({f"docs/{language}/mcp.md": shown, "the hub": real}) == {}


def _numbers() -> Iterator[tuple[str, str]]:
    """Each number's name and labels, as they are told after one request with one call and one reading."""
    metrics = Metrics({})
    metrics.began()
    metrics.ended("/mcp", "POST", 200, 0.1)
    metrics.worked("tool", None, "ok", 0.1)
    metrics.worked("resource", None, "ok", 0.1)
    for metric in metrics.registry.collect():
        sample = metric.samples[0]
        name = sample.name.removesuffix("_bucket").removeprefix("nanobot_transcript_")
        yield name, ", ".join(sorted(sample.labels.keys() - {"le"}))


def _label_names(cell: str) -> str:
    return ", ".join(sorted(spans(cell)))
