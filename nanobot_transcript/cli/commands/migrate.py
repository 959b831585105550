"""``migrate``: moves the record from its folder into a database, and back."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from nanobot_transcript.cli.terminal.command_hints import again, given
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, expanded, read_settings
from nanobot_transcript.cli.terminal.output import amount, emit_json, listed, notice, number, printable, progress_bar
from nanobot_transcript.cli.terminal.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nanobot_transcript.record.transfer.carrier import ChatReport
    from nanobot_transcript.record.transfer.move import MoveReport, Progress
    from nanobot_transcript.record.transfer.parts import PartReport
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["migrate"]

_SHOWN: Final = 20
_TABLES: Final = ("posts", "queues", "questions", "mail")
_NOTHING_NEW: Final = (
    "Next: start the bots that you have stopped. "
    "When all are in the new place, `{command} --check` compares everything."
)
_LOST: Final = (
    "Not there: {what}. What was moved before is gone from the new place since then, and no run brings that again: "
    "move into an empty schema or folder."
)
_OUTCOMES: Final = {
    "other": "Another history of this chat is in the new place, and two are not joined: nothing of it was carried. "
    "Keep this place, move into another one, or export and import its messages: docs/en/postgres.md.",
    "purged": "It was purged here after others had written there. Purge the same there.",
}


def migrate(
    to: Annotated[
        Literal["postgres", "files"],
        typer.Option("--to", help="Into the database of record.url, or into the folder store.dir.", show_default=False),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Only compare both places, line by line; nothing is changed.")
    ] = False,
    json: JsonOption = False,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Directory of the files, instead of store.dir.", readable=False),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Move the record into a database, or back into files.

    Bots may go on writing meanwhile. Interrupted, it goes on where it was when it is run again; run again at the end,
    it brings what was written since. Nothing is removed from the old place. Every chat is compared by the number and
    the hash of its lines. Exit code 1: something of the old place is not in the new one.

    \b
    Example:
      nanobot-transcript migrate --to postgres
      nanobot-transcript migrate --to postgres --check
    """
    place = {"store": {"dir": str(expanded(store).absolute())}} if store is not None else None
    settings = read_settings(config, None, place)
    with given(config, store):
        try:
            report = _moved(settings, to, check=check)
        except KeyboardInterrupt:
            notice(said("Stopped. `{command}` goes on where it was.", command=again(f"migrate --to {to}")))
            raise
        if json:
            emit_json(_document(report))
        else:
            _tell(report, check=check)
            _tell_next(report, to, check=check)
    if not report.is_fine:
        raise typer.Exit(NEGATIVE)


def _moved(settings: "LoadedSettings", to: str, *, check: bool) -> "MoveReport":
    from nanobot_transcript.record.transfer import move
    from transcript_mcp.rooms import kept_tables

    watched, label = _Watched(), said("Comparing") if check else said("Moving")
    with settings.open_folder() as folder, settings.open_database(spooled=False) as database:
        source, target = (folder, database) if to == "postgres" else (database, folder)
        spool = settings.record.spool_dir if to == "files" else None
        with progress_bar(label, watched.told) as watched.advance:
            carry = move.check if check else move.move
            return carry(
                source,
                target,
                watched,
                spool_dir=spool,
                tables=kept_tables(settings),
            )


class _Watched:
    """The progress of a move, as text for the progress bar."""

    def __init__(self) -> None:
        self.advance: Any = None
        self._progress: Progress | None = None
        self._began: float = time.monotonic()

    def __call__(self, progress: "Progress") -> None:
        self._progress = progress
        if self.advance is not None:
            self.advance(progress.bytes, progress.bytes_in_all or None)

    def told(self) -> str:
        progress = self._progress
        if progress is None:
            return ""
        speed = number(round(progress.lines / max(0.001, time.monotonic() - self._began)))
        chats, all_chats = number(progress.chats), number(progress.chats_in_all)
        return said("{chats} of {all} chats, {speed} lines/s", chats=chats, all=all_chats, speed=speed)


def _tell(report: "MoveReport", *, check: bool) -> None:
    """Report the outcome on stderr, and a table of problems on stdout."""
    notice(_compared(report) if check else _moved_there(report))
    more = sum(chat.outcome == "more" for chat in report.chats)
    if more:
        notice(said("{chats} with more lines there: others have written there.", chats=amount(more, "chat")))
    left_out = sum(count for chat in report.chats for flaw, count in chat.left_out.items() if flaw != "copy")
    if left_out:
        told = "Left out {lines} that no reader is shown: `{verify}` tells which."
        notice(said(told, lines=amount(left_out, "line"), verify=again("verify")))
    _tell_problems(report, check=check)


def _compared(report: "MoveReport") -> str:
    """What ``--check`` compared."""
    parts = [_counted(part.part, part.count) for part in report.parts if part.count and part.part != "spool"]
    lines = amount(sum(chat.lines for chat in report.chats), "line")
    told = said("{lines} of {chats} in {source}, compared with {target}.", lines=lines, **_places(report))
    return _with(told, parts)


