"""Knowledge of colluding recipients: P(decoy) of the classes that stand alone, for subsets of every size.

Recipients who compare their copies suspect every class that has no same-origin class in any other copy of theirs. Of
n_d decoys and n_r real classes among them a suspect is a decoy with probability

    P(decoy) = n_d / (n_d + n_r)

(Antonatos et al. 2019, Section 6; the formula is lost in print and restored). One recipient alone compares nothing, so
all its classes are suspects. An intruder who also has the population sorts suspects by what can be seen of them, their
size and the people they link to, and names one where decoys are most frequent: no inference from size and linking does
better, since it is granted the very shares that it would have to estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.class_table import ClassTable, looks
from tasks.decoys.lineage import Lineage
from tasks.decoys.same_origin import same_origin_pairs

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Copy:
    """One recipient's copy as others see it; shows nothing of it."""

    classes: ClassTable = field(repr=False)
    decoy: Flags = field(repr=False)
    """Whether each class is a decoy."""


@dataclass(frozen=True)
class Collusion:
    """Knowledge of subsets of one size, as mean and maximum over the subsets."""

    colluders: int
    subsets: int
    """Subsets that were tried."""
    exhaustive: bool
    """Whether these are all of that size."""
    decoys: float
    """Decoys among the suspects, n_d; mean over subsets."""
    real: float
    """Real classes among the suspects, n_r; mean over subsets."""
    unsuspected: float
    """Share of the colluders' decoys that are no suspects, 0 to 1; mean over subsets."""
    share: float
    """P(decoy) of a suspect picked at random, mean over subsets; 0 where there is no suspect."""
    worst_share: float
    """The same for the subset and the colluder's copy where it is greatest."""
    informed: float
    """P(decoy) of a suspect of the bin of equal size and linking where it is greatest, mean over subsets."""
    worst_informed: float
    """The same for the subset and the colluder's copy where it is greatest."""


def planned_share(ratio: int) -> float:
    """P(decoy) by the formula where each decoy has t kept classes: 1 / (1 + t)."""
    return 1 / (1 + ratio)


def collusion(
    held: Sequence[Copy], axes: Sequence[Lineage], rng: np.random.Generator, *, subsets: int = 200
) -> tuple[Collusion, ...]:
    """Let recipients collude in subsets of every size from one to all.

    Parameters
    ----------
    held : sequence of Copy
        One a recipient, each with a decoy or more.
    axes : sequence of Lineage
    rng : Generator
        Draws the subsets of a size that has more than ``subsets`` of them.
    subsets : int
        Most subsets of each size to try, from 1.

    Returns
    -------
    tuple of Collusion
        By number of colluders, from one.

    Raises
    ------
    ParameterError
        If there is no copy, a copy has no decoy, flags do not fit their classes, or ``subsets`` is below 1.
    """
    _check(held, subsets)
    seen = _Patterns.of(held, axes)
    return tuple(_of_size(seen, size, rng, subsets) for size in range(1, len(held) + 1))


@dataclass(frozen=True)
class _Patterns:
    """Classes of all copies, folded by owner, bin, kind and the other recipients who have a class of same origin."""

    owner: NDArray[np.intp]
    look: NDArray[np.intp]
    decoy: Flags
    shared: Flags
    """Whether each recipient has a same-origin class in its copy, shape (n_patterns, n_recipients)."""
    classes: NDArray[np.int64]

    @classmethod
    def of(cls, held: Sequence[Copy], axes: Sequence[Lineage]) -> "_Patterns":
        starts = np.cumsum([0, *[len(copy.classes) for copy in held]])
        everything = held[0].classes.with_rows(*[copy.classes for copy in held[1:]])
        owner = np.repeat(np.arange(len(held)), np.diff(starts))
        cells, number = np.unique(everything.cells, axis=0, return_inverse=True)
        number = number.ravel()
        has = np.zeros((len(cells), len(held)), dtype=bool)
        has[number, owner] = True
        shared = np.zeros_like(has)
        ours, theirs = same_origin_pairs(cells, cells, axes)
        for recipient in range(len(held)):
            shared[ours[has[theirs, recipient]], recipient] = True
        own = shared[number]
        own[np.arange(len(owner)), owner] = False
        (look,) = looks([everything])
        decoy = np.concatenate([copy.decoy for copy in held])
        table = np.column_stack([owner, look, decoy, own])
        folded, counts = np.unique(table, axis=0, return_counts=True)
        return cls(folded[:, 0], folded[:, 1], folded[:, 2].astype(bool), folded[:, 3:].astype(bool), counts)


def _of_size(seen: _Patterns, size: int, rng: np.random.Generator, most: int) -> Collusion:
    n_recipients = seen.shared.shape[1]
    exhaustive = comb(n_recipients, size) <= most
    if exhaustive:
        groups = [np.array(group) for group in combinations(range(n_recipients), size)]
    else:
        groups = [np.sort(rng.choice(n_recipients, size, replace=False)) for _ in range(most)]
    learned = np.array([_learned(seen, group) for group in groups])
    mean, worst = learned.mean(axis=0), learned.max(axis=0)
    return Collusion(
        colluders=size,
        subsets=len(groups),
        exhaustive=exhaustive,
        decoys=float(mean[0]),
        real=float(mean[1]),
        unsuspected=float(mean[2]),
        share=float(mean[3]),
        worst_share=float(worst[4]),
        informed=float(mean[5]),
        worst_informed=float(worst[6]),
    )


def _learned(seen: _Patterns, group: NDArray[np.intp]) -> tuple[float, ...]:
    mine = np.isin(seen.owner, group)
    suspect = mine & ~seen.shared[:, group].any(axis=1)
    all_decoys = seen.classes[mine & seen.decoy].sum()
    decoys, real = seen.classes[suspect & seen.decoy].sum(), seen.classes[suspect & ~seen.decoy].sum()
    by_owner, by_look = [seen.owner], [seen.look]
    return (
        float(decoys),
        float(real),
        float(1 - decoys / all_decoys),
        _greatest_share(seen, suspect, []),
        _greatest_share(seen, suspect, by_owner),
        _greatest_share(seen, suspect, by_look),
        _greatest_share(seen, suspect, by_owner + by_look),
    )


def _greatest_share(seen: _Patterns, suspect: Flags, kinds: Sequence[NDArray[np.intp]]) -> float:
    """Greatest share of decoys among the suspects of one kind; 0 without suspects."""
    if not suspect.any():
        return 0.0
    values = np.column_stack([np.zeros(int(suspect.sum()), np.intp), *[kind[suspect] for kind in kinds]])
    _, kind = np.unique(values, axis=0, return_inverse=True)
    counts = seen.classes[suspect]
    everything = np.bincount(kind.ravel(), weights=counts)
    decoys = np.bincount(kind.ravel(), weights=counts * seen.decoy[suspect])
    return float((decoys / everything).max())


def _check(held: Sequence[Copy], subsets: int) -> None:
    unfit = [copy for copy in held if copy.decoy.shape != (len(copy.classes),) or not copy.decoy.any()]
    if not held or unfit or subsets < 1:
        raise ParameterError(
            "collusion cannot be simulated over these copies",
            where="copies" if subsets >= 1 else "subsets",
            expected="at least one copy, each with a decoy and one flag a class; at least one subset a size",
            got=f"{len(held)} copies, {len(unfit)} of them without, and {subsets} subsets",
            fix="leave out recipients without decoys",
        )
