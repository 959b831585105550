"""Everybody has one name, the same in every process."""

import time
from typing import Any

import pytest
from support.stub_nanobot import group_event

from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.feishu import Message, message_from_event
from transcript_channels.nanobot_host.names import Names

PROFILE = {"name": "Ally", "aliases": ["A"], "description": "plans"}


@pytest.fixture
def make_names(make_host: Any) -> Any:
    """``make_names(agent={"name": "X"})``: the names of one more process over the same store."""
    return lambda **sections: make_host(**sections).names


def message(**options: Any) -> Message:
    found = message_from_event(group_event("om_1", **options))
    assert found is not None
    return found


def mention(name: str, person: str, app: str = "cli_a", kind: str | None = None) -> dict[str, Any]:
    return {"key": "@_user_1", "id": {"open_id": f"ou_{person}@{app}"}, "name": name, "mentioned_type": kind}


def introduced(names: Names, app_id: str, instance: str = "nanobot", platform: str = "Alpha Bot") -> str:
    names.register(app_id, instance, "default")
    names.introduce(app_id, platform_name=platform, open_id=f"ou_self@{app_id}")
    return names.agent_name(app_id)


@pytest.mark.parametrize(
    ("sections", "instance", "name"),
    [
        ({"agents": {"cli_a": PROFILE}, "agent": {"name": "Solo"}}, "Mine", "Ally"),
        ({"agents": {"cli_other": PROFILE}, "agent": {"name": "Solo"}}, "Mine", "Solo"),
        ({}, "Mine", "Mine"),
        ({}, "nanobot", "Alpha Bot"),
        ({}, "nanobot default", "Alpha Bot"),
        ({}, "", "Alpha Bot"),
    ],
)
def test_the_name_comes_from_the_settings_the_instance_or_the_platform(
    make_names: Any, sections: Any, instance: str, name: str
) -> None:
    assert introduced(make_names(**sections), "cli_a", instance) == name


def test_without_any_name_the_one_from_before_or_the_app_id_counts(make_names: Any) -> None:
    names = make_names()
    names.register("cli_a", "nanobot", "default")
    assert names.agent_name("cli_a") == "cli_a"
    introduced(names, "cli_a")
    reborn = make_names()
    reborn.register("cli_a", "nanobot", "default")
    assert reborn.agent_name("cli_a") == "Alpha Bot"


def test_the_profile_is_written_for_all_processes(make_host: Any) -> None:
    host = make_host(agents={"cli_a": PROFILE})
    introduced(host.names, "cli_a")
    bot = make_host().store.members.bot_of("cli_a")
    assert bot is not None
    assert (bot.name, bot.aliases, bot.description) == ("Ally", ("A", "Alpha Bot"), "plans")
    assert bot.open_ids == {"cli_a": "ou_self@cli_a"}


def test_two_apps_with_one_name_are_told_apart_alike_in_both_processes(
    make_names: Any, caplog: pytest.LogCaptureFixture
) -> None:
    later, earlier = make_names(), make_names()
    assert introduced(later, "cli_b222") == "Alpha Bot"
    assert introduced(earlier, "cli_a111") == "Alpha Bot"
    assert (later.agent_name("cli_b222"), earlier.agent_name("cli_b222")) == ("Alpha Bot-b222", "Alpha Bot-b222")
    assert later.agent_name("cli_a111") == "Alpha Bot"
    assert caplog.text.count("Several bots want the name Alpha Bot") == 2
    later.agent_name("cli_b222")
    assert caplog.text.count("Several bots") == 2


