"""The official conformance suite over our sdk and our hub: every check passes, on both generations of the SDK."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.conformance import ALPHA, SUITE, run_suite

pytestmark = [pytest.mark.conformance]

RUNS = [
    pytest.param("SDK 1", SUITE, (), 40, id="0.1.16-sdk1"),
    pytest.param("SDK 2", SUITE, (), 40, id="0.1.16-sdk2"),
    pytest.param("SDK 1", ALPHA, ("--spec-version", "2025-11-25"), 73, id="0.2-2025-11-25-sdk1"),
    pytest.param("SDK 2", ALPHA, ("--spec-version", "2025-11-25"), 73, id="0.2-2025-11-25-sdk2"),
    pytest.param("SDK 2", ALPHA, ("--spec-version", "2026-07-28"), 41, id="0.2-2026-07-28-sdk2"),
]


@pytest.mark.parametrize(("sdk", "suite", "arguments", "checks"), RUNS)
def test_every_check_passes(
    serve: Callable[[str], str], tmp_path: Path, sdk: str, suite: str, arguments: tuple[str, ...], checks: int
) -> None:
    passed, failed, said = run_suite(suite, f"{serve(sdk)}/mcp/fixture", tmp_path, *arguments)
    assert (passed, failed) == (checks, 0), said


GENERIC = ("server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/transcript", "/mcp/filebox"])
def test_the_products_servers_pass_what_does_not_ask_for_the_fixtures_names(
    serve: Callable[[str], str], tmp_path: Path, path: str
) -> None:
    _, _, said = run_suite(SUITE, f"{serve('SDK 1')}{path}", tmp_path)
    assert [scenario for scenario in GENERIC if f"✓ {scenario}: " not in said] == [], said
