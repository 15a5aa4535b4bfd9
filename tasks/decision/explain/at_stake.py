"""Counts, by class, of the records that keep a risk gate closed; no record is named, and no value.

A record is at stake if its own figure is beyond the gate's threshold, or if it is among those that the gate counts.
Records are counted by the levels of their quasi-identifiers, by the size of their group, and by the quasi-identifier
without which the group would grow most. Counts are exact; the caller that shows them applies the small-cell rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.attribute.assessment import disclosed_records
from tasks.assessments.combined.assessment import record_scores
from tasks.assessments.combined.expected import expected_disclosure
from tasks.assessments.identity.score import released_levels
from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.sequential.assessment import judged_risks
from tasks.assessments.singling_out.assessment import singled_out_records
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition
from tasks.decision.record import GateResult
from tasks.generalization.game.count_index import matching_people
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.suppression import class_sizes
from tasks.microdata.tuples import Counts
from tasks.request.model import OF_ONE_COPY, Measure

EDGES = (0, 1, 2, 3, 5, 11, 20, 50, 100, 200, 500, *(step * 10**power for power in range(3, 17) for step in (1, 2, 5)))
"""Least group size of each band."""
PEOPLE, CANDIDATES, RECORDS = "people of the population", "candidates in the external data", "records of the file"
_ROUNDING = 1 - 1e-12
Levels = Mapping[str, int]
Band = tuple[int, int | None]
_Kind = TypeVar("_Kind")

_FAMILIES = {
    "transparent",
    "prosecutor",
    "journalist",
    "sequential",
    "combined",
    "attribute",
    "linkage",
    "singling_out",
}
_ATTACKED = {"attacked_share", "expected_reidentifications", "expected_loss"}
RISKS = frozenset(one for one in Measure if one.value.partition(".")[0] in _FAMILIES) | {Measure.SMALLEST_CLASS}
"""Measures of risk; the others measure what the file is worth."""
BY_CLASS = RISKS - {Measure.LINKED_MASKED}
"""Measures whose records can be identified by class."""
POOLED = BY_CLASS - OF_ONE_COPY
"""Measures by class that coalitions see as well."""


@dataclass(frozen=True)
class RecordClass(Generic[_Kind]):
    """A class of the records at stake."""

    kind: _Kind
    records: int


@dataclass(frozen=True)
class AtStake:
    """The records that keep one gate closed."""

    measure: Measure
    condition: str
    """Condition that holds for these records, in words."""
    counted: str
    """Unit that the sizes of their groups count."""
    records: int
    released: int
    """Records of the file."""
    patterns: tuple[RecordClass[Levels], ...]
    """By the level, 0 as collected, at which each quasi-identifier is released; the most records first."""
    bands: tuple[RecordClass[Band], ...]
    """By the least and the most size of their group, None for no limit; from the first that holds records to the last.
    """
    attributes: tuple[RecordClass[str], ...]
    """By the quasi-identifier that sets them apart most, empty where none does; the most records first. Empty of
    records as a coalition sees them, whom several copies set apart."""
    members: bytes
    """Equal for equal sets of records, and for no others."""


@dataclass(frozen=True)
class _Exposed:
    """Records at stake of each released tuple, and the size of the group that they hide in."""

    records: Counts
    sizes: Counts
    counted: str
    condition: str


def at_stake(candidate: Candidate, gate: GateResult) -> AtStake:
    """The records that keep a gate of ``BY_CLASS`` closed, by class: of the copy alone or of a coalition, the most.

    Raises StageFailed if nothing is released; ParameterError if the plan of the recipient cannot be solved.
    """
    measure = Measure(gate.id)
    views: list[Coalition | None] = [None, *(candidate.coalitions if measure in POOLED else ())]
    exposed = [_exposed(candidate, view, measure, gate.threshold) for view in views]
    place = int(np.argmax([one.records.sum() for one in exposed]))
    found = exposed[place]
    at = np.flatnonzero(found.records)
    records = found.records[at]
    return AtStake(
        measure=measure,
        condition=found.condition + (", pooled with others' copies" if place else ""),
        counted=found.counted,
        records=int(records.sum()),
        released=int(candidate.records.sum()),
        patterns=_patterns(candidate, at, records),
        bands=_bands(found.sizes[at], records),
        attributes=() if place else _attributes(candidate, at, records, by_people=found.counted != RECORDS),
        members=blake2b(np.ascontiguousarray(found.records).data, digest_size=20).digest(),
    )


def _exposed(candidate: Candidate, coalition: Coalition | None, measure: Measure, threshold: float) -> _Exposed:
    """Records at stake in the copy alone, or as a coalition sees it."""
    seen = candidate if coalition is None else candidate.seen_by(coalition)
    made, released, condition = seen.generalization, candidate.released, f"with a risk above {threshold:g}"
    family, _, name = measure.value.partition(".")
    if family in ("transparent", "journalist"):
        counted, sizes = PEOPLE, (made.people if family == "journalist" else made.effective)[released]
        flags = 1.0 / np.maximum(sizes, 1) > threshold
        if name in _ATTACKED:
            flags, condition = candidate.payoffs.attacked(sizes), "worth attacking"
    elif family == "sequential":
        counted, sizes = CANDIDATES, seen.groups.candidates
        risks = judged_risks(seen.adversary.profile, seen.groups)
        flags = risks > (0.0 if name in _ATTACKED else threshold)
        if name in _ATTACKED:
            condition = "on which an attempt is made"
    else:
        names = candidate.request.quasi_identifiers
        known = set(known_attributes(candidate.request, candidate.prepared) if family == "linkage" else names)
        held = [axis for axis, attribute in enumerate(names) if attribute in known]
        counted, sizes = RECORDS, _classes(candidate, held) if coalition is None else coalition.classes[released]
        if measure is Measure.COMBINED_EXPECTED:
            high = expected_disclosure(candidate, coalition) * _ROUNDING > threshold
            condition = f"with an expected disclosure above {threshold:g}"
            return _Exposed(_by_tuple(candidate, high), sizes, counted, condition)
        if family == "combined":
            limit = candidate.request.policy.combined.threshold if measure is Measure.COMBINED_ABOVE else threshold
            high = record_scores(candidate, coalition) * _ROUNDING > limit
            return _Exposed(_by_tuple(candidate, high), sizes, counted, f"with a score above {limit:g}")
        if family == "attribute":
            disclosed, told = disclosed_records(candidate, measure, threshold, coalition)
            return _Exposed(_by_tuple(candidate, disclosed), sizes, counted, f"whose class discloses {', '.join(told)}")
        if family == "singling_out":
            alone, columns = singled_out_records(candidate, measure, coalition)
            return _Exposed(_by_tuple(candidate, alone), sizes, counted, f"singled out by {columns}")
        flags = 1.0 / sizes > threshold
        if measure is Measure.SMALLEST_CLASS:
            flags, condition = sizes < threshold, f"in classes of fewer than {threshold:g}"
        elif measure in (Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED):
            flags, condition = sizes == 1, "alone in their class by the known attributes"
        elif family == "linkage":
            condition = f"linked with a chance above {threshold:.4g} by their class alone"
    return _Exposed(np.where(flags, candidate.records, 0), sizes, counted, condition)


def _by_tuple(candidate: Candidate, flags: NDArray[np.bool_]) -> Counts:
    """Number of flagged released records, by released tuple."""
    tuples = candidate.prepared.tuple_of_record[candidate.rows][flags]
    return np.bincount(tuples, minlength=len(candidate.released))[candidate.released].astype(np.int64)


def _classes(candidate: Candidate, axes: Sequence[int]) -> Counts:
    """Records of the file that share each tuple's released groups of some attributes."""
    sizes, cells = candidate.index.axis_sizes, candidate.generalization.cells[candidate.released]
    if not axes:
        return np.full(len(cells), candidate.records.sum(), dtype=np.int64)
    return class_sizes(cell_numbers(cells[:, list(axes)], [sizes[axis] for axis in axes]), candidate.records)


