"""Agents: registered, found, listed, and let act."""

import json
from pathlib import Path

import pytest
from support.letterbox import BACKEND, FRONTEND, Letterbox
from unit.mail.conftest import on_both

from nanobot_transcript.errors import (
    ActingRefusedError,
    InvalidLetterError,
    UnknownProjectError,
    UnregisteredAgentError,
)
from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.agents.names import skeleton
from transcript_mcp.mail.agents.projects import slug
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.values import Draft, MailOptions


@pytest.fixture
def strict(tmp_path: Path) -> Letterbox:
    """The same people where tokens are needed."""
    return Letterbox(tmp_path / "strict", MailOptions(require_agent_token=True))


# -- projects


def test_a_project_comes_with_its_first_agent_and_its_file_says_which_it_is(box: Letterbox) -> None:
    project = box.mail.project(BACKEND)
    assert [each.key for each in box.mail.projects()] == [BACKEND, FRONTEND]
    assert json.loads(box.archived()["project.json"]) == {
        "human_key": BACKEND,
        "slug": project.slug,
        "created": "2025-10-23T15:22:14Z",
        "created_ts": box.time,
    }


def test_a_slash_at_the_end_of_a_key_makes_no_other_project(box: Letterbox) -> None:
    assert box.mail.project(f" {BACKEND}/ ") == box.mail.project(BACKEND)
    assert box.mail.register_agent(f"{BACKEND}/", "GreenCastle").token is None


@pytest.mark.parametrize("key", ["/", "x", "../..", "/a/发布", "C:\\code\\app", "a" * 1000, "/a/" + "b" * 300, "~"])
def test_a_slug_is_one_safe_folder(key: str) -> None:
    made = slug(key)
    assert 0 < len(made.encode()) < 120
    assert not set(made) & set('/\\:*?"<>|. ')
    assert made != slug(key + "x")


@pytest.mark.parametrize("key", ["", "  ", None, 7, "a\nb", "a" * 1001])
def test_what_is_no_key_makes_no_project(box: Letterbox, key: str) -> None:
    with pytest.raises(InvalidLetterError):
        box.mail.create_agent(key, "p", "m", "t")
    assert box.count("projects") == 2


def test_an_unknown_project_is_an_error_that_names_one_like_it(box: Letterbox) -> None:
    for call in (box.mail.project, box.mail.agents):
        with pytest.raises(UnknownProjectError) as caught:
            call("/abs/path/backendd")
        assert BACKEND in caught.value.hint
    assert box.count("projects") == 2


def test_reading_where_there_is_no_store_makes_none(tmp_path: Path) -> None:
    mail = AgentMail(tmp_path / "nothing")
    assert mail.projects() == []
    for call in (mail.project, mail.agents, mail.most_recent, mail.message, mail.thread, mail.human):
        with pytest.raises(UnknownProjectError, match="no mail"):
            call("x")
    assert not mail.places.root.exists()


# -- registering


@on_both
def test_a_created_agent_has_a_memorable_name_a_profile_and_a_token(box: Letterbox) -> None:
    made = box.mail.create_agent(BACKEND, "claude-code", "opus-4.1", "Navbar redesign")
    assert made.token
    assert made.agent == box.mail.whois(BACKEND, made.agent.name)
    profile = json.loads(box.archived()[f"agents/{made.agent.name}/profile.json"])
    assert profile["name"] == made.agent.name
    assert profile["project"] == BACKEND
    assert (profile["program"], profile["model"], profile["task"]) == ("claude-code", "opus-4.1", "Navbar redesign")
    assert (profile["inception"], profile["inception_ts"]) == ("2025-10-23T15:22:14Z", box.time)
    assert made.token not in json.dumps(profile)


def test_a_hint_is_used_if_it_is_free(box: Letterbox) -> None:
    assert box.mail.create_agent(BACKEND, "p", "m", "t", "Code Reviewer!").agent.name == "CodeReviewer"
    assert box.mail.create_agent(BACKEND, "p", "m", "t", "codereviewer").agent.name == "codereviewer2"


