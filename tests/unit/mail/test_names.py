"""Names of agents."""

import itertools

import pytest

from nanobot_transcript.errors import ActingRefusedError, InvalidLetterError
from transcript_mcp.mail.agents.names import (
    checked_name,
    disguised,
    is_reserved,
    normal,
    pick,
    reduced,
    refuse_disguise,
    skeleton,
)
from transcript_mcp.mail.agents.words import ADJECTIVES, NOUNS
from transcript_mcp.mail.claims.guard_hook import own_name


def free(_: str) -> bool:
    return False


def test_there_are_tens_of_thousands_of_names_all_different_in_any_case() -> None:
    names = {f"{adjective}{noun}".casefold() for adjective in ADJECTIVES for noun in NOUNS}
    assert len(names) == len(ADJECTIVES) * len(NOUNS) >= 20_000
    assert all(word.isalpha() and word == word.capitalize() for word in (*ADJECTIVES, *NOUNS))


def test_a_new_name_is_an_adjective_and_a_noun() -> None:
    name = pick(free)
    assert any(name == adjective + noun for adjective in ADJECTIVES for noun in NOUNS)


def test_ten_thousand_agents_get_ten_thousand_names() -> None:
    taken: set[str] = set()
    for _ in range(10_000):
        taken.add(pick(lambda name: name.casefold() in taken).casefold())
    assert len(taken) == 10_000


def test_when_all_pairs_are_taken_a_number_follows() -> None:
    pairs = {adjective + noun for adjective in ADJECTIVES for noun in NOUNS}
    name = pick(pairs.__contains__)
    assert name not in pairs
    assert name.rstrip("0123456789") in pairs


def test_a_hint_that_many_want_is_found_in_few_tries() -> None:
    taken = {"Builder", *(f"Builder{number}" for number in range(2, 5000))}
    tries: list[str] = []

    def is_taken(name: str) -> bool:
        tries.append(name)
        return name in taken

    assert pick(is_taken, "Builder").startswith("Builder")
    assert len(tries) < 100


@pytest.mark.parametrize(
    ("hint", "name"),
    [
        ("Green Castle!", "GreenCastle"),
        ("../../etc/passwd", "etcpasswd"),
        ("小助手", "小助手"),
        ("bot_7", "bot7"),
        ("Ｂｏｔ", "Bot"),
        ("a\u202eb\x00c", "abc"),
    ],
)
def test_a_hint_is_reduced_to_its_letters_and_digits(hint: str, name: str) -> None:
    assert reduced(hint) == name
    assert pick(free, hint) == name


@pytest.mark.parametrize("hint", ["", None, "!!!", "Human", "SYSTEM", "over-seer", "\ud800", "hum\u0430n", "B\u043eb"])
def test_a_hint_of_which_nothing_can_be_used_gives_a_new_name(hint: str | None) -> None:
    assert reduced(hint) == ""
    assert not is_reserved(pick(free, hint))


def test_a_hint_that_is_taken_gets_a_number() -> None:
    assert pick({"Bot"}.__contains__, "Bot") == "Bot2"


@pytest.mark.parametrize("name", ["GreenCastle", "code-reviewer", "小助手", "Bot 7", "v1.2", "José", "नमस्ते", "x" * 64])
def test_fixed_names_of_any_script_are_kept(name: str) -> None:
    assert checked_name(f" {name} ") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        None,
        7,
        "a/b",
        "..",
        ".hidden",
        "a\\b",
        "a\nb",
        "a\0b",
        "a\u202eb",
        "C:",
        "x" * 65,
        "𠮷" * 51,
        "end.",
        ".git",
        "git~1",
        "GIT~2",
        "-x",
        "--help",
        "_x",
        "$(id)",
        "🤖bot",
        "\ud800",
    ],
)
def test_what_cannot_name_a_folder_is_no_name(name: object) -> None:
    with pytest.raises(InvalidLetterError) as caught:
        checked_name(name)
    assert caught.value.hint


@pytest.mark.parametrize(
    "unseen", ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u034f", "\u3164", "\uffa0", "\ufe0f", "\U000e0101"]
)
def test_what_nobody_sees_makes_no_other_name(unseen: str) -> None:
    for name in (f"hu{unseen}man", f"Bob{unseen}x", f"Bob{unseen}"):
        with pytest.raises(InvalidLetterError):
            checked_name(name)
    assert reduced(f"B{unseen}ob") == "Bob"


def test_a_refused_name_is_shown_as_it_was_written_but_for_what_nobody_sees() -> None:
    with pytest.raises(InvalidLetterError, match=r"^小助手! cannot"):
        checked_name("小助手!")
    with pytest.raises(InvalidLetterError, match=r"^Bob\\u200b cannot"):
        checked_name("Bob\u200b")


@pytest.mark.parametrize("name", ["human", "Human", "OVERSEER", "system", "ｓystem"])
def test_reserved_names_are_refused_in_any_case(name: str) -> None:
    with pytest.raises(ActingRefusedError, match="reserved"):
        checked_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "hum\u0430n",
        "\u041du\u043c\u0430n",
        "hurnan",
        "0verseer",
        "\u043everseer",
        "\u0455\u0443\u0455tem",
        "\u029c\u1d1c\u1d0d\u1d00\u0274",
    ],
)
def test_what_looks_like_a_reserved_name_is_reserved(name: str) -> None:
    with pytest.raises(ActingRefusedError, match="reserved"):
        checked_name(name)