def _patterns(candidate: Candidate, at: NDArray[np.intp], records: Counts) -> tuple[RecordClass[Levels], ...]:
    """Records at some of the released tuples by their levels."""
    made, positions = candidate.generalization, np.flatnonzero(candidate.released)[at]
    levels = np.column_stack(
        [
            released_levels(candidate.index, made.levels[positions, axis], cells, axis)
            for axis, cells in enumerate(made.cells[positions].T)
        ]
    )
    patterns, place = np.unique(levels, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=records, minlength=len(patterns))
    found: list[RecordClass[Levels]] = [
        RecordClass(dict(zip(candidate.request.quasi_identifiers, pattern, strict=True)), round(count))
        for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.records, tuple(one.kind.values()))))


def _bands(sizes: Counts, records: Counts) -> tuple[RecordClass[Band], ...]:
    if not len(sizes):
        return ()
    place = np.searchsorted(EDGES, sizes, side="right") - 1
    counts = np.bincount(place, weights=records, minlength=len(EDGES))
    filled = np.flatnonzero(counts)
    return tuple(
        RecordClass((EDGES[at], EDGES[at + 1] - 1 if at + 1 < len(EDGES) else None), round(counts[at]))
        for at in range(int(filled.min()), int(filled.max()) + 1)
    )


def _attributes(
    candidate: Candidate, at: NDArray[np.intp], records: Counts, *, by_people: bool
) -> tuple[RecordClass[str], ...]:
    """Each record counted for the attribute without which its group would be largest; the first of equals."""
    made, names = candidate.generalization, candidate.request.quasi_identifiers
    positions, axes = np.flatnonzero(candidate.released)[at], range(len(names))
    if by_people:
        now, without = made.people[positions], []
        for axis, hierarchy in enumerate(candidate.index.hierarchies):
            cells = made.cells[positions]
            cells[:, axis] = hierarchy.finest[hierarchy.axis_length - 1]
            without.append(matching_people(candidate.index, cells))
    else:
        now = _classes(candidate, axes)[at]
        without = [_classes(candidate, [one for one in axes if one != axis])[at] for axis in axes]
    sizes = np.column_stack(without)
    best = np.where(sizes.max(axis=1) > now, sizes.argmax(axis=1), len(names))
    counts = np.bincount(best, weights=records, minlength=len(names) + 1)
    named = zip((*names, ""), counts.tolist(), strict=True)
    found = [RecordClass(name, round(count)) for name, count in named if count]
    return tuple(sorted(found, key=lambda one: -one.records))
