"""``mail send`` and ``mail reply``: people write to agents."""

import sys
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from nanobot_transcript.cli.commands.mail.options import (
    MailStoreOption,
    ProjectOption,
    meant_project,
    opened_service,
    said_to_people,
)
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption
from nanobot_transcript.cli.terminal.output import emit_json, listed, notice

if TYPE_CHECKING:
    from transcript_mcp.mail.service import Posted

__all__ = ["reply", "send"]

_AsHuman: TypeAlias = Annotated[
    bool, typer.Option("--as-human", help="Confirm that you write as a person; agents use their tools.")
]
_Body: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="BODY", help="The text, in Markdown. Default or -: read from stdin.", show_default=False),
]
_Importance: TypeAlias = Annotated[
    str, typer.Option("--importance", metavar="LEVEL", help="low, normal, high or urgent.")
]
_Ack: TypeAlias = Annotated[bool, typer.Option("--ack", help="Recipients have to acknowledge it.")]
_Cc: TypeAlias = Annotated[
    list[str] | None, typer.Option("--cc", metavar="AGENT", help="One more recipient; may be given several times.")
]


def send(
    to: Annotated[list[str], typer.Option("--to", metavar="AGENT", help="A recipient; may be given several times.")],
    subject: Annotated[str, typer.Option("--subject", metavar="TEXT", help="Subject, on one line.")],
    body: _Body = None,
    as_human: _AsHuman = False,
    cc: _Cc = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="THREAD", help="Thread that it belongs to.")] = None,
    importance: _Importance = "normal",
    ack: _Ack = False,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Write to agents as a person.

    The sender is "human"; `mail inbox human` shows the answers.

    \b
    Example:
      nanobot-transcript mail send --as-human --to BlueLake \\
        --subject "Hold the release" "Wait for the fix."
    """
    text = _checked(body, as_human=as_human)
    with opened_service(config, store) as service:
        from transcript_mcp.mail.service import ImageWish
        from transcript_mcp.mail.values import Draft

        key = meant_project(service.mail, project).key
        draft = Draft(
            subject, text, to=to, cc=cc, importance=importance, ack_required=ack, thread_id=thread, original_body=text
        )
        with said_to_people():
            posted = service.send(key, service.mail.human(key), draft, ImageWish())
    _tell(posted, json=json)


def reply(
    message_id: Annotated[
        str, typer.Argument(metavar="MESSAGE_ID", help="Id of the message to answer.", show_default=False)
    ],
    body: _Body = None,
    as_human: _AsHuman = False,
    to_all: Annotated[
        bool, typer.Option("--all", help="Reply to everyone named in the message, not only its sender.")
    ] = False,
    cc: _Cc = None,
    importance: _Importance = "normal",
    ack: _Ack = False,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Answer a message as a person, in its thread.

    \b
    Example:
      nanobot-transcript mail reply msg_20251023_7b3dc3a7 --as-human "Yes, go on."
    """
    text = _checked(body, as_human=as_human)
    with opened_service(config, store) as service:
        from transcript_mcp.mail.service import ImageWish
        from transcript_mcp.mail.values import Draft

        human = service.mail.human(service.mail.message(message_id).project)
        draft = Draft(body=text, cc=cc, importance=importance, ack_required=ack, original_body=text, reply_all=to_all)
        with said_to_people():
            posted = service.reply(human, message_id, draft, ImageWish())
    _tell(posted, json=json)


def _checked(body: str | None, *, as_human: bool) -> str:
    if not as_human:
        raise UsageError(
            said("This command writes as a person."),
            hint=said("Add --as-human; agents write with send_message and reply_message."),
        )
    if body is None and sys.stdin.isatty():
        raise _nothing_to_send()
    text = sys.stdin.read() if body in (None, "-") else body
    if not text.strip():
        raise _nothing_to_send()
    return text


def _nothing_to_send() -> UsageError:
    hint = said("Give the text as the last argument, or through stdin.")
    return UsageError(said("There is nothing to send."), hint=hint)


def _tell(posted: "Posted", *, json: bool) -> None:
    if json:
        from transcript_mcp.mail.views import shown_posted

        emit_json(shown_posted(posted))
        return
    names = listed(name for kind in posted.sent.recipients.values() for name in kind)
    notice(said("Sent to {chat} as {message}.", chat=names, message=posted.sent.id))
    for problem in posted.problems:
        notice(said("The image {image} was not attached: {why}", image=problem.target, why=problem.reason))
