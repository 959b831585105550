"""The situations of ``tests/contract/hosts/test_situations.py``, with a process for each of the four bots.

Each has a configuration that names it alone, and a home of its own. What they share is the folder of the record. Their
settings are those of a fresh installation but for the mode and the relay. Every situation happens in three groups side
by side: in a ``cold`` one nobody has spoken, in a ``warm`` one everybody has, and the one that is ``joined`` is made
while the bots run, who are told so by events.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

import pytest
import pytest_asyncio
from support.as_processes import PluginAsProcess, RunnerAsProcess
from support.situations import ANSWER, RARE, SITUATIONS, Office
from support.waiting import until

from nanobot_transcript.relevance.text import is_question
from transcript_channels.simulator import App, Chat, FeishuSimulator, Message, ModelRequest, ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

    from support.in_process import HostInProcess

    from nanobot_transcript.record import Record

pytest.importorskip("nanobot")

SETTINGS: Final[dict[str, Any]] = {"groups": {"mode": "gate"}, "relay": {"mode": "mentions"}}
HOSTS: Final = [RunnerAsProcess, pytest.param(PluginAsProcess, marks=pytest.mark.soak)]
PEOPLE: Final = "GET /open-apis/im/v1/chats/{chat_id}/members"


class Processes(Office):
    """What the processes are at is seen in the record alone."""

    record: "Record"

    def __init__(self, feishu: FeishuSimulator) -> None:
        super().__init__(feishu)
        self.model = ScriptedModel(self.answer)
        for app in self.apps:
            app.events.add("im.chat.member.bot.added_v1")
        feishu.fail(PEOPLE, delay=0.2, times=None)  # as it takes: whoever does not wait for it knows nobody

    async def start(self, hosts: "list[HostInProcess]", stack: AsyncExitStack) -> None:
        """Start all of them at once, to be stopped with the stack; wait until all have noted where they sit."""

        async def begin(host: "HostInProcess") -> None:
            await host.start()
            stack.push_async_callback(host.stop)

        self.hosts, self.record = hosts, hosts[0].record
        stack.callback(self.record.close)
        await asyncio.gather(*map(begin, hosts))
        await until(lambda: all(map(self.is_known, self.groups.values())))

    async def join(self, name: str) -> Chat:
        """A group that is made now, into which the bots are taken."""
        group = self.feishu.add_group(name, [self.ada, self.mei])
        for app in self.apps:
            self.feishu.join(group, app)
        await until(lambda: self.is_known(group))
        return group

    def is_known(self, group: Chat) -> bool:
        """True when the record says of each bot that it sits in a group."""
        seated = {member.name for member in self.record.members.view().of_chat(f"feishu:{group.chat_id}")}
        return seated >= {app.name for app in self.apps}

    async def answer(self, _: ModelRequest) -> str:
        """What the model says once all bots have decided: what one has answered is easily left alone by the others."""
        newest = [message for chat in self.feishu.chats for message in chat.messages[-1:]]
        said = [message for message in newest if message.sender not in self.apps]
        await until(lambda: all(self.notes(message, app) for message in said for app in self.apps))
        return ANSWER

    async def settled(self, message: Message) -> None:
        await until(lambda: all(is_last(self.notes(message, app), message.text) for app in self.apps))

    def notes(self, message: Message, app: App) -> list[dict[str, Any]]:
        """What a bot has noted of its decisions about a message."""
        noted = self.record.decisions.read(f"feishu:{message.chat.chat_id}", message.message_id)
        return [one for one in noted if one["agent"] == app.name]

    def claims(self, message: Message) -> int:
        """How many bots have claimed a message."""
        return sum(note["reason"] == "claimed" for app in self.apps for note in self.notes(message, app))


def is_last(notes: list[dict[str, Any]], text: str) -> bool:
    """True when nothing follows on what a bot has noted about a message: it has answered, or leaves it alone."""
    if not notes:
        return False
    last = notes[-1]
    if last["stage"] in ("claim", "answer"):
        return last["reason"] != "claimed"
    claims_next = last["stage"] == "score" and last["open"] and is_question(text)
    return not last["respond"] and not claims_next


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=HOSTS)
async def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Processes]:
    shared: Path = tmp_path_factory.mktemp("record")
    async with (
        FeishuSimulator(ack_timeout=30.0) as feishu,
        AsyncExitStack() as stack,
    ):
        made = Processes(feishu)
        model = await stack.enter_async_context(made.model)

        def host(app: App) -> "HostInProcess":
            own = {"agents": {app.app_id: {"name": app.name}}, "store": {"dir": str(shared)}}
            return request.param(tmp_path_factory.mktemp("home"), feishu, model, app, {**SETTINGS, **own})

        await made.start([host(app) for app in made.apps], stack)
        yield made


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if name in RARE else name for name in SITUATIONS]
)
async def test_who_is_meant_answers_and_nobody_else(
    office: Processes, name: str, soak_row: Callable[..., None]
) -> None:
    situation, asked = SITUATIONS[name], len(office.model.requests)
    groups = {"cold": office.groups[name, "cold"], "warm": office.groups[name, "warm"]}
    groups["joined"] = await office.join(name)
    await office.warm_up(groups["warm"])
    played = await asyncio.gather(*(office.play(group, name) for group in groups.values()))
    answered = [names for _, names in played]
    claims = [office.claims(said) for said, _ in played]
    told = {kind: ", ".join(sorted(names)) or "nobody" for kind, names in zip(groups, answered, strict=True)}
    soak_row(expected=situation.wanted, **told, claims=claims)
    assert all(map(situation.is_met_by, answered)), told
    assert claims == [situation.by if isinstance(situation.by, int) else 0] * 3  # none where it is certain who is meant
    spoken = [message for group in groups.values() for message in group.messages if message.sender in office.apps]
    assert len(office.model.requests) - asked == len(spoken)
