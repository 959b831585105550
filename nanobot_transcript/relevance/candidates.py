"""Numbers about each bot of a group as the one to answer a message, worked out for all of them together.

They tell what the message says, whom it names, what was said just before, and what each bot is for.
"""

from collections.abc import Iterable, Sequence
from math import exp, log, log1p
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.dialogue import NEVER
from nanobot_transcript.relevance.expertise import Affinity, affinities, is_general
from nanobot_transcript.relevance.features import features
from nanobot_transcript.relevance.name_calls import NOT_NAMED, Call, call_of
from nanobot_transcript.relevance.observation import Observation, content_of
from nanobot_transcript.relevance.phrase_weights import Phrases
from nanobot_transcript.relevance.request_words import Wording, wording
from nanobot_transcript.relevance.trees import Trees

__all__ = ["SIGNS", "candidates"]

_STATE: Final = (
    "structure",
    "structure_other_bot",
    "structure_person",
    "link",
    "link_person",
    "gap",
    "people_between",
    "minutes",
    "own_gap",
    "own_to_me",
    "own_to_other",
    "own_before",
    "heard_gap",
    "exchanges",
    "said",
    "partner",
    "bot_gap",
    "bot_before",
    "spoke_last",
    "asked_last",
    "overlap_last",
    "exchanged_words",
    "exchanged_words_other",
    "mentioned",
    "replied_to",
    "other_replied_to",
    "bots_mentioned",
    "people_named",
    "people_mentioned",
    "everyone",
    "bots",
    "people",
)
_FITS: Final = (
    "words",
    "topic",
    "words_other",
    "topic_other",
    "ranked",
    "long_words",
    "long_topic",
    "long_other",
    "general",
    "generals",
    "near",
    "near_other",
    "long_near",
    "near_share",
)
_OTHERS: Final = ("others_named", "other_begins", "other_goes_on")
_PHRASES: Final = ("request", "reply", "fresh")
SIGNS: Final = (
    *_STATE,
    *(f"says_{name}" for name in Wording._fields),
    *_FITS,
    *(f"call_{name}" for name in Call._fields),
    *_OTHERS,
    *_PHRASES,
)
"""The order of the numbers; the weights file refers to these names."""

_LATELY: Final = 12
_EXCHANGES: Final = 30
_FAR: Final = 60
_LONG_AGO: Final = 600.0
_THOUGHT_LINES: Final = 2
_THOUGHT_LETTERS: Final = 120
_THOUGHT_MINUTES: Final = 2.0
_WORDS_COUNT, _NEAR_COUNTS = 0.3, 0.5


class _Talk(NamedTuple):
    """What is the same for all bots: for each member, whether it is a bot; the speaker's partner, if it is a bot; for
    each line of a bot, whom it answered; the latest line of a bot.
    """

    is_bot: list[bool]
    partner: int | None
    answered: dict[int, int]
    bot_line: int


class _Most:
    """The largest of some numbers, 0 at least, when one of them is left out."""

    def __init__(self, numbers: Iterable[float]) -> None:
        first = second = 0.0
        for number in numbers:
            if number > first:
                first, second = number, first
            elif number > second:
                second = number
        self._first, self._second = first, second

    def beside(self, own: float) -> float:
        """The largest of the others, or 0."""
        return self._second if own == self._first else self._first


class _Whole(NamedTuple):
    """What each bot is compared with: the structure scores of all members, the highest of people, and their links;
    words in common with what each bot said and was asked, and the largest such number.
    """

    scores: dict[int, float]
    bots: _Most
    person: float
    person_link: float
    exchanged: dict[int, float]
    most_exchanged: _Most
    people_since: list[int]


