"""Names of people who were never mentioned."""

from types import SimpleNamespace
from typing import Any

import pytest

from nanobot_transcript.entry import Ids
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.nanobot_host.roster import Roster

pytest.importorskip("lark_oapi")
pytestmark = pytest.mark.host

ADA: Ids = {"union_id": "on_ada", "open_id": "ou_ada"}


class Lists:
    """The SDK's ``client.im.v1.chat_members`` over pages of (id, name)."""

    def __init__(self, *pages: list[tuple[str, str]], code: int = 0) -> None:
        self.pages, self.code = pages, code
        self.asked: list[Any] = []
        self.client = SimpleNamespace(im=SimpleNamespace(v1=SimpleNamespace(chat_members=self)))

    def get(self, request: Any) -> Any:
        number = int(request.page_token or 0)
        self.asked.append((request.chat_id, request.member_id_type))
        if self.code:
            return SimpleNamespace(success=lambda: False, code=self.code, msg="no scope")
        items = [SimpleNamespace(member_id=member_id, name=name) for member_id, name in self.pages[number]]
        more = number + 1 < len(self.pages)
        data = SimpleNamespace(items=items, has_more=more, page_token=str(number + 1) if more else "")
        return SimpleNamespace(success=lambda: True, data=data)


@pytest.fixture
def members(tmp_path: Any) -> MemberDirectory:
    return MemberDirectory(tmp_path)


def test_all_pages_are_read_and_asked_for_once(members: MemberDirectory) -> None:
    lists = Lists([("on_ada", "Ada")], [("on_bo", "Bo"), ("on_x", "")])
    roster = Roster(members, lambda app_id: lists.client)
    roster.learn("oc_1", "cli_a", "on_ada", ADA)
    assert (members.name_of("on_ada"), members.name_of("on_bo"), members.name_of("on_x")) == ("Ada", "Bo", None)
    roster.learn("oc_1", "cli_a", "on_new", {"union_id": "on_new"})
    assert lists.asked == [("oc_1", "union_id"), ("oc_1", "union_id")]


def test_somebody_known_is_not_asked_for(members: MemberDirectory) -> None:
    members.remember_person("on_ada", "Ada")
    lists = Lists([])
    Roster(members, lambda app_id: lists.client).learn("oc_1", "cli_a", "on_ada", ADA)
    assert lists.asked == []


@pytest.mark.parametrize(
    ("sender", "ids", "kind"),
    [
        ("on_ada", ADA, "union_id"),
        ("u_ada", {"user_id": "u_ada", "open_id": "ou_ada"}, "user_id"),
        ("ou_ada", {"open_id": "ou_ada"}, "open_id"),
    ],
)
def test_the_list_is_asked_for_by_the_id_that_is_the_sender(
    members: MemberDirectory, sender: str, ids: Ids, kind: str
) -> None:
    lists = Lists([(sender, "Ada")])
    Roster(members, lambda app_id: lists.client).learn("oc_1", "cli_a", sender, ids)
    assert lists.asked == [("oc_1", kind)]
    assert members.name_of(sender) == "Ada"


def test_a_refusal_is_said_once_with_the_scope_to_grant(
    members: MemberDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    lists = Lists(code=99991672)
    roster = Roster(members, lambda app_id: lists.client)
    roster.learn("oc_1", "cli_a", "on_ada", ADA)
    roster.learn("oc_2", "cli_a", "on_ada", ADA)
    assert caplog.text.count("im:chat.members:read") == 1


def test_before_there_is_a_client_nothing_is_asked(members: MemberDirectory) -> None:
    Roster(members, lambda app_id: None).learn("oc_1", "cli_a", "on_ada", ADA)
    assert members.name_of("on_ada") is None
