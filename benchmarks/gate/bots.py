"""Fits what decides which bot answers: ``python -m benchmarks.gate.bots WEIGHTS SCENES [SCENES ...]``.

Needs ``pip install lightgbm scikit-learn``. WEIGHTS is the file that ``benchmarks.gate.train`` made; weights of phrases
and trees are added to it. SCENES are folders of everyday scenes as ``gate eval`` reads them, each cold and warm, with
what each of their lines counts: ``known training short:0.25``.
``--check N`` divides the groups into N parts and reports on each what was learned from the others.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gate.train import document
from nanobot_transcript.relevance.candidates import SIGNS, candidates
from nanobot_transcript.relevance.evaluation.scenes import KINDS, Expected, Group, labelled_lines, read_groups
from nanobot_transcript.relevance.message_history import past_of
from nanobot_transcript.relevance.model import ScoreModel
from nanobot_transcript.relevance.observation import Observer
from nanobot_transcript.relevance.phrase_weights import Phrases, grams

PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.05,
    "num_leaves": 16,
    "min_data_in_leaf": 10,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.3,
    "lambda_l2": 8.0,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 2,
}
STRENGTH = 0.2
LEAST_LINES = 7
LEAST_WEIGHT = 0.03
INNER_PARTS = 5
WORKERS = 2
PARTNER, NAMED = SIGNS.index("partner"), SIGNS.index("call_named")
WORDED = tuple(SIGNS.index(name) for name in ("request", "reply", "fresh"))
SETTLED = tuple(SIGNS.index(name) for name in ("mentioned", "call_named"))


class Case(NamedTuple):
    """A line of a person: where it stands, who is to answer it, and the numbers about each bot."""

    group: str
    language: str
    kind: str
    message_id: str
    warm: bool
    bots: list[str]
    expected: Expected
    rows: list[list[float]]
    grams: frozenset[str]
    weight: float = 1.0

    @property
    def goes_on(self) -> bool:
        """True where a bot was just talking with the writer, and no bot is named."""
        return any(row[PARTNER] for row in self.rows) and not any(row[NAMED] for row in self.rows)

    @property
    def is_fresh(self) -> bool:
        """True where no bot was just talking with the writer, and none is called."""
        return not any(row[PARTNER] or any(row[at] for at in SETTLED) for row in self.rows)


def cases_of(model: ScoreModel, group: Group) -> list[Case]:
    """The judged lines of a group, cold and warm."""
    return [case for warm in (False, True) for case in _cases(model, group, warm=warm)]


def _cases(model: ScoreModel, group: Group, *, warm: bool) -> Iterator[Case]:
    observer, bots = Observer(model.links), group.bots
    for labelled in labelled_lines(group, warm=warm):
        lines = past_of(labelled.history, labelled.message["message_id"]).lines
        seen = observer.observe(labelled.message, lines, bots[0], group.members)
        rows = [list(map(float, row)) for row in candidates(seen, lines, bots, model.members, model.phrases)]
        yield Case(
            f"{group.language} {group.name}",
            group.language,
            labelled.kind,
            labelled.message["message_id"],
            warm,
            [bot.name for bot in bots],
            labelled.expected,
            rows,
            grams(seen.text, seen.names),
        )


def table(cases: Sequence[Case]) -> tuple[Any, Any, Any]:
    """Rows, whether each bot may answer, and weights."""
    import numpy as np

    rows = [row for case in cases for row in case.rows]
    meant = [bot in case.expected.bots for case in cases for bot in case.bots]
    weights = [case.weight for case in cases for _ in case.bots]
    return np.array(rows), np.array(meant, dtype=float), np.array(weights)


def weighed(cases: Sequence[Case], folders: Sequence[int], counts: Sequence[float]) -> list[Case]:
    """The cases with weights by what a line of its folder counts, and so that the kinds of lines are as frequent as in
    the first folder: those who wrote the others were asked for more of what is hard.
    """
    first, said_first = Counter[tuple[str, str]](), Counter[str]()
    whole, said = defaultdict[tuple[str, str], float](float), defaultdict[str, float](float)
    for case, folder in zip(cases, folders, strict=True):
        if folder == 0:
            first[case.language, case.kind] += 1
            said_first[case.language] += 1
        whole[case.language, case.kind] += counts[folder]
        said[case.language] += counts[folder]
    return [
        case._replace(
            weight=counts[folder]
            * (first[case.language, case.kind] / max(1, said_first[case.language]))
            / (whole[case.language, case.kind] / said[case.language])
        )
        for case, folder in zip(cases, folders, strict=True)
    ]


def answered(case: Case, scores: Sequence[float], threshold: float) -> frozenset[str]:
    """Who answers: each bot that is called and sure enough, else the surest one."""
    sure = {
        bot
        for bot, score, row in zip(case.bots, scores, case.rows, strict=True)
        if score >= threshold and any(row[at] for at in SETTLED)
    }
    best = max(range(len(scores)), key=lambda at: scores[at])
    return frozenset(sure or ({case.bots[best]} if scores[best] >= threshold else ()))


def report(label: str, cases: Sequence[Case], scores: Sequence[float], threshold: float) -> list[tuple[Case, Any]]:
    """Prints how many lines go as expected, by language and kind; returns those that do not."""
    kept: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    wrong = []
    at = intrusions = misses = meant = 0
    for case in cases:
        some = [float(score) for score in scores[at : at + len(case.bots)]]
        at += len(case.bots)
        found = answered(case, some, threshold)
        met = case.expected.is_met(found)
        for key in (case.language, f"{case.language} {case.kind}"):
            kept[key][0] += met
            kept[key][1] += 1
        meant += bool(case.expected.bots)
        intrusions += bool(found - case.expected.bots)
        misses += bool(case.expected.bots) and not found & case.expected.bots
        if not met:
            wrong.append((case, (sorted(found), [round(score, 2) for score in some])))
    for language in sorted({case.language for case in cases}):
        kinds = " ".join(f"{kind} {_share(kept[f'{language} {kind}'])}" for kind in KINDS)
        print(f"{label} from {threshold:.2f} {language} {_share(kept[language])}: {kinds}")
    print(f"  intrusions {100 * intrusions / len(cases):.1f}, misses {100 * misses / max(1, meant):.1f}", flush=True)
    return wrong


def _share(kept: Sequence[int]) -> str:
    return f"{kept[0] / max(1, kept[1]):.2f}"


def phrases(cases: Sequence[Case]) -> Phrases:
    """The weights of phrases: of all lines, of those that may go on with a bot, and of those that call none."""
    goes_on, fresh = [case for case in cases if case.goes_on], [case for case in cases if case.is_fresh]
    made = [_phrases(some) for some in (cases, goes_on, fresh)]
    known = sorted({gram for weights, _ in made for gram in weights})
    weights: Any = {gram: tuple(some.get(gram, 0.0) for some, _ in made) for gram in known}
    base: Any = tuple(base for _, base in made)
    return Phrases(weights, base)


def _phrases(cases: Sequence[Case]) -> tuple[dict[str, float], float]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counts = CountVectorizer(analyzer=sorted, min_df=LEAST_LINES, binary=True)
    rows = counts.fit_transform([case.grams for case in cases])
    made = LogisticRegression(C=STRENGTH, max_iter=500).fit(
        rows, [bool(case.expected.bots) for case in cases], sample_weight=[case.weight for case in cases]
    )
    weights = {str(gram): round(float(made.coef_[0][at]), 3) for gram, at in counts.vocabulary_.items()}
    kept = {gram: weight for gram, weight in weights.items() if abs(weight) >= LEAST_WEIGHT}
    return kept, round(float(made.intercept_[0]), 3)


def worded(cases: Sequence[Case], known: Phrases) -> list[Case]:
    """The cases with what phrases say of them."""
    made = []
    for case in cases:
        scores = list(known.base)
        for gram in case.grams & known.weights.keys():
            scores = [score + weight for score, weight in zip(scores, known.weights[gram], strict=True)]
        rows = [list(row) for row in case.rows]
        for row in rows:
            for at, score in zip(WORDED, scores, strict=True):
                row[at] = score
        made.append(case._replace(rows=rows))
    return made


def fitted(cases: Sequence[Case], rounds: int, seed: int) -> tuple[Phrases, Any]:
    """Phrases and trees. What phrases say of a group is for the trees learned from the other groups."""
    import lightgbm

    groups = sorted({case.group for case in cases})
    random.Random(seed).shuffle(groups)
    learned: list[Case] = []
    for part in range(INNER_PARTS):
        held = set(groups[part::INNER_PARTS])
        known = phrases([case for case in cases if case.group not in held])
        learned += worded([case for case in cases if case.group in held], known)
    x, y, weights = table(learned)
    trees = lightgbm.train({**PARAMETERS, "seed": seed}, lightgbm.Dataset(x, y, weight=weights), rounds)
    return phrases(cases), trees


def checked(cases: Sequence[Case], parts: int, rounds: int) -> list[float]:
    """What trees say of each group that were fitted on the others."""
    groups = sorted({case.group for case in cases})
    random.Random(0).shuffle(groups)
    scores: dict[int, list[float]] = {}
    for part in range(parts):
        held = set(groups[part::parts])
        known, made = fitted([case for case in cases if case.group not in held], rounds, part)
        for at, case in enumerate(cases):
            if case.group in held:
                scores[at] = list(made.predict(table(worded([case], known))[0]))
    return [score for at in range(len(cases)) for score in scores[at]]


def read(model: ScoreModel, folders: Sequence[tuple[Path, float]]) -> list[Case]:
    """All cases of all folders, with weights."""
    groups = [(number, group) for number, (folder, _) in enumerate(folders) for group in read_groups(folder)]
    with get_context("fork").Pool(WORKERS) as pool:
        found = [(number, pool.apply_async(cases_of, (model, group))) for number, group in groups]
        read = [(number, case) for number, one in found for case in one.get()]
    counts = [count for _, count in folders]
    return weighed([case for _, case in read], [number for number, _ in read], counts)


def folder(told: str) -> tuple[Path, float]:
    """A folder, and what each of its lines counts."""
    path, _, count = told.partition(":")
    return Path(path), float(count or 1)


def main() -> None:
    """Fit, report, and add the trees to the weights when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("weights", type=Path)
    parser.add_argument("scenes", type=folder, nargs="+")
    parser.add_argument("--rounds", type=int, default=250)
    parser.add_argument("--check", type=int, default=0)
    parser.add_argument("--thresholds", default="0.3,0.4,0.5")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    weights = json.loads(options.weights.read_text(encoding="utf-8"))
    empty = {"phrases": {"base": [0, 0, 0], "weights": {}}, "bots": {"features": list(SIGNS), "base": 0.0, "trees": []}}
    model = ScoreModel.of({**weights, **empty})
    cases = read(model, options.scenes)
    print(f"{len(cases)} lines")
    if options.check:
        scores = checked(cases, options.check, options.rounds)
        for threshold in map(float, options.thresholds.split(",")):
            report("others", cases, scores, threshold)
    if options.out is not None:
        known, made = fitted(cases, options.rounds, 1)
        weights["phrases"] = {"base": known.base, "weights": known.weights}
        weights["bots"] = document(made, SIGNS)
        text = json.dumps(weights, ensure_ascii=False, separators=(",", ":"))
        options.out.write_text(text + "\n", encoding="utf-8")
        print(f"{options.out}: {len(text)} characters")


if __name__ == "__main__":
    main()
