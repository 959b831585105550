"""What the platform lists is asked for seldom, and written down for all."""

import asyncio
from pathlib import Path

import pytest

from nanobot_transcript.conversation.lists import Lists
from nanobot_transcript.conversation.people import People
from nanobot_transcript.entry import Ids
from nanobot_transcript.errors import NoAnswerError, NotPermittedError, StoreFullError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.store.member_file import FileMembers
from transcript_channels.feishu.platform import FEISHU

KEY, OTHER = "feishu:oc_1", "feishu:oc_2"
ADA: Ids = {"union_id": "on_ada", "open_id": "ou_ada"}
REFUSED = NotPermittedError("No scope.", hint="Grant im:chat.members:read.")
CUT = NoAnswerError("There is no network.", hint="")


class Platform:
    """``Groups`` of one bot. ``asked`` and ``titles`` are what it was asked for."""

    def __init__(self, **people: str) -> None:
        self.listed: dict[str, str] = {f"on_{key}": name for key, name in people.items()}
        self.name = "Releases"
        self.failure: Exception | None = None
        self.asked: list[tuple[str, str]] = []
        self.titles: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def mine(self) -> dict[str, str]:
        if self.failure is not None:
            raise self.failure
        return {KEY: self.name, OTHER: ""}

    async def people(self, session_key: str, kind: str) -> dict[str, str]:
        self.asked.append((session_key, kind))
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        return self.listed

    async def title(self, session_key: str) -> str:
        self.titles.append(session_key)
        if self.failure is not None:
            raise self.failure
        return self.name


