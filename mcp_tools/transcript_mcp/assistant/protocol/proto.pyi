"""What the messages have, for the type checker: written by ``schema`` from its table."""
# ruff: noqa: N802, N803, PLW0406 - names of the protocol; by its module, where a field has a message's name

from collections.abc import Iterable, Mapping
from typing import Literal

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer, RepeatedScalarFieldContainer, ScalarMap
from google.protobuf.message import Message

from transcript_mcp.assistant.protocol import proto

class TextContent(Message):
    type: str
    text: str
    def __init__(
        self,
        *,
        type: str = ...,
        text: str = ...,
    ) -> None: ...

class ImageContent(Message):
    type: str
    data: str
    mime_type: str
    def __init__(
        self,
        *,
        type: str = ...,
        data: str = ...,
        mime_type: str = ...,
    ) -> None: ...

class AudioContent(Message):
    type: str
    data: str
    mime_type: str
    def __init__(
        self,
        *,
        type: str = ...,
        data: str = ...,
        mime_type: str = ...,
    ) -> None: ...

class EmbeddedResource(Message):
    type: str
    uri: str
    mime_type: str
    data: bytes
    def __init__(
        self,
        *,
        type: str = ...,
        uri: str = ...,
        mime_type: str = ...,
        data: bytes = ...,
    ) -> None: ...

class McpResultContent(Message):
    type: int
    @property
    def text(self) -> proto.TextContent: ...
    @property
    def image(self) -> proto.ImageContent: ...
    @property
    def audio(self) -> proto.AudioContent: ...
    @property
    def embedded_resource(self) -> proto.EmbeddedResource: ...
    def __init__(
        self,
        *,
        type: int = ...,
        text: proto.TextContent | None = ...,
        image: proto.ImageContent | None = ...,
        audio: proto.AudioContent | None = ...,
        embedded_resource: proto.EmbeddedResource | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "text",
            "image",
            "audio",
            "embedded_resource",
        ],
    ) -> bool: ...

class QuestionOption(Message):
    label: str
    description: str
    def __init__(
        self,
        *,
        label: str = ...,
        description: str = ...,
    ) -> None: ...

class Question(Message):
    question: str
    header: str
    @property
    def options(self) -> RepeatedCompositeFieldContainer[proto.QuestionOption]: ...
    multiple: bool
    custom: bool
    def __init__(
        self,
        *,
        question: str = ...,
        header: str = ...,
        options: Iterable[proto.QuestionOption] = ...,
        multiple: bool = ...,
        custom: bool = ...,
    ) -> None: ...

class McpAskQuestionRequest(Message):
    ProjectDirectory: str
    Question: str
    Timeout: int
    AgentName: str
    ReasoningModelName: str
    McpClientName: str
    @property
    def Questions(self) -> RepeatedCompositeFieldContainer[proto.Question]: ...
    Chat: str
    def __init__(
        self,
        *,
        ProjectDirectory: str = ...,
        Question: str = ...,
        Timeout: int = ...,
        AgentName: str = ...,
        ReasoningModelName: str = ...,
        McpClientName: str = ...,
        Questions: Iterable[proto.Question] = ...,
        Chat: str | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal["Chat"],
    ) -> bool: ...

class McpWorkReportRequest(Message):
    ProjectDirectory: str
    Summary: str
    Timeout: int
    AgentName: str
    ReasoningModelName: str
    McpClientName: str
    NotifyOnly: bool
    def __init__(
        self,
        *,
        ProjectDirectory: str = ...,
        Summary: str = ...,
        Timeout: int = ...,
        AgentName: str = ...,
        ReasoningModelName: str = ...,
        McpClientName: str = ...,
        NotifyOnly: bool = ...,
    ) -> None: ...

class AskQuestionRequest(Message):
    ID: str
    UserToken: str
    @property
    def Request(self) -> proto.McpAskQuestionRequest: ...
    Timestamp: int
    Wait: int
    Fetched: bool
    def __init__(
        self,
        *,
        ID: str = ...,
        UserToken: str = ...,
        Request: proto.McpAskQuestionRequest | None = ...,
        Timestamp: int = ...,
        Wait: int | None = ...,
        Fetched: bool = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "Request",
            "Wait",
        ],
    ) -> bool: ...

