"""The records that keep a risk gate closed, counted by class: never which records, and no value of them.

A record is at stake if its own figure is beyond the gate's threshold; where a gate judges a share or an expectation, if
it is among those that are counted. Records are counted three ways: by the levels that their quasi-identifiers are
released at, by the size of the group that they hide in, and by the quasi-identifier that sets them apart most, which is
the one without which the group would grow most. Counts are exact here; the caller that shows them applies the
small-cell rule.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.score import released_levels
from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.sequential.sequential import judged_risks
from tasks.candidate.groups import recipient_profile, released_groups
from tasks.candidate.released import released_tuples
from tasks.decision.record import GateResult
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.raised import matching_people
from tasks.generalization.setting import own_follower
from tasks.generalization.suppression import class_sizes
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.request.model import OF_ONE_COPY, Measure, Recipient, ReleaseRequest

EDGES = (0, 1, 2, 3, 5, 11, 20, 50, 100, 200, 500, *(step * 10**power for power in range(3, 17) for step in (1, 2, 5)))
"""Least group size of each band."""
PEOPLE, CANDIDATES, RECORDS = "people of the population", "candidates in the external data", "records of the file"
_ROUNDING = 1 - 1e-12

Flags = NDArray[np.bool_]
Scored = Callable[[], tuple[NDArray[np.int32], NDArray[np.float64]]]
"""Gives the tuple and the combined score of each released record."""

_TRANSPARENT = {Measure.TRANSPARENT_MAXIMUM, Measure.TRANSPARENT_MEAN}
_ATTACKED = {Measure.TRANSPARENT_ATTACKED, Measure.TRANSPARENT_EXPECTED}
_PROSECUTOR = {Measure.PROSECUTOR_MAXIMUM, Measure.PROSECUTOR_MEAN}
_JOURNALIST = {Measure.JOURNALIST_MAXIMUM, Measure.JOURNALIST_MEAN}
_PLANNED = {Measure.SEQUENTIAL_MAXIMUM, Measure.SEQUENTIAL_MEAN}
_PLANNED_ATTACKS = {Measure.SEQUENTIAL_ATTACKED, Measure.SEQUENTIAL_EXPECTED}
_COMBINED = {Measure.COMBINED_MAXIMUM, Measure.COMBINED_QUANTILE, Measure.COMBINED_ABOVE}
_LINKED = {Measure.LINKED_UNINFORMED, Measure.LINKED_INFORMED}
_CERTAIN = {Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED}
BY_CLASS = frozenset(
    _TRANSPARENT | _ATTACKED | _PROSECUTOR | _JOURNALIST | _PLANNED | _PLANNED_ATTACKS | _COMBINED | _LINKED | _CERTAIN
) | {Measure.SMALLEST_CLASS}
"""Measures whose records can be identified by class."""
POOLED = BY_CLASS - OF_ONE_COPY
"""Those of the measures by class that coalitions see as well."""
RISKS = BY_CLASS | {Measure.LINKED_MASKED}
"""Measures of risk; the others say what the file is worth."""


@dataclass(frozen=True)
class Pattern:
    """Records by the levels at which their quasi-identifiers are released."""

    levels: Mapping[str, int]
    """Level of each quasi-identifier, 0 as collected."""
    records: int


@dataclass(frozen=True)
class Band:
    """Records by the size of their group."""

    least: int
    most: int | None
    """None for no limit."""
    records: int


@dataclass(frozen=True)
class Separated:
    """Records by the quasi-identifier that sets them apart most; empty where none does."""

    attribute: str
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
    patterns: tuple[Pattern, ...]
    """The most records first."""
    bands: tuple[Band, ...]
    """The smallest groups first; from the first band that holds records to the last."""
    attributes: tuple[Separated, ...]
    """The most records first; empty of records as a coalition sees them, whom several copies set apart."""
    members: bytes
    """Equal for equal sets of records, and for no others."""


@dataclass(frozen=True)
class Release:
    """One recipient's release, as it was generalized."""

    request: ReleaseRequest
    recipient: Recipient
    table: CountIndex
    played: Generalization
    scored: Scored
    classes: Counts | None = None
    """Number of records that a coalition sees as one class, by data tuple; None for the copy alone."""

    @property
    def kept(self) -> Flags:
        """Whether each tuple's records are released."""
        return released_tuples(self.table, self.played, self.request.policy.generalization.minimum_class_size)


