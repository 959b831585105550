"""Finding mail."""

import pytest
from support.mailboxes import Office

from nanobot_transcript.errors import InvalidMailError
from transcript_mcp.filebox import Mailbox
from transcript_mcp.filebox.search import MailQuery


@pytest.fixture
def dev(office: Office) -> Mailbox:
    qa, dev = office.mailbox("qa_agent"), office.mailbox("dev_agent")
    qa.send("dev_agent", "BR", "登录页面验证码显示异常", "在Chrome浏览器中发现验证码图片无法正常显示。")
    qa.send("dev_agent", "ER", "Faster API", "The users endpoint takes 4 seconds")
    done = qa.send("dev_agent", "BR", "API down", "no ANSWER since noon")
    dev.resolve(done.file)
    dev.send("qa_agent", "INFO", "Release", "the api is released")
    return dev


def titles(mailbox: Mailbox, **query: object) -> list[str]:
    return [found.mail.title for found in mailbox.search(MailQuery(**query))]  # type: ignore[arg-type]


def test_words_are_found_in_any_case_and_box_the_newest_first(dev: Mailbox) -> None:
    assert titles(dev, text="api") == ["Release", "API down", "Faster API"]
    assert titles(dev, text="answer NOON") == ["API down"]
    assert titles(dev, text="api lunch") == []


def test_chinese_of_any_length_is_found(dev: Mailbox) -> None:
    for text in ("码", "图片", "验证码图片"):
        assert titles(dev, text=text) == ["登录页面验证码显示异常"]


def test_headers_narrow_it_down(dev: Mailbox) -> None:
    assert titles(dev, type="BR") == ["API down", "登录页面验证码显示异常"]
    assert titles(dev, sender="dev_agent") == ["Release"]
    assert titles(dev, text="api", boxes=("inbox", "done")) == ["API down", "Faster API"]
    since = dev.page("done").mails[0].time_ms
    assert titles(dev, since_ms=since) == ["Release", "API down"]
    assert len(titles(dev)) == 4


def test_what_is_found_says_where_and_shows_the_words(dev: Mailbox) -> None:
    (found,) = dev.search(MailQuery(text="endpoint"))
    assert found.box == "inbox"
    assert "The users endpoint takes" in found.snippet


def test_the_line_that_was_written_is_shown_and_not_the_header(office: Office) -> None:
    lines = "Hello,\nnothing here\nthe api of dev_agent is slow since noon\nbye"
    office.mailbox("qa_agent").send("dev_agent", "BR", "API of dev_agent", lines)
    dev = office.mailbox("dev_agent")
    for text in ("api", "dev_agent", "noon API", "API noon"):
        assert dev.search(MailQuery(text=text))[0].snippet.startswith("the api of dev_agent is slow since noon")
    (found,) = dev.search(MailQuery(text="original"))
    assert found.snippet.startswith("**Original Sender:** qa_agent")


def test_no_more_are_looked_for_than_asked(dev: Mailbox) -> None:
    assert len(dev.search(MailQuery(text="api"), limit=2)) == 2


def test_a_mail_that_cannot_be_understood_is_found_by_its_words(office: Office, dev: Mailbox) -> None:
    (office.folder("dev_agent", "inbox") / "note.md").write_text("a needle in hay")
    (found,) = dev.search(MailQuery(text="needle"))
    assert found.mail.problem


def test_letters_that_grow_when_folded_do_no_harm(office: Office, dev: Mailbox) -> None:
    office.mailbox("qa_agent").send("dev_agent", "INFO", "mail", "ß" * 300 + " needle İ")
    assert len(dev.search(MailQuery(text="needle i\u0307"))) == 1


def test_a_box_that_does_not_exist_is_an_error(dev: Mailbox) -> None:
    with pytest.raises(InvalidMailError):
        titles(dev, boxes=("sent",))
