"""Section `hub`: the one process that serves MCP over HTTP."""

from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ByteSize, SecretStr

from nanobot_transcript.settings.base import Directory, Name, Section, setting

__all__ = ["HubSettings", "Token"]

_SHORTEST_TOKEN: Final = 8


def _long_enough(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value().strip()) < _SHORTEST_TOKEN:
        raise ValueError(f"must have at least {_SHORTEST_TOKEN} characters")
    return value


Token: TypeAlias = Annotated[SecretStr, AfterValidator(_long_enough)]


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


class HubSettings(Section):
    """The process behind `serve`."""

    host: Name = setting(
        "127.0.0.1",
        "Address to listen on. Any address but this machine's own needs a token.",
        "监听地址。除本机地址外，都必须设置令牌。",
    )
    port: int = setting(
        8765, "Port to listen on; 0 takes any free one.", "监听端口；0 表示任选空闲端口。", ge=0, le=65535
    )
    tokens: dict[Name, Token] = setting(
        dict,
        "Programs that may connect: a name for the log, and the bearer token. Write ${NAME} rather than the "
        "token itself. None of these tokens opens the pages. Without any token, only this machine may connect, "
        "and everything is open to it.",
        "允许访问的程序：日志中使用的名字及其 Bearer 令牌；建议写成 ${NAME}，不要直接写明文。这些令牌都不能打开网页。"
        "完全不设置令牌时只允许本机访问，并且对本机全部开放。",
        example="laptop",
    )
    page_token: Token | None = setting(
        None,
        "The token for people. It alone opens the pages (`/?token=TOKEN`) and `/api/...`, and it opens no MCP "
        "server. Without it, the pages are closed as soon as there are `hub.tokens` or `filebox.tokens`. Keep it "
        "from agents: put it into an environment variable of the hub rather than a file that they can read.",
        "供人使用的令牌：只有它能打开网页（`/?token=TOKEN`）和 `/api/...`，但不能访问 MCP 服务。"
        "只要设置了 `hub.tokens` 或 `filebox.tokens` 而没有设置它，网页就是关闭的。"
        "不要让智能体得到它：最好只写在 hub 的环境变量里，而不是智能体能读到的文件中。",
        example="${PAGE_TOKEN}",
    )
    servers: list[Name] | None = setting(
        None,
        "The servers that `/mcp` offers, by the names in their own addresses, such as `filebox` for `/mcp/filebox`; "
        "null offers all.",
        "`/mcp` 提供的服务，写各自地址里的名字，例如 `/mcp/filebox` 写 `filebox`；null 表示全部。",
    )
    allowed_hosts: list[Name] = setting(
        list,
        "Host names under which the hub may be reached besides this machine's own, such as hub.example.com or "
        "hub.example.com:8765.",
        "除本机名称外，允许用来访问的主机名，例如 hub.example.com 或 hub.example.com:8765。",
    )
    allowed_origins: list[Name] = setting(
        list,
        "Origins of web pages that may call the hub besides its own, such as https://example.com.",
        "除自身页面外，允许调用的网页来源，例如 https://example.com。",
    )
    max_body: ByteSize = setting(
        8 * 1024 * 1024,
        "Largest request, as a number of bytes or as `8 MiB`.",
        "单个请求的最大字节数，也可写成 `8 MiB`。",
        ge=1024,
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = setting(
        "info", "How much the hub writes to its log.", "hub 写多少日志。"
    )
    data_dir: Directory = setting(Path("~/.nanobot/hub"), "Folder for the hub's own data.", "hub 自身数据的目录。")
