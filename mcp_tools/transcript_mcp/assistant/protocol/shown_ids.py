"""The ids by which people know questions: who sees those of several programs tells them apart by a mark."""

from collections.abc import Collection

from msgspec.structs import replace

from transcript_mcp.assistant.questions.values import Inquiry
from transcript_mcp.door.identity import digest

__all__ = ["ShownIds"]


class ShownIds:
    """``shared`` are the scopes that are seen beside each other."""

    def __init__(self, shared: Collection[str]) -> None:
        self._shared = shared

    def shown(self, record: Inquiry) -> Inquiry:
        """The record with the id that people know it by. Messages keep theirs, as people made it."""
        question = record.question
        mark = "" if question.kind == "message" else self._mark(question.scope)
        return replace(record, question=replace(question, id=mark + question.id)) if mark else record

    def key_of(self, scopes: tuple[str, ...], shown: str) -> tuple[str, str] | None:
        """Scope and id of what these scopes show by an id; None where a program's own id was meant."""
        for scope in scopes:
            mark = self._mark(scope)
            if shown.startswith(mark):
                return scope, shown.removeprefix(mark)
        return None

    def _mark(self, scope: str) -> str:
        """What the ids of a scope begin with; empty where nobody sees it beside others."""
        return f"{digest(scope)[:16]}." if scope in self._shared else ""
