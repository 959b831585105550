"""Every error this product raises on purpose.

TranscriptError
├── InvalidEntryError        (also ValueError)  an argument of append/edit/recall cannot be recorded
├── InvalidCursorError       (also ValueError)  a cursor that no store handed out
├── UnknownNameError                            no chat, member or message is called so, or several are
├── ConfigError                                 a setting or a configuration file is wrong
├── ImportFormatError                           a file to import is not in the announced format
├── NothingFoundError                           what was given was read, and holds nothing of what is wanted
├── StoreError                                  the record could not be written or read
│   ├── StoreUnavailableError                   directory missing, read-only, or not permitted
│   ├── StoreFullError                          no space or quota left; nothing was acknowledged
│   ├── UnsafePathError                         a symlink or a foreign kind of file is in the way
│   └── StoreBusyError                          another process holds the maintenance lock
├── HostError                                   the host framework (nanobot) lacks what the plugin needs
├── DeliveryError                               a message could not be sent to its chat
├── WithheldError                               a message may not be sent any more: another bot answers, or it is void
├── OutboxError                                 a post cannot be put into the outbox or found in it
│   ├── InvalidPostError     (also ValueError)  a post without content, too long, or not for a chat
│   ├── PostConflictError                       the idempotency key belongs to another post
│   └── UnknownPostError                        there is no such post, or it ended too long ago
├── MailboxError                                a mail in a FileBox mailbox cannot be sent, found or read
│   ├── NoAgentError                            nothing says which agent this is
│   ├── UnknownAgentError                       the configuration names no such agent
│   ├── RunAsRefusedError                       the settings do not let ``runAs`` name this agent
│   ├── InvalidMailError     (also ValueError)  a title, type, content, box or file name that cannot be used
│   ├── MailNotFoundError                       there is no such mail
│   ├── MailboxBusyError                        another process has been changing the mailbox for too long
│   └── MailboxUnavailableError                 the mailbox's folder is missing, not permitted, full, or a link
├── AgentMailError                              Agent Mail: mail, identities, claims of a project
│   ├── InvalidLetterError   (also ValueError)  an argument that cannot be used: subject, recipients, path, time
│   ├── UnknownProjectError                     no project has this key
│   ├── UnregisteredAgentError                  nobody is registered under this name, or several are
│   ├── LetterNotFoundError                     there is no such message or thread
│   ├── ActingRefusedError                      who asks may not act as this agent
│   ├── GuardError                              the pre-commit guard cannot be put into this repository
│   └── ArchiveError                            the archive in git cannot be written or read
├── IoBridgeError                               inputs and outputs of agents: the queues of sessions
│   ├── InvalidItemError     (also ValueError)  a session id, input, output or time to wait that cannot be used
│   └── QueueFullError                          a session, or all of them, hold what they may; ``retry_after`` seconds
├── AssistantError                              questions of agents to people
│   ├── InvalidQuestionError (also ValueError)  a question, answer or message that cannot be used
│   ├── UnknownQuestionError                    there is no question with this id
│   └── TokenRefusedError                       the token is not known
├── PlatformError                               the chat platform (Feishu) failed a call or refused it
│   ├── NotPermittedError                       a scope is missing, or the bot does not sit in the chat
│   ├── CredentialsRefusedError                 app id, app secret or token are not accepted
│   ├── RateLimitedError                        too many calls; ``retry_after`` seconds
│   ├── QuotaExhaustedError                     the tenant's calls of this month are used up
│   ├── CallBudgetError                         our own budget of calls is spent; nothing was asked
│   ├── MessageGoneError                        the message was recalled, deleted, or never was visible
│   ├── RequestRefusedError                     what was asked cannot be done as it was asked
│   ├── TooLargeError                           a file is larger than the platform gives out, or than it may be here
│   ├── NoAnswerError                           the platform cannot be reached or is out of order
│   └── UnexpectedAnswerError                   the answer is not what the platform's documents promise
├── HubUnreachableError                         the hub that a command speaks to does not run, or refuses it
├── ClientCannotError                           an MCP client lacks what a tool needs of it
└── ResponderError                              an agent's mind (a model, a command) gave no answer
    └── ResponderTimeoutError                   it took longer than it may

Each error has a stable ``code``, a sentence for the person (``str(error)``), and a ``hint`` that says what to do next.
"""

