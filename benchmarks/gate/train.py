"""Fits the trees of the relevance gate: ``python -m benchmarks.gate.train TRAIN [--tune DEV] [--out FILE]``.

Needs ``pip install lightgbm``, which the project itself does not. TRAIN and DEV are folders of labelled logs as ``gate
eval`` reads them. The shipped weights were fitted on the training part of jkkummerfeld/irc-disentanglement (data
CC-BY-4.0); their threshold was tuned on its development part. ``--hold-out 2007,2013`` leaves out the files whose names
begin so and reports on them.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.gate.variants import VARIANTS, varied
from nanobot_transcript.relevance import rules
from nanobot_transcript.relevance.evaluation.irc import Log, read_logs
from nanobot_transcript.relevance.evaluation.task import cases, names
from nanobot_transcript.relevance.features import NAMES, features
from nanobot_transcript.relevance.model import FORMAT
from nanobot_transcript.relevance.observe import Observer

ATTRIBUTION = (
    "Fitted on jkkummerfeld/irc-disentanglement (data CC-BY-4.0): Kummerfeld et al., A Large-Scale Corpus for "
    "Conversation Disentanglement, ACL 2019; Ubuntu IRC logs. Trees of numbers about structure, no text."
)
PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.09,
    "num_leaves": 15,
    "min_data_in_leaf": 200,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.5,
    "lambda_l2": 10.0,
    "verbose": -1,
    "seed": 3,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 2,
}
FIGURES = "P {:.3f} R {:.3f} F1 {:.3f}"


def rows(log: Log) -> Iterator[tuple[list[float], bool, bool, bool]]:
    """(features, meant, named, certain) for each decision; certain ones get an answer without a score."""
    observer = Observer()
    for case in cases(log):
        for agent in case.candidates:
            seen = observer.observe(case.message, case.history, agent, case.members)
            certain = rules.certain(seen) is not None
            numbers = features(seen.scene, seen.message, seen.me)
            yield numbers, agent.name in case.meant, names(case.message["content"], agent.name), certain


def table(logs: Sequence[Log], label: str) -> dict[str, Any]:
    """The rows as arrays."""
    import numpy as np

    began = time.perf_counter()
    parts: list[list[Any]] = []
    for log in logs:  # as lists of numbers all of them together would take several gigabytes
        if found := list(rows(log)):
            numbers, *flags = zip(*found, strict=True)
            parts.append([np.array(numbers, dtype=np.float64), *map(np.array, flags)])
    x, meant, named, certain = (np.concatenate(column) for column in zip(*parts, strict=True))
    took = 1e6 * (time.perf_counter() - began) / len(meant)
    print(f"{label}: {len(logs)} logs, {len(meant)} decisions, {took:.0f} us each", file=sys.stderr)
    return {"x": x, "y": meant, "named": named, "certain": certain}


def scores(part: dict[str, Any], probability: Any, threshold: float, *, unnamed: bool) -> tuple[float, float, float]:
    """Precision, recall and F1 of the whole gate, over all decisions or those without a name."""

    yes = part["certain"] | (probability >= threshold)
    if unnamed:
        chosen = ~part["named"]
        yes, truth = yes[chosen], part["y"][chosen]
    else:
        truth = part["y"]
    hits = float((yes & truth).sum())
    precision, recall = hits / max(float(yes.sum()), 1.0), hits / max(float(truth.sum()), 1.0)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def tuned(part: dict[str, Any], probability: Any) -> float:
    """The threshold with the best F1, smoothed over its neighbours."""
    steps = [step / 100 for step in range(10, 80)]
    curve = [scores(part, probability, step, unnamed=False)[2] for step in steps]
    smooth = [sum(curve[max(0, at - 4) : at + 5]) / len(curve[max(0, at - 4) : at + 5]) for at in range(len(curve))]
    return steps[smooth.index(max(smooth))]


def fitted(part: dict[str, Any], rounds: int) -> Any:
    """Trees fitted on the decisions that need a score."""
    import lightgbm

    chosen = ~part["certain"]
    data = lightgbm.Dataset(part["x"][chosen], part["y"][chosen].astype(float), free_raw_data=False)
    return lightgbm.train(PARAMETERS, data, rounds)


def document(booster: Any, threshold: float) -> dict[str, Any]:
    """The weights file."""
    trees = [_node(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    return {
        "v": FORMAT,
        "attribution": ATTRIBUTION,
        "features": list(NAMES),
        "base": 0.0,
        "threshold": round(threshold, 3),
        "trees": trees,
    }


def _node(node: dict[str, Any]) -> Any:
    if "leaf_value" in node and "split_feature" not in node:
        return round(node["leaf_value"], 4)
    low, high = _node(node["left_child"]), _node(node["right_child"])
    return [node["split_feature"], float(f"{node['threshold']:.5g}"), low, high, round(node["internal_value"], 3)]


def report(booster: Any, threshold: float, parts: dict[str, dict[str, Any]]) -> None:
    """Prints the figures of each part."""
    for label, part in parts.items():
        probability = booster.predict(part["x"])
        everything = FIGURES.format(*scores(part, probability, threshold, unnamed=False))
        unnamed = FIGURES.format(*scores(part, probability, threshold, unnamed=True))
        print(f"{label:28} all {everything}   no nick {unnamed}")


def main() -> None:
    """Fit, tune, report, and write the weights when asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("train", type=Path)
    parser.add_argument("--tune", type=Path, required=True)
    parser.add_argument("--hold-out", default="", help="beginnings of file names, with commas between")
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--step", type=int, default=1, help="take every n-th log only")
    parser.add_argument("--threshold", type=float, help="instead of the tuned one; the shipped weights have 0.45")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    held = tuple(beginning for beginning in options.hold_out.split(",") if beginning)
    logs = read_logs(options.train)
    kept = [log for log in logs if not (held and log.name.startswith(held))][:: options.step]
    training = [varied(log, *variant) for variant in VARIANTS.values() for log in kept]
    booster = fitted(table(training, "train"), options.rounds)
    tuning = read_logs(options.tune)
    parts = {
        f"tune, {label}": table([varied(log, *variant) for log in tuning], label) for label, variant in VARIANTS.items()
    }
    tuning_part = parts["tune, as it is"]
    threshold = options.threshold or tuned(tuning_part, booster.predict(tuning_part["x"]))
    if held:
        unseen = [log for log in logs if log.name.startswith(held)]
        for label, variant in VARIANTS.items():
            parts[f"held out, {label}"] = table([varied(log, *variant) for log in unseen], label)
    report(booster, threshold, parts)
    print(f"threshold {threshold:.2f}")
    if options.out is not None:
        text = json.dumps(document(booster, threshold), separators=(",", ":"))
        options.out.write_text(text + "\n", encoding="utf-8")
        print(f"{options.out}: {len(text)} bytes")


if __name__ == "__main__":
    main()
