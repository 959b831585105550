"""Limits and cleaning of questions, names, ids and messages."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from nanobot_transcript.errors import InvalidQuestionError
from nanobot_transcript.platform import chat_key
from nanobot_transcript.session_key import split
from transcript_mcp.assistant.questions.values import Choices, Option, Question

__all__ = ["checked", "clean", "clean_name", "group_chat", "size_of"]

_LONGEST_NAME: Final = 1000
_LONGEST_ID: Final = 200
_LONGEST_TEXT: Final = 1_000_000
_LONGEST_CHOICES: Final = 100_000
_MOST_CHOICES: Final = 50
_MOST_OPTIONS: Final = 500

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DIRECTION: Final = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Bidirectional marks: they can reorder the text around a name, too."""


def checked(question: Question, has_files: bool = False) -> Question:
    """The question or message, cleaned for storage and display. Raises InvalidQuestionError."""
    question = replace(
        question,
        text=clean(question.text),
        project=clean_name(question.project),
        agent=clean_name(question.agent),
        model=clean_name(question.model),
        client=clean_name(question.client),
        choices=_choices(question.choices),
    )
    if not (question.text.strip() or has_files):
        raise InvalidQuestionError("There is no text.", hint="Say what it is about.")
    if len(question.text) > _LONGEST_TEXT:
        raise InvalidQuestionError(
            f"A text may have at most {_LONGEST_TEXT} characters.", hint="Put the rest into a file."
        )
    if not _is_id(question.id):
        raise InvalidQuestionError(f"An id has 1 to {_LONGEST_ID} visible characters.", hint="Use a new UUID.")
    return question


def group_chat(chat: str) -> str:
    """The session key of a chat, given as key or as an id that shows its platform. Raises InvalidQuestionError."""
    chat = chat.strip()
    if not chat:
        return ""
    key, bare = chat_key(chat), split(chat)[1]
    named = _is_id(bare) and not chat.startswith(":") and len(chat.split()) == 1 and len(chat) <= _LONGEST_NAME
    if key is None or not named:
        raise InvalidQuestionError("This is not a group chat.", hint="Name it like feishu:oc_0123456789abcdef.")
    return key


def _is_id(text: str) -> bool:
    """Whether the text can be an id: short, and without invisible characters."""
    hidden = _CONTROL.search(text) or _DIRECTION.search(text)
    return 0 < len(text) <= _LONGEST_ID and text == clean(text).strip() and not hidden


def clean(text: str) -> str:
    """The text without lone surrogates and NUL, which some stores and clients cannot hold."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def clean_name(text: str, longest: int = _LONGEST_NAME) -> str:
    """The name on one line, without control characters and bidirectional marks."""
    return _DIRECTION.sub("", _CONTROL.sub(" ", clean(text[:longest])))


def size_of(question: Question) -> int:
    """The bytes of a question, roughly."""
    return len(question.text.encode()) + 4 * sum(_lengths(question.choices))


def _choices(choices: Sequence[Choices]) -> tuple[Choices, ...]:
    if len(choices) > _MOST_CHOICES or sum(len(choice.options) for choice in choices) > _MOST_OPTIONS:
        raise InvalidQuestionError(
            f"A question may have at most {_MOST_CHOICES} choices, with {_MOST_OPTIONS} options in total.",
            hint="Ask less at once.",
        )
    if sum(_lengths(choices)) > _LONGEST_CHOICES:
        raise InvalidQuestionError(
            f"All options together may have at most {_LONGEST_CHOICES} characters.",
            hint="Explain in the question, and keep the options short.",
        )
    return tuple(
        Choices(
            clean(choice.question),
            clean(choice.header),
            tuple(Option(clean(option.label), clean(option.description)) for option in choice.options),
            choice.multiple,
            choice.custom,
        )
        for choice in choices
    )


def _lengths(choices: Sequence[Choices]) -> list[int]:
    said = [len(choice.question) + len(choice.header) for choice in choices]
    return said + [len(each.label) + len(each.description) for choice in choices for each in choice.options]
