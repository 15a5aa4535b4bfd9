"""Whether classifiers trained on the released file predict as well as those trained on the original.

One stratified split, the same records for both files. A classifier learns from the training records of a file and is
tested on the held-out records of the same file; where both files hold the same numeric features, also on the held-out
records of the original, which is what an analyst meets who applies to the world what was learned from the release.
(Torra 2016, slide 69: decision tree, naive Bayes, k nearest neighbours, support vector machine.)
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from tasks.assessments.linkage.figure import wilson
from tasks.assessments.utility.checks import Floats, Ints, check_features, checked_codes, refused
from tasks.assessments.utility.features import Features
from tasks.assessments.utility.naive_bayes import MixedNaiveBayes
from tasks.core.one_thread import one_thread

HELD_OUT = 0.3
"""Share of the records that is held out."""
CLASSES = 20
"""Classes of the target at most, the one for all other values included."""
SMALLEST_CLASS = 10
"""Records that a class needs of its own; smaller ones are pooled, and left out where the pool is smaller still."""

_NEIGHBOURS = 15
_LEAF = 5
_SVM_ITERATIONS = 100_000


class _Classifier(Protocol):
    def fit(self, matrix: Floats, classes: Ints) -> object: ...

    def predict(self, matrix: Floats) -> Ints: ...


@dataclass(frozen=True)
class _Method:
    name: str
    most_training: int
    """Records it learns from at most; time grows faster than the records for some."""
    make: Callable[[int, int, int], _Classifier]
    """From the seed, the number of numeric features and the number of training records."""


_METHODS = (
    _Method(
        "decision tree",
        20_000,
        lambda seed, _numeric, _training: DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=seed),
    ),
    _Method("naive Bayes", 20_000, lambda _seed, numeric, _training: MixedNaiveBayes(numeric)),
    _Method(
        "nearest neighbours",
        10_000,
        lambda _seed, _numeric, training: KNeighborsClassifier(n_neighbors=min(_NEIGHBOURS, training)),
    ),
    _Method("support vector machine", 4_000, lambda _seed, _numeric, _training: SVC(max_iter=_SVM_ITERATIONS)),
)


@dataclass(frozen=True)
class Accuracy:
    """Records that a classifier got right."""

    correct: int
    held_out: int
    """Records it was tested on."""

    @property
    def share(self) -> float:
        """Accuracy, 0 to 1."""
        return self.correct / self.held_out

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson score interval of the accuracy, 95 %."""
        return wilson(self.correct, self.held_out)


@dataclass(frozen=True)
class MethodAccuracy:
    """Accuracy of one method."""

    method: str
    training_records: int
    """Records it learned from."""
    original: Accuracy
    """Learned from the original, tested on the original."""
    released: Accuracy
    """Learned from the release, tested on the release."""
    transferred: Accuracy | None
    """Learned from the release, tested on the original; None where the features are not the same."""
    converged: bool
    """Whether training came to its end everywhere; False where the iterations of the SVM ran out."""

    @property
    def loss(self) -> float:
        """Accuracy on the original less that on the release, −1 to 1."""
        return self.original.share - self.released.share


@dataclass(frozen=True)
class Classification:
    """Accuracy of all methods for one target."""

    target: str
    classes: int
    """Classes to tell apart, the pool included."""
    pooled_values: int
    """Values of the target that share one class because they are rare."""
    pooled_records: int
    left_out_records: int
    """Records whose value is rare, where all rare values together are still too few for a class."""
    training_records: int
    """Records to learn from; methods that are slow learn from fewer."""
    majority: Accuracy
    """Baseline: always the most frequent class of the training records."""
    methods: tuple[MethodAccuracy, ...]


