"""Scoring released files again from their bytes: in full where the originals are available, else what can be scored.

How the file was made stays as it was; population, policy, the recipient's terms and the program are those of today. The
cells are read from the delivered file. What is drawn at random for a measurement follows from the release, as it did
when it was decided, so that a world in which nothing has changed gives the same figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.assessment import Effort
from tasks.assessments.combined.combined_score import gate_figures as combined_figures
from tasks.assessments.identity.assessment import UNCERTAINTY
from tasks.assessments.identity.identity import risk_view, transparent_risk
from tasks.assessments.identity.score import gate_figures
from tasks.assessments.identity.uncertain.verdict import gate_figures as uncertain_figures
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.assessments.registry import ASSESSMENTS
from tasks.assessments.sequential.sequential import beliefs
from tasks.assessments.sequential.sequential import gate_figures as sequential_figures
from tasks.candidate.candidate import Candidate
from tasks.candidate.groups import groups, recipient_profile
from tasks.core.errors import StageFailed
from tasks.core.seed import derive_seed, masking_generator
from tasks.decision.assemble import Findings, Output, assemble
from tasks.decision.context import DecisionContext
from tasks.decision.record import DecisionRecord
from tasks.decoys.findings import statistics_of_copy
from tasks.delivery.kept import Kept
from tasks.delivery.parquet_file import Source
from tasks.delivery.released_file import keyed_order, read_cells, read_columns, released_rows
from tasks.delivery.reread import decoys_as_sealed, figures_of_file, score_again
from tasks.generalization.play import CountIndex, Generalization, effective_people, information_kept
from tasks.generalization.raised import matching_people
from tasks.generalization.setting import own_follower, payoffs_of, weights_of
from tasks.generalization.transparency import cell_numbers
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.columns import known_probabilities, sensitivities
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.reassessment.population import Ground, Ruled, positions_today, prepared_on, ruled, table_of
from tasks.request.model import Measure, Recipient, ReleaseRequest


@dataclass(frozen=True)
class Delivered:
    """A copy as it was released, and what was kept of it."""

    record: DecisionRecord
    kept: Kept
    source: Source
    """The clear file: in the bundle, or in memory where it was released encrypted."""
    decoys: Sequence[Mapping[str, str | None]]
    order: bytes
    """Seed of the order of its rows."""
    key_file: Path

    @property
    def recipient(self) -> str:
        """Id of the recipient."""
        return self.record.recipient.id


@dataclass(frozen=True)
class Today:
    """A copy laid on the population of today."""

    request: ReleaseRequest
    """How it was made, as then; policy and terms of today. Its recipient first, and the others only
    where some share one representation."""
    ground: Ground

    @property
    def recipient(self) -> Recipient:
        """The recipient, on today's terms."""
        return self.request.recipients[0]


def score_with_originals(
    delivered: Delivered,
    today: Today,
    frame: pd.DataFrame,
    context: DecisionContext,
    uncertainty: UncertaintyFact | None,
) -> DecisionRecord:
    """Decide on a copy again, from its bytes and its originals, with every stage and every gate.

    Parameters
    ----------
    delivered : Delivered
    today : Today
    frame : DataFrame
        The microdata, the same bytes as then.
    context : DecisionContext
    uncertainty : UncertaintyFact or None
        Facts of today on uncertain terms (``promised_today``), which a gate may judge.

    Returns
    -------
    DecisionRecord
        Decision of today on the file as it was released.

    Raises
    ------
    ReleasegateError
        If a stage cannot be repeated.
    """
    from tasks.validation.run import validate  # noqa: PLC0415  Great Expectations takes seconds to import

    again = _Again(delivered, today, frame)
    known = {} if uncertainty is None else {UNCERTAINTY: uncertainty}
    candidate = replace(again.candidate, request=_alone(today.request), known=known)
    findings = Findings(
        prepared=again.prepared,
        validation=validate(frame, today.request, again.prepared.covered).fact,
        findings={one.id: one.assess(candidate, Effort.OWN) for one in ASSESSMENTS},
        masking=delivered.record.masking,
        decoys=delivered.record.decoys,
        output=again.output(),
    )
    return assemble(today.request, today.recipient, findings, context)


