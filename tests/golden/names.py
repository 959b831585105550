"""The names that programs may rely on: those that ``docs/en/api.md`` lists, and how they are called."""

import enum
import importlib
import inspect
import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final, Unpack, get_args, get_origin

__all__ = ["listed_names", "names_text"]

ROOT: Final = Path(__file__).resolve().parents[2]
_OURS: Final = ("nanobot_transcript", "transcript_channels", "transcript_mcp")
_HEADING: Final = re.compile(r"^### `([\w.]+)`$", re.MULTILINE)
_CELL: Final = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)


def listed_names(language: str = "en") -> dict[str, list[str]]:
    """The supported names by their module, as the page of a language lists them."""
    page = (ROOT / "docs" / language / "api.md").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(page)
    return {
        module: [name for cell in _CELL.findall(text) for name in re.findall(r"`(\w+)`", cell)]
        for module, text in zip(parts[::2], parts[1::2], strict=True)
    }


def names_text() -> str:
    """Each supported name with its signature, and the entry points of the package."""
    lines = [
        f"entry point {point.group}: {point.name}" for point in sorted(distribution("nanobot-transcript").entry_points)
    ]
    for module, names in listed_names().items():
        lines += ["", module]
        loaded = importlib.import_module(module)
        lines += [f"  {line}" for name in sorted(names) for line in _described(name, getattr(loaded, name))]
    return "\n".join(lines) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, ModuleType):
        yield f"module {name}: {' '.join(sorted(value.__all__))}"
    elif inspect.isclass(value):
        yield f"class {name}({' '.join(base.__name__ for base in value.__bases__ if base is not object)})"
        yield from (f"  {line}" for line in _members(value))
    elif inspect.isroutine(value):
        yield f"{_kind(value)} {name}{_signature(value)}"
    elif isinstance(value, str | int | float | tuple | frozenset) and name != "__version__":
        yield f"{name} = {sorted(value) if isinstance(value, frozenset) else value!r}"
    else:
        yield f"{name}: {_annotation(value if hasattr(value, '__args__') else type(value))}"


def _members(kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield from (f"{each.name} = {each.value!r}" for each in kind)
    own = [each for each in kind.__mro__ if each.__module__.startswith(_OURS)]
    made = next((each for each in own if "__init__" in vars(each)), None)
    if made is not None and not getattr(kind, "_is_protocol", False):
        yield f"__init__{_signature(vars(made)['__init__'])}"
    fields = {name: hint for each in reversed(own) for name, hint in inspect.get_annotations(each).items()}
    public = {
        name for each in own for name in {**vars(each), **fields} if not name.startswith("_") or name == "__call__"
    }
    for name in sorted(public - set(getattr(kind, "__members__", ()))):
        value = inspect.getattr_static(kind, name, None)
        constant = str(fields.get(name, "")).startswith("ClassVar") or get_origin(fields.get(name)) is ClassVar
        if constant:
            yield f"{name} = {value!r}"
        elif name in fields and not inspect.isroutine(value) and not isinstance(value, property):
            yield f"{name}: {_annotation(fields[name])}"
        else:
            yield from _member(name, value)


def _member(name: str, value: Any) -> Iterator[str]:
    wrapped = getattr(value, "__func__", None) or getattr(value, "fget", None) or getattr(value, "func", None)
    if isinstance(value, staticmethod | classmethod):
        yield f"{type(value).__name__} {name}{_signature(wrapped)}"
    elif wrapped is not None and not inspect.isroutine(value):
        yield f"{name}: {_annotation(inspect.signature(wrapped).return_annotation)}"
    elif inspect.isroutine(value):
        yield f"{_kind(value)} {name}{_signature(value)}"
    elif isinstance(value, str | int | float | None):
        yield f"{name} = {value!r}"
    else:
        yield f"{name}: {type(value).__name__}"


def _kind(function: Any) -> str:
    return "async def" if inspect.iscoroutinefunction(function) else "def"


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    parts = [_parameter(each) for each in signature.parameters.values()]
    returns = signature.return_annotation
    if returns is inspect.Signature.empty:
        return f"({_joined(parts, signature)})"
    return f"({_joined(parts, signature)}) -> {_annotation(returns)}"


def _joined(parts: list[str], signature: inspect.Signature) -> str:
    kinds = [each.kind for each in signature.parameters.values()]
    keyword = inspect.Parameter.KEYWORD_ONLY
    if keyword in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parts.insert(kinds.index(keyword), "*")
    if inspect.Parameter.POSITIONAL_ONLY in kinds:
        parts.insert(kinds.count(inspect.Parameter.POSITIONAL_ONLY), "/")
    return ", ".join(parts)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    hint = "" if parameter.annotation is inspect.Parameter.empty else f": {_annotation(parameter.annotation)}"
    if parameter.default is inspect.Parameter.empty:
        return f"{stars}{parameter.name}{hint}"
    default = "…" if inspect.isfunction(parameter.default) else repr(parameter.default)
    return f"{stars}{parameter.name}{hint} = {default}"


def _annotation(hint: Any) -> str:
    """An annotation without quotation marks and the modules its names come from, which may move."""
    if get_origin(hint) is Unpack:  # every Python prints it in another way
        return f"Unpack[{_annotation(get_args(hint)[0])}]"
    text = hint if isinstance(hint, str) else inspect.formatannotation(hint)
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])|['\"~]", "", text)
