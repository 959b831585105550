"""The MCP tools with which agents ask and report.

A question can also be shown as a form by the agent's own client (an MCP elicitation), beside all other ways.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias
from uuid import uuid4

from pydantic import Field

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.assistant.protocol import frames
from transcript_mcp.assistant.questions.rules import clean
from transcript_mcp.assistant.questions.service import Desk
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Option, Question
from transcript_mcp.assistant.views import shown
from transcript_mcp.sdk import Context, Result, Server

__all__ = ["QuestionTools", "ToolOptions", "form_of", "said_in"]

logger = logging.getLogger(__name__)

_HEARTBEAT: Final = 12.0
"""Seconds between progress notifications, which keep clients with a short timeout waiting."""

_POLL: Final = 50
"""Seconds that ``get_answer`` waits by default; many clients end a call after 60."""

_LONGEST_WAIT: Final = 86_400

_Project: TypeAlias = Annotated[str, Field(description="Path of the directory of the project you are working on.")]
_Agent: TypeAlias = Annotated[str, Field(description="Your name, if you have one. People see it.")]
_Model: TypeAlias = Annotated[str, Field(description="The name of your model.")]
_Timeout: TypeAlias = Annotated[int | None, Field(description="Seconds that a person has to answer. Default: an hour.")]
_Wait: TypeAlias = Annotated[
    int | None,
    Field(
        description="Seconds that this call waits; then it returns an id for get_answer, "
        "and the question stays open. Default: wait for the answer. "
        "Use it if your client limits calls to a short time.",
        ge=0,
        le=_LONGEST_WAIT,
    ),
]
_Id: TypeAlias = Annotated[str, Field(description="The id of the question or report.")]


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """Seconds that a question stays open: by default, at least, at most. ``max_attachment`` is in bytes. ``elicit``:
    also ask through the client's own form, where it has one.
    """

    timeout: int = 3600
    shortest: int = 60
    longest: int = 86_400
    max_attachment: int = 8 * 1024 * 1024
    elicit: bool = False


@dataclass(eq=False)
class QuestionTools:
    """The tools over a desk. ``scope_of``: the scope in which a caller asks."""

    desk: Desk
    scope_of: Callable[[Context], str]
    options: ToolOptions

    def offer(self, server: Server) -> None:
        """Register them."""
        server.tool(self.ask_question, title="Ask a person")
        for name, said_as in (("task_finish", "TaskFinish"), ("work_report", "WorkReport")):
            server.tool(self._report(said_as), name=name, title="Report what was done")
        server.tool(self.get_answer, title="Get an answer")
        server.tool(self.withdraw_question, title="Withdraw a question", idempotent=True)

    async def ask_question(
        self,
        project_directory: _Project,
        question: Annotated[
            str, Field(description="The question, in Markdown. Include everything needed to answer it.")
        ],
        ctx: Context,
        timeout: _Timeout = None,  # noqa: ASYNC109 - the person's time, not the call's
        agent_name: _Agent = "",
        reasoning_model_name: _Model = "",
        options: Annotated[list[str] | None, Field(description="Answers to choose from, shown as buttons.")] = None,
        multiple: Annotated[bool, Field(description="Whether more than one option may be chosen.")] = False,
        free_text: Annotated[bool, Field(description="Whether an answer other than the options is welcome.")] = True,
        wait: _Wait = None,
        chat: Annotated[
            str | None,
            Field(
                description="A group chat to ask in as well, such as feishu:oc_1; the first answer counts. Default: "
                "the chat in the settings, if any; an empty text for none."
            ),
        ] = None,
        id: Annotated[
            str | None, Field(description="Your own id for it; calling again with the same id joins the open question.")
        ] = None,
    ) -> Result:
        """Ask a person, and wait for the answer. Use it whenever you cannot decide yourself.

        The person sees the question on a page and answers with text, one of the options, pictures or files. When nobody
        answers in time, you are told so: stop then.
        """
        choices: tuple[Choices, ...] = ()
        if options:
            listed = tuple(Option(each) for each in options)
            choices = (Choices(question, options=listed, multiple=multiple, custom=free_text),)
        asked = Question(
            scope=self.scope_of(ctx),
            id=id or uuid4().hex,
            kind="question",
            text=question,
            said_as="AskQuestion",
            project=project_directory,
            agent=agent_name,
            model=reasoning_model_name,
            client=ctx.client_name or "",
            choices=choices,
            timeout=self._clamped(timeout),
            fetched=wait is not None,
            chat=chat,
        )
        return await self._ask_and_wait(asked, wait, ctx)

    async def get_answer(
        self,
        id: _Id,
        ctx: Context,
        wait: Annotated[int, Field(description="Seconds to wait for it.", ge=0, le=_LONGEST_WAIT)] = _POLL,
    ) -> Result:
        """Get the answer to a question or report that you sent with `wait`, or learn that there is none yet."""
        return await self._outcome(self.scope_of(ctx), clean(id), float(wait), ctx)

    async def withdraw_question(self, id: _Id, ctx: Context) -> Result:
        """Withdraw a question that needs no answer any more. An earlier answer is returned."""
        record = await self.desk.withdraw(self.scope_of(ctx), clean(id))
        if record.state == "withdrawn":
            return Result("The question was withdrawn.")
        return await self._result(record, ctx)

    def _report(self, said_as: str) -> Callable[..., Awaitable[Result]]:
        """The reporting tool. It has two names; clients of the wire protocol see which one was called."""

        async def report(
            project_directory: _Project,
            summary: Annotated[str, Field(description="What was done, in Markdown.")],
            ctx: Context,
            confirm: Annotated[
                bool, Field(description="Whether a person has to confirm it before you continue.")
            ] = False,
            timeout: _Timeout = None,  # noqa: ASYNC109 - the person's time, not the call's
            agent_name: _Agent = "",
            reasoning_model_name: _Model = "",
            wait: _Wait = None,
        ) -> Result:
            """Tell people that a task is finished. Returns at once, unless you want it confirmed.

            task_finish and work_report are the same tool.
            """
            reported = Question(
                scope=self.scope_of(ctx),
                id=uuid4().hex,
                kind="report",
                text=summary,
                said_as=said_as,
                project=project_directory,
                agent=agent_name,
                model=reasoning_model_name,
                client=ctx.client_name or "",
                timeout=self._clamped(timeout),
                expects=confirm,
                fetched=wait is not None,
            )
            return await self._ask_and_wait(reported, wait, ctx)

        return report

    async def _ask_and_wait(self, question: Question, wait: int | None, ctx: Context) -> Result:
        record = await self.desk.ask(question)
        seconds = None if wait is None else float(wait)
        async with self._form(record, seconds, ctx):
            return await self._outcome(record.question.scope, record.question.id, seconds, ctx)

    @asynccontextmanager
    async def _form(self, record: Inquiry, seconds: float | None, ctx: Context) -> AsyncIterator[None]:
        """Show the client's own form during the block, where that is enabled and possible."""
        asks = self.options.elicit and record.question.kind == "question" and record.state == "waiting"
        if not asks or seconds == 0 or not ctx.can_elicit:
            yield
            return
        form = asyncio.create_task(answer_by_form(self.desk, record.question, ctx))
        try:
            yield
        finally:
            form.cancel()
            (failure,) = await asyncio.gather(form, return_exceptions=True)
            if isinstance(failure, Exception):
                logger.error("A client's form failed", exc_info=failure)

    async def _outcome(self, scope: str, id: str, seconds: float | None, ctx: Context) -> Result:
        """The result within so many seconds, with progress notifications meanwhile."""
        waiting = asyncio.ensure_future(self.desk.wait(scope, id, seconds))
        begun = asyncio.get_running_loop().time()
        try:
            while not waiting.done():
                await asyncio.wait((waiting,), timeout=_HEARTBEAT)
                if not waiting.done():
                    elapsed = asyncio.get_running_loop().time() - begun
                    await ctx.progress(elapsed, message="Waiting for a person to answer.")
            record = waiting.result()
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        return await self._result(record, ctx)

    async def _result(self, record: Inquiry, ctx: Context) -> Result:
        if record.state == "waiting":
            return Result(
                f"Nobody has answered yet. The id is {record.question.id}\n"
                f'Call get_answer with id="{record.question.id}" to keep waiting.'
            )
        if record.state not in ("answered", "notified"):
            why = shown(frames.why_unanswered(record), self.options.max_attachment)
            return Result(why, is_error=record.state == "refused")
        messages = await self.desk.messages_for(record)
        if messages:
            ctx.when_answered(lambda arrived: self.desk.delivered(record, arrived=arrived))
        contents = [*record.contents, *frames.written_contents(messages)]
        if record.state == "notified":
            contents.insert(0, AnswerContent("text", "People have been told."))
        return Result(shown(contents, self.options.max_attachment))

    def _clamped(self, timeout: int | None) -> int:
        options = self.options
        asked = timeout if timeout is not None and timeout > 0 else options.timeout
        return max(1, options.shortest, min(asked, options.longest))


async def answer_by_form(desk: Desk, question: Question, ctx: Context) -> None:
    """Answer the question from the client's form. If that is declined, left empty or fails, the question stays open."""
    choice = question.choices[0] if question.choices else None
    try:
        elicited = await ctx.elicit(question.text, form_of(choice))
        if elicited.action == "accept" and (words := said_in(choice, elicited.content)):
            contents = (AnswerContent("text", words),)
            await desk.answer(question.scope, question.id, contents, by=ctx.client_name or "", where="elicitation")
    except TranscriptError as error:
        logger.warning("The client's form could not answer a question: %s", error)


def form_of(choice: Choices | None) -> dict[str, Any]:
    """The flat JSON schema of the form: with ``multiple`` a checkbox for each option, and a field for free text."""
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


def said_in(choice: Choices | None, fields: dict[str, Any]) -> str:
    """The answer in a filled form, in the words of our page; "" if there is none."""
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
