"""Linkage of generalized releases: what each policy gives away on Adult-TN, by what the intruder knows, and times."""

import numpy as np

from tasks.assessments.linkage.generalized import closest_linkage, matching_linkage
from tasks.assessments.linkage.mixed import alike_records, mixed_files, mixed_linkage
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Knowledge, files_to_link
from tasks.assessments.linkage.problem.generalized_files import LinkableRelease, generalized_files, index_groups
from tasks.generalization.generalize import generalize
from tasks.microdata.cube import cells_at
from tasks.request.model import Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.reference.partial_linkage import partial_linkage, played_release, policy_cells, whole_linkage

_INDIVIDUALS = 2000
_TUPLES = 100_000
_LEVELS = np.array([1, 1, 0, 2], dtype=np.int32)


def run() -> Benchmark:
    """Every policy under every attack, partial knowledge, and seconds."""
    return {
        "name": "generalized-linkage",
        "title": "Record linkage of generalized releases on Adult-TN (V 1200, L 300, c 4, sex free)",
        "rows": _policies() + _partial() + _times(),
        "note": "percent are of records linked correctly; the own cell is what an informed recipient goes by",
    }


def _percent(figure: str, linkage: Linkage) -> Row:
    return Row(figure=figure, ours=round(100 * linkage.share_correct, 2), unit="%")


def _policies() -> list[Row]:
    rows, table = [], adult.fresh_table()
    for method in Method:
        if method is Method.K_ANONYMITY:  # it needs terms of its own
            continue
        generalization = generalize(table, method, adult.CASE_STUDY, adult.weights("table7"))
        seconds, found = adult.best_of(1, lambda generalization=generalization: whole_linkage(table, generalization))
        name = method.value
        rows += [
            _percent(f"{name}: nearest cell", found.closest),
            _percent(f"{name}: cells that match", found.matching),
            _percent(f"{name}: likeliest cell that matches", found.likely),
            _percent(f"{name}: own cell", found.own_cell),
            Row(figure=f"{name}: sure of it, matching", ours=round(100 * found.matching.certain_share, 2), unit="%"),
            Row(figure=f"{name}: sure of it, own cell", ours=round(100 * found.own_cell.certain_share, 2), unit="%"),
            Row(figure=f"{name}: all four attacks", ours=seconds, unit="s"),
        ]
    return rows


def _partial() -> list[Row]:
    rows, table = [], adult.fresh_table()
    generalization = generalize(table, Method.NO_ATTACK, adult.CASE_STUDY, adult.weights("table7"))
    population = policy_cells(table, Method.NO_ATTACK, adult.CASE_STUDY, adult.weights("table7"))
    release = played_release(table, generalization)
    names = [tree.name for tree in table.hierarchies]
    for known in ((0,), (3,), (0, 3), (0, 1, 3), (0, 2, 3)):
        found = partial_linkage(release, Method.NO_ATTACK, population, known)
        name = "no-attack, knows " + ", ".join(names[axis] for axis in known)
        rows += [
            _percent(f"{name}: cells that match", found.matching),
            _percent(f"{name}: likeliest cell that matches", found.likely),
            _percent(f"{name}: own cells of such people", found.own_cell),
            _percent(f"{name}: likeliest own cell", found.likeliest_own_cell),
        ]
    return rows


def _times() -> list[Row]:
    table, rng = adult.fresh_table(), np.random.default_rng(1)
    groups, codes = index_groups(table), table.population.codes
    drawn = codes[np.sort(rng.choice(len(codes), _TUPLES, replace=False))]
    cells = cells_at(drawn, _LEVELS, table.hierarchies)
    files = generalized_files(
        LinkableRelease(groups, drawn, cells, np.ones(_TUPLES, dtype=np.int64), np.ones(_TUPLES, dtype=np.bool_))
    )
    size = f"{_TUPLES:,} tuples, {len(files.cells):,} cells"
    closest, _ = adult.best_of(3, lambda: closest_linkage(files))
    matching, _ = adult.best_of(3, lambda: matching_linkage(files))
    generalization = generalize(table, Method.NO_ATTACK, adult.CASE_STUDY, adult.weights("table7"))
    of = np.repeat(np.arange(len(table.data)), table.data.counts)
    original = rng.standard_normal((len(of), 2))
    people = rng.choice(len(of), _INDIVIDUALS, replace=False)
    knowledge = Knowledge(records=tuple(people.tolist()))
    numbers = files_to_link(original, original + 0.3 * rng.standard_normal(original.shape), knowledge)
    released = alike_records(generalization.cells[of], numbers.masked)
    mixed = mixed_files(people, groups, table.data.codes[of[people]], released, numbers)
    both, _ = adult.best_of(3, lambda: mixed_linkage(mixed))
    return [
        Row(figure=f"nearest cell, {size}", ours=closest, unit="s"),
        Row(figure=f"cells that match, {size}", ours=matching, unit="s"),
        Row(figure=f"mixed, {_INDIVIDUALS:,} individuals, {len(of):,} records, 4 + 2 attributes", ours=both, unit="s"),
    ]
