"""URI templates: the part of RFC 6570 that resources need, for matching a URI and extracting its values.

``{name}``          one path segment or less: anything but ``/``, ``?`` and ``#``
``{+path}``         anything, slashes included; ``{path*}`` means the same here
``{?a,b}``          query parameters in any order, each optional

Values are percent-decoded once. Literal text is compared after decoding, too, because clients differ in what they
escape.
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, unquote_to_bytes

__all__ = ["UriTemplate", "canonical"]

_PIECE = re.compile(r"[^/?#]+")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A compiled template; make it with ``UriTemplate.parse``."""

    text: str
    path_names: tuple[str, ...]
    query_names: tuple[str, ...]
    _pattern: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> "UriTemplate":
        """Raises ValueError for an expression that is not one of those above, or a name used twice."""
        path, query = _split_query(text)
        path_names: list[str] = []
        pattern = ""
        end = 0
        for found in _EXPRESSION.finditer(path):
            pattern += _literal(path[end : found.start()])
            name, matcher = _expression(found[1], text)
            path_names.append(name)
            pattern += matcher
            end = found.end()
        pattern += _literal(path[end:])
        names = [*path_names, *query]
        if len(set(names)) < len(names):
            raise ValueError(f"a name occurs twice in {text}")
        return cls(text, tuple(path_names), tuple(query), re.compile(pattern, re.DOTALL))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, those of the path first."""
        return self.path_names + self.query_names

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded values by name, or None when the URI does not match.

        Unknown query parameters are included; one with the name of a path parameter gets a ``?`` before its name.
        """
        path, _, query = uri.partition("#")[0].partition("?")
        found = self._pattern.fullmatch(canonical(path))
        if found is None:
            return None
        values = {name: unquote(value) for name, value in zip(self.path_names, found.groups(), strict=True)}
        given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=100)) if query else {}
        return values | {f"?{name}" if name in values else name: value for name, value in given.items()}


def canonical(uri: str) -> str:
    """One spelling for all ways to percent-encode the same URI, for comparisons."""
    return _PIECE.sub(lambda piece: quote(unquote_to_bytes(piece[0]), safe=":@!$&'()*+,;="), uri)


def _split_query(text: str) -> tuple[str, list[str]]:
    found = re.search(r"\{\?([^{}]*)\}$", text)
    if found is None:
        return text, []
    if not _NAMES.fullmatch(found[1]):
        raise ValueError(f"{{?{found[1]}}} is not a list of names, in {text}")
    return text[: found.start()], found[1].split(",")


def _literal(text: str) -> str:
    if "{" in text or "}" in text:
        raise ValueError(f"a brace without its partner, at {text!r}")
    return re.escape(canonical(text))


def _expression(inner: str, text: str) -> tuple[str, str]:
    name, matcher = inner, "([^/?#]+)"
    if inner.startswith("+"):
        name, matcher = inner[1:], "(.+)"
    elif inner.endswith("*"):
        name, matcher = inner[:-1], "(.+)"
    if not _NAMES.fullmatch(name) or "," in name:
        raise ValueError(f"{{{inner}}} is not a template expression that is understood here, in {text}")
    return name, matcher
