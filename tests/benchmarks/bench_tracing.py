"""Decoys on Adult-TN: assignment beside random removal, collusion, and tracing of leaks, people and innocent files."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np
import pandas as pd
from tasks.decoys.candidates import RiskBand, find_candidates
from tasks.decoys.capacity import recipients_supported
from tasks.decoys.generalized_release import GeneralizedRelease, recoded_by_class
from tasks.decoys.offer import decoy_classes
from tasks.decoys.removal import Ground, Wanted, ground
from tests.reference.decoy_choices import choose_at_random, choose_by_size
from tests.support.offers import Offer, ground_of

from tasks.core.errors import ParameterError
from tasks.decoys.assignment import assign
from tasks.decoys.class_table import ClassTable
from tasks.decoys.collusion import Copy, collusion, planned_share
from tasks.decoys.detectability import View, detectability
from tasks.decoys.incident import Incident, incident_of_cells, incident_of_labels
from tasks.decoys.lineage import Lineage, lineages
from tasks.decoys.manifest import Manifest, canonical_bytes, manifest_of
from tasks.decoys.same_origin import of_same_origin
from tasks.decoys.sealing import KeyRing, new_key, open_sealed, seal
from tasks.decoys.tracing import Trace, trace
from tasks.generalization.play import play, population_cells
from tasks.generalization.suppression import class_sizes
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.cube import DenseCube, dense_cube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.request.model import Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support.assigned_copies import copies
from tests.support.recoded import recoded_alike

_RECIPIENTS, _DECOYS, _TRIALS = 20, 2, 100
_FEWER = 40
"""Trials of the forms that no figure is promised for."""
_FINE, _COARSE = ((1, 0, 0, 1), 2), ((2, 1, 0, 2), 5)
"""Level of age, race, sex and ZIP, and k: 4,853 classes of 29,622 records and 740 of 31,616."""
_SIZES = 3
_Result = TypeVar("_Result")


def run() -> Benchmark:
    """Figures of each part, with CPU seconds."""
    return {
        "name": "tracing",
        "title": f"Decoys on Adult-TN: {_RECIPIENTS} recipients, {_DECOYS} decoy classes each",
        "rows": [*_assignments(), *_supported(), *_offered(), *_colluding(), *_tracing()],
        "note": "seconds are of CPU; random is the mean of 10 draws; paper column: the setting of the method's notes",
    }


@dataclass(frozen=True)
class _Setting:
    hierarchies: tuple[Hierarchy, ...]
    axes: tuple[Lineage, ...]
    people: DenseCube
    release: GeneralizedRelease
    place: Ground


@cache
def _setting(levels: tuple[int, ...], k: int) -> _Setting:
    prepared = adult.prepared()
    hierarchies = tuple(prepared.hierarchies.values())
    axes = lineages(hierarchies)
    release = recoded_alike(prepared.data, prepared.population, hierarchies, levels, minimum=k)
    found = find_candidates(release, k)
    real = ClassTable(release.classes.cells, release.classes.sizes, release.classes.people)
    offered = [
        ClassTable(found.cells, np.full(len(found), size), found.people).take(found.pool >= size)
        for size in range(k, k + _SIZES)
    ]
    people = dense_cube(prepared.population, hierarchies)
    return _Setting(hierarchies, axes, people, release, ground([real], [offered[0].with_rows(*offered[1:])], axes))


def _timed(action: Callable[[], _Result]) -> tuple[float, _Result]:
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def _assignments() -> list[Row]:
    rows: list[Row] = []
    notes = {1: (95, 271), 2: (190, 541), 4: (380, 1083)}
    for name, (levels, k) in (("k=2", _FINE), ("k=5", _COARSE)):
        made = _setting(levels, k).place
        wanted = [Wanted(_DECOYS)] * _RECIPIENTS
        for ratio in (1, 2, 4):
            place = ground(made.files, made.candidates, made.axes)
            title = f"{name}, t={ratio}"
            try:
                seconds, found = _timed(
                    lambda place=place, ratio=ratio, wanted=wanted: assign(
                        place, wanted, ratio, np.random.default_rng(1)
                    )
                )
            except ParameterError:
                rows.append(Row(figure=f"{title}: places that look alike for all", ours="too few"))
                continue
            drawn = [
                choose_at_random(place, wanted, ratio, np.random.default_rng(seed)).worst_missing for seed in range(10)
            ]
            paper = notes[ratio] if k == 2 else (None, None)
            rows += [
                Row(figure=f"{title}: worst missing, {found.status}", ours=found.worst_missing, paper=paper[0]),
                Row(figure=f"{title}: worst missing, random", ours=float(np.mean(drawn)), paper=paper[1]),
                Row(figure=f"{title}: assignment, origins searched", ours=round(seconds, 3), unit="s"),
            ]
    place = _setting(*_FINE).place
    by_size = choose_by_size(place, [Wanted(_DECOYS)] * _RECIPIENTS, 1, np.random.default_rng(1), minimum=2)
    return [*rows, Row(figure="k=2, t=1: worst missing, by size", ours=by_size.worst_missing)]


def _supported() -> list[Row]:
    """Recipients within the budgets that 20 to 200 of them need, which must come out as these numbers again."""
    made, rows = _setting(*_FINE).place, []
    seconds, supported = _timed(lambda: recipients_supported(ground(made.files, made.candidates, made.axes), 2, 1))
    for recipients in (20, 50, 100, 200):
        place = ground(made.files, made.candidates, made.axes)
        searching, found = _timed(
            lambda place=place, recipients=recipients: assign(
                place, [Wanted(_DECOYS)] * recipients, 2, np.random.default_rng(1)
            )
        )
        place = ground(made.files, made.candidates, made.axes)
        counting, within = _timed(
            lambda place=place, budget=found.worst_missing: recipients_supported(place, _DECOYS, 2, budget=budget)
        )
        rows += [
            Row(figure=f"k=2, t=2: supported within {found.worst_missing} records", ours=within.recipients),
            Row(figure=f"k=2, t=2: capacity for {recipients}", ours=round(counting, 3), unit="s"),
            Row(figure=f"k=2, t=2: assignment for {recipients}, {found.status}", ours=round(searching, 3), unit="s"),
        ]
    return [
        Row(figure=f"k=2, t=1: recipients supported, {supported.limit}", ours=supported.recipients),
        Row(figure="k=2, t=1: capacity", ours=round(seconds, 3), unit="s"),
        *rows,
    ]


def _offered() -> list[Row]:
    """Decoys of the game's files, drawn as they are for a release: as many as are asked for, and twice as many."""
    table, rows = adult.fresh_table(), []
    axes = lineages(table.hierarchies, [axis.positions for axis in table.safe_harbor])
    for name, method, overlapping, terms in (
        ("partition", Method.NO_ATTACK_PARTITION, False, ((3, 2, 1), (20, 1, 1), (20, 2, 1), (20, 4, 1), (20, 2, 2))),
        ("no-attack", Method.NO_ATTACK, True, ((3, 2, 1), (20, 2, 1))),
    ):
        game = (table, method, adult.CASE_STUDY, adult.weights("table7"))
        cells, own = play(*game).cells, population_cells(*game)
        release = recoded_by_class(
            table.data,
            table.population,
            table.hierarchies,
            cells=cells,
            kept=class_sizes(cell_numbers(cells, table.axis_sizes), table.data.counts) >= 2,
            own=own,
            overlapping=overlapping,
            axis_sizes=table.axis_sizes,
        )
        found = find_candidates(release, 2)
        for recipients, ratio, times in terms:
            offer = Offer(release, found, RiskBand(0.1, 1), times * _DECOYS * recipients)
            drawing, place = _timed(
                lambda offer=offer, ratio=ratio: ground_of([offer], axes, np.random.default_rng(1), ratio=ratio)
            )
            wanted = [Wanted(_DECOYS)] * recipients
            seconds, made = _timed(
                lambda place=place, wanted=wanted, ratio=ratio: assign(place, wanted, ratio, np.random.default_rng(1))
            )
            title = f"{name}, {recipients} recipients, t={ratio}{', twice as many offered' if times > 1 else ''}"
            rows += [
                Row(figure=f"{title}: worst missing, {made.status}", ours=made.worst_missing),
                Row(figure=f"{title}: offer, assignment", ours=round(drawing + seconds, 3), unit="s"),
            ]
            if recipients == _RECIPIENTS:
                drawn = [place.candidates[0].take(share.decoys) for share in made.shares]
                decoys = decoy_classes(found, drawn[0].with_rows(*drawn[1:]), axes)
                worst = detectability(release, decoys, np.random.default_rng(2)).worst_of(View.POPULATION)
                if worst is not None:
                    ends = f"{worst.area.low:.2f} to {worst.area.high:.2f}"
                    rows.append(Row(figure=f"{title}: worst area, population ({ends})", ours=worst.area.value))
    return rows


