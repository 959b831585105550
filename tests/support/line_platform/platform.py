"""What the core has to know about the platform."""

import re
from typing import Final

from nanobot_transcript.platform import Platform

__all__ = ["LINE"]

LINE: Final = Platform(
    name="line",
    person_ids=("number",),
    group_form=re.compile(r"[1-9][0-9]*"),
    settings="support.line_platform.settings:SECTION",
    run="support.line_platform.connector:connect",
)
