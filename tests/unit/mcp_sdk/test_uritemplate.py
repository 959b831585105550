"""URI templates: which URIs belong to one, and with which values."""

import pytest

from transcript_mcp.sdk.uritemplate import UriTemplate, canonical

INBOX = UriTemplate.parse("resource://inbox/{agent}{?project,limit}")


@pytest.mark.parametrize(
    ("uri", "values"),
    [
        ("resource://inbox/ada", {"agent": "ada"}),
        ("resource://inbox/ada?project=%2Fsrv%2Fx&limit=3", {"agent": "ada", "project": "/srv/x", "limit": "3"}),
        ("resource://inbox/ada?limit=3&project=/srv/x", {"agent": "ada", "project": "/srv/x", "limit": "3"}),
        ("resource://inbox/ada?limit=", {"agent": "ada", "limit": ""}),
        ("resource://inbox/ada?other=1", {"agent": "ada", "other": "1"}),
        ("resource://inbox/ada?agent=bo", {"agent": "ada", "?agent": "bo"}),
        ("resource://inbox/%E5%B0%8F%E6%98%8E", {"agent": "小明"}),
        ("resource://inbox/小明", {"agent": "小明"}),
        ("resource://inbox/a%20b", {"agent": "a b"}),
        ("resource://inbox/a%2Fb", {"agent": "a/b"}),
        ("resource://inbox/100%2541", {"agent": "100%41"}),
        ("resource://inbox/ada#top", {"agent": "ada"}),
        ("resource://inbox/%FF", {"agent": "\N{REPLACEMENT CHARACTER}"}),
    ],
)
def test_values_are_found_and_decoded_once(uri: str, values: dict[str, str]) -> None:
    assert INBOX.match(uri) == values


@pytest.mark.parametrize(
    "uri", ["resource://inbox/", "resource://inbox", "resource://inbox/a/b", "resource://outbox/ada", "", "inbox/ada"]
)
def test_a_uri_of_another_form_does_not_match(uri: str) -> None:
    assert INBOX.match(uri) is None


@pytest.mark.parametrize("text", ["file:///{+path}", "file:///{path*}"])
def test_a_path_expression_takes_slashes(text: str) -> None:
    assert UriTemplate.parse(text).match("file:///a/b%20c") == {"path": "a/b c"}


def test_several_values_of_one_path_are_told_apart() -> None:
    template = UriTemplate.parse("mail://{project}/threads/{thread}.md")
    assert template.match("mail://p/threads/t.1.md") == {"project": "p", "thread": "t.1"}


def test_literal_text_matches_however_the_client_escapes_it() -> None:
    template = UriTemplate.parse("wiki://群/{name}")
    assert template.match("wiki://%E7%BE%A4/a") == template.match("wiki://群/a") == {"name": "a"}


@pytest.mark.parametrize(
    "text", ["a://{", "a://}", "a://{x", "a://{x}/{x}", "a://{x}{?x}", "a://{#x}", "a://{?a-b}", "a://{}"]
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a://|brace"):
        UriTemplate.parse(text)


def test_one_spelling_stands_for_all() -> None:
    assert canonical("a://x/小") == canonical("a://x/%e5%b0%8f") == canonical("a://x/%E5%B0%8F")
    assert canonical("a://x/%2F") != canonical("a://x//")
    assert canonical(canonical("a://x/1%25?q=%26")) == canonical("a://x/1%25?q=%26")
