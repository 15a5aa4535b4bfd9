"""Scoring released files again from their bytes: in full where the originals are available, else what can be scored.

A released copy becomes a candidate of today's world: how the file was made stays as it was; population, policy, the
recipient's terms and the program are those of today. The cells are read from the delivered file. What is drawn at
random for a measurement follows from the release, as it did when it was decided, so that a world in which nothing has
changed gives the same figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.combined.assessment import gate_figures as combined_figures
from tasks.assessments.combined.expected import highest_expected
from tasks.assessments.identity.assessment import UNCERTAINTY
from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.assessments.identity.uncertain.verdict import gate_figures as uncertain_figures
from tasks.assessments.registry import ASSESSMENTS, ATTRIBUTE, EVENTS, IDENTITY, SEQUENTIAL
from tasks.candidate.assessment import Effort
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import worst
from tasks.core.seed import derive_seed, masking_generator
from tasks.dates.offsets import offset_key
from tasks.dates.released_dates import released_dates
from tasks.decision.assemble import Findings, Output, assemble
from tasks.decision.context import DecisionContext
from tasks.decision.record import DecisionRecord
from tasks.decoys.copy_statistics import statistics_of_copy
from tasks.delivery.kept import Kept
from tasks.delivery.parquet_file import Source
from tasks.delivery.released_file import (
    decoys_as_sealed,
    first_of_persons,
    keyed_order,
    read_cells,
    read_numbers,
    released_rows,
)
from tasks.delivery.write import columns_of_file, figures_of_file, known_table_again, score_again
from tasks.generalization.game.count_index import CountIndex, Generalization, matching_people
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.generalize import effective_people, information_kept
from tasks.generalization.setting import count_index, payoffs_of, weights_of
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.coded import Events, Prepared, coded_attributes
from tasks.microdata.hierarchy import Codes
from tasks.microdata.persons import Persons, persons_of, records_of
from tasks.microdata.tables import RowTables
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.reassessment.population import TodaysPopulation, not_as_kept, positions_today, ruled, table_of
from tasks.redaction.columns import redacted
from tasks.request.model import Measure, Recipient, ReleaseRequest

Rows = NDArray[np.intp]


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

    def rows(self, names: Sequence[str], axis_labels: Sequence[Sequence[str]]) -> tuple[Codes, Rows]:
        """Cells of the rows of the file, and the place of each among the released records; past the last for a decoy.

        Of a person with several rows one has the person's place, and the others have one past the last. StageFailed
        says that the file cannot be read, or does not fit what was kept.
        """
        cells = read_cells(self.source, names, axis_labels)
        persons, order = self.kept.person_of_row, keyed_order(len(cells), self.order)
        if len(cells) != len(self.kept.people if persons is None else persons) + len(self.decoys):
            raise not_as_kept("what was kept of the release does not fit its file", "a name for each record", "others")
        if persons is None:
            return cells, order
        _, first = np.unique(persons[order], return_index=True)
        places = np.full(len(cells), len(self.kept.people))
        places[first] = persons[order[first]]
        return cells, places

    def persons(self) -> Rows:
        """Place among the people of the person of each row of the file, −1 for a decoy."""
        whose = self.kept.person_of_row
        real = np.arange(len(self.kept.people)) if whose is None else whose.astype(np.intp)
        every = np.concatenate([real, np.full(len(self.decoys), -1, dtype=np.intp)])
        return every[keyed_order(len(every), self.order)]

    def generator(self, purpose: str) -> np.random.Generator:
        """Generator that a measurement draws from; the same as when the release was decided."""
        return np.random.default_rng(int.from_bytes(derive_seed(self.key_file, self.record.of_inputs, purpose)))


@dataclass(frozen=True)
class TodaysCopy:
    """A copy laid on the population of today."""

    request: ReleaseRequest
    """Its request, with policy and terms of today. Its recipient comes first; others follow only
    where some share one representation."""
    ground: TodaysPopulation

    @property
    def recipient(self) -> Recipient:
        """The recipient, on today's terms."""
        return self.request.recipients[0]


