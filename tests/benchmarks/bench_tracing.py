"""Decoys on Adult-TN: assignment, collusion, and tracing of leaks, people and innocent files."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np
import pandas as pd
from cryptography.fernet import Fernet

from tasks.decoys.assignment import AssignmentProblem, Demand, Offer, assign
from tasks.decoys.classes import Lineage, joined, lineages
from tasks.decoys.collusion import MarkedCopy, collusion
from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells, offered, ranked
from tasks.decoys.detectability import View, detectability
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.manifest import DecoyManifest, canonical_bytes
from tasks.decoys.planning import DecoyPlan, manifest_of
from tasks.decoys.records import ClassRecords
from tasks.decoys.tracing import Incident, Trace, incident_of_cells, incident_of_labels, trace
from tasks.decoys.vault import KeyRing, open_sealed, seal
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.generalize import generalize, population_cells
from tasks.generalization.suppression import class_sizes
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.request.model import Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support.assigned_copies import copies
from tests.support.decoy_tables import of_same_origin
from tests.support.recoded import recoded_alike

_RECIPIENTS, _DECOYS, _TRIALS = 20, 2, 100
_FEWER = 40
"""Trials of the forms that no figure is promised for."""
_FINE, _COARSE = ((1, 0, 0, 1), 2), ((2, 1, 0, 2), 5)
"""Level of age, race, sex and ZIP, and k: 4,853 classes of 29,622 records and 740 of 31,616."""
_Result = TypeVar("_Result")


def run() -> Benchmark:
    """Figures of each part, with CPU seconds."""
    return {
        "name": "tracing",
        "title": f"Decoys on Adult-TN: up to {_RECIPIENTS} recipients, {_DECOYS} decoy classes each",
        "rows": [*_assignments(), *_colluding(), *_tracing()],
        "note": "seconds are of CPU",
    }


@dataclass(frozen=True)
class _Setting:
    hierarchies: tuple[Hierarchy, ...]
    axes: tuple[Lineage, ...]
    release: LinkedRelease


@cache
def _setting(levels: tuple[int, ...], k: int) -> _Setting:
    prepared = adult.prepared()
    hierarchies = tuple(prepared.hierarchies.values())
    release = recoded_alike(prepared.data, prepared.population, hierarchies, levels, minimum=k)
    return _Setting(hierarchies, lineages(hierarchies), release)


def _planned(
    release: LinkedRelease, axes: tuple[Lineage, ...], k: int, recipients: int, ratio: int, *, band: RiskBand
) -> DecoyPlan:
    """Decoys of some recipients of one generalization."""
    cells, rng = find_decoy_cells(release, k), np.random.default_rng(1)
    demands = [Demand(0, _DECOYS)] * recipients
    order = ranked(cells, band, rng, ratio=ratio)
    offer = offered(cells, order, rng, most=_DECOYS * recipients, ratio=ratio)
    problem = AssignmentProblem((release.classes,), (Offer(0, offer),), axes)
    names = tuple(f"recipient-{number:02}" for number in range(recipients))
    return DecoyPlan(problem, assign(problem, demands, ratio, rng), names, tuple(demands), ("alike",))


def _timed(action: Callable[[], _Result]) -> tuple[float, _Result]:
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def _assignments() -> list[Row]:
    """Decoys of the game's files, drawn as they are for a release."""
    table, rows = adult.fresh_table(), []
    axes = lineages(table.hierarchies, [axis.positions for axis in table.safe_harbor])
    for name, method, overlapping, terms in (
        ("partition", Method.NO_ATTACK_PARTITION, False, ((3, 2), (20, 1), (20, 2), (20, 4))),
        ("no-attack", Method.NO_ATTACK, True, ((3, 2), (20, 2))),
    ):
        game = (table, method, adult.CASE_STUDY, adult.weights("table7"))
        cells, own = generalize(*game).cells, population_cells(*game)
        kept = class_sizes(cell_numbers(cells, table.axis_sizes), table.data.counts) >= 2
        release = LinkedRelease(
            hierarchies=table.hierarchies,
            data=table.data,
            cells=cells,
            released=kept,
            population=table.population,
            own=own,
            axis_sizes=table.axis_sizes,
            overlapping=overlapping,
        )
        for recipients, ratio in terms:
            seconds, made = _timed(
                lambda release=release, recipients=recipients, ratio=ratio: _planned(
                    release, axes, 2, recipients, ratio, band=RiskBand(0.1, 1)
                )
            )
            title = f"{name}, {recipients} recipients, t={ratio}"
            rows += [
                Row(figure=f"{title}: worst missing, {made.found.status}", ours=made.found.worst_missing),
                Row(figure=f"{title}: offer, assignment", ours=round(seconds, 3), unit="s"),
            ]
            if recipients == _RECIPIENTS:
                decoys = joined([made.decoys(number) for number in range(recipients)])
                bare = [ClassRecords(part, {}, np.arange(len(part))) for part in (decoys, release.classes)]
                judged = detectability(release, *bare, {}, np.random.default_rng(2))
                worst = max((one for one in judged.tried if one.view == View.POPULATION), key=lambda one: one.area)
                ends = f"{worst.low:.2f} to {worst.high:.2f}"
                rows.append(Row(figure=f"{title}: worst area, population ({ends})", ours=worst.area))
    return rows


