"""Between what happens and what goes over the line. No frame that is made here carries a token."""

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import Any, Final

from nanobot_transcript.coordination.clock import by_the_clock
from transcript_mcp.assistant import wire
from transcript_mcp.assistant.rules import clean
from transcript_mcp.assistant.values import Choice, Content, Inquiry, Kind, Option, Question, text_of

__all__ = [
    "contents_of",
    "history_of",
    "message_frame",
    "outcome_text",
    "pending_of",
    "question_of",
    "reply_of",
    "request_fields",
    "response_of",
    "why_unanswered",
    "wire_contents",
]

_TEXT, _IMAGE, _AUDIO, _FILE = 1, 2, 3, 4
_TIMEOUT: Final = 600
_REQUESTS: Final = {"question": "AskQuestionRequest", "report": "WorkReportRequest"}
_RESPONSES: Final = {"question": "AskQuestionResponse", "report": "WorkReportResponse"}


def question_of(request: Any, scope: str, kind: Kind, said_as: str) -> Question:
    """What a request of the wire asks; its ``Request`` is there."""
    asked = request.Request
    names_chat = kind == "question" and asked.HasField("Chat")
    return Question(
        scope=scope,
        id=request.ID,
        kind=kind,
        text=asked.Question if kind == "question" else asked.Summary,
        said_as=said_as,
        project=asked.ProjectDirectory,
        agent=asked.AgentName,
        model=asked.ReasoningModelName,
        client=asked.McpClientName,
        choices=tuple(map(_choice, asked.Questions)) if kind == "question" else (),
        timeout=asked.Timeout if asked.Timeout > 0 else _TIMEOUT,
        expects=kind == "question" or not asked.NotifyOnly,
        fetched=request.Fetched,
        chat=asked.Chat if names_chat else None,
    )


def request_fields(record: Inquiry) -> dict[str, Any]:
    """The request as a field of a frame, by the field's name."""
    name = _REQUESTS[record.question.kind]
    return {name: request_of(record.question, _asked(record))}


def request_of(question: Question, asked_ts: float = 0.0) -> Any:
    """A question or report as a message of the wire, without a token."""
    about: dict[str, Any] = {
        "ProjectDirectory": question.project,
        "Timeout": question.timeout,
        "AgentName": question.agent,
        "ReasoningModelName": question.model,
        "McpClientName": question.client,
    }
    if question.kind == "question":
        choices = [_wire_choice(each) for each in question.choices]
        request = wire.new("McpAskQuestionRequest", Question=question.text, Questions=choices, **about)
    else:
        request = wire.new("McpWorkReportRequest", Summary=question.text, NotifyOnly=not question.expects, **about)
    name = _REQUESTS[question.kind]
    return wire.new(name, ID=question.id, Request=request, Timestamp=_ms(asked_ts), Fetched=question.fetched)


def response_of(record: Inquiry, messages: Sequence[Inquiry] = ()) -> Any:
    """What the asker is told: the answer and what people wrote besides, or why there is none."""
    name, meta = _RESPONSES[record.question.kind], {"status": record.state}
    if record.by:
        meta["answered_by"] = record.by
    if record.state in ("answered", "notified"):
        contents = [*record.contents, *written_contents(messages)]
        return wire.new(name, ID=record.question.id, Meta=meta, contents=wire_contents(contents))
    if record.state == "waiting":
        return wire.new(name, ID=record.question.id, Meta=meta)
    contents = wire_contents(why_unanswered(record))
    return wire.new(name, ID=record.question.id, IsError=True, Meta=meta | {"error": record.state}, contents=contents)


def why_unanswered(record: Inquiry) -> tuple[Content, ...]:
    """What the agent is told in place of an answer: the words of whoever refused it, if there are any."""
    said = record.contents if record.state == "refused" else ()
    return said or (Content("text", outcome_text(record)),)


def outcome_text(record: Inquiry) -> str:
    """Why there is no answer, and what the agent shall do: without that, agents ask again for ever."""
    if record.state == "timeout":
        return (
            f"Nobody answered within {_seconds(record.question.timeout)}. Stop here: do not ask again and do not "
            "guess the answer. Tell your user what you were waiting for, and end your turn."
        )
    if record.state == "refused":
        who = record.by or "Somebody"
        if record.question.kind == "report":
            return f"{who} did not confirm the report. Tell your user, and end your turn."
        return (
            f"{who} ended the question without an answer. Do not guess it and do not ask again: tell your user, "
            "and end your turn."
        )
    if record.state == "withdrawn":
        return "The question was withdrawn before anybody answered. Do not wait for an answer."
    if record.state == "cancelled":
        return "Nobody was waiting for an answer any more, so the question was closed. Ask again only if it matters."
    return "The question is still waiting for an answer."


def _seconds(number: int) -> str:
    return "1 second" if number == 1 else f"{number} seconds"


def written_contents(messages: Iterable[Inquiry]) -> list[Content]:
    """What people wrote to the agent unasked, as content beside an answer."""
    contents: list[Content] = []
    for each in messages:
        who = each.by or "A person"
        contents.append(Content("text", f"{who} wrote to you meanwhile: {each.question.text}".rstrip()))
        contents.extend(each.contents)
    return contents


