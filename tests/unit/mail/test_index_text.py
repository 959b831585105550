"""What the index is given of a text."""

import pytest

from transcript_mcp.mail.search.index_text import spaced


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plain text, v2", "plain text, v2"),
        ("发布v2窗口", "发 布 v2 窗 口"),
        ("ＡＰＩ　ｖ２", "API v2"),
        ("ﾊﾞｸﾞ", "バ グ"),
        ("\u1112\u1161\u11ab글", "한 글"),
        ("𠮷野", "𠮷 野"),
        ("cafe\u0301", "café"),
    ],
)
def test_characters_of_scripts_without_spaces_stand_apart_and_forms_are_plain(text: str, words: str) -> None:
    assert " ".join(spaced(text).split()) == words


def test_what_was_spaced_stays_so() -> None:
    once = spaced("发布ｖ２，ﾊﾞ 한𠮷")
    assert spaced(once).split() == once.split()
