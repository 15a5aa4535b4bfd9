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

Before any classifier the relations of columns are asked that hold in all real records (``tasks.decoys.value_rules``): a
record that breaks one is a decoy. Where few real records break it as well, of a copy with n_d decoys among n records it
is one with probability n_d d/(n_d d + (n − n_d) r), d and r the shares of decoys and of real records that do.

Of a single value a reader notices, apart from its size: how round a number is and whether it lies on the real column's
grid; the weekday of a date; of both, how far they are from another column that is never below, or never above; whether
some other record of the file has the same value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from tasks.assessments.utility.features import features
from tasks.core.seed import one_thread
from tasks.decision.decoy_facts import DetectabilityFact, DetectionFact
from tasks.decoys.classes import ClassTable, Flags, Floats, Rows
from tasks.decoys.decoy_cells import boosting
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.records import ClassRecords, at_rows
from tasks.decoys.value_formulas import Columns, Kinds
from tasks.decoys.value_grid import ValueGrid, ValueKind, human_steps, weekdays
from tasks.decoys.value_rules import Rules, differences, find_rules, kind_of, orders
from tasks.microdata.tuples import Counts

CONFIDENCE = 0.95
"""Level of every interval."""
_PERMUTATIONS = 999
_MISSING = -1.0
_LEAST = 5
"""Records that have to differ from the rest in a feature: as many as a leaf of the trees holds."""
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


@dataclass(frozen=True)
class Planned:
    """References for the decoys of a copy."""

    rules: Rules
    """Relations of the real records."""
    held: tuple[ClassRecords, ...] = ()
    """Decoys that recipients have; they may be older than the relations."""
    decoys: int = 1
    """Decoy records of a copy."""
    probability: float = 0.0
    """Probability that the copy promises for a decoy to be named with, 1/(1 + t)."""


def detectability(
    release: LinkedRelease,
    decoys: ClassRecords,
    real: ClassRecords,
    kinds: Kinds,
    generator: np.random.Generator,
    *,
    planned: Planned | None = None,
) -> DetectabilityFact:
    """Try to distinguish the decoys of all recipients from the released classes.

    Of either at least ``LEAST_DECOYS`` classes, with the same columns; decoys of all recipients come from one mechanism
    and go together. The generator gives the folds and, of many real classes, those that are tried. `planned` has the
    relations of the real records; found here where not given.
    """
    planned = planned or Planned(find_rules(real.columns, kinds, real.groups) if real.columns else Rules((), ()))
    certain = broken_relations(decoys, real, planned)
    chosen = _chosen(real.classes, generator, with_values=bool(real.columns))
    decoy = np.arange(len(decoys.classes) + len(chosen)) < len(decoys.classes)
    sizes = np.log(np.concatenate([decoys.classes.records, real.classes.records[chosen]]))
    folds = np.empty(len(decoy), dtype=np.intp)
    splitter = StratifiedKFold(_FOLDS, shuffle=True, random_state=int(generator.integers(2**31)))
    for number, (_, tested) in enumerate(splitter.split(decoy[:, None], decoy)):
        folds[tested] = number
    views: dict[View, tuple[Floats, Floats, Rows]] = {}
    for view in (View.FILE, View.POPULATION):
        own, others = (release.seen(part.classes.cells, links=view is View.POPULATION) for part in (decoys, real))
        matrix = np.column_stack([np.vstack([own, others[chosen]]), sizes])
        columns = {str(number): column for number, column in enumerate(matrix.T)}
        views[view] = matrix, features(columns, {}).matrix, np.arange(len(decoy))
    if real.columns:
        views[View.VALUES] = _of_records(decoys, real, chosen, matrix, kinds)
    tried = []
    with one_thread():
        for view, (plain, standardised, class_of_row) in views.items():
            for name, matrix in (("gradient boosting", plain), ("logistic regression", standardised)):
                value, low, high = area(_scores(name, matrix, class_of_row, decoy, folds), decoy)
                tried.append(DetectionFact(view=view.value, classifier=name, area=value, low=low, high=high))
    return DetectabilityFact(
        tried=tuple(tried),
        worst=max(tried, key=lambda one: one.area),
        decoys=len(decoys.classes),
        real_classes=len(chosen),
        size_p_value=size_p_value(decoys.classes.records, real.classes.records, generator),
        relations=len(certain),
        broken=int(np.count_nonzero(certain > planned.probability + 1e-9)),
        certainty=float(certain.max(initial=0.0)),
    )