def _colluding() -> list[Row]:
    setting = _setting(*_FINE)
    wanted, rows = [Wanted(_DECOYS)] * _RECIPIENTS, []
    for ratio in (1, 4):
        best = assign(setting.place, wanted, ratio, np.random.default_rng(1))
        drawn = choose_at_random(setting.place, wanted, ratio, np.random.default_rng(1))
        for name, found in (("optimal", best), ("random", drawn)):
            seconds, learned = _timed(
                lambda found=found: collusion(copies(setting.place, found), setting.axes, np.random.default_rng(1))
            )
            together = learned[1:]
            rows += [
                Row(
                    figure=f"t={ratio}, {name}: mean P(decoy) of {one.colluders}, {one.subsets} subsets",
                    ours=one.share,
                    paper=planned_share(ratio),
                )
                for one in together
                if one.colluders in (2, 5, 10, 20)
            ]
            rows += [
                Row(
                    figure=f"t={ratio}, {name}: greatest P(decoy) of 2 to 20 colluders",
                    ours=max(one.worst_share for one in together),
                    paper=planned_share(ratio),
                ),
                Row(
                    figure=f"t={ratio}, {name}: greatest P(decoy) if they have the population",
                    ours=max(one.worst_informed for one in together),
                    paper=planned_share(ratio),
                ),
                Row(figure=f"t={ratio}, {name}: all subset sizes", ours=round(seconds, 3), unit="s"),
            ]
    return rows


