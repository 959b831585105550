"""``gate eval --wrong``: which lines of everyday scenes did not go as expected."""

from typing import TYPE_CHECKING

from nanobot_transcript.cli.output import console, notice, printable
from nanobot_transcript.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nanobot_transcript.relevance.evaluation.conduct import Conduct, Wrong

__all__ = ["print_wrong"]


def print_wrong(head: str, made: "Conduct", limit: int) -> None:
    """A table of at most ``limit`` lines that went wrong, below what is left out; ``head`` says in which part."""
    if not made.wrong:
        return
    title = f"wrong, {head}"
    console().print()
    print_table(
        [title, "kind", "expected", "answered", "score", "text"],
        [_row(one) for one in made.wrong[:limit]],
        shorten="text",
    )
    if len(made.wrong) > limit:
        notice(f"{len(made.wrong) - limit:,} more of {len(made.wrong):,} wrong lines ({head}); see them with --limit.")


def _row(wrong: "Wrong") -> list[str]:
    message, expected = wrong.labelled.message, wrong.labelled.expected
    scores = (f"{bot} {score:.2f}" for bot, score in sorted(wrong.scores.items()))
    row = (
        message["message_id"] or "",
        wrong.labelled.kind,
        ("one of " if expected.one and len(expected.bots) > 1 else "") + _named(expected.bots),
        _named(wrong.answered),
        ", ".join(scores),
        f"{message.get('sender_name')}: {' '.join(message['content'].split())}",
    )
    return [printable(cell) for cell in row]


def _named(bots: "Iterable[str]") -> str:
    return ", ".join(sorted(bots)) or "nobody"
