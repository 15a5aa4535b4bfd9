"""The assignment of decoys and kept classes that costs the worst-off recipient the fewest records.

A decoy of one recipient has no same-origin class in another recipient's copy. Recipients who compare copies see that,
unless real classes stand alone too: each recipient *keeps* some, and the classes of the same origin are *removed* from
every other copy (Antonatos et al., *AnonTokens*, 2019, Sections 3 and 7).

What every assignment holds to
* A decoy is of the same origin as no real class of any copy, and as no other decoy: ``tasks.decoys.planning`` offers
  only such cells. Otherwise a re-identified person or a leaked row would not name its recipient.
* In every bin b of classes that an attacker cannot distinguish (equal size, people linked within a half-octave) each
  recipient i keeps t classes for each decoy: Σ_{e in b} y[e, i] = t · Σ_{d in b} x[d, i]. So whoever compares copies
  and names a class as a decoy is right with probability 1/(1+t) at most, even with the population and this method
  known.
* Kept classes are not of the same origin as one another.
* Where records are generalized each by itself, a class can be of the same origin as another of its own file. What is
  removed on account of a kept class is then removed from its keeper's copy too: nothing else stands alone there.

All cells that are offered are used, so the records that are kept in each bin are known. What is searched by integer
programming (CP-SAT) is who gets decoys of which size, and which real classes are kept: a class that has relatives in
some file removes these too. What class of a bin is used by whom is drawn afterwards.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from ortools.sat.python import cp_model

from tasks.core.errors import ParameterError, StageFailed
from tasks.core.plural import plural
from tasks.decoys.classes import ClassTable, Flags, Lineage, Rows, joined, looks
from tasks.decoys.origins import Origins, Placed, Roster

_SEED = 1
_SPARE = 2
_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)


@dataclass(frozen=True)
class Offer:
    """Decoy classes that can be made in one file, no two of the same origin."""

    file: int
    classes: ClassTable = field(repr=False)


@dataclass(frozen=True)
class Demand:
    """Decoys that one recipient is to get of an offer."""

    offer: int
    decoys: int


@dataclass(frozen=True)
class Share:
    """One recipient's part of an assignment; shows none of it."""

    file: int
    decoys: Rows = field(repr=False)
    """Classes of its offer that become its decoys."""
    kept: Rows = field(repr=False)
    """Real classes of its file that no other copy has a same-origin class of."""
    removed: Rows = field(repr=False)
    """Real classes of its file that its copy lacks."""
    missing: int
    """Records of the removed classes."""


@dataclass(frozen=True)
class Assignment:
    """Decoys, kept and removed classes of all recipients."""

    shares: tuple[Share, ...]
    """In the order of the demands."""
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


@dataclass(frozen=True)
class AssignmentProblem:
    """Real classes and decoys to assign."""

    files: tuple[ClassTable, ...]
    """Real classes, one table a generalization; no cell occurs twice in one."""
    offers: tuple[Offer, ...]
    axes: tuple[Lineage, ...] = field(repr=False)
    by_people: bool = True
    """Whether bins go by the people linked too; not where some offer has decoys riskier than any real class."""
    rosters: tuple[Roster, ...] = field(repr=False, default=())
    """The people of the classes of each file, where some have remainder classes."""

    @cached_property
    def real(self) -> ClassTable:
        """Classes of all files, one after the other."""
        return joined(self.files)

    @cached_property
    def starts(self) -> Rows:
        """Row of ``real`` at which each file begins, with their number last."""
        return np.cumsum([0, *[len(table) for table in self.files]])

    @cached_property
    def file_of(self) -> Rows:
        """File of each row of ``real``."""
        return np.repeat(np.arange(len(self.files)), np.diff(self.starts))

    @cached_property
    def relatives(self) -> tuple[Rows, Rows]:
        """Ordered pairs of real classes of the same origin, each with itself included, by row of ``real``."""
        every = Placed(self.real.cells, self.file_of)
        return Origins(self.axes, self.rosters).classes(every, every)

    @cached_property
    def alone(self) -> Flags:
        """Whether each real class has no relative but itself."""
        return np.asarray(np.bincount(self.relatives[0], minlength=len(self.real)) == 1)

    @cached_property
    def bins(self) -> tuple[list[Rows], list[Rows]]:
        """Bin of each class of each file, and of each offer's classes; numbered through over all of them."""
        tables = [*self.files, *[offer.classes for offer in self.offers]]
        bins, ends = looks(joined(tables), by_people=self.by_people), np.cumsum([len(table) for table in tables])
        parts = np.split(bins, ends[:-1])
        return parts[: len(self.files)], parts[len(self.files) :]

    def removed_for(self, kept: Rows) -> Flags:
        """Whether each real class is of the same origin as one of some kept classes, those included."""
        ours, theirs = self.relatives
        return np.isin(np.arange(len(self.real)), theirs[np.isin(ours, kept)])


