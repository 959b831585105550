"""Everybody has one name, the same in every process, and everybody who is here is known to be."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.line_platform.platform import LINE
from support.stub_nanobot import group_event

from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import Arrival, MentionedMember
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.feishu import message_from_event
from transcript_channels.feishu.platform import FEISHU

ALLY = AgentProfile("Ally", ("A",), "plans")


@pytest.fixture
def members(tmp_path: Path) -> FileMembers:
    """The members, as a process that only looks."""
    return FileMembers(tmp_path)


@pytest.fixture
def make_people(tmp_path: Path) -> Any:
    """``make_people(only="X")``: the people of one more process over the same record."""
    return lambda **options: People(FileMembers(tmp_path), FEISHU, **options)


def message(account: str = "cli_a", **options: Any) -> Arrival:
    found = message_from_event(group_event("om_1", **options))
    assert found is not None
    return found.arrival(account)


def mention(name: str, person: str, app: str = "cli_a", kind: str | None = None) -> dict[str, Any]:
    return {"key": "@_user_1", "id": {"open_id": f"ou_{person}@{app}"}, "name": name, "mentioned_type": kind}


def introduced(people: People, app_id: str, given: str = "", platform: str = "Alpha Bot") -> str:
    people.register(app_id, given)
    people.introduce(app_id, platform_name=platform, open_id=f"ou_self@{app_id}")
    return people.look().agent_name(app_id)


@pytest.mark.parametrize(
    ("sections", "instance", "name"),
    [
        ({"agents": {"cli_a": ALLY}, "only": "Solo"}, "Mine", "Ally"),
        ({"agents": {"cli_other": ALLY}, "only": "Solo"}, "Mine", "Solo"),
        ({}, "Mine", "Mine"),
        ({}, "", "Alpha Bot"),
    ],
)
def test_the_name_comes_from_the_settings_the_instance_or_the_platform(
    make_people: Any, sections: Any, instance: str, name: str
) -> None:
    assert introduced(make_people(**sections), "cli_a", instance) == name


def test_without_any_name_the_one_from_before_or_the_app_id_counts(make_people: Any) -> None:
    people = make_people()
    people.register("cli_a")
    assert people.look().agent_name("cli_a") == "cli_a"
    introduced(people, "cli_a")
    reborn = make_people()
    reborn.register("cli_a")
    assert reborn.look().agent_name("cli_a") == "Alpha Bot"


def test_the_profile_is_written_for_all_processes(make_people: Any, members: FileMembers) -> None:
    introduced(make_people(agents={"cli_a": ALLY}), "cli_a")
    bot = members.bot_of("cli_a")
    assert bot is not None
    assert (bot.name, bot.aliases, bot.description) == ("Ally", ("A", "Alpha Bot"), "plans")
    assert bot.open_ids == {"cli_a": "ou_self@cli_a"}


def test_two_apps_with_one_name_are_told_apart_alike_in_both_processes(
    make_people: Any, caplog: pytest.LogCaptureFixture
) -> None:
    later, earlier = make_people(), make_people()
    assert introduced(later, "cli_b222") == "Alpha Bot"
    assert introduced(earlier, "cli_a111") == "Alpha Bot"
    assert (later.look().agent_name("cli_b222"), earlier.look().agent_name("cli_b222")) == (
        "Alpha Bot-b222",
        "Alpha Bot-b222",
    )
    assert later.look().agent_name("cli_a111") == "Alpha Bot"
    assert caplog.text.count("Several bots have the name Alpha Bot") == 2
    later.look().agent_name("cli_b222")
    assert caplog.text.count("Several bots") == 2


def test_a_bot_that_no_longer_runs_does_not_keep_the_name_of_another(
    make_people: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = FileMembers(tmp_path, now=lambda: time.time() - 31 * 86400)
    gone.remember_bot("cli_a111", "Alpha Bot")
    people = make_people()
    assert introduced(people, "cli_b222") == "Alpha Bot"
    people.link("cli_b222", "ou_gone@cli_b222", "cli_a111")
    assert (people.look().agent_name("cli_b222"), people.look().agent_name("cli_a111")) == ("Alpha Bot", "Alpha Bot")
    assert "Several bots" not in caplog.text
    asked = message("cli_b222", mentions=[mention("Alpha Bot", "self", app="cli_b222", kind="bot")])
    assert people.look().mentions_of(asked) == [{"name": "Alpha Bot", "id": "Alpha Bot", "account": "cli_b222"}]


def test_the_bots_of_a_running_process_stay_known(make_people: Any, members: FileMembers, tmp_path: Path) -> None:
    before = FileMembers(tmp_path, now=lambda: time.time() - 31 * 86400)
    before.remember_bot("cli_a", "Alpha Bot")
    people = make_people()
    people.register("cli_a")
    assert [bot.silent for bot in members.bots()] == [True]
    people.still_here()
    assert [(bot.name, bot.silent) for bot in members.bots()] == [("Alpha Bot", False)]


def test_one_name_for_the_process_does_not_serve_several_bots(
    make_people: Any, caplog: pytest.LogCaptureFixture
) -> None:
    people = make_people(only="Solo")
    introduced(people, "cli_a")
    assert introduced(people, "cli_b", "Second") == "Second"
    assert "agent.name is for a process with one bot" in caplog.text


def test_a_person_has_one_sender_for_every_app(make_people: Any) -> None:
    people = make_people()
    seen = {people.look().sender_of(message(app, app_id=app)).sender for app in ("cli_a", "cli_b")}
    assert seen == {"on_ada"}


def test_a_person_known_only_by_open_id_is_the_one_it_was_learned_to_be(make_people: Any) -> None:
    people = make_people()
    people.learn(message())
    event = group_event("om_2")
    del event["event"]["sender"]["sender_id"]["union_id"]
    later = message_from_event(event)
    assert later is not None
    assert people.look().sender_of(later.arrival("cli_a")).sender == "on_ada"
    assert people.look().sender_of(later.arrival("cli_b")).sender == "ou_ada@cli_a"


def test_people_of_people_are_learned_from_mentions_and_shown_everywhere(make_people: Any) -> None:
    people = make_people()
    person = mention("陈晨", "chen") | {"id": {"open_id": "ou_chen@cli_a", "union_id": "on_chen"}}
    people.learn(message(mentions=[person]))
    other = make_people()
    assert other.look().sender_of(message("cli_b", person="chen")).name == "陈晨"
    assert other.look().shown({"sender": "on_chen"}) == "陈晨"


def test_who_has_no_name_is_shown_by_id(make_people: Any) -> None:
    people = make_people()
    assert people.look().shown({"sender": "on_x"}) == "on_x"
    assert people.look().shown({"sender": "on_x", "sender_name": "Xi"}) == "Xi"
    assert people.look().shown({}) == "somebody"


def test_mentions_of_bots_lead_to_the_agent(make_people: Any) -> None:
    people = make_people(agents={"cli_a": ALLY})
    introduced(people, "cli_a")
    introduced(make_people(), "cli_b", platform="Beta Bot")
    asked = message(
        mentions=[
            {"key": "@_user_1", "id": {"open_id": "ou_self@cli_a"}, "name": "Alpha Bot"},
            mention("Beta Bot", "beta", kind="bot"),
            mention("Gamma", "gamma", kind="bot"),
        ]
    )
    assert people.look().mentions_of(asked) == [
        {"name": "Alpha Bot", "id": "Ally", "account": "cli_a"},
        {"name": "Beta Bot", "id": "Beta Bot", "account": "cli_b"},
        {"name": "Gamma", "id": "ou_gamma@cli_a"},
    ]


def test_a_bot_once_mentioned_is_recognised_when_it_speaks(make_people: Any) -> None:
    introduced(make_people(), "cli_b", platform="Beta")
    people = make_people()
    people.learn(message(mentions=[mention("Beta", "beta", kind="bot")]))
    spoken = people.look().sender_of(message(person="beta", sender_type="bot"))
    assert (spoken.sender, spoken.ids.get("app_id")) == ("Beta", "cli_b")


def test_a_person_with_a_bots_name_stays_a_person(make_people: Any) -> None:
    people = make_people()
    introduced(people, "cli_b", platform="Beta")
    asked = message(mentions=[mention("Beta", "somebody", kind="user")])
    assert people.look().mentions_of(asked) == [{"name": "Beta", "id": "ou_somebody@cli_a"}]


def test_a_known_person_who_takes_a_bots_name_is_not_mentioned_as_the_bot(
    make_people: Any, members: FileMembers
) -> None:
    people = make_people()
    introduced(people, "cli_b", platform="Beta")
    people.learn(message(person="eve"))
    asked = message(mentions=[mention("Beta", "eve")])
    people.learn(asked)
    assert people.look().mentions_of(asked) == [{"name": "Beta", "id": "on_eve"}]
    beta = members.bot_of("cli_b")
    assert beta is not None
    assert beta.open_ids == {"cli_b": "ou_self@cli_b"}


@pytest.mark.parametrize("kind", [None, "bot"])
def test_a_name_alone_never_replaces_the_id_by_which_a_bot_is_known(
    make_people: Any, members: FileMembers, kind: str | None
) -> None:
    people = make_people()
    introduced(people, "cli_b", platform="Beta")
    people.link("cli_a", "ou_beta@cli_a", "cli_b")
    asked = message(mentions=[mention("Beta", "stranger", kind=kind)])
    people.learn(asked)
    assert people.look().mentions_of(asked) == [{"name": "Beta", "id": "ou_stranger@cli_a"}]
    beta = members.bot_of("cli_b")
    assert beta is not None
    assert beta.open_ids["cli_a"] == "ou_beta@cli_a"


def test_a_mention_that_has_nothing_but_the_name_means_the_bot_of_that_name(make_people: Any) -> None:
    people = make_people()
    introduced(people, "cli_b", platform="Beta")
    people.link("cli_a", "ou_beta@cli_a", "cli_b")
    asked = replace(message(), mentions=(MentionedMember("Beta", {}),))
    assert people.look().mentions_of(asked) == [{"name": "Beta", "id": "Beta", "account": "cli_b"}]


def test_a_bot_nobody_knows_is_called_by_its_id(make_people: Any) -> None:
    people = make_people()
    assert people.look().sender_of(message(person="x", sender_type="bot")).sender == "on_x"
    event = group_event("om_1", sender_type="app")
    event["event"]["sender"]["sender_id"] = "cli_z"
    spoken = message_from_event(event)
    assert spoken is not None
    assert people.look().sender_of(spoken.arrival("cli_a")).sender == "cli_z"


def test_a_bot_of_another_house_keeps_what_the_platform_calls_it(make_people: Any) -> None:
    event = group_event("om_1", sender_type="app")
    event["event"]["sender"]["sender_id"] = "cli_z"
    spoken = message_from_event(event)
    assert spoken is not None
    found = make_people().look().sender_of(replace(spoken.arrival("cli_a"), sender_name="Zeta"))
    assert (found.sender, found.name) == ("cli_z", "Zeta")


def test_bots_and_people_that_were_seen_in_a_chat_are_its_members_and_the_own_agent_always(
    make_people: Any, members: FileMembers
) -> None:
    members.remember_bot("cli_beta", "Beta", aliases=["B"], description="Tests.", open_ids={"cli_a": "ou_b"})
    members.remember_bot("cli_gamma", "Gamma")
    members.remember_person("on_ada", "Ada")
    members.saw("feishu:oc_1", "Beta")
    members.saw("feishu:oc_1", "on_ada")
    people = make_people(agents={"cli_a": ALLY})
    ally, beta, ada = people.look().members("feishu:oc_1", "cli_a")
    assert (ally.name, ally.aliases, ally.description, ally.account) == ("Ally", ("A",), "plans", "cli_a")
    assert (beta.name, beta.aliases, beta.description, beta.kind) == ("Beta", ("B",), "Tests.", "bot")
    assert beta.ids == {"Beta", "cli_beta", "ou_b"}
    assert (ada.name, ada.ids, ada.kind) == ("Ada", {"on_ada"}, "human")
    assert [member.name for member in people.look().members("feishu:oc_2", "cli_a")] == ["Ally"]


def test_a_bot_that_the_settings_name_is_a_member_everywhere_until_it_has_run(
    make_people: Any, members: FileMembers
) -> None:
    people = make_people(agents={"cli_a": ALLY, "cli_b": AgentProfile("Beta", ("B",), account="cli_b")})
    introduced(people, "cli_a")
    assert [member.name for member in people.look().members("feishu:oc_1", "cli_a")] == ["Ally", "Beta"]
    members.remember_bot("cli_b", "Beta")
    assert [member.name for member in people.look().members("feishu:oc_1", "cli_a")] == ["Ally"]
    members.saw("feishu:oc_1", "Beta")
    assert [member.name for member in people.look().members("feishu:oc_1", "cli_a")] == ["Ally", "Beta"]


def test_the_same_member_is_the_same_object_from_look_to_look(make_people: Any, members: FileMembers) -> None:
    members.remember_person("on_ada", "Ada")
    members.saw("feishu:oc_1", "on_ada")
    people = make_people()
    first, second = (people.look().members("feishu:oc_1", "cli_a") for _ in range(2))
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_one_look_reads_what_others_wrote_once(make_people: Any, members: FileMembers) -> None:
    people = make_people()
    introduced(people, "cli_a")
    look = people.look()
    members.remember_person("on_ada", "Ada")
    assert look.sender_of(message()).name is None
    assert people.look().sender_of(message()).name == "Ada"


# --- where a bot's account is what everybody calls it by, and no id differs from bot to bot


@pytest.fixture
def plain(tmp_path: Path) -> Callable[..., People]:
    """``plain()``: the people of one more process on such a platform."""
    return lambda **options: People(FileMembers(tmp_path), LINE, **options)


def heard(account: str, number: str, name: str = "", **options: Any) -> Arrival:
    return Arrival("line:1", account, "1", "hello", {"number": number}, sender_name=name, **options)


def test_a_bot_is_recognised_by_its_account_whoever_says_it(plain: Callable[..., People]) -> None:
    one, other = plain(), plain()
    one.introduce("2001", platform_name="Alpha")
    other.introduce("2002", platform_name="Alpha")
    look = one.look()
    told = MentionedMember("Alpha", {"number": "2002"})
    mentions = look.mentions_of(heard("2001", "1001", mentions=(told,)))
    assert mentions == [{"name": "Alpha", "id": "Alpha-2002", "account": "2002"}]
    assert look.sender_of(heard("2001", "2002", from_bot=True)).sender == "Alpha-2002"


def test_a_mentioned_bot_is_not_taken_for_a_person(plain: Callable[..., People]) -> None:
    people = plain()
    people.introduce("2001", platform_name="Alpha")
    people.learn(heard("2001", "1001", "Ada", mentions=(MentionedMember("Alpha", {"number": "2001"}),)))
    assert people.members is not None
    assert people.members.senders_named("alpha") == ["Alpha"]


def test_a_person_is_called_what_the_platform_says_with_the_message(plain: Callable[..., People]) -> None:
    people = plain()
    for number in ("1001", "1002"):
        people.learn(heard("2001", number, "Ada"))
    assert people.look().names_in("line:1") == {"1001": "Ada", "1002": "Ada"}


def test_a_bot_sits_where_it_hears_something_once_the_platform_knows_it(plain: Callable[..., People]) -> None:
    people = plain()
    people.learn(heard("2001", "1001"))
    assert not people.look().sits_in("line:1", "2001")
    people.introduce("2001", platform_name="Alpha")
    people.learn(heard("2001", "1001"))
    assert people.look().sits_in("line:1", "2001")
