"""Whom a text of a bot mentions, as ids that its own app may use."""

import json
from pathlib import Path
from typing import Any

from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import Arrival
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.events import message_from_event
from transcript_channels.feishu.mentioning import Mentionable
from transcript_channels.feishu.platform import FEISHU

APP = "cli_alpha"


def message(text: str = "hello @_user_1", *, sender_type: str = "user", **changes: Any) -> Arrival:
    mention = {"key": "@_user_1", "name": "Beta", "id": {"open_id": "ou_beta"}, "mentioned_type": "bot"}
    body = {
        "message_id": "om_1",
        "chat_id": "oc_1",
        "chat_type": "group",
        "message_type": "text",
        "content": json.dumps({"text": text}),
        "create_time": "1700000000000",
        "mentions": [mention],
        **changes,
    }
    sender = {"sender_type": sender_type, "sender_id": {"open_id": "ou_ada", "union_id": "on_ada"}}
    found = message_from_event({"header": {"app_id": APP}, "event": {"message": body, "sender": sender}})
    assert found is not None
    return found.arrival(APP)


def directory(tmp_path: Path) -> MemberDirectory:
    members = FileMembers(tmp_path)
    members.remember_bot(APP, "Alpha", open_ids={APP: "ou_alpha"})
    members.remember_bot("cli_beta", "Beta", aliases=["小贝"])
    return members


def test_a_bot_can_be_mentioned_once_somebody_has_mentioned_it(tmp_path: Path) -> None:
    members = directory(tmp_path)
    mentionable = Mentionable(APP, members)
    assert mentionable.named_in("@Beta go on") == []
    People(members, FEISHU).learn(message())
    assert [(at.open_id, at.name) for at in mentionable.named_in("@Beta go on")] == [("ou_beta", "Beta")]
    assert [at.name for at in mentionable.named_in("请@小贝继续")] == ["小贝"]


def test_a_longer_name_and_the_bot_itself_are_not_mentioned(tmp_path: Path) -> None:
    members = directory(tmp_path)
    People(members, FEISHU).learn(message())
    mentionable = Mentionable(APP, members)
    assert mentionable.named_in("@Beta2 and @Alpha, Beta") == []


def test_the_longest_name_counts_and_uses_up_its_place(tmp_path: Path) -> None:
    mentionable = Mentionable(APP, directory(tmp_path))
    for number, name in enumerate(["小阿", "小阿姨", "GPT", "GPT-4", "Алекс", "Алексей", "José"]):
        mention = {"key": "@_user_1", "name": name, "id": {"open_id": f"ou_{number}"}, "mentioned_type": "user"}
        mentionable.saw(message(mentions=[mention]), None)
    assert [at.name for at in mentionable.named_in("@小阿姨 看一下, @GPT-4 and @Алексей.")] == [
        "小阿姨",
        "GPT-4",
        "Алексей",
    ]
    assert [at.name for at in mentionable.named_in("@小阿看一下 @GPT你好 @GPT @Алекс")] == ["小阿", "GPT", "Алекс"]
    assert mentionable.named_in("@GPT-5 @GPTs @Алексия @Josée @ @@") == []


def test_people_can_be_mentioned_by_what_they_were_called(tmp_path: Path) -> None:
    members = directory(tmp_path)
    mention = {"key": "@_user_1", "name": "Bo", "id": {"open_id": "ou_bo"}, "mentioned_type": "user"}
    mentionable = Mentionable(APP, members)
    mentionable.saw(message(mentions=[mention]), None)
    assert [(at.open_id, at.name) for at in mentionable.named_in("ask @Bo")] == [("ou_bo", "Bo")]