def score_with_originals(
    delivered: Delivered,
    today: TodaysCopy,
    frame: pd.DataFrame,
    context: DecisionContext,
    uncertainty: UncertaintyFact | None,
) -> DecisionRecord:
    """Decide on a copy as it was released again, from its bytes and its originals, with every stage and every gate.

    `frame` is the microdata, the same bytes as then; a gate may judge the facts of today on uncertain terms
    (``commitments_today``). A ReleasegateError says that a stage cannot be repeated.
    """
    from tasks.validation.run import validate  # noqa: PLC0415  Great Expectations takes seconds to import

    candidate, rows = candidate_today(delivered, today, frame)
    known = {} if uncertainty is None else {UNCERTAINTY: uncertainty}
    alone = replace(
        candidate, request=_alone(today.request), known=known, redacted=partial(redacted, frame, today.request)
    )
    findings = Findings(
        prepared=candidate.prepared,
        validation=validate(frame, today.request, candidate.prepared.covered).fact,
        findings={one.id: one.assess(alone, Effort.OWN) for one in ASSESSMENTS if one.applies(today.request)},
        masking=delivered.record.masking,
        decoys=delivered.record.decoys,
        output=_output(delivered, candidate, rows),
    )
    return assemble(today.request, today.recipient, findings, context)


def score_alone(delivered: Delivered, today: TodaysCopy, uncertainty: UncertaintyFact | None) -> dict[Measure, float]:
    """Measure what a copy's bytes and the population alone allow; parameters as ``score_with_originals``.

    A ReleasegateError says that the file or the population cannot be used.
    """
    candidate, real = candidate_of_bytes(delivered, today)
    figures = {**IDENTITY.measures(candidate), **SEQUENTIAL.measures(candidate), **ATTRIBUTE.measures(candidate)}
    if EVENTS.applies(today.request):
        figures = worst(figures, [EVENTS.figures(candidate)])
    share = int(candidate.records.sum()) / delivered.record.dataset.rows_in
    figures[Measure.SUPPRESSED_SHARE] = 1.0 - share
    for one in (Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF):
        figures[one] *= share
    combined = score_again(delivered.source, today.request, candidate.prepared, real)
    known = known_table_again(
        delivered.source, today.request, real, delivered.record.dataset.rows_in, candidate.index.population.total
    )
    figures[Measure.COMBINED_EXPECTED] = highest_expected(candidate)
    return figures | combined_figures(combined) | known.figures | uncertain_figures(uncertainty)


def candidate_today(delivered: Delivered, today: TodaysCopy, frame: pd.DataFrame) -> tuple[Candidate, Rows]:
    """A copy as it was released, in today's world, and the position in the microdata of each row of its file.

    The position is −1 for a decoy. Parameters and errors are those of ``score_with_originals``.
    """
    request, kept = today.request, delivered.kept
    prepared = today.ground.with_frame(frame, request)
    index, then = count_index(request, prepared), _tuples_then(kept, request, frame, prepared)
    made, released = kept.generalization, kept.released[then]
    leaves = released[prepared.tuple_of_row]
    if kept.row is not None:
        leaves = np.isin(np.arange(len(leaves)), kept.row)
    rows = released_rows(leaves, delivered.order, len(delivered.decoys))
    cells = positions_today(kept, index, made.cells)[then]
    found, _ = delivered.rows(request.quasi_identifiers, index.axis_labels)
    if len(found) != len(rows) or (found[rows >= 0] != cells[prepared.tuple_of_row[rows[rows >= 0]]]).any():
        raise not_as_kept("the rows of the delivered file are not those that were kept", "the cells of each", "others")
    candidate = Candidate(
        request=request,
        recipient=today.recipient,
        prepared=prepared,
        index=index,
        generalization=replace(
            _generalization(kept, today, index, cells),
            levels=made.levels[then],
            withheld=None if made.withheld is None else made.withheld[then],
            k_anonymity=made.k_anonymity,
        ),
        masked=_masked(delivered, request, frame, first_of_persons(rows, prepared.events)),
        source=lambda: frame,
        randomness=delivered.generator,
        already_released=released,
    )
    key = offset_key(delivered.key_file, request, today.recipient.id)
    return candidate.with_dates(released_dates(request, frame, key)), rows


def candidate_of_bytes(delivered: Delivered, today: TodaysCopy) -> tuple[Candidate, NDArray[np.bool_]]:
    """A copy as its bytes alone say it, and whether each row of the file is a record and no decoy.

    Its data are the distinct cells of the file with their records, decoys left out, and the values of the other columns
    that are counted or weighed; not the values beneath the cells. A
    ReleasegateError says that the file or the population cannot be used.
    """
    request, ground = today.request, today.ground
    index = table_of(ground, request)
    found, order = delivered.rows(request.quasi_identifiers, index.axis_labels)
    real = order < len(delivered.kept.people)
    numbers, first, place, counts = np.unique(
        cell_numbers(found[real], index.axis_sizes), return_index=True, return_inverse=True, return_counts=True
    )
    data = Tuples(found[real][first], counts.astype(np.int64), numbers)
    places = place.ravel().astype(np.int32)
    names = [name for name in coded_attributes(request) if name in request.outbound]
    columns = columns_of_file(delivered.source, request, names, real)
    prepared = Prepared(ground.hierarchies, data, ground.population, places, {}, columns, ground.register)
    prepared = replace(prepared, events=_events_of_bytes(delivered, request, order[real]))
    index = replace(index, data=data)
    candidate = Candidate(
        request=request,
        recipient=today.recipient,
        prepared=prepared,
        index=index,
        generalization=_generalization(delivered.kept, today, index, data.codes),
        randomness=delivered.generator,
        already_released=np.ones(len(data), dtype=np.bool_),
    )
    return candidate, real


