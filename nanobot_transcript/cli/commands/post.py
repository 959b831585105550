"""``post``: says something in a group through whichever bot sits in it."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot_transcript.cli.terminal.chat_names import chat_keys
from nanobot_transcript.cli.terminal.exit_codes import NEGATIVE, UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption, NeededChat, StoreOption, opened_record
from nanobot_transcript.cli.terminal.output import emit_json, notice, printable
from nanobot_transcript.platform import group_key
from nanobot_transcript.session_key import split

if TYPE_CHECKING:
    from nanobot_transcript.outbox import Answer, Postbox, PostStatus
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["post"]


def post(
    chat: NeededChat,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What to say; - reads it from stdin.", show_default=False)
    ] = None,
    card: Annotated[
        Path | None, typer.Option("--card", metavar="FILE", help="Post a card of the platform (JSON) instead of text.")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Posts with the same key are sent only once.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="The only bot that may send it. Default: any.")
    ] = None,
    reply_to: Annotated[
        str | None, typer.Option("--reply-to", metavar="MESSAGE_ID", help="Id of the message to reply to.")
    ] = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for a bot to send it.")
    ] = 0,
    answer: Annotated[
        bool, typer.Option("--answer", help="Also wait for the first reply or pressed button, and print it.")
    ] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Say something in a group, from any process.

    It is queued in the record, and a bot that is in the chat and serves the outbox sends it. With --answer, what people
    reply in its thread and press on its card comes back here instead of reaching the bots. Exit code 1: it could not be
    sent, has expired, or nobody answered in time.

    \b
    Example:
      nanobot-transcript post oc_team "Build 7 is done." --key build-7 --wait 30
    """
    if answer and not wait:
        raise UsageError(said("--answer needs to know how long to wait."), hint=said("Add --wait SECONDS."))
    content, shown = _content(text, card), _card(card)
    with opened_record(config, store, may_begin=True, written=True) as record:
        session = _session(record.store, chat)
        known = any(one.session_key == session for one in record.store.chats())
        post_id = record.outbox.post(
            session, content, card=shown, idempotency_key=key, agent=agent, reply_to=reply_to, wants_answers=answer
        )
        status, answered = asyncio.run(_outcome(record.outbox, post_id, wait, answer=answer))
    if json:
        emit_json(_document(status, answered))
    else:
        _tell(status, answered, session, wait, asked=answer)
    if status.state == "queued" and not known:
        notice(said("Nothing has been recorded in {chat}; is it the right chat?", chat=session))
    late = status.state == "queued" and wait > 0
    if late or status.state in ("failed", "expired") or (answer and answered is None):
        raise typer.Exit(NEGATIVE)


async def _outcome(outbox: "Postbox", post_id: str, wait: float, *, answer: bool) -> "tuple[PostStatus, Answer | None]":
    loop = asyncio.get_running_loop()
    end = loop.time() + wait
    status = await outbox.wait_sent(post_id, wait)
    if not answer:
        return status, None
    answered = None
    if status.state == "sent":
        answered = await outbox.wait_answer(post_id, end - loop.time())
    await asyncio.to_thread(outbox.close_answers, post_id)  # from now on replies go to the bots again
    return status, answered


def _content(text: str | None, card: Path | None) -> str | None:
    content = sys.stdin.read() if text == "-" else text
    if not (content or "").strip() and card is None:
        raise UsageError(said("There is nothing to say."), hint=said("Give a text, - for stdin, or --card FILE."))
    return content


def _card(path: Path | None) -> "dict[str, Any] | None":
    if path is None:
        return None
    import json

    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(said("{path} cannot be read: {why}.", path=path, why=error.strerror)) from error
    except (ValueError, RecursionError) as error:
        hint = said("A card is one JSON object.")
        raise UsageError(said("{path} is not JSON: {error}.", path=path, error=error), hint=hint) from error


def _session(store: "GroupTranscriptStore", name: str) -> str:
    """The chat as the store knows it. A chat where nobody has said anything yet is named in full."""
    full = name if split(name)[0] else group_key(name)
    if full is not None and not any(one.session_key.startswith(full) for one in store.chats()):
        return full
    return chat_keys(store, name)[0]


def _document(status: "PostStatus", answered: "Answer | None") -> dict[str, Any]:
    from dataclasses import asdict

    document = asdict(status)
    return document | {"answer": asdict(answered)} if answered is not None else document


def _tell(status: "PostStatus", answered: "Answer | None", session: str, wait: float, *, asked: bool) -> None:
    queued = "Queued; the first bot in {chat} that serves the outbox will send it."
    still = "Still queued after {seconds} s; the first bot in {chat} that serves the outbox will send it."
    told = {
        "queued": said(still, seconds=f"{wait:g}", chat=session) if wait else said(queued, chat=session),
        "sent": said("Sent to {chat} as {message}.", chat=session, message=status.message_id),
        "failed": said("Not sent: {why}", why=status.error),
        "expired": said("Not sent: no bot in {chat} picked it up in time.", chat=session),
    }
    notice(told[status.state])
    if asked and answered is None and status.state == "sent":
        notice(said("Nobody answered within {seconds} s.", seconds=f"{wait:g}"))
    if answered is not None:
        typer.echo(printable(answered.text or _pressed(answered)))


def _pressed(answered: "Answer") -> str:
    import json

    return json.dumps(answered.value | answered.form, ensure_ascii=False)
