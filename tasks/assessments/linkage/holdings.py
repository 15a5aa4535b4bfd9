"""Holdings of a release's intruder: the original file, in the attributes that the policy takes as known."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.generalized import OwnCells
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.mixed import AlikeRecords, MixedFiles, alike_records, mixed_files
from tasks.assessments.linkage.problem.files import Files, Positions
from tasks.assessments.linkage.problem.generalized_files import AxisGroups, LinkableRelease, index_groups, leaf_numbers
from tasks.assessments.linkage.within import MaskedPart
from tasks.candidate.candidate import Candidate
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.kanonymity.classes import fold, fold_columns
from tasks.microdata.coded import Prepared, certain_columns, knowable_columns
from tasks.request.model import NUMERIC, ReleaseRequest, ValueType


def known_attributes(request: ReleaseRequest, prepared: Prepared) -> tuple[str, ...]:
    """Attributes that the policy names as known of everybody; else quasi-identifiers, certain ones, knowable numbers.

    The column decides, not its masking: whoever would know a number that is masked knows it in clear. What may be
    known with any probability counts as known, for gates judge the intruder who has it.
    """
    named = request.policy.linkage.known
    if named is None:
        named = (*request.quasi_identifiers, *certain_columns(request), *knowable_numbers(request, prepared))
    return tuple(name for name in request.attributes if name in set(named))


def knowable_numbers(request: ReleaseRequest, prepared: Prepared) -> tuple[str, ...]:
    """Numbers besides the quasi-identifiers, masked or not, unless the request says that nobody knows them."""
    return _numbers(knowable_columns(request), request, prepared)


def known_numbers(request: ReleaseRequest, prepared: Prepared) -> tuple[str, ...]:
    """Numbers that attacks by numbers alone make use of: those that may be known, or that the policy names."""
    return _numbers(known_attributes(request, prepared), request, prepared)


def _numbers(names: Sequence[str], request: ReleaseRequest, prepared: Prepared) -> tuple[str, ...]:
    """Columns of numbers among some columns, by their type or as they are written, without quasi-identifiers."""
    numbers = {name for name, one in request.attributes.items() if one.type in NUMERIC}.union(prepared.numerals)
    return tuple(name for name in names if name in numbers.difference(request.quasi_identifiers))


@dataclass(frozen=True, eq=False)
class Holdings:
    """The original file and the released one, in the known attributes.

    A part a masking; attributes of one masked value are left out. ``narrowed`` keeps parts with fewer attributes known.
    """

    candidate: Candidate
    names: tuple[str, ...]
    parts: tuple[MaskedPart, ...]
    groups: tuple[AxisGroups, ...]
    narrowed: dict[tuple[str, ...], MaskedPart] = field(default_factory=dict, repr=False)

    @property
    def released(self) -> Positions:
        """Position in the file of each released record."""
        return self.candidate.rows

    @property
    def quasi(self) -> tuple[int, ...]:
        """Positions of the known ones among the quasi-identifiers."""
        quasi_names = self.candidate.request.quasi_identifiers
        return tuple(axis for axis, name in enumerate(quasi_names) if name in self.names)

    @property
    def quasi_names(self) -> tuple[str, ...]:
        """Names of the known quasi-identifiers."""
        return tuple(self.candidate.request.quasi_identifiers[axis] for axis in self.quasi)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Known attributes that are released unchanged."""
        changed = {*self.candidate.request.quasi_identifiers, *self.candidate.masked.names}
        return tuple(name for name in self.names if name not in changed)

    @property
    def clear(self) -> tuple[str, ...]:
        """Known numbers in clear, of which attacks by numbers alone make use."""
        numbers = set(known_numbers(self.candidate.request, self.candidate.prepared))
        return tuple(name for name in self.unchanged if name in numbers)

    def classes(self, names: Sequence[str], *, cells: bool = False) -> NDArray[np.int64]:
        """Class of each record, released or not: equal in some attributes, and in their cells; shape (n_records,)."""
        prepared = self.candidate.prepared
        columns: list[NDArray[np.integer]] = [prepared.columns[name].codes for name in names]
        columns += [self.cell_of_tuple[prepared.tuple_of_record]] if cells else []
        return fold_columns(columns, len(prepared.tuple_of_record))[0]

    @property
    def number_names(self) -> tuple[str, ...]:
        """Names of the known masked attributes, in the order of ``numbers``."""
        return tuple(name for part in self.parts for name in part.names)

    @cached_property
    def varying(self) -> tuple[int, ...]:
        """Positions of the known quasi-identifiers that differ between released records."""
        cells = self.candidate.generalization.cells[self.candidate.released]
        return tuple(axis for axis in self.quasi if np.ptp(cells[:, axis]) > 0)

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of what ``mixed`` compares: generalized attributes that are not withheld everywhere, then numbers."""
        quasi_names = self.candidate.request.quasi_identifiers
        return (*(quasi_names[axis] for axis in self.varying), *self.number_names)

    @property
    def knows_the_cell(self) -> bool:
        """Whether all quasi-identifiers are known, so that the rule gives a person's own cell."""
        return len(self.quasi) == len(self.groups)

    @cached_property
    def generalized(self) -> LinkableRelease:
        """The generalized attributes, by distinct tuples."""
        return linkable_release(self.candidate, self.groups)

    @cached_property
    def own_cells(self) -> OwnCells:
        """Cell that the rule gives each person in the population."""
        population = self.candidate.index.population
        return OwnCells(population.codes, self.candidate.own_cells, population.counts)

    @cached_property
    def cell_of_tuple(self) -> NDArray[np.int64]:
        """Number of each distinct tuple's cell, shape (n_tuples,)."""
        cells = cell_numbers(self.candidate.generalization.cells, self.candidate.index.axis_sizes)
        return np.unique(cells, return_inverse=True)[1].astype(np.int64)

    @property
    def collected_share(self) -> float:
        """Share linked by the known attributes in the file as collected: n records of d kinds give d right links."""
        return self._kinds((*self.quasi_names, *self.unchanged, *self.number_names), slice(None))

    def most_linked(self, names: Sequence[str]) -> float:
        """The share of the released records that no attack by some of the attributes exceeds.

        People of equal values are looked for alike, and records of equal released values are taken alike, so that one
        of them is found at most.
        """
        return min(self._kinds(names, self.released), self._kinds(names, self.released, collected=False))

    def _kinds(self, names: Sequence[str], records: Positions | slice, *, collected: bool = True) -> float:
        """Kinds of some records in some attributes, as collected or as released, over the records."""
        candidate = self.candidate
        tuples, quasi = candidate.prepared.tuple_of_record[records], candidate.request.quasi_identifiers
        generalized = candidate.index.data.codes if collected else candidate.generalization.cells
        masked = candidate.masked.original if collected else candidate.masked.masked
        columns = [
            generalized[tuples, quasi.index(name)]
            if name in quasi
            else np.unique(masked[records, candidate.masked.names.index(name)], return_inverse=True)[1]
            if name in candidate.masked.names
            else candidate.prepared.columns[name].codes[records]
            for name in names
        ]
        return len(fold(np.column_stack(columns))[1]) / len(tuples)

    def view(self, *, cells: bool, unchanged: bool, parts: tuple[MaskedPart, ...]) -> InformedView:
        """The release as an intruder sees it who uses only some of it."""
        names = self.unchanged if unchanged else ()
        return InformedView(self.released, self.classes(names, cells=cells)[:, None], parts)

    def numbers_view(self) -> InformedView:
        """The release as an intruder sees it who uses its numbers alone, those in clear and the masked ones."""
        return InformedView(self.released, self.classes(self.clear)[:, None], self.parts)

    def numbers(self, people: Positions | None = None) -> Files:
        """The known masked attributes of the released records, before and after; of some people, or of everybody."""
        before = np.hstack([part.original for part in self.parts])[self.released]
        after = np.hstack([part.masked for part in self.parts])[self.released]
        truth = np.arange(len(after)) if people is None else people
        return Files(before[truth], after, truth, self.number_names)

    def mixed(self, people: Positions, *, matching: bool = False) -> MixedFiles:
        """All that is compared of some people; ``matching`` puts groups that do not hold the known values last."""
        axes, tuples = list(self.varying), self.candidate.prepared.tuple_of_record[self.released[people]]
        numbers = self.numbers(people) if self.parts else None
        groups, leaves = [self.groups[axis] for axis in axes], self.candidate.index.data.codes[tuples][:, axes]
        return mixed_files(people, groups, leaves, self.alike, numbers, matching=matching)

    @cached_property
    def alike(self) -> AlikeRecords:
        """The released records by all that ``mixed`` compares."""
        cells = self.candidate.generalization.cells[:, list(self.varying)]
        masked = self.numbers().masked if self.parts else None
        classes = self.classes(self.unchanged)[self.released]
        return alike_records(cells[self.candidate.prepared.tuple_of_record[self.released]], masked, classes)

    def only(self, names: Collection[str]) -> "Holdings":
        """The holdings of an intruder who has these attributes alone."""
        parts = []
        for part in self.parts:
            known = tuple(name for name in part.names if name in names)
            if known and known != part.names and known not in self.narrowed:
                places = [part.names.index(name) for name in known]
                values = part.original[:, places], part.masked[:, places]
                self.narrowed[known] = MaskedPart(part.masking, *values, False, names=known, stated=part.stated)
            if known:
                parts.append(part if known == part.names else self.narrowed[known])
        own = tuple(name for name in self.names if name in names)
        return replace(self, names=own, parts=tuple(parts))


