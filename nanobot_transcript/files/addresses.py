"""What leads to a database, and is no folder."""

import re
from pathlib import Path
from typing import Final

from nanobot_transcript.errors import ConfigError

__all__ = ["refuse_address"]

_DATABASE: Final = re.compile(r"postgres(ql)?:", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
"""How an address begins. A ``Path`` has lost the second of its slashes; in a text both have to be there."""


def refuse_address(place: str | Path) -> None:
    """Raise ConfigError for the address of a database where a folder is meant: it would be a folder with the password
    in its name, so nothing of it is repeated.
    """
    told = str(place)
    if _DATABASE.match(told):
        raise ConfigError(
            "The address of a database is no folder.",
            hint="`Record.open(address).store` is the store in a database, `.outbox` its posts.",
        )
    found = _ADDRESS.match(told)
    if found and (isinstance(place, Path) or told.startswith("/", found.end())):
        raise ConfigError(
            "The address of a database must begin with postgresql://.",
            hint="Name a PostgreSQL database, as in postgresql://user:password@host:5432/name, or a folder.",
        )
