"""A guard that the first version installed: known, named, renewed and taken out by this one."""

import os
from pathlib import Path

import pytest
from golden.packing import unpack
from support.code_repo import Repo
from support.old_guard import install_first_version

from nanobot_transcript.errors import GuardError
from transcript_mcp.mail.archive import doctor
from transcript_mcp.mail.claims import guard_file
from transcript_mcp.mail.claims.guard import HOOKS, install_guard, uninstall_guard
from transcript_mcp.mail.claims.guards import outdated
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Agent


def _standing(repo: Repo) -> set[str]:
    return {name for name in HOOKS if os.path.lexists(repo.hook(name))}


def _rules(repo: Repo) -> set[int | None]:
    return {guard_file.rules(repo.hook(name).read_text(encoding="utf-8")) for name in _standing(repo)}


def test_the_guard_that_an_earlier_version_wrote_is_named_renewed_and_taken_out(tmp_path: Path) -> None:
    golden = unpack(tmp_path, "mail", "shop")
    shop, store = Repo(golden / "shop"), MailStore(golden / "mail")
    assert (_standing(shop), _rules(shop)) == ({"pre-commit"}, {1})
    assert list(install_guard(store, "/srv/shop", shop.folder).projects) == ["/srv/shop"]
    assert (_standing(shop), _rules(shop)) == (set(HOOKS), {guard_file.RULES})
    assert uninstall_guard(store, shop.folder).removed
    assert _standing(shop) == set()


def test_it_is_taken_out_without_being_renewed(tmp_path: Path) -> None:
    golden = unpack(tmp_path, "mail", "shop")
    assert uninstall_guard(MailStore(golden / "mail"), golden / "shop").removed
    assert _standing(Repo(golden / "shop")) == set()


def test_installing_again_is_what_the_doctor_asks_for(repo: Repo, store: MailStore, key: str, green: Agent) -> None:
    assert green.project == key
    install_first_version(store, key, repo.hook().parent)
    assert [each.check for each in doctor.examine(store) if each.severity == "warning"].count("guard") == 1
    install_guard(store, key, repo.folder)
    assert [each for each in doctor.examine(store) if each.check == "guard"] == []


def test_where_a_guard_was_installed_is_noted_until_it_is_taken_out(
    repo: Repo, store: MailStore, key: str, green: Agent, tmp_path: Path
) -> None:
    assert green.project == key
    repo.git("config", "core.hooksPath", str(tmp_path / "hooks of all"))
    install_guard(store, key, repo.folder / "docs")
    install_first_version(store, key, tmp_path / "hooks of all")
    [found] = outdated(store, [key])
    assert (found.hook, found.work_tree) == (str(tmp_path / "hooks of all" / "pre-commit"), str(repo.folder))
    uninstall_guard(store, repo.folder)
    install_first_version(store, key, tmp_path / "hooks of all")
    assert outdated(store, [key]) == []


@pytest.mark.parametrize("name", HOOKS)
def test_when_one_file_was_changed_by_hand_all_are_left_as_they_are(
    guarded: Repo, store: MailStore, key: str, name: str
) -> None:
    guarded.hook(name).write_text(guarded.hook(name).read_text("utf-8").replace("exit 0", "exit 1"), "utf-8")
    before = {each: guarded.hook(each).stat().st_ino for each in HOOKS}
    for call in (lambda: install_guard(store, key, guarded.folder), lambda: uninstall_guard(store, guarded.folder)):
        with pytest.raises(GuardError, match="changed by hand"):
            call()
    assert {each: guarded.hook(each).stat().st_ino for each in HOOKS} == before


def test_a_second_hook_of_somebody_else_under_any_name_changes_nothing(
    repo: Repo, store: MailStore, key: str, green: Agent
) -> None:
    assert green.project == key
    repo.hook().parent.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-rewrite", "post-rewrite.before-agent-mail"):
        repo.hook(name).write_text("#!/bin/sh\n", encoding="utf-8")
    with pytest.raises(GuardError, match="both") as caught:
        install_guard(store, key, repo.folder)
    assert "post-rewrite" in caught.value.hint
    assert repo.hook().read_text(encoding="utf-8") == "#!/bin/sh\n"
    assert not repo.hook("pre-commit.before-agent-mail").exists()
