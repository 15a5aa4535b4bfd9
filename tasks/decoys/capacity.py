"""How many recipients a release supports, before a request asks for decoys.

Source: Antonatos et al., *AnonTokens* (2019), Section 7: N_d candidates and n_d decoys a recipient support N_d / n_d of
them; K classes to keep and n_r a recipient, K / n_r. The optimal assignment needs classes that look alike, and may be
bound by a budget of missing records.

A *place* is a candidate with t real classes of its bin. What sets of places can be had together is a transversal
matroid: how many there are in bins of up to each size is a maximum flow from cells, each in one of its sizes, to bins.
So the cheapest places are found size by size, and none is given up for a cheaper one elsewhere.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import Rows
from tasks.decoys.removal import Ground, Wanted
from tasks.decoys.stock import largest_first

Limit = Literal["candidates", "real classes", "classes that look alike", "budget"]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Supported:
    """Most recipients of one file, and what limits their number."""

    recipients: int
    limit: Limit


def recipients_supported(place: Ground, decoys: int, ratio: int, *, budget: int | None = None) -> Supported:
    """Most recipients that a release of one file supports.

    Parameters
    ----------
    place : Ground
        With one file.
    decoys : int
        Decoy classes a recipient, from 1.
    ratio : int
        Kept classes a decoy, t, from 1.
    budget : int, optional
        Most records that any one copy of the optimal assignment may miss.

    Notes
    -----
    Where no class and no candidate's cell is of the same origin as another the numbers are exact, but for a budget with
    three decoys a recipient or more, which are dealt out evenly by a rule of thumb. Of cells that bar one another some
    that do not are taken, and real classes that other ones restrict are left out: more may be possible, never fewer.

    Raises
    ------
    ParameterError
        If there are several files, or a number is below 1.
    """
    _check(place, decoys, ratio)
    real, offered = _alone(place)
    n_candidates = len(np.unique(place.offered.cells[offered], axis=0)) // decoys
    n_classes = int(real.sum()) // (ratio * decoys)
    sizes = _cheapest_places(place, real, offered, ratio)
    most = len(sizes) // decoys
    supported = most if budget is None else _within(budget, sizes, decoys, ratio)
    return Supported(supported, "budget" if supported < most else _limit(most, n_candidates, n_classes))


def _limit(most: int, n_candidates: int, n_classes: int) -> Limit:
    if n_candidates <= most:
        return "candidates"
    return "real classes" if n_classes <= most else "classes that look alike"


def _alone(place: Ground) -> tuple[Flags, Flags]:
    """Real classes that no other restricts, and usable candidates of cells that go with one another."""
    real = np.bincount(place.relatives[0], minlength=len(place.real)) == 1
    cell = np.unique(place.offered.cells, axis=0, return_inverse=True)[1].ravel()
    pairs = np.unique(np.column_stack([cell[place.rivals[0]], cell[place.rivals[1]]]), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    n_cells = int(cell.max(initial=-1)) + 1
    ones = np.ones(2 * len(pairs), dtype=np.int8)
    bars = csr_array((ones, (pairs.ravel(), pairs[:, ::-1].ravel())), shape=(n_cells, n_cells))
    barred = np.zeros(n_cells, dtype=bool)
    rivals = np.diff(bars.indptr)
    for number in np.argsort(rivals, kind="stable")[np.count_nonzero(rivals == 0) :].tolist():
        if not barred[number]:
            barred[bars.indices[bars.indptr[number] : bars.indptr[number + 1]]] = True
    return real, place.usable & ~barred[cell]


def _cheapest_places(place: Ground, real: Flags, offered: Flags, ratio: int) -> NDArray[np.int64]:
    """Sizes of the classes of as many places as there can be, the cheapest set of them, growing."""
    real_bin, offered_bin = place.look
    room = np.bincount(real_bin[real], minlength=int(max(real_bin.max(), offered_bin.max(initial=0))) + 1) // ratio
    rows = np.flatnonzero(offered & (room[offered_bin] > 0))
    if len(rows) == 0:
        return np.empty(0, dtype=np.int64)
    cells = np.unique(place.offered.cells[rows], axis=0, return_inverse=True)[1].ravel()
    pairs = np.unique(np.column_stack([cells, offered_bin[rows]]), axis=0)
    size_of_bin = np.zeros(len(room), dtype=np.int64)
    size_of_bin[offered_bin] = place.offered.records
    kinds: dict[bytes, int] = {}
    for bins in np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1):
        kinds[bins.tobytes()] = kinds.get(bins.tobytes(), 0) + 1
    choices = [np.frombuffer(key, dtype=pairs.dtype) for key in kinds]
    counts, places, before = np.array(list(kinds.values())), [], 0
    for size in np.unique(size_of_bin[pairs[:, 1]]):
        found = _together([bins[size_of_bin[bins] <= size] for bins in choices], counts, room)
        places += [size] * (found - before)
        before = found
        if before == counts.sum():
            break
    return np.array(places, dtype=np.int64)


def _together(choices: list[Rows], counts: NDArray[np.int64], room: NDArray[np.int64]) -> int:
    """Most cells that fit into bins with some room, each cell of a kind in one of its kind's bins."""
    n_kinds, sink = len(choices), len(choices) + len(room) + 1
    kind = np.repeat(np.arange(n_kinds), [len(bins) for bins in choices])
    bins = np.concatenate(choices)
    used = np.unique(bins)
    tails = np.concatenate([np.zeros(n_kinds, dtype=np.intp), 1 + kind, 1 + n_kinds + used])
    heads = np.concatenate([1 + np.arange(n_kinds), 1 + n_kinds + bins, np.full(len(used), sink)])
    widths = np.concatenate([counts, counts[kind], room[used]]).astype(np.int32)
    network = coo_array((widths, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(network, 0, sink).flow_value)


def _within(budget: int, sizes: NDArray[np.int64], decoys: int, ratio: int) -> int:
    """Most recipients of the cheapest places of whom none misses more than the budget."""
    supported, unsupported = 0, len(sizes) // decoys + 1
    while unsupported - supported > 1:
        middle = (supported + unsupported) // 2
        if _worst(sizes[: middle * decoys], decoys, ratio) <= budget:
            supported = middle
        else:
            unsupported = middle
    return supported


def _worst(sizes: NDArray[np.int64], decoys: int, ratio: int) -> int:
    """Records that the worst-off copy misses if these places are dealt out evenly."""
    values, counts = np.unique(sizes, return_counts=True)
    room = {(0, size): count for size, count in zip(values.tolist(), counts.tolist(), strict=True)}
    hands = largest_first(room, [Wanted(decoys)] * (len(sizes) // decoys))
    return ratio * (int(sizes.sum()) - min(sum(size for _, size in hand) for hand in hands))


def _check(place: Ground, decoys: int, ratio: int) -> None:
    wrong = [name for name, value in (("decoys", decoys), ("ratio", ratio)) if value < 1]
    if wrong or len(place.files) != 1:
        raise ParameterError(
            "how many recipients a release supports cannot be worked out",
            where=", ".join(wrong) or "files",
            expected="one file, and whole numbers from 1",
            got=f"{len(place.files)} files" if not wrong else "a number below 1",
            fix="ask for each generalization by itself" if not wrong else "give numbers from 1",
        )
