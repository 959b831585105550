"""The address of a database and of a schema in it, as plain values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, LiteralString, cast

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from nanobot_transcript.errors import ConfigError

__all__ = ["SCHEMA", "DatabaseAddress", "quoted"]

SCHEMA: Final = "nanobot"
"""The default schema."""

_LONGEST_NAME: Final = 63
"""Bytes of a PostgreSQL identifier; a longer one is truncated."""

_USUAL_PORT: Final = "5432"
_RESERVED: Final = "pg_"
_NO_NAME: Final = re.compile(r"[\0%$']")
_WRITTEN: Final = (
    "Write it like postgresql://user:password@host:5432/name, with a port from 1 to 65535, and behind a ? only options"
    " that PostgreSQL knows. User and password must be percent-encoded: %25 for %, %40 for @, %2F for /, %3A for :, %3F"
    " for ?, %23 for #, %20 for a space."
)
_NAMED: Final = "Write it at the end of the address, as in postgresql://user:password@host:5432/name."

_DEFAULTS: Final = {
    "application_name": "nanobot-transcript",
    "connect_timeout": 5,
    # A host without power sends no reset: make the kernel give up after some 20 s instead of two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
    # Of several hosts, connect to the one that accepts writes.
    "target_session_attrs": "read-write",
}


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A schema of a PostgreSQL database.

    ``url`` is libpq's (``postgresql://user:secret@host:5432/name``, several hosts included). ``listen_url`` bypasses a
    pooler that gives each transaction another connection, where LISTEN and session locks do not work. ``connections``
    is the most that one process opens, besides the one for listening. Raises ConfigError for an invalid address.
    """

    url: str = field(repr=False)
    schema: str = SCHEMA
    listen_url: str | None = field(default=None, repr=False)
    connections: int = 4

    def __post_init__(self) -> None:
        for field_name, url in (("url", self.url), ("listen_url", self.listen_url)):
            if url is not None:
                object.__setattr__(self, field_name, spelled := _spelled(url))
                _require(spelled, f"record.{field_name}")
        if why := _objection(self.schema):
            raise ConfigError(why, hint="Use up to 63 letters, digits and underscores.")

    @property
    def name(self) -> str:
        """As people write it, without user and password."""
        return f"{_told(self.url)} (schema {self.schema})"

    @property
    def address(self) -> str:
        """The same for all who mean the same database and schema, whatever the order of its hosts: without user and
        password, with default ports filled in.
        """
        parts = _given(self.url)
        if "service" in parts:
            return f"postgresql://service={parts['service']}/{parts.get('dbname') or ''} (schema {self.schema})"
        where = ",".join(sorted({f"{host.lower()}:{port}" for host, port in _ways(_usual() | parts)}))
        return f"postgresql://{where}/{parts['dbname']} (schema {self.schema})"

    @property
    def user(self) -> str:
        """The user name for the server."""
        return str((_usual() | _given(self.url)).get("user") or "")

    @property
    def password(self) -> str:
        """The password in the address; empty without one."""
        return str(_given(self.url).get("password") or "")

    @property
    def database(self) -> str:
        """The database's name; empty when a service file names it."""
        return str(_given(self.url).get("dbname") or "")

    @property
    def direct_name(self) -> str:
        """``name`` for the permanent connection."""
        return f"{_told(self.listen_url)} ({self.direct_setting})" if self.listen_url and self.pooled else self.name

    @property
    def direct_setting(self) -> str:
        """The setting that tells where the permanent connection goes."""
        return "record.listen_url" if self.pooled else "record.url"

    @property
    def conninfo(self) -> str:
        """libpq's connection string for connections that run one transaction at a time."""
        return _with_defaults(self.url)

    @property
    def direct_conninfo(self) -> str:
        """libpq's connection string for the permanent connection."""
        return _with_defaults(self.listen_url or self.url)

    @property
    def pooled(self) -> bool:
        """True when a pooler may be in between: then nothing may outlast a transaction."""
        return self.listen_url is not None and self.listen_url != self.url

    @property
    def quoted_schema(self) -> str:
        """The schema, quoted for SQL."""
        return quoted(self.schema)

    def channel(self, *names: str) -> str:
        """A NOTIFY channel of this schema: short, and different for different names."""
        told = "\0".join((self.schema, *names)).encode("utf-8", "surrogatepass")
        return f"nt_{blake2b(told, digest_size=20).hexdigest()}"

    def sql(self, statement: str) -> "LiteralString":
        """Adapt a statement written for the schema ``nanobot`` to this one: ``nanobot.chats`` becomes its
        ``chats``.
        """
        return _placed(statement, self.quoted_schema)


