"""One test in two sizes: a short one for every run, the full one of "Done when" for ``make soak``."""

from typing import Any

import pytest

__all__ = ["short_and_full"]


def short_and_full(short: Any, full: Any, *, seconds: float = 600) -> list[Any]:
    """Parameter sets for ``parametrize``; the full one is marked ``soak`` and may take ``seconds``."""
    marks = [pytest.mark.soak, pytest.mark.timeout(seconds)]
    return [pytest.param(short, id="short"), pytest.param(full, id="full", marks=marks)]
