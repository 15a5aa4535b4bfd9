"""Whose kept classes alone an incident hits, and how likely that is of one made without knowing who keeps what.

Which real classes of a bin (as many records, people linked within a half-octave) are kept, and by whom, is drawn at
random and secret. So whatever an incident hits, if it was made without the copies, each set of classes of a bin is as
likely as any other to be the kept ones: of the N classes of a bin with K kept ones, K_i of them recipient i's, and h
hit, the number of kept ones that are hit is hypergeometric, and whose they are is a draw without replacement. Hence

    P(j of i's are hit and none of others') = Hypergeometric(j; N, K, h) · C(K_i, j) / C(K, j)

for each bin, independently of the other bins. A copy has all of its own kept classes and none of any other: half of it
hits many classes, some of its own kept ones and not one of the others'.

Only tuples that can come from just one real class of a file count as hits here, so that what is hit does not depend on
which classes are kept.
"""

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.decoys.class_table import ClassTable, looks
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import Manifest
from tasks.decoys.same_origin import same_origin_pairs
from tasks.microdata.hierarchy import Codes

Flags = NDArray[np.bool_]
_NOBODY = -1


def classes_alone(manifest: Manifest, cells: Codes, axes: Sequence[Lineage]) -> list[Flags]:
    """Flags of the real classes of each first-version file that are hit by a tuple that fits no other class of it.

    Parameters
    ----------
    manifest : Manifest
    cells : array of shape (n_cells, n_attributes)
        Distinct tuples of the incident, canonical.
    axes : sequence of Lineage
    """
    return [_alone(cells, table.cells, axes) for table in manifest.versions[0].files]


def only_keeper(manifest: Manifest, hit: Sequence[Flags]) -> tuple[str, float] | None:
    """The one recipient whose kept classes are hit, if there is just one.

    Parameters
    ----------
    manifest : Manifest
    hit : sequence of arrays of bool, shape (n_classes,)
        As of ``classes_alone``.

    Returns
    -------
    recipient : str
    chance : float
        Probability, 0 to 1, that as many of its kept classes are hit or more, and none of any other holder's.
    None if the kept classes of no holder, of several holders, or of a seat are hit.
    """
    files = manifest.versions[0].files
    keeper = [_keepers(manifest, number, table) for number, table in enumerate(files)]
    owners = np.concatenate([of_class[flags] for of_class, flags in zip(keeper, hit, strict=True)])
    owners = owners[owners != _NOBODY]
    if len(np.unique(owners)) != 1:
        return None
    owner = int(owners[0])
    recipient = manifest.holders[owner].recipient
    if recipient is None:
        return None
    chances = np.ones(1)
    for table, flags, of_class in zip(files, hit, keeper, strict=True):
        (look,) = looks([table])
        for number in np.unique(look[of_class != _NOBODY]):
            chances = np.convolve(chances, _of_bin(look == number, flags, of_class, owner))
    return recipient, float(min(1.0, chances[len(owners) :].sum()))


def _alone(cells: Codes, classes: Codes, axes: Sequence[Lineage]) -> Flags:
    """Whether each class has a tuple that can come from no other class of its file."""
    tuples, rows = same_origin_pairs(cells, classes, axes)
    flags = np.zeros(len(classes), dtype=bool)
    flags[rows[np.bincount(tuples, minlength=len(cells))[tuples] == 1]] = True
    return flags


def _keepers(manifest: Manifest, file: int, table: ClassTable) -> NDArray[np.int64]:
    """Number of the holder who keeps each class of a file."""
    keeper = {
        cell.tobytes(): number
        for number, holder in enumerate(manifest.holders)
        if holder.generalization == file
        for cell in holder.kept.cells.astype(np.int32)
    }
    return np.array([keeper.get(cell.tobytes(), _NOBODY) for cell in table.cells.astype(np.int32)], dtype=np.int64)


def _of_bin(here: Flags, hit: Flags, keeper: NDArray[np.int64], owner: int) -> NDArray[np.float64]:
    """Chance of 0, 1, … of the owner's kept classes of a bin being hit and of none of the others'."""
    n_classes, n_hit = np.count_nonzero(here), np.count_nonzero(here & hit)
    n_kept, n_own = np.count_nonzero(here & (keeper != _NOBODY)), np.count_nonzero(here & (keeper == owner))
    numbers = np.arange(n_own + 1)
    whose = np.array([comb(n_own, number) / comb(n_kept, number) for number in numbers.tolist()])
    found: NDArray[np.float64] = stats.hypergeom.pmf(numbers, n_classes, n_kept, n_hit) * whose
    return found
