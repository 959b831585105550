"""What can be set about the platform: the section ``line``."""

from typing import Any, Final

from nanobot_transcript.settings.base import Section, setting

__all__ = ["SECTION", "LineSettings"]


class LineSettings(Section):
    """The section ``line``."""

    server: str = setting("127.0.0.1:4000", "Address and port of the server.", "服务器的地址和端口。")


SECTION: Final[tuple[type[Section], Any]] = (LineSettings, setting(LineSettings, "The platform Line.", "Line 平台。"))