def candidates(
    seen: Observation, lines: Sequence[Entry], bots: Sequence[AgentProfile], structure: Trees, phrases: Phrases
) -> list[list[float]]:
    """The numbers about each of the ``bots`` in the order of ``SIGNS``; ``lines`` are the entries before the
    message.

    ``structure`` judges from structure alone whom a message is for, ``phrases`` from its words alone.
    """
    members = seen.roster.members
    text = seen.text
    places = [next(at for at, member in enumerate(members) if member is bot) for bot in bots]
    talk = _talk(seen)
    scores = _structure(seen, structure, places)
    spelled = {at: (members[at].name, *members[at].aliases) for at in sorted(seen.spelled)}
    calls = [
        call_of(text, spelled[at], [name for other, some in spelled.items() if other != at for name in some])
        if at in spelled
        else NOT_NAMED
        for at in places
    ]
    descriptions = [bot.description for bot in bots]
    short = affinities(text, descriptions)
    whole = _thought(seen, lines, text)
    long = short if whole is text else affinities(whole, descriptions)
    words = wording(text, seen.names)
    exchanged = _exchanged(seen, talk, places)
    is_bot, shares = talk.is_bot, seen.found.whole
    others = [0]
    for turn in reversed(seen.scene.turns):
        others.append(others[-1] + (not is_bot[turn.who] and turn.who != seen.speaker))
    together = _Whole(
        scores,
        _Most(scores.get(at, 0.0) for at in places),
        max((score for who, score in scores.items() if not is_bot[who]), default=0.0),
        max((share for who, share in shares.items() if who >= 0 and not is_bot[who]), default=0.0),
        exchanged,
        _Most(exchanged.values()),
        others,
    )
    most = _Affinities(short, long, [is_general(description) for description in descriptions])
    sounds = phrases.scores(text, seen.names)
    return [
        [
            *_state(seen, talk, together, len(places), at),
            *words[:-2],
            log1p(words.length),
            words.rows,
            *most.of(number),
            *calls[number],
            *_others(calls, number),
            *sounds,
        ]
        for number, at in enumerate(places)
    ]


def _talk(seen: Observation) -> _Talk:
    is_bot = [member.kind == "bot" for member in seen.roster.members]
    scene, me = seen.scene, seen.speaker
    answered: dict[int, int] = {}
    asker: int | None = None
    partner: int | None = None
    for at in range(max(0, scene.size - _EXCHANGES), scene.size):
        turn = scene.turns[at]
        lately = at >= scene.size - _LATELY
        if is_bot[turn.who]:
            people = [who for who in turn.to if who >= 0 and not is_bot[who]]
            whom = people[0] if people else asker
            if whom is not None:
                answered[at] = whom
            if lately and (me in turn.to or (not turn.to and whom == me)):
                partner = turn.who
            continue
        asker = turn.who
        if turn.who == me and turn.to and lately:
            partner = next((who for who in turn.to if who >= 0 and is_bot[who]), None)
        elif me in turn.to:
            partner = None
    bot_line = max((at for who, at in scene.last.items() if is_bot[who]), default=NEVER)
    return _Talk(is_bot, partner, answered, bot_line)


def _structure(seen: Observation, model: Trees, places: Sequence[int]) -> dict[int, float]:
    """For each bot and everybody who has spoken: how likely the message is for them, judged from structure alone."""
    asked = {*places, *seen.scene.last} - {seen.speaker}
    return {who: model.score(features(seen.scene, seen.message, seen.found, who)) for who in sorted(asked)}


def _state(seen: Observation, talk: _Talk, whole: _Whole, bots: int, who: int) -> tuple[float, ...]:
    scene, me, turn = seen.scene, seen.speaker, seen.message.turn
    size, turns = scene.size, scene.turns
    last, own = scene.last.get(who, NEVER), scene.last.get(me, NEVER)
    latest = turns[last] if last >= 0 else None
    before = turns[size - 1] if size else None
    heard = max((at for at, whom in talk.answered.items() if whom == me and turns[at].who == who), default=NEVER)
    mine = turns[own].to if own >= 0 else ()
    link, named = seen.found.whole, [at for at in turn.to if at not in seen.mentioned]
    is_bot, mine_score = talk.is_bot, whole.scores.get(who, 0.0)
    return (
        mine_score,
        whole.bots.beside(mine_score),
        whole.person,
        link.get(who, 0.0),
        whole.person_link,
        min(size - last, _FAR),
        min(whole.people_since[size - last - 1], _LATELY) if last >= 0 else _LATELY,
        min(turn.minutes_since(latest), _LONG_AGO) if latest else _LONG_AGO,
        min(size - own, _FAR),
        who in mine,
        bool(mine) and who not in mine,
        own == size - 1 and size > 0,
        min(size - heard, _FAR),
        sum(whom == me and turns[at].who == who for at, whom in talk.answered.items()),
        sum(turns[at].who == me and who in turns[at].to for at in range(max(0, size - _LATELY), size)),
        talk.partner == who,
        min(size - talk.bot_line, _FAR),
        before is not None and is_bot[before.who],
        before is not None and before.who == who,
        latest is not None and last == size - 1 and latest.asks,
        len(turn.terms & latest.terms) if latest else 0,
        whole.exchanged[who],
        whole.most_exchanged.beside(whole.exchanged[who]),
        who in seen.mentioned,
        seen.reply_author == who,
        seen.reply_author is not None and seen.reply_author != who,
        sum(at >= 0 and is_bot[at] and at != who for at in seen.mentioned),
        sum(at < 0 or not is_bot[at] for at in named),
        sum(at < 0 or not is_bot[at] for at in seen.mentioned),
        seen.everyone,
        bots,
        sum(not is_bot[at] for at in scene.last),
    )


