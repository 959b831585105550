"""Runs a command line: each of our errors becomes a sentence on stderr and an exit code, without a traceback."""

import contextlib
import io
import logging
import os
import sys
from functools import cache
from typing import Any

import typer

from nanobot_transcript.cli.app import app
from nanobot_transcript.cli.terminal.exit_codes import DONE, INTERRUPTED, USAGE, UsageError, described, exit_code
from nanobot_transcript.cli.terminal.language import retold, said, speak
from nanobot_transcript.cli.terminal.output import emit_json, notice
from nanobot_transcript.errors import TranscriptError

__all__ = ["run"]

# The base class of the parser's errors, which typer does not export.
_BadUsage: Any = typer.BadParameter.__base__


def run(arguments: list[str]) -> int:
    """Run the command that ``arguments`` name and return its exit code."""
    _prepare_streams()
    speak("en" if _for_programs(arguments) else None)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    try:
        code = _invoke(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return DONE  # the reader wants no more, as in `… | head`
    except TranscriptError as error:
        return _tell(error, arguments)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    finally:
        speak(None)
    return code


def _invoke(arguments: list[str]) -> int:
    try:
        result = _command()(arguments, standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except _BadUsage as error:
        return _tell_usage(error, arguments)
    except ExceptionGroup as group:  # from tasks that follow several chats
        raise group.exceptions[0] from None
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None
        return ended.code if isinstance(ended.code, int) else DONE
    return result if isinstance(result, int) else DONE


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def _tell(error: TranscriptError, arguments: list[str]) -> int:
    notice(said("Error: {error}", error=retold(str(error))))
    if error.hint:
        notice(said("Hint: {hint}", hint=retold(error.hint)))
    _emit(error, arguments)
    return exit_code(error)


def _tell_usage(error: Any, arguments: list[str]) -> int:
    """Report what the parser refused, in the parser's own form, on stderr."""
    error.message = error.message.removeprefix("Value error, ")  # pydantic's, which typer passes on
    path, message = "nanobot-transcript", error.format_message()
    if error.ctx is not None:
        path = error.ctx.command_path
        usage = error.ctx.get_usage().replace("Usage: ", said("Usage: "), 1)
        notice(f"{usage}\n" + said("Try '{command}' for help.", command=f"{path} -h") + "\n")
    notice(said("Error: {error}", error=retold(message)))
    _emit(UsageError(message, hint=f"`{path} --help` lists what there is."), arguments)
    return USAGE


def _emit(error: TranscriptError, arguments: list[str]) -> None:
    if _for_programs(arguments):
        with contextlib.suppress(BrokenPipeError):
            emit_json(described(error))


def _for_programs(arguments: list[str]) -> bool:
    """True where a program reads the output, which is then in English, whatever the locale."""
    return "--json" in arguments or "--jsonl" in arguments


def _prepare_streams() -> None:
    """Let a character that the terminal's encoding lacks become a question mark, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _forget_stdout() -> None:
    """Nobody reads stdout any more. Otherwise the interpreter reports a broken pipe when it flushes stdout at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
