"""What doctor says about mailboxes."""

import pytest
from support.mailboxes import Office, plant

from nanobot_transcript.findings import Finding
from transcript_mcp.filebox import ConfigSource
from transcript_mcp.filebox.doctor import checks, token_checks


def found(office: Office, agent: str = "qa_agent") -> list[Finding]:
    return checks(ConfigSource(cwd=office.roots[agent], home=office.home))


def test_nothing_wrong_is_one_line_that_names_the_agents(office: Office) -> None:
    (check,) = found(office)
    assert check.severity == "ok"
    assert "qa_agent, dev_agent" in check.message


def test_a_wrong_file_is_an_error(office: Office) -> None:
    (office.roots["qa_agent"] / ".filebox").write_text("{")
    (check,) = found(office)
    assert (check.severity, bool(check.fix)) == ("error", True)


def test_without_any_configuration_there_is_nothing_wrong(office: Office) -> None:
    (check,) = checks(ConfigSource(cwd=office.base, home=office.home))
    assert (check.severity, "docs/en/filebox.md" in check.fix) == ("info", True)


def test_an_agent_of_the_settings_that_there_is_not_is_an_error(office: Office) -> None:
    source = ConfigSource(cwd=office.roots["qa_agent"], home=office.home)
    assert [check.severity for check in checks(source, "dev_agent")] == ["ok"]
    assert [check.severity for check in checks(source, "ghost")] == ["error"]


def test_nobody_living_here_is_worth_knowing(office: Office) -> None:
    office.configure(office.base)
    checked = checks(ConfigSource(cwd=office.base, home=office.home))
    assert [check.severity for check in checked] == ["info"]
    assert "runAs" in checked[0].fix


def test_folders_that_cannot_be_used_are_errors_that_name_the_key(office: Office) -> None:
    office.roots |= {"gone": office.base / "gone", "file": office.base / "file"}
    office.roots["file"].touch()
    office.configure(office.roots["qa_agent"], current="qa_agent")
    config = office.roots["qa_agent"] / ".filebox"
    config.write_text(config.read_text().replace(f'"{office.base / "gone"}"', '"gone"'))
    errors = [check for check in found(office) if check.severity == "error"]
    assert [check.message.split(" ")[0] for check in errors] == ["agents.gone", "agents.file"]
    assert all(check.fix for check in errors)


def test_links_in_a_mailbox_are_errors(office: Office) -> None:
    mailbox = office.roots["dev_agent"] / "docs" / "mailbox"
    mailbox.mkdir(parents=True)
    (mailbox / "inbox").symlink_to(office.base)
    errors = [check for check in found(office) if check.severity == "error"]
    assert len(errors) == 1
    assert "inbox of dev_agent" in errors[0].message


def test_mail_from_before_a_folder_was_shared_is_pointed_out(shared_office: Office) -> None:
    office = shared_office
    assert [check.severity for check in found(office)] == ["ok"]
    old = office.base / "shared" / "docs" / "mailbox" / "inbox"
    plant(old, "a.md", message_id="1", timestamp="2025-06-30T08:15:00.000Z")
    warnings = [check for check in found(office) if check.severity == "warning"]
    assert len(warnings) == 3
    assert "inbox" in warnings[0].message


def test_looking_changes_nothing(office: Office) -> None:
    found(office)
    assert not (office.roots["qa_agent"] / "docs").exists()


def test_a_copied_file_that_names_another_agent_is_a_warning(office: Office) -> None:
    office.configure(office.roots["dev_agent"], current="qa_agent")
    (check,) = found(office, "dev_agent")
    assert check.severity == "warning"
    assert check.message.startswith("This is the folder of dev_agent, but current_agent in ")
    assert check.message.endswith(" says qa_agent.")
    assert checks(ConfigSource(cwd=office.roots["dev_agent"], home=office.home), "dev_agent")[0].severity == "ok"


def test_files_that_disagree_about_where_an_agent_lives_are_pointed_out(office: Office) -> None:
    elsewhere = office.base / "elsewhere"
    elsewhere.mkdir()
    here, there = (office.roots[agent] / ".filebox" for agent in ("qa_agent", "dev_agent"))
    there.write_text(there.read_text().replace(str(office.roots["qa_agent"]) + '"', f'{elsewhere}"'))
    (check,) = [check for check in found(office) if check.severity != "ok"]
    assert (check.severity, bool(check.fix)) == ("warning", True)
    assert check.message.startswith(f"{here} and {there} disagree about the folder of qa_agent: ")
    for folder in (office.roots["qa_agent"], elsewhere):
        assert f"{folder / 'docs' / 'mailbox'} according to" in check.message


def test_the_file_in_the_home_folder_is_compared_too(office: Office) -> None:
    office.configure(office.home)
    assert [check.severity for check in found(office)] == ["ok"]
    (office.home / ".filebox").write_text(f'{{"agents": {{"dev_agent": "{office.home}"}}}}')
    assert [check.severity for check in found(office)] == ["ok", "warning"]


def test_a_folder_that_only_one_file_calls_shared_is_a_disagreement(office: Office) -> None:
    office.roots["third"] = office.roots["dev_agent"]
    office.configure(office.roots["qa_agent"], current="qa_agent")
    warnings = [check.message for check in found(office) if check.severity == "warning"]
    assert len(warnings) == 1
    assert str(office.roots["dev_agent"] / "docs" / "mailbox" / "dev_agent") in warnings[0]


def test_the_same_file_by_a_link_or_another_spelling_of_a_folder_is_no_disagreement(office: Office) -> None:
    file = office.roots["dev_agent"] / ".filebox"
    file.write_text(file.read_text().replace(str(office.base), f"{office.base}/home/.."))
    (office.home / ".filebox").symlink_to(office.roots["qa_agent"] / ".filebox")
    assert [check.severity for check in found(office)] == ["ok"]


def test_another_agents_file_that_cannot_be_read_is_a_warning(office: Office) -> None:
    (office.roots["dev_agent"] / ".filebox").write_text("{")
    (check,) = [check for check in found(office) if check.severity != "ok"]
    assert (check.severity, bool(check.fix)) == ("warning", True)
    assert str(office.roots["dev_agent"] / ".filebox") in check.message


def test_folders_that_do_not_exist_do_not_stand_below_a_line_that_all_is_well(office: Office) -> None:
    office.roots["dev_agent"] = office.base / "nowhere"
    office.configure(office.roots["qa_agent"], current="qa_agent")
    assert [check.severity for check in found(office)] == ["error"]


@pytest.mark.parametrize(
    ("agents", "run_as", "expected"),
    [
        ([], "any", []),
        (["qa_agent"], "off", []),
        (["qa_agent"], "any", [("warning", "every token may act as every agent")]),
        (["ghost", "qa_agent"], "listed", [("error", "a token for ghost, which is not among agents")]),
    ],
)
def test_tokens_that_open_too_much_or_nothing_are_told(
    office: Office, agents: list[str], run_as: str, expected: list[tuple[str, str]]
) -> None:
    source = ConfigSource(explicit=office.configure(office.base), home=office.home)
    told = token_checks(source, agents, run_as)
    assert [(check.severity, message in check.message) for check, (_, message) in zip(told, expected, strict=True)] == [
        (severity, True) for severity, _ in expected
    ]


def test_tokens_without_any_agents_are_an_error(office: Office) -> None:
    (check,) = token_checks(ConfigSource(home=office.home), ["qa_agent"], "off")
    assert check.severity == "error"
    assert "the hub knows no agents" in check.message