def assign(
    problem: AssignmentProblem,
    demands: Sequence[Demand],
    ratio: int,
    generator: np.random.Generator,
    *,
    budget: int | None = None,
    effort: float = 10.0,
) -> Assignment:
    """Assign decoys and kept classes so that the worst-off recipient misses the fewest records.

    One demand a recipient, seats included, together all that is offered; `ratio` kept classes a decoy, t, from 1. The
    generator draws the classes within a bin alone. `effort` is in CP-SAT's deterministic units of about a second: the
    same request has the same outcome on every machine. A ParameterError says what would make an assignment exist,
    within the budget of missing records a copy; StageFailed is a search that ended with neither an assignment nor a
    proof.
    """
    needed = _needed(problem, ratio)
    if any(len(rows) < number for rows, number in needed):
        raise _no_room(problem, demands, ratio)
    cheap = [(_cheapest(problem, rows, number, generator), number) for rows, number in needed]
    best, bound = None, 0
    for bins in (cheap, needed):
        model = _Model(problem, demands, ratio, bins, effort)
        if model.status in _FOUND:
            bound = model.bound if bins is needed else model.least
            best = model if best is None or model.worst < best.worst else best
            if best.worst <= bound:
                break
    if best is None and model.status == cp_model.INFEASIBLE:
        raise _no_room(problem, demands, ratio)
    if best is None:
        raise StageFailed(
            "no assignment of decoys was found in time",
            where=f"{len(demands)} recipients, policy.decoys.kept_per_decoy {ratio}",
            expected="an assignment, or a proof that there is none",
            got=f"neither within an effort of {effort:g}",
            fix="allow more effort, or ask for fewer decoys",
        )
    found = Assignment(_dealt(problem, demands, ratio, best, generator), bound)
    if budget is None or found.worst_missing <= budget:
        return found
    least = "no assignment misses fewer" if found.status == "optimal" else "this assignment's, perhaps not the least"
    raise ParameterError(
        "the copies would miss more records than the budget allows",
        where=f"{len(found.shares)} recipients, policy.decoys.kept_per_decoy {ratio}",
        expected=f"at most {budget} records missing from any copy",
        got=f"{found.worst_missing} ({least})",
        fix=f"allow {found.worst_missing} records, or ask for fewer recipients, fewer decoys or a lower "
        "policy.decoys.kept_per_decoy",
    )


def _needed(problem: AssignmentProblem, ratio: int) -> list[tuple[Rows, int]]:
    """For each bin with decoys, the rows of ``real`` that could be kept, and how many must be."""
    wanted: dict[tuple[int, int], int] = defaultdict(int)
    for offer, names in zip(problem.offers, problem.bins[1], strict=True):
        for name in names.tolist():
            wanted[offer.file, name] += ratio
    return [
        (problem.starts[file] + np.flatnonzero(problem.bins[0][file] == name), number)
        for (file, name), number in sorted(wanted.items())
    ]


def _cheapest(problem: AssignmentProblem, rows: Rows, number: int, generator: np.random.Generator) -> Rows:
    """The classes of a bin without relatives, and of the others those that remove the fewest records."""
    kept, other = problem.relatives
    costs = np.bincount(kept, weights=problem.real.records[other], minlength=len(problem.real))
    related = generator.permutation(rows[~problem.alone[rows]])
    cheap = related[np.argsort(costs[related], kind="stable")[: _SPARE * number]]
    return np.sort(np.concatenate([rows[problem.alone[rows]], cheap]))


