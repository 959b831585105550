"""Who is who, told by one process and known to all."""

from collections.abc import Callable

import pytest
from contract.conftest import MakeRecord
from support.procs import until

from nanobot_transcript.store.member_view import Member
from nanobot_transcript.store.members import MemberDirectory

KEY = "feishu:oc_1"
MakeMembers = Callable[[], MemberDirectory]


@pytest.fixture
def make_members(make_record: MakeRecord) -> MakeMembers:
    """One more object on the same place, as another process would have."""
    return lambda: make_record().members


def test_nothing_is_known_of_an_empty_record(make_members: MakeMembers) -> None:
    members = make_members()
    assert (members.bots(), members.of_chat(KEY), members.title_of(KEY)) == ([], [], None)
    assert (members.name_of("on_ada"), members.sender_for("cli_a", "ou_1"), members.bot_of("cli_a")) == (None,) * 3
    assert not members.is_person("on_ada")
    assert (members.senders_named("Ada"), members.ids_of("on_ada")) == ([], {"on_ada"})


def test_a_person_is_known_by_name_and_by_each_id(make_members: MakeMembers) -> None:
    writer, reader = make_members(), make_members()
    writer.remember_person("on_ada", "Ada", {"union_id": "on_ada", "open_id": "ou_1"}, "cli_a")
    writer.remember_person("on_ada", None, {"open_id": "ou_2"}, "cli_b")
    for members in (writer, reader, make_members()):
        assert members.name_of("on_ada") == "Ada"
        assert members.is_person("on_ada")
        assert members.senders_named("ADA") == ["on_ada"]
        assert [members.sender_for(app, open_id) for app, open_id in (("cli_a", "ou_1"), ("cli_b", "ou_2"))] == [
            "on_ada",
            "on_ada",
        ]
        assert members.sender_for("cli_b", "ou_1") is None
        assert members.ids_of("on_ada") == {"on_ada", "ou_1", "ou_2"}


def test_a_bot_is_known_by_app_name_and_what_others_see(make_members: MakeMembers) -> None:
    writer, reader = make_members(), make_members()
    writer.remember_bot("cli_a", "Alpha", aliases=["阿尔法"], description="answers", open_ids={"cli_b": "ou_9"})
    reader.remember_bot("cli_a", "Alpha", aliases=["阿尔法"], description="answers", open_ids={"cli_c": "ou_8"})
    bot = make_members().bot_of("cli_a")
    assert bot is not None
    assert (bot.name, bot.aliases, bot.description, bot.silent) == ("Alpha", ("阿尔法",), "answers", False)
    assert bot.open_ids == {"cli_b": "ou_9", "cli_c": "ou_8"}
    assert [one.sender_for("cli_b", "ou_9") for one in (writer, reader)] == ["Alpha", "Alpha"]
    assert [known.name for known in reader.bots()] == ["Alpha"]


def test_two_bots_of_one_name_are_told_apart(make_members: MakeMembers) -> None:
    make_members().remember_bot("cli_1a", "Alpha")
    make_members().remember_bot("cli_2b", "Alpha")
    names = {make_members().name_of(app) for app in ("cli_1a", "cli_2b")}
    assert len(names) == 2


def test_a_bot_that_has_given_no_sign_of_life_is_silent_and_leaves_its_name_to_another(
    make_members: MakeMembers,
) -> None:
    writer, reader = make_members(), make_members()
    writer.remember_bot("cli_1a", "Alpha", alive=False)
    writer.remember_bot("cli_2b", "Alpha")
    assert {bot.account: bot.silent for bot in reader.bots()} == {"cli_1a": True, "cli_2b": False}
    assert reader.name_of("cli_2b") == "Alpha"
    writer.remember_bot("cli_1a", "Alpha")
    until(lambda: not any(bot.silent for bot in reader.bots()), "it lives")
    assert reader.name_of("cli_1a") != reader.name_of("cli_2b")


def test_who_was_seen_in_a_chat_is_listed_bots_first(make_members: MakeMembers) -> None:
    writer = make_members()
    writer.remember_person("on_ada", "Ada")
    writer.remember_bot("cli_b", "Beta")
    for sender in ("on_ada", "Beta", "on_bo"):
        writer.saw(KEY, sender)
    found = [(one.sender, one.name, one.kind) for one in make_members().of_chat(KEY)]
    assert found == [("Beta", "Beta", "bot"), ("on_ada", "Ada", "human"), ("on_bo", "on_bo", "human")]
    assert all(isinstance(one, Member) and one.last_seen_ms > 0 for one in writer.of_chat(KEY))
    assert writer.of_chat("feishu:oc_2") == []


def test_a_chat_has_the_title_that_was_told_last(make_members: MakeMembers) -> None:
    for title in ("Team", "发布群", ""):
        make_members().remember_chat(KEY, title)
    assert make_members().title_of(KEY) == "发布群"


def test_a_forgotten_person_is_known_to_nobody_and_others_are(make_members: MakeMembers) -> None:
    writer, reader = make_members(), make_members()
    for sender, name in (("on_ada", "Ada"), ("on_bo", "Bo")):
        writer.remember_person(sender, name, {"open_id": f"ou_{name}"}, "cli_a")
        writer.saw(KEY, sender)
    assert reader.name_of("on_ada") == "Ada"
    writer.forget("on_ada")
    until(lambda: reader.name_of("on_ada") is None, "everybody has forgotten her")
    assert reader.sender_for("cli_a", "ou_Ada") is None
    assert [one.sender for one in reader.of_chat(KEY)] == ["on_bo"]
    assert reader.name_of("on_bo") == "Bo"


def test_what_two_processes_tell_at_once_is_all_known(make_members: MakeMembers) -> None:
    first, second = make_members(), make_members()
    for number in range(20):
        (first, second)[number % 2].remember_person(f"on_{number}", f"Name {number}")
    members = make_members()
    assert [members.name_of(f"on_{number}") for number in range(20)] == [f"Name {number}" for number in range(20)]


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "x" * 10_000, "../../etc"])
def test_any_text_can_be_a_name(make_members: MakeMembers, text: str) -> None:
    writer = make_members()
    writer.remember_person("on_1", text)
    writer.remember_chat(text, "title")
    writer.saw(text, "on_1")
    writer.remember_bot(f"cli_{text}", text or "Bot")
    reader = make_members()
    name = text.encode("utf-8", "replace").decode().replace("?", "\ufffd") if text == "\ud800" else text
    assert reader.name_of("on_1") == (name or None)
    assert [bot.name for bot in reader.bots()] == [name or "Bot"]