def test_a_bot_that_no_longer_runs_does_not_keep_the_name_of_another(
    make_names: Any, make_host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    gone = FileMembers(make_host().store.base_dir, now=lambda: time.time() - 31 * 86400)
    gone.remember_bot("cli_a111", "Alpha Bot")
    names = make_names()
    assert introduced(names, "cli_b222") == "Alpha Bot"
    names.link("cli_b222", "ou_gone@cli_b222", "cli_a111")
    assert (names.agent_name("cli_b222"), names.agent_name("cli_a111")) == ("Alpha Bot", "Alpha Bot")
    assert "Several bots" not in caplog.text
    asked = message(mentions=[mention("Alpha Bot", "self", app="cli_b222", kind="bot")])
    assert names.mentions_of(asked, "cli_b222") == [{"name": "Alpha Bot", "id": "Alpha Bot"}]


def test_the_bots_of_a_running_process_stay_known(make_host: Any) -> None:
    host = make_host()
    before = FileMembers(host.store.base_dir, now=lambda: time.time() - 31 * 86400)
    before.remember_bot("cli_a", "Alpha Bot")
    host.names.register("cli_a", "nanobot", "default")
    assert [bot.silent for bot in host.store.members.bots()] == [True]
    host.names.still_here()
    assert [(bot.name, bot.silent) for bot in host.store.members.bots()] == [("Alpha Bot", False)]


def test_one_name_for_the_process_does_not_serve_several_bots(
    make_names: Any, caplog: pytest.LogCaptureFixture
) -> None:
    names = make_names(agent={"name": "Solo"})
    introduced(names, "cli_a")
    assert introduced(names, "cli_b", "Second") == "Second"
    assert "agent.name is for one bot per process" in caplog.text


def test_a_person_has_one_sender_for_every_app(make_names: Any) -> None:
    names = make_names()
    seen = {names.sender_of(message(app_id=app), app).sender for app in ("cli_a", "cli_b")}
    assert seen == {"on_ada"}


def test_a_person_known_only_by_open_id_is_the_one_it_was_learned_to_be(make_names: Any) -> None:
    names = make_names()
    names.learn(message(), "feishu:oc_1", "cli_a")
    event = group_event("om_2")
    del event["event"]["sender"]["sender_id"]["union_id"]
    later = message_from_event(event)
    assert later is not None
    assert names.sender_of(later, "cli_a").sender == "on_ada"
    assert names.sender_of(later, "cli_b").sender == "ou_ada@cli_a"


def test_names_of_people_are_learned_from_mentions_and_shown_everywhere(make_names: Any) -> None:
    names = make_names()
    person = mention("陈晨", "chen") | {"id": {"open_id": "ou_chen@cli_a", "union_id": "on_chen"}}
    names.learn(message(mentions=[person]), "feishu:oc_1", "cli_a")
    other = make_names()
    assert other.sender_of(message(person="chen"), "cli_b").name == "陈晨"
    assert other.shown({"sender": "on_chen"}) == "陈晨"


def test_who_has_no_name_is_shown_by_id(make_names: Any) -> None:
    names = make_names()
    assert names.shown({"sender": "on_x"}) == "on_x"
    assert names.shown({"sender": "on_x", "sender_name": "Xi"}) == "Xi"
    assert names.shown({}) == "somebody"


def test_mentions_of_bots_lead_to_the_agent(make_names: Any) -> None:
    names = make_names(agents={"cli_a": PROFILE})
    introduced(names, "cli_a")
    introduced(make_names(), "cli_b", platform="Beta Bot")
    asked = message(
        mentions=[
            {"key": "@_user_1", "id": {"open_id": "ou_self@cli_a"}, "name": "Alpha Bot"},
            mention("Beta Bot", "beta", kind="bot"),
            mention("Gamma", "gamma", kind="bot"),
        ]
    )
    assert names.mentions_of(asked, "cli_a") == [
        {"name": "Alpha Bot", "id": "Ally"},
        {"name": "Beta Bot", "id": "Beta Bot"},
        {"name": "Gamma", "id": "ou_gamma@cli_a"},
    ]


def test_a_bot_once_mentioned_is_recognised_when_it_speaks(make_names: Any) -> None:
    introduced(make_names(), "cli_b", platform="Beta")
    names = make_names()
    names.learn(message(mentions=[mention("Beta", "beta", kind="bot")]), "feishu:oc_1", "cli_a")
    spoken = names.sender_of(message(person="beta", sender_type="bot"), "cli_a")
    assert (spoken.sender, spoken.ids.get("app_id")) == ("Beta", "cli_b")


def test_a_person_with_a_bots_name_stays_a_person(make_names: Any) -> None:
    names = make_names()
    introduced(names, "cli_b", platform="Beta")
    asked = message(mentions=[mention("Beta", "somebody", kind="user")])
    assert names.mentions_of(asked, "cli_a") == [{"name": "Beta", "id": "ou_somebody@cli_a"}]


def test_a_bot_nobody_knows_is_called_by_its_id(make_names: Any) -> None:
    names = make_names()
    assert names.sender_of(message(person="x", sender_type="bot"), "cli_a").sender == "on_x"
    event = group_event("om_1", sender_type="app")
    event["event"]["sender"]["sender_id"] = "cli_z"
    spoken = message_from_event(event)
    assert spoken is not None
    assert names.sender_of(spoken, "cli_a").sender == "cli_z"
