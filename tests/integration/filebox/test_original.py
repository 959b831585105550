"""Our mail and that of the original FileBox program: each reads, answers and resolves the other's."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.mailboxes import Office
from support.original_filebox import OriginalFileBox, fetch

from transcript_mcp.filebox import ConfigSource, FileBox, Hooks, Mailbox
from transcript_mcp.filebox.thread import entries
from transcript_mcp.filebox.values import BOXES

Start = Callable[..., OriginalFileBox]
RECORDED = Path(__file__).resolve().parents[2] / "data" / "filebox" / "shared-1.0"
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
BUG = """
在Chrome浏览器中发现验证码图片无法正常显示。

**复现步骤：**
1. 打开登录页面
2. 点击验证码图片  \t

## Environment
- Chrome 120.0.6099.129\u3000
"""


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> Path:
    """The original program; kept for the next run."""
    cache = request.config.cache
    assert cache is not None
    return fetch(cache.mkdir("filebox-original"))


@pytest.fixture(params=["folders apart", "one folder"])
def either_office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    """Two agents, apart and in one folder. The newest original knows no mailboxes apart in one folder, as its releases
    up to 1.0.5 did, so for the latter it is given a link to each."""
    shared = request.param == "one folder"
    office = Office(tmp_path, "qa_agent", "dev_agent", shared=shared)
    theirs = office.home / "theirs"
    for agent in office.roots:
        folder = office.folder(agent, "inbox").parent
        folder.mkdir(parents=True, exist_ok=True)
        (theirs / agent / "docs").mkdir(parents=True)
        (theirs / agent / "docs" / "mailbox").symlink_to(folder)
    agents = ", ".join(f'"{agent}": "{theirs / agent}"' for agent in office.roots)
    (office.home / ".filebox").write_text(f'{{"agents": {{{agents}}}}}')
    return office


@pytest.fixture
def start(program: Path, either_office: Office) -> Iterator[Start]:
    """``start("qa_agent")`` is the original program in that agent's folder."""
    with ExitStack() as running:

        def one(agent: str, timezone: str = "UTC") -> OriginalFileBox:
            home = either_office.home
            return running.enter_context(OriginalFileBox(program, home, home / "theirs" / agent, timezone))

        yield one


@pytest.fixture
def dev(either_office: Office) -> Mailbox:
    """Our own mailbox of ``dev_agent``, with a clock that goes as the original's does."""
    source = ConfigSource(cwd=either_office.roots["dev_agent"], home=either_office.home)
    return FileBox(source, hooks=Hooks()).mailbox("dev_agent")


def said(text: str) -> list[tuple[str, str, str]]:
    return [(entry.sender, entry.type, entry.text) for entry in entries(text)]


def normalised(text: str) -> str:
    return TIME.sub("TIME", ID.sub("ID", text))


MAILS = [
    ("登录页面验证码显示异常", BUG),
    ("API performance issue", "text"),
    (" Hello  World: v1.2 ", "a\r\nb\n\n\n"),
    ("mail", "\ufeff\u3000trimmed \x85"),
    ("mail", "## Steps\n\n---\n# BR: not a title\n**Message ID:** x\n===== END ====="),
]


def test_new_mails_have_the_same_bytes_and_the_same_kind_of_name(
    start: Start, dev: Mailbox, either_office: Office
) -> None:
    original, inbox = start("dev_agent"), either_office.folder("qa_agent", "inbox")
    for title, content in MAILS:
        dev.send("qa_agent", "BR", title, content)
        original.send("qa_agent", "BR", title, content)
        ours, theirs = (path.read_bytes().decode() for path in inbox.iterdir())
        assert normalised(ours) == normalised(theirs)
        names = either_office.files("qa_agent", "inbox")
        if title == "API performance issue":
            assert len({re.sub(r"_\d{4}-|-[0-9a-f]{8}\.md", "#", name) for name in names}) == 1
        for name in names:
            (inbox / name).unlink()


def test_a_conversation_between_both_loses_nothing(start: Start, dev: Mailbox, either_office: Office) -> None:
    qa = start("qa_agent", "Asia/Shanghai")
    qa.send("dev_agent", "BR", "登录页面验证码显示异常", BUG)
    (mail,) = dev.page("inbox", unread=True).mails
    assert (mail.title, mail.sender, mail.problem) == ("登录页面验证码显示异常", "qa_agent", "")
    for number in range(4):
        dev.send("qa_agent", "ACK", "", f"ours {number}", mail.id)
        assert said(qa.read("inbox", mail.file))[0] == ("dev_agent", "ACK", f"ours {number}")
        qa.send("dev_agent", "INFO", "ignored", f"theirs {number}", mail.id)
        assert [unread.id for unread in dev.page("inbox", unread=True).mails] == [mail.id]
        assert said(dev.read("inbox", mail.file).text)[0] == ("qa_agent", "INFO", f"theirs {number}")
    dev.send("qa_agent", "ACK", "", "done", mail.id)
    expected = ["done", *(f"{who} {n}" for n in range(3, -1, -1) for who in ("theirs", "ours")), BUG.strip("\n \u3000")]
    assert [text for _, _, text in said(qa.read("inbox", mail.file))] == expected
    assert either_office.everywhere("dev_agent") == [("outbox", mail.file)]
    assert either_office.everywhere("qa_agent") == [("inbox", mail.file)]


