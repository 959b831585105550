"""Sections `store` and `record`: where the record lies, and what is kept of it."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, ByteSize, SecretStr

from nanobot_transcript.settings.base import Directory, Section, Traits, setting

__all__ = ["RecordSettings", "StoreSettings"]

_SAMPLE: Final = "postgresql://user:password@host:5432/name"


def _database(value: SecretStr) -> SecretStr:
    from nanobot_transcript.record.contract import ADDRESSES  # few have an address, and importing it takes a while

    if value.get_secret_value() and not value.get_secret_value().lower().startswith(ADDRESSES):
        raise ValueError(f"must begin with postgresql://, as in {_SAMPLE}")
    return value


DatabaseUrl: TypeAlias = Annotated[SecretStr, AfterValidator(_database)]
"""It may hold a password, so that it is never shown."""


def _at_least_64_kib(value: ByteSize) -> ByteSize:
    if value < 64 * 1024:
        raise ValueError("must be at least 64 KiB")
    return value


def _positive(value: ByteSize) -> ByteSize:
    if value <= 0:
        raise ValueError("must be greater than 0")
    return value


class RetentionSettings(Section):
    """How much of each transcript is kept; whole closed segments are dropped."""

    max_age_days: float | None = setting(
        None,
        "Delete entries older than this many days; null keeps all.",
        "删除早于此天数的内容；null 表示全部保留。",
        gt=0,
    )
    max_bytes: Annotated[ByteSize, AfterValidator(_positive)] | None = setting(
        None,
        "Keep about this much per chat, as a number of bytes or as `500 MiB`; null keeps all.",
        "每个群大约保留的大小，可写字节数或 `500 MiB`；null 表示全部保留。",
    )
    max_entries: int | None = setting(
        None,
        "Keep about this many entries per chat; null keeps all.",
        "每个群大约保留的条目数；null 表示全部保留。",
        gt=0,
    )


class StoreSettings(Section):
    """Where the shared record lies and how safely it is written."""

    dir: Directory = setting(
        Path("~/.nanobot/transcripts"),
        "Directory of the transcripts. All bots of a group must name the same one.",
        "群聊记录所在目录。同一个群里的所有机器人必须使用同一个目录。",
    )
    fsync: Literal["never", "always", "interval"] = setting(
        "never",
        "When entries are flushed to disk. `never`: a power cut may lose the last seconds; `interval`: at most "
        "`store.fsync_interval` seconds; `always`: nothing, but appends wait for the disk.",
        "何时强制写入磁盘。`never`：断电可能丢失最后几秒；`interval`：最多丢失 `store.fsync_interval` 秒；"
        "`always`：不丢失，但每次追加都要等待磁盘。",
    )
    fsync_interval: float = setting(
        1.0,
        "Seconds between two flushes when `store.fsync` is `interval`.",
        "`store.fsync` 为 `interval` 时两次强制写盘之间的秒数。",
        gt=0,
        le=3600,
    )
    segment_bytes: Annotated[ByteSize, AfterValidator(_at_least_64_kib)] = setting(
        64 * 1024 * 1024,
        "Size at which a transcript continues in a new file, as a number of bytes or as `64 MiB`.",
        "单个记录文件达到此大小后换新文件，可写字节数或 `64 MiB`。",
    )
    retention: RetentionSettings = setting(
        RetentionSettings, "How much of each transcript is kept.", "每个群的记录保留多少。"
    )

    def options(self) -> dict[str, Any]:
        """How it is written and how much of it is kept."""
        from nanobot_transcript.store.contract import Retention

        return {
            "fsync": self.fsync,
            "fsync_interval": self.fsync_interval,
            "segment_bytes": int(self.segment_bytes),
            "retention": Retention(**self.retention.model_dump()),
        }


with warnings.catch_warnings():
    # BaseModel has a method of this name, which was given up with pydantic 2.
    warnings.filterwarnings("ignore", message='Field name "schema"')

    class RecordSettings(Section):
        """Where the record lies when its bots run on several machines."""

        url: Annotated[DatabaseUrl | None, Traits(needed=True)] = setting(
            None,
            "PostgreSQL database that keeps the record instead of `store.dir`, for bots on several machines: "
            "`postgresql://user:${DB_PASSWORD}@host:5432/name`. Several hosts are tried in turn.",
            "用 PostgreSQL 数据库保存记录（代替 `store.dir`），供多台机器上的机器人共用："
            "`postgresql://user:${DB_PASSWORD}@host:5432/name`。可写多个主机，依次尝试。",
        )
        listen_url: Annotated[DatabaseUrl | None, Traits(needed=True)] = setting(
            None,
            "Address of the database itself when `record.url` leads to PgBouncer in transaction mode.",
            "`record.url` 指向事务模式的 PgBouncer 时，填数据库本身的地址。",
        )
        schema: str = setting(  # pyright: ignore[reportIncompatibleMethodOverride] -- see above
            "nanobot",
            "Schema of the database in which all tables lie. One record is one schema.",
            "所有表所在的数据库 schema。一个 schema 就是一份记录。",
            min_length=1,
            max_length=63,
        )
        connections: int = setting(
            4,
            "Connections of one process at most, besides the one on which it listens.",
            "每个进程最多使用的连接数，监听用的那个连接不计在内。",
            ge=1,
            le=100,
        )
        spool_dir: Directory = setting(
            Path("~/.nanobot/spool"),
            "Directory on this machine in which messages wait while the database cannot be reached.",
            "本机目录：数据库连不上时，消息先存放在这里。",
        )
        spool_bytes: Annotated[ByteSize, AfterValidator(_at_least_64_kib)] = setting(
            1 << 30,
            "How much may wait there, as a number of bytes or as `1 GiB`; beyond it messages are refused, as on a "
            "full disk.",
            "最多存放多少，可写字节数或 `1 GiB`；超出后拒收消息，与磁盘已满时相同。",
        )

        @property
        def address(self) -> str | None:
            """The address of the database; None where the record lies in a folder."""
            return self.url.get_secret_value() or None if self.url is not None else None

        def options(self) -> dict[str, Any]:
            """How the database is used."""
            listen = self.listen_url.get_secret_value() if self.listen_url is not None else None
            return {
                "schema": self.schema,
                "listen_url": listen or None,
                "connections": self.connections,
                "spool_dir": self.spool_dir,
                "spool_bytes": int(self.spool_bytes),
            }
