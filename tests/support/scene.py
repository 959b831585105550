"""Two real nanobot gateways with the plugin, in groups on a simulated platform, with a model that follows a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support import procs
from support.gateways import Gateway, start_gateway
from support.waiting import until

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.entry import Entry
from nanobot_transcript.record import Record
from nanobot_transcript.record.spool.backlog import waiting_in
from transcript_channels.simulator import (
    App,
    Chat,
    FeishuSimulator,
    Member,
    Message,
    ModelRequest,
    Person,
    Reply,
    ScriptedModel,
    ToolCall,
)

__all__ = ["Scene", "lines_of", "running_scene"]


def lines_of(prompt: str) -> list[dict[str, Any]]:
    """What a prompt tells of the messages of the group; the lines about members and about the asker have no text."""
    told = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
    return [line for line in told if "text" in line]


Answer = str | Reply | ToolCall | Callable[[], ToolCall]


class Scene:
    """Alpha streams and has a session per topic (nanobot's defaults); Beta sends plainly and has one per group.

    ``when("word", "answer", …)`` scripts the model: a turn whose own text contains the word is answered in order, the
    last answer again and again. Where several words stand in it, the one named first counts. Every test uses groups of
    its own, so that what others said does not matter, and ``begin`` forgets what they scripted and asked.
    """

    def __init__(self, feishu: FeishuSimulator, model: ScriptedModel, folder: Path) -> None:
        self.feishu, self.model, self.folder = feishu, model, folder
        self.alpha: App = feishu.add_app("Alpha")
        self.beta: App = feishu.add_app("Beta")
        self.ada: Person = feishu.add_person("Ada")
        self.bo: Person = feishu.add_person("Bo")
        self.gateways: dict[str, Gateway] = {}
        self.store_dir: Path = folder / "transcripts"
        self._store: GroupTranscriptStore = GroupTranscriptStore(self.store_dir)
        self.far: Record | None = None
        """The gateways' record, where it is not in files."""
        self.spool_dir: Path | None = None
        """Where what the gateways recorded may wait before it is in the store."""
        self.variables: Mapping[str, str] = {}
        """What each gateway is told besides."""
        self._script: dict[str, list[Answer]] = {}
        self._begun_at = 0

    @property
    def told(self) -> dict[str, str]:
        """By which variables a process knows where the record is."""
        return {"NANOBOT_TRANSCRIPT_STORE__DIR": str(self.store_dir), **self.variables}

    def begin(self) -> None:
        """A test begins: forget how the model answers, and count its requests from now on."""
        self._script.clear()
        self._begun_at = len(self.model.requests)

    def when(self, word: str, *answers: Answer) -> None:
        """How the model answers turns with this word."""
        self._script[word] = list(answers)

    def answer(self, request: ModelRequest) -> str | Reply | ToolCall:
        """What the model says now."""
        for word, answers in self._script.items():
            if word in request.question:
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
                return answer() if callable(answer) else answer
        return "I have nothing to say."

    def group(self, *members: Member) -> Chat:
        """A new group; everybody by default."""
        return self.feishu.add_group("Group", members or [self.alpha, self.beta, self.ada, self.bo])

    def key(self, chat: Chat) -> str:
        """The session key of a chat."""
        return f"feishu:{chat.chat_id}"

    @property
    def store(self) -> GroupTranscriptStore:
        """The record, once everything that was recorded is there."""
        spool = self.spool_dir
        if spool is not None:
            procs.until(lambda: not waiting_in(spool).lines, "the spools are empty")
        return self._store

    def look_at(self, record: Record) -> None:
        """The gateways' record is this one, and not in files."""
        self._store.close()
        self.far, self._store = record, record.store

    def record(self, chat: Chat) -> list[Entry]:
        """All entries of a chat as they read now."""
        return list(self.store.scan(self.key(chat)))

    def texts(self, chat: Chat) -> list[str]:
        """Their texts."""
        return [entry["content"] for entry in self.record(chat)]

    async def recorded(self, chat: Chat, count: int) -> list[Entry]:
        """The record once it has ``count`` entries."""
        await until(lambda: len(self.record(chat)) >= count)
        return self.record(chat)

    async def ask(self, chat: Chat, who: Person, text: str, app: App, containing: str = "", **options: Any) -> Message:
        """Say something to a bot and wait for its finished answer; returns the answer."""
        after = len(chat.messages)
        await self.feishu.say(chat, who, text, **options)
        return await self.feishu.wait_for_message(chat, app, containing, after=after)

    def asked_about(self, word: str) -> list[ModelRequest]:
        """The requests of the model in whose own text the word stands."""
        return [one for one in self.model.requests[self._begun_at :] if word in one.question]

    def request(self, word: str) -> ModelRequest:
        """The newest of them."""
        found = self.asked_about(word)
        assert found, f"the model was never asked about {word!r}"
        return found[-1]

    def requests(self, word: str) -> int:
        """How many there are."""
        return len(self.asked_about(word))

    async def start(self, app: App, *, channel: Mapping[str, Any] | None = None, **env: str) -> Gateway:
        """Start the gateway of a bot."""
        gateway = await start_gateway(
            self.folder,
            app,
            self.feishu,
            self.model,
            env={**self.told, **env},
            channel=channel,
        )
        self.gateways[app.name] = gateway
        return gateway

    def traces(self, *words: str) -> list[str]:
        """What the store's files contain of these words: the names, and the lines."""
        found: list[str] = []
        for path in self.store_dir.rglob("*"):
            lines = path.read_bytes().splitlines() if path.is_file() else []
            told = [path.name, *(line.decode("utf-8", "replace") for line in lines)]
            found += [f"{path.name}: {text}" for text in told if any(word in text for word in words)]
        return found


@asynccontextmanager
async def running_scene(
    folder: Path,
    *,
    repush: Sequence[float] = (0.1, 0.3, 1.0, 2.0),
    variables: Mapping[str, str] | None = None,
    to_beta: Sequence[str] = ("Ada",),
) -> AsyncIterator[Scene]:
    """The simulator, the model and both gateways for the length of a block; ``variables`` are for the gateways. Beta
    listens to those who are named in ``to_beta``.

    A busy machine may take its time with a thousand events. Pushed again every three seconds they would only become
    more, until the platform gives them up; a lost connection and a refusal are noticed at once all the same.
    """
    scenes: list[Scene] = []
    async with (
        FeishuSimulator(ack_timeout=30.0, repush_delays=repush) as feishu,
        ScriptedModel(lambda request: scenes[0].answer(request)) as model,  # noqa: PLW0108 - filled below
    ):
        scene = Scene(feishu, model, folder)
        scene.variables = variables or {}
        scenes.append(scene)
        try:
            alpha = {"sendToolHints": True}
            heard = [person.open_id(scene.beta) for person in feishu.people if person.name in to_beta]
            beta = {"streaming": False, "topicIsolation": False, "allowFrom": heard}
            await asyncio.gather(scene.start(scene.alpha, channel=alpha), scene.start(scene.beta, channel=beta))
            yield scene
        finally:
            await asyncio.gather(*(gateway.stop() for gateway in scene.gateways.values()))
            scene.store.close()
