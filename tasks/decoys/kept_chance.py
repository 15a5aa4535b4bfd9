"""How likely it is that as many kept classes of one recipient are hit by an incident that did not come from it.

Which real classes of a bin (as many records, people linked within a half-octave) are kept, and by whom, is drawn at
random and secret. Where an incident hits kept classes of several recipients, of the K kept classes of all recipients C,
and c of them the K_i of this one,

    chance of as many of its kept classes = P(Hypergeometric(K, K_i, C) ≥ c)

Where it hits those of one holder alone, how many other real classes it hits is evidence too. Whatever an incident hits,
if it was made without the copies, each set of classes of a bin is as likely as any other to be the kept ones: of the N
classes of a bin with K kept ones, K_i of them recipient i's, and h hit, the number of kept ones that are hit is
hypergeometric, and whose they are is a draw without replacement. Hence

    P(j of i's are hit and none of others') = Hypergeometric(j; N, K, h) · C(K_i, j) / C(K, j)

for each bin, independently of the other bins. A copy has all of its own kept classes and none of any other: half of it
hits many classes, some of its own kept ones and not one of the others'. Only tuples that can come from just one real
class of a file count as hits here, so that what is hit does not depend on which classes are kept.

The two are alternatives, of which one is chosen by what was hit: either is doubled.
"""

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tasks.decoys.class_table import ClassTable, Flags, looks
from tasks.decoys.lineage import Lineage
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.same_origin import same_origin_pairs
from tasks.microdata.hierarchy import Codes

_NOBODY = -1


def single_hits(manifest: DecoyManifest, cells: Codes, axes: Sequence[Lineage]) -> list[Flags]:
    """Flags of the real classes of each first-version file that are hit by a tuple that fits no other class of it.

    Parameters
    ----------
    manifest : DecoyManifest
    cells : array of shape (n_cells, n_attributes)
        Distinct tuples of the incident, canonical.
    axes : sequence of Lineage
    """
    found = []
    for table in manifest.versions[0].files:
        tuples, rows = same_origin_pairs(cells, table.cells, axes)
        single = np.bincount(tuples, minlength=len(cells))[tuples] == 1
        found.append(np.isin(np.arange(len(table)), rows[single]))
    return found


def only_keeper(manifest: DecoyManifest, hit: Sequence[Flags]) -> tuple[str, float] | None:
    """The one recipient whose kept classes are hit, if there is just one.

    Parameters
    ----------
    manifest : DecoyManifest
    hit : sequence of arrays of bool, shape (n_classes,)
        As of ``single_hits``.

    Returns
    -------
    recipient : str
    chance : float
        Probability, 0 to 1, that as many of its kept classes are hit or more, and none of any other holder's.
    None if the kept classes of no holder, of several holders, or of a seat are hit.
    """
    files = manifest.versions[0].files
    keepers = [_keepers(manifest, number, table) for number, table in enumerate(files)]
    owners = np.concatenate([keeper[flags] for keeper, flags in zip(keepers, hit, strict=True)])
    owners = owners[owners != _NOBODY]
    recipient = manifest.holders[int(owners[0])].recipient if len(np.unique(owners)) == 1 else None
    if recipient is None:
        return None
    chances = np.ones(1)
    for table, flags, keeper in zip(files, hit, keepers, strict=True):
        look = looks(table)
        for number in np.unique(look[keeper != _NOBODY]):
            here = look == number
            kept, own = here & (keeper != _NOBODY), int((here & (keeper == owners[0])).sum())
            of_bin = stats.hypergeom.pmf(np.arange(own + 1), here.sum(), kept.sum(), (here & flags).sum())
            whose = [comb(own, count) / comb(int(kept.sum()), count) for count in range(own + 1)]
            chances = np.convolve(chances, of_bin * whose)
    return recipient, float(min(1.0, chances[len(owners) :].sum()))


def _keepers(manifest: DecoyManifest, file: int, table: ClassTable) -> NDArray[np.int64]:
    """Number of the holder who keeps each class of a file."""
    keeper = {
        cell.tobytes(): number
        for number, holder in enumerate(manifest.holders)
        if holder.generalization == file
        for cell in holder.kept.cells
    }
    return np.array([keeper.get(cell.tobytes(), _NOBODY) for cell in table.cells], dtype=np.int64)
