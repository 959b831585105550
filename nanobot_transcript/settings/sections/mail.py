"""Section `mail`: Agent Mail."""

from pathlib import Path
from typing import Literal

from pydantic import ByteSize

from nanobot_transcript.settings.base import Directory, Name, Section, setting

__all__ = ["MailSettings"]


class MailArchiveSettings(Section):
    """The audit in git."""

    enabled: bool = setting(
        True,
        "Whether every message, receipt, profile and claim is also committed to git.",
        "是否把每封邮件、回执、资料和占用都提交到 git。",
    )
    sync: bool = setting(
        False,
        "Whether sending waits for the commit (some tenths of a second) and returns its hash.",
        "发送者是否等待提交完成（零点几秒）并得到提交的哈希。",
    )
    shard: Literal["day", "month"] = setting(
        "day",
        "One folder per day or per month. With tens of thousands of messages a month, daily folders keep commits "
        "quick. Readers find both.",
        "按天还是按月分目录。每月邮件达到数万封时，按天分目录能让提交保持快速。读取时两种都能找到。",
    )


class MailImageSettings(Section):
    """Images in messages."""

    policy: Literal["auto", "file", "inline"] = setting(
        "auto",
        "Where converted images go: `auto` puts small ones into the message and others into files; `file` and "
        "`inline` always do one of the two.",
        "转换后的图片放在哪里：`auto` 小图内嵌、大图存文件；`file` 和 `inline` 只用其中一种。",
    )
    inline_max_bytes: ByteSize = setting(
        64 * 1024,
        "Largest image that `auto` puts into the message, as a number of bytes or as `64 KiB`.",
        "`auto` 时内嵌图片的最大字节数，也可写成 `64 KiB`。",
        ge=0,
    )


class MailSettings(Section):
    """Agent Mail: identities, mail and file claims of agents that work on the same code."""

    store: Directory = setting(
        Path("~/.mcp-agent-mail"),
        "Folder of the database and of the git archives of all projects.",
        "数据库和各项目 git 存档所在的目录。",
    )
    require_agent_token: bool = setting(
        False,
        "Whether sending, reading and releasing as an agent needs the token that it was given when it was created.",
        "以某个智能体身份发送、读取或释放占用时，是否需要它创建时得到的令牌。",
    )
    announce: Name | None = setting(
        None,
        "Group chat in which urgent mail, and mail that has to be acknowledged, is announced.",
        "发布紧急邮件和需要确认的邮件通知的群聊。",
        example="feishu:oc_0123456789abcdef",
    )
    max_body: ByteSize = setting(
        1024 * 1024,
        "Largest text of a message, as a number of bytes or as `1 MiB`.",
        "单封邮件正文的最大字节数，也可写成 `1 MiB`。",
        ge=1024,
    )
    archive: MailArchiveSettings = setting(MailArchiveSettings, "The audit in git.", "git 存档。")
    images: MailImageSettings = setting(MailImageSettings, "Images in messages.", "邮件中的图片。")