def _events_of_bytes(delivered: Delivered, request: ReleaseRequest, places: Rows) -> Events | None:
    """Rows of a file whose persons have several; `places` are those of the persons, in the order of their records."""
    kept = delivered.kept.person_of_row
    if kept is None:
        return None
    record = np.empty(len(places), dtype=np.int32)
    record[places] = np.arange(len(places), dtype=np.int32)
    of_row = record[kept[keyed_order(len(kept), delivered.order)]]
    columns, of_table = columns_of_file(delivered.source, request, request.events, None), delivered.kept.table_of_row
    tables = None
    if of_table is not None:
        of_table = of_table[keyed_order(len(kept), delivered.order)]
        tables = RowTables(of_table, np.full(len(of_table), -1, dtype=np.int32))
    return Events(Persons(of_row), columns, tables=tables)


def _tuples_then(kept: Kept, request: ReleaseRequest, frame: pd.DataFrame, prepared: Prepared) -> Rows:
    """Number of each distinct tuple at the release; hierarchies that have grown number them otherwise."""
    records = records_of(frame, persons_of(frame, request))
    codes = encode(records, kept.hierarchies, request.dataset.path)
    data, tuple_of_record = distinct_tuples(codes, list(kept.hierarchies.values()))
    if len(data) != len(kept.released):
        expected = f"the cells of {len(data)} combinations of values"
        raise not_as_kept("what was kept of the release does not fit its data", expected, f"of {len(kept.released)}")
    then = np.empty(len(prepared.data), dtype=np.intp)
    then[prepared.tuple_of_record] = tuple_of_record
    return then


def _generalization(kept: Kept, today: TodaysCopy, index: CountIndex, cells: Codes) -> Generalization:
    """The cells of a copy, and how many people each stands for today."""
    own, counted = ruled(kept, index)
    people = np.where(counted, index.population.counts, 0)
    listed = None if index.listed is None else np.where(counted, index.listed, 0)
    effective, effective_listed = effective_people(index, cells, own, people, listed)
    return Generalization(
        method=kept.generalization.method,
        levels=np.zeros_like(cells),
        cells=cells,
        kept=information_kept(index, payoffs_of(today.recipient), weights_of(today.request), cells),
        people=matching_people(index, cells),
        effective=effective,
        listed=effective_listed,
        own=own,
        counted=None if counted.all() else counted,
    )


def _masked(delivered: Delivered, request: ReleaseRequest, frame: pd.DataFrame, rows: Rows) -> MaskedColumns:
    """The masked columns: of released records as they were released, of others as this program masks them."""
    made = mask_columns(request, frame, partial(masking_generator, delivered.key_file))
    if not made.names:
        return made
    values, real = made.masked.copy(), rows >= 0
    values[rows[real]] = read_numbers(delivered.source, made.names)[real]
    return replace(made, masked=values, facts=delivered.record.masking)


def _output(delivered: Delivered, candidate: Candidate, rows: Rows) -> Output:
    """The file as it was released, and the risk that its bytes carry."""
    request, real, figures = candidate.request, rows >= 0, None
    pseudonyms = delivered.record.pseudonyms
    if decoys_as_sealed(delivered.source, delivered.decoys, real, request):
        figures = figures_of_file(delivered.source, candidate, rows)
    events, records = candidate.prepared.events, first_of_persons(rows, candidate.prepared.events)
    released = records[records >= 0]
    return Output(
        sha256=str(delivered.record.dataset.output_sha256),
        rows=len(rows),
        figures=figures,
        statistics=statistics_of_copy(candidate.frame, request, candidate.masked, released, delivered.decoys),
        delivery=delivered.record.delivery,
        records=None if events is None else len(released),
        crosswalk=None if pseudonyms is None else pseudonyms.crosswalk_sha256,
    )


def _alone(request: ReleaseRequest) -> ReleaseRequest:
    """A request for one recipient: what sharing one representation cost is of the release alone."""
    generalization = request.policy.generalization.model_copy(update={"shared": None})
    policy = request.policy.model_copy(update={"generalization": generalization})
    return request.model_copy(update={"policy": policy, "recipients": request.recipients[:1]})
