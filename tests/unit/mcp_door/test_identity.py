import pytest

from nanobot_transcript.errors import ConfigError
from transcript_mcp.door.identity import Access, Caller, Refusal, is_loopback

TOKEN = "0123456789abcdef"


def refused(answer: object, status: int) -> bool:
    return isinstance(answer, Refusal) and answer.status == status


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "LOCALHOST:1", "[::1]:8765", "[::1]", "::1"])
def test_this_machine_may_be_addressed_by_its_own_names(host: str) -> None:
    assert Access("127.0.0.1").refuse_address(host, None) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost.evil",
        "[",
        "[::1]evil",
        "[::1",
        "[::1]:x",
        "localhost:x@evil",
        "user@localhost",
        "localhost:",
        "localhost:1:2",
        "127.0.0.1 evil",
    ],
)
def test_another_name_is_refused(host: str | None) -> None:
    assert refused(Access("127.0.0.1").refuse_address(host, None), 421)


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "[::1]", "LocalHost"])
def test_the_configured_host_is_known(host: str) -> None:
    named = f"[{host.strip('[]')}]" if ":" in host else host
    assert Access(host).refuse_address(f"{named}:8765", f"http://{named}:8765".lower()) is None


def test_a_configured_name_is_known() -> None:
    assert Access("hub.example", {"me": TOKEN}).refuse_address("hub.example:8765", None) is None


def test_names_from_the_settings_are_let_in_with_any_port_or_with_theirs() -> None:
    access = Access("127.0.0.1", hosts=["hub.example", "other.example:80"])
    assert access.refuse_address("Hub.Example:9000", None) is None
    assert access.refuse_address("other.example:80", None) is None
    assert refused(access.refuse_address("other.example:81", None), 421)


def test_a_hub_for_other_machines_may_be_addressed_by_number_but_not_by_any_name() -> None:
    access = Access("0.0.0.0", {"me": TOKEN})
    assert access.refuse_address("192.168.1.5:8765", None) is None
    assert access.refuse_address("[fe80::1]:8765", None) is None
    assert refused(access.refuse_address("evil.example:8765", None), 421)


def test_the_hubs_own_pages_may_call_it() -> None:
    access = Access("127.0.0.1")
    assert access.refuse_address("localhost:8765", "http://localhost:8765") is None
    assert access.refuse_address("localhost:8765", None) is None


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.example",
        "http://localhost:3000",
        "file://",
        "http://[",
        "http://[x]:1",
        "//localhost:8765",
        "localhost:8765",
        "http://me@localhost:8765",
        "ftp://localhost:8765",
    ],
)
def test_pages_from_elsewhere_may_not(origin: str) -> None:
    assert refused(Access("127.0.0.1").refuse_address("localhost:8765", origin), 403)


def test_a_page_may_call_when_the_settings_say_so() -> None:
    access = Access("127.0.0.1", origins=["https://App.Example/"])
    assert access.refuse_address("localhost:8765", "https://app.example") is None


def test_without_tokens_anybody_on_this_machine_comes_in() -> None:
    access = Access("127.0.0.1")
    assert not access.needs_token
    assert access.caller(None) == Caller()


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer   {TOKEN}", f"BEARER {TOKEN} "])
def test_a_token_says_who_it_is(given: str) -> None:
    assert Access("127.0.0.1", {"laptop": TOKEN}).caller(given) == Caller("laptop")


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer 0123456789abcdeg", "Bearer \udc80é"]
)
def test_anything_else_is_refused(given: str | None) -> None:
    assert refused(Access("127.0.0.1", {"laptop": TOKEN}).caller(given), 401)


def test_an_agents_token_opens_its_mailbox_only() -> None:
    access = Access("127.0.0.1", {"laptop": TOKEN}, {"qa_agent": TOKEN + "2"})
    caller = access.caller(f"Bearer {TOKEN}2")
    assert isinstance(caller, Caller)
    assert caller == Caller("qa_agent", "qa_agent")
    assert caller.may_use(["filebox"])
    assert not caller.may_use(["transcript"])
    assert not caller.may_use(["filebox", "transcript"])
    assert not caller.may_use([])


def test_with_an_agents_token_alone_nobody_else_comes_in() -> None:
    assert refused(Access("127.0.0.1", agent_tokens={"qa_agent": TOKEN}).caller(None), 401)


def test_a_token_of_the_questions_opens_them_alone() -> None:
    access = Access("127.0.0.1", {"laptop": TOKEN}, question_tokens={"ada": TOKEN + "3"})
    assert refused(access.caller(f"Bearer {TOKEN}3"), 401)
    caller = access.caller(f"Bearer {TOKEN}3", questions=True)
    assert isinstance(caller, Caller)
    assert caller == Caller("ada", questions_only=True)
    for servers in (["assistant"], ["filebox"], ["assistant", "transcript"], []):
        assert not caller.may_use(servers)
    assert access.caller(f"Bearer {TOKEN}", questions=True) == Caller("laptop")
    for wrong in (None, "Bearer ", f"Bearer {TOKEN}4", f"Basic {TOKEN}3"):
        assert refused(access.caller(wrong, questions=True), 401)


def test_a_token_that_also_stands_elsewhere_is_no_token_of_the_questions() -> None:
    both = {"ada": TOKEN, "bo": TOKEN + "2"}
    access = Access("127.0.0.1", {"laptop": TOKEN}, {"qa_agent": TOKEN + "2"}, question_tokens=both)
    assert access.caller(f"Bearer {TOKEN}", questions=True) == Caller("laptop")
    assert access.caller(f"Bearer {TOKEN}2", questions=True) == Caller("qa_agent", "qa_agent")


def test_tokens_of_the_questions_neither_close_a_hub_nor_open_it_to_other_machines() -> None:
    access = Access("127.0.0.1", question_tokens={"ada": TOKEN})
    assert not access.needs_token
    for given in (None, f"Bearer {TOKEN}", "Bearer other"):
        assert access.caller(given, questions=True) == Caller()
    with pytest.raises(ConfigError):
        Access("0.0.0.0", question_tokens={"ada": TOKEN})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "hub.example", ""])
def test_an_address_for_other_machines_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Access(host)
    assert "HUB__TOKENS__" in refusal.value.hint
    Access(host, {"me": TOKEN})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_is_known_by_all_its_names(host: str) -> None:
    assert is_loopback(host)
