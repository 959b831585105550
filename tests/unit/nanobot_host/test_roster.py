"""Names of people who were never mentioned."""

import threading
import warnings
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from support.needs import needs
from support.waiting import PATIENCE, until

from nanobot_transcript.entry import Ids
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.nanobot_host.roster import Roster

pytestmark = [pytest.mark.host, needs("lark_oapi")]

ADA: Ids = {"union_id": "on_ada", "open_id": "ou_ada"}


class Lists:
    """The SDK's ``client.im.v1.chat_members`` over pages of (id, name)."""

    def __init__(self, *pages: list[tuple[str, str]], code: int = 0) -> None:
        self.pages: list[list[tuple[str, str]]] = list(pages)
        self.code = code
        self.asked: list[Any] = []
        self.answers: threading.Event = threading.Event()
        self.answers.set()
        self.title = "Releases"
        self.titles: list[str] = []
        self.broken = False
        chat = SimpleNamespace(get=self.get_chat)
        self.client = SimpleNamespace(im=SimpleNamespace(v1=SimpleNamespace(chat_members=self, chat=chat)))

    def get_chat(self, request: Any) -> Any:
        self.titles.append(request.chat_id)
        if self.broken:
            raise ConnectionError("no network")
        known = SimpleNamespace(name=self.title)
        return SimpleNamespace(success=lambda: bool(self.title), data=known if self.title else None)

    def get(self, request: Any) -> Any:
        number = int(request.page_token or 0)
        self.asked.append((request.chat_id, request.member_id_type))
        assert self.answers.wait(PATIENCE)
        if self.code:
            return SimpleNamespace(success=lambda: False, code=self.code, msg="no scope")
        items = [SimpleNamespace(member_id=member_id, name=name) for member_id, name in self.pages[number]]
        more = number + 1 < len(self.pages)
        data = SimpleNamespace(items=items, has_more=more, page_token=str(number + 1) if more else "")
        return SimpleNamespace(success=lambda: True, data=data)


