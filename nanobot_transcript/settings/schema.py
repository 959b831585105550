"""What there is to say about each setting, read off its field in one place.

Error messages, ``config show``, the example file and the tables in the documents all ask here: ``describe`` lists every
setting, ``place_of`` finds the one behind a key that somebody has written.
"""

import difflib
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ByteSize, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from nanobot_transcript.settings.base import Traits
from nanobot_transcript.settings.model import Settings

__all__ = ["Description", "Kind", "Model", "child", "closest", "describe", "place_of", "shown"]

Model: TypeAlias = type[BaseModel]

_LONGEST: Final = 80


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value in words: ``en`` and ``zh`` in the documents, ``must`` behind "must be" in an error."""

    en: str
    zh: str
    must: str
    is_mapping: bool = False
    """Written as a section in YAML, as an object in JSON."""
    nullable: bool = False


_KINDS: Final = {
    str: Kind("text", "文本", "text"),
    int: Kind("whole number", "整数", "a whole number"),
    float: Kind("number", "数字", "a number"),
    bool: Kind("true or false", "true 或 false", "true or false"),
    Path: Kind("path", "路径", "a path"),
    ByteSize: Kind("size", "大小", "a size in bytes (or such as 64 MiB)"),
    SecretStr: Kind("secret text", "密文", "text"),
    Any: Kind("any value", "任意值", "any value"),
}
_SECTION: Final = Kind("section", "一组设置", "a section of settings", is_mapping=True)


@dataclass(frozen=True, slots=True)
class Description:
    """One setting or section: its dotted ``key``, the ``kind`` of its value, its meaning in English and Chinese.

    ``describe`` writes free names in a key as ``<app_id>``; ``place_of`` keeps them as they are. ``required``: it has
    no default. ``needed``, ``waits``: see ``Traits``. Only ``place_of`` sets the last two: ``within``, an item of its
    list is meant; ``named``, it is an entry under a free name, which has no default but need not be there.
    """

    key: str
    kind: Kind
    en: str = ""
    zh: str = ""
    default: Any = None
    example: Any = None
    section: bool = False
    required: bool = False
    secret: bool = False
    needed: bool = False
    waits: bool = False
    within: bool = False
    named: bool = False

    @property
    def depth(self) -> int:
        """How many sections it lies in."""
        return self.key.count(".")

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition(".")[2]

    @property
    def may_wait(self) -> bool:
        """True for what may be missing until it is used: a secret that need not be set, and what is marked so."""
        return self.waits or (self.secret and self.kind.nullable)


def describe(model: Model = Settings, prefix: str = "") -> Iterator[Description]:
    """Every section and setting, in the order of the class."""
    for name in model.model_fields:
        key = prefix + name
        yield _described(model, name, key)
        section, by_name = child(model, name)
        if section is not None:
            inner = f"{key}.{_traits(model.model_fields[name]).names}." if by_name else f"{key}."
            yield from describe(section, inner)


def place_of(path: Sequence[int | str]) -> Description:
    """The setting behind the parts of a key, such as ``("agents", "cli_a", "aliases", 0)``.

    What stands behind a setting is left out: pydantic adds which branch of a union was tried.

    >>> place_of(["context", "max_entries"]).kind.must
    'a whole number from 1 to 1000'
    """
    model: Model = Settings
    parts: list[str] = []
    rest = list(path)
    waits = False
    while rest:
        name = str(rest.pop(0))
        parts.append(name)
        if name not in model.model_fields:
            break
        section, by_name = child(model, name)
        if section is None:
            return _setting(_described(model, name, ".".join(parts), waits=waits), model.model_fields[name], rest)
        if not rest:
            return _described(model, name, ".".join(parts), waits=waits)
        if by_name:
            parts.append(str(rest.pop(0)))
        waits = waits or _traits(model.model_fields[name]).waits
        model = section
    return Description(".".join(parts), _SECTION, section=True, waits=waits)


def child(model: Model, name: str) -> tuple[Model | None, bool]:
    """The section class behind a field, and whether it is a mapping of such sections by free names."""
    annotation = _bare(model.model_fields[name].annotation)
    if get_origin(annotation) is dict:
        inner = get_args(annotation)[1]
        return (inner, True) if _is_model(inner) else (None, False)
    return (annotation, False) if _is_model(annotation) else (None, False)


def closest(key: str) -> str | None:
    """The known setting that ``key`` was probably meant to be; ``key`` itself where it is one."""
    known = [description.key for description in describe()]
    if any(_is_one(key, described) for described in known):
        return key
    found = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if found:
        return found[0]
    # Or it has the right name in the wrong section; where several have it, the one that lies deepest loses.
    last = key.rpartition(".")[2]
    deepest_first = sorted(known, key=lambda known_key: -known_key.count("."))
    by_name = {known_key.rpartition(".")[2]: known_key for known_key in deepest_first}
    found = difflib.get_close_matches(last, list(by_name), n=1, cutoff=0.8)
    return by_name[found[0]] if found else None


def shown(value: Any, place: Description) -> str:
    """A value in an error; of a secret, and of what may hold one, only the kind.

    >>> shown("many", place_of(["context", "max_entries"])), shown(7, place_of(["gate", "judge", "api_key"]))
    ("'many'", 'a number')
    """
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return "a section" if isinstance(value, dict) else "a list"
    if place.secret or place.kind.is_mapping:
        kinds = {str: "text", bool: "true or false", int: "a number", float: "a number"}
        return kinds.get(type(value), "something else")
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- from a field to its description


def _described(model: Model, name: str, key: str, *, waits: bool = False) -> Description:
    info = model.model_fields[name]
    section, by_name = child(model, name)
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    default = info.get_default(call_default_factory=True, validated_data={})
    traits = _traits(info)
    kind = _SECTION if section is not None else _kind(info.annotation, info.metadata)
    return Description(
        key,
        replace(kind, must=f"{kind.must} for each {traits.names}") if by_name else kind,
        en=info.description or "",
        zh=str(extra.get("zh", "")),
        default=None if default is PydanticUndefined else default,
        example=extra.get("example"),
        section=section is not None,
        required=info.is_required(),
        secret=_holds_secrets(info.annotation),
        needed=traits.needed,
        waits=waits or (section is None and traits.waits),
    )


def _setting(description: Description, info: FieldInfo, rest: Sequence[int | str]) -> Description:
    """The setting itself, or what is meant within it."""
    annotation = _bare(info.annotation)
    if get_origin(annotation) is dict and len(rest) == 1:
        item = _kind(get_args(annotation)[1])
        return replace(
            description, key=f"{description.key}.{rest[0]}", kind=item, default=None, required=False, named=True
        )
    return replace(description, within=bool(rest) and isinstance(rest[0], int))


def _traits(info: FieldInfo) -> Traits:
    return next((one for one in info.metadata if isinstance(one, Traits)), Traits())


def _bare(annotation: Any) -> Any:
    return _bare(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _holds_secrets(annotation: Any) -> bool:
    return annotation is SecretStr or any(_holds_secrets(part) for part in get_args(annotation))


# -- kinds of values in words


def _kind(annotation: Any, limits: Sequence[Any] = ()) -> Kind:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0], [*limits, *_limits(arguments[1:])])
    if origin in (Union, types.UnionType):
        return _one_of([_kind(part, limits) for part in arguments if part is not type(None)])
    if origin is Literal:
        words = [f"`{value}`" for value in arguments]
        return Kind(", ".join(words), "、".join(words), _or([repr(value) for value in arguments]))
    if origin is list:
        item = _kind(arguments[0])
        return Kind(f"list of {item.en}", f"列表：{item.zh}", f"a list of {item.must}")
    if origin is dict:
        item = _kind(arguments[1])
        must = f"a section with {item.must} for each name"
        return Kind(f"mapping to {item.en}", f"映射：{item.zh}", must, is_mapping=True)
    name = getattr(annotation, "__name__", str(annotation))  # of a type that only another package's section has
    kind = _KINDS.get(annotation, Kind(name, name, name))
    return replace(kind, must=kind.must + _bounds(limits))


def _one_of(kinds: Sequence[Kind]) -> Kind:
    """One of these, or null."""
    return Kind(
        " or ".join([*(kind.en for kind in kinds), "null"]),
        " 或 ".join([*(kind.zh for kind in kinds), "null"]),
        f"{' or '.join(kind.must for kind in kinds)}, or null",
        is_mapping=any(kind.is_mapping for kind in kinds),
        nullable=True,
    )


def _bounds(limits: Sequence[Any]) -> str:
    """A whole range, or each limit by itself."""
    least, most = _limit(limits, "ge"), _limit(limits, "le")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    names = {"gt": "greater than", "ge": "of at least", "lt": "less than", "le": "of at most"}
    found = [f"{words} {bound}" for name, words in names.items() if (bound := _limit(limits, name)) is not None]
    if _limit(limits, "min_length"):
        found.append("that is not empty")
    if (pattern := _limit(limits, "pattern")) is not None:
        found.append(f"of the form {pattern}")
    return f" {' and '.join(found)}" if found else ""


def _limit(limits: Sequence[Any], name: str) -> Any:
    return next((bound for limit in limits if (bound := getattr(limit, name, None)) is not None), None)


def _limits(metadata: Sequence[Any]) -> Iterator[Any]:
    for one in metadata:
        if isinstance(one, FieldInfo):
            yield from one.metadata
        else:
            yield one


def _or(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def _is_one(key: str, described: str) -> bool:
    """True when free names such as ``<app_id>`` make the one key of the other."""
    parts, free = key.split("."), described.split(".")
    return len(parts) == len(free) and all(
        part == name or name.startswith("<") for part, name in zip(parts, free, strict=True)
    )
