"""Whether analyses of the released file find what they find in the original: clusters, and classes to predict.

Both files are clustered by k-means with the same k; the two partitions of the records are compared by pairs of records:
together in both, in one, in neither (Torra 2016, slide 69: Rand, Jaccard and F). k-means itself depends on its start,
so the original is clustered a second time from another start: what these two disagree on, the release is not to blame
for.

Classifiers have one stratified split, the same records for both files. A classifier learns from the training records of
a file and is tested on the held-out records of the same file (slide 69: decision tree, naive Bayes, k nearest
neighbours, support vector machine).
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.cluster import pair_confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tasks.assessments.utility.facts import ClassificationFact, ClassifierFact, ClusteringFact
from tasks.assessments.utility.features import Features
from tasks.assessments.utility.numeric_change import Floats
from tasks.core.errors import ParameterError
from tasks.core.seed import one_thread
from tasks.core.wilson import wilson

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


Ints = NDArray[np.int64]

HELD_OUT = 0.3
"""Share of the records that is held out."""
CLASSES = 20
"""Classes of the target at most, the one for all other values included."""
SMALLEST_CLASS = 10
"""Records that a class needs of its own; smaller ones are pooled, and left out where the pool is smaller still."""
MOST_TRAINING = {
    "decision tree": 20_000,
    "naive Bayes": 20_000,
    "nearest neighbours": 10_000,
    "support vector machine": 4_000,
}
"""Records that each method learns from at most; time grows faster than the records for some."""

_NEIGHBOURS = 15
_LEAF = 5
_SVM_ITERATIONS = 100_000


def classification_accuracy(
    original: Features, released: Features, target: ArrayLike, name: str, generator: np.random.Generator
) -> ClassificationFact:
    """Train all methods on both files and test them on held-out records.

    Parameters
    ----------
    original, released : Features
        Record i is the same in both; the features may differ. The target must not be among them.
    target : array_like of int, shape (n_records,)
        Code of the value to predict, the same for both files.
    name : str
        Name of the target.
    generator : numpy.random.Generator
        Gives the split and the tree's order of ties.

    Raises
    ------
    ParameterError
        If fewer than two classes are large enough.
    """
    kept, classes = _classes(np.asarray(target), name)
    seed = int(generator.integers(2**31))
    training, held_out = train_test_split(kept, test_size=HELD_OUT, stratify=classes[kept], random_state=seed)
    values, counts = np.unique(classes[training], return_counts=True)
    classifiers = []
    for method, most in MOST_TRAINING.items():
        chosen = _proportional(training, classes, most)
        figures: dict[str, float] = {}
        for version, file in (("original", original), ("released", released)):
            predicted = _predicted(method, seed, file, classes, (chosen, held_out))
            right = int((predicted == classes[held_out]).sum())
            low, high = wilson(right, len(held_out))
            figures |= {version: right / len(held_out), f"{version}_low": low, f"{version}_high": high}
        classifiers.append(ClassifierFact(name=method, trained=len(chosen), **figures))
    return ClassificationFact(
        target=name,
        classes=len(values),
        tested=len(held_out),
        majority=int((classes[held_out] == values[counts.argmax()]).sum()) / len(held_out),
        classifiers=tuple(classifiers),
    )


def _predicted(
    method: str, seed: int, file: Features, classes: Ints, split: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> Ints:
    """Class that a method gives each held-out record, learned from the training records."""
    training, held_out = split
    model = {
        "decision tree": DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=seed),
        "naive Bayes": MixedNaiveBayes(file.n_numeric),
        "nearest neighbours": KNeighborsClassifier(n_neighbors=min(_NEIGHBOURS, len(training))),
        "support vector machine": SVC(max_iter=_SVM_ITERATIONS),
    }[method]
    with one_thread(), warnings.catch_warnings():
        # Where the iterations of the SVM run out, its accuracy shows it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(file.matrix[training], classes[training])
        predicted: Ints = model.predict(file.matrix[held_out])
    return predicted


def _classes(codes: Ints, name: str) -> tuple[NDArray[np.intp], Ints]:
    """Positions that take part, and class of each record; rare values share the last class."""
    values, value, counts = np.unique(codes, return_inverse=True, return_counts=True)
    by_size = np.argsort(-counts, kind="stable")
    large = by_size[counts[by_size] >= SMALLEST_CLASS]
    if len(large) < len(values) or len(large) > CLASSES:
        large = large[: CLASSES - 1]
    own = np.zeros(len(values), dtype=bool)
    own[large] = True
    pooled = int(counts[~own].sum()) >= SMALLEST_CLASS
    if len(large) + pooled < 2:
        raise ParameterError(
            "there are no two classes to tell apart",
            where=f"target {name}",
            expected=f"two values or more with at least {SMALLEST_CLASS} records each",
            got=f"{len(large)} such values of {len(values)}",
            fix="name another attribute in policy.utility.target",
        )
    kept = np.arange(len(codes)) if pooled else np.flatnonzero(own[value])
    return kept, np.where(own, np.arange(len(values)), len(values))[value].astype(np.int64)


def _proportional(training: NDArray[np.intp], classes: Ints, most: int) -> NDArray[np.intp]:
    """As many of the shuffled training records as allowed, of each class in proportion and at least one."""
    if len(training) <= most:
        return training
    order = np.argsort(classes[training], kind="stable")
    _, first, counts = np.unique(classes[training][order], return_index=True, return_counts=True)
    place = np.empty(len(training))
    place[order] = (np.arange(len(training)) - np.repeat(first, counts)) / np.repeat(counts, counts)
    return training[np.argsort(place, kind="stable")[:most]]


class MixedNaiveBayes:
    """Naive Bayes on numbers and 0/1 indicators: normal densities for the one, Bernoulli shares for the other.

    The two models' log likelihoods are added, the prior counted once; within a class all features are independent.

    Parameters
    ----------
    n_numeric : int
        Leading columns with a normal density; those that do not vary in training are passed over. All others are 0/1.
    """

    def __init__(self, n_numeric: int) -> None:
        self._n_numeric = n_numeric

    def fit(self, matrix: Floats, classes: Ints) -> "MixedNaiveBayes":
        """Estimate from records of shape (n_records, n_features) and their classes."""
        self._classes, counts = np.unique(classes, return_counts=True)
        self._log_prior = np.log(counts / len(classes))
        varying = np.flatnonzero(np.ptp(matrix[:, : self._n_numeric], axis=0) > 0)
        parts = ((GaussianNB(), varying), (BernoulliNB(), np.arange(self._n_numeric, matrix.shape[1])))
        self._models = [(model.fit(matrix[:, part], classes), part) for model, part in parts if len(part)]
        return self

    def predict(self, matrix: Floats) -> Ints:
        """Most likely class of each record."""
        joint = np.tile(self._log_prior, (len(matrix), 1))
        for model, part in self._models:
            joint += model.predict_joint_log_proba(matrix[:, part]) - self._log_prior
        predicted: Ints = self._classes[joint.argmax(axis=1)]
        return predicted
