"""What settings exist: read off the settings class for messages, the example file and the documents."""

import difflib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ByteSize, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from nanobot_transcript.settings.model import Settings

__all__ = ["Description", "Model", "bare", "child", "closest", "describe", "placeholder"]

Model: TypeAlias = type[BaseModel]

_KEY_NAMES = {"agents": "<app_id>", "groups.chats": "<chat_id>"}
_WORDS = {
    str: "text",
    int: "whole number",
    float: "number",
    Path: "path",
    ByteSize: "size",
    bool: "true or false",
    SecretStr: "secret text",
    Any: "any value",
}


@dataclass(frozen=True, slots=True)
class Description:
    """One setting or section: its dotted ``key`` (``<app_id>`` stands for any), level, kind and meaning."""

    key: str
    kind: str
    default: Any
    required: bool
    section: bool
    en: str
    zh: str
    example: Any = None

    @property
    def depth(self) -> int:
        """How many sections it lies in."""
        return self.key.count(".")

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "NANOBOT_TRANSCRIPT_" + "__".join(
            part if part.startswith("<") else part.upper() for part in self.key.split(".")
        )


def placeholder(key: str) -> str:
    """What stands for the free names below a mapping, such as ``<app_id>`` below ``agents``."""
    return _KEY_NAMES.get(key, "<name>")


def bare(annotation: Any) -> Any:
    """A kind of value without what ``Annotated`` says of it."""
    return bare(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def child(model: Model, name: str) -> tuple[Model | None, bool]:
    """The section class behind a field, and whether it is a mapping of such sections by free names."""
    annotation = bare(model.model_fields[name].annotation)
    if get_origin(annotation) is dict:
        inner = get_args(annotation)[1]
        return (inner, True) if _is_model(inner) else (None, False)
    return (annotation, False) if _is_model(annotation) else (None, False)


def describe(model: Model = Settings, prefix: str = "") -> Iterator[Description]:
    """Every section and setting, in the order of the class."""
    for name, info in model.model_fields.items():
        key = prefix + name
        section, by_name = child(model, name)
        yield _description(key, info, section is not None)
        if section is not None:
            inner = f"{key}.{placeholder(key)}." if by_name else f"{key}."
            yield from describe(section, inner)


def closest(key: str) -> str | None:
    """The known setting that ``key`` was probably meant to be; ``key`` itself where it is one."""
    known = [description.key for description in describe()]
    if any(_is_one(key, described) for described in known):
        return key
    found = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if found:
        return found[0]
    last = key.rpartition(".")[2]
    deepest_first = sorted(known, key=lambda known_key: -known_key.count("."))
    by_name = {known_key.rpartition(".")[2]: known_key for known_key in deepest_first}
    found = difflib.get_close_matches(last, list(by_name), n=1, cutoff=0.8)
    return by_name[found[0]] if found else None


def _is_one(key: str, described: str) -> bool:
    """True when free names such as ``<app_id>`` make the one key of the other."""
    parts, free = key.split("."), described.split(".")
    return len(parts) == len(free) and all(
        part == name or name.startswith("<") for part, name in zip(parts, free, strict=True)
    )


def _description(key: str, info: FieldInfo, section: bool) -> Description:
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    default = info.get_default(call_default_factory=True, validated_data={})
    return Description(
        key=key,
        kind="section" if section else _kind(info.annotation),
        default=None if default is PydanticUndefined else default,
        required=info.is_required(),
        section=section,
        en=info.description or "",
        zh=str(extra.get("zh", "")),
        example=extra.get("example"),
    )


def _kind(annotation: Any) -> str:
    annotation = bare(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [_kind(part) for part in get_args(annotation) if part is not type(None)]
        return " or ".join([*parts, "null"])
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) is list:
        return f"list of {_kind(get_args(annotation)[0])}"
    if get_origin(annotation) is dict:
        return f"mapping to {_kind(get_args(annotation)[1])}"
    return _WORDS.get(annotation) or getattr(annotation, "__name__", str(annotation))


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