class Office:
    """The lists of one process, whose bot is ``cli_a``, and a clock that stands."""

    def __init__(self, folder: Path, platform: Platform) -> None:
        self.now = 1000.0
        self.members = FileMembers(folder, now=lambda: self.now)
        self.people = People(self.members, FEISHU, {"cli_a": AgentProfile("Alpha")})
        self.unwanted: set[str] = set()
        self.people.introduce("cli_a", open_id="ou_alpha")
        self.lists = Lists(self.people, lambda key: key not in self.unwanted, clock=lambda: self.now)
        self.lists.attend("cli_a", platform)

    async def hear(self, sender: str = "", ids: Ids | None = None, key: str = KEY) -> None:
        """A message comes in; what is asked for because of it is answered."""
        self.lists.heard("cli_a", key, sender, ids or {"union_id": sender})
        await self.lists.known(key)
        await asyncio.gather(*self.lists._work)

    def here(self, key: str = KEY) -> list[str]:
        return [member.name for member in self.members.of_chat(key)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def test_a_bot_that_starts_is_known_to_sit_where_it_sits_and_what_its_groups_are_called(folder: Path) -> None:
    office = Office(folder, Platform())
    await office.lists.take_seats("cli_a")
    assert office.here() == office.here(OTHER) == ["Alpha"]
    assert (office.members.title_of(KEY), office.members.title_of(OTHER)) == ("Releases", None)
    assert office.lists.seats("cli_a") == [KEY, OTHER]
    assert office.lists.sits_in("cli_a", KEY)


async def test_of_a_group_that_is_not_wanted_nothing_is_asked_and_nothing_noted(folder: Path) -> None:
    platform = Platform(ada="Ada")
    office = Office(folder, platform)
    office.unwanted.add(OTHER)
    await office.lists.take_seats("cli_a")
    office.lists.joined("cli_a", "feishu:oc_3")
    office.unwanted.add("feishu:oc_3")
    await office.hear("on_ada", ADA, OTHER)
    assert (platform.asked, office.here(OTHER), office.here("feishu:oc_3")) == ([], [], [])
    assert office.here() == ["Alpha"]
    assert office.lists.sits_in("cli_a", OTHER)


async def test_a_bot_that_joins_or_leaves_is_known_to(folder: Path) -> None:
    office = Office(folder, Platform())
    office.lists.joined("cli_a", "feishu:oc_3")
    await asyncio.gather(*office.lists._work)
    assert office.here("feishu:oc_3") == ["Alpha"]
    office.lists.left("cli_a", "feishu:oc_3")
    await asyncio.gather(*office.lists._work)
    assert office.here("feishu:oc_3") == []
    assert not office.lists.sits_in("cli_a", "feishu:oc_3")


async def test_about_an_unknown_group_the_platform_is_asked_now_and_then(folder: Path) -> None:
    office = Office(folder, Platform())
    assert not office.lists.sits_in("cli_a", KEY)
    await asyncio.gather(*office.lists._work)
    assert office.lists.sits_in("cli_a", KEY)


async def test_who_is_in_a_group_is_asked_once_for_all_processes_and_hours(folder: Path) -> None:
    platform, other = Platform(ada="Ada", bo="Bo"), Platform()
    office = Office(folder, platform)
    await office.hear()
    assert office.here() == ["Ada", "Bo"]
    await office.hear()
    await Office(folder, other).hear()
    assert (platform.asked, other.asked) == ([(KEY, "union_id")], [])
    office.now += 6 * 3600 + 1
    platform.listed = {"on_bo": "Bo"}
    await office.hear()
    assert office.here() == ["Bo"]


async def test_somebody_without_a_name_is_asked_for_ten_minutes_after_the_last_question(folder: Path) -> None:
    platform = Platform(ada="Ada")
    office = Office(folder, platform)
    await office.hear("on_ada", ADA)
    platform.listed["on_dee"] = "Dee"
    await office.hear("on_dee")
    assert office.members.name_of("on_dee") is None
    office.now += 601
    await office.hear("on_dee")
    assert office.members.name_of("on_dee") == "Dee"
    await office.hear("on_dee")
    assert len(platform.asked) == 2


async def test_somebody_who_is_not_on_the_list_is_asked_for_every_six_hours(folder: Path) -> None:
    platform = Platform(ada="Ada")
    office = Office(folder, platform)
    for _ in range(36):
        await office.hear("on_guest")
        office.now += 601
    assert len(platform.asked) == 1
    await office.hear("on_guest")
    assert len(platform.asked) == 2


async def test_a_group_whose_list_is_refused_is_asked_for_every_six_hours_and_that_is_said_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    platform = Platform()
    platform.failure = REFUSED
    office = Office(folder, platform)
    for number in range(35):
        await office.hear(f"on_{number}")
        office.now += 601
    assert len(platform.asked) == 1
    office.now += 601
    await office.hear("on_ada", ADA)
    assert len(platform.asked) == 2
    warned = [record for record in caplog.records if record.levelname == "WARNING"]
    assert ["im:chat.members:read" in record.getMessage() for record in warned] == [True]


async def test_a_failure_of_the_network_is_asked_again_after_five_minutes(folder: Path) -> None:
    platform = Platform(ada="Ada")
    platform.failure = CUT
    office = Office(folder, platform)
    await office.hear("on_ada", ADA)
    office.now += 299
    await office.hear("on_ada", ADA)
    assert len(platform.asked) == 1
    office.now += 2
    platform.failure = None
    await office.hear("on_ada", ADA)
    assert office.members.name_of("on_ada") == "Ada"


async def test_somebody_whose_name_is_known_by_now_is_not_asked_for(folder: Path) -> None:
    platform = Platform(bo="Bo")
    office = Office(folder, platform)
    office.members.remember_person("on_ada", "Ada")
    await office.hear("on_ada", ADA)
    assert platform.asked == []


@pytest.mark.parametrize(
    ("sender", "ids", "kind"),
    [
        ("on_ada", ADA, "union_id"),
        ("u_ada", {"user_id": "u_ada", "open_id": "ou_ada"}, "user_id"),
        ("ou_ada", {"open_id": "ou_ada"}, "open_id"),
    ],
)
async def test_the_list_is_asked_for_by_the_id_that_is_the_sender(
    folder: Path, sender: str, ids: Ids, kind: str
) -> None:
    platform = Platform()
    platform.listed = {sender: "Ada"}
    office = Office(folder, platform)
    await office.hear(sender, ids)
    assert platform.asked == [(KEY, kind)]
    assert office.members.name_of(sender) == "Ada"


async def test_each_bot_asks_once_what_a_group_is_called_and_again_after_a_day(folder: Path) -> None:
    platform = Platform()
    office = Office(folder, platform)
    for _ in range(3):
        await office.hear()
    await office.hear(key=OTHER)
    assert platform.titles == [KEY, OTHER]
    platform.name = "发布群"
    office.now += 86_401
    await office.hear()
    assert office.members.title_of(KEY) == "发布群"


async def test_what_a_group_is_called_is_asked_again_after_some_minutes_where_that_failed(folder: Path) -> None:
    platform = Platform()
    platform.failure = CUT
    office = Office(folder, platform)
    for _ in range(60):
        await office.hear()
        office.now += 60
    assert len(platform.titles) == 4  # at once, after 5, 15 and 35 minutes
    platform.failure = None
    office.now += 6 * 3600
    await office.hear()
    assert office.members.title_of(KEY) == "Releases"


async def test_an_answer_that_does_not_come_is_waited_for_once(folder: Path) -> None:
    platform = Platform(ada="Ada")
    platform.may_answer.clear()
    office = Office(folder, platform)
    office.lists.patience = 0.01
    office.lists.heard("cli_a", KEY, "on_ada", ADA)
    await office.lists.known(KEY)
    assert office.members.name_of("on_ada") is None
    office.lists.patience = 3600.0
    await office.lists.known(KEY)
    platform.may_answer.set()
    await asyncio.gather(*office.lists._work)
    assert office.members.name_of("on_ada") == "Ada"


async def test_what_cannot_be_written_down_hides_no_group(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("The disk is full.", hint="Free some space.")

    office = Office(folder, Platform())
    monkeypatch.setattr(office.members, "saw", full)
    await office.lists.take_seats("cli_a")
    assert office.lists.seats("cli_a") == [KEY, OTHER]
    assert caplog.text.count("could not be saved") == 1


async def test_of_a_bot_that_cannot_ask_nothing_is_asked(folder: Path) -> None:
    office = Office(folder, Platform())
    await office.lists.take_seats("cli_b")
    office.lists.heard("cli_b", KEY, "on_ada", ADA)
    assert not office.lists._work