class WorkReportRequest(Message):
    ID: str
    UserToken: str
    @property
    def Request(self) -> proto.McpWorkReportRequest: ...
    Timestamp: int
    Wait: int
    Fetched: bool
    def __init__(
        self,
        *,
        ID: str = ...,
        UserToken: str = ...,
        Request: proto.McpWorkReportRequest | None = ...,
        Timestamp: int = ...,
        Wait: int | None = ...,
        Fetched: bool = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "Request",
            "Wait",
        ],
    ) -> bool: ...

class AskQuestionResponse(Message):
    ID: str
    IsError: bool
    @property
    def Meta(self) -> ScalarMap[str, str]: ...
    @property
    def contents(self) -> RepeatedCompositeFieldContainer[proto.McpResultContent]: ...
    def __init__(
        self,
        *,
        ID: str = ...,
        IsError: bool = ...,
        Meta: Mapping[str, str] = ...,
        contents: Iterable[proto.McpResultContent] = ...,
    ) -> None: ...

class WorkReportResponse(Message):
    ID: str
    IsError: bool
    @property
    def Meta(self) -> ScalarMap[str, str]: ...
    @property
    def contents(self) -> RepeatedCompositeFieldContainer[proto.McpResultContent]: ...
    def __init__(
        self,
        *,
        ID: str = ...,
        IsError: bool = ...,
        Meta: Mapping[str, str] = ...,
        contents: Iterable[proto.McpResultContent] = ...,
    ) -> None: ...

class McpClientInfo(Message):
    ProtocolVersion: str
    CapabilitiesJson: str
    ClientName: str
    ClientVersion: str
    def __init__(
        self,
        *,
        ProtocolVersion: str = ...,
        CapabilitiesJson: str = ...,
        ClientName: str = ...,
        ClientVersion: str = ...,
    ) -> None: ...

class McpClientInfoRequest(Message):
    ID: str
    UserToken: str
    @property
    def Request(self) -> proto.McpClientInfo: ...
    Timestamp: int
    def __init__(
        self,
        *,
        ID: str = ...,
        UserToken: str = ...,
        Request: proto.McpClientInfo | None = ...,
        Timestamp: int = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal["Request"],
    ) -> bool: ...

class McpClientInfoResponse(Message):
    Success: bool
    def __init__(
        self,
        *,
        Success: bool = ...,
    ) -> None: ...

class McpHeartbeatRequest(Message):
    SessionId: str
    UserToken: str
    Timestamp: int
    def __init__(
        self,
        *,
        SessionId: str = ...,
        UserToken: str = ...,
        Timestamp: int = ...,
    ) -> None: ...

class McpHeartbeatResponse(Message):
    Success: bool
    def __init__(
        self,
        *,
        Success: bool = ...,
    ) -> None: ...

class CheckMessageValidityRequest(Message):
    @property
    def request_ids(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(
        self,
        *,
        request_ids: Iterable[str] = ...,
    ) -> None: ...

class CheckMessageValidityResponse(Message):
    @property
    def validity(self) -> ScalarMap[str, bool]: ...
    def __init__(
        self,
        *,
        validity: Mapping[str, bool] = ...,
    ) -> None: ...

class GetPendingMessagesRequest(Message):
    user_token: str
    def __init__(
        self,
        *,
        user_token: str = ...,
    ) -> None: ...

class PendingMessage(Message):
    message_type: str
    @property
    def ask_question_request(self) -> proto.AskQuestionRequest: ...
    @property
    def work_report_request(self) -> proto.WorkReportRequest: ...
    created_at: int
    timeout: int
    def __init__(
        self,
        *,
        message_type: str = ...,
        ask_question_request: proto.AskQuestionRequest | None = ...,
        work_report_request: proto.WorkReportRequest | None = ...,
        created_at: int = ...,
        timeout: int = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "ask_question_request",
            "work_report_request",
        ],
    ) -> bool: ...

class GetPendingMessagesResponse(Message):
    @property
    def pending_messages(self) -> RepeatedCompositeFieldContainer[proto.PendingMessage]: ...
    total_count: int
    def __init__(
        self,
        *,
        pending_messages: Iterable[proto.PendingMessage] = ...,
        total_count: int = ...,
    ) -> None: ...

class RequestCancelledNotification(Message):
    request_id: str
    reason: str
    message_type: str
    reason_code: str
    def __init__(
        self,
        *,
        request_id: str = ...,
        reason: str = ...,
        message_type: str = ...,
        reason_code: str = ...,
    ) -> None: ...

class OnlineUser(Message):
    client_id: str
    nickname: str
    connected_at: int
    def __init__(
        self,
        *,
        client_id: str = ...,
        nickname: str = ...,
        connected_at: int = ...,
    ) -> None: ...

