"""Whether a cluster analysis of the released file finds the groups that one of the original finds.

Both files are clustered by k-means with the same k; the two partitions of the records are compared by pairs of records:
together in both, in one, in neither (Torra 2016, slide 69: Rand, Jaccard and F). k-means itself depends on its start,
so the original is clustered a second time from another start: what these two disagree on, the release is not to blame
for.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from tasks.assessments.utility.checks import Floats, check_features, refused
from tasks.core.one_thread import one_thread

_RESTARTS = 10
_ITERATIONS = 300


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of two partitions of the same records, by pairs of records; 1 is the same partition."""

    rand: float
    """Share of pairs on which both say the same (Rand 1971), 0 to 1; high by chance where clusters are many."""
    jaccard: float
    """Pairs together in both over pairs together in either, 0 to 1."""
    f1: float
    """Harmonic mean of precision and recall of pairs together, 0 to 1."""
    adjusted_rand: float
    """Rand less what chance reaches (Hubert & Arabie 1985): 0 by chance, at least −0.5."""


@dataclass(frozen=True)
class ClusterAgreement:
    """Agreement of k-means on the original and on the released file."""

    clusters: int
    records: int
    released: PairAgreement
    """Original against released."""
    repeated: PairAgreement
    """Original against original, from another start: the yardstick."""
    converged: bool
    """Whether all three runs came to rest within their iterations, with every cluster used."""


def cluster_agreement(
    original: Floats, released: Floats, clusters: int, generator: np.random.Generator
) -> ClusterAgreement:
    """Cluster both files alike and compare.

    Parameters
    ----------
    original, released : array of shape (n_records, n_features)
        Feature matrices; record i is the same in both, the features may differ.
    clusters : int
        From 2, and no more than either file has distinct points.
    generator : numpy.random.Generator
        Gives the starts of k-means; released and original have the same.

    Raises
    ------
    ParameterError
        If the files cannot be paired or hold values beyond ±1e15, or if the number of clusters is outside its
        range.
    """
    check_features(original, released)
    for where, matrix in (("original features", original), ("released features", released)):
        _check_clusters(matrix, clusters, where)
    start, other_start = (int(seed) for seed in generator.integers(2**31, size=2))
    with one_thread():
        first, rest_first = _labels(original, clusters, start)
        second, rest_second = _labels(released, clusters, start)
        again, rest_again = _labels(original, clusters, other_start)
    return ClusterAgreement(
        clusters=clusters,
        records=len(original),
        released=pair_agreement(first, second),
        repeated=pair_agreement(first, again),
        converged=rest_first and rest_second and rest_again,
    )


def pair_agreement(first: NDArray[np.integer], second: NDArray[np.integer]) -> PairAgreement:
    """Agreement of two partitions.

    Parameters
    ----------
    first, second : array of int, shape (n_records,)
        Cluster of each record, at least 2 records; how clusters are numbered is of no matter.

    Raises
    ------
    ParameterError
        If the partitions are not of the same 2 records or more.
    """
    if first.ndim != 1 or first.shape != second.shape or len(first) < 2:
        raise refused(
            "the partitions cannot be compared", "partitions", "the same 2 records or more", f"{len(first)} records"
        )
    (apart, only_second), (only_first, together) = pair_confusion_matrix(first, second).astype(float).tolist()
    either = together + only_first + only_second
    return PairAgreement(
        rand=(apart + together) / (apart + either),
        jaccard=together / either if either else 1.0,
        f1=2 * together / (together + either) if either else 1.0,
        adjusted_rand=float(adjusted_rand_score(first, second)),
    )


def _labels(matrix: Floats, clusters: int, seed: int) -> tuple[NDArray[np.int32], bool]:
    """Cluster of each record, and whether the search came to rest with every cluster used."""
    model = KMeans(n_clusters=clusters, n_init=_RESTARTS, max_iter=_ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        # The warning reports empty clusters; the result reports them below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: NDArray[np.int32] = model.fit_predict(matrix)
    return labels, bool(model.n_iter_ < _ITERATIONS and len(np.unique(labels)) == clusters)


def _check_clusters(matrix: Floats, clusters: int, where: str) -> None:
    distinct = len(np.unique(matrix, axis=0))
    if not 2 <= clusters <= distinct:
        raise refused(
            "the number of clusters is outside its range",
            f"clusters, {where}",
            f"from 2 to the {distinct} distinct points",
            str(clusters),
        )