class _Model:
    """The integer program over some real classes of each bin, and its solution if `status` is one of ``_FOUND``."""

    def __init__(
        self,
        problem: AssignmentProblem,
        demands: Sequence[Demand],
        ratio: int,
        bins: Sequence[tuple[Rows, int]],
        effort: float,
    ) -> None:
        self.bins = bins
        self._model, self._solver = cp_model.CpModel(), cp_model.CpSolver()
        self._solver.parameters.num_workers = 1
        self._solver.parameters.random_seed = _SEED
        self._solver.parameters.max_deterministic_time = effort
        self._dealt = self._deal(problem, demands)
        self._kept: dict[int, Any] = {}
        losses = self._lost(problem)
        hands = [sum(size * count for size, count in own.items()) for own in self._dealt]
        by_file: dict[int, list[int]] = defaultdict(list)
        for one in demands:
            by_file[problem.offers[one.offer].file].append(one.decoys)
        sizes = {file: [offer.classes.records for offer in problem.offers if offer.file == file] for file in by_file}
        self.least = ratio * max(least_missing(np.concatenate(sizes[file]), own) for file, own in by_file.items())
        self._worst = self._model.new_int_var(self.least, int(problem.real.records.sum()), "worst")
        last: dict[Demand, Any] = {}
        for one, hand in zip(demands, hands, strict=True):
            self._model.add(self._worst >= losses[problem.offers[one.offer].file] - ratio * hand)
            if one in last:  # recipients who want the same are exchangeable; one order of them is searched
                self._model.add(last[one] >= hand)
            last[one] = hand
        self._model.minimize(self._worst)
        self.status: int = self._solver.solve(self._model)

    def _deal(self, problem: AssignmentProblem, demands: Sequence[Demand]) -> list[dict[int, Any]]:
        """Variables: decoys of each size that each recipient gets. The search starts at the most even dealing."""
        hands: list[dict[int, Any]] = [{} for _ in demands]
        for number, offer in enumerate(problem.offers):
            mine = [place for place, one in enumerate(demands) if one.offer == number]
            even = even_hands(offer.classes.records, [demands[place].decoys for place in mine])
            for size, count in zip(*np.unique(offer.classes.records, return_counts=True), strict=True):
                for place, hand in zip(mine, even, strict=True):
                    hands[place][int(size)] = self._model.new_int_var(0, demands[place].decoys, f"x{place}.{size}")
                    self._model.add_hint(hands[place][int(size)], hand.count(int(size)))
                self._model.add(sum(hands[place][int(size)] for place in mine) == int(count))
            for place in mine:
                self._model.add(sum(hands[place].values()) == demands[place].decoys)
        return hands

    def _lost(self, problem: AssignmentProblem) -> list[Any]:
        """Records that each file loses to kept classes, with a variable for each class that has relatives."""
        losses: list[Any] = [0] * len(problem.files)
        for rows, number in self.bins:
            alone, size = rows[problem.alone[rows]], int(problem.real.records[rows[0]])
            related = [self._model.new_bool_var(f"y{row}") for row in rows[~problem.alone[rows]].tolist()]
            self._kept.update(zip(rows[~problem.alone[rows]].tolist(), related, strict=True))
            plain = self._model.new_int_var(0, len(alone), "")
            self._model.add(plain + sum(related) == number)
            losses[int(problem.file_of[rows[0]])] += size * plain
        removed: dict[int, Any] = {}
        for kept, other in zip(*(rows.tolist() for rows in problem.relatives), strict=True):
            if kept not in self._kept:
                continue
            if kept < other and other in self._kept:
                self._model.add_at_most_one([self._kept[kept], self._kept[other]])
            if other not in removed:
                removed[other] = self._model.new_bool_var(f"r{other}")
                losses[int(problem.file_of[other])] += int(problem.real.records[other]) * removed[other]
            self._model.add_implication(self._kept[kept], removed[other])
        return losses

    @property
    def worst(self) -> int:
        """Records that the worst-off copy misses in what was found."""
        return round(float(self._solver.objective_value))

    @property
    def bound(self) -> int:
        """Least that the worst-off copy can miss with these classes."""
        return max(self.least, math.ceil(float(self._solver.best_objective_bound) - 1e-6))

    @property
    def dealt(self) -> list[dict[int, int]]:
        """Decoys of each size that each recipient gets."""
        return [{size: self._solver.value(count) for size, count in own.items()} for own in self._dealt]

    @property
    def kept(self) -> list[int]:
        """Kept classes among those with relatives."""
        return [row for row, used in self._kept.items() if self._solver.value(used)]


def even_hands(sizes: np.ndarray, decoys: Sequence[int]) -> list[list[int]]:
    """Sizes dealt to recipients who get so many each: the largest in turn to whoever has least so far."""
    hands: list[list[int]] = [[] for _ in decoys]
    for size in np.sort(sizes)[::-1].tolist():
        open_ = [place for place, hand in enumerate(hands) if len(hand) < decoys[place]]
        if open_:
            hands[min(open_, key=lambda place: sum(hands[place]))].append(size)
    order = {
        number: sorted((h for h, d in zip(hands, decoys, strict=True) if d == number), key=sum) for number in decoys
    }
    return [order[number].pop() for number in decoys]