class GetOnlineUsersRequest(Message):
    user_token: str
    def __init__(
        self,
        *,
        user_token: str = ...,
    ) -> None: ...

class GetOnlineUsersResponse(Message):
    @property
    def online_users(self) -> RepeatedCompositeFieldContainer[proto.OnlineUser]: ...
    total_count: int
    def __init__(
        self,
        *,
        online_users: Iterable[proto.OnlineUser] = ...,
        total_count: int = ...,
    ) -> None: ...

class SendChatMessageRequest(Message):
    receiver_client_id: str
    content: str
    def __init__(
        self,
        *,
        receiver_client_id: str = ...,
        content: str = ...,
    ) -> None: ...

class ChatMessage(Message):
    message_id: str
    sender_client_id: str
    sender_nickname: str
    receiver_client_id: str
    receiver_nickname: str
    content: str
    sent_at: int
    def __init__(
        self,
        *,
        message_id: str = ...,
        sender_client_id: str = ...,
        sender_nickname: str = ...,
        receiver_client_id: str = ...,
        receiver_nickname: str = ...,
        content: str = ...,
        sent_at: int = ...,
    ) -> None: ...

class ChatMessageNotification(Message):
    @property
    def chat_message(self) -> proto.ChatMessage: ...
    def __init__(
        self,
        *,
        chat_message: proto.ChatMessage | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal["chat_message"],
    ) -> bool: ...

class UserLoginResponse(Message):
    client_id: str
    success: bool
    error_message: str
    server_time: int
    def __init__(
        self,
        *,
        client_id: str = ...,
        success: bool = ...,
        error_message: str = ...,
        server_time: int = ...,
    ) -> None: ...

class UserConnectionStatusNotification(Message):
    @property
    def user(self) -> proto.OnlineUser: ...
    status: str
    timestamp: int
    def __init__(
        self,
        *,
        user: proto.OnlineUser | None = ...,
        status: str = ...,
        timestamp: int = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal["user"],
    ) -> bool: ...

class AgentMessage(Message):
    id: str
    project_directory: str
    agent_name: str
    text: str
    @property
    def contents(self) -> RepeatedCompositeFieldContainer[proto.McpResultContent]: ...
    nickname: str
    written_at: int
    state: str
    picked_up_at: int
    def __init__(
        self,
        *,
        id: str = ...,
        project_directory: str = ...,
        agent_name: str = ...,
        text: str = ...,
        contents: Iterable[proto.McpResultContent] = ...,
        nickname: str = ...,
        written_at: int = ...,
        state: str = ...,
        picked_up_at: int = ...,
    ) -> None: ...

class HistoryRecord(Message):
    kind: str
    id: str
    seq: int
    @property
    def ask_question_request(self) -> proto.AskQuestionRequest: ...
    @property
    def work_report_request(self) -> proto.WorkReportRequest: ...
    @property
    def message(self) -> proto.AgentMessage: ...
    state: str
    shown: int
    answered_by: str
    answered_where: str
    asked_at: int
    ended_at: int
    @property
    def contents(self) -> RepeatedCompositeFieldContainer[proto.McpResultContent]: ...
    def __init__(
        self,
        *,
        kind: str = ...,
        id: str = ...,
        seq: int = ...,
        ask_question_request: proto.AskQuestionRequest | None = ...,
        work_report_request: proto.WorkReportRequest | None = ...,
        message: proto.AgentMessage | None = ...,
        state: str = ...,
        shown: int = ...,
        answered_by: str = ...,
        answered_where: str = ...,
        asked_at: int = ...,
        ended_at: int = ...,
        contents: Iterable[proto.McpResultContent] = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "ask_question_request",
            "work_report_request",
            "message",
        ],
    ) -> bool: ...

class GetHistoryRequest(Message):
    text: str
    project_directory: str
    agent_name: str
    before: int
    limit: int
    @property
    def ids(self) -> RepeatedScalarFieldContainer[str]: ...
    words_only: bool
    def __init__(
        self,
        *,
        text: str = ...,
        project_directory: str | None = ...,
        agent_name: str | None = ...,
        before: int = ...,
        limit: int = ...,
        ids: Iterable[str] = ...,
        words_only: bool = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "project_directory",
            "agent_name",
        ],
    ) -> bool: ...

class GetHistoryResponse(Message):
    @property
    def records(self) -> RepeatedCompositeFieldContainer[proto.HistoryRecord]: ...
    next_before: int
    def __init__(
        self,
        *,
        records: Iterable[proto.HistoryRecord] = ...,
        next_before: int = ...,
    ) -> None: ...

