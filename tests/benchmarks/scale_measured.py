"""One measurement of scale in a process of its own: ``python -m tests.benchmarks.scale_measured gate|count REQUEST``.

Prints JSON: for each step its seconds, seconds of processor time, and the most memory held by its end: by this process
and all that it has started, shared memory counted once. Steps that run at the same time end with the first of them.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.process_tree import ProcessTree, watched


class Stopwatch:
    """Steps, one after the other."""

    def __init__(self, tree: ProcessTree) -> None:
        self.steps: list[dict[str, Any]] = []
        self._tree = tree
        self._began = time.perf_counter(), tree.processor()

    def lap(self, name: str) -> None:
        """End a step that began where the last one ended."""
        now = time.perf_counter(), self._tree.processor()
        wall, processor = (round(new - old, 2) for new, old in zip(now, self._began, strict=True))
        self.steps.append({"step": name, "wall": wall, "processor": processor, "peak_mib": self._tree.peak_mib})
        print(self.steps[-1], file=sys.stderr, flush=True)
        self._began = now

    def document(self, **more: Any) -> dict[str, Any]:
        """All steps, their sums and what else is to be told."""
        return {
            "steps": self.steps,
            "wall": round(sum(step["wall"] for step in self.steps), 1),
            "processor": round(sum(step["processor"] for step in self.steps), 1),
            "peak_mib": max(step["peak_mib"] for step in self.steps),
            **more,
        }


def gate(request: Path, tree: ProcessTree) -> dict[str, Any]:
    """A release, from an empty workspace to the published bundle."""
    from flows.gate.release import run_release
    from flows.workspace.progress import listening

    watch, name = Stopwatch(tree), ["reading the request"]

    def show(following: str) -> None:
        watch.lap(name[0])
        name[0] = following

    with _folder(request) as folder, listening(show):
        outcome = run_release(request, folder / "workspace", enrol=True)
        watch.lap(name[0])
        verdicts = {record.recipient.id: record.decision.value for record in outcome.records}
    return watch.document(verdicts=verdicts)


def count(request: Path, tree: ProcessTree) -> dict[str, Any]:
    """A file's quasi-identifiers counted, generalized by the first recipient's method, and scored."""
    from tasks.assessments.identity.outcome import risk_view
    from tasks.assessments.identity.score import residual_risk
    from tasks.candidate.groups import released_tuples
    from tasks.generalization.generalize import generalize
    from tasks.generalization.setting import game_table, payoffs_of, weights_of
    from tasks.microdata.coded import Prepared
    from tasks.microdata.parts import pieces, read_piece
    from tasks.microdata.prepared import read_people
    from tasks.request.load import load_request
    from tests.reference.counted_tuples import count_tuples

    watch, loaded = Stopwatch(tree), load_request(request)
    asked, path = loaded.request, loaded.resolve(loaded.request.dataset.path, "dataset.path")
    domain = read_people(loaded, lambda name: read_piece(path, (0,), [name], ())[name])
    population = domain.population
    watch.lap("population read and coded")
    data = count_tuples(path, asked, domain.hierarchies, pieces(path, asked))
    watch.lap("records counted")
    if data is None:
        raise RuntimeError("the file does not fit its hierarchies")
    prepared = Prepared(domain.hierarchies, data, population, np.empty(0, dtype=np.int32), {})
    table, recipient = game_table(asked, prepared), asked.recipients[0]
    generalization = generalize(table, asked.method_for(recipient), payoffs_of(recipient), weights_of(asked))
    watch.lap("generalized")
    policy = asked.policy
    kept = released_tuples(table, generalization, policy.generalization.minimum_class_size)
    residual, transparent = residual_risk(table, generalization, kept, payoffs_of(recipient), policy)
    place = population.find(data.keys)
    people = np.where(place >= 0, population.counts[place], 0)
    initial = risk_view(data.counts, people, data.counts, policy.risk_threshold, policy.small_cell)
    watch.lap("scored")
    return watch.document(
        records=data.total,
        tuples=len(data),
        cube=table.people.form,
        prosecutor=[initial.prosecutor.mean, residual.prosecutor.mean],
        journalist=[initial.journalist.mean, residual.journalist.mean],
        marketer=[initial.marketer, residual.marketer],
        transparent=transparent.maximum_risk,
    )


@contextmanager
def _folder(request: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=".measured-", dir=request.parent.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    with watched() as processes:
        print(json.dumps({"gate": gate, "count": count}[sys.argv[1]](Path(sys.argv[2]), processes)))
