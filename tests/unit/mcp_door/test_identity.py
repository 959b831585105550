"""Who somebody is by a token, and what that opens."""

import pytest

from nanobot_transcript.errors import TokenRefusedError
from transcript_mcp.door.errors import RequestError
from transcript_mcp.door.identity import Caller, Entrance, Tokens, require

TOKEN = "0123456789abcdef"
PROGRAM = Caller("program", "laptop", ("hub/laptop",))


def kept_out(tokens: Tokens, authorization: str | None, entrance: Entrance | None = None) -> int | None:
    """The status with which a request is refused; None when its caller is known."""
    try:
        tokens.authenticate(authorization, entrance)
    except RequestError as error:
        return error.status
    return None


def opens(caller: Caller, entrance: Entrance, *servers: str) -> bool:
    try:
        require(caller, entrance, servers)
    except RequestError as error:
        return error.status != 403
    return True


# -- requests


def test_without_tokens_anybody_on_this_machine_comes_in() -> None:
    tokens = Tokens(local=True)
    assert not tokens.needs_token
    assert tokens.authenticate(None) == Caller()
    for entrance in ("mcp", "programs", "pages", "about"):
        assert opens(Caller(), entrance, "mail")


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer   {TOKEN}", f"BEARER {TOKEN} "])
def test_a_token_says_who_it_is(given: str) -> None:
    assert Tokens({"laptop": TOKEN}).authenticate(given) == PROGRAM


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer 0123456789abcdeg", "Bearer \udc80é"]
)
def test_anything_else_is_refused(given: str | None) -> None:
    assert kept_out(Tokens({"laptop": TOKEN}), given) == 401


def test_an_agents_token_opens_its_mailbox_only() -> None:
    caller = Tokens({"laptop": TOKEN}, {"qa_agent": TOKEN + "2"}).authenticate(f"Bearer {TOKEN}2")
    assert caller == Caller("agent", "qa_agent")
    assert opens(caller, "mcp", "filebox")
    for servers in (["transcript"], ["filebox", "transcript"], []):
        assert not opens(caller, "mcp", *servers)
    for entrance in ("programs", "pages", "about"):
        assert not opens(caller, entrance)


def test_with_an_agents_token_alone_nobody_else_comes_in() -> None:
    assert kept_out(Tokens(agents={"qa_agent": TOKEN}), None) == 401


def test_a_token_of_the_questions_opens_them_alone() -> None:
    tokens = Tokens({"laptop": TOKEN}, askers={"ada": TOKEN + "3"})
    assert kept_out(tokens, f"Bearer {TOKEN}3") == 401
    caller = tokens.authenticate(f"Bearer {TOKEN}3", "about")
    assert caller == Caller("asker", "ada", ("assistant/ada",))
    for servers in (["assistant"], ["filebox"], ["assistant", "transcript"], []):
        assert not opens(caller, "mcp", *servers)
    assert opens(caller, "about")
    assert not opens(caller, "pages")
    assert tokens.authenticate(f"Bearer {TOKEN}", "about") == PROGRAM
    for wrong in (None, "Bearer ", f"Bearer {TOKEN}4", f"Basic {TOKEN}3"):
        assert kept_out(tokens, wrong, "about") == 401


def test_a_token_that_also_stands_elsewhere_is_no_token_of_the_questions() -> None:
    both = {"ada": TOKEN, "bo": TOKEN + "2"}
    tokens = Tokens({"laptop": TOKEN}, {"qa_agent": TOKEN + "2"}, both)
    assert tokens.authenticate(f"Bearer {TOKEN}", "about") == PROGRAM
    assert tokens.authenticate(f"Bearer {TOKEN}2", "about") == Caller("agent", "qa_agent")


def test_a_token_of_an_agent_and_a_program_is_the_agents() -> None:
    assert Tokens({"laptop": TOKEN}, {"qa_agent": TOKEN}).authenticate(f"Bearer {TOKEN}") == Caller("agent", "qa_agent")


def test_blanks_around_the_token_of_people_do_not_matter() -> None:
    assert Tokens(page=" people ").authenticate("Bearer people", "pages").kind == "person"


def test_tokens_of_the_questions_do_not_close_a_hub() -> None:
    tokens = Tokens(askers={"ada": TOKEN}, local=True)
    assert not tokens.needs_token
    for given in (None, f"Bearer {TOKEN}", "Bearer other"):
        assert tokens.authenticate(given, "about") == Caller()


def test_people_open_the_pages_and_nothing_that_programs_use() -> None:
    person = Tokens({"laptop": TOKEN}, page="people").authenticate("Bearer people", "pages")
    assert person == Caller("person", "page", ("hub/laptop",))
    assert opens(person, "pages")
    assert opens(person, "about")
    assert not opens(person, "mcp", "mail")
    assert not opens(person, "programs")
    assert not opens(PROGRAM, "pages")


