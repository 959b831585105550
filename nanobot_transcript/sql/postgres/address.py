"""Which database, and what of it: plain values that say where something shared lies."""

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
"""The schema in which everything lies, unless another one is named."""

_LONGEST_NAME: Final = 63
"""Bytes of a PostgreSQL identifier; what is longer would be cut off."""

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
    # A host that was switched off answers nothing: then the kernel gives up after some 20 s instead of two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
    # Of several hosts, the one that takes writes.
    "target_session_attrs": "read-write",
}


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
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
        for field_name, url in (("url", self.url), ("listen_url", self.listen_url)):
            if url is not None:
                object.__setattr__(self, field_name, spelled := _spelled(url))
                _require(spelled, f"record.{field_name}")
        if why := _objection(self.schema):
            raise ConfigError(why, hint="Use up to 63 letters, digits and underscores.")

    @property
    def name(self) -> str:
        """For a person: without user and password."""
        return f"{_told(self.url)} (schema {self.schema})"

    @property
    def address(self) -> str:
        """The same for all who mean the same database and schema, in whatever order they name its hosts: without user
        and password, and with the ports that are left out.
        """
        parts = _given(self.url)
        if "service" in parts:
            return f"postgresql://service={parts['service']}/{parts.get('dbname') or ''} (schema {self.schema})"
        where = ",".join(sorted({f"{host.lower()}:{port}" for host, port in _ways(_usual() | parts)}))
        return f"postgresql://{where}/{parts['dbname']} (schema {self.schema})"

    @property
    def user(self) -> str:
        """Who the server is told that asks."""
        return str((_usual() | _given(self.url)).get("user") or "")

    @property
    def password(self) -> str:
        """As the address has it; empty where it has none."""
        return str(_given(self.url).get("password") or "")

    @property
    def database(self) -> str:
        """Its name; empty where a service names it."""
        return str(_given(self.url).get("dbname") or "")

    @property
    def direct_name(self) -> str:
        """The same for where the connection that stays leads."""
        return f"{_told(self.listen_url)} ({self.direct_setting})" if self.listen_url and self.pooled else self.name

    @property
    def direct_setting(self) -> str:
        """The setting that says where the connection that stays leads."""
        return "record.listen_url" if self.pooled else "record.url"

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
        return quoted(self.schema)

    def channel(self, *names: str) -> str:
        """The channel on which something of this schema is told: short, and no other's."""
        told = "\0".join((self.schema, *names)).encode("utf-8", "surrogatepass")
        return f"nt_{blake2b(told, digest_size=20).hexdigest()}"

    def sql(self, statement: str) -> "LiteralString":
        """A statement that is written for the schema ``nanobot``, for this one: ``nanobot.chats`` is its ``chats``."""
        return _placed(statement, self.quoted_schema)


def quoted(name: str) -> str:
    """A name as it stands in SQL, whatever is in it.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=512)
def _placed(statement: str, quoted_schema: str) -> "LiteralString":
    return cast("LiteralString", statement.replace("nanobot.", quoted_schema + "."))


def _objection(schema: str) -> str:
    """Why it cannot be the name of a schema: also what the server reserves, and what means something to the driver or
    in a function's body. Empty when it can.
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
    """Raise ConfigError for what is no address, or leaves open which database. Nothing of it is repeated, which libpq
    does: any of it may be the password.
    """
    parts = _understood(url)
    if parts is None or _is_torn(parts):
        raise ConfigError(f"{setting} cannot be understood as the address of a database.", hint=_WRITTEN)
    if not (parts.get("dbname") or parts.get("service")):
        raise ConfigError(f"{setting} does not name a database.", hint=_NAMED)


def _spelled(url: str) -> str:
    """libpq takes a scheme in capitals for something else."""
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
    """What libpq takes for what an address leaves out: the variables PGHOST, PGPORT and PGUSER."""
    given = {option.keyword.decode(): option.val for option in Conninfo.get_defaults()}
    return {name: value.decode() for name in ("host", "port", "user") if (value := given.get(name))}


def _understood(url: str) -> dict[str, Any] | None:
    try:
        return dict(conninfo_to_dict(url)) if "\0" not in url else None
    except (ProgrammingError, UnicodeEncodeError):
        return None


def _is_torn(parts: dict[str, Any]) -> bool:
    """True where the end of a password passes for something else, because its characters were written as they are."""
    host, port, name = (str(parts.get(part) or "") for part in ("host", "port", "dbname"))
    return "@" in host + name or not all(map(_is_a_port, port.split(",")))


def _is_a_port(port: str) -> bool:
    return port == "" or (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65_536)


def _with_defaults(url: str) -> str:
    return make_conninfo("", **(_DEFAULTS | dict[str, Any](conninfo_to_dict(url)) | {"client_encoding": "utf8"}))