def test_a_new_name_whose_letters_pass_for_others_is_refused_and_the_letter_named() -> None:
    with pytest.raises(InvalidLetterError, match="CYRILLIC SMALL LETTER A") as caught:
        refuse_disguise("GreenC\u0430stle")
    assert "one script" in caught.value.hint
    for name in ("GreenCastle", "\u0411\u043e\u0440\u0438\u0441", "小助手", "ロボット", "로봇", "Αθηνά"):
        refuse_disguise(name)


@pytest.mark.parametrize(
    "given",
    [
        "GreenCastle",
        " GreenCastle\n",
        "José",
        "Jose\u0301",
        "\u3000Jose\u0301\u00a0",
        "小助手",
        "\u1112\u1161\u11ab",
        "Ａlpha",
        "\ufb01ne",
        "hum\u0430n",
        "𠮷",
        "a\udcffb",
    ],
)
def test_the_guard_reads_a_name_as_the_server_does(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    for variable, other in (("AGENT_NAME", "GIT_AUTHOR_NAME"), ("GIT_AUTHOR_NAME", "AGENT_NAME")):
        monkeypatch.setenv(variable, given)
        monkeypatch.delenv(other, raising=False)
        assert own_name() == normal(given)


# -- names that look alike


@pytest.mark.parametrize(
    "other",
    [
        "GreenC\u0430stle",  # Cyrillic a
        "Gr\u0435\u0435nC\u0430stl\u0435",
        "GreenCast\u0399e",  # Greek Iota
        "\u050creen\u0421astle",
        "GreenCast1e",
        "GreenCastIe",
        "\uff27reenCastle",  # fullwidth
        "\U0001d406reenCastle",  # a mathematical letter
        "\u13c0reenCastle",  # Cherokee
        "\u0262\u0280\u1d07\u1d07\u0274\u1d04\u1d00s\u1d1b\u029f\u1d07",  # small capitals
    ],
)
def test_letters_that_look_alike_make_the_same_skeleton(other: str) -> None:
    assert other != "GreenCastle"
    assert skeleton(other) == skeleton("GreenCastle")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hurnan", "human"),
        ("B0b", "Bob"),
        ("Bot\u3007", "Bot0"),
        ("Oli\u0307via", "Olivia"),
        ("Bot  7", "Bot 7"),
        ("Jos\u00e9", "J\u043es\u0435\u0301"),  # composed, and a Cyrillic letter with its accent
        ("\u041f\u0451\u0442\u0440", "\u03a0\u0451\u0442\u0440"),  # Cyrillic Pe, Greek Pi
        ("\u0421\u041e\u041c", "COM"),
    ],
)
def test_so_do_accents_digits_and_two_letters_that_look_like_one(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jos\u00e9", "Jose"),
        ("GreenCastle", "GreenCastles"),
        ("green-castle", "green_castle"),
        ("Bot2", "Bot3"),
        ("CI", "CL"),
        ("Bot-L", "Bot-1"),
        ("\u5c0f\u52a9\u624b", "\u5927\u52a9\u624b"),
        ("\u0410\u043d\u043d\u0430", "Anna"),
    ],
)
def test_what_can_be_told_apart_has_skeletons_of_its_own(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


def test_no_two_names_that_are_given_look_alike() -> None:
    names = [adjective + noun for adjective, noun in itertools.product(ADJECTIVES, NOUNS)]
    assert len({skeleton(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("hum\u0430n", "\u0430"),
        ("\u0410gent", "\u0410"),
        ("my-\u0410gent", "\u0410"),
        ("Bot\u03bf", "\u03bf"),
        ("agent\u0417", "\u0417"),
        ("\u0966verseer", "\u0966"),
        ("\u05e1verseer", "\u05e1"),
        ("\u0647verseer", "\u0647"),
        ("\U0001042cverseer", "\U0001042c"),
        ("GreenCast\u05dfe", "\u05df"),
        ("GreenCast\u0627e", "\u0627"),
        ("Agent\u0665", "\u0665"),
        ("2nd-Agent\u0e50", "\u0e50"),
    ],
)
def test_a_letter_that_passes_for_a_latin_one_is_found(name: str, letter: str) -> None:
    assert disguised(name) == letter


@pytest.mark.parametrize(
    "name",
    [
        "GreenCastle",
        "\u0411\u043e\u0440\u0438\u0441",
        "\u0421\u043e\u0441\u043d\u0430",
        "\u0391\u03b8\u03b7\u03bd\u03ac",
        "\u0431\u043e\u0442-GPT",
        "\u0431\u043e\u0442GPT",
        "GPT\u52a9\u624b",
        "\u5c0f\u52a9\u624b2",
        "\u30ed\u30dc\u30c3\u30c8-A",
        "\ub85c\ubd07bot",
        "Y\u0131ld\u0131z",
        "\u03c0Bot",
        "\u03a9mega",
        "\u0928\u092e\u0938\u094d\u0924\u0947bot",
        "Bot\u4e8c",
        "Stra\u00dfe",
        "\u0928\u092e\u0938\u094d\u0924\u0947",
    ],
)
def test_a_name_of_one_script_and_words_of_several_are_no_disguise(name: str) -> None:
    assert disguised(name) is None
