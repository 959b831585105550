"""``fetch``: downloads a picture or file that somebody sent in a group."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nanobot_transcript.cli.terminal.chat_names import one_chat
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.message_names import message_named
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, NeededChat, StoreOption, read_settings
from nanobot_transcript.cli.terminal.output import emit_json, printable
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from nanobot_transcript.settings import LoadedSettings
    from transcript_channels.feishu.attachments import Attachment
    from transcript_channels.feishu.client import FeishuClient
    from transcript_channels.feishu.resources import Resource

__all__ = ["fetch"]


def fetch(
    chat: NeededChat,
    message: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE",
            help="Id of the message, its beginning or end (at least 4 characters), or a piece of its text.",
            show_default=False,
        ),
    ],
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Which file, if the message has several.")
    ] = None,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Folder to save it in; created if its parent exists.")
    ] = Path(),
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Download a picture or file of a message, and print its path.

    The key is in the message's text: [image (img_v3_...)]. The first bot under `agents` that has an app_secret and
    may have the file asks Feishu for it. A file that is in the folder already is not fetched again. Exit code 1: the
    message has no file.

    \b
    Example:
      nanobot-transcript fetch oc_team dba21dcf --to pictures
      nanobot-transcript fetch oc_team plan.pdf
    """
    settings = read_settings(config, store)
    with settings.open_record() as record:
        record.require(exists=settings.names_record)
        session_key = one_chat(record.store, chat)
        entry = message_named(record.store, session_key, message).message
    from transcript_channels.feishu.resources import chosen

    wanted, message_id = chosen(entry, key), entry["message_id"] or ""
    found = asyncio.run(_fetched(settings, split(session_key)[1], message_id, wanted, to.expanduser().resolve()))
    if json:
        emit_json(
            {
                "session_key": session_key,
                "message_id": message_id,
                "key": wanted.key,
                "path": str(found.path),
                "bytes": found.size,
                "media_type": found.media_type,
                "kept": found.kept,
            }
        )
    else:
        typer.echo(printable(str(found.path)))


async def _fetched(
    settings: "LoadedSettings", chat_id: str, message_id: str, wanted: "Attachment", folder: Path
) -> "Resource":
    from transcript_channels.feishu.resources import fetch as fetched

    clients = _clients(settings)
    try:
        return await fetched(clients, chat_id, message_id, wanted, folder)
    finally:
        for client in clients:
            await client.close()


def _clients(settings: "LoadedSettings") -> "list[FeishuClient]":
    """The bots in Feishu whose secret is known here. Raises ConfigError when there is none."""
    from transcript_channels.feishu.client import FEISHU_URL, FeishuClient
    from transcript_channels.feishu.platform import FEISHU
    from transcript_channels.feishu.settings import FeishuSettings

    base_url = settings.section(FeishuSettings).base_url or FEISHU_URL
    missing = ConfigError(
        said("No bot here can ask Feishu."),
        hint=said("Set the app_secret of a bot under `agents`, in the file that --config names."),
    )
    clients: list[FeishuClient] = []
    for app_id, agent in settings.agents.items():
        if agent.platform != FEISHU.name:  # another platform's secret must not be sent to Feishu
            continue
        try:
            settings.require(f"agents.{app_id}.app_secret")
        except ConfigError as error:
            missing = error
            continue
        if agent.app_secret is not None:
            clients.append(FeishuClient(app_id, agent.app_secret.get_secret_value(), base_url))
    if not clients:
        raise missing
    return clients
