"""How the text of a message names its pictures and files, and how these names are parsed.

The platform's key stands in parentheses at the end: ``[image (img_v3_…)]``, ``[file: plan.pdf (file_v3_…)]``. With this
key and the id of the message a file can be downloaded. Names and keys are other people's input.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Attachment", "attachments_in", "placeholder"]

_LONGEST_NAME: Final = 200
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NAMED: Final = re.compile(
    rf"\[(image|file|video|audio)(?::[ ]([^\n]{{0,{_LONGEST_NAME}}}?))?[ ]\(({_KEY.pattern})\)\]"
)
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something that a message carries. ``kind``: image, file, video or audio; ``name`` is what people call it."""

    kind: str
    key: str
    name: str = ""


def placeholder(label: str, detail: Any = "", key: Any = None) -> str:
    """What stands in the text for a file: one line without control characters; an impossible key is left out.

    >>> placeholder("file", "plan.pdf", "file_v3_1")
    '[file: plan.pdf (file_v3_1)]'
    >>> placeholder("image", key="../x")
    '[image]'
    """
    words = " ".join(detail.split())[:_LONGEST_NAME] if isinstance(detail, str) else ""
    key = key.strip() if isinstance(key, str) else ""
    named = f"{label}: {words}" if words else label
    return f"[{named} ({key})]" if _KEY.fullmatch(key) else f"[{named}]"


def attachments_in(text: str) -> list[Attachment]:
    """The files that a text names, in order, each key once; at most 100.

    Somebody may have typed such a name. That is harmless: the platform refuses keys that do not belong to the message.

    >>> attachments_in("see [image (img_v3_1)] and [file: a (1).pdf (file_v3_2)]")
    [Attachment(kind='image', key='img_v3_1', name=''), Attachment(kind='file', key='file_v3_2', name='a (1).pdf')]
    """
    found: dict[str, Attachment] = {}
    for match in _NAMED.finditer(text):
        kind, name, key = match.groups()
        found.setdefault(key, Attachment(kind, key, name or ""))
        if len(found) >= _MOST:
            break
    return list(found.values())
