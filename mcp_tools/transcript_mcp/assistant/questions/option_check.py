"""Checks that an answer chooses options, where the agent allows no free text.

Clients write answers in different forms. Our page writes ``red, blue``, or with several choices
``Colour: red\\n\\nSize: L``; groups send a content for each option; pages of the original program write
``Q: Colour\\nA: red, blue``, without the mark of a recommended option, and with any text before and after it that
people have set up.
"""

import re
from collections.abc import Sequence
from typing import Final

from nanobot_transcript.errors import InvalidQuestionError
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Question

__all__ = ["check_answer"]

_RECOMMENDED: Final = re.compile(r"\s*\(Recommended\)")
_BETWEEN_OPTIONS: Final = ", "
_BETWEEN_CHOICES: Final = "\n\n"
_LONGEST_HINT: Final = 500


def check_answer(question: Question, contents: Sequence[AnswerContent]) -> None:
    """Raise InvalidQuestionError for an answer with free text to a question that only accepts its options."""
    choices = question.choices
    if not choices or any(choice.custom or not _labels(choice) for choice in choices):
        return
    texts = [each.text.strip() for each in contents if each.kind == "text"]
    several = len(choices) > 1 or any(choice.multiple for choice in choices)
    if not texts or (len(texts) > 1 and not several) or not all(_is_chosen(choices, text) for text in texts):
        labels = _BETWEEN_OPTIONS.join(option.label for choice in choices for option in choice.options)
        raise InvalidQuestionError(
            "This question accepts only its options.", hint=f"Answer with: {labels[:_LONGEST_HINT]}"
        )


def _is_chosen(choices: Sequence[Choices], text: str) -> bool:
    if any(_is_original(choice, text) for choice in choices):
        return True
    places, ends = {0}, set[int]()
    for choice in choices:
        for start in sorted(places):
            found = _ends(choice, text, start)
            ends |= found
            places |= {end + len(_BETWEEN_CHOICES) for end in found if text.startswith(_BETWEEN_CHOICES, end)}
    return len(text) in ends


def _ends(choice: Choices, text: str, start: int) -> set[int]:
    """All positions where a list of this choice's options that begins at ``start`` may end."""
    labels, ends, seen = _labels(choice), set[int](), set[int]()
    to_see = {start + len(head) for head in ("", f"{_title(choice)}: ") if text.startswith(head, start)}
    while to_see:
        at = to_see.pop()
        seen.add(at)
        for label in labels:
            if text.startswith(label, at):
                end = at + len(label)
                ends.add(end)
                if choice.multiple and text.startswith(_BETWEEN_OPTIONS, end):
                    to_see |= {end + len(_BETWEEN_OPTIONS)} - seen
    return ends


def _is_original(choice: Choices, text: str) -> bool:
    return any(f"Q: {_title(choice)}\nA: {label}" in text for label in _labels(choice))


def _labels(choice: Choices) -> set[str]:
    said = [option.label for option in choice.options]
    return {each for label in said for each in (label, label.strip(), _RECOMMENDED.sub("", label).strip())} - {""}


def _title(choice: Choices) -> str:
    return choice.header or choice.question
