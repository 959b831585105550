"""``python -m tools.mutants``: see the package's docstring."""
# ruff: noqa: T201 - a script that talks to the terminal

import argparse
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from queue import Empty, Queue

from tools.mutants import sample
from tools.mutants.coverage_map import Figures, TestMap, figures, measure
from tools.mutants.sample import Mutant, Product
from tools.mutants.trial import Copy, Outcome, enough

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "mutants.yaml"
BUILD = ROOT / "build" / "mutants"
RESULTS = "results.jsonl"
VERDICTS = ("killed", "survived", "timed out", "no test executes it", "fragment gone")
BUDGET, MOST = 30.0, 400
"""Seconds of tests, as they took when measured, and tests for one mutant; starting them comes on top."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.sample:
        sample.save(SAMPLE, sample.choose(Product(ROOT), options.sample, options.seed))
        return 0
    if options.measure or not (BUILD / "coverage").exists():
        code = measure(ROOT, BUILD, options.tests or ["-n", "2", "--dist", "loadscope", "-q"])
        if code:
            print(f"pytest ended with {code}; tests that failed are not used against the mutants.", file=sys.stderr)
    chosen = [each for each in sample.load(SAMPLE) if each.room in (options.only or each.room)]
    chosen = [each for each in chosen if each.id in (options.id or each.id)]
    results = Results(BUILD / RESULTS, forgotten=chosen if options.fresh else ())
    trials = Trials(TestMap(ROOT, BUILD), results, options.limit)
    trials.run(chosen, options.jobs)
    print_coverage(figures(ROOT, BUILD))
    print_mutants(chosen, results)
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description="How much the tests protect.")
    parser.add_argument("--only", action="append", metavar="ROOM", help="only this room's mutants; may be repeated")
    parser.add_argument("--id", action="append", metavar="ID", help="only this mutant; may be repeated")
    parser.add_argument("--measure", action="store_true", help="run the tests under coverage again")
    parser.add_argument("--fresh", action="store_true", help="forget what was found before of the mutants chosen")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for one mutant")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="mutants at the same time")
    parser.add_argument("--sample", type=int, metavar="N", help=f"choose N mutants anew and write {SAMPLE.name}")
    parser.add_argument("--seed", type=int, default=15, help="of the choice")
    parser.add_argument("tests", nargs="*", help="after `--`: what pytest gets for the measuring run")
    return parser.parse_args(arguments)


class Results:
    """What is known of each mutant; written as it comes, so that an interrupted call goes on."""

    def __init__(self, path: Path, *, forgotten: Sequence[Mutant] = ()) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, str]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            entry = json.loads(line)
            self._known[entry["id"]] = entry
        for mutant in forgotten:
            self._known.pop(mutant.id, None)

    def add(self, mutant: Mutant, outcome: Outcome, where: str) -> None:
        entry = {"id": mutant.id, "before": mutant.before, "after": mutant.after, "where": where} | asdict(outcome)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            self._known[mutant.id] = entry
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            print(f"{mutant.id:<22} {outcome.verdict:<20} {outcome.by}", flush=True)

    def of(self, mutant: Mutant) -> dict[str, str] | None:
        """Its last result; none when the mutant of this name was another one."""
        known = self._known.get(mutant.id)
        return known if known and (known["before"], known["after"]) == (mutant.before, mutant.after) else None


class Trials:
    """All mutants, ``jobs`` at a time, and then the proof that what killed them passes without them."""

    def __init__(self, tests: TestMap, results: Results, limit: float) -> None:
        self._product = Product(ROOT)
        self._tests = tests
        self._results = results
        self._limit = limit
        self._unfit: set[str] = set()

    def run(self, mutants: Sequence[Mutant], jobs: int) -> None:
        left = [each for each in mutants if self._results.of(each) is None]
        while left:
            self._try_all(left, min(jobs, len(left)))
            left = self._killed_by_unfit(left)

    def _try_all(self, mutants: Iterable[Mutant], jobs: int) -> None:
        queue: Queue[Mutant] = Queue()
        for mutant in mutants:
            queue.put(mutant)
        threads = [threading.Thread(target=self._work, args=(number, queue), daemon=True) for number in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, number: int, queue: "Queue[Mutant]") -> None:
        copy = Copy(ROOT, BUILD / f"copy-{number}")
        copy.refresh()
        try:
            while True:
                self._try(copy, queue.get_nowait())
        except Empty:
            return
        finally:
            copy.close()

    def _try(self, copy: Copy, mutant: Mutant) -> None:
        place = self._product.find(mutant)
        if place is None:
            self._results.add(mutant, Outcome("fragment gone"), mutant.file)
            return
        lines = None if place.runs_on_import else range(place.first, place.last + 1)
        able = [test for test in self._tests.tests_of(place.file, lines) if test not in self._unfit]
        tests = enough(able, self._tests.seconds, BUDGET, MOST)
        outcome = copy.trial(place, mutant.after, tests, self._limit) if tests else Outcome("no test executes it")
        self._results.add(mutant, outcome, f"{place.file}:{place.first}")

    def _killed_by_unfit(self, mutants: Sequence[Mutant]) -> list[Mutant]:
        """Those whose killer fails without any mutant, too; they are tried again without it."""
        killers = {mutant: result["by"] for mutant in mutants if (result := self._results.of(mutant)) and result["by"]}
        copy = Copy(ROOT, BUILD / "copy-0")
        copy.refresh()
        try:
            unfit = copy.failing(sorted(set(killers.values())), 20 * self._limit)
        finally:
            copy.close()
        self._unfit |= unfit
        return [mutant for mutant, killer in killers.items() if killer in unfit]


def print_coverage(rooms: dict[str, Figures]) -> None:
    total = Figures()
    print(f"\n{'room':<20} {'lines':>7} {'executed':>9} {'branches':>9} {'executed':>9}")
    for room, each in [*rooms.items(), ("all", total)]:
        lines, branches = (
            f"{100 * part / whole:.1f} %" if whole else "-"
            for part, whole in ((each.executed_lines, each.lines), (each.executed_branches, each.branches))
        )
        print(f"{room:<20} {each.lines:>7} {lines:>9} {each.branches:>9} {branches:>9}")
        if each is not total:
            total += each


def print_mutants(mutants: Sequence[Mutant], results: Results) -> None:
    rooms: dict[str, Counter[str]] = {}
    survivors = []
    for mutant in mutants:
        if result := results.of(mutant):
            verdict = result["verdict"]
            is_harmless = mutant.harmless and verdict != "killed"
            rooms.setdefault(mutant.room, Counter())["harmless" if is_harmless else verdict] += 1
            if verdict != "killed" and not is_harmless:
                survivors.append((mutant, result))
    columns = (*VERDICTS, "harmless")
    print(f"\n{'room':<20} {'mutants':>8}" + "".join(f" {each:>{max(9, len(each))}}" for each in columns))
    for room, counted in [*sorted(rooms.items()), ("all", sum(rooms.values(), Counter()))]:
        figures = "".join(f" {counted[each]:>{max(9, len(each))}}" for each in columns)
        print(f"{room:<20} {counted.total():>8}{figures}")
    for mutant, result in survivors:
        print(f"\n{mutant.id}: {result['verdict']}, {result['where']} in {mutant.function or 'the module'}")
        print("  - " + mutant.before.replace("\n", "\n    ") + "\n  + " + mutant.after.replace("\n", "\n    "))


if __name__ == "__main__":
    sys.exit(main())
