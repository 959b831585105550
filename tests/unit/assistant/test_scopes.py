"""Which token stands for whose questions."""

import pytest

from nanobot_transcript.errors import TokenRefusedError
from transcript_mcp.assistant.scopes import Scopes
from transcript_mcp.assistant.values import Inquiry, Question


def test_a_token_stands_for_its_owner() -> None:
    scopes = Scopes({"ada": "ada-secret"}, {"laptop": "hub-secret"}, open_to_all=True)
    assert scopes.of_token("ada-secret") == "assistant/ada"
    assert scopes.of_token(" hub-secret ") == "hub/laptop"


@pytest.mark.parametrize("token", ["", "local", "ada-secre", "ada-secret2", "ada", "\ud800", "x" * 5000])
def test_where_tokens_are_given_no_other_is_let_in(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        Scopes({"ada": "ada-secret"}, {}, open_to_all=True).of_token(token)


def test_without_any_every_token_has_a_scope_of_its_own() -> None:
    scopes = Scopes({}, {}, open_to_all=True)
    assert scopes.of_token("test-token") == scopes.of_token("test-token")
    assert scopes.of_token("test-token") != scopes.of_token("local")
    assert "test-token" not in scopes.of_token("test-token")
    with pytest.raises(TokenRefusedError) as refused:
        scopes.of_token("  ")
    assert "any token" in refused.value.hint


def test_what_other_machines_reach_needs_a_known_token() -> None:
    with pytest.raises(TokenRefusedError):
        Scopes({}, {}, open_to_all=False).of_token("test-token")


def test_who_calls_with_a_token_of_the_hub_has_that_tokens_scope() -> None:
    scopes = Scopes({"ada": "ada-secret"}, {"laptop": "hub-secret"}, open_to_all=False)
    assert scopes.of_caller("token/laptop") == scopes.of_token("hub-secret")


def test_who_calls_without_a_token_has_the_scope_of_the_local_one() -> None:
    free = Scopes({}, {}, open_to_all=True)
    assert free.of_caller(None) == free.of_token("local")
    named = Scopes({"ada": "ada-secret", "local": "person-secret"}, {}, open_to_all=True)
    assert named.of_caller(None) == named.of_token("person-secret")
    assert Scopes({"ada": "ada-secret"}, {}, open_to_all=True).of_caller(None) == "assistant/ada"


def test_one_token_under_two_names_is_one_scope() -> None:
    scopes = Scopes({"ada": "the-secret"}, {"laptop": "the-secret"}, open_to_all=False)
    assert scopes.of_token("the-secret") == scopes.of_caller("token/laptop")


PROGRAMS = {"codex": "codex-secret", "claude": "claude-secret"}


def with_people() -> Scopes:
    return Scopes({"ada": "ada-secret"}, PROGRAMS, open_to_all=True, page_token="people-secret")


def test_people_see_what_was_asked_with_any_token_of_a_program() -> None:
    assert with_people().of_person(" people-secret") == ("hub/codex", "hub/claude")
    assert with_people().of_person("ada-secret") == ("assistant/ada",)


@pytest.mark.parametrize("token", [*PROGRAMS.values(), "", "local", "people-secre"])
def test_beside_people_no_token_of_a_program_sees_or_answers(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        with_people().of_person(token)


def test_programs_ask_each_in_its_own_scope_and_people_do_not_ask() -> None:
    assert with_people().of_token("codex-secret") == with_people().of_caller("token/codex") == "hub/codex"
    with pytest.raises(TokenRefusedError):
        with_people().of_token("people-secret")


def test_without_a_token_for_people_a_program_answers_what_it_asked() -> None:
    assert Scopes({}, PROGRAMS, open_to_all=False).of_person("codex-secret") == ("hub/codex",)


def test_a_token_for_people_lets_no_other_token_in() -> None:
    for token in ("any", "local"):
        with pytest.raises(TokenRefusedError):
            Scopes({}, {}, open_to_all=True, page_token="people-secret").of_token(token)


def test_people_tell_the_same_id_of_two_programs_apart() -> None:
    scopes = with_people()
    seen = scopes.of_person("people-secret")
    same = [Inquiry(Question(scope, "1", "question", "Deploy?"), 1, 0.0, "waiting") for scope in seen]
    shown = [scopes.shown(record).question.id for record in same]
    assert shown[0] != shown[1]
    assert [scopes.key_of(seen, each) for each in shown] == [("hub/codex", "1"), ("hub/claude", "1")]
    assert scopes.key_of(seen, "1") is None


def test_an_id_that_imitates_another_programs_stays_its_own() -> None:
    scopes = with_people()
    seen = scopes.of_person("people-secret")
    of_claude = scopes.shown(Inquiry(Question("hub/claude", "1", "question", "?"), 1, 0.0, "waiting")).question.id
    imitated = Inquiry(Question("hub/codex", of_claude, "question", "?"), 2, 0.0, "waiting")
    assert scopes.key_of(seen, scopes.shown(imitated).question.id) == ("hub/codex", of_claude)


def test_who_sees_one_scope_sees_its_ids_as_they_are() -> None:
    record = Inquiry(Question("assistant/ada", "1.2", "question", "?"), 1, 0.0, "waiting")
    assert with_people().shown(record) == record
    assert with_people().key_of(("assistant/ada",), "1.2") == ("assistant/ada", "1.2")
