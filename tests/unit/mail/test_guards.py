"""Which guards stand where, and which of them have older rules."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.letterbox import Letterbox
from support.mail_desk import desk, told
from support.old_guard import first_version, install_first_version
from support.waiting import PATIENCE
from unit.mail.conftest import in_a_file

from nanobot_transcript.settings import Settings
from nanobot_transcript.settings.lazy_record import Opening
from transcript_mcp.mail.archive import doctor
from transcript_mcp.mail.claims import guard_file
from transcript_mcp.mail.claims.guard import GuardWay, install_guard
from transcript_mcp.mail.claims.guards import GuardPlace, forget, note, outdated
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.server import build_server, service_from
from transcript_mcp.mail.service import MailService, ServiceOptions
from transcript_mcp.mail.store import MailStore
from transcript_mcp.sdk.testing import InMemoryClient


@pytest.fixture
def store(box: Letterbox) -> MailStore:
    return box.mail.places


@pytest.fixture
def key(box: Letterbox, tmp_path: Path) -> str:
    """A project whose key is the folder of its code, and Owl in it."""
    folder = tmp_path / "代码 repo"
    folder.mkdir()
    box.new(str(folder), "Owl")
    return str(folder)


@pytest.fixture
def old(store: MailStore, key: str) -> Path:
    """A guard of the first version, noted by nobody."""
    return install_first_version(store, key, Path(key) / ".git" / "hooks")


def test_a_guard_with_older_rules_is_named_with_what_renews_it(store: MailStore, key: str, old: Path) -> None:
    [found] = outdated(store, [key])
    assert (found.hook, found.work_tree, found.project, found.rules) == (str(old), key, key, 1)
    assert found.problem == f"The guard {old} has rules of version 1; {guard_file.RULES} is the newest."
    assert found.command == f"cd '{key}' && nanobot-transcript mail guard install --project '{key}'"
    tool, _, arguments = found.call.partition(" ")
    assert (tool, json.loads(arguments)) == (
        "install_precommit_guard",
        {"project_key": key, "code_repo_path": key},
    )


@in_a_file
def test_a_guard_that_was_noted_is_found_wherever_it_lies(store: MailStore, key: str, tmp_path: Path) -> None:
    hook = install_first_version(store, key, tmp_path / "hooks of all")
    assert outdated(store, [key]) == []
    note(store, GuardPlace(str(hook), str(tmp_path / "tree"), [key]))
    [found] = outdated(store, [key])
    assert (found.hook, found.work_tree) == (str(hook), str(tmp_path / "tree"))
    assert outdated(store, ["/another"]) == []
    forget(store, str(hook))
    assert outdated(store, [key]) == []


def test_guards_with_the_newest_rules_or_newer_ones_are_not_named(store: MailStore, key: str, old: Path) -> None:
    text = old.read_text(encoding="utf-8")
    assert outdated(store, [key])
    for rules in (guard_file.RULES, guard_file.RULES + 1):
        mark, _, body = text.partition("\n# Agent Mail:")
        old.write_text(f"{mark}\n# agent-mail-guard rules={rules}\n# Agent Mail:{body}", encoding="utf-8")
        assert outdated(store, [key]) == []


def test_a_guard_of_another_store_or_somebody_elses_hook_is_nobodys_here(
    store: MailStore, key: str, old: Path, tmp_path: Path
) -> None:
    install_first_version(MailStore(tmp_path / "other"), key, old.parent)
    assert outdated(store, [key]) == []
    install_first_version(store, "/another", old.parent)
    assert outdated(store, [key]) == []
    old.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    assert outdated(store, [key]) == []


def test_what_cannot_be_read_as_a_guard_holds_nobody_up(store: MailStore, key: str, old: Path) -> None:
    changed = old.read_text(encoding="utf-8").replace("exit 0", "exit 1")
    old.write_text(changed, encoding="utf-8")
    assert outdated(store, [key]) == []
    old.unlink()
    os.mkfifo(old)
    assert outdated(store, [key, "/no/such/project", "no path\0", "/\udcff", "~"]) == []


@pytest.mark.parametrize(
    "rubbish",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"null",
        b"7",
        b'[{"hook": 1}]',
        b'[[], "x"]',
        b'{"hook": "x"}',
        b'[{"hook": "h", "work_tree": "w", "projects": 1}]',
        b"[" * 100_000,
    ],
)
@in_a_file
def test_a_damaged_list_is_an_empty_one_and_is_written_anew(
    store: MailStore, key: str, old: Path, rubbish: bytes
) -> None:
    store.guards.write_bytes(rubbish)
    assert [each.hook for each in outdated(store, [key])] == [str(old)]
    forget(store, str(old))
    note(store, GuardPlace(str(old), "/tree", [key]))
    assert [each.work_tree for each in outdated(store, [key])] == ["/tree"]


@in_a_file
def test_a_path_that_is_no_text_is_noted(store: MailStore, key: str, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    hook = install_first_version(store, key, folder)
    note(store, GuardPlace(str(hook), str(folder), [key]))
    assert [each.hook for each in outdated(store, [key])] == [str(hook)]


@in_a_file
def test_a_guard_whose_hook_is_gone_is_forgotten_at_the_next_one(store: MailStore, key: str, old: Path) -> None:
    note(store, GuardPlace("/gone/pre-commit", "/gone", [key]))
    note(store, GuardPlace(str(old), key, [key]))
    assert [each["hook"] for each in json.loads(store.guards.read_text("utf-8"))] == [str(old)]


def test_the_doctor_names_guards_with_older_rules_and_the_command(store: MailStore, key: str, old: Path) -> None:
    for look in (doctor.examine, doctor.glance):
        [found] = [each for each in look(store) if each.check == "guard"]
        assert found.severity == "warning"
        assert str(old) in found.message
        assert f"mail guard install --project '{key}'" in found.fix


def test_the_doctor_names_ten_and_counts_the_rest(box: Letterbox, store: MailStore, tmp_path: Path) -> None:
    for number in range(12):
        folder = tmp_path / str(number)
        box.new(str(folder), "Owl")
        install_first_version(store, str(folder), folder / ".git" / "hooks")
    found = [each.message for each in doctor.glance(store) if each.check == "guard"]
    assert len(found) == 11
    assert found[-1] == "2 more guards have older rules."


@in_a_file
async def test_who_claims_is_told_that_the_guard_has_older_rules(box: Letterbox, key: str, old: Path) -> None:
    client = InMemoryClient(build_server(desk(box)))

    async def claim(agent: str, path: str) -> dict[str, Any]:
        arguments = {"project_key": key, "agent_name": agent, "paths": [path]}
        return await told(client, "claim_paths", arguments)

    box.new(key, "Fox")
    [said] = (await claim("Owl", "src"))["notes"]
    assert f"The guard {old} has rules of version 1" in said
    assert "install_precommit_guard" in said
    refused = await claim("Fox", "src/x.py")
    assert refused["conflicts"]
    renewed = await told(client, "renew_claims", {"project_key": key, "agent_name": "Owl"})
    listed = (await client.call("list_claims", {"project_key": key})).wire["content"]
    assert (refused["notes"], renewed["notes"], [each["text"] for each in listed[1:]]) == ([said], [said], [said])
    old.unlink()
    assert "notes" not in await claim("Owl", "src")


# -- guards that ask a hub, and guards that read what mail has left


def install_asking(store: MailStore, repository: Path, key: str, hub: str = "http://hub.example:8765") -> Path:
    """A guard that asks a hub, whose rules are of the first version."""
    subprocess.run(["git", "init", "-q", repository], check=True, timeout=PATIENCE)
    hook = Path(install_guard(store, key, repository, GuardWay(hub, "/a token")).hook)
    guard = guard_file.parse(hook.read_text(encoding="utf-8"))
    assert guard is not None
    hook.write_text(first_version(*guard.guarded), encoding="utf-8")
    return hook


def test_a_guard_that_asks_a_hub_is_renewed_with_its_address(store: MailStore, key: str) -> None:
    hook = install_asking(store, Path(key), key)
    [found] = outdated(store, [key])
    assert (found.hook, found.project, found.hub) == (str(hook), key, "http://hub.example:8765")
    assert found.command.endswith(f"mail guard install --project '{key}' --hub http://hub.example:8765")
    assert outdated(store, ["/another"]) == []


def test_the_doctor_of_a_machine_without_mail_names_its_guards_too(tmp_path: Path) -> None:
    laptop = MailStore(tmp_path / "laptop")
    hook = install_asking(laptop, tmp_path / "code", "/srv/backend")
    for look in (doctor.examine, doctor.glance):
        [nothing, found] = look(laptop)
        assert (nothing.check, nothing.severity) == ("mail", "info")
        assert (found.check, found.severity) == ("guard", "warning")
        assert str(hook) in found.message
        assert found.fix.endswith("--project /srv/backend --hub http://hub.example:8765")


def test_the_doctor_names_guards_of_a_hub_elsewhere_beside_those_of_its_own_mail(
    store: MailStore, old: Path, tmp_path: Path
) -> None:
    hook = install_asking(store, tmp_path / "code", "/srv/backend")
    found = [each.message for each in doctor.glance(store) if each.check == "guard"]
    assert [str(old) in found[0], str(hook) in found[1], len(found)] == [True, True, 2]


@in_a_file
def test_once_mail_is_in_no_file_guards_that_read_it_are_named_whatever_their_rules(
    store: MailStore, key: str, tmp_path: Path
) -> None:
    repository = tmp_path / "other tree"
    subprocess.run(["git", "init", "-q", repository], check=True, timeout=PATIENCE)
    hook = install_guard(store, key, repository).hook
    assert outdated(store, [key]) == []
    [found] = outdated(store, [key], in_file=False)
    assert found.problem == f"The guard {hook} reads a database that mail has left, and blocks nothing."
    assert found.command == f"cd '{repository}' && nanobot-transcript mail guard install --project '{key}'"
    install_guard(store, key, repository, GuardWay(otherwise="http://127.0.0.1:8765"))
    assert outdated(store, [key], in_file=False) == []


class Elsewhere(AgentMail):
    """Mail whose database is in no file that a guard could read."""

    file = None


@pytest.fixture
def reading(store: MailStore, key: str) -> str:
    """The hook of a guard that reads the database, in the project's own repository."""
    subprocess.run(["git", "init", "-q", key], check=True, timeout=PATIENCE)
    return install_guard(store, key, key).hook