def broken_relations(decoys: ClassRecords, real: ClassRecords, planned: Planned) -> Floats:
    """P(decoy) of a record that breaks each relation of the real records; 0 if none does."""
    if not real.columns:
        return np.zeros(0)
    found, tried = [], (decoys, *planned.held)
    for rule in planned.rules.every:
        own = max(np.mean(rule.broken({**part.columns, **part.groups})) for part in tried)
        others = np.count_nonzero(rule.broken({**real.columns, **real.groups}))
        weight = planned.decoys * own
        found.append(weight / (weight + others) if weight else 0.0)
    return np.array(found)


def _scores(classifier: str, matrix: Floats, class_of_row: Rows, decoy: Flags, folds: Rows) -> Floats:
    """Rank within its fold of each class, 0 to 1, by a classifier that has not seen the fold."""
    rows, labels = np.bincount(class_of_row, minlength=len(decoy)), decoy[class_of_row]
    # Every class weighs the same whatever its size, and decoys together as much as real classes together.
    weights = 1 / rows[class_of_row] / np.where(labels, np.count_nonzero(decoy), np.count_nonzero(~decoy))
    weights *= len(weights) / weights.sum()
    scores = np.empty(len(decoy))
    for number in range(_FOLDS):
        tested, own = folds[class_of_row] == number, np.flatnonzero(folds == number)
        model = boosting() if classifier == "gradient boosting" else LogisticRegression(max_iter=500)
        model.fit(matrix[~tested], labels[~tested], sample_weight=weights[~tested])
        suspicion = model.decision_function(matrix[tested])
        sums = np.bincount(class_of_row[tested], weights=suspicion, minlength=len(decoy))[own]
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
    alike = pd.DataFrame(every).groupby(list(every), dropna=False)[next(iter(every))].transform("size").to_numpy()
    columns = at_rows(every, tested) | {"records of the same values": np.log(alike[tested])}
    numbers, codes = noticed(real.columns, decoys.columns, kinds)
    numbers, codes = varying(numbers, tested), varying(codes, tested)
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


def noticed(real: Columns, decoys: Columns, kinds: Kinds) -> tuple[dict[str, Floats], dict[str, NDArray[np.int64]]]:
    """Features of single values of the decoys' records and then of the real ones, each of shape (n_records,).

    Integers are codes, floats are numbers, NaN where missing. For trees come finite numbers whose order has a meaning,
    for linear classifiers the same as categories.
    """
    numbers: dict[str, Floats] = {}
    both = {name: np.concatenate([decoys[name], column]) for name, column in real.items()}
    for name, column in both.items():
        _, inverse, number = np.unique(column, return_inverse=True, return_counts=True)
        numbers[f"recurs {name}"] = (number[inverse] > 1).astype(np.float64)
        if column.dtype.kind != "f":
            continue
        kind, values = kind_of(name, kinds), column.astype(np.float64)
        if kind is ValueKind.DATE:
            numbers[f"weekday of {name}"] = weekdays(values)
        # Values that all stand among the real ones are as round as those; it is new values that can be off.
        among = np.isin(decoys[name], real[name]) | np.isnan(decoys[name])
        grid = None if among.all() else ValueGrid.of(real[name].astype(np.float64), kind)
        if grid is None:
            continue
        known = ~np.isnan(values)
        on, roundness = np.full(len(values), _MISSING), np.full(len(values), _MISSING)
        on[known] = grid.on(values[known])
        numbers[f"grid of {name}"] = on
        if not grid.is_date:
            units = grid.units(values[known])
            exact = grid.values(units) == values[known]
            roundness[known] = np.where(exact, np.log10(human_steps(units)), _MISSING / 2)
            numbers[f"roundness of {name}"] = roundness
    codes = {name: np.unique(part, return_inverse=True)[1].astype(np.int64) for name, part in numbers.items()}
    for order in orders(real, kinds):
        name = f"{order.greater} above {order.lesser}"
        apart = differences(both, order.lesser, order.greater)
        codes[name] = order.broken(both).astype(np.int64)
        numbers[name] = np.where(np.isnan(apart), np.nanmin(apart, initial=0.0) - 1.0, apart)
    return numbers, codes