def _colluding() -> list[Row]:
    setting, rows = _setting(*_FINE), []
    for ratio, recipients in ((1, _RECIPIENTS), (4, 5)):  # no more have four real classes alike for each decoy
        made = _planned(setting.release, setting.axes, _FINE[1], recipients, ratio, band=RiskBand(0.05, 2))
        held = copies(made.problem, list(made.demands), made.found)
        seconds, learned = _timed(lambda held=held: collusion(held, setting.axes, np.random.default_rng(1)))
        together, paper = learned[1:], 1 / (1 + ratio)
        rows += [
            Row(
                figure=f"t={ratio}: mean P(decoy) of {one.colluders}, {one.sets} subsets",
                ours=one.probability,
                paper=paper,
            )
            for one in together
            if one.colluders in (2, 5, 10, 20)
        ]
        rows += [
            Row(
                figure=f"t={ratio}: greatest P(decoy) of 2 to {recipients} colluders",
                ours=max(one.worst for one in together),
                paper=paper,
            ),
            Row(
                figure=f"t={ratio}: greatest P(decoy) if they have the population",
                ours=max(one.worst_informed for one in together),
                paper=paper,
            ),
            Row(figure=f"t={ratio}: all subset sizes", ours=round(seconds, 3), unit="s"),
        ]
    return rows


def _tracing() -> list[Row]:
    rows: list[Row] = []
    for name, (levels, k), ratio, recipients in (("k=2", _FINE, 2, 12), ("k=5", _COARSE, 1, 12)):
        setting = _setting(levels, k)
        made = _planned(setting.release, setting.axes, k, recipients, ratio, band=RiskBand(0.05, 2))
        manifest = manifest_of(made, ratio, "release", setting.hierarchies, [()] * recipients)
        rows += _trials(name, setting, manifest, copies(made.problem, list(made.demands), made.found))
        seconds, _ = _timed(partial(_sealed_and_opened, manifest))
        rows += [
            Row(figure=f"{name}: manifest sealed and opened", ours=round(seconds, 3), unit="s"),
            Row(figure=f"{name}: manifest", ours=round(len(canonical_bytes(manifest)) / 1024), unit="KiB"),
        ]
    return rows


def _sealed_and_opened(manifest: DecoyManifest) -> DecoyManifest:
    ring = KeyRing((Fernet.generate_key(),))
    return open_sealed(seal(manifest, ring, bytes(32))[0], ring)


def _trials(name: str, setting: _Setting, manifest: DecoyManifest, held: list[MarkedCopy]) -> list[Row]:
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
            number = trial % len(held)
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


def _traced(setting: _Setting, manifest: DecoyManifest, incident: Incident) -> Trace:
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
    raised[:, axis] = setting.axes[axis].at_level[rows[:, axis], level]
    return raised


def _original(setting: _Setting) -> Codes:
    real = setting.release.classes
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


def _people(setting: _Setting, manifest: DecoyManifest, trials: int) -> tuple[list[str], float]:
    """Three people of a recipient's decoys, among thirty who are somebody's subjects."""
    population, answers, slowest = adult.prepared().population, [], 0.0
    inside = of_same_origin(population.codes, setting.release.classes.cells, setting.axes)
    subjects = population.codes[inside]
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        holder = manifest.holders[trial % len(manifest.holders)]
        found = population.codes[of_same_origin(population.codes, holder.decoys.cells, setting.axes)]
        people = np.concatenate([rng.choice(found, 3), rng.choice(subjects, 27)])
        incident = incident_of_cells(people, setting.axes, "people")
        took, answer = _timed(lambda incident=incident: _traced(setting, manifest, incident))
        slowest = max(slowest, took)
        answers.append(_answer(answer, str(holder.recipient)))
    return answers, slowest