@in_a_file
async def test_where_mail_is_in_no_file_the_tool_installs_a_guard_that_asks_the_hub(
    box: Letterbox, key: str, reading: str
) -> None:
    owl = {"project_key": key, "agent_name": "Owl"}
    about = {"project_key": key, "code_repo_path": key}
    with Elsewhere(box.root) as mail:
        options = ServiceOptions(archiving=False, hub="http://127.0.0.1:8766")
        client = InMemoryClient(build_server(MailService(mail, options)))
        [note] = (await told(client, "claim_paths", {**owl, "paths": ["src"]}))["notes"]
        assert note.startswith(f"The guard {reading} reads a database that mail has left, and blocks nothing.")
        made = await told(client, "install_precommit_guard", about)
        assert (made["hub"], made["projects"]) == ("http://127.0.0.1:8766", [key])
        assert "AGENT_MAIL_TOKEN" in made["note"]
        assert "notes" not in await told(client, "renew_claims", owl)


async def test_where_mail_is_in_a_file_the_tool_lets_a_guard_go_on_asking(
    box: Letterbox, store: MailStore, key: str
) -> None:
    install_asking(store, Path(key), key)
    client = InMemoryClient(build_server(desk(box)))
    made = await told(client, "install_precommit_guard", {"project_key": key, "code_repo_path": key})
    assert (made["hub"], made["token_file"]) == ("http://hub.example:8765", "/a token")
    assert outdated(store, [key]) == []


def test_the_hub_that_a_guard_asks_is_the_one_that_serves_the_mail(tmp_path: Path) -> None:
    places = {"mail": {"store": tmp_path / "mail"}, "hub": {"host": "0.0.0.0", "port": 8766}}
    settings = Settings.model_validate(places)
    service = service_from(settings, Opening(settings))
    assert service.options.hub == "http://127.0.0.1:8766"
    service.close()
