"""What the words of a text tell: calls, topics, phrases, wording, openings; and which line a line answers."""

import time
from importlib.resources import files

import msgspec
import pytest

from nanobot_transcript.relevance.dialogue import DialogueLine
from nanobot_transcript.relevance.expertise import affinities, is_general, topics
from nanobot_transcript.relevance.model import shipped_model
from nanobot_transcript.relevance.name_calls import NOT_NAMED, call_of
from nanobot_transcript.relevance.nearness import SCRIPTS, Places, closeness, read_places, words_of
from nanobot_transcript.relevance.opening_words import opening
from nanobot_transcript.relevance.phrase_weights import Phrases, grams
from nanobot_transcript.relevance.reply_links import Links, links, pairs
from nanobot_transcript.relevance.request_words import asks_anybody, tells_to_stop, wording
from nanobot_transcript.relevance.text import terms

MINUTE = 60_000


@pytest.mark.parametrize(
    "text",
    [
        "Alpha, look",
        "@Alpha look",
        "alpha: status?",
        "ok Alpha, and now?",
        "can Alpha look at this?",
        "please look, Alpha",
        "what now, alpha?",
        "done. Alpha, your turn",
        "Alpha你看一下",
        "请Alpha看一下",
        "麻烦 Alpha 查一下",
        "Alpha和Beta都说说",
        "Beta, Alpha: status please",
        "Alpha在吗",
        "对了，Alpha更新一下文档",
    ],
)
def test_a_name_calls_where_nobody_would_doubt_it(text: str) -> None:
    assert call_of(text, ["Alpha"], ["Beta"]).is_clear


@pytest.mark.parametrize(
    "text",
    [
        "Alpha was wrong yesterday",
        "Alpha昨天又算错了",
        "the alpha release is broken",
        "I asked Alpha about it",
        "Alpha's answer is odd",
        "Alpha的回答不对",
        "问过Alpha了",
        "we are in alpha testing",
        "alpha testing starts today",
        "昨天请Alpha帮我写了周报",
        "我请Alpha改的，改完更糟了",
        "公告：Alpha更新完成",
    ],
)
def test_talk_about_a_bot_is_no_call(text: str) -> None:
    assert not call_of(text, ["Alpha"]).is_clear


def test_who_is_not_named_is_not_called() -> None:
    assert call_of("alphabet soup", ["Alpha"]) == NOT_NAMED
    assert call_of("", ["Alpha"]) == NOT_NAMED
    assert call_of("Alpha", ["", "  "]) == NOT_NAMED


def test_of_several_places_the_one_that_looks_like_a_call_counts() -> None:
    call = call_of("the alpha release is out, Alpha, look", ["Alpha"])
    assert (call.times, call.same_case, call.marked) == (2.0, 1.0, 1.0)


def test_a_question_fits_the_bot_that_is_there_for_it() -> None:
    bots = ["部署、监控、服务器", "plans releases and keeps the calendar", "translates, any language"]
    for text in ("服务器挂了，谁能重新部署一下？", "the server is down, can somebody roll back?"):
        found = [one.words + one.topic for one in affinities(text, bots)]
        assert found.index(max(found)) == 0
    assert "translation" in topics("how do you say it in japanese")
    assert {(one.words, one.topic) for one in affinities("", bots)} == {(0.0, 0.0)}
    assert affinities("anything", []) == []


def test_what_all_descriptions_share_tells_less() -> None:
    alone, shared = affinities("deploy it", ["deploy", "cook"])[0], affinities("deploy it", ["deploy", "deploy"])[0]
    assert alone.words > shared.words
    assert alone.topic > shared.topic


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("steer axle is down to 3 mm, swap the tyres now or before the alps", "workshop: brakes, engine, repairs"),
        ("chickpeas or lentils, and how long do they simmer", "cooking and recipes"),
        ("土豆发芽了还能吃吗", "做饭、买菜"),
        ("显卡又烧了", "电脑硬件和网络"),
        ("a4纸又没了", "行政、前台"),
    ],
)
def test_words_are_near_a_description_that_has_none_of_them(text: str, nearest: str) -> None:
    others = ["plans meetings and the calendar", "contracts and law", "请假、报销"]
    assert closeness(text, [nearest])[0] > max(closeness(text, others))


def test_what_is_said_in_one_language_is_near_a_description_in_the_other() -> None:
    bots = ["部署、监控、服务器", "报销、发票", "plans trips and books hotels"]
    texts = ("the server is down again", "where do I send the receipts", "谁能帮忙订两间酒店")
    for right, text in enumerate(texts):
        found = closeness(text, bots)
        assert found.index(max(found)) == right


def test_nothing_is_near_a_text_without_known_words() -> None:
    assert closeness("", ["cooking"]) == closeness("cooking", [""]) == closeness("…", ["qqzzxx"]) == [0]
    assert closeness("cooking", []) == []


def test_each_known_word_has_one_place() -> None:
    folder = files("nanobot_transcript.relevance")
    read = [
        msgspec.msgpack.decode(folder.joinpath(f"nearness.{script}.msgpack").read_bytes(), type=Places)
        for script in SCRIPTS
    ]
    assert {(one.size, one.step) for one in read} == {(read_places().size, read_places().step)}
    assert all(len(one.table) == len(one.words.split("\n")) * one.size for one in read)


