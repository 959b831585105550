"""Settings of the record itself."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ByteSize

from nanobot_transcript.settings.base import Directory, Section, setting

__all__ = ["RetentionSettings", "StoreSettings"]


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