def _tracing() -> list[Row]:
    rows: list[Row] = []
    for name, (levels, k), ratio in (("k=2", _FINE, 2), ("k=5", _COARSE, 1)):
        setting = _setting(levels, k)
        found = assign(setting.place, [Wanted(_DECOYS)] * _RECIPIENTS, ratio, np.random.default_rng(1))
        names = [f"recipient-{number:02}" for number in range(_RECIPIENTS)]
        manifest = manifest_of(setting.place, found, names, "release", setting.hierarchies)
        rows += _trials(name, setting, manifest, copies(setting.place, found))
        seconds, _ = _timed(partial(_sealed_and_opened, manifest))
        rows += [
            Row(figure=f"{name}: manifest sealed and opened", ours=round(seconds, 3), unit="s"),
            Row(figure=f"{name}: manifest", ours=round(len(canonical_bytes(manifest)) / 1024), unit="KiB"),
        ]
    return rows


def _sealed_and_opened(manifest: Manifest) -> Manifest:
    ring = KeyRing((new_key(),))
    return open_sealed(seal(manifest, ring, bytes(32)).content, ring)


def _trials(name: str, setting: _Setting, manifest: Manifest, held: list[Copy]) -> list[Row]:
    promised = _TRIALS if name == "k=2" else _FEWER
    leaks: dict[str, tuple[int, Callable[[Codes, np.random.Generator], Codes]]] = {
        "leaked half": (promised, _half),
        "leaked half, race dropped": (_FEWER, lambda rows, rng: _raised(setting, _half(rows, rng), 1, -1)),
        "leaked half, age one level up": (_FEWER, lambda rows, rng: _raised(setting, _half(rows, rng), 0, 2)),
        "leaked tenth": (_FEWER, lambda rows, rng: rows[rng.random(len(rows)) < 0.1]),
    }
    rows: list[Row] = []
    for form, (trials, leak) in list(leaks.items())[: len(leaks) if name == "k=2" else 1]:
        answers, seconds = [], 0.0
        for trial in range(trials):
            rng = np.random.default_rng(trial)
            number = trial % _RECIPIENTS
            classes = held[number].classes
            frame = _labels(setting, leak(np.repeat(classes.cells, classes.records, axis=0), rng))
            took, found = _timed(lambda frame=frame: _traced(setting, manifest, _read(setting, frame)))
            seconds = max(seconds, took)
            answers.append(_answer(found, manifest.recipients[number]))
        rows += _summary(f"{name}, {form}", answers, seconds)
    rows += _summary(f"{name}, 3 people of decoys among 30", *_people(setting, manifest, promised))
    for form, trials, cells_of in (
        ("half of the file from before", promised, lambda rng: _half(_original(setting), rng)),
        (
            "half of the records as collected",
            _FEWER,
            lambda rng: _half(_leaves(adult.prepared().data.codes, None), rng),
        ),
        ("30,000 people of the population", _FEWER, lambda rng: _leaves(adult.prepared().population.codes, rng)),
        *[
            (f"{size} people of one {place}", _FEWER, partial(_of_one_place, axes=axes, size=size))
            for place, axes in (("ZIP code", (3,)), ("age", (0,)), ("ZIP code and age", (0, 3)))
            for size in (10, 1000)
            if name == "k=2"
        ],
    ):
        falsely, seconds = 0, 0.0
        for trial in range(trials):
            cells = cells_of(np.random.default_rng(trial))
            incident = incident_of_cells(cells, setting.axes, "rows")
            took, found = _timed(lambda incident=incident: _traced(setting, manifest, incident))
            seconds, falsely = max(seconds, took), falsely + (found.verdict != "nothing")
        rows += [
            Row(figure=f"{name}, {form}: somebody named or suspected", ours=falsely, paper=0, unit=f"of {trials}"),
            Row(figure=f"{name}, {form}: slowest", ours=round(seconds, 3), unit="s"),
        ]
    return rows


