"""Who is in a chat, for the gate and the prompt."""

from pathlib import Path

from support.memory_chat import profile

from nanobot_transcript.runner.membership import members_of
from nanobot_transcript.store.member_file import FileMembers


def test_bots_and_people_that_were_seen_in_a_chat_are_its_members_and_the_own_agent_always(tmp_path: Path) -> None:
    directory = FileMembers(tmp_path)
    directory.remember_bot("cli_Beta", "Beta", aliases=["B"], description="Tests.", open_ids={"cli_Alpha": "ou_b"})
    directory.remember_bot("cli_Gamma", "Gamma")
    directory.remember_person("on_ada", "Ada")
    directory.saw("feishu:oc_1", "Beta")
    directory.saw("feishu:oc_1", "on_ada")
    members = members_of(directory, [profile("Alpha")])
    alpha, beta, ada = members("feishu:oc_1")
    assert alpha == profile("Alpha")
    assert (beta.name, beta.aliases, beta.description, beta.kind) == ("Beta", ("B",), "Tests.", "bot")
    assert beta.ids == {"Beta", "cli_Beta", "ou_b"}
    assert (ada.name, ada.ids, ada.kind) == ("Ada", {"on_ada"}, "human")
    assert [member.name for member in members("feishu:oc_2")] == ["Alpha"]


def test_the_same_member_is_the_same_object_from_call_to_call(tmp_path: Path) -> None:
    directory = FileMembers(tmp_path)
    directory.remember_person("on_ada", "Ada")
    directory.saw("feishu:oc_1", "on_ada")
    members = members_of(directory, [profile("Alpha")])
    first, second = members("feishu:oc_1"), members("feishu:oc_1")
    assert all(one is other for one, other in zip(first, second, strict=True))
