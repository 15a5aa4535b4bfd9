"""Assembly of one recipient's decision record; a figure that no stage measured is empty and passes no gate."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from tasks.assessments.events.facts import as_written
from tasks.assessments.identity.assessment import IdentityFact
from tasks.assessments.identity.facts import FieldFact, RiskFact
from tasks.assessments.registry import (
    ASSESSMENTS,
    ATTRIBUTE,
    COLUMNS,
    COMBINED,
    DATES,
    EVENTS,
    IDENTITY,
    LINKAGE,
    SEQUENTIAL,
    SINGLING_OUT,
    UTILITY,
)
from tasks.candidate.assessment import Assessment, Finding
from tasks.core.fact import Fact, Interval, Sha256
from tasks.decision.context import DecisionContext
from tasks.decision.decoy_facts import DecoyFact, StatisticsFact
from tasks.decision.disclosure_rounding import disclosure_rounded
from tasks.decision.earlier_facts import EarlierFact
from tasks.decision.gates import (
    agreement_gate,
    decoy_gate,
    earlier_gate,
    flat_figures,
    judge_gates,
    rescored_gate,
    stages_gate,
    validation_gate,
)
from tasks.decision.overrides import GateOverrides, not_covered, with_overrides
from tasks.decision.record import (
    DatasetFact,
    DecisionRecord,
    DeliveryFact,
    FileRowsFact,
    GateResult,
    MisfitFact,
    MissingFact,
    NotAssessed,
    PolicyFact,
    PopulationFact,
    PseudonymFact,
    PseudonymsFact,
    RecipientFact,
    TableFact,
    ValidationFact,
)
from tasks.decision.verdict import decide, is_excused, utc_day, validity
from tasks.decision.written_figures import RecordCounts
from tasks.generalization.setting import payoffs_of
from tasks.masking.facts import MaskingFact
from tasks.microdata.coded import Prepared, sensitivities
from tasks.microdata.fit import misfits
from tasks.request.model import LARGER_IS_BETTER, Measure, Recipient, ReleaseRequest


def stages_of(request: ReleaseRequest) -> tuple[str, ...]:
    """Stages that a request's copies go through, those with decoys aside."""
    assessed = (assessment.stage for assessment in ASSESSMENTS if assessment.applies(request))
    return ("validation", "generalization", *assessed, "delivery")


_OF_RECIPIENT = {"id", "organisation", "purpose", "agreement", "controls", "prior_release_ids"}

AnyFact = TypeVar("AnyFact", bound=Fact)

DECOYS = "decoys"
"""The stage that only copies with decoys go through."""


@dataclass(frozen=True)
class Output:
    """The released file as written, and its risk as read back."""

    sha256: Sha256
    rows: int
    """Rows of the file."""
    figures: dict[str, float] | None
    statistics: StatisticsFact | None = None
    delivery: DeliveryFact | None = None
    records: int | None = None
    """Records of the file, where these are people who can have several rows."""
    crosswalk: Sha256 | None = None

    def rows_of(self, table: str | None) -> int:
        """Rows of the file of a table, or of the dataset."""
        tables = () if self.delivery is None else self.delivery.tables
        return next((one.rows for one in tables if one.table == table), self.rows)

    @property
    def records_out(self) -> int:
        """Records of the file."""
        return self.rows if self.records is None else self.records