class _Again:
    """Inputs of the stages, made from the released bytes."""

    def __init__(self, delivered: Delivered, today: Today, frame: pd.DataFrame) -> None:
        self._delivered, self._today, self._frame = delivered, today, frame
        self.prepared = prepared_on(today.ground, frame, today.request)
        self.table = table_of(today.ground, today.request, self.prepared.data)
        self._then = self._tuples_of_then()

    def _tuples_of_then(self) -> NDArray[np.intp]:
        """Number of each one's distinct tuple at the release; hierarchies that have grown number them otherwise."""
        kept = self._delivered.kept
        codes = encode(self._frame, kept.hierarchies, self._today.request.dataset.path)
        data, tuple_of_record = distinct_tuples(codes, list(kept.hierarchies.values()))
        if len(data) != len(kept.released):
            raise StageFailed(
                "what was kept of the release does not fit its data",
                where="what was kept of the release",
                expected=f"the cells of {len(data)} combinations of values",
                got=f"of {len(kept.released)}",
                fix="restore .releasegate/kept from a backup",
            )
        then = np.empty(len(self.prepared.data), dtype=np.intp)
        then[self.prepared.tuple_of_record] = tuple_of_record
        return then

    @cached_property
    def released(self) -> NDArray[np.bool_]:
        """Whether each tuple's records were released."""
        return self._delivered.kept.released[self._then]

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Position in the microdata of each row of the file, −1 for a decoy."""
        given = self._delivered
        return released_rows(self.prepared.tuple_of_record, self.released, given.order, len(given.decoys))

    @cached_property
    def played(self) -> Generalization:
        """The cells of the file, and how many people each hides among today."""
        kept, table, then = self._delivered.kept, self.table, self._then
        made, rule = kept.played, ruled(kept, table)
        cells = positions_today(kept, table, made.cells)[then]
        self._put_delivered(cells)
        effective, listed = _effective(table, cells, rule)
        weights = weights_of(self._today.request)
        return Generalization(
            method=made.method,
            levels=made.levels[then],
            cells=cells,
            kept=information_kept(table, payoffs_of(self._today.recipient), weights, cells),
            people=matching_people(table, cells),
            effective=effective,
            listed=listed,
            withheld=None if made.withheld is None else made.withheld[then],
            k_anonymity=made.k_anonymity,
            own=rule.own,
            counted=None if rule.counted.all() else rule.counted,
        )

    def _put_delivered(self, cells: Codes) -> None:
        """Take the cells of the released records from the file; every row must agree with what was kept."""
        request, rows = self._today.request, self.rows
        found = read_cells(self._delivered.source, request.quasi_identifiers, self.table)
        real = rows >= 0
        tuples = self.prepared.tuple_of_record[rows[real]]
        if len(found) != len(rows) or (found[real] != cells[tuples]).any():
            raise StageFailed(
                "the rows of the delivered file are not those that were kept in mind",
                where=f"release to {self._delivered.recipient}",
                expected="the cell of each record, row by row",
                got="others",
                fix="restore .releasegate from a backup; the file itself has the recorded SHA-256",
            )
        cells[tuples] = found[real]

    @cached_property
    def masked(self) -> MaskedColumns:
        """The masked columns: of released records as they were released, of others as this program masks them."""
        request, given = self._today.request, self._delivered
        made = mask_columns(request, self._frame, partial(masking_generator, given.key_file))
        if not made.names:
            return made
        values, real = made.masked.copy(), self.rows >= 0
        released = read_columns(given.source, made.names)
        for place, name in enumerate(made.names):
            column = pd.to_numeric(pd.Series(released[name].to_pandas()), errors="coerce")
            values[self.rows[real], place] = column.to_numpy(dtype=np.float64, na_value=np.nan)[real]
        return replace(made, masked=values, facts=given.record.masking)

    @cached_property
    def candidate(self) -> Candidate:
        """The copy as it was released, in today's world."""
        return Candidate(
            request=self._today.request,
            recipient=self._today.recipient,
            prepared=self.prepared,
            index=self.table,
            generalization=self.played,
            masked=self.masked,
            source=lambda: self._frame,
            randomness=partial(generator_of, self._delivered),
            already_released=self.released,
        )

    def output(self) -> Output:
        """The file as it was released, and the risk that its bytes carry."""
        given, request, rows = self._delivered, self._today.request, self.rows
        figures = None
        if decoys_as_sealed(given.source, given.decoys, rows >= 0, request):
            figures = figures_of_file(given.source, self.candidate, rows)
        return Output(
            sha256=str(given.record.dataset.output_sha256),
            rows=len(rows),
            figures=figures,
            statistics=statistics_of_copy(self._frame, request, self.masked, rows[rows >= 0], given.decoys),
            delivery=given.record.delivery,
        )