def quoted(name: str) -> str:
    """A name, quoted for SQL.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=512)
def _placed(statement: str, quoted_schema: str) -> "LiteralString":
    return cast("LiteralString", statement.replace("nanobot.", quoted_schema + "."))


def _objection(schema: str) -> str:
    """Why it cannot be the name of a schema, including names reserved by the server and characters with a meaning for
    the driver or in a function body. Empty when it can.
    """
    size = len(schema.encode("utf-8", "surrogatepass"))
    if size > _LONGEST_NAME:
        return f"{schema!r} cannot be the name of a schema: it has {size} bytes, and {_LONGEST_NAME} are the most."
    if schema.startswith(_RESERVED):
        return (
            f"{schema!r} cannot be the name of a schema: PostgreSQL keeps names that begin with {_RESERVED} for itself."
        )
    is_text = size > 0 and not any("\ud800" <= letter <= "\udfff" for letter in schema)
    if is_text and _NO_NAME.search(schema) is None:
        return ""
    return f"{schema!r} cannot be the name of a schema: some of its characters cannot be."


def _require(url: str, setting: str) -> None:
    """Raise ConfigError for an invalid address, or one that does not tell which database. The error repeats nothing of
    it, as libpq would: any part may be the password.
    """
    parts = _understood(url)
    if parts is None or _is_torn(parts):
        raise ConfigError(f"{setting} cannot be understood as the address of a database.", hint=_WRITTEN)
    if not (parts.get("dbname") or parts.get("service")):
        raise ConfigError(f"{setting} does not name a database.", hint=_NAMED)


def _spelled(url: str) -> str:
    """libpq does not recognise a scheme in capitals."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme.lower()}{separator}{rest}" if separator else url


def _told(url: str) -> str:
    parts = conninfo_to_dict(url)
    hosts, ports = str(parts.get("host") or "localhost").split(","), str(parts.get("port") or "").split(",")
    ports += [ports[-1]] * (len(hosts) - len(ports))
    told = ",".join(f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False))
    return f"postgresql://{told}/{parts.get('dbname') or ''}"


def _given(url: str) -> dict[str, Any]:
    return {part: value for part, value in conninfo_to_dict(url).items() if value is not None}


def _ways(parts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each host with its port."""
    hosts = str(parts.get("host") or parts.get("hostaddr") or "").split(",")
    ports = str(parts.get("port") or "").split(",")
    ports += [ports[-1]] * (len(hosts) - len(ports))
    for host, port in zip(hosts, ports, strict=False):
        yield host or "localhost", port or _USUAL_PORT


def _usual() -> dict[str, Any]:
    """What libpq uses for missing parts of an address: the variables PGHOST, PGPORT and PGUSER."""
    given = {option.keyword.decode(): option.val for option in Conninfo.get_defaults()}
    return {name: value.decode() for name in ("host", "port", "user") if (value := given.get(name))}


def _understood(url: str) -> dict[str, Any] | None:
    try:
        return dict(conninfo_to_dict(url)) if "\0" not in url else None
    except (ProgrammingError, UnicodeEncodeError):
        return None


def _is_torn(parts: dict[str, Any]) -> bool:
    """True when the end of a password was parsed as something else, because its special characters were not
    percent-encoded.
    """
    host, port, name = (str(parts.get(part) or "") for part in ("host", "port", "dbname"))
    return "@" in host + name or not all(map(_is_a_port, port.split(",")))


def _is_a_port(port: str) -> bool:
    return port == "" or (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65_536)


def _with_defaults(url: str) -> str:
    return make_conninfo("", **(_DEFAULTS | dict[str, Any](conninfo_to_dict(url)) | {"client_encoding": "utf8"}))