def _exchanged(seen: Observation, talk: _Talk, places: Sequence[int]) -> dict[int, float]:
    """How much the message has in common with what each bot said and was asked, weighted by rarity."""
    turns, terms = seen.scene.turns, seen.message.turn.terms
    made: dict[int, set[str]] = {who: set() for who in places}
    for at, turn in enumerate(turns):
        shared = turn.terms & terms
        if not shared:
            continue
        for who in {turn.who, *turn.to} & made.keys():
            made[who] |= shared
        if not talk.is_bot[turn.who] and at + 1 < len(turns) and turns[at + 1].who in made:
            made[turns[at + 1].who] |= shared
    whole = log(len(places) + 1)
    rarity = {term: whole - log(max(1, sum(term in some for some in made.values()))) for term in terms}
    return {who: sum(rarity[term] for term in sorted(some)) for who, some in made.items()}


def _thought(seen: Observation, lines: Sequence[Entry], text: str) -> str:
    """The text together with what its writer said right before it: a thought is often spread over several lines."""
    turns, now = seen.scene.turns, seen.message.turn
    whole, at = text, len(turns) - 1
    while at >= max(0, len(turns) - _THOUGHT_LINES) and turns[at].who == now.who:
        if now.minutes_since(turns[at]) > _THOUGHT_MINUTES or len(lines) != len(turns):
            break
        whole = f"{content_of(lines[at], _THOUGHT_LETTERS)}\n{whole}"
        at -= 1
    return whole


class _Affinities:
    """How the text alone, and the whole thought, fit each of the descriptions."""

    def __init__(self, short: Sequence[Affinity], long: Sequence[Affinity], general: Sequence[bool]) -> None:
        self._general = general
        self._short, self._long = short, long
        self._sums = [one.topic + _WORDS_COUNT * one.words + _NEAR_COUNTS * one.near for one in long]
        self._words = _Most(one.words for one in short)
        self._topic = _Most(one.topic for one in short)
        self._near = _Most(one.near for one in short)
        self._shares = _shares([one.near for one in long])
        self._both = _Most(self._sums)
        ordered = sorted(self._sums, reverse=True)
        self._rank = {value: ordered.index(value) for value in set(ordered)}

    def of(self, number: int) -> tuple[float, ...]:
        """The numbers about one bot."""
        mine, wide, both = self._short[number], self._long[number], self._sums[number]
        return (
            mine.words,
            mine.topic,
            self._words.beside(mine.words),
            self._topic.beside(mine.topic),
            self._rank[both],
            wide.words,
            wide.topic,
            self._both.beside(both),
            self._general[number],
            sum(self._general),
            mine.near,
            self._near.beside(mine.near),
            wide.near,
            self._shares[number],
        )


def _shares(odds: Sequence[float]) -> list[float]:
    """How likely each bot is the right one, by their log odds, beside one more at 0: a bot that nothing is known of."""
    most = max(0.0, *odds)
    parts = [exp(one - most) for one in odds]
    whole = exp(-most) + sum(parts)
    return [part / whole for part in parts]


def _others(calls: Sequence[Call], number: int) -> tuple[float, ...]:
    others = [call for at, call in enumerate(calls) if at != number and call.named]
    return (
        float(len(others)),
        max((call.begins for call in others), default=0.0),
        max((call.goes_on for call in others), default=0.0),
    )
