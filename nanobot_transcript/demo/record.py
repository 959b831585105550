"""Where the demo keeps its record: in its folder, or in a schema of its own if the environment names a database."""

import os
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final, Self

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.errors import ConfigError, StoreError
from nanobot_transcript.record import Record

if TYPE_CHECKING:
    from nanobot_transcript.settings.sections.store import RecordSettings

__all__ = ["DemoPlace"]

_NAMES: Final = "NANOBOT_TRANSCRIPT_RECORD__"


@dataclass(slots=True)
class DemoPlace:
    """In ``folder``, unless ``database`` says where else: then in ``schema``, which nobody else has."""

    folder: Path
    database: "RecordSettings | None" = None
    schema: str = ""
    _is_made: bool = False

    @classmethod
    def from_environment(cls, folder: Path) -> Self:
        """As ``NANOBOT_TRANSCRIPT_RECORD__URL`` says. Raises ConfigError when it cannot be understood."""
        from pydantic import ValidationError

        from nanobot_transcript.settings.environment import environment
        from nanobot_transcript.settings.sections.store import RecordSettings

        try:
            told = RecordSettings(**environment().values.get("record") or {})
        except ValidationError as error:
            wrong = error.errors(include_input=False, include_url=False)[0]
            name = _NAMES + "__".join(str(part).upper() for part in wrong["loc"])
            why = wrong["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{name} {why}.", hint=f"Correct {name}, or remove it.") from None
        return cls(folder) if told.address is None else cls(folder, told, f"demo_{token_hex(6)}")

    @property
    def variables(self) -> dict[str, str]:
        """What the demo's processes have to know of the database; what waits for it lies in their own homes."""
        if self.database is None:
            return {}
        told = {"URL": self._address, "SCHEMA": self.schema, "CONNECTIONS": str(self.database.connections)}
        if self.database.listen_url is not None:
            told["LISTEN_URL"] = self.database.listen_url.get_secret_value()
        return {_NAMES + name: value for name, value in told.items()}

    def open(self) -> Record:
        """The record; see ``Record.open``."""
        if self.database is None:
            return Record.open(self.folder)
        return Record.open(self._address, **self.database.options() | {"schema": self.schema, "spool_dir": None})

    def prepare(self) -> None:
        """Make what has to be there. Raises StoreError kinds when the database cannot be used."""
        if self.database is not None:
            from nanobot_transcript.record.temporary_schema import make_schema

            make_schema(self._address, self.schema)
            self._is_made = True

    def remove(self, *, known: bool = False) -> str:
        """Remove what is not in the folder. Returns what to say where it is still there, without the reason if that is
        ``known``; else nothing.
        """
        if not self._is_made:
            return ""
        from nanobot_transcript.record.temporary_schema import drop_schema

        try:
            drop_schema(self._address, self.schema)
        except StoreError as error:
            still = "The schema {schema} is still in the database: {why}"
            if known:
                still = "The schema {schema} is still in the database."
            return f"{said(still, schema=self.schema, why=error)} {self.dropping}"
        return ""

    @property
    def dropping(self) -> str:
        """A sentence that says how to drop the schema by hand."""
        named = f"${_NAMES}URL" if f"{_NAMES}URL" in os.environ else f"$(cat ${_NAMES}URL_FILE)"
        command = f"psql \"{named}\" -c 'DROP SCHEMA {self.schema} CASCADE'"
        return said("To drop it: {command}", command=command)

    @property
    def _address(self) -> str:
        return (self.database.address if self.database is not None else None) or ""
