"""Whether a cluster analysis of the released file finds the groups that one of the original finds.

Both files are clustered by k-means with the same k; the two partitions of the records are compared by pairs of records:
together in both, in one, in neither (Torra 2016, slide 69: Rand, Jaccard and F). k-means itself depends on its start,
so the original is clustered a second time from another start: what these two disagree on, the release is not to blame
for.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import pair_confusion_matrix

from tasks.assessments.utility.facts import ClusteringFact
from tasks.assessments.utility.numeric_change import Floats
from tasks.core.errors import ParameterError
from tasks.core.seed import one_thread

_RESTARTS = 10
_ITERATIONS = 300


def cluster_agreement(
    original: Floats, released: Floats, clusters: int, generator: np.random.Generator
) -> ClusteringFact:
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
        If the number of clusters is outside its range.
    """
    for where, matrix in (("original features", original), ("released features", released)):
        distinct = len(np.unique(matrix, axis=0))
        if not 2 <= clusters <= distinct:
            raise ParameterError(
                "the number of clusters is outside its range",
                where=f"clusters, {where}",
                expected=f"from 2 to the {distinct} distinct points",
                got=str(clusters),
                fix="correct policy.utility.clusters",
            )
    start, other_start = (int(seed) for seed in generator.integers(2**31, size=2))
    with one_thread():
        first, second, again = (
            _labels(matrix, clusters, seed)
            for matrix, seed in ((original, start), (released, start), (original, other_start))
        )
    rand, jaccard, f_measure = pair_agreement(first, second)
    repeated_rand, _, repeated_f_measure = pair_agreement(first, again)
    return ClusteringFact(
        clusters=clusters,
        records=len(original),
        rand=rand,
        jaccard=jaccard,
        f_measure=f_measure,
        repeated_rand=repeated_rand,
        repeated_f_measure=repeated_f_measure,
    )


def pair_agreement(first: NDArray[np.integer], second: NDArray[np.integer]) -> tuple[float, float, float]:
    """Agreement of two partitions of the same records, by pairs of records; each 0 to 1, 1 for the same partition.

    Parameters
    ----------
    first, second : array of int, shape (n_records,)
        Cluster of each record; how clusters are numbered is of no matter.

    Returns
    -------
    rand : float
        Share of pairs on which both say the same (Rand 1971); high by chance where clusters are many.
    jaccard : float
        Pairs together in both over pairs together in either.
    f1 : float
        Harmonic mean of precision and recall of pairs together.
    """
    (apart, only_second), (only_first, together) = pair_confusion_matrix(first, second).astype(float).tolist()
    either = together + only_first + only_second
    rand = (apart + together) / (apart + either)
    return (rand, together / either, 2 * together / (together + either)) if either else (rand, 1.0, 1.0)


def _labels(matrix: Floats, clusters: int, seed: int) -> NDArray[np.int32]:
    """Cluster of each record."""
    with warnings.catch_warnings():
        # Where k-means leaves clusters empty, the two partitions say so themselves.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Neither these starts nor this algorithm multiplies matrices, which rounds differently from machine to machine.
        model = KMeans(
            clusters, init="random", algorithm="elkan", n_init=_RESTARTS, max_iter=_ITERATIONS, random_state=seed
        )
        labels: NDArray[np.int32] = model.fit_predict(matrix)
    return labels
