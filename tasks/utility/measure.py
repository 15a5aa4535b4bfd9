"""Utility of one recipient's file: what generalization loses, what masking changes, what analyses still find."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.decision.utility_facts import (
    AssociationFact,
    AttributeLoss,
    FileLoss,
    MarginalFact,
    MaskingCurve,
    NotMeasured,
    NumericChangeFact,
    UtilityFact,
)
from tasks.generalization.play import Table
from tasks.generalization.setting import weights_of
from tasks.request.model import Measure, ReleaseRequest
from tasks.utility.analyses import Case, classes_found, clusters_agree
from tasks.utility.features import sample
from tasks.utility.generalization_loss import GeneralizationLoss, generalization_loss, released
from tasks.utility.masking_curve import masking_curve
from tasks.utility.numeric_change import NumericChange, association_change, marginal_change, numeric_change

_CURVE_RECORDS = 1000


@dataclass(frozen=True)
class Utility:
    """What the stage found for one recipient."""

    fact: UtilityFact
    figures: dict[Measure, float]


def measure(case: Case, table: Table, generator: np.random.Generator) -> Utility:
    """Measure what a release is still good for.

    Parameters
    ----------
    case : Case
    table : Table
    generator : Generator
        Draws samples, starts and splits.

    Raises
    ------
    ParameterError
        If the released groups do not hold the original values.
    """
    request, columns, rows = case.request, case.columns, case.rows
    loss = generalization_loss(
        released(table, case.played, case.kept),
        weights=_weights(request),
        minimum_class_size=request.policy.generalization.minimum_class_size,
    )
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
        associations=(*_correlations(change), *_associations(case, table)),
        marginals=(*_masked_marginals(case), *_suppressed_marginals(case, table)),
        clustering=clusters_agree(case, drawn, generator, missing),
        classification=classes_found(case, drawn, generator, missing),
        curves=tuple(_curves(case, generator)),
        not_measured=tuple(missing),
    )
    return Utility(fact, {Measure.UTILITY_LOSS: fact.file.loss})


def _weights(request: ReleaseRequest) -> NDArray[np.float64] | None:
    weights = weights_of(request)
    return weights if weights.any() else None


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


def _associations(case: Case, table: Table) -> Iterable[AssociationFact]:
    names, counts = case.request.quasi_identifiers, table.data.counts
    for pair in association_change(names, table.data.codes, case.played.cells, counts, case.kept).pairs:
        yield AssociationFact(
            attributes=(pair.first, pair.second), measure="Cramér's V", before=pair.before, after=pair.after
        )


def _masked_marginals(case: Case) -> Iterable[MarginalFact]:
    columns, start = case.columns, len(case.columns.original)
    for place, name in enumerate(columns.names):
        both = np.concatenate([columns.original[:, place], columns.masked[case.rows, place]])
        _, codes = np.unique(both, return_inverse=True)
        size = int(codes.max()) + 1
        before, after = np.bincount(codes[:start], minlength=size), np.bincount(codes[start:], minlength=size)
        yield MarginalFact(name=name, total_variation=marginal_change(name, before, after).total_variation)


def _suppressed_marginals(case: Case, table: Table) -> Iterable[MarginalFact]:
    """Shares of the original values among the records that are released, where some are not."""
    if case.kept.all():
        return
    for axis, name in enumerate(case.request.quasi_identifiers):
        codes, size = table.data.codes[:, axis].astype(np.intp), table.hierarchies[axis].n_leaves
        records = table.data.counts
        before = np.rint(np.bincount(codes, records, size)).astype(np.int64)
        after = np.rint(np.bincount(codes[case.kept], records[case.kept], size)).astype(np.int64)
        yield MarginalFact(name=name, total_variation=marginal_change(name, before, after).total_variation)


def _curves(case: Case, generator: np.random.Generator) -> Iterable[MaskingCurve]:
    drawn = case.rows[sample(len(case.rows), _CURVE_RECORDS, generator)]
    for masking in case.request.masking:
        values = case.columns.original[drawn][:, case.columns.columns(masking.attributes)]
        if (values.min(axis=0) < values.max(axis=0)).all():
            yield masking_curve(masking, values, generator)