def test_full_width_letters_are_as_near_as_others() -> None:
    assert closeness("ｓｅｒｖｅｒ ｄｏｗｎ", ["deployments"]) == closeness("server down", ["deployments"])


def test_the_words_of_a_text_are_words_pairs_and_longer_known_words() -> None:
    assert list(words_of("can't print a4", ())) == ["can", "print", "a4", "can print", "print a4"]
    assert list(words_of("打印机", {"打印机"})) == ["打", "印", "机", "打印", "印机", "打印机"]


@pytest.mark.parametrize("text", ["AI assistant", "helps with anything", "什么都可以问", "通用助理", ""])
def test_a_bot_that_is_there_for_anything_says_so(text: str) -> None:
    assert is_general(text)
    assert not is_general("assistant to the dean: rooms and keys")
    assert not is_general("部署、监控")


def test_a_question_behind_a_long_paste_is_read() -> None:
    bots = ["deployments, monitoring, servers", "plans releases"]
    for text in ("the server is down, restart it?", f"{'info: ok 200 / ' * 80} the server is down, restart it?"):
        first, second = affinities(text, bots)
        assert first.topic > second.topic
        assert first.near > second.near


def test_names_that_hold_what_stands_between_names_cost_no_time() -> None:
    began = time.process_time()
    call_of("b," * 1999 + "a", ["a", "a,a", "a,a,a"], ["b", "b,b", "b,b,b"])
    call_of("安" * 4000, ["安"])
    assert time.process_time() - began < 1.0  # 11 when every way to part them was tried


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("有人知道密码吗？", True),
        ("does anybody know the password?", True),
        ("who knows how to restart it?", True),
        ("谁知道呢？", False),
        ("who knows?", False),
        ("谁懂啊家人们？", False),
    ],
)
def test_idioms_ask_nobody(text: str, asks: bool) -> None:
    assert asks_anybody(text) is asks


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("not you, sorry", True),
        ("oh sorry, wrong bot", True),
        ("no need, sorry", True),
        ("shut up", True),
        ("抱歉，问错人了", True),
        ("不是问你，不好意思", True),
        ("sorry", False),
        ("sorry, I meant Friday", False),
        ("wrong person in the list", False),
        ("问错了一个问题", False),
        ("no problem", False),
    ],
)
def test_who_sends_a_bot_away_may_say_sorry(text: str, stops: bool) -> None:
    assert tells_to_stop(text, frozenset()) is stops


def test_a_phrase_does_not_hang_on_who_is_named_in_it() -> None:
    assert grams("Alpha 帮我查 3 个", frozenset({"alpha"})) == grams("小助手 帮我查 25 个", frozenset({"小助手"}))
    known = Phrases({"帮 我": (1.0, 2.0, 0.5), "x": (9.0, 9.0, 9.0)}, (-1.0, 0.5, 0.0))
    assert known.scores("帮我看看", frozenset()) == (0.0, 2.5, 0.5)
    assert known.scores("", frozenset()) == (-1.0, 0.5, 0.0)


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("谢谢小助手", {"courtesy"}),
        ("不用回了", {"stop"}),
        ("谁能帮我看看？", {"anybody", "question"}),
        ("no, I meant the other one", {"wrong", "i"}),
        ("and the second one?", {"goes_on", "question"}),
        ("show me the list", {"imperative"}),
        ("哈哈哈笑死", {"laughs"}),
    ],
)
def test_the_wording_of_a_text_is_seen(text: str, signs: set[str]) -> None:
    found = wording(text, frozenset({"小助手"}))
    assert {name for name in signs if getattr(found, name)} == signs


@pytest.mark.parametrize(
    ("text", "part"), [("yes it does", 1), ("bob: no", 2), ("谢谢你", 3), ("那第二个呢", 5), ("", 0), ("zebra", 0)]
)
def test_a_line_opens_with_a_kind_of_word(text: str, part: int) -> None:
    assert opening(text) == part


def turn(who: int, text: str, minute: float, *to: int) -> DialogueLine:
    return DialogueLine(who, to, "?" in text, minute * MINUTE, terms(text), len(text), opening(text))


def test_an_answer_is_linked_to_the_question_and_goes_on_to_its_asker() -> None:
    talk = [
        turn(0, "hello everybody, nice day", 0),
        turn(1, "how do I mount the second partition?", 1),
        turn(2, "lunch was good", 1),
        turn(3, "my keyboard is broken", 2),
    ]
    model = shipped_model().links
    found = links(talk, 4, turn(0, "try to mount the partition with the ntfs driver", 2), model)
    assert max(found.whole, key=lambda who: found.whole[who]) == 1
    assert links([], 0, turn(0, "hello", 0), model) == Links({}, {}, {}, {}, 0.0, 0.0)


def test_a_line_says_the_same_whatever_stands_behind_it() -> None:
    talk = [
        turn(at % 4, f"line {at} about topic{at % 7}?", at / 2, *([(at + 1) % 4] if at % 3 else [])) for at in range(90)
    ]
    line = turn(1, "what about topic3?", 45)
    model = shipped_model().links
    assert links(talk, 60, line, model) == links(talk[:60], 60, line, model)
    assert list(pairs(talk[:60], 60, line)) == list(pairs(talk, 60, line))
