"""Which token stands for whose questions."""

import pytest

from nanobot_transcript.errors import TokenRefusedError
from transcript_mcp.assistant.scopes import Scopes


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
