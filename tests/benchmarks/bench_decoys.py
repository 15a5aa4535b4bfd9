"""Room for decoys in a large population, decoys of Adult-TN, and the stage of its example as a whole.

What decoys cost, whether they are found, and how long it takes to place them.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd

from tasks.candidate.candidate import Candidate
from tasks.decision.decoy_facts import DetectabilityFact
from tasks.decoys.collusion import collusion
from tasks.decoys.copy_statistics import statistics_fact
from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells
from tasks.decoys.detectability import View, detectability
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.planning import CopyToMark, axes_of, copies_to_mark, minimum_class, plan
from tasks.decoys.prospect import room_at
from tasks.decoys.records import ClassRecords
from tasks.decoys.stage import plant
from tasks.decoys.value_formulas import Column
from tasks.decoys.value_model import draw_values
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.generalize import generalize, population_cells
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.generalization.suppression import class_sizes
from tasks.microdata.cube import Lattice
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.microdata.tuples import Tuples
from tasks.request.load import load_request
from tasks.request.model import DecoyPolicy, Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support.assigned_copies import copies as copies_of
from tests.support.drawn_decoys import drawn_decoys
from tests.support.recoded import recoded_alike

_PEOPLE = 5_000_000
_RECORDS = 50_000
_DECOYS = 100
_EXAMPLE = adult.EXAMPLE.with_name("request-decoys.yaml")
_RECIPIENTS = 20
_CLASSES = 2
_RATIO = 2
_NUMERIC = ("fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
_CODED = (
    "workclass", "education", "marital-status", "occupation", "relationship", "native-country", "salary-class",
)  # fmt: skip
_Result = TypeVar("_Result")


def run() -> Benchmark:
    """The target's lattice, then decoys of a partition and of one recoding, in two bands."""
    rows = _lattice()
    columns = _columns()
    common = {name: column for name, column in columns.items() if name != "fnlwgt"}
    partition, alike = _partition(), _alike()
    blending, published = RiskBand(0.1, 1), RiskBand(1, 2)
    rows += _decoys("partition, k 2, factors 0.1-1", partition, blending, columns)
    rows += _decoys("partition, k 2, factors 0.1-1, no serial column", partition, blending, common)
    rows += _decoys("same, vectors of 2 records allowed", partition, blending, common, common_from=2)
    rows += _decoys("partition, k 2, factors 1-2", partition, published, columns)
    rows += _decoys("one recoding, k 2, factors 0.1-1", alike, blending, columns)
    rows += _stage()
    return {
        "name": "decoys",
        "title": f"Decoys: {_RECORDS:,} of {_PEOPLE:,} people, and {_DECOYS} decoy classes on Adult-TN",
        "rows": rows,
        "note": "CPU seconds; an area of 0.5 is no better than guessing; the paper has no areas",
    }


def _timed(action: Callable[[], _Result]) -> tuple[float, _Result]:
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def _lattice() -> list[Row]:
    """The paper's lattice (Table 3): sex 2 levels, race 2, year of birth 5, ZIP 6."""
    table = adult.fresh_table()
    kept = {"age": [0, 1, 2, 3, 5], "race": [0, 3]}
    trees = tuple(_of_levels(tree, kept.get(tree.name, list(range(tree.n_levels)))) for tree in table.hierarchies)
    generator = np.random.default_rng(1)
    population = _thinned(table.population, _PEOPLE / table.population.total, generator)
    data = _thinned(population, _RECORDS / population.total, generator)
    nodes = Lattice.of(trees).nodes
    band = RiskBand(0.1, 2)
    index = replace(table, hierarchies=trees, data=data, population=population)
    seconds, rooms = _timed(lambda: [room_at(index, node, 5, band) for node in nodes])
    return [
        Row(figure=f"room at {len(nodes)} nodes, k 5", ours=seconds, unit="s"),
        Row(figure="nodes with candidates in factors 0.1-2", ours=sum(room.in_band > 0 for room in rooms)),
    ]


def _of_levels(tree: Hierarchy, levels: list[int]) -> Hierarchy:
    return Hierarchy(tree.name, tuple(tree.labels[level] for level in levels), tree.groups[:, levels])


def _thinned(tuples: Tuples, rate: float, generator: np.random.Generator) -> Tuples:
    counts = generator.binomial(tuples.counts, rate)
    present = counts > 0
    return Tuples(tuples.codes[present], counts[present], tuples.keys[present])


def _partition() -> LinkedRelease:
    table = adult.fresh_table()
    game = (table, Method.NO_ATTACK_PARTITION, adult.CASE_STUDY, adult.weights("table7"))
    cells, own = generalize(*game).cells, population_cells(*game)
    return LinkedRelease(
        hierarchies=table.hierarchies,
        data=table.data,
        cells=cells,
        released=class_sizes(cell_numbers(cells, table.axis_sizes), table.data.counts) >= 2,
        population=table.population,
        own=own,
        axis_sizes=table.axis_sizes,
        overlapping=False,
    )


def _alike() -> LinkedRelease:
    table = adult.fresh_table()
    return recoded_alike(table.data, table.population, table.hierarchies, (1, 0, 0, 2), minimum=2)


def _columns() -> dict[str, Column]:
    loaded = load_request(adult.EXAMPLE)
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    numbers = {name: pd.to_numeric(frame[name]).to_numpy(np.float64) for name in _NUMERIC}
    return numbers | {name: pd.factorize(frame[name])[0] for name in _CODED}


