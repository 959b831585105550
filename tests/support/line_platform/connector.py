"""What `run` calls to connect the platform."""

from collections.abc import Sequence

from support.line_platform.channel import LineChannel
from support.line_platform.settings import LineSettings

from nanobot_transcript.conversation.connectors import Seat
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.record import Record
from nanobot_transcript.settings import Settings
from nanobot_transcript.store.gaps import Fallback

__all__ = ["LineConnector", "connect"]


def connect(settings: Settings, record: Record, seats: Sequence[Seat]) -> "LineConnector":
    """See ``Connect``."""
    server = settings.section(LineSettings).server
    host, _, port = server.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"line.server is {server!r}, which is not an address and port.", hint="Write 127.0.0.1:4000.")
    for seat in seats:
        seat.secret("app_secret")
    return LineConnector(host, int(port))


class LineConnector:
    """See ``Connector``: a connection for each bot, and nothing that they share."""

    way: str = ""
    fallback: Fallback | None = None

    def __init__(self, host: str, port: int) -> None:
        self._at: tuple[str, int] = (host, port)

    def channel(self, seat: Seat) -> LineChannel:
        """See ``Connector``."""
        return LineChannel(seat, *self._at)

    async def close(self) -> None:
        """See ``Connector``."""