def varying(features: Mapping[str, NDArray[Any]], rows: Rows) -> dict[str, NDArray[Any]]:
    """Features of some records, without those that all but a few share, which no classifier can learn from."""
    return {
        name: feature[rows]
        for name, feature in features.items()
        if len(rows) - np.unique(feature[rows], return_counts=True)[1].max() >= _LEAST
    }


def area(scores: Floats, decoy: Flags) -> tuple[float, float, float]:
    """Area under the ROC curve with its interval: the probability that a decoy scores above a real class, 0 to 1.

    Higher scores are more suspicious; ties count by half; NaN is not allowed; at least two classes of each kind. The
    variance is that of the placements (DeLong, DeLong & Clarke-Pearson 1988, eq. 5), the interval is taken on the logit
    scale so that it stays within 0 and 1. Where the two are separated altogether the placements do not vary; there the
    interval is Newcombe's (2006, method 5), which does not vanish.
    """
    positive, negative = scores[decoy], scores[~decoy]
    m, n = len(positive), len(negative)
    ranks = rankdata(scores)
    above = (ranks[decoy] - rankdata(positive)) / n
    below = 1 - (ranks[~decoy] - rankdata(negative)) / m
    value = float(above.mean())
    variance = float(above.var(ddof=1) / m + below.var(ddof=1) / n)
    z = float(ndtri(0.5 + CONFIDENCE / 2))
    if not 0 < value < 1 or variance == 0:
        return (value, *_newcombe(value, m, n, z))
    half = z * np.sqrt(variance) / (value * (1 - value))
    return value, float(expit(logit(value) - half)), float(expit(logit(value) + half))


def _newcombe(value: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Ends θ where |θ − value| = z √V(θ), V the variance of Hanley & McNeil with (m + n)/2 in place of m and n."""

    def excess(theta: float) -> float:
        spread = 1 + ((m + n) / 2 - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (theta - value) ** 2 - z * z * theta * (1 - theta) * spread / (m * n)

    edge = 1e-12
    low = 0.0 if value == 0 else float(brentq(excess, edge, value - edge))
    high = 1.0 if value == 1 else float(brentq(excess, value + edge, 1 - edge))
    return low, high


def size_p_value(decoys: Counts, released: Counts, generator: np.random.Generator) -> float:
    """Permutation test of the Kolmogorov-Smirnov distance between the sizes of decoys and of released classes.

    Share of random divisions of the classes, from 1/1000, with a distance as large: sizes are whole numbers with many
    ties, which the usual tables are not made for.
    """
    values, value = np.unique(np.concatenate([decoys, released]), return_inverse=True)
    counts = np.bincount(value, minlength=len(values))
    own = np.bincount(value[: len(decoys)], minlength=len(values))[None, :]
    divided = generator.multivariate_hypergeometric(counts, len(decoys), size=_PERMUTATIONS, method="marginals")
    drawn = np.vstack([own, divided])
    gaps = np.cumsum(drawn, axis=1) / len(decoys) - np.cumsum(counts - drawn, axis=1) / len(released)
    distances = np.abs(gaps).max(axis=1)
    return float(np.count_nonzero(distances >= distances[0] - 1e-12) / (_PERMUTATIONS + 1))