class ErrorNotification(Message):
    code: str
    message: str
    cmd: str
    def __init__(
        self,
        *,
        code: str = ...,
        message: str = ...,
        cmd: str = ...,
    ) -> None: ...

class WebsocketMessage(Message):
    Cmd: str
    @property
    def AskQuestionRequest(self) -> proto.AskQuestionRequest: ...
    @property
    def WorkReportRequest(self) -> proto.WorkReportRequest: ...
    @property
    def AskQuestionResponse(self) -> proto.AskQuestionResponse: ...
    @property
    def WorkReportResponse(self) -> proto.WorkReportResponse: ...
    StrParam: str
    @property
    def CheckMessageValidityRequest(self) -> proto.CheckMessageValidityRequest: ...
    @property
    def CheckMessageValidityResponse(self) -> proto.CheckMessageValidityResponse: ...
    @property
    def GetPendingMessagesRequest(self) -> proto.GetPendingMessagesRequest: ...
    @property
    def GetPendingMessagesResponse(self) -> proto.GetPendingMessagesResponse: ...
    @property
    def RequestCancelledNotification(self) -> proto.RequestCancelledNotification: ...
    Nickname: str
    @property
    def GetOnlineUsersRequest(self) -> proto.GetOnlineUsersRequest: ...
    @property
    def GetOnlineUsersResponse(self) -> proto.GetOnlineUsersResponse: ...
    @property
    def SendChatMessageRequest(self) -> proto.SendChatMessageRequest: ...
    @property
    def ChatMessageNotification(self) -> proto.ChatMessageNotification: ...
    @property
    def UserLoginResponse(self) -> proto.UserLoginResponse: ...
    @property
    def UserConnectionStatusNotification(self) -> proto.UserConnectionStatusNotification: ...
    @property
    def GetHistoryRequest(self) -> proto.GetHistoryRequest: ...
    @property
    def GetHistoryResponse(self) -> proto.GetHistoryResponse: ...
    @property
    def AgentMessage(self) -> proto.AgentMessage: ...
    @property
    def ErrorNotification(self) -> proto.ErrorNotification: ...
    def __init__(
        self,
        *,
        Cmd: str = ...,
        AskQuestionRequest: proto.AskQuestionRequest | None = ...,
        WorkReportRequest: proto.WorkReportRequest | None = ...,
        AskQuestionResponse: proto.AskQuestionResponse | None = ...,
        WorkReportResponse: proto.WorkReportResponse | None = ...,
        StrParam: str = ...,
        CheckMessageValidityRequest: proto.CheckMessageValidityRequest | None = ...,
        CheckMessageValidityResponse: proto.CheckMessageValidityResponse | None = ...,
        GetPendingMessagesRequest: proto.GetPendingMessagesRequest | None = ...,
        GetPendingMessagesResponse: proto.GetPendingMessagesResponse | None = ...,
        RequestCancelledNotification: proto.RequestCancelledNotification | None = ...,
        Nickname: str = ...,
        GetOnlineUsersRequest: proto.GetOnlineUsersRequest | None = ...,
        GetOnlineUsersResponse: proto.GetOnlineUsersResponse | None = ...,
        SendChatMessageRequest: proto.SendChatMessageRequest | None = ...,
        ChatMessageNotification: proto.ChatMessageNotification | None = ...,
        UserLoginResponse: proto.UserLoginResponse | None = ...,
        UserConnectionStatusNotification: proto.UserConnectionStatusNotification | None = ...,
        GetHistoryRequest: proto.GetHistoryRequest | None = ...,
        GetHistoryResponse: proto.GetHistoryResponse | None = ...,
        AgentMessage: proto.AgentMessage | None = ...,
        ErrorNotification: proto.ErrorNotification | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "AskQuestionRequest",
            "WorkReportRequest",
            "AskQuestionResponse",
            "WorkReportResponse",
            "CheckMessageValidityRequest",
            "CheckMessageValidityResponse",
            "GetPendingMessagesRequest",
            "GetPendingMessagesResponse",
            "RequestCancelledNotification",
            "GetOnlineUsersRequest",
            "GetOnlineUsersResponse",
            "SendChatMessageRequest",
            "ChatMessageNotification",
            "UserLoginResponse",
            "UserConnectionStatusNotification",
            "GetHistoryRequest",
            "GetHistoryResponse",
            "AgentMessage",
            "ErrorNotification",
        ],
    ) -> bool: ...