def test_a_guests_name_is_not_given_to_anybody_else(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    assert box.mail.create_agent(BACKEND, "p", "m", "t", "BlueLake").agent.name == "BlueLake2"


@on_both
def test_registering_a_known_name_gives_the_same_agent_brought_up_to_date(box: Letterbox) -> None:
    box.time += 60
    again = box.mail.register_agent(BACKEND, "GreenCastle", model="gpt6")
    assert again.token is None
    assert (again.agent.id, again.agent.program, again.agent.model) == (box.green.id, "codex-cli", "gpt6")
    assert again.agent.last_active_ts == box.time
    assert json.loads(box.archived()["agents/GreenCastle/profile.json"])["model"] == "gpt6"


def test_what_is_new_of_a_guest_is_shown_wherever_it_has_mail(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    box.mail.register_agent(FRONTEND, "BlueLake", task="Navbar redesign")
    for project in (BACKEND, FRONTEND):
        assert json.loads(box.archived(project)["agents/BlueLake/profile.json"])["task"] == "Navbar redesign"
    assert "token_sha256" in box.archived(FRONTEND)["agents/BlueLake/profile.json"]
    assert "token_sha256" not in box.archived(BACKEND)["agents/BlueLake/profile.json"]


def test_registering_with_nothing_new_gives_the_archive_nothing_to_do(box: Letterbox) -> None:
    before = len(box.jobs())
    assert box.mail.register_agent(BACKEND, "GreenCastle", "codex-cli").job is None
    assert len(box.jobs()) == before


def test_registering_a_guests_name_gives_the_guest(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    assert box.mail.register_agent(BACKEND, "BlueLake").agent.id == box.blue.id


def test_names_that_differ_in_case_alone_are_one_name(box: Letterbox) -> None:
    with pytest.raises(InvalidLetterError) as caught:
        box.mail.register_agent(BACKEND, "greencastle")
    assert "GreenCastle" in caught.value.hint


@on_both
@pytest.mark.parametrize(("first", "second"), [("Éclair", "éclair"), ("Straße", "STRASSE"), ("Ａlpha", "alpha")])
def test_case_is_no_difference_in_any_script(box: Letterbox, first: str, second: str) -> None:
    box.new(BACKEND, first)
    with pytest.raises(InvalidLetterError) as caught:
        box.mail.register_agent(BACKEND, second)
    assert first in caught.value.hint
    assert box.mail.whois(BACKEND, first).name == first
    with pytest.raises(UnregisteredAgentError):
        box.mail.whois(BACKEND, second)


# "GreenCastle" and "RedStone" as somebody would write them who wants to be taken for these.
LIKE_GREEN = ["GreenCast1e", "GreenCastIe", "\u050cr\u0435\u0435n\u0421\u0430stl\u0435", "\uff27reenCastle"]


@pytest.mark.parametrize("name", LIKE_GREEN)
def test_a_new_name_that_looks_like_one_of_the_project_is_refused(box: Letterbox, name: str) -> None:
    with pytest.raises(InvalidLetterError) as caught:
        box.mail.register_agent(BACKEND, name)
    assert caught.value.hint
    made = box.mail.create_agent(BACKEND, "p", "m", "t", name).agent
    assert skeleton(made.name) != skeleton("GreenCastle")


def test_whom_a_refused_name_looks_like_is_said(box: Letterbox) -> None:
    with pytest.raises(InvalidLetterError, match=r"GreenCast1e looks like GreenCastle") as caught:
        box.mail.register_agent(BACKEND, "GreenCast1e")
    assert "GreenCastle" in caught.value.hint
    assert box.mail.register_agent("/third", "GreenCast1e").token


def test_a_name_that_looks_like_a_guests_is_refused(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    with pytest.raises(InvalidLetterError, match="BlueLake"):
        box.mail.register_agent(BACKEND, "B1ueLake")


def test_nobody_becomes_a_guest_beside_one_who_looks_the_same(box: Letterbox) -> None:
    like = box.new("/third", "GreenCast1e")
    for call in (
        lambda: box.send(to=["GreenCast1e"]),
        lambda: box.mail.send(BACKEND, like, Draft("Hello", "text", to=["RedStone"])),
    ):
        with pytest.raises(InvalidLetterError, match="looks like GreenCastle"):
            call()
    assert box.count("messages") == 0


def test_one_letter_of_another_script_makes_no_new_agent(box: Letterbox) -> None:
    with pytest.raises(InvalidLetterError, match="CYRILLIC"):
        box.mail.register_agent("/third", "GreenC\u0430stle")
    assert box.count("projects") == 2


@pytest.mark.parametrize("name", ["小助手", "ロボット", "로봇", "Борис", "Αθηνά", "GPT助手", "бот-GPT"])
def test_names_of_any_one_script_are_registered(box: Letterbox, name: str) -> None:
    assert box.mail.register_agent(BACKEND, name).agent.name == name


def test_names_that_look_alike_and_exist_already_keep_working(box: Letterbox) -> None:
    def rename(db: Sql) -> None:
        names = ("GreenC\u0430stle", "greenc\u0430stle")
        db.execute("UPDATE agents SET name = ?, folded = ? WHERE name = 'RedStone'", names)

    box.mail.database.write(rename)
    for name in ("GreenCastle", "GreenC\u0430stle"):
        agent = box.mail.register_agent(BACKEND, name, task="still here").agent
        assert (agent.name, box.mail.acting(BACKEND, name)) == (name, agent)
        sent = box.mail.send(BACKEND, agent, Draft("Hello", "text", to=[name]))
        assert [each.letter.id for each in box.mail.inbox(agent)] == [sent.id]


@pytest.mark.parametrize("given", ["Jose\u0301", " José ", "Jose\u0301\n"])
def test_however_a_name_is_encoded_and_whatever_spaces_are_around_it_is_found(box: Letterbox, given: str) -> None:
    agent = box.new(BACKEND, "José")
    found = (
        box.mail.whois(BACKEND, given),
        box.mail.acting(BACKEND, given),
        box.mail.register_agent(BACKEND, given).agent,
        box.mail.most_recent(given),
    )
    assert {each.id for each in found} == {agent.id}
    sent = box.send(to=[given], cc=["RedStone"])
    assert list(sent.recipients["to"]) == ["José"]


def test_who_writes_to_one_that_looks_like_a_person_is_asked_whether_it_is_one(box: Letterbox) -> None:
    box.mail.human(BACKEND)
    with pytest.raises(UnregisteredAgentError) as caught:
        box.send(to=["hum\u0430n"])
    assert "Do you mean human?" in caught.value.hint


def test_a_guests_name_in_another_case_is_taken_too(box: Letterbox) -> None:
    guest = box.new(FRONTEND, "Éclair")
    box.send(to=[guest.name])
    with pytest.raises(InvalidLetterError):
        box.mail.register_agent(BACKEND, "éclair")


def test_the_same_name_may_be_in_two_projects(box: Letterbox) -> None:
    other = box.new(FRONTEND, "GreenCastle")
    assert other.id != box.green.id
    assert box.mail.whois(FRONTEND, "GreenCastle") == other


@pytest.mark.parametrize("name", ["human", "Overseer", "SYSTEM"])
def test_nobody_registers_a_reserved_name(box: Letterbox, name: str) -> None:
    with pytest.raises(ActingRefusedError):
        box.mail.register_agent("/new", name)
    assert box.count("projects") == 2


@pytest.mark.parametrize("field", ["program", "model"])
def test_what_an_agent_says_of_itself_is_one_line(box: Letterbox, field: str) -> None:
    for wrong in ("a\nb", "x" * 201, 7):
        with pytest.raises(InvalidLetterError, match=field):
            box.mail.register_agent(BACKEND, "New", **{field: wrong})  # type: ignore[arg-type]


def test_a_task_of_several_lines_becomes_one(box: Letterbox) -> None:
    assert box.mail.register_agent(BACKEND, "New", task="one\n two").agent.task == "one two"


# -- finding


def test_a_name_unknown_here_means_the_one_elsewhere(box: Letterbox) -> None:
    assert box.mail.whois(BACKEND, "BlueLake") == box.blue


def test_a_name_that_several_others_have_is_an_error_that_lists_them(box: Letterbox) -> None:
    box.new("/third", "BlueLake")
    with pytest.raises(UnregisteredAgentError) as caught:
        box.mail.whois(BACKEND, "BlueLake")
    assert f"BlueLake in {FRONTEND}" in str(caught.value)
    assert "BlueLake in /third" in str(caught.value)
    assert "project_key" in caught.value.hint


def test_whoever_has_mail_here_keeps_the_name_when_another_project_takes_it_too(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    box.new("/third", "BlueLake")
    assert box.mail.whois(BACKEND, "BlueLake") == box.blue


def test_a_person_who_has_not_written_here_is_told_how_to_begin(box: Letterbox) -> None:
    box.mail.human(FRONTEND)
    with pytest.raises(UnregisteredAgentError) as told:
        box.mail.whois(BACKEND, "human")
    assert "--as-human" in told.value.hint


def test_a_name_of_another_project_is_among_the_close_ones(box: Letterbox) -> None:
    for asked in (lambda: box.mail.whois(BACKEND, "BlueLaek"), lambda: box.mail.most_recent("BlueLaek")):
        with pytest.raises(UnregisteredAgentError) as told:
            asked()
        assert "BlueLake" in told.value.hint


@pytest.mark.parametrize("name", ["greencastle", "GreenCastel", "Greencastle "])
def test_names_are_exact_and_an_unknown_one_lists_close_ones(box: Letterbox, name: str) -> None:
    with pytest.raises(UnregisteredAgentError) as caught:
        box.mail.acting(BACKEND, name, parameter="from_agent")
    assert "from_agent not registered" in str(caught.value)
    assert "GreenCastle" in caught.value.hint


def test_a_guests_name_is_exact_too(box: Letterbox) -> None:
    box.send(to=["BlueLake"])
    with pytest.raises(UnregisteredAgentError) as caught:
        box.mail.acting(BACKEND, "bluelake")
    assert "BlueLake" in caught.value.hint


def test_a_name_like_no_other_is_told_how_to_register(box: Letterbox) -> None:
    with pytest.raises(UnregisteredAgentError) as caught:
        box.mail.acting(BACKEND, "Zzyzx")
    assert "create_agent" in caught.value.hint


@pytest.mark.parametrize("name", ["", None, 7, [], "\ud800", "x\0y"])
def test_what_is_no_name_is_a_typed_error(box: Letterbox, name: str) -> None:
    with pytest.raises((InvalidLetterError, UnregisteredAgentError)):
        box.mail.acting(BACKEND, name)


@on_both
def test_without_a_project_a_name_means_who_was_active_last(box: Letterbox) -> None:
    other = box.new("/third", "BlueLake")
    assert box.mail.most_recent("BlueLake").id == other.id
    box.time += 60
    box.mail.touch(box.blue)
    assert box.mail.most_recent("BlueLake").id == box.blue.id
    with pytest.raises(UnregisteredAgentError):
        box.mail.most_recent("Nobody")


# -- listing


def test_the_directory_shows_who_is_at_home_and_who_has_mail_here(box: Letterbox) -> None:
    assert {each.name for each in box.mail.agents(BACKEND)} == {"GreenCastle", "RedStone"}
    box.send(to=["BlueLake"])
    assert {(each.name, each.project) for each in box.mail.agents(BACKEND)} == {
        ("GreenCastle", BACKEND),
        ("RedStone", BACKEND),
        ("BlueLake", FRONTEND),
    }


@on_both
def test_the_directory_shows_the_most_recently_active_first_and_leaves_out_the_silent(box: Letterbox) -> None:
    box.time += box.mail.options.active_within - 1
    box.mail.touch(box.red)
    assert [each.name for each in box.mail.agents(BACKEND)] == ["RedStone", "GreenCastle"]
    box.time += 2
    assert [each.name for each in box.mail.agents(BACKEND)] == ["RedStone"]
    assert len(box.mail.agents(BACKEND, active_only=False)) == 2


def test_activity_is_noted_at_most_twice_a_minute(box: Letterbox) -> None:
    box.time += 29
    box.mail.touch(box.green)
    assert box.mail.whois(BACKEND, "GreenCastle").last_active_ts == box.green.last_active_ts
    box.time += 1
    box.mail.touch(box.green)
    assert box.mail.whois(BACKEND, "GreenCastle").last_active_ts == box.time


def test_sending_and_receipts_count_as_activity(box: Letterbox) -> None:
    box.time += 5
    sent = box.send()
    assert box.mail.whois(BACKEND, "GreenCastle").last_active_ts == box.time
    box.time += 5
    box.mail.mark_read(box.red, [sent.id])
    assert box.mail.whois(BACKEND, "RedStone").last_active_ts == box.time


# -- acting


def test_where_no_token_is_needed_anybody_acts_under_a_registered_name(box: Letterbox) -> None:
    assert box.mail.acting(BACKEND, "GreenCastle") == box.green
    assert box.mail.acting(BACKEND, "GreenCastle", "whatever") == box.green


def test_where_a_token_is_needed_only_its_holder_acts(strict: Letterbox) -> None:
    mail = strict.mail
    assert mail.acting(BACKEND, "GreenCastle", strict.tokens["GreenCastle"]) == strict.green
    for wrong in (None, "", "x", strict.tokens["RedStone"], strict.tokens["GreenCastle"] + "x", "\ud800", "é"):
        with pytest.raises(ActingRefusedError) as caught:
            mail.acting(BACKEND, "GreenCastle", wrong)
        assert caught.value.hint
        with pytest.raises(ActingRefusedError):
            mail.allow(strict.green, wrong)


def test_where_a_token_is_needed_nobody_else_registers_the_name_again(strict: Letterbox) -> None:
    with pytest.raises(ActingRefusedError):
        strict.mail.register_agent(BACKEND, "GreenCastle", task="mine now")
    again = strict.mail.register_agent(BACKEND, "GreenCastle", task="Navbar", token=strict.tokens["GreenCastle"])
    assert (again.agent.task, again.token) == ("Navbar", None)


def test_a_guest_acts_with_the_token_of_its_home(strict: Letterbox) -> None:
    strict.send(to=["BlueLake"])
    assert strict.mail.acting(BACKEND, "BlueLake", strict.tokens["BlueLake"]) == strict.blue


def test_a_token_is_kept_as_its_hash_alone(strict: Letterbox) -> None:
    strict.mail.close()
    kept = b"".join(path.read_bytes() for path in strict.root.iterdir() if path.is_file())
    assert b"GreenCastle" in kept
    assert not any(token.encode() in kept for token in strict.tokens.values())


@pytest.mark.parametrize("name", ["human", "Human", "overseer", "System"])
def test_nobody_acts_under_a_reserved_name(box: Letterbox, name: str) -> None:
    box.mail.send(BACKEND, box.mail.human(BACKEND), Draft("Stop", to=["GreenCastle"]))
    with pytest.raises(ActingRefusedError):
        box.mail.acting(BACKEND, name)
    with pytest.raises(ActingRefusedError):
        box.mail.allow(box.mail.human(BACKEND), None)


def test_a_person_writes_as_human_and_can_be_answered(box: Letterbox) -> None:
    sent = box.mail.send(BACKEND, box.mail.human(BACKEND), Draft("Stop", to=["GreenCastle"]))
    assert box.mail.inbox(box.green)[0].letter.sender == "human"
    answer = box.mail.reply(box.green, sent.id, Draft(body="Stopped"))
    human = box.mail.human(BACKEND)
    assert [each.letter.id for each in box.mail.inbox(human)] == [answer.id]
    thanks = box.mail.reply(box.mail.human(BACKEND), answer.id, Draft(body="Thanks"))
    assert (thanks.thread_id, thanks.recipients["to"]) == (sent.id, ("GreenCastle",))
    assert json.loads(box.archived()["agents/human/profile.json"])["name"] == "human"


def test_the_human_of_one_project_is_not_that_of_another(box: Letterbox) -> None:
    box.mail.human(FRONTEND)
    with pytest.raises(UnregisteredAgentError):
        box.send(to=["human"])
