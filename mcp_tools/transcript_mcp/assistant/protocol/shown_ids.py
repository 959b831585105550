"""The ids of questions as people's clients see them: with a prefix for the scope where one client sees several."""

from collections.abc import Collection
from dataclasses import dataclass

from msgspec.structs import replace

from transcript_mcp.assistant.questions.values import Inquiry
from transcript_mcp.door.identity import digest

__all__ = ["ShownIds"]


@dataclass(eq=False)
class ShownIds:
    """``shared``: the scopes that people see together, in which two programs may have chosen the same id."""

    shared: Collection[str]

    def shown(self, record: Inquiry) -> Inquiry:
        """The inquiry with its shown id. Messages keep their id: the person's client has made it."""
        question = record.question
        mark = "" if question.kind == "message" else self._mark(question.scope)
        return replace(record, question=replace(question, id=mark + question.id)) if mark else record

    def key_of(self, scopes: tuple[str, ...], shown: str) -> tuple[str, str] | None:
        """Scope and id of a shown id; None for an id without a prefix of these scopes."""
        for scope in scopes:
            mark = self._mark(scope)
            if shown.startswith(mark):
                return scope, shown.removeprefix(mark)
        return None

    def _mark(self, scope: str) -> str:
        """The prefix of a scope's ids; empty where nobody sees the scope together with others."""
        return f"{digest(scope)[:16]}." if scope in self.shared else ""
