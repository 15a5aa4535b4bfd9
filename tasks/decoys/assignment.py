"""The assignment of decoys and kept classes that costs the worst-off recipient the fewest records.

Each decoy class d and each real class e is used once at most: x[d, i] says that d is recipient i's decoy, y[e, i] that
i alone keeps e. In every bin b of classes that an attacker cannot distinguish (equal size, people linked within a
half-octave), and for every recipient i,

    Σ_{e in b} y[e, i] = t · Σ_{d in b} x[d, i]

so whoever compares copies finds t real classes for each decoy in every bin, and an attacker who names one as a decoy is
right with probability 1/(1+t) at most, even with the population and this method known. The most records that any copy
misses are minimised, by integer programming (CP-SAT).

Classes of one bin and file that no other class restricts are all alike, so they enter as counts, one a recipient and
bin; those of the same origin as others enter one by one. What class of a bin is used is drawn afterwards.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from tasks.core.errors import ParameterError, StageFailed
from tasks.decoys.class_table import Rows
from tasks.decoys.removal import Assignment, Ground, Terms, Wanted, assembled, check_wanted
from tasks.decoys.stock import Bin, Part, Stock, largest_first, least_missing, room_of_files

_SEED = 1
Variable: TypeAlias = Any
Expression: TypeAlias = Any
"""A linear expression of CP-SAT, which has no types that hold in all its versions."""
_FOUND = (cp_model.OPTIMAL, cp_model.FEASIBLE)


def assign(
    place: Ground,
    wanted: Sequence[Wanted],
    ratio: int,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
    effort: float = 10.0,
) -> Assignment:
    """Assign decoys and kept classes so that the worst-off recipient misses the fewest records.

    Parameters
    ----------
    place : Ground
    wanted : sequence of Wanted
        One a recipient. Places for recipients who may come later are wanted now too: see
        ``tasks.decoys.manifest.extend``.
    ratio : int
        Kept classes a decoy, t, from 1.
    rng : Generator
        Draws the classes within a bin, and only those.
    budget : int, optional
        Most records that any one copy may miss.
    effort : float
        Work allowed to the search, in CP-SAT's deterministic units of about a second each, above 0: the same request
        has the same outcome on every machine.

    Returns
    -------
    Assignment
        ``status`` says whether it is proven optimal, ``gap`` how far from optimal it may be.

    Raises
    ------
    ParameterError
        If no assignment exists, or none within the budget; says what would make one exist.
    StageFailed
        If the search ended with neither an assignment nor a proof that there is none.
    """
    check_wanted(place, wanted, ratio)
    if not 0 < effort < float("inf"):
        raise ParameterError(
            "the effort of the search is outside its range",
            where="effort",
            expected="a finite number above 0",
            got=f"{effort:g}",
            fix="give the seconds or so that the search may take",
        )
    asked = [sum(want.decoys for want in wanted if want.generalization == file) for file in range(len(place.files))]
    if any(room < some for room, some in zip(room_of_files(place, ratio, asked), asked, strict=True)):
        _refuse(place, wanted, ratio)
    stock = Stock(place, ratio, sum(asked), int(rng.integers(2**62)))
    model, status, bound = _searched(stock, wanted, effort)
    if status == cp_model.INFEASIBLE:
        _refuse(place, wanted, ratio)
    if status not in _FOUND:
        raise StageFailed(
            "no assignment of decoys was found in time",
            where=f"{len(wanted)} recipients, ratio {ratio}",
            expected="an assignment, or a proof that there is none",
            got=f"neither within an effort of {effort:g}",
            fix="allow more effort, or ask for fewer decoys",
        )
    decoys, kept = model.drawn(rng)
    return assembled(place, wanted, decoys, kept, Terms(ratio, bound, budget))


def _searched(stock: Stock, wanted: Sequence[Wanted], effort: float) -> tuple["_Model", int, int]:
    """The model with the best assignment, its status and the least that the worst-off copy must miss.

    The least is first bounded as if only equal classes of two files were of the same origin. Then an assignment is
    sought among the cheapest classes, among all real classes with candidates enough, and where that leaves doubt among
    all candidates.
    """
    whole = Part(stock, stock.members)
    simplest = _Model(whole, wanted, relaxed=True)
    simplest.start_from_largest_first()
    status = simplest.solve(effort)
    if status not in _FOUND or whole.simple:
        return simplest, status, simplest.bound
    least, best = simplest.bound, None
    for part in (Part(stock, stock.cheapest), Part(stock, stock.thinned), whole):
        model = _Model(part, wanted)
        if best is not None:
            model.start_from(best)
        status = model.solve(effort / 2)
        if status in _FOUND and (best is None or model.worst < best.worst):
            best = model
        if status in _FOUND and (part is whole or (part.members is stock.thinned and stock.enough)):
            least = max(least, model.bound)
        if best is not None and (best.worst <= least or (part.members is stock.thinned and stock.enough)):
            break
    return (model, status, least) if best is None else (best, cp_model.FEASIBLE, least)


class _Model:
    """The integer program over some members of bins, and its solution."""

    def __init__(self, part: Part, wanted: Sequence[Wanted], *, relaxed: bool = False) -> None:
        self._part, self._wanted = part, wanted
        self._ratio, self._ground = part.stock.ratio, part.stock.place
        self._model, self._solver = cp_model.CpModel(), cp_model.CpSolver()
        self._picked: dict[str, dict[int, Variable]] = {"real": {}, "offered": {}}
        self._alike: list[tuple[int, int, Variable]] = []
        counted = relaxed or part.simple
        room = part.room if counted else part.places
        sizes = {name: name[1] if counted else part.size(name) for name in room}
        self._places = [self._of_recipient(number, room) for number in range(len(wanted))]
        self._minimise(self._by_counts(room, sizes) if counted else self._by_classes(), sizes)

    def _of_recipient(self, number: int, room: Mapping[Bin, int]) -> dict[Bin, Variable]:
        """Decoys of one recipient in each bin of its file."""
        want = self._wanted[number]
        own = {
            name: self._model.new_int_var(0, min(places, want.decoys), f"x{number}.{name}")
            for name, places in room.items()
            if name[0] == want.generalization and places
        }
        self._model.add(sum(own.values()) == want.decoys)
        return own

    def _used(self, name: Bin) -> list[Variable]:
        return [own[name] for own in self._places if name in own]

    def _by_counts(self, room: Mapping[Bin, int], sizes: Mapping[Bin, int]) -> list[Expression]:
        """Records that each file loses if only equal classes are of the same origin: those of the kept classes."""
        losses: list[Expression] = [0] * len(self._ground.files)
        for name, places in room.items():
            used = sum(self._used(name))
            self._model.add(used <= places)
            losses[self._ground.form[name[0]]] += self._ratio * sizes[name] * used
        return [losses[first] for first in self._ground.form]

    def _by_classes(self) -> list[Expression]:
        """Records that each file loses, with a variable for each class that another restricts."""
        loose_real, loose_offered = self._part.loose
        losses: list[Expression] = [0] * len(self._ground.files)
        for name, (ours, theirs) in self._part.members.items():
            used = sum(self._used(name))
            drawn, picked_decoys = self._total(name, theirs, loose_offered, "offered")
            held, picked = self._total(name, ours, loose_real, "real")
            self._model.add(drawn + picked_decoys == used)
            self._model.add(held + picked == self._ratio * used)
            losses[name[0]] += self._part.size(name) * held
        for first, second in zip(*self._part.rivals, strict=True):
            self._at_most_one("offered", int(first), int(second))
        for row, lost in self._removed().items():
            losses[int(self._ground.file_of[row])] += int(self._ground.real.records[row]) * lost
        return losses

    def _total(self, name: Bin, rows: Rows, loose: NDArray[np.bool_], kind: str) -> tuple[Variable, Expression]:
        """How many classes of a bin are used: of those that are all alike, and of the others."""
        picked = {row: self._model.new_bool_var(f"{kind}{row}") for row in rows[~loose[rows]].tolist()}
        self._picked[kind].update(picked)
        return self._model.new_int_var(0, int(loose[rows].sum()), f"{kind}{name}"), sum(picked.values())

    def _removed(self) -> dict[int, Variable]:
        """Whether each class is removed that is of the same origin as one that can be kept."""
        removed: dict[int, Variable] = {}
        for kept, other in zip(*(rows.tolist() for rows in self._ground.relatives), strict=True):
            held = self._picked["real"].get(kept)
            if held is None:
                continue
            if kept < other:
                self._at_most_one("real", kept, other)
            if other not in removed:
                removed[other] = self._model.new_bool_var(f"r{other}")
            self._model.add_implication(held, removed[other])
        return removed

    def _at_most_one(self, kind: str, first: int, second: int) -> None:
        one, two = self._picked[kind].get(first), self._picked[kind].get(second)
        if one is not None and two is not None:
            self._model.add_at_most_one([one, two])

    def _minimise(self, losses: Sequence[Expression], sizes: Mapping[Bin, int]) -> None:
        """Minimise what the worst-off copy misses: what its file loses, less what it keeps itself.

        Recipients who want the same are exchangeable; one order of them is searched.
        """
        least = least_missing(self._part.room, self._wanted, self._ratio, self._ground.form)
        worst = self._model.new_int_var(least, max(least, self._ground.real.total), "worst")
        before: dict[Wanted, Expression] = {}
        for want, own in zip(self._wanted, self._places, strict=True):
            kept = sum(self._ratio * sizes[name] * count for name, count in own.items())
            self._model.add(worst >= losses[want.generalization] - kept)
            if want in before:
                self._model.add(before[want] >= kept)
            before[want] = kept
        self._model.minimize(worst)

    def solve(self, effort: float) -> int:
        """Status of the search."""
        self._solver.parameters.num_workers = 1
        self._solver.parameters.random_seed = _SEED
        self._solver.parameters.max_deterministic_time = effort
        status: int = self._solver.solve(self._model)
        return status

    @property
    def worst(self) -> int:
        """Records that the worst-off copy misses in what was found."""
        return round(float(self._solver.objective_value))

    @property
    def bound(self) -> int:
        """Least that the worst-off copy can miss, 0 where nothing was found."""
        if self._solver.response_proto.status not in _FOUND:
            return 0
        return math.ceil(float(self._solver.best_objective_bound) - 1e-6)

    def start_from_largest_first(self) -> None:
        """Start the search at the smallest places, spread evenly."""
        for own, hand in zip(self._places, largest_first(self._part.room, self._wanted), strict=True):
            for name, count in own.items():
                self._model.add_hint(count, hand.count(name))

    def start_from(self, other: "_Model") -> None:
        """Start the search at what another model found."""
        for own, found in zip(self._places, other._places, strict=True):
            for name, count in own.items():
                self._model.add_hint(count, other._solver.value(found[name]) if name in found else 0)
        for kind, picked in self._picked.items():
            held = other._picked[kind]
            for row, used in picked.items():
                self._model.add_hint(used, other._solver.value(held[row]) if row in held else 0)

    def drawn(self, rng: np.random.Generator) -> tuple[list[Rows], list[Rows]]:
        """Decoys and kept classes of each recipient, drawn within their bins."""
        places = [{name: self._solver.value(count) for name, count in own.items()} for own in self._places]
        if self._part.simple:
            places = self._in_bins(places, rng)
        hands = {name: self._hand(name, places, rng) for name in self._part.members}
        decoys: list[Rows] = []
        kept: list[Rows] = []
        for own in places:
            ours, theirs = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
            for name, count in own.items():
                held, drawn = hands[name]
                theirs.append(drawn[:count])
                ours.append(held[: count * self._ratio])
                hands[name] = held[count * self._ratio :], drawn[count:]
            decoys.append(np.concatenate(theirs))
            kept.append(np.concatenate(ours))
        return decoys, kept

    def _in_bins(self, places: Sequence[Mapping[Bin, int]], rng: np.random.Generator) -> list[dict[Bin, int]]:
        """Places by bin in place of places by size, each drawn among those that are free."""
        free: dict[Bin, list[Bin]] = {}
        for name, count in self._part.places.items():
            free.setdefault((name[0], self._part.size(name)), []).extend([name] * count)
        for key, names in free.items():
            free[key] = [names[at] for at in rng.permutation(len(names))]
        found: list[dict[Bin, int]] = []
        for own in places:
            here: dict[Bin, int] = {}
            for key, count in own.items():
                for name in (free[key].pop() for _ in range(count)):
                    here[name] = here.get(name, 0) + 1
            found.append(here)
        return found

    def _hand(self, name: Bin, places: Sequence[Mapping[Bin, int]], rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Classes of a bin that are used, in random order: kept ones and decoys."""
        used = sum(own.get(name, 0) for own in places)
        ours, theirs = self._part.members[name]
        loose_real, loose_offered = self._part.loose
        return (
            self._used_rows(ours, loose_real, "real", used * self._ratio, rng),
            self._used_rows(theirs, loose_offered, "offered", used, rng),
        )

    def _used_rows(self, rows: Rows, loose: NDArray[np.bool_], kind: str, used: int, rng: np.random.Generator) -> Rows:
        picked = self._picked[kind]
        chosen = [row for row in rows.tolist() if row in picked and self._solver.value(picked[row])]
        free = rng.permutation(rows[loose[rows]])[: used - len(chosen)]
        return rng.permutation(np.concatenate([np.array(chosen, dtype=np.intp), free]))


