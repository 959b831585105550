"""Which database, and what of it: plain values that say where something shared lies."""

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, LiteralString, cast

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from nanobot_transcript.errors import ConfigError

__all__ = ["SCHEMA", "Place"]

SCHEMA: Final = "nanobot"
"""The schema in which everything lies, unless another one is named."""

_LONGEST_NAME: Final = 63
"""Bytes of a PostgreSQL identifier; what is longer would be cut off."""

_DEFAULTS: Final = {
    "application_name": "nanobot-transcript",
    "connect_timeout": 5,
    # A host that was switched off answers nothing: then the kernel gives up after some 20 s instead of two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
    # Of several hosts, the one that takes writes.
    "target_session_attrs": "read-write",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A schema of a PostgreSQL database.

    ``url`` is libpq's (``postgresql://user:secret@host:5432/name``, several hosts included). ``listen_url`` leads past
    a pooler that hands each transaction another connection: there LISTEN and session locks do not work. ``connections``
    are those that one process has at most, besides the one for listening. Raises ConfigError for what is none.
    """

    url: str = field(repr=False)
    schema: str = SCHEMA
    listen_url: str | None = field(default=None, repr=False)
    connections: int = 4

    def __post_init__(self) -> None:
        for url in (self.url, self.listen_url):
            if url is not None:
                _parsed(url)
        if not self.schema or "\0" in self.schema or len(self.schema.encode("utf-8", "replace")) > _LONGEST_NAME:
            raise ConfigError(
                f"{self.schema!r} cannot be the name of a schema.", hint="Use up to 63 letters, digits and underscores."
            )

    @property
    def name(self) -> str:
        """For a person: without user and password."""
        parts = _parsed(self.url)
        hosts, ports = str(parts.get("host") or "localhost").split(","), str(parts.get("port") or "").split(",")
        ports += [ports[-1]] * (len(hosts) - len(ports))
        told = ",".join(f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False))
        return f"postgresql://{told}/{parts.get('dbname') or ''} (schema {self.schema})"

    @property
    def conninfo(self) -> str:
        """What libpq is given for connections that do one transaction at a time."""
        return _with_defaults(self.url)

    @property
    def direct_conninfo(self) -> str:
        """What libpq is given for the one connection that stays."""
        return _with_defaults(self.listen_url or self.url)

    @property
    def pooled(self) -> bool:
        """True where a pooler stands between: then nothing may outlast a transaction."""
        return self.listen_url is not None and self.listen_url != self.url

    @property
    def quoted_schema(self) -> str:
        """As it stands in SQL."""
        return '"' + self.schema.replace('"', '""') + '"'

    def channel(self, *names: str) -> str:
        """The channel on which something of this schema is told: short, and no other's."""
        told = "\0".join((self.schema, *names)).encode("utf-8", "surrogatepass")
        return f"nt_{blake2b(told, digest_size=20).hexdigest()}"

    def sql(self, statement: str) -> "LiteralString":
        """A statement that is written for the schema ``nanobot``, for this one: ``nanobot.chats`` is its ``chats``."""
        return _placed(statement, self.quoted_schema)


@lru_cache(maxsize=512)
def _placed(statement: str, quoted_schema: str) -> "LiteralString":
    return cast("LiteralString", statement.replace("nanobot.", quoted_schema.replace("%", "%%") + "."))


def _parsed(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except ProgrammingError:
        # libpq repeats in its message what it was given, and that may be the password.
        raise ConfigError(
            "The address of the database cannot be understood.",
            hint="Write it like postgresql://user:password@host:5432/name, with %40 for an @ in the password.",
        ) from None


def _with_defaults(url: str) -> str:
    return make_conninfo("", **(_DEFAULTS | _parsed(url) | {"client_encoding": "utf8"}))
