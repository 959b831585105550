"""Which packages are installed, without importing them."""

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.findings import Finding

__all__ = ["check", "version_of"]


def check(*, needs_feishu: bool) -> list[Finding]:
    """Findings about Python, this package and the Feishu SDK. ``needs_feishu``: bots on Feishu are to run here."""
    ours = version_of("nanobot-transcript") or said("not installed")
    python = platform.python_version()
    message = said(
        "nanobot-transcript {ours}, Python {python} in {prefix}.", ours=ours, python=python, prefix=sys.prefix
    )
    return [Finding("version", "ok", message), _lark(needed=needs_feishu or version_of("nanobot-ai") is not None)]


def version_of(distribution: str) -> str | None:
    """The installed version, None without one."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _lark(*, needed: bool) -> Finding:
    if find_spec("lark_oapi") is not None:
        return Finding(
            "lark-oapi", "ok", said("lark-oapi {version} is installed.", version=version_of("lark-oapi") or "")
        )
    fix = "If bots talk to Feishu from here: pip install 'lark-oapi>=1.5,<2'."
    severity = "warning" if needed else "info"
    return Finding("lark-oapi", severity, said("The Feishu SDK lark-oapi is not installed."), said(fix))