@dataclass(frozen=True)
class Findings:
    """Findings on one recipient's candidate, and how its file was written."""

    prepared: Prepared
    validation: ValidationFact
    findings: Mapping[str, Finding[Any]] = field(default_factory=dict)
    """Findings by assessment; those that did not finish or were not reached are missing."""
    masking: tuple[MaskingFact, ...] = ()
    decoys: DecoyFact | None = None
    """Decoys of the copy; None where it is to have none, or the stage failed."""
    earlier: EarlierFact | None = field(default_factory=EarlierFact)
    """Earlier copies held by the same party; None where there are some and the stage failed."""
    output: Output | None = None
    failures: tuple[NotAssessed, ...] = ()
    """Stages that failed, with the message."""

    def fact(self, assessment: Assessment[AnyFact]) -> AnyFact | None:
        """The fact of an assessment; None where it did not finish."""
        found = self.findings.get(assessment.id)
        return found.fact if found is not None and isinstance(found.fact, assessment.fact) else None

    @property
    def identity(self) -> IdentityFact | None:
        """Risk, game and fields."""
        return self.fact(IDENTITY)

    @property
    def further(self) -> dict[str, dict[str, Any]]:
        """Facts of assessments that have no place of their own in the record."""
        placed = {one.id for one in (IDENTITY, SEQUENTIAL, COMBINED, LINKAGE, UTILITY)}
        return {name: found.fact.model_dump(mode="json") for name, found in self.findings.items() if name not in placed}

    @property
    def figures(self) -> dict[Measure, float]:
        """Measured figures, of all that gates can judge."""
        return {name: figure for found in self.findings.values() for name, figure in found.measures.items()}

    @property
    def intervals(self) -> dict[Measure, tuple[Interval, int | None]]:
        """Intervals of the figures that are estimates, and the people they rest on; None for shares of draws."""
        found: dict[Measure, tuple[Interval, int | None]] = {}
        for assessment in ASSESSMENTS:
            if assessment.id in self.findings:
                found |= assessment.intervals(self.findings[assessment.id].fact)
        return found

    @property
    def risk(self) -> RiskFact | None:
        """The risk of the record; None where it was not measured."""
        if self.identity is None:
            return None
        return self.identity.risk.model_copy(
            update={"sequential": self.fact(SEQUENTIAL), "combined": self.fact(COMBINED), "linkage": self.fact(LINKAGE)}
        )


_ROUNDING = 1e-9
_ONE_PARTY = "The figure is of this copy and others held by the same party together."
_WHOLE_ROW = "The figure is of the classes that the whole released row leaves: {} {} values of quasi-identifiers."
_EVENTS = "The figure is of the attributes of rows."
_KNOWN_ROWS = "The figure is of the attributes of rows that others may know: {}."


def gates_before_writing(
    request: ReleaseRequest, recipient: Recipient, findings: Findings, circumstances: DecisionContext
) -> tuple[GateResult, ...]:
    """Every gate that can be judged before a file is written; those that an officer has overridden are marked."""
    earlier = findings.earlier
    columns, events = findings.fact(COLUMNS), findings.fact(EVENTS)
    told_by = columns.revealing(request.quasi_identifiers) if columns else ()
    whole_row = _WHOLE_ROW.format(" and ".join(told_by), "reveals" if len(told_by) == 1 else "reveal")
    known = events.known.attributes if events and events.known else ()
    gates = judge_gates(request.policy.gates, findings.figures, intervals=findings.intervals)
    for figures, why, names in (
        (earlier and earlier.figures, _ONE_PARTY, ()),
        (columns and columns.whole_row, whole_row, told_by),
        (events and events.by_known_rows, _KNOWN_ROWS.format(", ".join(known)), known),
        (events and events.figures, _EVENTS, ()),
    ):
        if figures:
            others = judge_gates(request.policy.gates, {Measure(name): one for name, one in figures.items()})
            gates = tuple(_worse(*pair, why, names) for pair in zip(gates, others, strict=True))
    return (
        validation_gate(findings.validation),
        agreement_gate(recipient.agreement, utc_day(circumstances.decided_at)),
        *with_overrides(gates, _overrides_for(recipient, circumstances), request.policy.review.overridable),
        *((decoy_gate(findings.decoys, request.policy.decoys.maximum_detectability),) if findings.decoys else ()),
        *((earlier_gate(earlier),) if earlier is None or earlier.others else ()),
    )