class Clock:
    """Seconds that pass when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module", autouse=True)
def sdk() -> None:
    """Imported once, before anybody waits for it: that takes longer than a turn waits for names."""
    with warnings.catch_warnings(action="ignore"):  # older ones import what is deprecated
        import_module("lark_oapi")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def members(tmp_path: Any) -> MemberDirectory:
    return FileMembers(tmp_path)


async def learn(roster: Roster, chat_id: str, sender: str, ids: Ids) -> None:
    roster.ask(chat_id, "cli_a", sender, ids)
    await roster.told(chat_id)


async def test_all_pages_are_read_and_asked_for_once(members: MemberDirectory) -> None:
    lists = Lists([("on_ada", "Ada")], [("on_bo", "Bo"), ("on_x", "")])
    roster = Roster(members, lambda app_id: lists.client)
    await learn(roster, "oc_1", "on_ada", ADA)
    assert (members.name_of("on_ada"), members.name_of("on_bo"), members.name_of("on_x")) == ("Ada", "Bo", None)
    await learn(roster, "oc_1", "on_new", {"union_id": "on_new"})
    assert lists.asked == [("oc_1", "union_id"), ("oc_1", "union_id")]


def hear(roster: Roster, app_id: str = "cli_a", chat_id: str = "oc_1") -> None:
    """A message comes in; what is asked for because of it is answered."""
    roster.heard(chat_id, app_id)
    for thread in threading.enumerate():
        if thread.name == "group-transcript-title":
            thread.join(PATIENCE)


async def test_each_bot_asks_once_what_a_group_is_called_and_again_after_a_day(
    members: MemberDirectory, clock: Clock
) -> None:
    lists = Lists(code=99991672)  # the list of its people is refused
    roster = Roster(members, lambda app_id: lists.client, clock)
    for _ in range(3):
        hear(roster)
        hear(roster, "cli_b")
    hear(roster, chat_id="oc_2")
    assert lists.titles == ["oc_1", "oc_1", "oc_2"]
    assert members.title_of("feishu:oc_1") == "Releases"
    lists.title = "发布群"
    clock.now += 86_401
    hear(roster)
    assert members.title_of("feishu:oc_1") == "发布群"
    assert lists.asked == []


@pytest.mark.parametrize("broken", [False, True])
async def test_what_a_group_is_called_is_asked_again_after_some_minutes_where_that_failed(
    members: MemberDirectory, clock: Clock, broken: bool
) -> None:
    lists = Lists()
    lists.title, lists.broken = "", broken
    roster = Roster(members, lambda app_id: lists.client, clock)
    for _ in range(60):
        hear(roster)
        clock.now += 60
    assert len(lists.titles) == 4  # at once, after 5, 15 and 35 minutes
    assert members.title_of("feishu:oc_1") is None
    lists.title, lists.broken = "发布群", False
    clock.now += 6 * 3600
    hear(roster)
    assert members.title_of("feishu:oc_1") == "发布群"


async def test_somebody_who_joined_is_asked_for_ten_minutes_after_the_last_question(
    members: MemberDirectory, clock: Clock
) -> None:
    lists = Lists([("on_ada", "Ada")])
    roster = Roster(members, lambda app_id: lists.client, clock)
    await learn(roster, "oc_1", "on_ada", ADA)
    lists.pages = [[("on_ada", "Ada"), ("on_dee", "Dee")]]
    await learn(roster, "oc_1", "on_dee", {"union_id": "on_dee"})
    assert members.name_of("on_dee") is None
    clock.now += 601
    await learn(roster, "oc_1", "on_dee", {"union_id": "on_dee"})
    assert members.name_of("on_dee") == "Dee"
    assert len(lists.asked) == 2


async def test_somebody_who_is_not_on_the_list_is_asked_for_every_six_hours(
    members: MemberDirectory, clock: Clock
) -> None:
    lists = Lists([("on_ada", "Ada")])
    roster = Roster(members, lambda app_id: lists.client, clock)
    for _ in range(36):
        await learn(roster, "oc_1", "on_guest", {"union_id": "on_guest"})
        clock.now += 601
    assert len(lists.asked) == 1
    await learn(roster, "oc_2", "on_guest", {"union_id": "on_guest"})
    assert len(lists.asked) == 2
    await learn(roster, "oc_1", "on_guest", {"union_id": "on_guest"})
    assert len(lists.asked) == 3


async def test_a_group_whose_list_is_refused_is_asked_for_every_six_hours(
    members: MemberDirectory, clock: Clock
) -> None:
    lists = Lists(code=99991672)
    roster = Roster(members, lambda app_id: lists.client, clock)
    for number in range(35):
        await learn(roster, "oc_1", f"on_{number}", {"union_id": f"on_{number}"})
        clock.now += 601
    assert len(lists.asked) == 1
    clock.now += 601
    await learn(roster, "oc_1", "on_ada", ADA)
    assert len(lists.asked) == 2


async def test_a_failure_of_the_network_is_asked_again_after_five_minutes(
    members: MemberDirectory, clock: Clock
) -> None:
    lists = Lists()  # no page: the call raises
    roster = Roster(members, lambda app_id: lists.client, clock)
    await learn(roster, "oc_1", "on_ada", ADA)
    clock.now += 299
    await learn(roster, "oc_1", "on_ada", ADA)
    assert len(lists.asked) == 1
    clock.now += 2
    lists.pages = [[("on_ada", "Ada")]]
    await learn(roster, "oc_1", "on_ada", ADA)
    assert members.name_of("on_ada") == "Ada"


async def test_somebody_known_is_not_asked_for(members: MemberDirectory) -> None:
    members.remember_person("on_ada", "Ada")
    lists = Lists([("on_bo", "Bo")])
    roster = Roster(members, lambda app_id: lists.client)
    await learn(roster, "oc_1", "on_ada", ADA)
    assert lists.asked == []
    await learn(roster, "oc_1", "on_bo", {"union_id": "on_bo"})
    assert members.name_of("on_bo") == "Bo"


@pytest.mark.parametrize(
    ("sender", "ids", "kind"),
    [
        ("on_ada", ADA, "union_id"),
        ("u_ada", {"user_id": "u_ada", "open_id": "ou_ada"}, "user_id"),
        ("ou_ada", {"open_id": "ou_ada"}, "open_id"),
    ],
)
async def test_the_list_is_asked_for_by_the_id_that_is_the_sender(
    members: MemberDirectory, sender: str, ids: Ids, kind: str
) -> None:
    lists = Lists([(sender, "Ada")])
    await learn(Roster(members, lambda app_id: lists.client), "oc_1", sender, ids)
    assert lists.asked == [("oc_1", kind)]
    assert members.name_of(sender) == "Ada"


async def test_a_refusal_is_said_once_with_the_scope_to_grant(
    members: MemberDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    lists = Lists(code=99991672)
    roster = Roster(members, lambda app_id: lists.client)
    await learn(roster, "oc_1", "on_ada", ADA)
    await learn(roster, "oc_2", "on_ada", ADA)
    assert caplog.text.count("im:chat.members:read") == 1


async def test_before_there_is_a_client_nothing_is_asked(members: MemberDirectory) -> None:
    await learn(Roster(members, lambda app_id: None), "oc_1", "on_ada", ADA)
    assert members.name_of("on_ada") is None


@pytest.mark.parametrize("client", [object(), SimpleNamespace(im=None), SimpleNamespace(im=SimpleNamespace())])
async def test_a_client_that_cannot_list_members_harms_nobody(
    members: MemberDirectory, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    roster = Roster(members, lambda app_id: client)
    hear(roster)
    await learn(roster, "oc_1", "on_ada", ADA)
    assert (members.name_of("on_ada"), caplog.text) == (None, "")


async def test_a_broken_answer_is_logged_and_ends_the_wait(
    members: MemberDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    lists = Lists()  # no page at all
    await learn(Roster(members, lambda app_id: lists.client), "oc_1", "on_ada", ADA)
    assert len(lists.asked) == 1
    assert "people are shown by id for now" in caplog.text


async def test_an_answer_that_does_not_come_is_waited_for_once(members: MemberDirectory) -> None:
    lists = Lists([("on_ada", "Ada")])
    lists.answers.clear()
    roster = Roster(members, lambda app_id: lists.client)
    roster.patience = 0.01
    await learn(roster, "oc_1", "on_ada", ADA)
    assert members.name_of("on_ada") is None
    roster.patience = 3600.0
    await learn(roster, "oc_1", "on_ada", ADA)
    lists.answers.set()
    await until(lambda: members.name_of("on_ada") == "Ada")
    assert lists.asked == [("oc_1", "union_id")]