def generator_of(delivered: Delivered, purpose: str) -> np.random.Generator:
    """Generator that a measurement of a copy draws from; the same as when the release was decided."""
    seed = derive_seed(delivered.key_file, delivered.record.of_inputs, purpose)
    return np.random.default_rng(int.from_bytes(seed))


@dataclass(frozen=True)
class BareCopy:
    """A copy as its bytes say it, on the population of today."""

    table: CountIndex
    """Its data are the distinct cells of the file with their records, decoys left out; not the values beneath."""
    played: Generalization
    real: NDArray[np.bool_]
    """Whether each row of the file is a record, and no decoy."""

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each cell's records were released: all were."""
        return np.ones(len(self.table.data), dtype=np.bool_)


def bare_copy(delivered: Delivered, today: Today) -> BareCopy:
    """Read the cells of a copy from its bytes.

    Raises
    ------
    ReleasegateError
        If the file or the population cannot be used.
    """
    request, recipient, kept = today.request, today.recipient, delivered.kept
    table = table_of(today.ground, request)
    found = read_cells(delivered.source, request.quasi_identifiers, table)
    real = real_rows(delivered, len(found))
    numbers, first, counts = np.unique(
        cell_numbers(found[real], table.axis_sizes), return_index=True, return_counts=True
    )
    cells, records = found[real][first], counts.astype(np.int64)
    effective, listed = _effective(table, cells, ruled(kept, table))
    played = Generalization(
        method=kept.played.method,
        levels=np.zeros_like(cells),
        cells=cells,
        kept=information_kept(table, payoffs_of(recipient), weights_of(request), cells),
        people=matching_people(table, cells),
        effective=effective,
        listed=listed,
    )
    return BareCopy(replace(table, data=Tuples(cells, records, numbers)), played, real)


def score_alone(delivered: Delivered, today: Today, uncertainty: UncertaintyFact | None) -> dict[Measure, float]:
    """Measure what a copy's bytes and the population alone allow; parameters as ``score_with_originals``.

    Raises
    ------
    ReleasegateError
        If the file or the population cannot be used.
    """
    request, recipient, copy = today.request, today.recipient, bare_copy(delivered, today)
    table, played, everybody = copy.table, copy.played, copy.kept
    people, effective, listed, records = played.people, played.effective, played.listed, table.data.counts
    payoffs = own_follower(request, recipient, table.population.total)
    residual = (
        risk_view(records, people, records, request.policy.risk_threshold, request.policy.small_cell),
        transparent_risk(people, effective, records, payoffs),
    )
    profile = recipient_profile(recipient, played, everybody).profile
    judged = beliefs(profile, groups(table, effective, listed, records, profile.prior))
    collected = delivered.record.dataset.rows_in
    figures = gate_figures(table, played, everybody, payoffs, residual)
    share = int(records.sum()) / collected
    figures[Measure.SUPPRESSED_SHARE] = 1.0 - share
    for one in (Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF):
        figures[one] *= share
    names = _scored_columns(request)
    combined = score_again(delivered.source, request, names, copy.real)
    return figures | sequential_figures(judged) | combined_figures(combined) | uncertain_figures(uncertainty)


def real_rows(delivered: Delivered, rows: int) -> NDArray[np.bool_]:
    """Whether each row of the file is a record, and no decoy."""
    decoys = len(delivered.decoys)
    return keyed_order(rows, delivered.order) < rows - decoys


def _alone(request: ReleaseRequest) -> ReleaseRequest:
    """A request for one recipient: what sharing one representation cost is of the release alone."""
    generalization = request.policy.generalization.model_copy(update={"shared": None})
    policy = request.policy.model_copy(update={"generalization": generalization})
    return request.model_copy(update={"policy": policy, "recipients": request.recipients[:1]})


def _effective(table: CountIndex, cells: Codes, rule: Ruled) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    people = np.where(rule.counted, table.population.counts, 0)
    listed = None if table.listed is None else np.where(rule.counted, table.listed, 0)
    return effective_people(table, cells, rule.own, people, listed)


def _scored_columns(request: ReleaseRequest) -> tuple[str, ...]:
    """Columns that the combined score counts or weighs, in the order of the request."""
    quasi, chances, weights = set(request.quasi_identifiers), known_probabilities(request), sensitivities(request)
    return tuple(
        name
        for name in request.outbound
        if name in quasi or chances[name] > 0 or (name in weights and weights[name].attribute > 0)
    )
