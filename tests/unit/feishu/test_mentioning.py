"""Whom a text of a bot mentions, as ids that its own app may use."""

import json
from pathlib import Path
from typing import Any

from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu.events import Message, message_from_event
from transcript_channels.feishu.identities import Identities
from transcript_channels.feishu.inbound import entry_of, is_complete
from transcript_channels.feishu.learning import learn
from transcript_channels.feishu.mentioning import Mentionable

APP = "cli_alpha"


def message(text: str = "hello @_user_1", *, sender_type: str = "user", **changes: Any) -> Message:
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
    return found


def directory(tmp_path: Path) -> MemberDirectory:
    members = FileMembers(tmp_path)
    members.remember_bot(APP, "Alpha", open_ids={APP: "ou_alpha"})
    members.remember_bot("cli_beta", "Beta", aliases=["小贝"])
    return members


def test_a_bot_can_be_mentioned_once_somebody_has_mentioned_it(tmp_path: Path) -> None:
    members = directory(tmp_path)
    mentionable, identities = Mentionable(APP, members), Identities(members, APP)
    assert mentionable.named_in("@Beta go on") == []
    learn(members, identities, message(), "feishu:oc_1")
    assert [(at.open_id, at.name) for at in mentionable.named_in("@Beta go on")] == [("ou_beta", "Beta")]
    assert [at.name for at in mentionable.named_in("请@小贝继续")] == ["小贝"]


def test_a_longer_name_and_the_bot_itself_are_not_mentioned(tmp_path: Path) -> None:
    members = directory(tmp_path)
    learn(members, Identities(members, APP), message(), "feishu:oc_1")
    mentionable = Mentionable(APP, members)
    assert mentionable.named_in("@Beta2 and @Alpha, Beta") == []


def test_the_longest_name_counts_and_uses_up_its_place(tmp_path: Path) -> None:
    mentionable = Mentionable(APP, directory(tmp_path))
    for number, name in enumerate(["小阿", "小阿姨", "GPT", "GPT-4", "Алекс", "Алексей", "José"]):
        mention = {"key": "@_user_1", "name": name, "id": {"open_id": f"ou_{number}"}, "mentioned_type": "user"}
        mentionable.saw(message(mentions=[mention]), Identities(directory(tmp_path), APP))
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
    mentionable.saw(message(mentions=[mention]), Identities(members, APP))
    assert [(at.open_id, at.name) for at in mentionable.named_in("ask @Bo")] == [("ou_bo", "Bo")]


def test_what_is_learned_says_who_takes_part(tmp_path: Path) -> None:
    members = directory(tmp_path)
    learn(members, Identities(members, APP), message(), "feishu:oc_1")
    assert [member.sender for member in members.of_chat("feishu:oc_1")] == ["on_ada"]
    assert members.sender_for(APP, "ou_ada") == "on_ada"


def test_an_entry_has_the_senders_and_mentions_that_all_apps_share(tmp_path: Path) -> None:
    members = directory(tmp_path)
    identities = Identities(members, APP)
    learn(members, identities, message(), "feishu:oc_1")
    entry = entry_of(message(), identities)
    assert entry["sender"] == "on_ada"
    assert entry.get("mentions") == [{"name": "Beta", "id": "Beta"}]
    assert entry["ts"] == 1_700_000_000_000
    assert (entry["role"], entry.get("sender_kind"), entry.get("source")) == ("user", "human", "event")


def test_a_message_without_a_time_gets_that_of_its_arrival(tmp_path: Path) -> None:
    entry = entry_of(message(create_time="soon"), Identities(None, APP))
    assert entry["ts"] > 1_700_000_000_000


def test_another_bots_card_that_is_still_being_written_is_not_complete() -> None:
    assert is_complete(message())
    assert is_complete(message(sender_type="bot"))
    assert not is_complete(message(sender_type="bot", message_type="interactive", content="{}"))