def _worse(alone: GateResult, together: GateResult, why: str, columns: tuple[str, ...]) -> GateResult:
    """The result of a gate with the worse figure, of the copy alone or seen together with something else."""
    if alone.measured is None or together.measured is None:
        return alone
    sign = -1 if Measure(alone.id) in LARGER_IS_BETTER else 1
    rounding = _ROUNDING * abs(alone.measured)
    if sign * together.measured <= sign * alone.measured + rounding:
        return alone
    own = alone.measured if alone.alone is None else alone.alone
    because = f"{alone.because} {why}"
    return together.model_copy(update={"alone": own, "because": because, "columns": alone.columns + columns})


def are_open(gates: Collection[GateResult]) -> bool:
    """Whether every one of some gates has passed or is overridden."""
    return bool(gates) and all(gate.passed or is_excused(gate) for gate in gates)


def _overrides_for(recipient: Recipient, circumstances: DecisionContext) -> tuple[GateOverrides, ...]:
    return tuple(one for one in circumstances.overrides if one.recipient == recipient.id)


def assemble(
    request: ReleaseRequest, recipient: Recipient, findings: Findings, circumstances: DecisionContext
) -> DecisionRecord:
    """Judge all gates and fill in the record.

    Where the gates that need no file are open, the written file must carry the recorded risk and all stages must have
    finished; behind a closed gate no file is written, and these are not judged. Figures that would disclose decoys are
    rounded last.
    """
    gates = gates_before_writing(request, recipient, findings, circumstances)
    with_decoys = recipient.decoys or any(failure.stage == DECOYS for failure in findings.failures)
    stages = (*stages_of(request), *((DECOYS,) if with_decoys else ()))
    if are_open(gates):
        gates += (stages_gate(stages, _finished(findings)), _rescored(findings))
    elif findings.failures:
        gates += (stages_gate(stages, _finished(findings)),)
    output, total = findings.output, findings.prepared.data.total
    verdict, reasons = decide(
        gates,
        request.policy.review.required,
        expert_signs=request.policy.review.expert_signs,
        records=RecordCounts(total, findings.identity.risk.residual.prosecutor.records if findings.identity else total),
        small_cell=request.policy.small_cell,
    )
    reasons += _unplaced(gates, findings)
    reasons += tuple(f"{failure.stage}: {failure.reason}" for failure in findings.failures)
    reasons += not_covered(gates, _overrides_for(recipient, circumstances))
    before = circumstances.decided_before.get(recipient.id)
    reasons += () if before is None else (before.sentence,)
    valid_from, valid_until = validity(
        utc_day(circumstances.decided_at), request.policy.validity_days, recipient.agreement.expires
    )
    record = DecisionRecord(
        release_id=circumstances.release_id,
        title=request.title,
        decision=verdict,
        reasons=reasons,
        gates=gates,
        recipient=_recipient_fact(recipient),
        dataset=_dataset(request, findings, circumstances),
        delivery=output.delivery if output else None,
        population=_population(request, findings.prepared, circumstances),
        policy=PolicyFact.of(request.policy, circumstances.enrolments.get("policy")),
        code=circumstances.code,
        seed_commitment_sha256=circumstances.seed_commitment_sha256,
        request_sha256=circumstances.request_sha256,
        fields=findings.identity.fields if findings.identity else _fields_as_declared(request, findings.prepared),
        validation=findings.validation,
        masking=findings.masking,
        pseudonyms=_pseudonyms(request, findings),
        risk=findings.risk,
        utility=findings.fact(UTILITY),
        further=findings.further,
        statistics=output.statistics if output else None,
        not_assessed=(*findings.failures, *_not_reached(findings)),
        decoys=findings.decoys,
        earlier=findings.earlier,
        **asdict(circumstances.people),
        requested_at=circumstances.requested_at,
        decided_at=circumstances.decided_at,
        expert=request.expert,
        reviews_required=request.policy.review.required,
        expert_signs=request.policy.review.expert_signs,
        signed_votes=request.policy.review.signed_votes,
        overridable=tuple(measure.value for measure in request.policy.review.overridable),
        override_days=request.policy.review.override_days,
        valid_from=valid_from,
        valid_until=valid_until,
        supersedes=circumstances.supersedes.get(recipient.id),
        inputs_id=circumstances.inputs_id,
        overrides=tuple(sorted(one.entry_sha256 for one in circumstances.overrides)),
        decided_before=before,
        prev_record_sha256=circumstances.prev_record_sha256,
    )
    return disclosure_rounded(record)


