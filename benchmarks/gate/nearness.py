"""Learns for which topics each word speaks: ``python -m benchmarks.gate.nearness ENGLISH CHINESE --out FILE``.

Needs ``pip install scikit-learn``. ENGLISH and CHINESE are word vectors in the text form of word2vec and GloVe (a word
and its numbers on a line, the most frequent word first; a first line with two numbers is left out). Shipped is what
came of GloVe's 6B tokens (100 dimensions, public domain) and of a word2vec of the Chinese Wikipedia (100 dimensions, as
in the package synonyms 3.8.0, MIT).

It learns from ``lines/``: for each topic of ``topics.json`` some hundred lines in each language of people who need
somebody for it, and about twenty descriptions of a bot that is there for it. A word speaks for topics by itself, where
it stands in those lines, and by where it lies among all words, so that words speak that are not there, too. Each line
is learned several times with some of its words left out, so that no word relies on its neighbours.
"""

import argparse
import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nanobot_transcript.relevance import nearness

TOPICS = Path("nanobot_transcript/relevance/topics.json")
LINES = Path("benchmarks/gate/lines")
SCRIPTS = {"latin": ("en", 30_000, r"[a-z]{2,20}"), "dense": ("zh", 40_000, r"[\u4e00-\u9fff]{1,5}")}
TOPICS_OF_A_WORD = 8
FEWEST_STEPS = 3
DIRECTIONS_OF_ALL = 2
"""What all words have in common is taken away."""
RARE = 800
"""From this place on a word counts in full."""
STRENGTH, OWN = 1.0, 1.0
"""Of what is learned, and of a word by itself."""
TIMES, LEFT_OUT = 4, 0.3


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
    return words, _freed(np.array(vectors))


def _freed(vectors: Any) -> Any:
    import numpy as np

    vectors = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(vectors[:20_000], full_matrices=False)
    common = directions[:DIRECTIONS_OF_ALL]
    vectors -= vectors @ common.T @ common
    return vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)


def counted(texts: Sequence[str], words: Sequence[str], script: str) -> Any:
    """Which words stand in each text, the rarer the more."""
    import numpy as np
    import scipy.sparse

    known = nearness.Words(**{"latin": {}, "dense": {}, script: dict.fromkeys(words, "")})
    places = {word: at for at, word in enumerate(words)}
    rows = [sorted({places[word] for word in nearness.words_of(text.casefold(), known)}) for text in texts]
    columns = np.array([at for row in rows for at in row])
    ends = np.cumsum([0, *map(len, rows)])
    sizes = np.repeat(np.sqrt(np.maximum(1, np.diff(ends))), np.diff(ends))
    return scipy.sparse.csr_matrix((_rarity(columns) / sizes, columns, ends), shape=(len(texts), len(words)))


def _rarity(places: Any) -> Any:
    import numpy as np

    return np.minimum(1, np.log(1 + places / 50) / np.log(1 + RARE / 50))


def thinned(rows: Any) -> Any:
    """The rows several times, each time with some words left out."""
    import numpy as np
    import scipy.sparse

    chance = np.random.default_rng(0)
    copies = [rows.copy() for _ in range(TIMES)]
    for copy in copies:
        copy.data = copy.data * (chance.random(len(copy.data)) > LEFT_OUT) / (1 - LEFT_OUT)
    return scipy.sparse.vstack(copies).tocsr()


def learned(words: Sequence[str], vectors: Any, script: str, topics: Sequence[str]) -> Any:
    """How much each word speaks for each topic, in log odds."""
    import numpy as np
    import scipy.sparse
    from sklearn.linear_model import LogisticRegression

    with (LINES / f"{SCRIPTS[script][0]}.tsv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = thinned(counted([text for _, _, text in lines], words, script))
    used = np.flatnonzero(rows.getnnz(axis=0))
    both = scipy.sparse.hstack([scipy.sparse.csr_matrix(rows @ vectors), OWN * rows[:, used]]).tocsr()
    made = LogisticRegression(C=STRENGTH, max_iter=200).fit(
        both, TIMES * [topics.index(topic) for topic, _, _ in lines]
    )
    size = vectors.shape[1]
    odds = vectors @ made.coef_[:, :size].T
    odds[used] += OWN * made.coef_[:, size:].T
    return odds * _rarity(np.arange(len(words)))[:, None]


def told(words: Sequence[str], odds: Any) -> dict[str, str]:
    """By word: the topics it speaks for, two letters each for its number, and one for how much."""
    import numpy as np

    steps = np.rint((odds - np.median(odds, axis=1, keepdims=True)) / nearness.STEP)
    made: dict[str, str] = {}
    digits = nearness.DIGITS
    for word, row in zip(words, steps, strict=True):
        best = [int(topic) for topic in np.argsort(-row)[:TOPICS_OF_A_WORD] if row[topic] >= FEWEST_STEPS]
        if best:
            made[word] = "".join(
                f"{digits[topic // 36]}{digits[topic % 36]}{digits[min(35, int(row[topic]))]}" for topic in best
            )
    return made


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("english", type=Path)
    parser.add_argument("chinese", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    topics = list(json.loads(TOPICS.read_text(encoding="utf-8")))
    made: dict[str, dict[str, str]] = {}
    for script, path in (("latin", options.english), ("dense", options.chinese)):
        _, most, shape = SCRIPTS[script]
        words, vectors = read(path, most, shape)
        made[script] = told(words, learned(words, vectors, script, topics))
        print(f"{script}: {len(made[script])} words", flush=True)
    options.out.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