def holdings_of(candidate: Candidate) -> Holdings:
    """Holdings of an intruder who has the original file of the people in a candidate, in all that attacks make use of.

    ``only`` keeps what is known of everybody, or numbers.
    """
    request, columns = candidate.request, candidate.masked
    names = known_attributes(request, candidate.prepared)
    parts = []
    for masking in request.masking:
        places = [
            place
            for place in columns.columns([name for name in masking.attributes if name in names])
            if all(_varies(side[candidate.rows, place]) for side in (columns.masked, columns.original))
        ]
        if places:
            complete = len(places) == len(masking.attributes)
            known = tuple(columns.names[place] for place in places)
            values = columns.original[:, places], columns.masked[:, places]
            parts.append(MaskedPart.of(masking, *values, complete=complete, names=known))
    amounts = [
        leaf_numbers(hierarchy) if request.attributes[name].type in (ValueType.INTEGER, ValueType.NUMBER) else None
        for name, hierarchy in zip(request.quasi_identifiers, candidate.index.hierarchies, strict=True)
    ]
    return Holdings(candidate, names, tuple(parts), index_groups(candidate.index, amounts))


def _varies(values: NDArray[np.float64]) -> bool:
    """Whether the values that are not missing differ."""
    stated = values[~np.isnan(values)]
    return len(stated) > 0 and bool(np.ptp(stated) > 0)


def linkable_release(candidate: Candidate, groups: tuple[AxisGroups, ...] | None = None) -> LinkableRelease:
    """The file that a candidate's generalization releases, by distinct tuples; groups have no numbers by default."""
    data = candidate.index.data
    cells = candidate.generalization.cells
    return LinkableRelease(groups or index_groups(candidate.index), data.codes, cells, data.counts, candidate.released)
