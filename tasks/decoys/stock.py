"""Classes to assign: candidates and real classes by bins within which an attacker cannot distinguish them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.class_table import Rows
from tasks.decoys.removal import Ground, Wanted

Bin = tuple[int, int]
"""File and number of a bin; where all classes go with one another, file and size."""
Members = dict[Bin, tuple[Rows, Rows]]
"""Rows of the real classes and of the usable candidates of each bin."""

_SPARE = 2


@dataclass(frozen=True)
class Stock:
    """Usable candidates and real classes of the bins that have both."""

    place: Ground
    ratio: int
    asked: int
    """Decoys of all recipients together; no bin needs more candidates."""
    seed: int
    """Seed of the order in which candidates are considered."""

    @cached_property
    def members(self) -> Members:
        """Rows of the real classes and of the usable candidates of each bin that has enough of both."""
        real, offered = self.place.look
        members = {}
        for file in range(len(self.place.files)):
            here, there = self.place.file_of == file, (self.place.offered_for == file) & self.place.usable
            by_real, by_offered = _rows_by(real, here), _rows_by(offered, there)
            for number in sorted(by_real.keys() & by_offered.keys()):
                if len(by_real[number]) >= self.ratio:
                    members[file, number] = by_real[number], by_offered[number]
        return members

    @cached_property
    def needs(self) -> dict[Bin, int]:
        """Decoys that each bin can have at most."""
        return {name: min(self.asked, len(ours) // self.ratio) for name, (ours, _) in self.members.items()}

    @cached_property
    def thinned(self) -> Members:
        """The members with no more candidates than a bin can need, all of which go with one another.

        Candidates cost nothing, so where every bin has as many as it can need, the least number of missing records
        stays the same: see ``enough``.
        """
        rivals = _neighbours(self.place.rivals, len(self.place.offered))
        barred = np.zeros(len(self.place.offered), dtype=bool)
        order = np.random.default_rng(self.seed)
        taken: dict[Bin, list[int]] = {name: [] for name in self.members}
        for name in sorted(taken, key=lambda name: len(self.members[name][1])):
            for row in order.permutation(self.members[name][1]).tolist():
                if len(taken[name]) == self.needs[name]:
                    break
                if not barred[row]:
                    taken[name].append(row)
                    barred[rivals(row)] = True
        return {name: (ours, np.array(taken[name], dtype=np.intp)) for name, (ours, _) in self.members.items()}

    @cached_property
    def cheapest(self) -> Members:
        """The thinned members with those real classes only that remove the fewest records.

        A few times as many as a bin can need: a smaller problem, whose solution the search starts from.
        """
        kept, other = self.place.relatives
        costs = np.bincount(kept, weights=self.place.real.records[other], minlength=len(self.place.real))
        few = {name: _SPARE * self.ratio * need for name, need in self.needs.items()}
        return {
            name: (np.sort(ours[np.argsort(costs[ours], kind="stable")[: few[name]]]), theirs)
            for name, (ours, theirs) in self.thinned.items()
        }

    @cached_property
    def enough(self) -> bool:
        """Whether every bin has all the candidates that it can need, and that go with one another."""
        return all(
            len(self.thinned[name][1]) == min(self.needs[name], len(theirs))
            for name, (_, theirs) in self.members.items()
        )


@dataclass(frozen=True)
class Part:
    """Members of bins, as the integer program takes them."""

    stock: Stock
    members: Members

    @cached_property
    def loose(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each real class, and each candidate among the members, goes with every other."""
        place = self.stock.place
        real = np.bincount(place.relatives[0], minlength=len(place.real)) == 1
        first, second = self.rivals
        return real, np.bincount(np.concatenate([first, second]), minlength=len(place.offered)) == 0

    @cached_property
    def rivals(self) -> tuple[Rows, Rows]:
        """Pairs of candidates among the members of which one copy at most can have one."""
        considered = np.zeros(len(self.stock.place.offered), dtype=bool)
        for _, theirs in self.members.values():
            considered[theirs] = True
        first, second = self.stock.place.rivals
        both = considered[first] & considered[second]
        return first[both], second[both]

    @cached_property
    def simple(self) -> bool:
        """Whether all classes of these bins go with one another, so that counting them is enough."""
        real, offered = self.loose
        return all(real[ours].all() and offered[theirs].all() for ours, theirs in self.members.values())

    @cached_property
    def places(self) -> dict[Bin, int]:
        """Decoys that each bin has room for, its kept classes counted, at most."""
        ratio = self.stock.ratio
        return {name: min(len(theirs), len(ours) // ratio) for name, (ours, theirs) in self.members.items()}

    def size(self, name: Bin) -> int:
        """Records of the classes of a bin."""
        return int(self.stock.place.real.records[self.members[name][0][0]])

    @cached_property
    def room(self) -> dict[Bin, int]:
        """Decoys that there is room for, by file and size of the classes.

        Within a bin one decoy goes with t kept classes of its bin, whoever gets them, so bins of one size are
        exchangeable where all classes go with one another.
        """
        room: dict[Bin, int] = {}
        for name, places in self.places.items():
            key = (name[0], self.size(name))
            room[key] = room.get(key, 0) + places
        return room


def room_of_files(place: Ground, ratio: int, asked: Sequence[int]) -> list[int]:
    """Decoys that each file has room for, at most; ``asked`` are those wanted of each."""
    stock = Stock(place, ratio, sum(asked), 0)
    places = Part(stock, stock.members).places
    return [sum(count for name, count in places.items() if name[0] == file) for file in range(len(place.files))]


def largest_first(room: Mapping[Bin, int], wanted: Sequence[Wanted]) -> list[list[Bin]]:
    """The smallest places of each file, the largest of them given in turn to whoever has least so far.

    Recipients who want the same get their places in order of what these hold, the most first.
    """
    free: dict[int, list[Bin]] = {}
    for name, places in sorted(room.items(), key=lambda item: item[0][1]):
        free.setdefault(name[0], []).extend([name] * places)
    hands: list[list[Bin]] = [[] for _ in wanted]
    for want in dict.fromkeys(wanted):
        mine = [number for number, other in enumerate(wanted) if other == want]
        places_of_file = free.get(want.generalization, [])
        taken = places_of_file[: want.decoys * len(mine)]
        del places_of_file[: len(taken)]
        dealt: list[list[Bin]] = [[] for _ in mine]
        for name in reversed(taken):
            min((hand for hand in dealt if len(hand) < want.decoys), key=_held).append(name)
        for number, hand in zip(mine, sorted(dealt, key=_held, reverse=True), strict=True):
            hands[number] = hand
    return hands


def least_missing(room: Mapping[Bin, int], wanted: Sequence[Wanted], ratio: int, form: Sequence[int]) -> int:
    """Records that some copy misses at least, whatever places are taken; 0 where nothing quick can be said.

    To exchange a place for a smaller one costs no recipient a record more: the recipient misses what it did, for it
    keeps less as well, and all others miss less. So the smallest places are best, and some copy keeps an even part of
    them at most. Of two places a recipient the largest is best dealt with the smallest, which gives the least itself.

    ``form`` is the first file of the same classes as each file: what is kept in one is missing from both.
    """
    least = 0
    for first in sorted({form[want.generalization] for want in wanted}):
        mine = [want for want in wanted if form[want.generalization] == first]
        smallest = [_smallest(room, file, mine) for file in sorted({want.generalization for want in mine})]
        if any(sizes is None for sizes in smallest):
            continue
        sizes = np.sort(np.concatenate([part for part in smallest if part is not None]))
        even = int(sizes.sum()) // len(mine)
        if len(set(mine)) == 1 and mine[0].decoys == 1:
            even = int(sizes[0])
        elif len(set(mine)) == 1 and mine[0].decoys == 2:
            even = int((sizes + sizes[::-1]).min())
        least = max(least, ratio * (int(sizes.sum()) - even))
    return least


def _smallest(room: Mapping[Bin, int], file: int, wanted: Sequence[Wanted]) -> NDArray[np.int64] | None:
    """Sizes of the smallest places of a file, as many as are wanted of it; None where there are fewer."""
    places = sorted((name[1], count) for name, count in room.items() if name[0] == file)
    sizes = np.repeat([size for size, _ in places], [count for _, count in places]).astype(np.int64)
    asked = sum(want.decoys for want in wanted if want.generalization == file)
    return sizes[:asked] if len(sizes) >= asked else None


def _held(hand: Sequence[Bin]) -> int:
    return sum(size for _, size in hand)


def _neighbours(pairs: tuple[Rows, Rows], n_rows: int) -> Callable[[int], Rows]:
    """Look-up of the rows that are paired with a row."""
    ours, theirs = np.concatenate(pairs), np.concatenate(pairs[::-1])
    order = np.argsort(ours, kind="stable")
    starts = np.searchsorted(ours[order], np.arange(n_rows + 1))
    return lambda row: theirs[order[starts[row] : starts[row + 1]]]


def _rows_by(numbers: Rows, chosen: NDArray[np.bool_]) -> dict[int, Rows]:
    rows = np.flatnonzero(chosen)
    if len(rows) == 0:
        return {}
    order = rows[np.argsort(numbers[rows], kind="stable")]
    values, starts = np.unique(numbers[order], return_index=True)
    return dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True))
