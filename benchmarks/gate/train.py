"""Fits the trees of the relevance gate: ``python -m benchmarks.gate.train TRAIN [--tune DEV] [--out FILE]``.

Needs ``pip install lightgbm``, which the project itself does not. TRAIN and DEV are folders of labelled logs as ``gate
eval`` reads them. Two models are fitted, one on top of the other: whether a line answers an earlier one, and for which
member that makes it. For the second one the logs are divided, and the first one is fitted anew without each part, so
that what it says of a log was not learned from it.

The shipped weights were fitted on the training part of jkkummerfeld/irc-disentanglement (data CC-BY-4.0); their
threshold was tuned on its development part. ``--hold-out 2007,2013`` leaves out the files whose names begin so and
reports on them.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gate.variants import VARIANTS, varied
from nanobot_transcript.relevance.evaluation.irc import Log, read_logs
from nanobot_transcript.relevance.evaluation.task import cases, names
from nanobot_transcript.relevance.features import NAMES, features
from nanobot_transcript.relevance.model import FORMAT
from nanobot_transcript.relevance.observation import Observer
from nanobot_transcript.relevance.reply_links import PAIRS, pairs
from nanobot_transcript.relevance.trees import Trees

ATTRIBUTION = (
    "Fitted on jkkummerfeld/irc-disentanglement (data CC-BY-4.0): Kummerfeld et al., A Large-Scale Corpus for "
    "Conversation Disentanglement, ACL 2019; Ubuntu IRC logs. Trees of numbers about structure, no text."
)
PARAMETERS = {
    "objective": "binary",
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.5,
    "lambda_l2": 10.0,
    "min_data_in_leaf": 200,
    "num_leaves": 31,
    "verbose": -1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 2,
}
LINKS = {**PARAMETERS, "learning_rate": 0.12}
MEMBERS = {**PARAMETERS, "learning_rate": 0.1, "min_data_in_leaf": 100}
EARLY = 1 / 3
"""Part of the trees after which most rows are known to be hopeless."""
HOPELESS, NEARLY_ALL = 0.006, 0.9999
"""A row is where nearly all that score as low then end below this probability."""
FIGURES = "P {:.3f} R {:.3f} F1 {:.4f}"
FOLDS = 4
WORKERS = 2


class Part(NamedTuple):
    """Rows of numbers and what is true of each; ``log`` says from which log a row is."""

    x: Any
    y: Any
    named: Any
    log: Any


def pair_rows(log: Log) -> tuple[Any, Any]:
    """The numbers about each labelled message and each earlier line, and whether it answers that line."""
    import numpy as np

    observer = Observer(Trees(PAIRS, 0.0, ()))
    rows: list[list[float]] = []
    answers: list[bool] = []
    for case in cases(log):
        seen = observer.observe(case.message, case.history, case.members[0], case.members)
        earlier = set(log.links[_line(case.message)])
        numbers = [_line(entry) for entry in case.history]
        for at, values in pairs(seen.scene.turns, seen.scene.size, seen.message.turn):
            rows.append(values)
            answers.append(numbers[at] in earlier)
    return np.array(rows, dtype=np.float32).reshape(-1, len(PAIRS)), np.array(answers, dtype=bool)


def member_rows(model: Trees, log: Log) -> tuple[Any, Any, Any]:
    """The numbers about each labelled message and each candidate; whether it is meant, and whether it is named."""
    import numpy as np

    observer = Observer(model)
    rows: list[list[float]] = []
    meant: list[bool] = []
    named: list[bool] = []
    for case in cases(log):
        for agent in case.candidates:
            seen = observer.observe(case.message, case.history, agent, case.members)
            rows.append(features(seen.scene, seen.message, seen.found, seen.me))
            meant.append(agent.name in case.meant)
            named.append(names(case.message["content"], agent.name))
    numbers = np.array(rows, dtype=np.float32).reshape(-1, len(NAMES))
    return numbers, np.array(meant, dtype=bool), np.array(named, dtype=bool)


def pair_part(logs: Sequence[Log]) -> Part:
    """All pairs of all logs."""
    import numpy as np

    with get_context("fork").Pool(WORKERS) as pool:
        found = pool.map(pair_rows, logs, chunksize=2)
    x, y = (np.concatenate(column) for column in zip(*found, strict=True))
    return Part(x, y, None, _numbered([len(one[1]) for one in found]))


def member_part(logs: Sequence[Log], models: Sequence[Trees], label: str) -> Part:
    """All decisions of all logs; the model of links for log ``n`` is the one without its fold."""
    import numpy as np

    began = time.perf_counter()
    with get_context("fork").Pool(WORKERS) as pool:
        waiting = [pool.apply_async(member_rows, (models[at % len(models)], log)) for at, log in enumerate(logs)]
        found = [one.get() for one in waiting]
    x, y, named = (np.concatenate(column) for column in zip(*found, strict=True))
    took = 1e6 * WORKERS * (time.perf_counter() - began) / max(1, len(y))
    print(f"{label}: {len(logs)} logs, {len(y)} decisions, {took:.0f} us each", file=sys.stderr)
    return Part(x, y, named, _numbered([len(one[1]) for one in found]))


def booster(parameters: dict[str, Any], x: Any, y: Any, rounds: int, seed: int) -> Any:
    """Trees fitted on rows."""
    import lightgbm

    return lightgbm.train({**parameters, "seed": seed}, lightgbm.Dataset(x, y.astype(float)), rounds)


def document(made: Any, features: Sequence[str], early: Sequence[float] = ()) -> dict[str, Any]:
    """Trees as the weights file holds them; ``early`` as in ``hopeless``."""
    trees = [_node(tree["tree_structure"]) for tree in made.dump_model()["tree_info"]]
    whole = {"features": list(features), "base": 0.0, "trees": trees}
    return whole | {"hopeless": list(early)} if early else whole


def hopeless(made: Any, x: Any) -> list[float]:
    """After how many trees the sum of a row is looked at, up to which it goes no further, and the probability then."""
    import numpy as np

    early = int(EARLY * made.num_trees())
    sums, ends = made.predict(x, num_iteration=early, raw_score=True), made.predict(x)
    order = np.argsort(sums)
    above = np.cumsum(ends[order] > HOPELESS) / np.arange(1, len(order) + 1)
    last = int(np.flatnonzero(above <= 1 - NEARLY_ALL)[-1])
    print(f"{last / len(order):.2f} of the rows need {early} of {made.num_trees()} trees", file=sys.stderr)
    return [early, round(float(sums[order[last]]), 3), round(float(ends[order[:last]].mean()), 5)]


def scores(part: Part, probability: Any, threshold: float, *, unnamed: bool) -> tuple[float, float, float]:
    """Precision, recall and F1, over all decisions or those without a name."""
    yes, truth = probability >= threshold, part.y
    if unnamed:
        yes, truth = yes[~part.named], truth[~part.named]
    hits = float((yes & truth).sum())
    precision, recall = hits / max(float(yes.sum()), 1.0), hits / max(float(truth.sum()), 1.0)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def tuned(part: Part, probability: Any) -> float:
    """The threshold with the best F1, smoothed over its neighbours."""
    steps = [step / 100 for step in range(10, 80)]
    curve = [scores(part, probability, step, unnamed=False)[2] for step in steps]
    smooth = [sum(curve[max(0, at - 4) : at + 5]) / len(curve[max(0, at - 4) : at + 5]) for at in range(len(curve))]
    return steps[smooth.index(max(smooth))]


def report(label: str, part: Part, probability: Any, threshold: float) -> None:
    """Prints the figures of a part."""
    everything = FIGURES.format(*scores(part, probability, threshold, unnamed=False))
    unnamed = FIGURES.format(*scores(part, probability, threshold, unnamed=True))
    print(f"{label:28} all {everything}   no nick {unnamed}", flush=True)


def linking(training: Sequence[Log], rounds: int, seed: int) -> tuple[list[Trees], dict[str, Any]]:
    """The models of links without each fold, and the document of the one with all."""
    part = pair_part(training)
    print(f"{len(part.y)} pairs of lines", file=sys.stderr)
    folds = []
    for fold in range(FOLDS):
        kept = part.log % FOLDS != fold
        made = booster(LINKS, part.x[kept], part.y[kept], rounds, seed)
        folds.append(Trees.of(document(made, PAIRS, hopeless(made, part.x)), PAIRS))
    made = booster(LINKS, part.x, part.y, rounds, seed)
    return folds, document(made, PAIRS, hopeless(made, part.x))


def _line(entry: Any) -> int:
    return int(entry["message_id"].rpartition(":")[2])


def _numbered(sizes: Sequence[int]) -> Any:
    import numpy as np

    return np.repeat(np.arange(len(sizes)), sizes)


def _node(node: dict[str, Any]) -> Any:
    if "leaf_value" in node and "split_feature" not in node:
        return round(node["leaf_value"], 4)
    low, high = _node(node["left_child"]), _node(node["right_child"])
    return [node["split_feature"], float(f"{node['threshold']:.5g}"), low, high, round(node["internal_value"], 3)]


def _training(logs: Iterable[Log], variants: Sequence[str]) -> list[Log]:
    """Each log as it is and varied, the variants of one behind each other: they belong to the same fold."""
    several = [[varied(log, *VARIANTS[name]) for name in variants] for log in logs]
    return [log for variant in zip(*several, strict=True) for log in _padded(list(variant))]


def _padded(logs: list[Log]) -> list[Log]:
    """As many logs as fill whole folds, so that log ``n`` of each variant falls into the same one."""
    return logs + [Log("", [], {})] * (-len(logs) % FOLDS)


def main() -> None:
    """Fit, tune, report, and write the weights when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("train", type=Path)
    parser.add_argument("--tune", type=Path, required=True)
    parser.add_argument("--hold-out", default="", help="beginnings of file names, with commas between")
    parser.add_argument("--link-rounds", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=1, help="fit so many times, and report each")
    parser.add_argument("--variants", default="as it is", help="of the logs to fit on, with commas between")
    parser.add_argument("--step", type=int, default=1, help="take every n-th log only")
    parser.add_argument("--threshold", type=float, help="instead of the tuned one")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    held = tuple(beginning for beginning in options.hold_out.split(",") if beginning)
    logs = read_logs(options.train)
    kept = [log for log in logs if not (held and log.name.startswith(held))][:: options.step]
    training = _training(kept, options.variants.split(","))
    others = {"tune": read_logs(options.tune)}
    if held:
        others["held out"] = [log for log in logs if log.name.startswith(held)]
    for seed in range(3, 3 + options.seeds):
        folds, links = linking(training, options.link_rounds, seed)
        part = member_part(training, folds, "train")
        made = booster(MEMBERS, part.x, part.y, options.rounds, seed)
        whole = Trees.of(links, PAIRS)
        parts = {label: member_part(some, [whole], label) for label, some in others.items()}
        probability = partial(made.predict)
        threshold = options.threshold or tuned(parts["tune"], probability(parts["tune"].x))
        for label, one in parts.items():
            report(f"{label}, seed {seed}, from {threshold:.2f}", one, probability(one.x), threshold)
        if options.out is not None and seed == 3:
            members = document(made, NAMES, hopeless(made, part.x))
            weights = {"v": FORMAT, "attribution": ATTRIBUTION, "threshold": round(threshold, 3)}
            text = json.dumps({**weights, "links": links, "members": members}, separators=(",", ":"))
            options.out.write_text(text + "\n", encoding="utf-8")
            print(f"{options.out}: {len(text)} bytes")


if __name__ == "__main__":
    main()