@pytest.mark.parametrize("caller", [PROGRAM, Caller("agent", "qa_agent")])
def test_a_caller_is_known_by_its_text(caller: Caller) -> None:
    assert Caller.of_text(caller.text or "") == caller


# -- whose questions


def test_a_token_stands_for_its_owner() -> None:
    tokens = Tokens({"laptop": "hub-secret"}, askers={"ada": "ada-secret"}, local=True)
    assert tokens.asking("ada-secret").scopes == ("assistant/ada",)
    assert tokens.asking(" hub-secret ").scopes == ("hub/laptop",)


@pytest.mark.parametrize("token", ["", "local", "ada-secre", "ada-secret2", "ada", "\ud800", "x" * 5000])
def test_where_tokens_are_given_no_other_is_let_in(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        Tokens(askers={"ada": "ada-secret"}, local=True).asking(token)


@pytest.mark.parametrize("token", ["", "  "])
def test_no_token_fits_none_that_is_empty(token: str) -> None:
    """Settings may hold one that an empty variable has left."""
    tokens = Tokens({"laptop": ""}, {"qa_agent": ""}, {"ada": ""}, " ")
    assert kept_out(tokens, f"Bearer {token}", "about") == 401
    for asked in (tokens.asking, tokens.answering):
        with pytest.raises(TokenRefusedError):
            asked(token)


def test_without_any_every_token_has_a_scope_of_its_own() -> None:
    tokens = Tokens(local=True)
    assert tokens.asking("test-token") == tokens.asking("test-token")
    assert tokens.asking("test-token") != tokens.asking("local")
    assert "test-token" not in tokens.asking("test-token").scopes[0]
    with pytest.raises(TokenRefusedError) as refused:
        tokens.asking("  ")
    assert "any token" in refused.value.hint


@pytest.mark.parametrize("tokens", [Tokens(), Tokens(agents={"qa_agent": TOKEN}, local=True)])
def test_what_others_reach_needs_a_known_token(tokens: Tokens) -> None:
    with pytest.raises(TokenRefusedError):
        tokens.asking("test-token")


def test_who_calls_without_a_token_has_the_scope_of_the_local_one() -> None:
    free = Tokens(local=True)
    assert free.asks_in(None) == free.asks_in(Caller()) == free.asking("local").scopes[0]
    named = Tokens(askers={"ada": "ada-secret", "local": "person-secret"}, local=True)
    assert named.asks_in(None) == named.asking("person-secret").scopes[0]
    assert Tokens(askers={"ada": "ada-secret"}, local=True).asks_in(None) == "assistant/ada"


def test_one_token_under_two_names_is_one_scope() -> None:
    tokens = Tokens({"laptop": "the-secret"}, askers={"ada": "the-secret"})
    assert tokens.asking("the-secret").scopes[0] == tokens.asks_in(tokens.authenticate("Bearer the-secret"))


PROGRAMS = {"codex": "codex-secret", "claude": "claude-secret"}


def with_people() -> Tokens:
    return Tokens(PROGRAMS, askers={"ada": "ada-secret"}, page="people-secret", local=True)


def test_people_see_what_was_asked_with_any_token_of_a_program() -> None:
    assert with_people().answering(" people-secret").scopes == ("hub/codex", "hub/claude")
    assert with_people().answering("ada-secret").scopes == ("assistant/ada",)


@pytest.mark.parametrize("token", [*PROGRAMS.values(), "", "local", "people-secre"])
def test_beside_people_no_token_of_a_program_sees_or_answers(token: str) -> None:
    with pytest.raises(TokenRefusedError):
        with_people().answering(token)


def test_programs_ask_each_in_its_own_scope_and_people_do_not_ask() -> None:
    tokens = with_people()
    assert tokens.asking("codex-secret").scopes == ("hub/codex",)
    assert tokens.asks_in(tokens.authenticate("Bearer codex-secret")) == "hub/codex"
    with pytest.raises(TokenRefusedError):
        tokens.asking("people-secret")


def test_without_a_token_for_people_a_program_answers_what_it_asked() -> None:
    assert Tokens(PROGRAMS).answering("codex-secret").scopes == ("hub/codex",)


def test_a_token_for_people_lets_no_other_token_in() -> None:
    for token in ("any", "local"):
        with pytest.raises(TokenRefusedError):
            Tokens(page="people-secret", local=True).answering(token)


def test_who_needs_no_token_sees_on_the_pages_what_the_shown_token_sees() -> None:
    tokens = Tokens(askers={"ada": "ada-secret"}, local=True)
    assert tokens.authenticate("Bearer ada-secret", "pages") == Caller(scopes=("assistant/ada",))
    assert tokens.authenticate("Bearer other", "pages") == Caller()
    free = Tokens(local=True)
    assert free.authenticate(None, "pages").scopes == free.asking("local").scopes
