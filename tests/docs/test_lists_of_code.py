"""Codes, abilities, fields and commands: the lists of them in the documents are those of the code."""

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import typer
from support.listed import LANGUAGES, ROOT, differing, first_column, page, spans, table

from nanobot_transcript import GroupTranscriptStore, errors
from nanobot_transcript.cli.app import app
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.conversation.policy import Mode
from nanobot_transcript.entry import Entry, EntryFields
from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.relevance.decision import STOPS, Reason, Stage
from nanobot_transcript.settings import describe
from transcript_channels.simulator.console import Console
from transcript_channels.simulator.simulator import FeishuSimulator
from transcript_mcp.filebox import hooks
from transcript_mcp.filebox.hooks import Happening

FILES = (".py", ".log")
_KEY = re.compile(r"([a-z_]+(?:\.[a-z_<>]+)+)(?:: [^`]*)?")


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path.strip(), command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


COMMANDS = tuple(commands(typer.main.get_command(app)))


def assert_listed(name: str, member: str, real: Iterable[object], what: str) -> None:
    """The first column of the table on page ``name`` that holds ``member`` is ``real``, in both languages."""
    shown = {f"docs/{language}/{name}.md": first_column(page(language, name), member) for language in LANGUAGES}
    assert differing({**shown, what: real}) == {}


def test_the_error_codes_of_the_documents_are_those_of_the_code() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, TranscriptError)]
    assert_listed("commands", "import_format", {kind.code for kind in [*kinds, UsageError]}, "errors.py")


def test_the_checks_of_the_doctor_in_the_documents_are_those_of_the_code() -> None:
    ours = ("cli/commands/doctor/*.py", "record/*.py", "record/postgres/database_check.py", "record/spool/backlog.py")
    places = (*(f"nanobot_transcript/{each}" for each in ours), "mcp_tools/*/filebox/doctor.py")
    sources = "".join(path.read_text("utf-8") for place in places for path in ROOT.glob(place))
    shown = first_column(page("en", "commands"), "file system")
    unnamed = {name for name in shown if f'"{name}"' in sources}  # some are made by a function that is told the name
    assert_listed("commands", "file system", unnamed | set(re.findall(r'Finding\(\s*"([a-z -]+)"', sources)), "doctor")


def test_the_stages_and_reasons_of_the_gate_in_the_documents_are_those_of_the_code() -> None:
    assert_listed("gate", "certain", set(Stage), "Stage")
    assert_listed("gate", "mentioned", set(Reason) - STOPS, "Reason")
    assert_listed("turns", "hop_limit", STOPS, "LOOP_RULES")


def test_the_modes_of_a_group_in_the_documents_are_those_of_the_settings() -> None:
    assert_listed("nanobot", "observe", get_args(Mode), "Mode")


def test_the_abilities_of_the_plugin_in_the_documents_are_those_of_the_code() -> None:
    source = (ROOT / "channels/transcript_channels/nanobot_host/seams.py").read_text(encoding="utf-8")
    assert_listed("nanobot", "inbound", re.findall(r'_Ability\(\s*"([a-z_]+)"', source), "seams.py")


def test_the_commands_of_the_simulator_in_the_documents_are_those_of_the_code() -> None:
    assert_listed("simulator", "push_again", [*Console(FeishuSimulator()).names, "quit"], "console.py")


def test_the_keys_of_an_entry_in_the_documents_are_those_of_the_code() -> None:
    written = Entry.__annotations__.keys() - {"edited"}  # readers say that of what was folded
    assert_listed("store", "role", written, "Entry")
    assert EntryFields.__annotations__.keys() - written == set()


def calls(language: str, name: str, member: str) -> set[str]:
    """The methods in the table of calls that has ``member`` in it."""
    cells = [row[1] for row in table(page(language, name), member, column=1)]
    return {span.removeprefix("await ").partition("(")[0] for cell in cells for span in spans(cell)}


def test_the_calls_of_the_store_in_the_documents_are_its_methods() -> None:
    real = {name for name in dir(GroupTranscriptStore) if not name.startswith("_")} | {"members"}
    shown = {f"docs/{language}/store.md": calls(language, "store", "chats()") | {"close"} for language in LANGUAGES}
    assert differing({**shown, "GroupTranscriptStore": real}) == {}


def test_the_calls_of_the_outbox_in_the_documents_exist() -> None:
    for language in LANGUAGES:
        shown = calls(language, "outbox", "close_answers(id)")
        assert shown
        assert shown - set(dir(Outbox)) == set()


def test_the_variables_of_agent_mail_in_the_documents_are_those_that_are_read() -> None:
    source = (ROOT / "nanobot_transcript/settings/environment.py").read_text("utf-8")
    read = re.findall(r'"([A-Z_]+)": "([a-z_.]+)"', source)
    for language in LANGUAGES:
        rows = table(page(language, "mail"), "MCP_MAIL_STORE")
        shown = [pair for row in rows for pair in zip(spans(row[0]), spans(row[1]), strict=True)]
        assert differing({f"docs/{language}/mail.md": shown, "environment.py": read}) == {}


def test_the_hooks_of_a_mailbox_in_the_documents_are_those_that_are_called() -> None:
    real = {"before_send", *get_args(Happening)}
    texts = {"CONTRIBUTING.md": (ROOT / "CONTRIBUTING.md").read_text("utf-8"), "hooks.py": hooks.__doc__ or ""}
    texts |= {f"docs/{language}/filebox.md": page(language, "filebox") for language in LANGUAGES}
    shown = {name: re.findall(r"`([a-z_]+)\((?:draft|event)\)`", text) for name, text in texts.items()}
    assert differing({**shown, "the calls": real}) == {}


def test_every_command_with_json_says_what_it_prints() -> None:
    commands = {path for path, command in COMMANDS if any("--json" in param.opts for param in command.params)}
    for language in LANGUAGES:
        shown = {name.partition(" --")[0] for name in first_column(page(language, "commands"), "tail")}
        assert differing({f"docs/{language}/commands.md": shown, "the commands": commands}) == {}


def test_settings_in_the_documents_exist() -> None:
    known = {item.key for item in describe()}
    sections = {key.partition(".")[0] for key in known}
    paths = [*(ROOT / "docs").glob("*/*.md"), *ROOT.glob("*.md")]
    assert len(paths) > 40
    for path in paths:
        prose = re.sub(r"^ *```.*?^ *```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        shown = {match[1] for span in spans(prose) if (match := _KEY.fullmatch(span))}
        unknown = {key for key in shown - known if key.partition(".")[0] in sections and not key.endswith(FILES)}
        assert unknown == set(), path
