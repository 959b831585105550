"""From a function's signature to a JSON schema and to checked arguments; the same on every SDK.

A parameter is described by ``Annotated[T, Field(description=...)]``; one with a default is optional. The schema shows
``x: str | None = None`` as an optional plain string, because several clients cannot handle unions. ``alias`` in the
``Field`` gives the name on the wire. Null for an optional argument counts as not given, and a list or object may be a
string of JSON: models send both. An unknown argument is refused, and the error names the nearest known one; ignoring it
would silently lose what the model meant.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from transcript_mcp.sdk.context import Context

__all__ = ["ArgumentsError", "Signature"]

_SHOWN = 80
"""Characters of a wrong value that an error repeats."""

_NAMED: Final = 5
"""Unknown arguments that an error names."""

_ENVELOPE: Final = frozenset({"_meta", "toolCallId"})
"""Fields that some hosts put among the arguments although they belong beside them; n8n adds ``toolCallId`` to each call
(https://github.com/n8n-io/n8n/issues/21500)."""


class ArgumentsError(Exception):
    """Wrong arguments; ``str(error)`` says which, what was given and what is expected."""


class Signature:
    """The parameters of one function. Raises ValueError for a parameter without name, type or description."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = getattr(function, "__name__", "function")
        hints = get_type_hints(function, include_extras=True)
        self.returns: Any = hints.pop("return", Any)
        parameters = inspect.signature(function).parameters
        self.context_name = next((name for name in parameters if hints.get(name) is Context), None)
        self._fields: dict[str, tuple[Any, Any]] = {}
        for name, parameter in parameters.items():
            if name != self.context_name:
                self._check(parameter, hints)
                default = ... if parameter.default is parameter.empty else parameter.default
                self._fields[name] = (hints[name], default)

    def _check(self, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> None:
        place = f"parameter {parameter.name!r} of {self._name}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ValueError(f"{place} cannot be given by name")
        if parameter.name not in hints:
            raise ValueError(f"{place} has no type")
        if not _description(hints[parameter.name]):
            raise ValueError(f"{place} has no description; write Annotated[..., Field(description='...')]")

    @cached_property
    def _model(self) -> type[BaseModel]:
        # Made on first use: of a server's fifty tools, a client calls a few.
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False, protected_namespaces=())
        fields: dict[str, Any] = dict(self._fields)
        return create_model(self._name, __config__=config, **fields)

    @cached_property
    def _wire_names(self) -> dict[str, str]:
        return {info.alias or name: name for name, info in self._model.model_fields.items()}

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, an object."""
        return {"type": "object", "properties": {}} | tidy(self._model.model_json_schema())

    @property
    def wire_names(self) -> tuple[str, ...]:
        """The parameters' names as clients know them."""
        return tuple(self._wire_names)

    def described(self) -> list[dict[str, Any]]:
        """Name, description and whether it is required, for each parameter; prompts show this."""
        return [
            {"name": wire, "description": info.description or "", "required": info.is_required()}
            for wire, name in self._wire_names.items()
            for info in [self._model.model_fields[name]]
        ]

    def parse(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Keyword arguments for the function. Raises ArgumentsError, also for unknown arguments."""
        given = given or {}
        unknown = self._unknown(given)
        try:
            model = self._checked({name: value for name, value in given.items() if self._is_given(name, value)})
        except ArgumentsError as error:
            raise ArgumentsError("\n".join([*unknown, str(error)])) from None
        if unknown:
            raise ArgumentsError("\n".join(unknown))
        return {name: getattr(model, name) for name in self._fields}

    def check_names(self, given: Iterable[str]) -> None:
        """Raises ArgumentsError for unknown names."""
        unknown = self._unknown(given)
        if unknown:
            raise ArgumentsError("\n".join(unknown))

    def _is_given(self, wire: str, value: Any) -> bool:
        name = self._wire_names.get(wire)
        return name is not None and (value is not None or self._model.model_fields[name].is_required())

    def _unknown(self, given: Iterable[str]) -> list[str]:
        """A sentence for each of the first unknown names."""
        unknown = (wire for wire in given if wire not in self._wire_names and wire not in _ENVELOPE)
        return [self._no_such(wire) for wire in islice(unknown, _NAMED)]

    def _no_such(self, wire: str) -> str:
        shown = wire if wire.isidentifier() and len(wire) <= _SHOWN else _shown(wire)
        near = get_close_matches(wire[:_SHOWN], self.wire_names, n=1)
        if near:
            return f"There is no argument {shown}. Did you mean {near[0]}?"
        if not self.wire_names:
            return f"There is no argument {shown}: it takes none."
        return f"There is no argument {shown}. There are: {', '.join(self.wire_names)}."

    def _checked(self, arguments: dict[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate(arguments)
        except ValidationError as error:
            return self._again(arguments, error)

    def _again(self, arguments: dict[str, Any], error: ValidationError) -> BaseModel:
        """Try again with JSON decoded in those strings that did not validate."""
        decoded = {name: _decoded(arguments[name]) for name in _wrong(error) if isinstance(arguments.get(name), str)}
        try:
            return self._model.model_validate(arguments | decoded)
        except ValidationError:
            raise ArgumentsError(self._explained(error)) from None

    def _explained(self, error: ValidationError) -> str:
        return "\n".join(dict.fromkeys(self._sentence(detail) for detail in error.errors()))

    def _sentence(self, detail: ErrorDetails) -> str:
        wire = str(detail["loc"][0]) if detail["loc"] else ""
        info = self._model.model_fields.get(self._wire_names.get(wire, ""))
        if detail["type"] == "missing" and len(detail["loc"]) == 1:
            about = f" ({info.description})" if info else ""
            return f"The argument {wire} is missing{about}"
        inner = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"][1:])
        if detail["type"] == "missing":
            return f"The argument {wire}{inner} is missing"
        expected = detail["msg"].replace("Input should", "It should", 1)
        return f"The argument {wire}{inner} is {_shown(detail['input'])}. {expected}."


def output_schema(annotation: Any) -> tuple[dict[str, Any], bool]:
    """The schema of a structured result, and whether the value has to be wrapped as ``{"result": value}``."""
    try:
        schema = _struct_schema(annotation) or TypeAdapter(annotation).json_schema(mode="serialization")
    except PydanticUserError as error:
        raise ValueError(f"no schema can be made from {annotation!r}") from error
    schema = tidy(schema, nulls=True)
    if schema.get("type") == "object":
        return schema, False
    definitions = {name: schema.pop(name) for name in ("$defs",) if name in schema}
    return {"type": "object", "properties": {"result": schema}, "required": ["result"], **definitions}, True


def _struct_schema(annotation: Any) -> dict[str, Any] | None:
    if not (isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)):
        return None
    schema = msgspec.json.schema(annotation)
    definitions = schema["$defs"]
    own = definitions[annotation.__name__]
    return own | ({"$defs": definitions} if "#/$defs/" in json.dumps(own) else {})


def tidy(schema: dict[str, Any], *, nulls: bool = False) -> dict[str, Any]:
    """The schema without generated titles and, unless ``nulls``, without null as an alternative or a default."""
    result = {name: _tidy_part(name, value, nulls) for name, value in schema.items() if name != "title"}
    if nulls:
        return result
    if "default" in result and result["default"] is None:
        del result["default"]
    alternatives = [each for each in result.get("anyOf", ()) if each != {"type": "null"}]
    if len(alternatives) < len(result.get("anyOf", ())):
        del result["anyOf"]
        result = alternatives[0] | result if len(alternatives) == 1 else {"anyOf": alternatives} | result
    return result


def _tidy_part(name: str, value: Any, nulls: bool) -> Any:
    if name in ("properties", "$defs", "patternProperties"):
        return {key: tidy(each, nulls=nulls) for key, each in value.items()}
    if name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        return [tidy(each, nulls=nulls) for each in value]
    if name in ("items", "additionalProperties", "not") and isinstance(value, dict):
        return tidy(value, nulls=nulls)
    return value


def _description(annotation: Any) -> str:
    if get_origin(annotation) is not Annotated:
        return ""
    found = [each.description for each in get_args(annotation)[1:] if isinstance(each, FieldInfo)]
    return next((text for text in found if text and text is not PydanticUndefined), "")


def _wrong(error: ValidationError) -> set[str]:
    return {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (list, dict)) else text


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