def test_two_answers_of_the_original_in_a_row_are_kept_though_it_builds_on_an_old_copy(
    start: Start, dev: Mailbox
) -> None:
    qa = start("qa_agent")
    sent = dev.send("qa_agent", "BR", "slow", "first")
    qa.send("dev_agent", "ACK", "", "second", sent.id)
    qa.send("dev_agent", "INFO", "", "third", sent.id)
    dev.send("qa_agent", "INFO", "", "fourth", sent.id)
    assert [text for _, _, text in said(qa.read("inbox", sent.file))] == ["fourth", "third", "second", "first"]


def test_the_original_sees_our_mail_and_nothing_else_in_the_boxes(
    start: Start, dev: Mailbox, either_office: Office
) -> None:
    qa, theirs = start("qa_agent"), start("dev_agent")
    sent = [dev.send("qa_agent", "INFO", f"mail {number}", "text") for number in range(3)]
    dev.send("qa_agent", "INFO", "", "more", sent[0].id)
    qa.send("dev_agent", "INFO", "theirs", "text")
    dev.read("inbox", dev.names("inbox")[0])
    assert sorted(qa.names("inbox")) == sorted(mail.file for mail in sent)
    assert sorted(theirs.names("outbox")) == sorted(mail.file for mail in sent)
    assert theirs.names("inbox") == dev.names("inbox")
    for box in BOXES:
        assert sorted(theirs.names(box)) == sorted(dev.names(box)) == either_office.files("dev_agent", box)


def test_each_resolves_and_rejects_the_others_mail(start: Start, dev: Mailbox, either_office: Office) -> None:
    qa = start("qa_agent")
    ours = [dev.send("qa_agent", "INFO", "ours", "text").file for _ in range(2)]
    for number in range(2):
        qa.send("dev_agent", "INFO", f"theirs {number}", "text")
    theirs = dev.names("inbox")
    assert qa.call("filebox_resolve_message", filename=ours[0]) == "Message resolved"
    assert qa.call("filebox_reject_message", filename=ours[1]) == "Message rejected"
    dev.resolve(theirs[0])
    dev.reject(theirs[1])
    for agent, names in (("qa_agent", ours), ("dev_agent", theirs)):
        assert either_office.files(agent, "done") == [names[0]]
        assert either_office.files(agent, "cancel") == [names[1]]
        assert either_office.files(agent, "inbox") == []


def test_the_original_answers_what_we_have_resolved(start: Start, dev: Mailbox) -> None:
    qa = start("qa_agent")
    qa.send("dev_agent", "BR", "slow", "first")
    (mail,) = dev.page("inbox").mails
    dev.resolve(mail.file)
    qa.send("dev_agent", "INFO", "", "second", mail.id)
    dev.resolve(mail.file)
    assert [entry.text for entry in dev.thread(mail.id).entries] == ["second", "first"]
    dev.send("qa_agent", "ACK", "", "third", mail.id)
    assert [text for _, _, text in said(qa.read("inbox", mail.file))] == ["third", "second", "first"]


# -- what an older release left, without the program


@pytest.fixture
def recorded(tmp_path: Path) -> FileBox:
    """The mailboxes of three agents in one folder, as release 1.0 left them."""
    root = tmp_path / "shared"
    shutil.copytree(RECORDED, root)
    names = ("qa_agent", "frontend_agent", "backend_agent")
    agents = ", ".join(f'"{name}": "{root}"' for name in names)
    (root / ".filebox").write_text(f'{{"current_agent": "qa_agent", "agents": {{{agents}}}}}')
    return FileBox(ConfigSource(cwd=root, home=tmp_path), hooks=Hooks())


def test_mail_of_an_older_release_is_read(recorded: FileBox) -> None:
    qa = recorded.mailbox()
    info, bug = qa.page("inbox").mails
    assert (info.title, info.type, info.sender) == (" Hello  World ", "INFO", "backend_agent")
    assert (bug.title, bug.sender, bug.original_sender) == ("登录页面验证码显示异常", "frontend_agent", "qa_agent")
    assert [(kind, text[:7]) for _, kind, text in said(qa.read("inbox", bug.file).text)] == [
        ("ACK", "已确认问题，开"),
        ("BR", "在Chrome"),
    ]
    assert [mail.title for mail in recorded.mailbox("backend_agent").page("done").mails] == [
        "Faster API: users endpoint"
    ]


def test_mail_of_an_older_release_is_answered_and_what_it_left_behind_goes(recorded: FileBox) -> None:
    qa, frontend = recorded.mailbox(), recorded.mailbox("frontend_agent")
    bug = qa.page("inbox").mails[1]
    qa.send("frontend_agent", "INFO", "", "thanks", bug.id)
    assert [entry.text[:5] for entry in frontend.thread(bug.id).entries] == ["thank", "已确认问题", "在Chro"]
    assert frontend.names("inbox") == qa.names("outbox") == [bug.file]
    assert bug.file not in [*qa.names("inbox"), *frontend.names("outbox")]


def test_mail_of_an_older_release_is_resolved_and_found(recorded: FileBox) -> None:
    qa = recorded.mailbox()
    info = qa.page("inbox").mails[0]
    assert qa.resolve(info.file).id == info.id
    assert recorded.mailbox("backend_agent").thread(info.id).entries[0].text == "Windows\r\nline ends"
