"""Utility of one recipient's file: what generalization loses, what masking changes, what analyses still find."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tasks.assessments.utility.analyses import classes_found, clusters_agree
from tasks.assessments.utility.facts import (
    AssociationFact,
    AttributeLoss,
    FileLoss,
    MarginalFact,
    MaskingCurve,
    NotMeasured,
    NumericChangeFact,
    UtilityFact,
)
from tasks.assessments.utility.features import sample
from tasks.assessments.utility.generalization_loss import GeneralizationLoss, generalization_loss, released
from tasks.assessments.utility.masking_curve import masking_curve
from tasks.assessments.utility.numeric_change import NumericChange, association_change, marginal_change, numeric_change
from tasks.candidate.candidate import Candidate
from tasks.request.model import Measure

_CURVE_RECORDS = 1000


@dataclass(frozen=True)
class Utility:
    """Results of the stage for one recipient."""

    fact: UtilityFact
    figures: dict[Measure, float]


def measure(candidate: Candidate, generator: np.random.Generator) -> Utility:
    """Measure what a release is still good for.

    Parameters
    ----------
    candidate : Candidate
    generator : Generator
        Draws samples, starts and splits.

    Raises
    ------
    ParameterError
        If the released groups do not hold the original values.
    """
    request, columns, rows = candidate.request, candidate.masked, candidate.rows
    loss = loss_of(candidate)
    change = None
    if columns.names:
        change = numeric_change(columns.original[rows], columns.masked[rows], columns.names)
    drawn = rows[sample(len(rows), request.policy.utility.records, generator)]
    missing: list[NotMeasured] = []
    fact = UtilityFact(
        records=loss.records - loss.suppressed_records,
        suppressed=loss.suppressed_records,
        file=_file_loss(loss),
        attributes=tuple(
            AttributeLoss(
                name=one.name, loss=one.loss, entropy=one.non_uniform_entropy, certainty_penalty=one.certainty_penalty
            )
            for one in loss.attributes
        ),
        numeric=_numeric(change),
        associations=(*_correlations(change), *_associations(candidate)),
        marginals=(*_masked_marginals(candidate), *_suppressed_marginals(candidate)),
        clustering=clusters_agree(candidate, drawn, generator, missing),
        classification=classes_found(candidate, drawn, generator, missing),
        curves=tuple(_curves(candidate, generator)),
        not_measured=tuple(missing),
    )
    return Utility(fact, {Measure.UTILITY_LOSS: fact.file.loss})


def loss_of(candidate: Candidate) -> GeneralizationLoss:
    """Loss by generalization, under the request's weights of the attributes.

    Raises
    ------
    ParameterError
        If the released groups do not hold the original values.
    """
    weights = candidate.weights
    return generalization_loss(
        released(candidate.index, candidate.generalization, candidate.released),
        weights=weights if weights.any() else None,
        minimum_class_size=candidate.request.policy.generalization.minimum_class_size,
    )


def _file_loss(loss: GeneralizationLoss) -> FileLoss:
    return FileLoss(
        loss=loss.loss or 0.0,
        entropy=loss.non_uniform_entropy or 0.0,
        certainty_penalty=loss.certainty_penalty or 0.0,
        discernibility=loss.discernibility.value,
        discernibility_share=loss.discernibility.share,
        average_class_size=loss.class_size.value,
        original_class_size=loss.class_size.least,
    )


def _numeric(change: NumericChange | None) -> tuple[NumericChangeFact, ...]:
    if change is None:
        return ()
    return tuple(
        NumericChangeFact(
            name=one.name,
            mean=one.mean,
            deviation_ratio=one.spread,
            deciles=one.deciles,
            distribution=one.distance,
            displacement=one.il1s,
        )
        for one in change.attributes
    )


def _correlations(change: NumericChange | None) -> Iterable[AssociationFact]:
    if change is None:
        return
    names = [one.name for one in change.attributes]
    for first in range(len(names)):
        for second in range(first + 1, len(names)):
            yield AssociationFact(
                attributes=(names[first], names[second]),
                measure="correlation",
                before=change.correlation.before[first][second],
                after=change.correlation.after[first][second],
            )


def _associations(candidate: Candidate) -> Iterable[AssociationFact]:
    names, data, cells = candidate.request.quasi_identifiers, candidate.index.data, candidate.generalization.cells
    for pair in association_change(names, data.codes, cells, data.counts, candidate.released).pairs:
        yield AssociationFact(
            attributes=(pair.first, pair.second), measure="Cramér's V", before=pair.before, after=pair.after
        )


def _masked_marginals(candidate: Candidate) -> Iterable[MarginalFact]:
    columns, start = candidate.masked, len(candidate.masked.original)
    for place, name in enumerate(columns.names):
        both = np.concatenate([columns.original[:, place], columns.masked[candidate.rows, place]])
        _, codes = np.unique(both, return_inverse=True)
        size = int(codes.max()) + 1
        before, after = np.bincount(codes[:start], minlength=size), np.bincount(codes[start:], minlength=size)
        yield MarginalFact(name=name, total_variation=marginal_change(name, before, after).total_variation)


def _suppressed_marginals(candidate: Candidate) -> Iterable[MarginalFact]:
    """Shares of the original values among the records that are released, where some are not."""
    if candidate.released.all():
        return
    for axis, name in enumerate(candidate.request.quasi_identifiers):
        codes, size = candidate.index.data.codes[:, axis].astype(np.intp), candidate.index.hierarchies[axis].n_leaves
        records = candidate.index.data.counts
        before = np.rint(np.bincount(codes, records, size)).astype(np.int64)
        after = np.rint(np.bincount(codes[candidate.released], records[candidate.released], size)).astype(np.int64)
        yield MarginalFact(name=name, total_variation=marginal_change(name, before, after).total_variation)


def _curves(candidate: Candidate, generator: np.random.Generator) -> Iterable[MaskingCurve]:
    drawn = candidate.rows[sample(len(candidate.rows), _CURVE_RECORDS, generator)]
    for masking in candidate.request.masking:
        values = candidate.masked.original[drawn][:, candidate.masked.columns(masking.attributes)]
        if (values.min(axis=0) < values.max(axis=0)).all():
            yield masking_curve(masking, values, generator)
