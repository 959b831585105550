"""Who acts, and whom it may write to."""

import pytest
from support.mailboxes import Office

from nanobot_transcript.errors import ConfigError, NoAgentError, RunAsRefusedError, UnknownAgentError
from transcript_mcp.filebox import ConfigSource, FileBox, FileBoxOptions, Hooks
from transcript_mcp.filebox.agents import receiver


def filebox(office: Office, *, hub: bool = False, **options: object) -> FileBox:
    file = office.configure(office.base)
    source = ConfigSource(explicit=file, home=office.home, cwd=None if hub else office.roots["qa_agent"])
    return FileBox(source, FileBoxOptions(**options), hooks=Hooks())  # type: ignore[arg-type]


def test_run_as_beats_the_callers_identity_and_that_beats_the_folder(office: Office) -> None:
    assert filebox(office).mailbox().agent == "qa_agent"
    assert filebox(office).mailbox(identity="dev_agent").agent == "dev_agent"
    assert filebox(office).mailbox("qa_agent", identity="dev_agent").agent == "qa_agent"


def test_an_unknown_run_as_names_all_agents(office: Office) -> None:
    with pytest.raises(UnknownAgentError) as caught:
        filebox(office).mailbox("nobody")
    assert str(caught.value) == "Invalid runAs agent 'nobody'. Available agents: qa_agent, dev_agent."


@pytest.mark.parametrize("name", ["nobody", "__proto__", "", "../qa_agent"])
def test_an_unknown_receiver_names_all_agents(office: Office, name: str) -> None:
    with pytest.raises(UnknownAgentError, match="Available agents: qa_agent, dev_agent"):
        receiver(filebox(office).roster(), name)


def test_a_hub_without_identity_names_all_agents(office: Office) -> None:
    with pytest.raises(NoAgentError, match="Available agents: qa_agent, dev_agent") as caught:
        filebox(office, hub=True).mailbox()
    assert "runAs" in caught.value.hint


def test_an_identity_that_the_file_does_not_name_is_an_error(office: Office) -> None:
    with pytest.raises(UnknownAgentError, match="This process is agent 'ghost'"):
        filebox(office).mailbox(identity="ghost")


def test_run_as_can_be_switched_off(office: Office) -> None:
    closed = filebox(office, run_as="off")
    assert closed.mailbox("qa_agent").agent == "qa_agent"
    with pytest.raises(RunAsRefusedError, match="nobody else"):
        closed.mailbox("dev_agent")
    with pytest.raises(RunAsRefusedError):
        filebox(office, hub=True, run_as="off").mailbox("dev_agent")


def test_run_as_can_be_kept_to_a_list(office: Office) -> None:
    listed = filebox(office, run_as="listed", may_run_as=("dev_agent",))
    assert listed.mailbox("dev_agent").agent == "dev_agent"
    with pytest.raises(RunAsRefusedError, match="may act for dev_agent"):
        listed.mailbox("qa_agent", identity="dev_agent")


def test_a_place_that_cannot_be_used_is_only_its_own_agents_trouble(office: Office) -> None:
    office.configure(office.base)
    file = office.base / ".filebox"
    file.write_text(file.read_text().replace(str(office.roots["dev_agent"]), "relative"))
    front = FileBox(ConfigSource(explicit=file, cwd=office.roots["qa_agent"], home=office.home), hooks=Hooks())
    assert front.mailbox().agent == "qa_agent"
    with pytest.raises(ConfigError, match=r"agents\.dev_agent"):
        front.mailbox().send("dev_agent", "BR", "t", "c")