def _traced(setting: _Setting, manifest: Manifest, incident: Incident) -> Trace:
    return trace(manifest, setting.axes, incident, adult.prepared().population)


def _labels(setting: _Setting, cells: Codes) -> pd.DataFrame:
    """Rows as they are delivered."""
    return pd.DataFrame(
        {tree.name: np.array(tree.axis_labels, dtype=object)[cells[:, axis]] for axis, tree in _numbered(setting)}
    )


def _numbered(setting: _Setting) -> list[tuple[int, Hierarchy]]:
    return list(enumerate(setting.hierarchies))


def _read(setting: _Setting, frame: pd.DataFrame) -> Incident:
    names = {tree.name: tree for tree in setting.hierarchies}
    return incident_of_labels(frame, names, setting.axes, "rows", "leak")


def _answer(found: Trace, recipient: str) -> str:
    if {*found.named, *found.suspected} - {recipient}:
        return "wrong"
    if found.named == (recipient,):
        return "named"
    return "suspected" if found.suspected else "nothing"


def _summary(title: str, answers: list[str], seconds: float) -> list[Row]:
    counts = {answer: answers.count(answer) for answer in ("named", "suspected", "nothing", "wrong")}
    shown = ", ".join(f"{count} {answer}" for answer, count in counts.items() if count)
    return [
        Row(
            figure=f"{title}: right recipient ({shown})",
            ours=counts["named"] + counts["suspected"],
            unit=f"of {len(answers)}",
        ),
        Row(figure=f"{title}: wrong recipient", ours=counts["wrong"], unit=f"of {len(answers)}"),
        Row(figure=f"{title}: slowest", ours=round(seconds, 3), unit="s"),
    ]


def _half(rows: Codes, rng: np.random.Generator) -> Codes:
    return rows[rng.permutation(len(rows))[: len(rows) // 2]]


def _raised(setting: _Setting, rows: Codes, axis: int, level: int) -> Codes:
    raised = rows.copy()
    raised[:, axis] = setting.axes[axis].raised[rows[:, axis], level]
    return raised


def _original(setting: _Setting) -> Codes:
    real = setting.place.files[0]
    return np.repeat(real.cells, real.records, axis=0)


def _leaves(codes: Codes, rng: np.random.Generator | None) -> Codes:
    """Leaf tuples of all records of the data, or of people drawn from the population."""
    prepared = adult.prepared()
    if rng is None:
        return np.repeat(codes, prepared.data.counts, axis=0)
    counts = prepared.population.counts
    return codes[rng.choice(len(codes), 30_000, p=counts / counts.sum())]


def _of_one_place(rng: np.random.Generator, axes: tuple[int, ...], size: int) -> Codes:
    """Leaf tuples of people who share the values of some attributes with one of them."""
    population = adult.prepared().population
    place = population.codes[rng.choice(len(population))]
    alike = np.flatnonzero((population.codes[:, axes] == place[list(axes)]).all(axis=1))
    counts = population.counts[alike]
    return population.codes[rng.choice(alike, size, p=counts / counts.sum())]


def _people(setting: _Setting, manifest: Manifest, trials: int) -> tuple[list[str], float]:
    """Three people of a recipient's decoys, among thirty who are somebody's subjects."""
    population, answers, slowest = adult.prepared().population, [], 0.0
    inside = of_same_origin(population.codes, setting.place.real.cells, setting.axes)
    subjects = population.codes[inside]
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        holder = manifest.holders[trial % _RECIPIENTS]
        found = population.codes[of_same_origin(population.codes, holder.decoys.cells, setting.axes)]
        people = np.concatenate([rng.choice(found, 3), rng.choice(subjects, 27)])
        incident = incident_of_cells(people, setting.axes, "people")
        took, answer = _timed(lambda incident=incident: _traced(setting, manifest, incident))
        slowest = max(slowest, took)
        answers.append(_answer(answer, str(holder.recipient)))
    return answers, slowest
