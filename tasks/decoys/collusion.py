"""Knowledge of colluding recipients: P(decoy) of the classes that stand alone, for subsets of every size.

Recipients who compare their copies suspect every class that has no same-origin class in any other copy of theirs. Of
n_d decoys and n_r real classes among them a suspect is a decoy with probability

    P(decoy) = n_d / (n_d + n_r)

(Antonatos et al. 2019, Section 6; the formula is lost in print and restored). One recipient alone compares nothing, so
all its classes are suspects. An intruder who also has the population sorts suspects by what can be seen of them, their
size and the people they link to, and names one where decoys are most frequent: no inference from size and linking does
better, since it is granted the very shares that it would have to estimate.

Colluders need not tell decoys from kept classes: who drops all that stands alone passes on a copy that no trace names.
No marking of this kind prevents it; its price is the records of those classes, of which the least share is given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tasks.decision.decoy_facts import CollusionFact
from tasks.decoys.classes import ClassTable, Flags, Lineage, Rows, joined, looks
from tasks.decoys.origins import Origins, Placed, Roster


@dataclass(frozen=True)
class MarkedCopy:
    """One recipient's copy as others see it; shows nothing of it."""

    classes: ClassTable = field(repr=False)
    decoy: Flags = field(repr=False)
    """Whether each class is a decoy; at least one is."""
    file: int = 0
    """Number of the file that the copy is made of."""


def collusion(
    held: Sequence[MarkedCopy],
    axes: Sequence[Lineage],
    generator: np.random.Generator,
    *,
    subsets: int = 200,
    rosters: Sequence[Roster] = (),
) -> tuple[CollusionFact, ...]:
    """Knowledge of recipients who collude in sets of every size, from one to all; by number of colluders.

    Of a size that has more than `subsets` sets, the generator draws as many. Where some file has remainder classes,
    `rosters` has the people of each file's.
    """
    classes = _Classes.of(held, Origins(axes, rosters))
    found = []
    for size in range(1, len(held) + 1):
        exhaustive = comb(len(held), size) <= subsets
        groups = (
            [np.array(group) for group in combinations(range(len(held)), size)]
            if exhaustive
            else [np.sort(generator.choice(len(held), size, replace=False)) for _ in range(subsets)]
        )
        learned = np.array([classes.learned(group) for group in groups])
        mean, worst = learned.mean(axis=0), learned.max(axis=0)
        found.append(
            CollusionFact(
                colluders=size,
                sets=len(groups),
                exhaustive=exhaustive,
                suspects_decoys=mean[0],
                suspects_real=mean[1],
                probability=mean[2],
                worst=worst[3],
                informed=mean[4],
                worst_informed=worst[5],
                evasion=np.floor(10_000 * learned[:, 6].min()) / 10_000 if size > 1 else 0.0,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class _Classes:
    """Classes of all copies, folded by owner, bin, kind and the other recipients who have a class of same origin."""

    owner: Rows
    look: Rows
    decoy: Flags
    shared: Flags
    """Whether each recipient has a same-origin class in its copy, shape (n_patterns, n_recipients)."""
    number: NDArray[np.int64]
    records: NDArray[np.int64]
    """Records of each class."""

    @classmethod
    def of(cls, held: Sequence[MarkedCopy], origins: Origins) -> "_Classes":
        everything = joined([copy.classes for copy in held])
        owner = np.repeat(np.arange(len(held)), [len(copy.classes) for copy in held])
        files = np.array([copy.file for copy in held])[owner]
        cells, number = np.unique(np.column_stack([everything.cells, files]), axis=0, return_inverse=True)
        number, classes = number.ravel(), Placed(cells[:, :-1], cells[:, -1])
        has = np.zeros((len(cells), len(held)), dtype=bool)
        has[number, owner] = True
        shared = np.zeros_like(has)
        ours, theirs = origins.classes(classes, classes)
        for recipient in range(len(held)):
            shared[ours[has[theirs, recipient]], recipient] = True
        own = shared[number]
        own[np.arange(len(owner)), owner] = False
        decoy = np.concatenate([copy.decoy for copy in held])
        table = np.column_stack([owner, looks(everything), decoy, own])
        folded, first, counts = np.unique(table, axis=0, return_index=True, return_counts=True)
        sizes, flags = everything.records[first], folded[:, 2:].astype(bool)
        return cls(folded[:, 0], folded[:, 1], flags[:, 0], flags[:, 1:], counts, sizes)

    def learned(self, group: Rows) -> tuple[float, ...]:
        """Decoys and real classes among a group's suspects; greatest P(decoy) of all, by owner, by bin, by both.

        Last, the least share of the records of one of their copies that are suspects.
        """
        suspect = np.isin(self.owner, group) & ~self.shared[:, group].any(axis=1)
        number, decoy = self.number[suspect], self.decoy[suspect]
        none, owner, look = np.zeros(len(number), dtype=np.intp), self.owner[suspect], self.look[suspect]
        shares = []
        for kinds in ([none], [owner], [look], [owner, look]):
            kind = np.unique(np.column_stack(kinds), axis=0, return_inverse=True)[1].ravel()
            of_kind = np.bincount(kind, weights=number)
            shares.append(float((np.bincount(kind, weights=number * decoy) / of_kind).max(initial=0.0)))
        rows = self.number * self.records
        lost = [rows[suspect & (self.owner == one)].sum() / rows[self.owner == one].sum() for one in group]
        return (float(number[decoy].sum()), float(number[~decoy].sum()), *shares, float(min(lost)))
