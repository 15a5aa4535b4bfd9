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

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from tasks.assessments.utility.features import features
from tasks.core.seed import one_thread
from tasks.decision.decoy_facts import DetectabilityFact, DetectionFact
from tasks.decoys.classes import ClassTable, Flags, Floats, Rows
from tasks.decoys.decoy_cells import boosting
from tasks.decoys.decoy_records import ClassRecords, at_rows
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.separation import area, size_p_value
from tasks.decoys.value_features import noticed
from tasks.decoys.value_rules import Columns, Kinds

_FOLDS = 5
LEAST_DECOYS = 2 * _FOLDS
"""Decoy classes, and real ones, that a test needs, so that each fold has two."""
MOST_CLASSES = 4_000
"""Real classes that a classifier is tried on at most."""
MOST_RECORDS = 20_000
"""Real records that a classifier is tried on at most."""


class View(StrEnum):
    """View of the intruder."""

    FILE = "file alone"
    POPULATION = "population"
    VALUES = "population and values"


def detectability(
    release: LinkedRelease, decoys: ClassRecords, real: ClassRecords, kinds: Kinds, generator: np.random.Generator
) -> DetectabilityFact:
    """Try to distinguish the decoys of all recipients from the released classes.

    Parameters
    ----------
    release : LinkedRelease
    decoys : ClassRecords
        At least ``LEAST_DECOYS`` classes. The more, the surer the figure; all recipients' decoys come from one
        mechanism and go together.
    real : ClassRecords
        Of the released classes, as many at least; with the same columns.
    kinds : mapping of str to ValueKind
        Of columns of floats that are not plain numbers.
    generator : numpy.random.Generator
        Gives the folds and, where there are many, the real classes.
    """
    chosen = _chosen(real.classes, generator, with_values=bool(real.columns))
    decoy = np.arange(len(decoys.classes) + len(chosen)) < len(decoys.classes)
    sizes = np.log(np.concatenate([decoys.classes.records, real.classes.records[chosen]]))
    folds = np.empty(len(decoy), dtype=np.intp)
    splitter = StratifiedKFold(_FOLDS, shuffle=True, random_state=int(generator.integers(2**31)))
    for number, (_, tested) in enumerate(splitter.split(decoy[:, None], decoy)):
        folds[tested] = number
    trial, tried = _Trial(decoy, folds), list[DetectionFact]()
    with one_thread():
        for view, links in ((View.FILE, False), (View.POPULATION, True)):
            own, others = (release.seen(part.classes.cells, links=links) for part in (decoys, real))
            matrix = np.column_stack([np.vstack([own, others[chosen]]), sizes])
            tried += trial.detections(view, matrix, _standardised(matrix), np.arange(len(decoy)))
        if real.columns:
            tried += trial.detections(View.VALUES, *_of_records(decoys, real, chosen, matrix, kinds))
    return DetectabilityFact(
        tried=tuple(tried),
        worst=max(tried, key=lambda one: one.area),
        decoys=len(decoys.classes),
        real_classes=len(chosen),
        size_p_value=size_p_value(decoys.classes.records, real.classes.records, generator),
    )


def _standardised(matrix: Floats) -> Floats:
    return features({str(number): column for number, column in enumerate(matrix.T)}, {}).matrix


@dataclass(frozen=True)
class _Trial:
    """Classes with labels and folds, on which classifiers are tried."""

    decoy: Flags
    folds: Rows

    def detections(self, view: View, plain: Floats, standardised: Floats, class_of_row: Rows) -> list[DetectionFact]:
        """One view by both classifiers."""
        found = []
        for name, matrix in (("gradient boosting", plain), ("logistic regression", standardised)):
            value, low, high = area(self._scores(name, matrix, class_of_row), self.decoy)
            found.append(DetectionFact(view=view.value, classifier=name, area=value, low=low, high=high))
        return found

    def _scores(self, classifier: str, matrix: Floats, class_of_row: Rows) -> Floats:
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
            model = boosting() if classifier == "gradient boosting" else LogisticRegression(max_iter=500)
            model.fit(matrix[~tested], labels[~tested], sample_weight=weights[~tested])
            suspicion = model.decision_function(matrix[tested])
            own = np.flatnonzero(self.folds == number)
            sums = np.bincount(class_of_row[tested], weights=suspicion, minlength=len(self.decoy))[own]
            scores[own] = rankdata(np.round(sums / rows[own], 9)) / (len(own) + 1)
        return scores


def _chosen(real: ClassTable, generator: np.random.Generator, *, with_values: bool) -> Rows:
    """Real classes to try on: a random draw of as many as the limits allow."""
    order = generator.permutation(len(real))[:MOST_CLASSES]
    if with_values:
        within = np.searchsorted(np.cumsum(real.records[order]), MOST_RECORDS, side="right")
        order = order[: max(int(within), LEAST_DECOYS)]
    return np.sort(order)


def _of_records(
    decoys: ClassRecords, real: ClassRecords, chosen: Rows, classes: Floats, kinds: Kinds
) -> tuple[Floats, Floats, Rows]:
    """Features of the decoys' records and of the chosen classes', for trees and for the linear model; their classes."""
    number = np.full(len(real.classes), -1, dtype=np.intp)
    number[chosen] = len(decoys.classes) + np.arange(len(chosen))
    class_of_record = np.concatenate([decoys.class_of_record, number[real.class_of_record]])
    tested = np.flatnonzero(class_of_record >= 0)
    class_of_row = class_of_record[tested]
    every = {name: np.concatenate([decoys.columns[name], column]) for name, column in real.columns.items()}
    columns = at_rows(every, tested) | {"records of the same values": np.log(_twins(every)[tested])}
    numbers, codes = noticed(real.columns, decoys.columns, kinds).at(tested)
    numeric = {f"class {number}": column[class_of_row] for number, column in enumerate(classes.T)}
    plain, coded = list(numeric.values()), dict[str, NDArray[np.int64]]()
    for name, column in columns.items():
        plain.append(column.astype(np.float64))
        missing = np.isnan(column)
        if column.dtype.kind != "f":
            coded[f"value {name}"] = column.astype(np.int64)
            continue
        numeric[f"value {name}"] = np.where(missing, column[~missing].mean() if not missing.all() else 0.0, column)
        if missing.any():
            coded[f"missing {name}"] = missing.astype(np.int64)
    return np.column_stack([*plain, *numbers.values()]), features(numeric, coded | codes).matrix, class_of_row


def _twins(columns: Columns) -> NDArray[np.int64]:
    """Records with the same values in all columns, itself included, for each record."""
    group = np.zeros(len(next(iter(columns.values()))), dtype=np.int64)
    for column in columns.values():
        codes = np.unique(column, return_inverse=True)[1]
        group = np.unique(group * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return np.bincount(group)[group]