def at_stake(release: Release, gate: GateResult, pooled: Sequence[Release] = ()) -> AtStake:
    """The records that keep a gate closed, by class: of the copy alone and of coalitions, where they are the most.

    Parameters
    ----------
    release : Release
    gate : GateResult
        Of a measure in ``BY_CLASS``.
    pooled : sequence of Release
        The same copy as each coalition sees it.

    Raises
    ------
    StageFailed
        If nothing is released.
    ParameterError
        If the plan of the recipient cannot be solved.
    """
    measure, kept = Measure(gate.id), release.kept
    views = (release, *(pooled if measure in POOLED else ()))
    found_by = [_found(view, kept, measure, gate.threshold) for view in views]
    place = int(np.argmax([one.records.sum() for one in found_by]))
    release, found = views[place], found_by[place]
    at = np.flatnonzero(found.records)
    records, positions = found.records[at], np.flatnonzero(kept)[at]
    return AtStake(
        measure=measure,
        condition=found.condition + (", pooled with others' copies" if place else ""),
        counted=found.counted,
        records=int(records.sum()),
        released=int(release.table.data.counts[kept].sum()),
        patterns=_patterns(release, positions, records),
        bands=_bands(found.sizes[at], records),
        attributes=() if place else _attributes(release, kept, positions, records, by_people=found.counted != RECORDS),
        members=blake2b(np.ascontiguousarray(found.records).data, digest_size=20).digest(),
    )


@dataclass(frozen=True)
class _Found:
    """Records at stake of each released tuple, and the size of the group that they hide in."""

    records: Counts
    sizes: Counts
    counted: str
    condition: str


def _found(release: Release, kept: Flags, measure: Measure, threshold: float) -> _Found:
    table, played = release.table, release.played
    records = table.data.counts[kept]

    def of(flags: Flags, sizes: Counts, counted: str, condition: str) -> _Found:
        return _Found(np.where(flags, records, 0), sizes, counted, condition)

    if measure in _TRANSPARENT | _JOURNALIST:
        sizes = (played.people if measure in _JOURNALIST else played.effective)[kept]
        return of(1.0 / np.maximum(sizes, 1) > threshold, sizes, PEOPLE, f"with a risk above {threshold:g}")
    if measure in _ATTACKED:
        sizes = played.effective[kept]
        follower = own_follower(release.request, release.recipient, table.population.total)
        return of(follower.attacked(sizes), sizes, PEOPLE, "worth an attempt")
    if measure in _PLANNED | _PLANNED_ATTACKS:
        profile = recipient_profile(release.recipient, played, kept).profile
        groups = released_groups(table, played, kept, profile.prior)
        risks, limit = judged_risks(profile, groups), threshold if measure in _PLANNED else 0.0
        condition = f"with a risk above {threshold:g}" if measure in _PLANNED else "on which an attempt is made"
        return of(risks > limit, groups.candidates, CANDIDATES, condition)
    if measure in _COMBINED:
        above = release.request.policy.combined.threshold if measure is Measure.COMBINED_ABOVE else threshold
        classes = _classes(release, kept, range(len(table.hierarchies)))
        return _Found(_scored_above(release, kept, above), classes, RECORDS, f"with a score above {above:g}")
    return _by_class(release, kept, measure, threshold, of)


