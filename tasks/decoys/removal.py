"""Real classes that one recipient alone keeps, so that colluding recipients cannot find decoys by their absence.

A decoy of one recipient has no same-origin class in another recipient's copy. Recipients who compare copies see that,
unless real classes stand alone too: each recipient *keeps* some, and the classes of the same origin are *removed* from
every other copy. ``tasks.decoys.assignment`` chooses which ones.

Source: Antonatos et al., *AnonTokens* (2019), Sections 3 and 7.

What every assignment holds to
* A decoy is of the same origin as no real class of any copy, and as no other decoy: otherwise a re-identified person or
  a leaked row would not name its recipient.
* Kept classes are not of the same origin as one another.
* Where records are generalized each by itself, a class can be of the same origin as another of its own file. What is
  removed on account of a kept class is then removed from its keeper's copy too: nothing else stands alone there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import ClassTable, Rows, checked_classes, looks
from tasks.decoys.lineage import Lineage
from tasks.decoys.same_origin import of_same_origin, same_origin_pairs


@dataclass(frozen=True)
class Wanted:
    """Numbers of decoys and kept classes that one recipient is to get."""

    decoys: int
    """Decoy classes, from 1."""
    generalization: int = 0
    """Number of the file that its copy is made of."""


@dataclass(frozen=True)
class Share:
    """One recipient's part of an assignment, by rows of its file and of its file's candidates; shows none of them."""

    generalization: int
    decoys: Rows = field(repr=False)
    """Candidates that become its decoys."""
    kept: Rows = field(repr=False)
    """Real classes that no other copy has a same-origin class of."""
    removed: Rows = field(repr=False)
    """Real classes that its copy lacks."""
    missing: int
    """Records of the removed classes."""


@dataclass(frozen=True)
class Assignment:
    """Decoys, kept and removed classes of all recipients."""

    ratio: int
    """Kept classes a decoy, t."""
    shares: tuple[Share, ...]
    """In the order of what was wanted."""
    bound: int
    """No assignment misses fewer records for its worst-off recipient."""

    @property
    def worst_missing(self) -> int:
        """Most records that any one copy misses."""
        return max(share.missing for share in self.shares)

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """Whether the worst missing records are proven the least possible."""
        return "optimal" if self.worst_missing <= self.bound else "feasible"

    @property
    def gap(self) -> float:
        """Share of the worst missing records that a better assignment could save at most."""
        return max(self.worst_missing - self.bound, 0) / max(self.worst_missing, 1)


@dataclass(frozen=True)
class Ground:
    """Files and candidates that decoys and kept classes are chosen from; made by ``ground``."""

    files: tuple[ClassTable, ...]
    """Real classes, one table a generalization."""
    candidates: tuple[ClassTable, ...]
    """Decoy classes that could be made, one table a generalization; rows with equal cells are one class in several
    sizes."""
    axes: tuple[Lineage, ...] = field(repr=False)

    @cached_property
    def real(self) -> ClassTable:
        """Classes of all files, one after the other."""
        return self.files[0].with_rows(*self.files[1:])

    @cached_property
    def offered(self) -> ClassTable:
        """Candidates for all files, one after the other."""
        return self.candidates[0].with_rows(*self.candidates[1:])

    @cached_property
    def file_of(self) -> Rows:
        """File of each real class."""
        return np.repeat(np.arange(len(self.files)), [len(table) for table in self.files])

    @cached_property
    def offered_for(self) -> Rows:
        """File that each candidate is for."""
        return np.repeat(np.arange(len(self.files)), [len(table) for table in self.candidates])

    @cached_property
    def look(self) -> tuple[Rows, Rows]:
        """Bin of each real class and of each candidate; see ``tasks.decoys.class_table.looks``."""
        real, offered = looks([self.real, self.offered])
        return real, offered

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Whether each candidate is of the same origin as no real class of any file."""
        free: NDArray[np.bool_] = ~of_same_origin(self.offered.cells, self.real.cells, self.axes)
        return free

    @cached_property
    def relatives(self) -> tuple[Rows, Rows]:
        """Ordered pairs of real classes of the same origin, each with itself included, by row of ``real``."""
        return same_origin_pairs(self.real.cells, self.real.cells, self.axes)

    @cached_property
    def rivals(self) -> tuple[Rows, Rows]:
        """Pairs of usable candidates of which one copy at most can have one, by row of ``offered``, each pair once."""
        rows = np.flatnonzero(self.usable)
        ours, theirs = same_origin_pairs(self.offered.cells[rows], self.offered.cells[rows], self.axes)
        once = ours < theirs
        return rows[ours[once]], rows[theirs[once]]

    @cached_property
    def form(self) -> tuple[int, ...]:
        """For each file, the first one of the same classes: what is kept in one is removed from the other."""
        keys = [(table.cells.tobytes(), table.records.tobytes()) for table in self.files]
        return tuple(keys.index(key) for key in keys)

    def removed_for(self, kept: Rows) -> NDArray[np.bool_]:
        """Whether each real class is of the same origin as one of some kept classes, those included."""
        flags = np.zeros(len(self.real), dtype=bool)
        flags[kept] = True
        ours, theirs = self.relatives
        removed = np.zeros(len(self.real), dtype=bool)
        removed[theirs[flags[ours]]] = True
        return removed


