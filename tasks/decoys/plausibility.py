"""How much a candidate cell looks like a released class, so that decoys are taken where real classes are.

A candidate is weighed by the density ratio p(x | released) / p(x | candidate) of what an intruder with the population
sees of it, x: where its groups lie, how wide they are, how many people it links to. Candidates drawn by that weight are
distributed as released classes as far as the two overlap at all. The ratio is the odds of a classifier that separates
one from the other (Bickel, Brückner & Scheffer 2009; Sugiyama, Suzuki & Kanamori 2012, chapter 4), cross-fitted so that
no candidate is weighed by a classifier that has seen it.
"""

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from tasks.core.seed import one_thread
from tasks.decoys.candidates import Candidates
from tasks.decoys.generalized_release import Classes, Flags, Floats, GeneralizedRelease
from tasks.microdata.hierarchy import Codes

_FOLDS = 5
_TRAINING = 20_000
"""Cells that a classifier learns from at most."""


def seen(
    release: GeneralizedRelease, classes: Classes, *, listed: bool = True, links: bool = True
) -> tuple[Floats, tuple[str, ...]]:
    """Features of classes that an intruder with the population sees, apart from their records.

    Parameters
    ----------
    release : GeneralizedRelease
    classes : Classes
        Released classes or decoys of this release.
    listed, links : bool
        Whether the people of the register, where there is one, and those of the population are among it.

    Returns
    -------
    array of shape (n_classes, n_features)
        Mean leaf and ln width of the group on each axis, then ln(1 + people) and what else differs from it.
    names : tuple of str
    """
    columns, names = [], []
    for axis, hierarchy in enumerate(release.hierarchies):
        columns += [release.middles[axis][classes.cells[:, axis]], np.log(release.widths[axis][classes.cells[:, axis]])]
        names += [f"{hierarchy.name}, place", f"{hierarchy.name}, width"]
    if links:
        columns.append(np.log1p(classes.people))
        names.append("people")
        if release.overlapping:
            columns.append(np.log1p(classes.effective))
            names.append("people whose own cell it is")
        if listed and classes.listed is not None:
            columns.append(np.log1p(classes.listed))
            names.append("people listed")
    return np.column_stack(columns), tuple(names)


def as_classes(candidates: Candidates, chosen: NDArray[np.intp], sizes: NDArray[np.int64]) -> Classes:
    """Chosen candidates as classes of given sizes."""
    return Classes(
        cells=candidates.cells[chosen],
        sizes=sizes,
        people=candidates.people[chosen],
        effective=candidates.effective[chosen],
        listed=None if candidates.listed is None else candidates.listed[chosen],
    )


def supported(cells: Codes, released: Codes) -> Flags:
    """Whether every group of each cell occurs in some released class.

    A group that occurs in none, such as an age that the study excludes, is easily recognised as a decoy's.
    """
    known = np.ones(len(cells), dtype=bool)
    for axis in range(cells.shape[1]):
        known &= np.isin(cells[:, axis], released[:, axis])
    return known


def log_plausibility(
    release: GeneralizedRelease, candidates: Candidates, eligible: NDArray[np.intp], generator: np.random.Generator
) -> Floats:
    """Logarithm of the density ratio at each eligible candidate, up to a constant.

    Parameters
    ----------
    release : GeneralizedRelease
    candidates : Candidates
    eligible : array of int, shape (n_eligible,)
        Candidates to weigh among each other.
    generator : numpy.random.Generator
        Gives the folds.

    Returns
    -------
    array of shape (n_eligible,)
        0 throughout where there are too few cells of either kind to learn from.
    """
    sizes = np.ones(len(eligible), dtype=np.int64)
    empty, _ = seen(release, as_classes(candidates, eligible, sizes))
    real, _ = seen(release, candidates.released)
    if min(len(empty), len(real)) < 2 * _FOLDS:
        return np.zeros(len(eligible))
    features = np.vstack([empty, real])
    released = np.arange(len(features)) >= len(empty)
    fold = np.concatenate([generator.permutation(len(part)) % _FOLDS for part in (empty, real)])
    weights = np.zeros(len(features))
    with one_thread():
        for number in range(_FOLDS):
            training = generator.permutation(np.flatnonzero(fold != number))[:_TRAINING]
            model = HistGradientBoostingClassifier(
                max_iter=60, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False, random_state=0
            )
            model.fit(features[training], released[training])
            weights[fold == number] = model.decision_function(features[fold == number])
    return weights[: len(empty)]