def _moved_there(report: "MoveReport") -> str:
    """What this run has moved."""
    parts = [_counted(part.part, part.moved) for part in report.parts if part.moved]
    lines = sum(chat.moved for chat in report.chats)
    if not lines and not parts:
        return said("Moved nothing of {chats} from {source} to {target}.", **_places(report))
    if not lines:
        told = "Moved no line of {chats} from {source} to {target}."
        return _with(said(told, **_places(report)), parts)
    speed = number(round(lines / max(0.001, report.seconds)))
    told = "Moved {lines} of {chats} from {source} to {target}, {speed} lines/s."
    return _with(said(told, lines=amount(lines, "line"), speed=speed, **_places(report)), parts)


def _places(report: "MoveReport") -> dict[str, Any]:
    return {"chats": amount(len(report.chats), "chat"), "source": report.source, "target": report.target}


def _with(told: str, parts: list[str]) -> str:
    return "\n".join([told, *([said("Besides: {parts}.", parts=listed(parts))] if parts else [])])


def _tell_problems(report: "MoveReport", *, check: bool) -> None:
    rows = [[printable(what), printable(why)] for what, why in _problems(report)]
    if not rows:
        is_equal = all(chat.outcome == "equal" for chat in report.chats)
        if not check and any(chat.moved < chat.lines for chat in report.chats):
            notice(said("What is new is there. What earlier runs have brought was compared then, and not again."))
        else:
            notice(said("Everything is there, with equal hashes.") if is_equal else said("Everything is there."))
        return
    print_table(["chat", "problem"], rows[:_SHOWN], shorten="chat")
    if len(rows) > _SHOWN:
        notice(said("And {count} more; --json lists all.", count=number(len(rows) - _SHOWN)))


def _problems(report: "MoveReport") -> "Iterator[tuple[str, str]]":
    for chat in report.chats:
        if not chat.is_fine:
            yield chat.chat, _why(chat)
    for part in report.parts:
        if why := _why_of_part(part):
            yield said(part.part), why
    for path in report.nameless:
        yield path, said("The file has lost the name of its chat and was left out.")


def _why(chat: "ChatReport") -> str:
    if chat.outcome == "missing":
        return said("Not there: {what}.", what=amount(chat.missing, "line"))
    if chat.outcome == "lost":
        return said(_LOST, what=amount(chat.missing, "line"))
    return said(_OUTCOMES[chat.outcome]) if chat.outcome in _OUTCOMES else chat.problem


def _why_of_part(part: "PartReport") -> str:
    if part.problem or not part.lacking:
        return part.problem
    if part.part == "spool":
        told = "{messages} of this machine wait: start a bot with record.url, which hands them on, then run this again."
        return said(told, messages=amount(part.lacking, "message"))
    if part.part in _TABLES:
        told = "Not there, or not as they are here: {what}."
        return said(told, what=amount(part.lacking, "row"))
    return said("Not there: {what}.", what=_counted(part.part, part.lacking))


def _counted(part: str, count: int) -> str:
    if part in _TABLES:
        return said("{rows} of {tables}", rows=amount(count, "row"), tables=said(part))
    if part == "marks":
        return amount(count, "place")
    return amount(count, "member") if part == "members" else amount(count, "decision")


def _tell_next(report: "MoveReport", to: str, *, check: bool) -> None:
    """Say what to do next; where something could not be moved, the table of problems has said it."""
    command = again(f"migrate --to {to}")
    if check:
        if any(chat.outcome == "missing" for chat in report.chats) or any(part.lacking for part in report.parts):
            notice(said("Next: `{command}` brings what is not there yet.", command=command))
        return
    if not report.is_fine:
        return
    if not any(one.moved for one in (*report.chats, *report.parts)):
        told = _NOTHING_NEW
    elif to == "postgres":
        told = "Next: stop each bot, run `{command}` again, start the bot with record.url."
    else:
        told = "Next: stop each bot, run `{command}` again, start the bot without record.url."
    notice(said(told, command=command))


def _document(report: "MoveReport") -> dict[str, Any]:
    return {
        "from": report.source,
        "to": report.target,
        "ok": report.is_fine,
        "seconds": round(report.seconds, 3),
        "chats": [_chat(chat) for chat in report.chats],
        "parts": [_part(part) for part in report.parts],
        "nameless": report.nameless,
    }


def _chat(chat: "ChatReport") -> dict[str, Any]:
    document = asdict(chat) | {"problem": "" if chat.is_fine else _why(chat)}
    return {"session_key": document.pop("chat")} | document | {"left_out": dict(chat.left_out)}


def _part(part: "PartReport") -> dict[str, Any]:
    return asdict(part) | {"problem": _why_of_part(part)}
