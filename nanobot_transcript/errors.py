"""Every error this product raises on purpose, each said once: its class has its code, and says what has happened.

An error has a stable ``code``, a sentence for the person (``str(error)``), and a ``hint`` that says what to do next.
Catch the class that covers what you mean: below ``StoreError`` is all that can be wrong with a record, below
``PlatformError`` all that a chat platform can answer. docs/en/api.md shows the whole tree; `make docs` draws it from
the classes.
"""

from copy import copy
from typing import ClassVar, Self


class TranscriptError(Exception):
    """Base of all errors of this product.

    ``str(error)`` is one sentence for the person; ``hint`` says what to do next and may be empty.
    """

    code: ClassVar[str] = "transcript_error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def about(self, whom: str) -> Self:
        """The same error, with whom or what it is about in front of its sentence.

        >>> str(ConfigError("There is no program x.").about("agents.cli_a"))
        'agents.cli_a: There is no program x.'
        """
        told = copy(self)
        told.args = (f"{whom}: {self}",)
        return told


class InvalidEntryError(TranscriptError, ValueError):
    """An argument cannot be recorded: wrong type, unknown role, empty target."""

    code = "invalid_entry"


class InvalidCursorError(TranscriptError, ValueError):
    """The cursor was not handed out by a store."""

    code = "invalid_cursor"


class UnknownNameError(TranscriptError):
    """No chat, member or message has this name, or several have it; the sentence or the hint lists what there is."""

    code = "unknown_name"


class ConfigError(TranscriptError):
    """A setting or a configuration file is wrong."""

    code = "config"


class ImportFormatError(TranscriptError):
    """A file to import is not in the announced format."""

    code = "import_format"


class NothingFoundError(TranscriptError):
    """What was given could be read, but does not hold what is wanted, such as labelled messages."""

    code = "nothing_found"


class StoreError(TranscriptError):
    """The record could not be written or read."""

    code = "store"


class StoreUnavailableError(StoreError):
    """The store's directory is missing, read-only, or not permitted."""

    code = "store_unavailable"


class StoreFullError(StoreError):
    """No space or quota is left; the entry was not acknowledged and no half line stays behind."""

    code = "store_full"


class UnsafePathError(StoreError):
    """A symlink or a foreign kind of file stands where the store keeps its own."""

    code = "unsafe_path"


class StoreBusyError(StoreError):
    """Another process holds the maintenance lock of this transcript."""

    code = "store_busy"


class HostError(TranscriptError):
    """The host framework lacks what the plugin needs."""

    code = "host"


