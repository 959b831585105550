"""A hub with the mail of one store, ended with the test."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.mail_hub import HubProcess, StartHub


@pytest.fixture
def mail_root(tmp_path: Path) -> Path:
    """Where the mail lies; not made yet."""
    return tmp_path / "mail"


@pytest.fixture
def start_hub(tmp_path: Path, mail_root: Path) -> Iterator[StartHub]:
    """``start_hub(VARIABLE="value")``: one more hub on the store."""
    with ExitStack() as stack:

        def start(**variables: str) -> HubProcess:
            return stack.enter_context(HubProcess(tmp_path, mail_root, **variables))

        yield start
