"""Utility: what generalization loses, what masking changes, what analyses still find."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.utility.analyses import classification_accuracy, cluster_agreement
from tasks.assessments.utility.associations import outcome_changes
from tasks.assessments.utility.facts import ClassificationFact, ClusteringFact, MarginalFact, NotMeasured, UtilityFact
from tasks.assessments.utility.features import both_versions, sample
from tasks.assessments.utility.generalization_loss import GeneralizationLoss, generalization_loss, released
from tasks.assessments.utility.masking_curve import masking_curves
from tasks.assessments.utility.numeric_change import (
    association_changes,
    correlation_changes,
    numeric_change,
    total_variation,
)
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.request.model import Measure

_AnalysisFact = TypeVar("_AnalysisFact", ClusteringFact, ClassificationFact)


class UtilityAssessment(Assessment[UtilityFact]):
    """Utility of the copy, compared with the microdata."""

    id = "utility"
    stage = "utility"
    fact = UtilityFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[UtilityFact]:
        """Measure a candidate; samples and starts are drawn from its randomness."""
        request, columns, rows = candidate.request, candidate.masked, candidate.rows
        generator = candidate.randomness("utility")
        loss = _loss(candidate)
        before, after = (side[rows] if columns.names else side for side in (columns.original, columns.masked))
        drawn = rows[sample(len(rows), request.policy.utility.records, generator)]
        missing: list[NotMeasured] = []
        fact = UtilityFact(
            records=loss.records - loss.suppressed,
            suppressed=loss.suppressed,
            file=loss.file,
            attributes=loss.attributes,
            numeric=tuple(
                numeric_change(name, *(side[~np.isnan(old)] for side in (old, new)))
                for name, old, new in zip(columns.names, before.T, after.T, strict=True)
                if not np.isnan(old).all()
            ),
            associations=(
                *correlation_changes(columns.names, *(side[~np.isnan(before).any(axis=1)] for side in (before, after))),
                *association_changes(
                    request.quasi_identifiers,
                    candidate.index.data.codes,
                    candidate.generalization.cells,
                    candidate.index.data.counts,
                    candidate.released,
                ),
                *outcome_changes(candidate),
            ),
            marginals=tuple(_marginals(candidate)),
            clustering=_measured(
                missing, "k-means agreement", lambda: _clusters_found_again(candidate, drawn, generator)
            ),
            classification=_measured(
                missing, "classification accuracy", lambda: _target_predicted(candidate, drawn, generator)
            ),
            curves=tuple(masking_curves(candidate, generator)),
            not_measured=tuple(missing),
        )
        return Finding(fact, _measures(loss))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Loss by generalization alone."""
        return _measures(_loss(candidate))


def _measures(loss: GeneralizationLoss) -> dict[Measure, float]:
    return {
        Measure.UTILITY_LOSS: loss.file.loss,
    }


def _loss(candidate: Candidate) -> GeneralizationLoss:
    """Loss by generalization, under the request's weights of the attributes."""
    file = released(candidate.index, candidate.generalization, candidate.released)
    return generalization_loss(file, candidate.weights)


def _measured(missing: list[NotMeasured], measure: str, take: Callable[[], _AnalysisFact]) -> _AnalysisFact | None:
    """The result of an analysis; where it cannot be made, None and a reason in ``missing``."""
    try:
        return take()
    except ParameterError as error:
        reason = (
            f"{error.what}: {error.where}; expected {error.expected}, got {error.got}" if error.where else error.what
        )
        missing.append(NotMeasured(measure=measure, reason=reason))
        return None


def _clusters_found_again(
    candidate: Candidate, rows: NDArray[np.intp], generator: np.random.Generator
) -> ClusteringFact:
    before, after = both_versions(candidate, rows)
    return cluster_agreement(before.matrix, after.matrix, candidate.request.policy.utility.clusters, generator)


def _target_predicted(
    candidate: Candidate, rows: NDArray[np.intp], generator: np.random.Generator
) -> ClassificationFact:
    target = candidate.request.policy.utility.target
    if target is None:
        raise ParameterError("policy.utility.target names no attribute to predict")
    codes = pd.factorize(candidate.frame[target].iloc[rows])[0].astype(np.int64)
    present = codes >= 0
    before, after = both_versions(candidate, rows[present], without=target)
    return classification_accuracy(before, after, codes[present], target, generator)


def _marginals(candidate: Candidate) -> Iterator[MarginalFact]:
    """Shares of masked values, and, where records are suppressed, of the original values among those released."""
    columns, index = candidate.masked, candidate.index
    for name, original, masked in zip(columns.names, columns.original.T, columns.masked.T, strict=True):
        codes = np.unique(np.concatenate([original, masked[candidate.rows]]), return_inverse=True)[1]
        size = int(codes.max()) + 1
        before, after = (np.bincount(part, minlength=size) for part in np.split(codes, [len(original)]))
        yield MarginalFact(name=name, total_variation=total_variation(before, after))
    if candidate.released.all():
        return
    for name, hierarchy, codes in zip(
        candidate.request.quasi_identifiers, index.hierarchies, index.data.codes.T, strict=True
    ):
        before = np.bincount(codes, index.data.counts, hierarchy.n_leaves)
        after = np.bincount(codes[candidate.released], candidate.records, hierarchy.n_leaves)
        common = before >= max(1, candidate.request.policy.small_cell)
        missed = 1 - after[common] / before[common]
        yield MarginalFact(
            name=name, total_variation=total_variation(before, after), most_missed=float(missed.max(initial=0.0))
        )
