"""Results of analyses on a release: clusters that agree, and classes predicted from the other attributes."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.linkage.files import Positions
from tasks.assessments.utility.classification import Classification, classification_accuracy
from tasks.assessments.utility.clustering import cluster_agreement
from tasks.assessments.utility.facts import ClassificationFact, ClassifierFact, ClusteringFact, NotMeasured
from tasks.assessments.utility.features import Features, features
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.request.model import ValueType


def clusters_agree(
    candidate: Candidate, rows: Positions, generator: np.random.Generator, missing: list[NotMeasured]
) -> ClusteringFact | None:
    """Agreement of k-means on some records before and after; a reason in ``missing`` where there is none."""
    try:
        before, after = both_versions(candidate, rows)
        found = cluster_agreement(before.matrix, after.matrix, candidate.request.policy.utility.clusters, generator)
    except ParameterError as error:
        missing.append(NotMeasured(measure="k-means agreement", reason=_reason(error)))
        return None
    return ClusteringFact(
        clusters=found.clusters,
        records=found.records,
        rand=found.released.rand,
        jaccard=found.released.jaccard,
        f_measure=found.released.f1,
        repeated_rand=found.repeated.rand,
        repeated_f_measure=found.repeated.f1,
    )


def classes_found(
    candidate: Candidate, rows: Positions, generator: np.random.Generator, missing: list[NotMeasured]
) -> ClassificationFact | None:
    """Accuracy of classifiers on some records before and after; a reason in ``missing`` where there is none."""
    target, measure = candidate.request.policy.utility.target, "classification accuracy"
    if target is None:
        missing.append(NotMeasured(measure=measure, reason="policy.utility.target names no attribute to predict"))
        return None
    codes, _ = pd.factorize(candidate.frame[target].iloc[rows])
    present = codes >= 0
    try:
        before, after = both_versions(candidate, rows[present], without=target)
        found = classification_accuracy(before, after, codes[present].astype(np.int64), target, generator)
    except ParameterError as error:
        missing.append(NotMeasured(measure=measure, reason=_reason(error)))
        return None
    return _fact(found)


def both_versions(candidate: Candidate, rows: Positions, without: str | None = None) -> tuple[Features, Features]:
    """Some records as features, original and released: groups and values as categories, numbers as they are."""
    request, columns = candidate.request, candidate.masked
    tuples = candidate.prepared.tuple_of_record[rows]
    before_numbers: dict[str, NDArray[np.float64]] = {}
    after_numbers: dict[str, NDArray[np.float64]] = {}
    before_codes: dict[str, NDArray[np.integer]] = {}
    after_codes: dict[str, NDArray[np.integer]] = {}
    for name in request.outbound:
        if name == without:
            continue
        if name in columns.names:
            place = columns.names.index(name)
            before_numbers[name], after_numbers[name] = columns.original[rows, place], columns.masked[rows, place]
        elif name in request.quasi_identifiers:
            axis = request.quasi_identifiers.index(name)
            before_codes[name] = candidate.prepared.data.codes[tuples, axis]
            after_codes[name] = candidate.generalization.cells[tuples, axis]
        else:
            numbers = _numbers(candidate, name, rows)
            if numbers is not None:
                before_numbers[name] = after_numbers[name] = numbers
            else:
                codes, _ = pd.factorize(candidate.frame[name].iloc[rows])
                before_codes[name] = after_codes[name] = codes.astype(np.int64) + 1
    return (
        features(before_numbers, before_codes),
        features(after_numbers, after_codes, scaled_as=before_numbers),
    )


def _numbers(candidate: Candidate, name: str, rows: Positions) -> NDArray[np.float64] | None:
    """An unmasked column of numbers; None where it is not one, or some value is missing."""
    if candidate.request.attributes[name].type not in (ValueType.INTEGER, ValueType.NUMBER):
        return None
    text = candidate.frame[name].iloc[rows]
    values = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return values if np.isfinite(values).all() else None


def _reason(error: ParameterError) -> str:
    return f"{error.what}: {error.where}; expected {error.expected}, got {error.got}"


def _fact(found: Classification) -> ClassificationFact:
    return ClassificationFact(
        target=found.target,
        classes=found.classes,
        tested=found.majority.held_out,
        majority=found.majority.share,
        classifiers=tuple(
            ClassifierFact(
                name=one.method,
                trained=one.training_records,
                original=one.original.share,
                original_low=one.original.interval[0],
                original_high=one.original.interval[1],
                released=one.released.share,
                released_low=one.released.interval[0],
                released_high=one.released.interval[1],
            )
            for one in found.methods
        ),
    )
