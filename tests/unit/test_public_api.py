"""The public surface is what is written down here, and importing it stays light."""

import json
import subprocess
import sys

import pytest
from support.waiting import PATIENCE

import nanobot_transcript

DOCUMENTED = {
    "AsyncGroupTranscriptStore",
    "Changes",
    "Chat",
    "ConfigError",
    "GroupTranscriptStore",
    "Hit",
    "HostError",
    "ImportFormatError",
    "InvalidCursorError",
    "InvalidEntryError",
    "MaintenanceReport",
    "Page",
    "Retention",
    "StoreBackend",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "TranscriptError",
    "UnsafePathError",
    "VerifyReport",
    "__version__",
}
HEAVY = ("lark_oapi", "nanobot", "mcp", "httpx", "aiohttp", "pydantic", "pydantic_settings", "typer", "rich")


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE)
    return done.stdout


def test_the_package_exports_what_is_documented() -> None:
    assert set(nanobot_transcript.__all__) == DOCUMENTED


def test_the_exported_names_are_sorted_and_exist() -> None:
    assert nanobot_transcript.__all__ == sorted(nanobot_transcript.__all__)
    assert all(hasattr(nanobot_transcript, name) for name in nanobot_transcript.__all__)


def test_every_exported_name_has_a_docstring() -> None:
    for name in DOCUMENTED - {"__version__"}:
        assert (getattr(nanobot_transcript, name).__doc__ or "").strip(), name


def test_every_error_has_a_code_of_its_own() -> None:
    errors = [
        value
        for name in nanobot_transcript.__all__
        if isinstance(value := getattr(nanobot_transcript, name), type)
        and issubclass(value, nanobot_transcript.TranscriptError)
    ]
    assert len({error.code for error in errors}) == len(errors) > 8


@pytest.mark.parametrize(
    "use", ["import nanobot_transcript", "from nanobot_transcript import GroupTranscriptStore as S; S()"]
)
def test_importing_the_package_pulls_in_nothing_heavy(use: str) -> None:
    loaded = json.loads(run(f"{use}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"))
    roots = {name.partition(".")[0] for name in loaded}
    assert sorted(roots & set(HEAVY)) == []


def test_using_the_store_pulls_in_nothing_heavy(tmp_path: object) -> None:
    loaded = json.loads(
        run(
            "import json, sys\n"
            "from nanobot_transcript import GroupTranscriptStore\n"
            f"with GroupTranscriptStore({str(tmp_path)!r}) as store:\n"
            "    store.append('k', 'user', 'x', 'on_ada', 'om_1'); store.get_recent('k'); store.search('x')\n"
            "    store.read('k'); store.recall('k', 'om_1'); store.maintain(); store.purge('k')\n"
            "print(json.dumps(list(sys.modules)))"
        )
    )
    assert sorted({name.partition(".")[0] for name in loaded} & set(HEAVY)) == []


def test_the_package_says_nothing_and_starts_nothing_when_imported() -> None:
    assert run("import nanobot_transcript, threading; print(threading.active_count())").strip() == "1"
