"""Converts between our values and the wire's messages. No message made here contains a token."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from nanobot_transcript.coordination.clock import by_the_clock
from transcript_mcp.assistant.protocol import proto, wire
from transcript_mcp.assistant.questions.rules import clean
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Kind, Option, Question, text_of

__all__ = [
    "RequestMessage",
    "ResponseMessage",
    "contents_of",
    "history_of",
    "message_frame",
    "pending_of",
    "question_of",
    "reply_frame",
    "reply_of",
    "request_frame",
    "request_of",
    "response_of",
    "why_unanswered",
    "wire_contents",
    "written_contents",
]

RequestMessage: TypeAlias = proto.AskQuestionRequest | proto.WorkReportRequest
ResponseMessage: TypeAlias = proto.AskQuestionResponse | proto.WorkReportResponse

_TEXT, _IMAGE, _AUDIO, _FILE = 1, 2, 3, 4
_TIMEOUT: Final = 600
_RESPONSES: Final[Mapping[Kind, type[ResponseMessage]]] = {
    "question": proto.AskQuestionResponse,
    "report": proto.WorkReportResponse,
}


def question_of(request: RequestMessage, scope: str, kind: Kind, said_as: str) -> Question:
    """The question in a request that has a ``Request``."""
    asked = request.Request
    question = Question(
        scope=scope,
        id=request.ID,
        kind=kind,
        text="",
        said_as=said_as,
        project=asked.ProjectDirectory,
        agent=asked.AgentName,
        model=asked.ReasoningModelName,
        client=asked.McpClientName,
        timeout=asked.Timeout if asked.Timeout > 0 else _TIMEOUT,
        fetched=request.Fetched,
    )
    if isinstance(asked, proto.McpWorkReportRequest):
        return replace(question, text=asked.Summary, expects=not asked.NotifyOnly)
    chat = asked.Chat if asked.HasField("Chat") else None
    return replace(question, text=asked.Question, choices=tuple(map(_choice, asked.Questions)), chat=chat)


def request_frame(record: Inquiry) -> proto.WebsocketMessage:
    """The frame that shows a question or report to a client."""
    asked, reported = _sorted(request_of(record.question, _asked_time(record)))
    return proto.WebsocketMessage(Cmd=record.question.said_as, AskQuestionRequest=asked, WorkReportRequest=reported)


def request_of(question: Question, asked_ts: float = 0.0) -> RequestMessage:
    """A question or report as a request, without a token."""
    if question.kind == "question":
        asked = proto.McpAskQuestionRequest(
            ProjectDirectory=question.project,
            Question=question.text,
            Timeout=question.timeout,
            AgentName=question.agent,
            ReasoningModelName=question.model,
            McpClientName=question.client,
            Questions=[_wire_choice(each) for each in question.choices],
        )
        return proto.AskQuestionRequest(
            ID=question.id, Request=asked, Timestamp=_ms(asked_ts), Fetched=question.fetched
        )
    reported = proto.McpWorkReportRequest(
        ProjectDirectory=question.project,
        Summary=question.text,
        Timeout=question.timeout,
        AgentName=question.agent,
        ReasoningModelName=question.model,
        McpClientName=question.client,
        NotifyOnly=not question.expects,
    )
    return proto.WorkReportRequest(ID=question.id, Request=reported, Timestamp=_ms(asked_ts), Fetched=question.fetched)


def response_of(record: Inquiry, messages: Sequence[Inquiry] = ()) -> ResponseMessage:
    """The asker's response: the answer with messages that people wrote meanwhile, or why there is none."""
    response, meta = _RESPONSES[record.question.kind], {"status": record.state}
    if record.by:
        meta["answered_by"] = record.by
    if record.state in ("answered", "notified"):
        contents = [*record.contents, *written_contents(messages)]
        return response(ID=record.question.id, Meta=meta, contents=wire_contents(contents))
    if record.state == "waiting":
        return response(ID=record.question.id, Meta=meta)
    contents = wire_contents(why_unanswered(record))
    return response(ID=record.question.id, IsError=True, Meta=meta | {"error": record.state}, contents=contents)


def why_unanswered(record: Inquiry) -> tuple[AnswerContent, ...]:
    """What the agent gets instead of an answer: the words of the person who refused, if there are any."""
    said = record.contents if record.state == "refused" else ()
    return said or (AnswerContent("text", _outcome_text(record)),)


def _outcome_text(record: Inquiry) -> str:
    """Why there is no answer, and what to do next: without that, agents ask again forever."""
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


def written_contents(messages: Iterable[Inquiry]) -> list[AnswerContent]:
    """Messages that people wrote to the agent unasked, as content beside an answer."""
    contents: list[AnswerContent] = []
    for each in messages:
        who = each.by or "A person"
        contents.append(AnswerContent("text", f"{who} wrote to you meanwhile: {each.question.text}".rstrip()))
        contents.extend(each.contents)
    return contents