def _dataset(request: ReleaseRequest, findings: Findings, circumstances: DecisionContext) -> DatasetFact:
    output = findings.output
    return DatasetFact(
        title=request.dataset.title,
        source=request.dataset.source,
        source_sha256=circumstances.dataset_sha256,
        output_sha256=output.sha256 if output else None,
        rows_in=findings.prepared.data.total,
        rows_out=output.records_out if output else None,
        columns_in=len(request.attributes),
        columns_out=len(request.delivered),
        rows=_file_rows(request, findings),
        missing=_missing(request, findings.prepared),
        tables=tuple(_tables(request, findings, circumstances.tables_sha256)),
    )


def _population(request: ReleaseRequest, prepared: Prepared, circumstances: DecisionContext) -> PopulationFact:
    total, lacks = prepared.data.total, request.population.lacks
    size = request.population.people(total)
    shares = misfits(prepared.data, prepared.population, prepared.hierarchies)
    return PopulationFact(
        source=request.population.source,
        sha256=circumstances.population_sha256,
        people=prepared.people,
        distinct_tuples=len(prepared.population),
        sampling_fraction=total / (size or prepared.people),
        basis=request.population.basis,
        lacks=lacks,
        size=size,
        misfits=tuple(MisfitFact(column=name, share=share) for name, share in shares.items() if name not in lacks),
        enrolled=circumstances.enrolments.get("population"),
    )


def _file_rows(request: ReleaseRequest, findings: Findings) -> FileRowsFact | None:
    person, events, output = request.dataset.person, findings.prepared.events, findings.output
    if person is None or events is None:
        return None
    rows_out = None if output is None else output.rows_of(None)
    return FileRowsFact(person=person, rows_in=len(events.rows_of(0)), rows_out=rows_out)


def _tables(request: ReleaseRequest, findings: Findings, hashes: Mapping[str, str]) -> Iterator[TableFact]:
    """The further tables of a request, in its order."""
    events, output = findings.prepared.events, findings.output
    for name, table in request.tables.items():
        key, own = request.key_of(name), request.attributes_in(name)
        yield TableFact(
            name=name,
            title=table.title,
            source_sha256=hashes[name],
            rows_in=0 if events is None else len(events.rows_of(request.table_number(name))),
            rows_out=None if output is None else output.rows_of(name),
            columns_in=len(own),
            columns_out=sum(request.attributes[one].role.delivered for one in own),
            within=table.within,
            key=table.key,
            key_leaves="" if key is None else request.attributes[key].treatment,
        )


def _missing(request: ReleaseRequest, prepared: Prepared) -> MissingFact | None:
    """Released columns that are missing in some records and whose reading bears on risks; None where there are none."""
    events = {} if prepared.events is None else prepared.events.columns
    weights = sensitivities(request)
    sensitive = tuple(
        name
        for name, column in {**prepared.columns, **events}.items()
        if name in weights and (column.lacks if name not in events else _lacks(prepared, request, name))
    )
    quasi = tuple(name for name, tree in prepared.hierarchies.items() if tree.missing_leaf >= 0)
    if not (quasi or sensitive):
        return None
    return MissingFact(
        quasi_identifiers=quasi,
        read_as=request.policy.missing.quasi_identifiers,
        sensitive=sensitive,
        sensitive_read_as=request.policy.missing.sensitive,
    )