class DeliveryError(TranscriptError):
    """A message could not be sent to its chat.

    ``retryable`` says that another attempt may succeed, ``retry_after`` (seconds) when the platform wants it.
    ``arrived`` is the part of the message that did get into the chat, in the form that the sender uses.
    """

    code = "delivery"
    arrived: object = None

    def __init__(
        self, message: str, *, hint: str = "", retryable: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable
        self.retry_after = retry_after


class WithheldError(TranscriptError):
    """A message may not be sent any more, because another bot is answering or the message to answer was recalled."""

    code = "withheld"


class ResponderError(TranscriptError):
    """An agent's mind (a model, a command) gave no answer."""

    code = "responder"


class ResponderTimeoutError(ResponderError):
    """An agent's mind took longer than it may."""

    code = "responder_timeout"


class HubUnreachableError(TranscriptError):
    """The hub that a command needs does not run, or refuses it."""

    code = "hub_unreachable"


class ClientCannotError(TranscriptError):
    """The MCP client can neither ask its person nor its model, or not in the way that a tool needs."""

    code = "client_cannot"


class OutboxError(TranscriptError):
    """A post cannot be put into the outbox or found in it."""

    code = "outbox"


class InvalidPostError(OutboxError, ValueError):
    """A post has no content, too much of it, or does not name a chat."""

    code = "invalid_post"


class PostConflictError(OutboxError):
    """The idempotency key was used for a post with other content; nothing was queued."""

    code = "post_conflict"


class UnknownPostError(OutboxError):
    """There is no post with this id; posts are removed some days after their end."""

    code = "unknown_post"


class MailboxError(TranscriptError):
    """A mail in a FileBox mailbox cannot be sent, found or read."""

    code = "mailbox"


class NoAgentError(MailboxError):
    """Neither the caller nor the configuration says which agent this is; the sentence lists all agents."""

    code = "no_agent"


class UnknownAgentError(MailboxError):
    """The configuration names no such agent; the sentence lists those it names."""

    code = "unknown_agent"


class RunAsRefusedError(MailboxError):
    """The settings do not let ``runAs`` name this agent."""

    code = "run_as_refused"


class InvalidMailError(MailboxError, ValueError):
    """A title, type, content, box or file name that no mail can have."""

    code = "invalid_mail"


class MailNotFoundError(MailboxError):
    """No mail has this id, or no mail in this box has this file name."""

    code = "mail_not_found"


class MailboxBusyError(MailboxError):
    """Another process has been changing the mailbox for longer than this one waits; nothing was changed."""

    code = "mailbox_busy"


class MailboxUnavailableError(MailboxError):
    """The mailbox's folder is missing, not permitted, full, or something other than a folder."""

    code = "mailbox_unavailable"


class AgentMailError(TranscriptError):
    """Agent Mail: mail, identities and claims of a project."""

    code = "agent_mail"


class InvalidLetterError(AgentMailError, ValueError):
    """An argument cannot be used: a subject, recipient, path, pattern or time."""

    code = "invalid_letter"


class UnknownProjectError(AgentMailError):
    """No project has this key; the hint names those that are like it."""

    code = "unknown_project"


class UnregisteredAgentError(AgentMailError):
    """No agent of the project is registered under this name, or agents of several others are; the hint lists them."""

    code = "unregistered_agent"


class LetterNotFoundError(AgentMailError):
    """There is no such message or thread."""

    code = "letter_not_found"


class ActingRefusedError(AgentMailError):
    """The caller may not act as this agent: its token is missing or wrong, or its name is reserved."""

    code = "acting_refused"


class GuardError(AgentMailError):
    """The pre-commit guard cannot be put into this repository, or be taken out of it."""

    code = "guard"


class ArchiveError(AgentMailError):
    """The archive in git cannot be written or read."""

    code = "archive"


class IoBridgeError(TranscriptError):
    """Inputs and outputs of agents, in the queues of their sessions."""

    code = "io_bridge"


class InvalidItemError(IoBridgeError, ValueError):
    """A session id, an input, an output or a time to wait that cannot be used."""

    code = "invalid_item"


class QueueFullError(IoBridgeError):
    """The queue of a session, or all together, are full. Nothing was queued; ``retry_after`` is in seconds."""

    code = "queue_full"

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 5.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class AssistantError(TranscriptError):
    """Agent Assistant: questions and reports of agents to people."""

    code = "assistant"


class InvalidQuestionError(AssistantError, ValueError):
    """A question, answer or message without content, with too much of it, or with an id of another one."""

    code = "invalid_question"


class UnknownQuestionError(AssistantError):
    """There is no question with this id, or it was asked with another token."""

    code = "unknown_question"


class TokenRefusedError(AssistantError):
    """The token that came with a question or an answer is missing or not known."""

    code = "token_refused"


class PlatformError(TranscriptError):
    """The chat platform failed a call or refused it.

    ``platform_code`` is its own error code and ``status`` the HTTP status, where there are such; ``log_id`` is what
    its support asks for. ``arrived`` is the part of a longer message that did get into the chat, in the form that the
    sender uses.
    """

    code = "platform"
    arrived: object = None

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        platform_code: int | None = None,
        status: int | None = None,
        log_id: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.platform_code = platform_code
        self.status = status
        self.log_id = log_id


class NotPermittedError(PlatformError):
    """A scope is missing (any one of ``scopes`` would do; grant it at ``grant_url``), or the bot is not in the chat."""

    code = "not_permitted"
    scopes: tuple[str, ...] = ()
    grant_url: str = ""


class CredentialsRefusedError(PlatformError):
    """App id and app secret do not fit, or a fresh token is not accepted."""

    code = "credentials_refused"


class RateLimitedError(PlatformError):
    """Too many calls. ``retry_after`` is in seconds; ``chat_only`` when the limit is that of one chat."""

    code = "rate_limited"
    retry_after: float = 1.0
    chat_only: bool = False


class QuotaExhaustedError(PlatformError):
    """The apps of the tenant have used up this month's calls. The platform is not asked for ``retry_after`` seconds."""

    code = "quota_exhausted"
    retry_after: float = 3600.0


class CallBudgetError(PlatformError):
    """The budget of calls that the user set is spent; nothing was asked."""

    code = "call_budget"


class MessageGoneError(PlatformError):
    """The message was recalled or deleted, or this bot cannot see it."""

    code = "message_gone"


class RequestRefusedError(PlatformError):
    """What was asked cannot be done as it was asked: too long, too old to edit, a wrong id, refused by an audit."""

    code = "request_refused"


class TooLargeError(PlatformError):
    """A file is larger than the platform gives out, or than it may be here; nothing of it was kept."""

    code = "too_large"


class NoAnswerError(PlatformError):
    """The platform cannot be reached, takes too long, or answers with a failure of its own."""

    code = "no_answer"


class UnexpectedAnswerError(PlatformError):
    """The answer is not what the platform's documents promise, such as a page of HTML from something in between."""

    code = "unexpected_answer"


# A list of names would say each error a second time.
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name, kind in list(globals().items()) if isinstance(kind, type) and issubclass(kind, TranscriptError)
]
