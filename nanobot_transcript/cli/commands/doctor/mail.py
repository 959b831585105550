"""Agent Mail: is its folder private, can its database be read, is git there, does something wait for the archive?"""

import os
import shutil
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.findings import Finding

if TYPE_CHECKING:
    from nanobot_transcript.sql.location import Shelf

__all__ = ["check"]


def check(shelf: "Shelf", *, archiving: bool) -> list[Finding]:
    """Findings about the mail's folder and its tables. Without ``archiving`` all may wait for git. Makes nothing."""
    try:
        return list(_findings(shelf, archiving=archiving))
    except OSError as error:
        fix = said("Give this user access, or set mail.store to another place.")
        message = said("{path} cannot be accessed: {why}.", path=shelf.folder, why=error.strerror)
        return [Finding("mail", "error", message, fix)]


def _findings(shelf: "Shelf", *, archiving: bool) -> Iterator[Finding]:
    root = shelf.folder
    if not root.exists() and shelf.is_remote:
        yield from _contents(shelf, archiving=archiving)
        return
    if not root.exists():
        yield Finding("mail", "info", said("{path} does not exist yet; the first agent creates it.", path=root))
        return
    found = root.stat()
    if not stat.S_ISDIR(found.st_mode):
        fix = "Move it away, or set mail.store to another place."
        yield Finding("mail", "error", said("{path} is not a directory.", path=root), said(fix))
        return
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        fix = said("Make {path} writable for this user, or set mail.store to another place.", path=root)
        yield Finding("mail", "error", said("{path} cannot be read and written.", path=root), fix)
        return
    if stat.S_IMODE(found.st_mode) & 0o077:
        yield Finding("mail", "warning", said("Others can read {path}.", path=root), f"chmod -R go-rwx {root}")
    yield from _contents(shelf, archiving=archiving)


def _contents(shelf: "Shelf", *, archiving: bool) -> Iterator[Finding]:
    from transcript_mcp.mail.archive.doctor import glance
    from transcript_mcp.mail.store import MailStore

    for each in glance(MailStore.on(shelf)):
        if each.check == "archiver" and not archiving:
            yield Finding("mail", "info", said("Mail is not archived in git: mail.archive.enabled is off."))
        else:
            yield Finding("mail", each.severity, each.message, each.fix)
    if shutil.which("git") is None:
        fix = "Install git. Mail is archived without it, but guards cannot be installed or checked."
        yield Finding("mail", "warning", said("git is not installed."), said(fix))
