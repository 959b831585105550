"""An inbox in the order of what a group is talking about."""

from collections.abc import Sequence

from nanobot_transcript.relevance.fitting import Candidate, Fit, fits
from transcript_mcp.mail.values import Delivery

__all__ = ["ranked"]


def ranked(deliveries: Sequence[Delivery], said: Sequence[str]) -> list[tuple[Delivery, Fit | None]]:
    """Messages with how they fit to what was said: those that do come first, the best of them at the top.

    The deliveries come with their bodies, the newest first; what does not fit keeps that order.
    """
    candidates = [Candidate(each.letter.subject, each.letter.body or "", each.letter.id) for each in deliveries]
    found = list(zip(deliveries, fits(candidates, said), strict=True))
    return sorted(found, key=lambda each: -each[1].score if each[1] is not None else 0.0)