def _refuse(place: Ground, wanted: Sequence[Wanted], ratio: int) -> NoReturn:
    """Say which file has too little room, or that its classes bar one another, and what would give room."""
    asked = [sum(want.decoys for want in wanted if want.generalization == file) for file in range(len(place.files))]
    room = room_of_files(place, ratio, asked)
    short = [file for file, (some, all_of_them) in enumerate(zip(room, asked, strict=True)) if some < all_of_them]
    file = short[0] if short else 0
    lower = [t for t in range(1, ratio) if all(np.array(room_of_files(place, t, asked)) >= asked)]
    remedies = []
    if short and room[file]:
        remedies.append(f"ask for {room[file]} decoy classes at most over all recipients of the file")
    if not short:
        remedies.append("ask for fewer decoy classes, or give all recipients the same generalization")
    if lower:
        remedies.append(f"lower the ratio to {lower[-1]}")
    remedies.append("offer more candidates in the sizes of real classes, or generalize less")
    usable, offered = place.usable[place.offered_for == file], len(place.files[file])
    raise ParameterError(
        "there are not enough decoys with real classes that look alike",
        where=f"file {file + 1} of {len(place.files)}, {len(wanted)} recipients, ratio {ratio}",
        expected=f"{asked[file]} places, each a candidate with {ratio} real classes of its size and half-octave of "
        "people linked",
        got=f"at most {room[file]}{'' if short else ' that bar one another by their origin'}, from "
        f"{int(usable.sum())} usable of {len(usable)} candidates and {offered} real classes",
        fix=", or ".join(remedies),
    )