def _by_class(
    release: Release, kept: Flags, measure: Measure, threshold: float, of: Callable[[Flags, Counts, str, str], _Found]
) -> _Found:
    """Findings that follow from the classes of the file."""
    names = release.request.quasi_identifiers
    known = set(known_attributes(release.request)) if measure in _LINKED | _CERTAIN else set(names)
    classes = _classes(release, kept, [axis for axis, name in enumerate(names) if name in known])
    if measure is Measure.SMALLEST_CLASS:
        return of(classes < threshold, classes, RECORDS, f"in classes of fewer than {threshold:g}")
    if measure in _PROSECUTOR:
        return of(1.0 / classes > threshold, classes, RECORDS, f"with a risk above {threshold:g}")
    if measure in _CERTAIN:
        return of(classes == 1, classes, RECORDS, "alone in what is known of their class")
    chance = f"linked with a chance above {threshold:.4g} by their class alone"
    return of(1.0 / classes > threshold, classes, RECORDS, chance)


def _classes(release: Release, kept: Flags, axes: Sequence[int]) -> Counts:
    """Records of the file that share each tuple's released groups of some attributes."""
    if release.classes is not None:
        return release.classes[kept]
    sizes, cells = release.table.axis_sizes, release.played.cells[kept]
    records = release.table.data.counts[kept]
    if not axes:
        return np.full(len(records), records.sum(), dtype=np.int64)
    return class_sizes(cell_numbers(cells[:, list(axes)], [sizes[axis] for axis in axes]), records)


def _scored_above(release: Release, kept: Flags, threshold: float) -> Counts:
    """Records of each released tuple whose combined score exceeds the threshold, but for rounding."""
    tuples, scores = release.scored()
    above = np.bincount(tuples[scores * _ROUNDING > threshold], minlength=len(release.table.data))
    found: Counts = above[kept].astype(np.int64)
    return found


def _patterns(release: Release, positions: NDArray[np.intp], records: Counts) -> tuple[Pattern, ...]:
    levels = np.column_stack(
        [
            released_levels(release.table, release.played.levels[positions, axis], cells, axis)
            for axis, cells in enumerate(release.played.cells[positions].T)
        ]
    )
    patterns, place = np.unique(levels, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=records, minlength=len(patterns))
    names = release.request.quasi_identifiers
    found = [
        Pattern(dict(zip(names, pattern, strict=True)), round(count))
        for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.records, tuple(one.levels.values()))))


def _bands(sizes: Counts, records: Counts) -> tuple[Band, ...]:
    if not len(sizes):
        return ()
    place = np.searchsorted(EDGES, sizes, side="right") - 1
    counts = np.bincount(place, weights=records, minlength=len(EDGES))
    filled = np.flatnonzero(counts)
    return tuple(
        Band(EDGES[at], EDGES[at + 1] - 1 if at + 1 < len(EDGES) else None, round(counts[at]))
        for at in range(int(filled.min()), int(filled.max()) + 1)
    )


def _attributes(
    release: Release, kept: Flags, positions: NDArray[np.intp], records: Counts, *, by_people: bool
) -> tuple[Separated, ...]:
    """Each record counted for the attribute without which its group would be largest; the first of equals."""
    table, cells, names = release.table, release.played.cells, release.request.quasi_identifiers
    axes = range(len(names))
    if by_people:
        now = release.played.people[positions]
        without = [matching_people(table, _top(table, cells[positions], axis)) for axis in axes]
    else:
        at = np.searchsorted(np.flatnonzero(kept), positions)
        now = _classes(release, kept, axes)[at]
        without = [_classes(release, kept, [one for one in axes if one != axis])[at] for axis in axes]
    sizes = np.column_stack(without)
    best = np.where(sizes.max(axis=1) > now, sizes.argmax(axis=1), len(names))
    counts = np.bincount(best, weights=records, minlength=len(names) + 1)
    found = [Separated(name, round(count)) for name, count in zip((*names, ""), counts.tolist(), strict=True) if count]
    return tuple(sorted(found, key=lambda one: -one.records))


def _top(table: CountIndex, cells: Codes, axis: int) -> Codes:
    """The cells with one attribute withheld."""
    changed = cells.copy()
    hierarchy = table.hierarchies[axis]
    changed[:, axis] = hierarchy.finest[hierarchy.axis_length - 1]
    return changed
