"""Holdings of a release's intruder: the original file, in the attributes that the policy takes as known."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.files import Files, Knowledge, Positions
from tasks.assessments.linkage.generalized import OwnCells
from tasks.assessments.linkage.generalized_files import GeneralizedRelease
from tasks.assessments.linkage.hierarchy_distance import AxisGroups, leaf_numbers
from tasks.assessments.linkage.informed import Release
from tasks.assessments.linkage.method_knowledge import MaskedPart
from tasks.assessments.linkage.mixed import GeneralizedPart, MixedFiles, mixed_files
from tasks.assessments.linkage.policies import played_release, table_groups
from tasks.core.errors import ParameterError
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.problem import fold
from tasks.generalization.transparency import cell_numbers
from tasks.masking.masked_columns import MaskedColumns
from tasks.microdata.coded import Prepared
from tasks.microdata.columns import known_probabilities
from tasks.microdata.hierarchy import Codes
from tasks.request.model import ReleaseRequest, ValueType


def known_attributes(request: ReleaseRequest) -> tuple[str, ...]:
    """Attributes that the intruder holds of everybody, in the order of the request.

    Those that the policy names; else the quasi-identifiers, the masked attributes and whatever is known for certain.
    """
    named = request.policy.linkage.known
    if named is None:
        sure = {name for name, probability in known_probabilities(request).items() if probability == 1}
        named = (*request.quasi_identifiers, *request.masked, *sure)
    return tuple(name for name in request.attributes if name in set(named))


@dataclass(frozen=True)
class Holdings:
    """The original file and the released one, in the known attributes."""

    names: tuple[str, ...]
    """All known attributes."""
    quasi: tuple[int, ...]
    """Positions of the known ones among the quasi-identifiers."""
    unchanged: tuple[str, ...]
    """Known attributes that are released unchanged."""
    unchanged_codes: NDArray[np.int64]
    """Their values, shape (n_records, n_unchanged)."""
    parts: tuple[MaskedPart, ...]
    """Known masked attributes, one part a masking; those that are the same in all masked records are left out."""
    masked_names: tuple[tuple[str, ...], ...]
    """Their names, by part."""
    table: CountIndex
    played: Generalization
    kept: NDArray[np.bool_]
    """Whether a tuple's records are released, shape (n_tuples,)."""
    tuple_of_record: NDArray[np.int32]
    quasi_names: tuple[str, ...]
    """Names of all quasi-identifiers."""
    groups: tuple[AxisGroups, ...]
    """Groups of all quasi-identifiers."""
    rule: Callable[[], Codes]
    """Gives the cell of each tuple of the population, in axis positions."""
    narrowed: dict[tuple[str, ...], MaskedPart] = field(default_factory=dict, repr=False, compare=False)
    """Parts with fewer attributes known, cached for the values derived from them."""

    @cached_property
    def released(self) -> Positions:
        """Position in the file of each released record."""
        return np.flatnonzero(self.kept[self.tuple_of_record])

    @cached_property
    def generalized(self) -> GeneralizedRelease:
        """The generalized attributes, by distinct tuples."""
        return played_release(self.table, self.played, self.kept, self.groups)

    @property
    def knows_the_cell(self) -> bool:
        """Whether all quasi-identifiers are known, so that the rule gives a person's own cell."""
        return len(self.quasi) == len(self.quasi_names)

    @cached_property
    def cell_of_record(self) -> NDArray[np.int64]:
        """Number of each record's cell, shape (n_records,)."""
        _, number = np.unique(cell_numbers(self.played.cells, self.table.axis_sizes), return_inverse=True)
        return number.astype(np.int64)[self.tuple_of_record]

    @property
    def collected_share(self) -> float:
        """Share of all records that the same attributes link in the file as collected.

        The intruder guesses among the records that are equal in all of them, so that n records of d different kinds
        give d right links of n.
        """
        codes = self.table.data.codes[:, list(self.quasi)][self.tuple_of_record]
        columns = np.hstack([codes, self.unchanged_codes, *(part.original for part in self.parts)]).T
        _, kinds = fold([np.unique(column, return_inverse=True)[1] for column in columns])
        return len(kinds) / len(self.tuple_of_record)

    def release(self, *, cells: bool, unchanged: bool, parts: Sequence[MaskedPart]) -> Release:
        """The release as an intruder sees it who uses only some of it."""
        equal = [self.cell_of_record[:, None]] if cells else []
        if unchanged:
            equal.append(self.unchanged_codes)
        none = np.empty((len(self.tuple_of_record), 0), dtype=np.int64)
        return Release(self.released, np.hstack([none, *equal]), tuple(parts))

    @property
    def numbers(self) -> Files:
        """The known masked attributes of the released records, before and after."""
        before = np.hstack([part.original for part in self.parts])[self.released]
        after = np.hstack([part.masked for part in self.parts])[self.released]
        names = tuple(name for part in self.masked_names for name in part)
        return Files(before, after, np.arange(len(before)), tuple(range(len(names))), names, len(names))

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of what ``mixed`` compares: generalized attributes, then numbers."""
        return (*(self.quasi_names[axis] for axis in self.quasi), *self.number_names)

    def only(self, names: Collection[str]) -> "Holdings":
        """The same of an intruder who holds these attributes alone."""
        parts, masked_names = [], []
        for part, known in zip(self.parts, self.masked_names, strict=True):
            places = [place for place, name in enumerate(known) if name in names]
            if places:
                chosen = tuple(known[place] for place in places)
                if chosen not in self.narrowed:
                    values = part.original[:, places], part.masked[:, places]
                    self.narrowed[chosen] = MaskedPart(part.masking, *values, complete=False)
                parts.append(part if chosen == known else self.narrowed[chosen])
                masked_names.append(chosen)
        unchanged = [place for place, name in enumerate(self.unchanged) if name in names]
        return replace(
            self,
            names=tuple(name for name in self.names if name in names),
            quasi=tuple(axis for axis in self.quasi if self.quasi_names[axis] in names),
            unchanged=tuple(self.unchanged[place] for place in unchanged),
            unchanged_codes=self.unchanged_codes[:, unchanged],
            parts=tuple(parts),
            masked_names=tuple(masked_names),
        )

    def mixed(self, people: Positions, *, matching: bool = False) -> MixedFiles:
        """Generalized attributes and masked numbers side by side, for some people.

        Parameters
        ----------
        people : array of int
            Positions among the released records.
        matching : bool
            Whether records whose groups do not hold the known values come after all others.
        """
        tuples = self.tuple_of_record[self.released]
        part = GeneralizedPart(self.groups, self.table.data.codes[tuples], self.played.cells[tuples])
        numbers = self.some_numbers(people) if self.parts else None
        known = Knowledge(attributes=self.quasi, records=tuple(people.tolist()))
        return mixed_files(part if self.quasi else None, numbers, known, matching=matching)

    def some_numbers(self, people: Positions) -> Files:
        """The known masked attributes, the intruder looking for some people only."""
        numbers = self.numbers
        return replace(numbers, original=numbers.original[people], truth=numbers.truth[people])

    @cached_property
    def own_cells(self) -> OwnCells:
        """Cell that the rule gives each person in the population."""
        return OwnCells(self.table.population.codes, self.rule(), self.table.population.counts)

    @property
    def number_names(self) -> tuple[str, ...]:
        """Names of the known masked attributes, in the order of ``numbers``."""
        return tuple(name for part in self.masked_names for name in part)


def holdings(  # noqa: PLR0917
    request: ReleaseRequest,
    prepared: Prepared,
    table: CountIndex,
    played: Generalization,
    kept: NDArray[np.bool_],
    columns: MaskedColumns,
    rule: Callable[[], Codes],
) -> Holdings:
    """Assemble the intruder's holdings.

    Parameters
    ----------
    request : ReleaseRequest
    prepared : Prepared
    table : CountIndex
    played : Generalization
    kept : array of shape (n_tuples,)
        Whether a tuple's records are released.
    columns : MaskedColumns
    rule : callable
        Gives the cell of each tuple of the population.
    """
    names = known_attributes(request)
    quasi_names = request.quasi_identifiers
    unchanged = tuple(name for name in names if name not in quasi_names and name not in columns.names)
    coded = [prepared.columns[name].codes.astype(np.int64)[:, None] for name in unchanged]
    none = np.empty((len(prepared.tuple_of_record), 0), dtype=np.int64)
    released = kept[prepared.tuple_of_record]
    parts, masked_names = [], []
    for masking in request.masking:
        places = columns.columns([name for name in masking.attributes if name in names])
        varying = [place for place in places if _varies(columns, place, released)]
        if varying:
            complete = len(varying) == len(masking.attributes)
            before, after = columns.original[:, varying], columns.masked[:, varying]
            parts.append(MaskedPart(masking, before, after, complete))
            masked_names.append(tuple(columns.names[place] for place in varying))
    return Holdings(
        names=names,
        quasi=tuple(axis for axis, name in enumerate(quasi_names) if name in names),
        unchanged=unchanged,
        unchanged_codes=np.hstack([none, *coded]),
        parts=tuple(parts),
        masked_names=tuple(masked_names),
        table=table,
        played=played,
        kept=kept,
        tuple_of_record=prepared.tuple_of_record,
        quasi_names=quasi_names,
        rule=rule,
        groups=table_groups(table, [_leaf_numbers(request, table, axis) for axis in range(len(quasi_names))]),
    )


def _varies(columns: MaskedColumns, place: int, released: NDArray[np.bool_]) -> bool:
    masked, original = columns.masked[released, place], columns.original[released, place]
    return bool(masked.min() < masked.max() and original.min() < original.max())


def _leaf_numbers(request: ReleaseRequest, table: CountIndex, axis: int) -> NDArray[np.float64] | None:
    """Numbers of the values of an attribute of amounts; None where some value, such as “unknown”, is none."""
    attribute = request.attributes[request.quasi_identifiers[axis]]
    if attribute.type not in (ValueType.INTEGER, ValueType.NUMBER):
        return None
    try:
        return leaf_numbers(table.hierarchies[axis])
    except ParameterError:
        return None