def message_frame(record: Inquiry) -> Any:
    """What a person wrote to an agent."""
    question = record.question
    return wire.new(
        "AgentMessage",
        id=question.id,
        project_directory=question.project,
        agent_name=question.agent,
        text=question.text,
        contents=wire_contents(record.contents),
        nickname=record.by,
        written_at=_ms(record.asked_ts),
        state=record.state,
        picked_up_at=_ms(record.ended_ts),
    )


def pending_of(record: Inquiry) -> Any:
    """A question that waits, as the list of such has it."""
    asked = _asked(record)
    request = request_of(record.question, asked)
    field = "ask_question_request" if record.question.kind == "question" else "work_report_request"
    return wire.new(
        "PendingMessage",
        message_type=record.question.said_as,
        created_at=int(asked),
        timeout=record.question.timeout,
        **{field: request},
    )


def history_of(record: Inquiry) -> Any:
    """A record of the history."""
    asked = _asked(record)
    about: dict[str, Any] = {
        "kind": record.question.kind,
        "id": record.question.id,
        "seq": record.seq,
        "state": record.state,
        "asked_at": _ms(asked),
        "ended_at": _ms(record.ended_ts),
    }
    if record.question.kind == "message":
        return wire.new("HistoryRecord", message=message_frame(record), **about)
    field = "ask_question_request" if record.question.kind == "question" else "work_report_request"
    return wire.new(
        "HistoryRecord",
        shown=record.shown,
        answered_by=record.by,
        answered_where=record.where,
        contents=wire_contents(record.contents),
        **{field: request_of(record.question, asked)},
        **about,
    )


def reply_fields(record: Inquiry) -> dict[str, Any]:
    """A question and the answer or refusal that counts, as fields of the frame that tells the others."""
    response = wire.new(
        _RESPONSES[record.question.kind],
        ID=record.question.id,
        IsError=record.state == "refused",
        contents=wire_contents(record.contents),
    )
    return request_fields(record) | {
        _RESPONSES[record.question.kind]: response,
        "StrParam": text_of(record.contents),
        "Nickname": record.by,
    }


def reply_of(response: Any) -> tuple[Content, ...]:
    """What a response of the wire says; an error without content may say why in ``Meta``. Raises UnreadableError."""
    contents = contents_of(response.contents)
    why = clean(response.Meta.get("error", "")) if response.IsError else ""
    return contents or ((Content("text", why),) if why.strip() else ())


def contents_of(contents: Iterable[Any]) -> tuple[Content, ...]:
    """Contents of the wire; what says nothing is left out. Raises UnreadableError."""
    found = [_content(each) for each in contents]
    return tuple(each for each in found if each is not None)


def wire_contents(contents: Iterable[Content]) -> list[Any]:
    """Contents as messages of the wire."""
    return [_wire_content(each) for each in contents]


def _content(content: Any) -> Content | None:
    if content.HasField("image"):
        return Content("image", data=_bytes(content.image.data), mime_type=content.image.mime_type or "image/png")
    if content.HasField("audio"):
        return Content("audio", data=_bytes(content.audio.data), mime_type=content.audio.mime_type or "audio/wav")
    if content.HasField("embedded_resource"):
        file = content.embedded_resource
        return Content("file", data=file.data, mime_type=file.mime_type, uri=file.uri)
    text = content.text.text.replace("\0", "\ufffd")
    return Content("text", text) if text.strip() else None


def _wire_content(content: Content) -> Any:
    if content.kind == "text":
        return wire.new("McpResultContent", type=_TEXT, text={"type": "text", "text": content.text})
    if content.kind == "file":
        file = wire.new(
            "EmbeddedResource",
            type="embedded_resource",
            uri=content.uri,
            mime_type=content.mime_type,
            data=content.data,
        )
        return wire.new("McpResultContent", type=_FILE, embedded_resource=file)
    encoded = base64.b64encode(content.data).decode()
    if content.kind == "image":
        image = wire.new("ImageContent", type="image", data=encoded, mime_type=content.mime_type)
        return wire.new("McpResultContent", type=_IMAGE, image=image)
    audio = wire.new("AudioContent", type="audio", data=encoded, mime_type=content.mime_type)
    return wire.new("McpResultContent", type=_AUDIO, audio=audio)


def _bytes(encoded: str) -> bytes:
    head, _, rest = encoded.partition(",")
    try:
        return base64.b64decode(rest if head.startswith("data:") else encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise wire.UnreadableError("the data of a picture or a sound is not base64") from error


def _choice(choice: Any) -> Choice:
    options = tuple(Option(each.label, each.description) for each in choice.options)
    return Choice(choice.question, choice.header, options, choice.multiple, choice.custom)


def _wire_choice(choice: Choice) -> Any:
    options = [wire.new("QuestionOption", label=each.label, description=each.description) for each in choice.options]
    return wire.new(
        "Question",
        question=choice.question,
        header=choice.header,
        options=options,
        multiple=choice.multiple,
        custom=choice.custom,
    )


def _asked(record: Inquiry) -> float:
    """When it was asked; while it waits, so that what is left of its time is right by the clock as it is set now."""
    return by_the_clock(record.asked_at, record.asked_ts) if record.state == "waiting" else record.asked_ts


def _ms(seconds: float | None) -> int:
    return round((seconds or 0) * 1000)
