"""Names that look alike."""

import itertools

import pytest

from transcript_mcp.mail.agents.names import disguised, skeleton
from transcript_mcp.mail.agents.words import ADJECTIVES, NOUNS


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