from copy import copy
from typing import ClassVar, Self

__all__ = [
    "ActingRefusedError",
    "AgentMailError",
    "ArchiveError",
    "AssistantError",
    "CallBudgetError",
    "ClientCannotError",
    "ConfigError",
    "CredentialsRefusedError",
    "DeliveryError",
    "GuardError",
    "HostError",
    "HubUnreachableError",
    "ImportFormatError",
    "InvalidCursorError",
    "InvalidEntryError",
    "InvalidItemError",
    "InvalidLetterError",
    "InvalidMailError",
    "InvalidPostError",
    "InvalidQuestionError",
    "IoBridgeError",
    "LetterNotFoundError",
    "MailNotFoundError",
    "MailboxBusyError",
    "MailboxError",
    "MailboxUnavailableError",
    "MessageGoneError",
    "NoAgentError",
    "NoAnswerError",
    "NotPermittedError",
    "NothingFoundError",
    "OutboxError",
    "PlatformError",
    "PostConflictError",
    "QueueFullError",
    "QuotaExhaustedError",
    "RateLimitedError",
    "RequestRefusedError",
    "ResponderError",
    "ResponderTimeoutError",
    "RunAsRefusedError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreUnavailableError",
    "TokenRefusedError",
    "TooLargeError",
    "TranscriptError",
    "UnexpectedAnswerError",
    "UnknownAgentError",
    "UnknownNameError",
    "UnknownPostError",
    "UnknownProjectError",
    "UnknownQuestionError",
    "UnregisteredAgentError",
    "UnsafePathError",
    "WithheldError",
]


class TranscriptError(Exception):
    """Base of all errors of this product.

    ``str(error)`` is one sentence for the person; ``hint`` says what to do next and may be empty.
    """

    code: ClassVar[str] = "transcript_error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def about(self, whom: str) -> Self:
        """The same error with its sentence beginning with whom or what it is about.

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
    """No chat, member or message is called so, or several are; the sentence or the hint lists what there is."""

    code = "unknown_name"


class ConfigError(TranscriptError):
    """A setting or a configuration file is wrong."""

    code = "config"


class ImportFormatError(TranscriptError):
    """A file to import is not in the announced format."""

    code = "import_format"


class NothingFoundError(TranscriptError):
    """What was given was read, and holds nothing of what is wanted."""

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
    ``arrived`` is what of the message stands in the chat nevertheless, as whoever sent it describes that.
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
    """A message may not be sent any more, because another bot answers by now or what it answers was taken back."""

    code = "withheld"


class ResponderError(TranscriptError):
    """An agent's mind (a model, a command) gave no answer."""

    code = "responder"


class ResponderTimeoutError(ResponderError):
    """An agent's mind took longer than it may."""

    code = "responder_timeout"


class HubUnreachableError(TranscriptError):
    """The hub that a command speaks to does not run, or does not let it in."""

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
    """Nobody is registered under this name, or in several other projects somebody is; the hint lists them."""

    code = "unregistered_agent"


class LetterNotFoundError(AgentMailError):
    """There is no such message or thread."""

    code = "letter_not_found"


class ActingRefusedError(AgentMailError):
    """Who asks may not act as this agent: its token is missing or wrong, or its name is reserved."""

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
    """A session, or all of them together, hold as much as they may. Nothing was queued; ``retry_after`` in seconds."""

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
    """Nobody asked a question with this id, or somebody with another token did."""

    code = "unknown_question"


class TokenRefusedError(AssistantError):
    """The token that came with a question or an answer is missing or not known."""

    code = "token_refused"


class PlatformError(TranscriptError):
    """The chat platform failed a call or refused it.

    ``platform_code`` is its own error code and ``status`` the HTTP status, where there are such; ``log_id`` is what
    its support asks for. ``arrived`` is what of a message in several parts stands in the chat nevertheless, as whoever
    sent it describes that.
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
    """All apps of the tenant together have used up this month's calls. Nothing is asked again for ``retry_after`` s."""

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
