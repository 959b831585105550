"""How pictures and files are named in a text, and found in it again."""

import pytest

from transcript_channels.feishu.attachments import Attachment, attachments_in, placeholder
from transcript_channels.feishu.content import text_of


@pytest.mark.parametrize(
    ("msg_type", "content", "found"),
    [
        ("image", {"image_key": "img_v3_02"}, [Attachment("image", "img_v3_02")]),
        ("file", {"file_key": "file_v3_1", "file_name": "plan.pdf"}, [Attachment("file", "file_v3_1", "plan.pdf")]),
        ("file", {"file_key": "file_v3_1", "file_name": "[a] (b).md"}, [Attachment("file", "file_v3_1", "[a] (b).md")]),
        ("file", {"file_key": "file_v3_1", "file_name": "n" * 999}, [Attachment("file", "file_v3_1", "n" * 200)]),
        ("audio", {"file_key": "file_v3_2", "duration": 3200}, [Attachment("audio", "file_v3_2", "3 s")]),
        ("media", {"file_key": "file_v2_3", "image_key": "img_1"}, [Attachment("video", "file_v2_3")]),
        ("sticker", {"file_key": "file_v3_4"}, []),
        ("file", {"file_name": "plan (draft).pdf"}, []),
    ],
)
def test_what_a_message_carries_is_found_in_its_text(msg_type, content, found) -> None:
    assert attachments_in(text_of(msg_type, content)) == found


def test_pictures_of_posts_and_cards_are_found_each_once() -> None:
    picture = {"tag": "img", "image_key": "img_1"}
    post = {"content": [[picture, {"tag": "text", "text": "and"}, {"tag": "img", "image_key": "img_2"}], [picture]]}
    assert [one.key for one in attachments_in(text_of("post", post))] == ["img_1", "img_2"]
    pictures = {"tag": "img_combination", "img_list": [{"img_key": "img_4"}, {"img_key": "img_5"}]}
    card = {"elements": [{"tag": "img", "img_key": "img_3", "alt": {"content": "a chart"}}, pictures]}
    assert text_of("interactive", card) == "[image: a chart (img_3)]\n[image (img_4)][image (img_5)]"
    assert [one.key for one in attachments_in(text_of("interactive", card))] == ["img_3", "img_4", "img_5"]


def test_what_is_forwarded_is_found_in_its_bundle() -> None:
    part = {"msg_type": "image", "body": {"content": '{"image_key": "img_1"}'}}
    assert attachments_in(text_of("merge_forward", {"items": [part]})) == [Attachment("image", "img_1")]


@pytest.mark.parametrize("key", [None, 7, "", "../x", "a b", "a)] [image (b", "k" * 129, "图"])
def test_a_key_that_cannot_be_one_is_left_out(key) -> None:
    assert placeholder("file", "plan.pdf", key) == "[file: plan.pdf]"


def test_a_name_stays_on_one_line_and_no_text_gives_more_than_a_hundred() -> None:
    assert placeholder("file", "a\n[image]\tb", "k") == "[file: a [image] b (k)]"
    assert len(attachments_in("".join(f"[image (k{number})]" for number in range(300)))) == 100
