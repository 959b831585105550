"""What the sections of the settings are made of: described fields and checked kinds of values."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["OFF", "Address", "Directory", "Name", "Section", "Traits", "setting"]


def setting(default: Any, en: str, zh: str, *, example: Any = None, **limits: Any) -> Any:
    """A described field: its default, its meaning in English and Chinese, and the limits of its value.

    Error messages, ``config show``, the example file and the tables in the documents are made from this field
    (``schema`` reads it), so nothing about a setting needs to be written anywhere else. A callable default makes a
    fresh value each time.
    """
    extra: dict[str, Any] = {"zh": zh} if example is None else {"zh": zh, "example": example}
    if callable(default):
        return Field(default_factory=default, description=en, json_schema_extra=extra, **limits)
    return Field(default=default, description=en, json_schema_extra=extra, **limits)


@dataclass(frozen=True, slots=True)
class Traits:
    """What messages have to know about a field besides its type; put it into ``Annotated``.

    ``names``: what stands for the free names below it, such as ``<app_id>``. ``needed``: the default is nothing, and
    nothing does not work, so that no message may suggest removing it. ``waits``: only what uses the setting needs it,
    or of a section what is in it; a ``${VAR}`` that is not set is an error only then.
    """

    names: str = "<name>"
    needed: bool = False
    waits: bool = False


def _absolute(path: Path) -> Path:
    try:
        path = path.expanduser()
    except RuntimeError as error:
        raise ValueError("must not begin with ~ and a name that no user of this machine has") from error
    if not path.is_absolute():
        raise ValueError("must be an absolute path or begin with ~, so that every process means the same directory")
    return path


def _yaml_off(value: Any) -> Any:
    return "off" if value is False else value  # YAML reads a bare `off` as false


def _web_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return value.rstrip("/")


Directory: TypeAlias = Annotated[Path, AfterValidator(_absolute)]
Name: TypeAlias = Annotated[str, Field(min_length=1)]
Address: TypeAlias = Annotated[str, AfterValidator(_web_address)]
OFF: Final = BeforeValidator(_yaml_off)
"""For settings that may be ``off``, which YAML reads as false."""


class Section(BaseModel):
    """A part of the settings. ``load_settings`` warns about keys that it does not know; here they are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, str_strip_whitespace=True, validate_default=True)