def least_missing(sizes: np.ndarray, decoys: Sequence[int]) -> int:
    """Fewest records that some recipient misses, of a file's decoys: all of them, less the largest least hand.

    No least hand exceeds an even part. Of two decoys each, the largest dealt with the smallest gives the best one.
    """
    ordered, whole = np.sort(sizes), int(sizes.sum())
    if set(decoys) == {1}:
        return whole - int(ordered[0])
    return whole - (int((ordered + ordered[::-1]).min()) if set(decoys) == {2} else whole // len(decoys))


def _dealt(
    problem: AssignmentProblem, demands: Sequence[Demand], ratio: int, model: _Model, generator: np.random.Generator
) -> tuple[Share, ...]:
    """The part of each recipient, its decoys and kept classes drawn within their bins."""
    chosen, stacks = set(model.kept), {}
    for rows, number in model.bins:
        fixed = [row for row in rows.tolist() if row in chosen]
        free = generator.permutation(rows[problem.alone[rows]])[: number - len(fixed)]
        name = int(problem.file_of[rows[0]]), int(np.concatenate(problem.bins[0])[rows[0]])
        stacks[name] = generator.permutation(np.concatenate([np.array(fixed, dtype=np.intp), free])).tolist()
    decks = []
    for offer in problem.offers:
        order = generator.permutation(len(offer.classes))
        decks.append({size: order[offer.classes.records[order] == size].tolist() for size in offer.classes.records})
    decoys, kept = [], []
    for one, hand in zip(demands, model.dealt, strict=True):
        drawn = [decks[one.offer][size].pop() for size, count in hand.items() for _ in range(count)]
        file, names = problem.offers[one.offer].file, problem.bins[1][one.offer]
        kept.append(np.array([stacks[file, int(names[row])].pop() for row in drawn for _ in range(ratio)]))
        decoys.append(np.array(drawn))
    removed, shares = problem.removed_for(np.concatenate(kept)), []
    for one, own, held in zip(demands, decoys, kept, strict=True):
        file = problem.offers[one.offer].file
        lost = removed & (problem.file_of == file)
        lost[held] = False
        start = problem.starts[file]
        missing = int(problem.real.records[lost].sum())
        shares.append(Share(file, np.sort(own), np.sort(held) - start, np.flatnonzero(lost) - start, missing))
    return tuple(shares)


def _no_room(problem: AssignmentProblem, demands: Sequence[Demand], ratio: int) -> ParameterError:
    """Error for an offer that has too little room, or whose classes bar one another, with the remedy."""
    asked = [sum(one.decoys for one in demands if one.offer == offer) for offer in range(len(problem.offers))]
    room = [_room(problem, offer, ratio) for offer in range(len(problem.offers))]
    short = [offer for offer, number in enumerate(asked) if room[offer] < number]
    offer, barred = (short or [0])[0], "" if short else " that bar one another by their origin"
    fixes = ["lower policy.decoys.kept_per_decoy", "generalize less"] if ratio > 1 else ["generalize less"]
    if not short:
        fixes.insert(0, "ask for fewer decoy classes, or give all recipients the same generalization")
    elif room[offer]:
        most = plural(room[offer], "decoy class", "decoy classes")
        fixes.insert(0, f"ask for {most} at most over all recipients of this generalization")
    file = problem.offers[offer].file
    return ParameterError(
        "there are not enough decoys with real classes that look alike",
        where=f"generalization {file + 1} of {len(problem.files)}, policy.decoys.kept_per_decoy {ratio}",
        expected=f"{plural(asked[offer], 'cell')}, each with {plural(ratio, 'real class', 'real classes')} of its "
        "size, linked to about as many people",
        got=f"at most {room[offer]}{barred}, from {plural(len(problem.offers[offer].classes), 'cell')} and "
        f"{plural(len(problem.files[file]), 'real class', 'real classes')}",
        fix=", or ".join(fixes),
    )


def _room(problem: AssignmentProblem, offer: int, ratio: int) -> int:
    """Decoys of an offer that there are real classes for."""
    real, decoys = problem.bins[0][problem.offers[offer].file], problem.bins[1][offer]
    names, numbers = np.unique(decoys, return_counts=True)
    return int(np.minimum(numbers, [np.count_nonzero(real == name) // ratio for name in names]).sum())
