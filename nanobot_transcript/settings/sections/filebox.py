"""Section `filebox`: mailboxes of Markdown files."""

from typing import Annotated, Literal

from pydantic import ByteSize, Field

from nanobot_transcript.settings.base import OFF, Directory, Name, Section, setting
from nanobot_transcript.settings.sections.hub import Token

__all__ = ["FileboxSettings"]


class FileboxSettings(Section):
    """Mailboxes of Markdown files."""

    config: Directory | None = setting(
        None,
        "File that names the agents and their folders; null looks for `.filebox` in the working directory and above "
        "it, then for `~/.filebox`.",
        "列出智能体及其目录的文件；null 表示先在工作目录及其上级目录查找 `.filebox`，再查找 `~/.filebox`。",
    )
    agent: Name | None = setting(
        None,
        "Which agent this process is if neither `runAs` nor a token says so.",
        "当 `runAs` 和令牌都没有说明身份时，本进程使用的智能体。",
        example="qa_agent",
    )
    run_as: Annotated[Literal["any", "listed", "off"], OFF] = setting(
        "any",
        "Who `runAs` may name: `any` agent; only those `listed` under `filebox.may_run_as`; `off`: nobody else.",
        "`runAs` 可以指定谁：`any` 任何智能体；`listed` 仅限 `filebox.may_run_as` 中列出的；`off` 不能指定他人。",
    )
    may_run_as: list[Name] = setting(
        list,
        "Agents that `runAs` may name when `filebox.run_as` is `listed`.",
        "`filebox.run_as` 为 `listed` 时可指定的智能体。",
    )
    tokens: dict[Name, Token] = setting(
        dict,
        "Bearer tokens of agents on other machines, by agent: each opens `/mcp/filebox` as that agent.",
        "其他机器上智能体的 Bearer 令牌，每个智能体一个；持有令牌即以该智能体的身份访问 `/mcp/filebox`。",
        example="qa_agent",
    )
    types: list[Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,15}$")]] = setting(
        list,
        "Kinds of messages besides BR, ACK, ER, INFO and URGENT.",
        "除 BR、ACK、ER、INFO、URGENT 外的邮件类型。",
        example=["DIS"],
    )
    max_title: int = setting(
        255,
        "Longest title, in characters. The file name holds as much of it as fits into 255 bytes.",
        "邮件标题的最大字符数。文件名最长 255 字节，放得下多少就写多少。",
        ge=1,
        le=1000,
    )
    max_content: ByteSize = setting(
        1024 * 1024,
        "Largest content of one message, as a number of bytes or as `1 MiB`. A mail with its thread may have 16 "
        "MiB, a request over HTTP `hub.max_body`.",
        "单封邮件正文的最大字节数，也可写成 `1 MiB`。一封邮件连同整个线程最多 16 MiB，"
        "HTTP 请求另受 `hub.max_body` 限制。",
        ge=1024,
    )
    max_read: int = setting(
        60_000,
        "How many characters one read returns at most; `offset` gets the rest.",
        "一次读取最多返回的字符数，其余部分用 `offset` 继续读取。",
        ge=1000,
    )
    fsync: Literal["never", "always"] = setting(
        "never",
        "When mail is flushed to disk. `never`: a killed process loses nothing, a power cut may lose the mail of "
        "the last seconds; `always`: a power cut loses nothing either, but sending, resolving and rejecting wait "
        "for the disk.",
        "何时强制写入磁盘。`never`：进程被杀不会丢失邮件，断电可能丢失最后几秒的邮件；"
        "`always`：断电也不丢失，但发送、解决和拒绝都要等待磁盘。",
    )
