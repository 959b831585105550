"""The everyday scenes that nothing was fitted to, under both real hosts: what they post is what the gate alone says.

A cold line is the first that the hosts hear of its chat; the chat of a warm one they know.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from support.everyday import Played, everyday
from support.in_process import HostInProcess, PluginInProcess, RunnerInProcess

from nanobot_transcript.relevance import RelevanceGate
from nanobot_transcript.relevance.choice import answering
from nanobot_transcript.relevance.evaluation.conduct import decisions
from nanobot_transcript.relevance.evaluation.scenes import KINDS, Group, LabelledLine, labelled_lines, read_groups

pytest.importorskip("nanobot")

HELD_BACK: Final = Path(__file__).resolve().parents[1] / "data" / "scenes" / "held_back"
HOSTS: Final = {"run": RunnerInProcess, "nanobot": PluginInProcess}
FLOORS: Final = {"zh": 0.87, "en": 0.82}
"""The share of lines that go as expected, as ``tests/unit/relevance/test_scenes.py`` has it."""
BELOW: Final = 0.03
"""So much below the floor of all lines a sample may be."""
DIFFERING: Final = 0.02
GROUPS: Final = 5
EVERY: Final = 3
"""Of the judged lines of a group one of so many is played, cold and warm by turns."""


class Line(NamedTuple):
    """A judged line, who answers it as the gate alone has it, and what came of it under a host."""

    labelled: LabelledLine
    warm: bool
    alone: frozenset[str]
    played: Played

    @property
    def is_met(self) -> bool:
        """True when it went as expected under the host."""
        return self.labelled.expected.is_met(frozenset(self.played.answered))

    @property
    def is_met_alone(self) -> bool:
        """True when it goes as expected by the gate alone."""
        return self.labelled.expected.is_met(self.alone)

    @property
    def differs(self) -> bool:
        """True when others answered than the gate alone has it, or somebody more than once."""
        return sorted(self.played.answered) != sorted(self.alone)


def some(groups: Sequence[Group]) -> Sequence[Group]:
    """As many groups as are played, spread over all of them."""
    return groups[:: max(1, len(groups) // GROUPS)][:GROUPS]


def chosen(group: Group) -> list[tuple[bool, LabelledLine]]:
    """The lines of a group that are played; True for those that are warm."""
    both = zip(labelled_lines(group, warm=False), labelled_lines(group, warm=True), strict=True)
    return [(bool(at % 2), pair[at % 2]) for at, pair in enumerate(islice(both, 0, None, EVERY))]


async def lines_of(group: Group, make: Callable[..., HostInProcess], folder: Path) -> list[Line]:
    """Play a group."""
    gate, lines = RelevanceGate(), chosen(group)
    folder.mkdir()
    async with everyday(folder, make, group, len(lines)) as stage:
        await stage.get_to_know(sum(warm for warm, _ in lines))
        return [
            Line(one, warm, answering(decisions(gate, one)), await stage.play(one, known=warm)) for warm, one in lines
        ]


def counted(lines: Sequence[Line]) -> dict[str, int]:
    """How many lines there are, how many go as expected under the host and by the gate alone, and how many differ."""
    return {
        "lines": len(lines),
        "as_expected": sum(line.is_met for line in lines),
        "by_the_gate_alone": sum(line.is_met_alone for line in lines),
        "differ": sum(line.differs for line in lines),
    }


def tell(lines: Sequence[Line], soak_row: Callable[..., None]) -> None:
    """The table: by kind, cold, warm and all; then each line that differs, by its id: nobody is to read it."""
    for kind in KINDS:
        soak_row(of=kind, **counted([line for line in lines if line.labelled.kind == kind]))
    soak_row(of="cold", **counted([line for line in lines if not line.warm]))
    soak_row(of="warm", **counted([line for line in lines if line.warm]))
    soak_row(of="all", **counted(lines))
    for line in lines:
        if line.differs:
            who = {"gate": sorted(line.alone), "answered": line.played.answered, "noted": line.played.noted}
            soak_row(differs=line.labelled.message["message_id"], warm=line.warm, **who)


@pytest.mark.soak
@pytest.mark.parametrize("language", FLOORS)
@pytest.mark.parametrize("host", HOSTS)
async def test_hosts_post_what_the_gate_alone_says(
    host: str, language: str, tmp_path: Path, soak_row: Callable[..., None]
) -> None:
    groups = some([group for group in read_groups(HELD_BACK) if group.language == language])
    played = [await lines_of(group, HOSTS[host], tmp_path / str(at)) for at, group in enumerate(groups)]
    lines = [line for of_group in played for line in of_group]
    tell(lines, soak_row)
    total = counted(lines)
    assert total["differ"] <= DIFFERING * total["lines"]
    assert total["as_expected"] >= (FLOORS[language] - BELOW) * total["lines"]
