"""Rules about the code as a whole that no other tool holds."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (
    ROOT / "nanobot_transcript",
    ROOT / "channels" / "transcript_channels",
    ROOT / "mcp_tools" / "transcript_mcp",
)
MODULES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))

# Which rooms may import what is heavy, and nobody else: a prefix of the module's path.
ROOMS = {
    "nanobot": ("channels/transcript_channels/nanobot_host/",),
    "lark_oapi": (
        "channels/transcript_channels/nanobot_host/",
        "channels/transcript_channels/feishu/l",
    ),  # lark_client, long_connection
    "mcp": ("mcp_tools/transcript_mcp/sdk/_v1", "mcp_tools/transcript_mcp/sdk/_v2.py"),
    "mcp_types": ("mcp_tools/transcript_mcp/sdk/_v2.py",),
    "httpx": ("channels/transcript_channels/feishu/",),
    "redis": (),
    "sqlite3": (
        "nanobot_transcript/sql/",
        "mcp_tools/transcript_mcp/mail/claims/guard_hook.py",
    ),  # the hook has no package
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level packages that are imported anywhere in a module, also inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@cache
def trees() -> dict[str, ast.Module]:
    """Every module of the product by its path."""
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, tree in trees().items() if not ast.get_docstring(tree)] == []


def test_what_is_heavy_is_imported_in_its_room_only() -> None:
    strangers = [
        (name, package)
        for name, tree in trees().items()
        for package in sorted(set(imported(tree)) & ROOMS.keys())
        if not name.startswith(ROOMS[package])
    ]
    assert strangers == []


def test_what_needs_the_second_sdk_is_run_with_it() -> None:
    """Else it is skipped everywhere."""
    tests = [path for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in tests}
    assert [name for name, text in texts.items() if "@needs_sdk_2" in text and "mark.mcp\n" not in text] == []


_A_PLATFORMS_FORM = re.compile(r"(?<![\w:.\\])(?:cli|oc|ou|on|om)_(?![a-z0-9]{2})|\bunion_id\b")
_NEUTRAL = ("nanobot_transcript/", "mcp_tools/")


def _values(tree: ast.AST) -> Iterator[str]:
    """The texts that the code works with: no docstrings, no help and no examples for people."""
    shown = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.keyword) and (isinstance(node, ast.Expr) or node.arg in ("example", "help"))
        for part in ast.walk(node.value)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in shown:
            yield node.value
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def test_no_platforms_ids_are_known_outside_of_its_room() -> None:
    """What the forms of Feishu's ids mean stands in ``feishu/`` and its hosts."""
    found = [
        (name, value)
        for name, tree in trees().items()
        if name.startswith(_NEUTRAL)
        for value in _values(tree)
        if _A_PLATFORMS_FORM.search(value)
    ]
    assert found == []


SUPPORTED_TWICE = {
    "Agent": "what makes an agent of the runner; an identity of Agent Mail",
    "Answer": "to a post of the outbox; of a tool, in tests",
    "Draft": "a mail, a letter that is about to be sent",
    "Message": "as an app of Feishu received it; of an MCP prompt",
    "Page": "of entries, of mails: some of a list, and where it goes on",
    "Prompt": "for the mind of an agent; for a judge",
    "Sent": "a message, a mail, a letter that was sent",
}
"""The only names of two classes. Both are supported (docs/en/api.md), so neither can get another one."""


def test_no_two_classes_share_a_name() -> None:
    found = Counter(
        node.name
        for name, tree in trees().items()
        if "/simulator/" not in name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in found.items() if count > 1} == SUPPORTED_TWICE.keys()


def test_the_names_of_two_classes_are_supported_ones() -> None:
    supported = set(re.findall(r"`([A-Z][A-Za-z]+)`", (ROOT / "docs" / "en" / "api.md").read_text("utf-8")))
    assert SUPPORTED_TWICE.keys() - supported == set()
