"""The headers of a box, kept in a file outside it, so that a new process need not read every mail.

It is a cache and nothing else: each entry counts only for a file with the same stamp. Whoever writes last wins, a lost
or broken file is built anew.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.filebox.files import read, write
from transcript_mcp.filebox.folders import STATE, MailboxFolder
from transcript_mcp.filebox.values import Box, Mail

__all__ = ["load", "save"]

_VERSION: Final = 1
_LARGEST: Final = 256 * 1024 * 1024
_REPEATED: Final = ("file", "type", "sender", "receiver", "original_sender")

logger = logging.getLogger(__name__)


class _Index(msgspec.Struct, array_like=True):
    version: int
    mails: list[Mail]


_decoder: Final = msgspec.msgpack.Decoder(_Index)


def load(mailbox: MailboxFolder, box: Box, names: Iterable[str] = ()) -> dict[str, Mail]:
    """The mails of the last ``save``, by file name; empty when there was none. Raises nothing.

    ``names`` are those of the box, so that they need not be kept in memory twice.
    """
    try:
        with mailbox.looked_at(STATE) as folder:
            taken = read(folder, _name(box), _LARGEST) if folder is not None else None
        known = _decoder.decode(taken.body) if taken else None
    except (OSError, TranscriptError, msgspec.MsgspecError) as error:
        logger.info("Rebuilding the index of %s of %s: %s", box, mailbox.agent, error)
        return {}
    if known is None or known.version != _VERSION:
        return {}
    words = {name: name for name in names}
    for mail in known.mails:
        for name in _REPEATED:  # ten thousand mails name few agents
            word = getattr(mail, name)
            msgspec.structs.force_setattr(mail, name, words.setdefault(word, word))
    return {mail.file: mail for mail in known.mails}


def save(mailbox: MailboxFolder, box: Box, mails: Mapping[str, Mail]) -> None:
    """Keep the headers for the next process. Raises nothing: without an index things only take longer."""
    body = msgspec.msgpack.encode(_Index(_VERSION, [mail for name, mail in mails.items() if mail.file == name]))
    try:
        write(mailbox, STATE, _name(box), body)
    except TranscriptError as error:
        logger.warning("%s The index of the %s is not kept.", error, box)


def _name(box: Box) -> str:
    return f"{box}.index"
