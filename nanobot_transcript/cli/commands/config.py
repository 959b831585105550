"""``config show``: the settings in effect."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.terminal.help import WholeSentences
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, StoreOption, read_settings
from nanobot_transcript.cli.terminal.output import console, emit_json, printable
from nanobot_transcript.cli.terminal.tables import print_table

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings

__all__ = ["app", "show"]

app = typer.Typer(cls=WholeSentences, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Show the settings in effect.

    \b
    Example:
      nanobot-transcript config show --origin
    """


@app.command()
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Show where each value comes from.")] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show every setting with its current value.

    Secrets are never shown.

    \b
    Example:
      nanobot-transcript config show --origin
    """
    settings = read_settings(config, store)
    if json:
        emit_json(_document(settings, origin=origin))
        return
    console().print(said("file: {file}", file=settings.file or said("none")), soft_wrap=True)
    columns = ["setting", "value", "origin"] if origin else ["setting", "value"]
    cells = [(value.key, _text(value.text), str(value.origin)) for value in settings.values()]
    print_table(columns, [[printable(cell) for cell in row[: len(columns)]] for row in cells])


def _document(settings: "LoadedSettings", *, origin: bool) -> dict[str, Any]:
    values = {value.key: _plain(value.text) for value in settings.values()}
    document = {"file": str(settings.file) if settings.file else None, "values": values}
    if origin:
        document["origins"] = {value.key: str(value.origin) for value in settings.values()}
    return document | {"unknown": list(settings.unknown)}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _text(value: Any) -> str:
    return "null" if value is None else str(value)
