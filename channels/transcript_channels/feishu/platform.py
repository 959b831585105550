"""Feishu (Lark) as a chat platform: what the core has to know about it.

Kinds of ids: https://open.feishu.cn/document/platform-overveiw/basic-concepts/user-identity-introduction/introduction
"""

import re
from typing import Final

from nanobot_transcript.platform import Platform

__all__ = ["FEISHU"]

FEISHU: Final = Platform(
    name="feishu",
    # A union id is the same for every app of a maker, a user id for everybody in a company; an open id differs by app.
    person_ids=("union_id", "user_id", "open_id"),
    # A private chat has such an id, too: in its events `chat_type` tells. People are addressed by `ou_…`.
    group_form=re.compile(r"oc_.+", re.DOTALL),
    # What its event says of a card that another bot is still writing.
    unfinished="[card]",
    settings="transcript_channels.feishu.settings:SECTION",
    run="transcript_channels.feishu.connector:connect",
)