def message_frame(record: Inquiry) -> proto.AgentMessage:
    """What a person wrote to an agent."""
    question = record.question
    return proto.AgentMessage(
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


def pending_of(record: Inquiry) -> proto.PendingMessage:
    """An open question for ``GetPendingMessages``."""
    at = _asked_time(record)
    asked, reported = _sorted(request_of(record.question, at))
    return proto.PendingMessage(
        message_type=record.question.said_as,
        ask_question_request=asked,
        work_report_request=reported,
        created_at=int(at),
        timeout=record.question.timeout,
    )


def history_of(record: Inquiry) -> proto.HistoryRecord:
    """An inquiry for ``GetHistory``."""
    at = _asked_time(record)
    history = proto.HistoryRecord(
        kind=record.question.kind,
        id=record.question.id,
        seq=record.seq,
        state=record.state,
        asked_at=_ms(at),
        ended_at=_ms(record.ended_ts),
    )
    if record.question.kind == "message":
        history.message.MergeFrom(message_frame(record))
        return history
    request = request_of(record.question, at)
    if isinstance(request, proto.AskQuestionRequest):
        history.ask_question_request.MergeFrom(request)
    else:
        history.work_report_request.MergeFrom(request)
    history.shown = record.shown
    history.answered_by = record.by
    history.answered_where = record.where
    history.contents.extend(wire_contents(record.contents))
    return history


def reply_frame(record: Inquiry) -> proto.WebsocketMessage:
    """The frame that tells other clients the answer or refusal that counts, with the question."""
    question, frame = record.question, request_frame(record)
    frame.Cmd = f"{question.said_as}ReplyNotification"
    frame.StrParam = text_of(record.contents)
    frame.Nickname = record.by
    response = frame.AskQuestionResponse if question.kind == "question" else frame.WorkReportResponse
    response.ID = question.id
    response.IsError = record.state == "refused"
    response.contents.extend(wire_contents(record.contents))
    return frame


def reply_of(response: ResponseMessage) -> tuple[AnswerContent, ...]:
    """The contents of a response; an error without contents may give its reason in ``Meta``. Raises UnreadableError."""
    contents = contents_of(response.contents)
    why = clean(response.Meta.get("error", "")) if response.IsError else ""
    return contents or ((AnswerContent("text", why),) if why.strip() else ())


def contents_of(contents: Iterable[proto.McpResultContent]) -> tuple[AnswerContent, ...]:
    """Contents from the wire, without empty ones. Raises UnreadableError."""
    found = [_content(each) for each in contents]
    return tuple(each for each in found if each is not None)


def wire_contents(contents: Iterable[AnswerContent]) -> list[proto.McpResultContent]:
    """Contents for the wire."""
    return [_wire_content(each) for each in contents]


def _content(content: proto.McpResultContent) -> AnswerContent | None:
    if content.HasField("image"):
        return AnswerContent("image", data=_bytes(content.image.data), mime_type=content.image.mime_type or "image/png")
    if content.HasField("audio"):
        return AnswerContent("audio", data=_bytes(content.audio.data), mime_type=content.audio.mime_type or "audio/wav")
    if content.HasField("embedded_resource"):
        file = content.embedded_resource
        return AnswerContent("file", data=file.data, mime_type=file.mime_type, uri=file.uri)
    text = content.text.text.replace("\0", "\ufffd")
    return AnswerContent("text", text) if text.strip() else None


def _wire_content(content: AnswerContent) -> proto.McpResultContent:
    if content.kind == "text":
        text = proto.TextContent(type="text", text=content.text)
        return proto.McpResultContent(type=_TEXT, text=text)
    if content.kind == "file":
        file = proto.EmbeddedResource(
            type="embedded_resource",
            uri=content.uri,
            mime_type=content.mime_type,
            data=content.data,
        )
        return proto.McpResultContent(type=_FILE, embedded_resource=file)
    encoded = base64.b64encode(content.data).decode()
    if content.kind == "image":
        image = proto.ImageContent(type="image", data=encoded, mime_type=content.mime_type)
        return proto.McpResultContent(type=_IMAGE, image=image)
    audio = proto.AudioContent(type="audio", data=encoded, mime_type=content.mime_type)
    return proto.McpResultContent(type=_AUDIO, audio=audio)


def _bytes(encoded: str) -> bytes:
    head, _, rest = encoded.partition(",")
    try:
        return base64.b64decode(rest if head.startswith("data:") else encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise wire.UnreadableError("the data of a picture or a sound is not base64") from error


def _choice(choice: proto.Question) -> Choices:
    options = tuple(Option(each.label, each.description) for each in choice.options)
    return Choices(choice.question, choice.header, options, choice.multiple, choice.custom)


def _wire_choice(choice: Choices) -> proto.Question:
    options = [proto.QuestionOption(label=each.label, description=each.description) for each in choice.options]
    return proto.Question(
        question=choice.question,
        header=choice.header,
        options=options,
        multiple=choice.multiple,
        custom=choice.custom,
    )


def _sorted(request: RequestMessage) -> tuple[proto.AskQuestionRequest | None, proto.WorkReportRequest | None]:
    """The request as a pair (question, report), for messages that have a field for each."""
    return (request, None) if isinstance(request, proto.AskQuestionRequest) else (None, request)


def _asked_time(record: Inquiry) -> float:
    """When it was asked. For an open question by the current clock, so that clients compute the remaining time right
    even after the clock was set.
    """
    return by_the_clock(record.asked_at, record.asked_ts) if record.state == "waiting" else record.asked_ts


def _ms(seconds: float | None) -> int:
    return round((seconds or 0) * 1000)
