"""Section `assistant`: Agent Assistant."""

from pydantic import ByteSize

from nanobot_transcript.settings.base import Name, Section, setting
from nanobot_transcript.settings.sections.hub import Token

__all__ = ["AssistantSettings"]


class AssistantSettings(Section):
    """Agent Assistant: agents ask people, and wait for the answer."""

    tokens: dict[Name, Token] = setting(
        dict,
        "Tokens by name: a page or program sees and answers only the questions of its token. Write ${NAME} "
        "rather than the token itself. Tokens of `hub.tokens` can ask, too, and `hub.page_token` answers those "
        "questions. Without any token, and only on this machine, every token is accepted, each with its own "
        "questions.",
        "页面或程序可以看到并回答谁的提问：名称及其令牌；建议写成 ${NAME}，不要直接写明文。"
        "`hub.tokens` 中的令牌也可以提问，由 `hub.page_token` 回答。完全不设置令牌时，本机上的任何令牌都可以使用，"
        "各自只看到自己的提问。",
        example="ada",
    )
    listen: Name | None = setting(
        None,
        "A second address of this machine that the hub also listens on, such as 127.0.0.1:22080.",
        "hub 额外监听的本机地址，例如 127.0.0.1:22080。",
        example="127.0.0.1:22080",
    )
    chat: Name | None = setting(
        None,
        "Group chat that also gets the questions that name no chat. The first answer counts, there or on the "
        "page. The group sees the questions of all tokens.",
        "没有指定群聊的提问同时发到哪个群聊；群里和页面上谁先回答就以谁为准。群成员会看到所有令牌的提问。",
        example="feishu:oc_0123456789abcdef",
    )
    elicit: bool = setting(
        False,
        "Whether `ask_question` also asks through the agent's own client, if the client supports it (MCP "
        "elicitation). Many clients decline on their own; the question then stays open on the page.",
        "`ask_question` 是否同时让智能体的客户端询问它的用户（MCP elicitation，客户端支持时）。"
        "很多客户端会自行拒绝，提问随后仍在页面上等待回答。",
    )
    timeout: int = setting(
        3600,
        "Seconds that a question waits if the agent does not say how long.",
        "智能体没有说明时，提问等待的秒数。",
        ge=1,
    )
    shortest_timeout: int = setting(
        60,
        "Seconds that a question waits at least, even if the agent asks for less. Applies to the MCP tools only.",
        "提问至少等待的秒数，无论智能体要求多短。只对 MCP 工具有效。",
        ge=0,
    )
    longest_timeout: int = setting(
        86_400,
        "Seconds that a question waits at most, even if the agent asks for more. Applies to the MCP tools only.",
        "提问最多等待的秒数，无论智能体要求多长。只对 MCP 工具有效。",
        ge=1,
    )
    grace: float = setting(
        60.0,
        "Seconds that a question stays open after the program waiting for its answer has disconnected; it may "
        "come back.",
        "等待回答的程序断开后，提问继续保留的秒数；程序可以在此期间回来。",
        ge=0,
    )
    max_attachment: ByteSize = setting(
        8 * 1024 * 1024,
        "Largest picture or file of an answer that is passed to the agent, as a number of bytes or as `8 MiB`.",
        "交给智能体的单个图片或文件的最大字节数，也可写成 `8 MiB`。",
        ge=1024,
    )
