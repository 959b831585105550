"""Which packages are installed, without importing them."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from nanobot_transcript.finding import Finding

__all__ = ["check", "version_of"]


def check() -> list[Finding]:
    """Findings about Python, this package and the Feishu SDK."""
    ours = version_of("nanobot-transcript") or "not installed"
    python = f"Python {platform.python_version()} in {sys.prefix}"
    return [Finding("version", "ok", f"nanobot-transcript {ours}, {python}."), _lark()]


def version_of(distribution: str) -> str | None:
    """The installed version, None without one."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _lark() -> Finding:
    if find_spec("lark_oapi") is not None:
        return Finding("lark-oapi", "ok", f"lark-oapi {version_of('lark-oapi') or ''} is installed.")
    fix = "If bots talk to Feishu from here: pip install 'lark-oapi>=1.5,<2'."
    return Finding("lark-oapi", "warning", "The Feishu SDK lark-oapi is not installed.", fix)