def ground(files: Sequence[ClassTable], candidates: Sequence[ClassTable], axes: Sequence[Lineage]) -> Ground:
    """Check files and candidates and put them together.

    Raises
    ------
    ParameterError
        If a table is not sound, a cell occurs twice in a file, or there is not one table of candidates a file.
    """
    if not files or len(files) != len(candidates):
        raise ParameterError(
            "files and candidates do not go together",
            where="files and candidates",
            expected="at least one file, and one table of candidates for each",
            got=f"{len(files)} and {len(candidates)}",
            fix="look for candidates under each generalization that a copy has",
        )
    real = tuple(checked_classes(table, axes, f"file {number}") for number, table in enumerate(files, start=1))
    offered = tuple(checked_classes(table, axes, f"candidates {n}") for n, table in enumerate(candidates, start=1))
    for number, table in enumerate(real, start=1):
        if len(np.unique(table.cells, axis=0)) < len(table):
            raise ParameterError(
                "a class occurs twice in a file",
                where=f"file {number}",
                expected="each cell once",
                got=f"{len(table) - len(np.unique(table.cells, axis=0))} repeated",
                fix="count the records of each cell",
            )
    return Ground(real, offered, tuple(axes))


def check_wanted(place: Ground, wanted: Sequence[Wanted], ratio: int) -> None:
    """Refuse what no assignment can be made for.

    Raises
    ------
    ParameterError
        If no recipient wants decoys, one of them wants none or a file that does not exist, or the ratio is below 1.
    """
    if not wanted or any(want.decoys < 1 for want in wanted):
        raise ParameterError(
            "nobody, or a recipient with no decoys, cannot be assigned any",
            where="wanted",
            expected="at least one recipient, each with one decoy class or more",
            got=f"{len(wanted)} recipients, {sum(want.decoys < 1 for want in wanted)} of them without",
            fix="leave out recipients that get no decoys",
        )
    if any(not 0 <= want.generalization < len(place.files) for want in wanted):
        raise ParameterError(
            "a recipient's copy is made of a file that is not there",
            where="wanted",
            expected=f"file numbers from 0 to {len(place.files) - 1}",
            got="others",
            fix="give the number of the recipient's file",
        )
    if ratio < 1:
        raise ParameterError(
            "the number of kept classes a decoy is outside its range",
            where="ratio t",
            expected="a whole number from 1",
            got=str(ratio),
            fix="give 1 or more; colluders then name a decoy with probability 1/(1+t) at most",
        )


@dataclass(frozen=True)
class Terms:
    """How an assignment was chosen, and what it may cost."""

    ratio: int
    bound: int
    budget: int | None


def assembled(
    place: Ground, wanted: Sequence[Wanted], decoys: Sequence[Rows], kept: Sequence[Rows], terms: Terms
) -> Assignment:
    """The assignment that follows from each recipient's decoys and kept classes, by rows of ``offered`` and ``real``.

    Raises
    ------
    ParameterError
        If a copy would miss more records than the budget.
    """
    removed = place.removed_for(np.concatenate(kept))
    starts = np.cumsum([0, *[len(table) for table in place.files]])
    offsets = np.cumsum([0, *[len(table) for table in place.candidates]])
    shares = []
    for want, drawn, held in zip(wanted, decoys, kept, strict=True):
        lost = removed & (place.file_of == want.generalization)
        lost[held] = False
        shares.append(
            Share(
                generalization=want.generalization,
                decoys=np.sort(drawn) - offsets[want.generalization],
                kept=np.sort(held) - starts[want.generalization],
                removed=np.flatnonzero(lost) - starts[want.generalization],
                missing=int(place.real.records[lost].sum()),
            )
        )
    found = Assignment(terms.ratio, tuple(shares), terms.bound)
    if terms.budget is not None and found.worst_missing > terms.budget:
        _refuse_budget(found, terms.budget)
    return found


def _refuse_budget(found: Assignment, budget: int) -> NoReturn:
    least = "no assignment misses fewer" if found.status == "optimal" else "this assignment's, perhaps not the least"
    raise ParameterError(
        "the copies would miss more records than the budget allows",
        where=f"{len(found.shares)} recipients, ratio {found.ratio}",
        expected=f"at most {budget} records missing from any copy",
        got=f"{found.worst_missing} ({least})",
        fix=f"allow {found.worst_missing} records, or ask for fewer recipients, fewer decoys or a lower ratio",
    )