def classification_accuracy(
    original: Features,
    released: Features,
    target: ArrayLike,
    name: str,
    generator: np.random.Generator,
    *,
    transfer: bool = False,
) -> Classification:
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
    transfer : bool
        Also test on the original what was learned from the release; needs the same numeric features, on one scale
        (``features`` with ``scaled_as``).

    Raises
    ------
    ParameterError
        If the files and the target do not fit one another, a feature is beyond ±1e15, fewer than two classes are large
        enough, or ``transfer`` is asked of features that are not numeric or differ in number.
    """
    check_features(original.matrix, released.matrix)
    codes = checked_codes(target, len(original.matrix), name)
    if transfer:
        _check_transfer(original, released)
    kept, classes, pooled_values, pooled_records = _classes(codes, name)
    seed = int(generator.integers(2**31))
    training, held_out = train_test_split(kept, test_size=HELD_OUT, stratify=classes[kept], random_state=seed)
    values, counts = np.unique(classes[training], return_counts=True)
    with one_thread():
        methods = tuple(
            _accuracy(method, (original, released), classes, (training, held_out), seed=seed, transfer=transfer)
            for method in _METHODS
        )
    return Classification(
        target=name,
        classes=len(values),
        pooled_values=pooled_values,
        pooled_records=pooled_records,
        left_out_records=len(codes) - len(kept),
        training_records=len(training),
        majority=Accuracy(int((classes[held_out] == values[counts.argmax()]).sum()), len(held_out)),
        methods=methods,
    )


def _accuracy(
    method: _Method,
    files: tuple[Features, Features],
    classes: Ints,
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    *,
    seed: int,
    transfer: bool,
) -> MethodAccuracy:
    training, held_out = _proportional(split[0], classes, method.most_training), split[1]
    truth = classes[held_out]
    figures, converged = [], True
    for file in files:
        model = method.make(seed, file.n_numeric, len(training))
        with warnings.catch_warnings():
            # The SVM warns when its iterations run out; the result reports it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(file.matrix[training], classes[training])
        converged &= getattr(model, "fit_status_", 0) == 0
        figures.append(Accuracy(int((model.predict(file.matrix[held_out]) == truth).sum()), len(truth)))
    transferred = None
    if transfer:
        transferred = Accuracy(int((model.predict(files[0].matrix[held_out]) == truth).sum()), len(truth))
    return MethodAccuracy(method.name, len(training), figures[0], figures[1], transferred, converged)


def _classes(codes: Ints, name: str) -> tuple[NDArray[np.intp], Ints, int, int]:
    """Positions that take part, class of each record (the pool has the last number), values and records pooled."""
    values, value, counts = np.unique(codes, return_inverse=True, return_counts=True)
    by_size = np.argsort(-counts, kind="stable")
    large = by_size[counts[by_size] >= SMALLEST_CLASS]
    if len(large) < len(values) or len(large) > CLASSES:
        large = large[: CLASSES - 1]
    own = np.zeros(len(values), dtype=bool)
    own[large] = True
    rare_records = int(counts[~own].sum())
    pooled = rare_records >= SMALLEST_CLASS
    if int(own.sum()) + pooled < 2:
        raise refused(
            "there are no two classes to tell apart",
            f"target {name}",
            f"two values or more with at least {SMALLEST_CLASS} records each",
            f"{int(own.sum())} such values of {len(values)}",
        )
    classes = np.where(own, np.arange(len(values)), len(values))[value]
    kept = np.arange(len(codes)) if pooled else np.flatnonzero(own[value])
    return kept, classes.astype(np.int64), int((~own).sum()) if pooled else 0, rare_records if pooled else 0


def _proportional(training: NDArray[np.intp], classes: Ints, most: int) -> NDArray[np.intp]:
    """As many of the shuffled training records as allowed, of each class in proportion and at least one."""
    if len(training) <= most:
        return training
    order = np.argsort(classes[training], kind="stable")
    _, first, counts = np.unique(classes[training][order], return_index=True, return_counts=True)
    place = np.empty(len(training))
    place[order] = (np.arange(len(training)) - np.repeat(first, counts)) / np.repeat(counts, counts)
    return training[np.argsort(place, kind="stable")[:most]]


def _check_transfer(original: Features, released: Features) -> None:
    widths = {original.matrix.shape[1], released.matrix.shape[1], original.n_numeric, released.n_numeric}
    if len(widths) > 1:
        raise refused(
            "what is learned from the release cannot be applied to the original",
            "transfer",
            "the same numeric features in both files and no others",
            f"{original.n_numeric} numeric of {original.matrix.shape[1]} features, and "
            f"{released.n_numeric} of {released.matrix.shape[1]}",
        )
