"""Learns where words lie: ``python -m benchmarks.gate.nearness --latin FILE [FILE ...] --dense FILE --out FOLDER``.

Needs ``pip install jax==0.10.2 optax``. The files are word vectors in the text form of word2vec and GloVe (a word
and its numbers on a line, the most frequent word first; a first line with two numbers is left out); the numbers that
several files have for a word count together. Shipped is what came of GloVe's 6B tokens (100 dimensions, public domain),
of what the Universal Sentence Encoder says of each of their 40,000 commonest words (``word_vectors.mjs``, Apache-2.0),
and of a word2vec of the Chinese Wikipedia (100 dimensions, as in the package synonyms 3.8.0, MIT).

A word lies where its vectors, through one matrix for all words, put it, moved by what is learned of itself. It is
learned from ``groups/``, where each group has bots with descriptions, and what people say to each of them: it should
lie nearer to the description of that bot than to those of the others. And from ``lines/``: by topic, what people say
who need somebody for it, and descriptions of a bot that is there for it, in both languages. Each text is learned many
times, each time with some of its words left out, so that no word relies on its neighbours.
"""

import argparse
import csv
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from nanobot_transcript.relevance.nearness import MIDDLE, SCRIPTS, Places, words_of
from nanobot_transcript.unicode_text import folded

GROUPS, LINES = Path("benchmarks/gate/groups"), Path("benchmarks/gate/lines")
LATIN, DENSE = (40_000, r"[a-z0-9]{2,20}"), (40_000, r"[\u4e00-\u9fff]{1,5}")
"""How many words of each script, and which."""
FEWEST = 3
"""Texts in which a word without vectors has to stand."""
WIDEST = 128
"""Numbers of a word in one file; more are narrowed to these."""
DIRECTIONS_OF_ALL = 2
"""What all words have in common is taken away."""
RARE = 800
"""From this place in its list on a word counts in full, as long as nothing is learned."""
LONGEST_TEXT = 72
SAID, ABOUT = 640, 160
"""What is said, and the descriptions, in each step."""
TOPICS_AT_ONCE, LINES_OF_A_TOPIC, SHARE_OF_TOPICS = 5, 6, 0.3
LEFT_OUT, AMONG_ALL, KEPT_SMALL, RATE = 0.3, 0.3, 1e-6, 3e-3


class Setting(NamedTuple):
    """Descriptions, and for each of them what is said to that bot."""

    about: list[str]
    said: list[list[str]]


def groups(path: Path) -> list[Setting]:
    """The groups of a file: ``# group``, then for each bot ``@ description``, and what is said to it."""
    found: list[Setting] = []
    for row in path.read_text(encoding="utf-8").splitlines():
        if row.startswith("# "):
            found.append(Setting([], []))
        elif row.startswith("@ "):
            found[-1].about.append(row[2:])
            found[-1].said.append([])
        elif row:
            found[-1].said[-1].append(row)
    return [one for one in found if len(one.about) > 1]