def _decoys(
    name: str,
    release: LinkedRelease,
    band: RiskBand,
    columns: dict[str, Column],
    common_from: int | None = None,
) -> list[Row]:
    generator = np.random.default_rng(3)
    searching, found = _timed(lambda: find_decoy_cells(release, 2))
    number = _DECOYS if np.count_nonzero(found.in_band(band)) >= 2 * _DECOYS else 20
    drawing, decoys = _timed(lambda: drawn_decoys(found, number, band, generator))
    place = adult.prepared().tuple_of_record
    of_decoy = np.repeat(np.arange(len(decoys)), decoys.records)
    numbers = cell_numbers(release.cells, release.axis_sizes)
    _, first, cell = np.unique(numbers, return_index=True, return_inverse=True)
    context = (
        release.seen(release.cells[first], links=False)[cell[place]],
        release.seen(decoys.cells, links=False)[of_decoy],
    )
    values, drawn = _timed(lambda: draw_values(columns, *context, generator, common_from=common_from))
    kept = release.released[place]
    real = {column: entries[kept] for column, entries in columns.items()}
    of_real = release.class_of_tuple[place][kept]
    judging, judged = _timed(
        lambda: detectability(
            release,
            ClassRecords(decoys, drawn, of_decoy),
            ClassRecords(release.classes, real, of_real),
            {},
            generator,
        )
    )
    copy = {column: np.concatenate([entries, drawn[column]]) for column, entries in real.items()}
    changed = statistics_fact(real, copy, "hours-per-week")
    return [
        Row(figure=f"{name}: candidates, in the band", ours=int(np.count_nonzero(found.in_band(band)))),
        Row(figure=f"{name}: decoy classes drawn", ours=len(decoys)),
        *_areas(name, judged),
        Row(figure=f"{name}: sizes, p", ours=judged.size_p_value),
        Row(
            figure=f"{name}: largest change of a mean",
            ours=max(abs(one.standard_errors or 0.0) for one in changed.columns),
            unit="s.e.",
        ),
        Row(figure=f"{name}: largest change of a coefficient", ours=changed.coefficient, unit="s.e."),
        Row(figure=f"{name}: candidates", ours=searching, unit="s"),
        Row(figure=f"{name}: drawing classes", ours=drawing, unit="s"),
        Row(figure=f"{name}: drawing values", ours=values, unit="s"),
        Row(figure=f"{name}: detectability", ours=judging, unit="s"),
    ]


def _stage() -> list[Row]:
    """The example's decoys, from the coded data to the facts of the record; then more recipients than it has."""
    loaded = load_request(_EXAMPLE)
    request = loaded.request
    frame = read_microdata(loaded.resolve(request.dataset.path, "dataset.path"), request)
    prepared = prepare(loaded, frame)
    table = game_table(request, prepared)
    cells = request.policy.generalization.cell_weights
    candidates = [
        Candidate(
            request,
            one,
            prepared,
            table,
            generalize(table, request.method_for(one), payoffs_of(one), weights_of(request), cells),
            source=lambda: frame,
        )
        for one in request.recipients
    ]
    started = time.perf_counter()
    placing, planted = _timed(lambda: plant(candidates, "0" * 64, None, _generators))
    seconds = time.perf_counter() - started
    facts = list(planted.facts.values())
    name = f"stage, {len(facts)} of {len(candidates)} recipients with decoys, t {facts[0].kept_per_decoy}"
    return [
        Row(figure=f"{name}: decoys placed, drawn and measured", ours=placing, unit="s"),
        Row(figure=f"{name}: both, by the clock", ours=seconds, unit="s"),
        Row(figure=f"{name}: most records missing", ours=max(fact.missing for fact in facts)),
        Row(
            figure=f"{name}: highest area, end of its interval",
            ours=max(fact.detectability.worst.high for fact in facts if fact.detectability),
        ),
        *_many(candidates),
    ]


def _many(candidates: list[Candidate]) -> list[Row]:
    """The plan for recipients like the example's first, with the policy's limit lifted."""
    first, axes = copies_to_mark(candidates)[0], axes_of(candidates[0])
    asked = [
        CopyToMark(f"recipient {number}", first.form, first.release, _CLASSES, first.band)
        for number in range(_RECIPIENTS)
    ]
    policy = DecoyPolicy(kept_per_decoy=_RATIO, missing_limit=1.0)
    planning, made = _timed(lambda: plan(asked, axes, policy, minimum_class(candidates[0]), _generators("plan")))
    comparing, learned = _timed(
        lambda: collusion(
            copies_of(made.problem, list(made.demands), made.found), axes, _generators("collusion"), subsets=20
        )
    )
    name = f"plan, {_RECIPIENTS} recipients of {_CLASSES} decoy classes, t {_RATIO}"
    return [
        Row(figure=f"{name}: {made.found.status}", ours=planning, unit="s"),
        Row(figure=f"{name}: most records missing", ours=made.found.worst_missing),
        Row(
            figure=f"{name}: P(decoy) to colluders with the population",
            ours=max(one.worst_informed for one in learned[1:]),
        ),
        Row(figure=f"{name}: copies compared", ours=comparing, unit="s"),
    ]


def _generators(purpose: str) -> np.random.Generator:
    return np.random.default_rng(list(purpose.encode()))


def _areas(name: str, judged: DetectabilityFact) -> list[Row]:
    rows = []
    for view in View:
        worst = max((one for one in judged.tried if one.view == view), key=lambda one: one.area)
        ends = f"{worst.low:.2f} to {worst.high:.2f}"
        rows.append(Row(figure=f"{name}: worst area, {view.value} ({ends})", ours=worst.area))
    return rows