def _lacks(prepared: Prepared, request: ReleaseRequest, name: str) -> bool:
    """Whether some row of the table of an attribute of rows has no value."""
    events = prepared.events
    if events is None:
        return False
    column = events.columns[name]
    return bool((column.codes[events.rows_of(request.number_of(name))] == column.missing).any())


def _unplaced(gates: Collection[GateResult], findings: Findings) -> tuple[str, ...]:
    """Findings on released columns, with the remedy of each, where they close a gate."""
    fact, name = findings.fact(COLUMNS), Measure.COLUMNS_UNPLACED.value
    if fact is None or not any(gate.id == name and not gate.passed for gate in gates):
        return ()
    return tuple(f"{column.advice}." for column in fact.unplaced)


def _finished(findings: Findings) -> Collection[str]:
    finished = ["validation"]
    if findings.identity:
        finished.append("generalization")
    finished += [assessment.stage for assessment in ASSESSMENTS if assessment.id in findings.findings]
    if findings.decoys is not None:
        finished.append(DECOYS)
    if findings.output:
        finished.append("delivery")
    return finished


def _rescored(findings: Findings) -> GateResult:
    recorded: dict[str, float] = {}
    risk = findings.risk
    alone, classes, events = findings.fact(SINGLING_OUT), findings.fact(ATTRIBUTE), findings.fact(EVENTS)
    dates = findings.fact(DATES)
    if risk and risk.sequential and risk.combined and risk.linkage and alone and classes:
        recorded = flat_figures(
            risk.residual,
            risk.transparent,
            risk.sequential.residual,
            risk.combined.residual,
            risk.linkage.records,
            singled_out=alone.as_released,
            disclosed=classes.disclosed_records,
            expected=risk.combined.expected,
            events={} if events is None else as_written(events.disclosed_people, events.known),
            dates=None if dates is None else dates.found,
        )
    output = findings.output
    return rescored_gate(recorded, output.figures if output else None, output.sha256 if output else None)


def _not_reached(findings: Findings) -> tuple[NotAssessed, ...]:
    if findings.identity or findings.failures:
        return ()
    return (
        NotAssessed(
            stage="Generalization and risk",
            reason="The data did not pass validation, so nothing was generalized and no risk was measured.",
        ),
    )


def _pseudonyms(request: ReleaseRequest, findings: Findings) -> PseudonymsFact | None:
    if not request.pseudonyms:
        return None
    prepared, columns = findings.prepared, list[PseudonymFact]()
    for name in request.pseudonyms:
        terms = request.attributes[name].pseudonyms
        columns.append(
            PseudonymFact(
                column=name,
                format=terms.format.value,
                project=terms.project,
                identifier=request.identifier(name),
                repeats=_repeats(request, prepared, name),
            )
        )
    return PseudonymsFact(
        columns=tuple(columns), crosswalk_sha256=findings.output.crosswalk if findings.output else None
    )


def _repeats(request: ReleaseRequest, prepared: Prepared, name: str) -> bool:
    """Whether a value of a column is in several rows of the files."""
    if prepared.events is None or prepared.events.tables is None:
        return prepared.distinct_values[name] < len(prepared.tuple_of_row)
    if name == request.person_id or name in map(request.parent_key, request.tables):
        return True
    return prepared.distinct_values[name] < len(prepared.events.rows_of(request.number_of(name)))


def _recipient_fact(recipient: Recipient) -> RecipientFact:
    payoffs = payoffs_of(recipient)
    stakes = {name: getattr(payoffs, name) for name in ("benefit", "loss", "gain", "cost")}
    named = recipient.model_dump(include=_OF_RECIPIENT)
    return RecipientFact(**named, **stakes, basis=recipient.stakes.basis)


def _fields_as_declared(request: ReleaseRequest, prepared: Prepared) -> tuple[FieldFact, ...]:
    """The fields of a release whose generalization was not reached."""
    return tuple(
        FieldFact.of(name, attribute, prepared.distinct_values[name], treatment=attribute.treatment or "not released")
        for name, attribute in request.attributes.items()
    )
