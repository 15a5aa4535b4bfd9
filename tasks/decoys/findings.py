"""From what was measured of decoys to the facts of a record: figures only, never which rows are decoys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decision.decoy_facts import (
    AttemptFact,
    ChoiceFact,
    CollusionFact,
    DetectabilityFact,
    DetectionFact,
    StatisticChange,
    StatisticsFact,
)
from tasks.decoys.collusion import Collusion, Copy, collusion
from tasks.decoys.detectability import Detectability, Detection
from tasks.decoys.generalized_release import Classes, Flags
from tasks.decoys.lineage import Lineage
from tasks.decoys.outbound import at_rows, joined, outbound_columns
from tasks.decoys.removal import Assignment
from tasks.decoys.sensitive_values import Column, Columns
from tasks.decoys.statistics_change import StatisticsChange, statistics_change
from tasks.decoys.subject_risk import subject_risk
from tasks.masking.masked_columns import MaskedColumns
from tasks.request.model import ReleaseRequest


@dataclass(frozen=True)
class CopyColumns:
    """The columns of a copy, without and with what decoys changed of it; shows none."""

    before: dict[str, Column] = field(repr=False)
    after: dict[str, Column] = field(repr=False)


def choice_fact(found: Assignment) -> ChoiceFact:
    """Cost of the choice of kept classes."""
    return ChoiceFact(status=found.status, bound=found.bound, worst_missing=found.worst_missing)


def collusion_facts(
    held: Sequence[Copy], axes: Sequence[Lineage], generator: np.random.Generator
) -> tuple[CollusionFact, ...]:
    """Knowledge of recipients who compare copies; parameters as of ``tasks.decoys.collusion.collusion``."""
    return tuple(_collusion_fact(one) for one in collusion(held, axes, generator))


def _collusion_fact(found: Collusion) -> CollusionFact:
    return CollusionFact(
        colluders=found.colluders,
        sets=found.subsets,
        exhaustive=found.exhaustive,
        suspects_decoys=found.decoys,
        suspects_real=found.real,
        probability=found.share,
        worst=found.worst_share,
        informed=found.informed,
        worst_informed=found.worst_informed,
    )


def detectability_fact(found: Detectability, decoys: int) -> DetectabilityFact:
    """Whether decoys can be distinguished from real classes."""
    tried = tuple(_detection_fact(one) for one in found.detections)
    return DetectabilityFact(
        tried=tried,
        worst=max(tried, key=lambda one: one.area),
        decoys=decoys,
        real_classes=found.real_classes,
        size_p_value=found.sizes.p_value,
    )


def _detection_fact(found: Detection) -> DetectionFact:
    return DetectionFact(
        view=found.view.value,
        classifier=found.classifier.value,
        area=found.area.value,
        low=found.area.low,
        high=found.area.high,
    )


def attempt_fact(real: Classes, decoys: Classes) -> AttemptFact:
    """Risk of a copy with decoys in it."""
    risk = subject_risk(real, decoys)
    return AttemptFact(
        subjects_maximum=risk.subjects.journalist_maximum,
        subjects_mean=risk.subjects.journalist_mean,
        shown_maximum=risk.shown.journalist_maximum,
        shown_mean=risk.shown.journalist_mean,
        success=risk.success,
        lured=risk.lured,
    )


def statistics_fact(columns: CopyColumns, target: str | None) -> StatisticsFact:
    """How the statistics of a copy differ; a target that does not vary is left out."""
    before, after = columns.before, columns.after
    if not before:
        return StatisticsFact(columns=(), correlation=None, association=None)
    chosen = target if target in before else None
    try:
        found = statistics_change(before, after, chosen)
    except ParameterError:
        chosen, found = None, statistics_change(before, after)
    return StatisticsFact(
        columns=_changes(found, before),
        correlation=found.associations.correlation,
        association=found.associations.cramers_v,
        target=chosen,
        coefficient=None if found.regression is None else found.regression.largest,
        explained_before=None if found.regression is None else found.regression.explained_before,
        explained_after=None if found.regression is None else found.regression.explained_after,
    )


def statistics_of_copy(
    frame: pd.DataFrame,
    request: ReleaseRequest,
    masked: MaskedColumns,
    rows: NDArray[np.intp],
    decoys: Sequence[Mapping[str, str | None]],
) -> StatisticsFact:
    """How the columns of a copy beside its quasi-identifiers differ from the data as collected.

    Parameters
    ----------
    frame : DataFrame
        The microdata as text.
    request : ReleaseRequest
    masked : MaskedColumns
    rows : array of shape (n_real_rows,)
        Position in the microdata of each real row of the copy.
    decoys : sequence of mappings
        Its other rows as text, by column.
    """
    released = outbound_columns(frame, request, masked)
    originals = dict(zip(masked.names, masked.original.T, strict=True))
    collected = {name: originals.get(name, column) for name, column in released.values.items()}
    values = at_rows(released.values, rows)
    after = joined(values, released.read(decoys)) if decoys else values
    return statistics_fact(CopyColumns(collected, after), request.policy.utility.target)


def _changes(found: StatisticsChange, order: Mapping[str, Column]) -> tuple[StatisticChange, ...]:
    changes = {
        one.name: StatisticChange(
            name=one.name, kind="number", mean=one.mean, standard_errors=one.standard_errors, spread=one.spread
        )
        for one in found.means
    }
    changes |= {
        one.name: StatisticChange(
            name=one.name, kind="categories", total_variation=one.total_variation, largest=one.largest
        )
        for one in found.frequencies
    }
    return tuple(changes[name] for name in order)


def classes_left(classes: Classes, missing: Flags) -> Classes:
    """The released classes that a copy has."""
    left = ~missing
    return Classes(
        cells=classes.cells[left],
        sizes=classes.sizes[left],
        people=classes.people[left],
        effective=classes.effective[left],
        listed=None if classes.listed is None else classes.listed[left],
    )


def with_cells(columns: Columns, cells: NDArray[np.integer], names: Sequence[str]) -> dict[str, Column]:
    """Columns with released groups beside them, as codes."""
    groups: dict[str, Column] = {name: cells[:, axis].astype(np.int64) for axis, name in enumerate(names)}
    return {**groups, **columns}
