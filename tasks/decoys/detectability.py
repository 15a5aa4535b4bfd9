"""Whether decoys can be distinguished from real classes: a classifier two-sample test on an intruder's view.

A classifier is trained to separate decoys from real classes and tested on classes that it has not seen; the area under
its ROC curve is 0.5 where nothing separates them (Friedman 2004; Lopez-Paz & Oquab 2017). That intruder is stronger
than any real one, who has no labelled decoys to learn from. Three views, each containing the one before it:

=====================  ==================================================================================
view                   what the intruder sees of a class
=====================  ==================================================================================
file alone             where its groups lie, how wide they are, its size
population             and how many people it links to, in the population and in the register
population and values  and its records' other columns, how round each value is, on which weekday, whether
                       another record has it, and how many records of the file have the same values in all columns
=====================  ==================================================================================

Each is tried by gradient boosting and by logistic regression. The worst area counts; being the largest of several, it
errs on the side of detection. Classes are the units: in the last view records are scored and a class gets the mean of
its records' scores, and no class has records on both sides of a split. Scores of different folds are made comparable as
ranks within their fold. The interval is DeLong's, which takes the scores as given: it covers the sampling of classes,
not of the folds.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from tasks.assessments.utility.features import features
from tasks.core.errors import ParameterError
from tasks.core.seed import one_thread
from tasks.decoys.area import Area, area
from tasks.decoys.generalized_release import Classes, Flags, Floats, GeneralizedRelease
from tasks.decoys.plausibility import seen
from tasks.decoys.sensitive_values import Columns
from tasks.decoys.size_test import SizeTest, size_test
from tasks.decoys.value_features import Noticed, noticed
from tasks.decoys.value_rules import Kinds

_FOLDS = 5
LEAST_DECOYS = 2 * _FOLDS
"""Decoy classes that a test needs, so that each fold has two."""
MOST_CLASSES = 4_000
"""Real classes that a classifier is tried on at most."""
MOST_RECORDS = 20_000
"""Real records that a classifier is tried on at most."""


class View(StrEnum):
    """View of the intruder."""

    FILE = "file alone"
    POPULATION = "population"
    VALUES = "population and values"


class Classifier(StrEnum):
    """Classifier that separates decoys from real classes."""

    BOOSTING = "gradient boosting"
    LINEAR = "logistic regression"


@dataclass(frozen=True)
class Values:
    """Other columns of the records of some classes."""

    columns: Columns
    """Integers are codes, floats are numbers; each of shape (n_records,)."""
    class_of_record: NDArray[np.intp]
    """Class of each record; every class has one at least."""
    kinds: Kinds = field(default_factory=dict)
    """Meaning of floats that are not plain numbers; those of real records count."""


@dataclass(frozen=True)
class Detection:
    """How well one classifier does with one view."""

    view: View
    classifier: Classifier
    area: Area
    top_share: float
    """Share of decoys among the most suspicious classes, as many as there are decoys; ties by chance."""


@dataclass(frozen=True)
class Detectability:
    """All classifiers and views, beside what guessing would reach."""

    detections: tuple[Detection, ...]
    sizes: SizeTest
    baseline_share: float
    """Share of decoys among the classes that the classifiers were tried on."""
    real_classes: int
    """Real classes that they were tried on, drawn where there are more."""

    @property
    def worst(self) -> Detection:
        """The detection with the largest area."""
        return max(self.detections, key=lambda detection: detection.area.value)

    def worst_of(self, view: View) -> Detection | None:
        """The detection with the largest area of one view; None where it was not tried."""
        own = [detection for detection in self.detections if detection.view is view]
        return max(own, key=lambda detection: detection.area.value) if own else None


def detectability(
    release: GeneralizedRelease,
    decoys: Classes,
    generator: np.random.Generator,
    *,
    real_values: Values | None = None,
    decoy_values: Values | None = None,
) -> Detectability:
    """Try to distinguish the decoys of all recipients from the released classes.

    Parameters
    ----------
    release : GeneralizedRelease
    decoys : Classes
        The more, the surer the figure; all recipients' decoys come from one mechanism and go together.
    generator : numpy.random.Generator
        Gives the folds and, where there are many, the real classes.
    real_values, decoy_values : Values, optional
        Records of the released classes, in the order of ``release.classes``, and of the decoys; both or neither.

    Raises
    ------
    ParameterError
        If there are fewer than ``LEAST_DECOYS`` decoy classes or as few real ones, or the values do not fit.
    """
    real = release.classes
    _check(real, decoys, real_values, decoy_values)
    chosen = _chosen(real, real_values is not None, generator)
    decoy = np.arange(len(decoys) + len(chosen)) < len(decoys)
    sizes = np.concatenate([decoys.sizes, real.sizes[chosen]])
    folds = np.empty(len(decoy), dtype=np.intp)
    splitter = StratifiedKFold(_FOLDS, shuffle=True, random_state=int(generator.integers(2**31)))
    for number, (_, tested) in enumerate(splitter.split(decoy[:, None], decoy)):
        folds[tested] = number
    trial = _Trial(decoy, folds)
    matrices = {}
    for view, links in ((View.FILE, False), (View.POPULATION, True)):
        own, _ = seen(release, decoys, links=links)
        others, _ = seen(release, real, links=links)
        matrices[view] = np.column_stack([np.vstack([own, others[chosen]]), np.log(sizes)])
    detections = []
    with one_thread():
        for view, matrix in matrices.items():
            named = {str(number): column for number, column in enumerate(matrix.T)}
            detections += trial.detections(view, matrix, features(named, {}).matrix, np.arange(len(decoy)))
        if real_values is not None and decoy_values is not None:
            records, single = _records(decoy_values, real_values, chosen, len(decoys))
            boosted, linear = _record_matrices(matrices[View.POPULATION], records, single)
            detections += trial.detections(View.VALUES, boosted, linear, records.class_of_record)
    return Detectability(
        detections=tuple(detections),
        sizes=size_test(decoys.sizes, real.sizes, generator),
        baseline_share=len(decoys) / len(decoy),
        real_classes=len(chosen),
    )


@dataclass(frozen=True)
class _Trial:
    """Classes with labels and folds, on which classifiers are tried."""

    decoy: Flags
    folds: NDArray[np.intp]

    def detections(
        self, view: View, boosted: Floats, linear: Floats, class_of_row: NDArray[np.intp]
    ) -> list[Detection]:
        found = []
        for classifier, matrix in ((Classifier.BOOSTING, boosted), (Classifier.LINEAR, linear)):
            scores = self._scores(classifier, matrix, class_of_row)
            found.append(Detection(view, classifier, area(scores, self.decoy), _top_share(scores, self.decoy)))
        return found

    def _scores(self, classifier: Classifier, matrix: Floats, class_of_row: NDArray[np.intp]) -> Floats:
        """Rank within its fold of each class, 0 to 1, by a classifier that has not seen the fold."""
        rows = np.bincount(class_of_row, minlength=len(self.decoy))
        labels = self.decoy[class_of_row]
        # Every class weighs the same whatever its size, and decoys together as much as real classes together.
        shares = np.array([np.count_nonzero(~self.decoy), np.count_nonzero(self.decoy)])
        weights = 1 / rows[class_of_row] / shares[labels.astype(np.intp)]
        weights *= len(weights) / weights.sum()
        scores = np.empty(len(self.decoy))
        for number in range(_FOLDS):
            tested = self.folds[class_of_row] == number
            model = _model(classifier)
            model.fit(matrix[~tested], labels[~tested], sample_weight=weights[~tested])
            suspicion = model.decision_function(matrix[tested])
            own = np.flatnonzero(self.folds == number)
            sums = np.bincount(class_of_row[tested], weights=suspicion, minlength=len(self.decoy))[own]
            scores[own] = rankdata(np.round(sums / rows[own], 9)) / (len(own) + 1)
        return scores


def _model(classifier: Classifier) -> HistGradientBoostingClassifier | LogisticRegression:
    if classifier is Classifier.LINEAR:
        return LogisticRegression(max_iter=500)
    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False, random_state=0
    )


def _top_share(scores: Floats, decoy: Flags) -> float:
    """Expected share of decoys among the highest scores, as many as there are decoys."""
    number = int(np.count_nonzero(decoy))
    border = np.sort(scores)[-number]
    above, tied = scores > border, scores == border
    places = number - np.count_nonzero(above)
    hits = np.count_nonzero(decoy & above) + places * np.count_nonzero(decoy & tied) / np.count_nonzero(tied)
    return float(hits / number)


def _chosen(real: Classes, with_values: bool, generator: np.random.Generator) -> NDArray[np.intp]:
    """Real classes to try on: a random draw of as many as the limits allow."""
    order = generator.permutation(len(real))[:MOST_CLASSES]
    if with_values:
        within = np.searchsorted(np.cumsum(real.sizes[order]), MOST_RECORDS, side="right")
        order = order[: max(int(within), LEAST_DECOYS)]
    return np.sort(order)


def _records(decoys: Values, real: Values, chosen: NDArray[np.intp], n_decoys: int) -> tuple[Values, Noticed]:
    """Records of the decoys and of the chosen real classes, these numbered after the decoys; and what is noticed."""
    number = np.full(int(real.class_of_record.max()) + 1, -1, dtype=np.intp)
    number[chosen] = n_decoys + np.arange(len(chosen))
    rows = np.flatnonzero(number[real.class_of_record] >= 0)
    every = {name: np.concatenate([decoys.columns[name], column]) for name, column in real.columns.items()}
    tested = np.concatenate([np.arange(len(decoys.class_of_record)), len(decoys.class_of_record) + rows])
    columns = {name: column[tested] for name, column in every.items()}
    columns["records of the same values"] = np.log(_twins(every)[tested])
    single = noticed(real.columns, decoys.columns, real.kinds).at(tested)
    class_of_record = np.concatenate([decoys.class_of_record, number[real.class_of_record[rows]]])
    return Values(columns, class_of_record), single


def _twins(columns: Columns) -> NDArray[np.int64]:
    """Records with the same values in all columns, itself included, for each record."""
    group = np.zeros(len(next(iter(columns.values()))), dtype=np.int64)
    for column in columns.values():
        codes = np.unique(column, return_inverse=True)[1]
        group = np.unique(group * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return np.bincount(group)[group]


def _record_matrices(classes: Floats, records: Values, single: Noticed) -> tuple[Floats, Floats]:
    """Features of records with those of their classes: as they are for trees, standardised for the linear model."""
    numeric = {f"class {number}": column[records.class_of_record] for number, column in enumerate(classes.T)}
    coded: dict[str, NDArray[np.integer]] = {}
    plain = list(numeric.values())
    for name, column in records.columns.items():
        plain.append(column.astype(np.float64))
        if column.dtype.kind != "f":
            coded[f"value {name}"] = column.astype(np.int64)
            continue
        numbers = column.astype(np.float64)
        missing = np.isnan(numbers)
        numeric[f"value {name}"] = np.where(missing, numbers[~missing].mean() if not missing.all() else 0.0, numbers)
        if missing.any():
            coded[f"missing {name}"] = missing.astype(np.int64)
    plain += list(single.numbers.values())
    return np.column_stack(plain), features(numeric, coded | single.codes).matrix


def _check(real: Classes, decoys: Classes, real_values: Values | None, decoy_values: Values | None) -> None:
    if min(len(decoys), len(real)) < LEAST_DECOYS:
        raise ParameterError(
            "there are too few classes to measure detection on",
            where="decoy and real classes",
            expected=f"at least {LEAST_DECOYS} of each",
            got=f"{len(decoys)} and {len(real)}",
            fix="measure the mechanism on a larger draw under the same terms: its decoys need not be released",
        )
    if (real_values is None) is not (decoy_values is None):
        raise ParameterError(
            "values are given of one kind of class only",
            where="real_values and decoy_values",
            expected="both or neither",
            got="one",
            fix="give the other columns of the real classes and of the decoys",
        )
    if real_values is not None and decoy_values is not None:
        if list(real_values.columns) != list(decoy_values.columns):
            raise ParameterError(
                "decoys do not have the columns of the real records",
                where="columns",
                expected=f"the same {len(real_values.columns)} columns",
                got=f"{len(decoy_values.columns)} columns",
                fix="draw the decoys' values in the order of the real columns",
            )
        _check_values(real_values, real.sizes, "real classes")
        _check_values(decoy_values, decoys.sizes, "decoys")


def _check_values(values: Values, sizes: NDArray[np.int64], where: str) -> None:
    number = values.class_of_record
    fits = len(number) and number.min() >= 0 and number.max() < len(sizes)
    fits = fits and (np.bincount(number, minlength=len(sizes)) == sizes).all()
    if not fits or any(len(column) != len(number) for column in values.columns.values()):
        raise ParameterError(
            "the records do not fit their classes",
            where=where,
            expected=f"{int(sizes.sum())} records, as many in each class as its size",
            got=f"{len(number)} records",
            fix="give the records of the released classes, numbered by class",
        )