def topics() -> dict[str, tuple[list[str], list[str]]]:
    """By topic what is said, and descriptions, in both languages."""
    made: dict[str, tuple[list[str], list[str]]] = {}
    for path in sorted(LINES.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for topic, kind, text in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                made.setdefault(topic, ([], []))[kind == "bot"].append(text)
    return made


def read(path: Path, most: int, shape: str) -> tuple[list[str], Any]:
    """Words and their vectors, the commonest first."""
    import numpy as np

    words: list[str] = []
    vectors: list[Any] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            word, *numbers = line.rstrip().split(" ")
            if len(numbers) < 10 or not re.fullmatch(shape, word):
                continue
            words.append(word)
            vectors.append(np.array(numbers, dtype=np.float32))
            if len(words) == most:
                break
    return words, _freed(_narrowed(np.array(vectors)))


def _narrowed(vectors: Any) -> Any:
    """At most ``WIDEST`` numbers for each word: the directions in which words differ most."""
    import numpy as np

    if vectors.shape[1] <= WIDEST:
        return vectors
    vectors = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(vectors[:20_000], full_matrices=False)
    vectors = vectors @ directions[:WIDEST].T
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def _freed(vectors: Any) -> Any:
    import numpy as np

    vectors = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(vectors[:20_000], full_matrices=False)
    common = directions[:DIRECTIONS_OF_ALL]
    vectors -= vectors @ common.T @ common
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


class Words:
    """All words: their rows, their vectors, and how much each counts at first. Row 0 is of no word."""

    def __init__(self, latin: Sequence[Path], dense: Sequence[Path], texts: Iterable[str]) -> None:
        import numpy as np

        self.rows: dict[str, int] = {}
        lists = [read(path, *script) for script, paths in ((LATIN, latin), (DENSE, dense)) for path in paths]
        ranks: dict[str, int] = {}
        for words, _ in lists:
            for rank, word in enumerate(words):
                self.rows.setdefault(word, len(self.rows) + 1)
                ranks.setdefault(word, rank)
        seen = Counter(word for text in texts for word in set(words_of(folded(text), self.rows)))
        for word, times in sorted(seen.items(), key=lambda one: (-one[1], one[0])):
            if times >= FEWEST:
                self.rows.setdefault(word, len(self.rows) + 1)
        self.vectors = np.zeros((len(self.rows) + 1, sum(vectors.shape[1] for _, vectors in lists)), dtype=np.float32)
        at = 0
        for words, vectors in lists:
            self.vectors[[self.rows[word] for word in words], at : at + vectors.shape[1]] = vectors
            at += vectors.shape[1]
        self.counts = np.ones(len(self.rows) + 1, dtype=np.float32)
        for word, rank in ranks.items():
            self.counts[self.rows[word]] = min(1, np.log(1 + rank / 50) / np.log(1 + RARE / 50))

    def of(self, text: str) -> list[int]:
        """The rows of a text, filled up with 0."""
        found = dict.fromkeys(words_of(folded(text), self.rows))
        rows = [self.rows[word] for word in found if word in self.rows][:LONGEST_TEXT]
        return rows + [0] * (LONGEST_TEXT - len(rows))


class Batch(NamedTuple):
    """Rows of what is said and of descriptions, whose each is, which descriptions are beside it, and what counts."""

    said: Any
    about: Any
    own: Any
    beside: Any
    counts: Any


class Source:
    """Settings to learn from, at random."""

    def __init__(self, words: Words, known: Sequence[Setting], seed: int) -> None:
        self.chance = random.Random(seed)
        self.groups = [
            ([words.of(text) for text in one.about], [[words.of(text) for text in some] for some in one.said])
            for one in known
        ]
        self.topics = [
            ([words.of(text) for text in said], [words.of(text) for text in about]) for said, about in topics().values()
        ]

    def _one(self) -> tuple[list[list[int]], list[list[list[int]]]]:
        if self.chance.random() >= SHARE_OF_TOPICS:
            return self.chance.choice(self.groups)
        some = self.chance.sample(self.topics, TOPICS_AT_ONCE)
        lines = [self.chance.sample(said, LINES_OF_A_TOPIC) for said, _ in some]
        return [self.chance.choice(about) for _, about in some], lines

    def batch(self) -> Batch:
        """As many settings as fit."""
        import numpy as np

        nothing = [0] * LONGEST_TEXT
        said: list[list[int]] = []
        about: list[list[int]] = []
        own: list[int] = []
        setting: list[int] = []
        of: list[int] = []
        for number in range(ABOUT):
            bots, lines = self._one()
            if len(about) + len(bots) > ABOUT or len(said) + sum(map(len, lines)) > SAID:
                break
            for at, some in enumerate(lines):
                said += some
                own += [len(about) + at] * len(some)
                of += [number] * len(some)
            about += bots
            setting += [number] * len(bots)
        counts = [1.0] * len(said) + [0.0] * (SAID - len(said))
        of += [-1] * (SAID - len(said))
        own += [0] * (SAID - len(said))
        said += [nothing] * (SAID - len(said))
        setting += [-1] * (ABOUT - len(about))
        about += [nothing] * (ABOUT - len(about))
        beside = np.array(of)[:, None] == np.array(setting)[None]
        return Batch(np.array(said), np.array(about), np.array(own), beside, np.array(counts, dtype=np.float32))


def start(words: Words, size: int, seed: int) -> dict[str, Any]:
    """What is learned, at first."""
    import jax.numpy as jnp
    import numpy as np

    chance = np.random.default_rng(seed)
    width = words.vectors.shape[1]
    return {
        "matrix": jnp.array(chance.normal(0, 0.1, (width, size)), dtype=jnp.float32),
        "own": jnp.zeros((len(words.rows) + 1, size)),
        "counts": jnp.array(words.counts),
        "scale": jnp.array(5.0),
    }


def lie(learned: dict[str, Any], vectors: Any, rows: Any, key: Any) -> Any:
    """Where texts lie, each without some of its words."""
    import jax
    import jax.numpy as jnp

    here = ((rows > 0) & (jax.random.uniform(key, rows.shape) > LEFT_OUT)).astype(jnp.float32)
    places = (vectors[rows] @ learned["matrix"] + learned["own"][rows]) * (learned["counts"][rows] * here)[..., None]
    return places.sum(-2) / jnp.sqrt(here.sum(-1, keepdims=True) + 1)


def loss(learned: dict[str, Any], vectors: Any, batch: Batch, key: Any) -> Any:
    """How unlikely it is that each line is for its bot, among those beside it, and among all."""
    import jax
    import jax.numpy as jnp

    one, two = jax.random.split(key)
    said, about = lie(learned, vectors, batch.said, one), lie(learned, vectors, batch.about, two)
    odds = learned["scale"] * said @ about.T / jnp.sqrt(said.shape[1])
    lines = jnp.arange(len(batch.own))
    among = jax.nn.log_softmax(jnp.where(batch.beside, odds, -1e9), axis=1)[lines, batch.own]
    of_all = jax.nn.log_softmax(odds, axis=1)[lines, batch.own]
    unlikely = -((among + AMONG_ALL * of_all) * batch.counts).sum() / batch.counts.sum()
    return unlikely + KEPT_SMALL * (learned["own"] ** 2).sum()


def fit(words: Words, known: Sequence[Setting], size: int, steps: int, seed: int) -> dict[str, Any]:
    """What was learned after so many steps."""
    import jax
    import optax

    source, vectors = Source(words, known, seed), jax.numpy.array(words.vectors)
    learned, keys = start(words, size, seed), jax.random.split(jax.random.PRNGKey(seed), steps)
    optimizer = optax.adam(optax.cosine_decay_schedule(RATE, steps))
    state = optimizer.init(learned)

    @jax.jit
    def step(learned: Any, state: Any, batch: Batch, key: Any) -> Any:
        value, slope = jax.value_and_grad(partial(loss, vectors=vectors, batch=batch, key=key))(learned)
        update, state = optimizer.update(slope, state)
        return optax.apply_updates(learned, update), state, value

    lately: list[float] = []
    for number, key in enumerate(keys, 1):
        learned, state, value = step(learned, state, source.batch(), key)
        lately.append(float(value))
        if number % 200 == 0:
            print(f"step {number}: {sum(lately[-200:]) / len(lately[-200:]):.3f}", flush=True)
    return learned


def told(words: Words, learned: dict[str, Any], kept: int) -> list[Places]:
    """The places of all words, in bytes, by script: as many directions as are ``kept``, those in which words differ
    most.
    """
    import numpy as np

    numbers = {name: np.array(value) for name, value in learned.items()}
    unit = np.sqrt(abs(numbers["scale"]) / np.sqrt(numbers["own"].shape[1]))
    places = (unit * (words.vectors @ numbers["matrix"] + numbers["own"]) * numbers["counts"][:, None])[1:]
    _, _, directions = np.linalg.svd(places, full_matrices=False)
    places = places @ directions[:kept].T
    step = float(np.quantile(abs(places), 0.9995)) / (MIDDLE - 1)
    table = np.clip(np.rint(places / step) + MIDDLE, 0, 2 * MIDDLE - 1).astype(np.uint8)
    latin = np.array([word.isascii() for word in words.rows])
    made = []
    for some in (latin, ~latin):
        listed = [word for word, chosen in zip(words.rows, some, strict=True) if chosen]
        made.append(Places(kept, step, "\n".join(listed), table[some].tobytes()))
    return made


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--latin", type=Path, nargs="+", required=True)
    parser.add_argument("--dense", type=Path, nargs="+", required=True)
    parser.add_argument("--size", type=int, default=96, help="numbers of a word while learning")
    parser.add_argument("--kept", type=int, default=48, help="numbers of a word in the file")
    parser.add_argument("--steps", type=int, default=3500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    by_group = [one for path in sorted(GROUPS.glob("*.txt")) for one in groups(path)]
    texts = [text for one in by_group for some in (one.about, *one.said) for text in some]
    texts += [text for some in topics().values() for part in some for text in part]
    words = Words(options.latin, options.dense, texts)
    print(f"{len(by_group)} groups, {len(texts)} texts, {len(words.rows)} words", flush=True)
    learned = fit(words, by_group, options.size, options.steps, options.seed)
    for script, places in zip(SCRIPTS, told(words, learned, options.kept), strict=True):
        path = options.out / f"nearness.{script}.msgpack"
        path.write_bytes(msgspec.msgpack.encode(places))
        print(f"{path}: {len(places.table)} bytes of places")


if __name__ == "__main__":
    main()
