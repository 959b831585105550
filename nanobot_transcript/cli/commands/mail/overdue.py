"""``mail overdue``: messages that agents should have acknowledged and have not."""

from typing import Annotated

import typer

from nanobot_transcript.cli.commands.mail.options import (
    MailStoreOption,
    ProjectOption,
    meant_project,
    opened_mail,
    tell_more,
)
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.cli.terminal.moments import moment_ms
from nanobot_transcript.cli.terminal.options import ConfigOption, JsonOption
from nanobot_transcript.cli.terminal.output import emit_json, notice

__all__ = ["overdue"]


def overdue(
    until: Annotated[
        str, typer.Option("--until", metavar="TIME", help="What was sent before then: 2h, 3d, yesterday, 2025-11-20.")
    ] = "1h",
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", min=1, help="Show at most this many, the oldest.")
    ] = 200,
    project: ProjectOption = None,
    json: JsonOption = False,
    store: MailStoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Show overdue acknowledgements, and who owes them.

    Oldest first. Recipients in bcc are not named.

    \b
    Example:
      nanobot-transcript mail overdue --until 1d
    """
    with opened_mail(config, store) as mail:
        from transcript_mcp.mail.views import shown_letter

        where = meant_project(mail, project)
        older_than = max(0.0, mail.now() - (moment_ms(until) or 0.0) / 1000)
        found = mail.overdue(where, older_than=older_than, limit=limit)
    if json:
        messages = [shown_letter(each.letter) | {"waiting_for": list(each.waiting_for)} for each in found]
        emit_json({"project": where.key, "messages": messages, **({"more": found.more} if found.more else {})})
        return
    from nanobot_transcript.cli.commands.mail.tables import print_overdue

    tell_more(found, f"--limit {limit + found.more}")
    if found:
        print_overdue(found)
    else:
        notice(said("Nothing is overdue."))
