"""What ``run`` is made of, and what becomes of it at the end."""

from pathlib import Path

from nanobot_transcript import AsyncGroupTranscriptStore
from nanobot_transcript.cli.run_agents import Composed
from nanobot_transcript.outbox import Outbox
from nanobot_transcript.relevance import Prompt, RelevanceGate
from nanobot_transcript.runner import Runner


class Closing:
    """A judge that knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def __call__(self, prompt: Prompt, /) -> bool:
        return False

    async def aclose(self) -> None:
        self.closed = True


async def test_the_judge_of_each_gate_is_closed_at_the_end(tmp_path: Path) -> None:
    judges = [Closing(), Closing()]
    gates = [RelevanceGate(judge=judge) for judge in judges]
    store = AsyncGroupTranscriptStore(tmp_path)
    await Composed(Runner([], store), store, Outbox(tmp_path), gates, []).close()
    assert [judge.closed for judge in judges] == [True, True]
