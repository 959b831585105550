"""A question as a form that the agent's own client shows to its person (an elicitation), beside all other ways."""

import logging
from typing import Any

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.assistant.service import Desk
from transcript_mcp.assistant.values import Choice, Content, Question
from transcript_mcp.sdk import Context

__all__ = ["answer_by_form", "form_of", "said_in"]

logger = logging.getLogger(__name__)


async def answer_by_form(desk: Desk, question: Question, ctx: Context) -> None:
    """Answer the question with what the form says. Declined, left empty or failed, it stays open."""
    choice = question.choices[0] if question.choices else None
    try:
        elicited = await ctx.elicit(question.text, form_of(choice))
        if elicited.action == "accept" and (words := said_in(choice, elicited.content)):
            contents = (Content("text", words),)
            await desk.answer(question.scope, question.id, contents, by=ctx.client_name or "", where="elicitation")
    except TranscriptError as error:
        logger.warning("The client's form could not answer a question: %s", error)


def form_of(choice: Choice | None) -> dict[str, Any]:
    """The flat JSON schema of the form: a field for each option where several may be chosen, and one for own words."""
    fields: dict[str, Any] = {}
    if choice is not None and choice.multiple:
        fields |= {
            f"option_{number}": {"type": "boolean", "title": option.label}
            for number, option in enumerate(choice.options, 1)
        }
    elif choice is not None:
        fields["choice"] = {"type": "string", "enum": [option.label for option in choice.options]}
    if choice is None or choice.custom:
        fields["answer"] = {"type": "string", "title": "Answer" if choice is None else "In own words"}
    required = [*fields] if len(fields) == 1 else []
    return {"type": "object", "properties": fields, "required": required}


def said_in(choice: Choice | None, fields: dict[str, Any]) -> str:
    """What a filled form says, as the pages would say it; "" for nothing that the question allows."""
    chosen: list[str] = []
    if choice is not None:
        chosen = [
            option.label
            for number, option in enumerate(choice.options, 1)
            if (fields.get(f"option_{number}") is True if choice.multiple else fields.get("choice") == option.label)
        ]
    own = fields.get("answer") if choice is None or choice.custom else None
    words = [", ".join(chosen), own.strip() if isinstance(own, str) else ""]
    return "\n\n".join(each for each in words if each)
