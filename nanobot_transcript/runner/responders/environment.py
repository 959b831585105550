"""The environment of a command: what it needs to run, without secrets it was not given."""

import os
import re
from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["Inherit", "environment_for"]

Inherit = Literal["safe", "minimal", "all"]
"""``safe``: everything but what looks like a secret; ``minimal``: what programs need to run; ``all``: everything."""

_SECRET: Final = re.compile(
    r"^NANOBOT_|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|TOKEN|PRIVATE|BEARER|WEBHOOK|CONN(ECTION)?_?STR"
    r"|KEYS?\d*(_|$)|(^|_)(AUTH|PAT|PASS|JWT)(_|\d|$)|_(PWD|SK)(_|\d|$)|(^|_)SESSION(_?ID)?\d*$"
    r"|_(URL|URI|DSN)\d*(_|$)",
    re.IGNORECASE,
)
_ADDRESS_WITH_PASSWORD: Final = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
_NEEDED: Final = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER"}
)
_NEEDED_PREFIXES: Final = ("LC_", "XDG_")


def environment_for(
    inherit: Inherit, given: Mapping[str, str], base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment of a command: the part of this process's (or of ``base``) that is inherited, and ``given``.

    >>> environment_for("safe", {"MY_KEY": "1"}, {"PATH": "/bin", "OPENAI_API_KEY": "sk", "KEYBOARD": "de"})
    {'PATH': '/bin', 'KEYBOARD': 'de', 'MY_KEY': '1'}

    A name says what looks like a secret, or a value that is an address with a password in it.
    """
    base = os.environ if base is None else base
    return {name: value for name, value in base.items() if _passes(name, value, inherit)} | dict(given)


def _passes(name: str, value: str, inherit: Inherit) -> bool:
    if inherit == "all":
        return True
    if name in _NEEDED or name.startswith(_NEEDED_PREFIXES):
        return True
    return inherit == "safe" and not _SECRET.search(name) and not _ADDRESS_WITH_PASSWORD.search(value)
