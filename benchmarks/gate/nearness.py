"""Finds which topics each word is near: ``python -m benchmarks.gate.nearness ENGLISH CHINESE --out FILE``.

Needs ``pip install numpy``. ENGLISH and CHINESE are word vectors in the text form of word2vec and GloVe (a word and its
numbers on a line, the most frequent word first; a first line with two numbers is left out). Shipped is what came of
GloVe's 6B tokens (100 dimensions, public domain) and of a word2vec of the Chinese Wikipedia (100 dimensions, as in the
package synonyms 3.8.0, MIT).

A topic lies where its words of ``topics.json`` lie. A word is near the topics whose place it is next to, the more so
the rarer it is.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from nanobot_transcript.relevance.nearness import DIGITS

TOPICS = Path("nanobot_transcript/relevance/topics.json")
MOST_WORDS = {"latin": 30_000, "dense": 60_000}
COMMONEST = {"latin": 150, "dense": 100}
"""Words that tell of nothing."""
SHAPES = {"latin": re.compile(r"[a-z]{2,20}"), "dense": re.compile(r"[\u4e00-\u9fff]{2,5}")}
TOPICS_OF_A_WORD = 4
FLOOR = 0.3
STEP = 0.07
DIRECTIONS_OF_ALL = 2
"""What all words have in common is taken away."""
RAREST = 40_000


def read(path: Path, script: str) -> tuple[list[str], Any]:
    """Words and their vectors, the commonest first."""
    import numpy as np

    words: list[str] = []
    vectors: list[Any] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            word, *numbers = line.rstrip().split(" ")
            if len(numbers) < 10 or len(words) >= 2 * MOST_WORDS[script]:
                continue
            words.append(word)
            vectors.append(np.array(numbers, dtype=np.float32))
    return words, np.array(vectors)


def alikeness(words: list[str], vectors: Any, topics: dict[str, list[str]], script: str) -> Any:
    """How near each word is to each topic, -1 to 1."""
    import numpy as np

    vectors = vectors - vectors.mean(0)
    _, _, directions = np.linalg.svd(vectors[:20_000], full_matrices=False)
    common = directions[:DIRECTIONS_OF_ALL]
    vectors -= vectors @ common.T @ common
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    places = {word: at for at, word in enumerate(words) if at > COMMONEST[script]}
    shared = Counter(word for some in topics.values() for word in set(some))
    middles = []
    for some in topics.values():
        known = sorted({word for word in some if word in places})
        middle = sum((vectors[places[word]] / shared[word] for word in known), np.zeros(vectors.shape[1]))
        middles.append(middle / (np.linalg.norm(middle) + 1e-9))
    return vectors @ np.array(middles).T


def near(words: list[str], alike: Any, script: str) -> dict[str, str]:
    """By word: the topics it is near, two letters each for its number, and a digit for how near."""
    import numpy as np

    made: dict[str, str] = {}
    for at, word in enumerate(words):
        if at <= COMMONEST[script] or len(made) >= MOST_WORDS[script] or SHAPES[script].fullmatch(word) is None:
            continue
        rarity = min(1.0, np.log(1 + at / 50) / np.log(1 + RAREST / 50))
        best = np.argsort(-alike[at])[:TOPICS_OF_A_WORD]
        told = [(int(topic), round(min(9.0, (alike[at][topic] - FLOOR) / STEP * rarity))) for topic in best]
        text = "".join(f"{DIGITS[topic // 36]}{DIGITS[topic % 36]}{weight}" for topic, weight in told if weight > 0)
        if text:
            made[word] = text
    return made


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("english", type=Path)
    parser.add_argument("chinese", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    topics = json.loads(TOPICS.read_text(encoding="utf-8"))
    made: dict[str, dict[str, str]] = {}
    for script, path in (("latin", options.english), ("dense", options.chinese)):
        words, vectors = read(path, script)
        made[script] = near(words, alikeness(words, vectors, topics, script), script)
        print(f"{script}: {len(made[script])} words")
    options.out.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
