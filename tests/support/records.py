"""Complete decision records, as the gate writes them for the Adult-TN example, one for each outcome.

The figures agree with each other: histograms and levels add up to the released records, shares belong to counts. Tests
that need another record take one of these and change what they test with ``changed``.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from tasks.assessments.identity.facts import (
    FieldFact,
    FrontierFact,
    FrontierPoint,
    GameFact,
    PolicyOutcome,
    RiskFact,
    RiskFigure,
    RiskView,
    TransparentRisk,
    ZipTableFact,
)
from tasks.assessments.identity.score import THREATS
from tasks.assessments.linkage.facts import gate_figures, gate_intervals
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.fact import Bin
from tasks.decision.gates import judge_gates
from tasks.decision.record import (
    AgreementFact,
    CheckFact,
    CodeFact,
    DatasetFact,
    DecisionRecord,
    GateResult,
    NotAssessed,
    ObservedCount,
    PolicyFact,
    PopulationFact,
    RecipientFact,
    Review,
    SkippedCheck,
    ValidationFact,
    Verdict,
)
from tasks.request.model import DEFAULT_GATES, Gate, Measure, PatternName
from tasks.validation.patterns import PATTERN_TITLES
from tests.support import adversary_records, linkage_records, special_records

ROWS = 32_561
PEOPLE = 6_339_942
EDGES = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.09, 0.2, 0.34, 0.5, 1.0)
_AS_COLLECTED = "released as collected"
_DECIDED = datetime(2026, 3, 9, 14, 30, 12, tzinfo=UTC)


def sha(text: str) -> str:
    """A SHA-256 that belongs to a name."""
    return hashlib.sha256(text.encode()).hexdigest()


def changed(record: DecisionRecord, **changes: Any) -> DecisionRecord:
    """The record with other parts, validated again."""
    return DecisionRecord.model_validate(record.model_copy(update=changes).model_dump())


def bins(counts: Sequence[int]) -> tuple[Bin, ...]:
    """A histogram over the usual edges of risk."""
    return tuple(
        Bin(low=low, high=high, records=count) for low, high, count in zip(EDGES[:-1], EDGES[1:], counts, strict=True)
    )


def approved() -> DecisionRecord:
    """Generalized by the partition, no record worth an attempt, every gate passed."""
    return DecisionRecord(
        release_id=sha("release"),
        title="Income and work of adults in Tennessee",
        decision=Verdict.APPROVED,
        reasons=("All 11 gates passed.",),
        gates=_gates(1 / 75, 0.0, 0.0, 0.951),
        recipient=RecipientFact(
            id="university",
            organisation="Cumberland University, Department of Economics",
            purpose="Study of wages by occupation and education in the counties of Tennessee.",
            agreement=AgreementFact(
                id="DUA-2026-014", expires=date(2028, 12, 31), penalty=2000.0, detection_rate=0.005, ends_on_breach=True
            ),
            controls=(
                "Encrypted storage on two named servers",
                "Access by five named researchers, yearly training",
                "No onward transfer, no linkage with other person-level data",
            ),
            benefit=1200.0,
            loss=300.0,
            gain=300.0,
            cost=4.0,
        ),
        dataset=DatasetFact(
            title="Adult-TN",
            source="UCI Adult (Becker and Kohavi 1996, CC BY 4.0) with synthetic ZIP codes of Tennessee",
            source_sha256=sha("source"),
            output_sha256=sha("output"),
            rows_in=ROWS,
            rows_out=ROWS,
            columns_in=17,
            columns_out=16,
        ),
        population=PopulationFact(
            source="2010 Census ZCTA totals and adult race mix of Tennessee, age by sex modelled",
            sha256=sha("population"),
            people=PEOPLE,
            distinct_tuples=254_952,
            sampling_fraction=ROWS / PEOPLE,
        ),
        policy=PolicyFact(
            id="outbound-data",
            version="2026.1",
            sha256=sha("policy"),
            risk_threshold=0.09,
            validity_days=365,
            small_cell=11,
        ),
        code=CodeFact(version="0.1.0", commit=sha("commit")[:40], lock_sha256=sha("lock")),
        seed_commitment_sha256=sha("seed"),
        request_sha256=sha("request"),
        fields=_fields(),
        validation=_validation(),
        masking=linkage_records.maskings(),
        risk=_risk(),
        utility=linkage_records.utility(),
        further={
            "singling_out": special_records.singling_out().model_dump(mode="json"),
            "attribute": special_records.attribute().model_dump(mode="json"),
            "columns": special_records.columns().model_dump(mode="json"),
        },
        not_assessed=(),
        requested_by="Office of Research Data, data steward",
        requested_at=datetime(2026, 3, 9, 14, 12, 0, tzinfo=UTC),
        decided_at=_DECIDED,
        expert="A. Lindqvist, PhD (statistics), twelve years of statistical disclosure control",
        reviews_required=0,
        valid_from=date(2026, 3, 9),
        valid_until=date(2027, 3, 9),
        prev_record_sha256=sha("ledger"),
    )


def blocked() -> DecisionRecord:
    """Per-record Basic game for a recipient whose attempts pay: three gates failed."""
    record = approved()
    risk = _risk(
        method="basic",
        journalist=_figure(0.5, 0.01184, (2_011, 2_002, 3_894, 7_020, 7_480, 5_604, 2_771, 1_103, 571, 74, 31, 0)),
        transparent=TransparentRisk(
            maximum_risk=1.0,
            mean_risk=0.01893,
            attacked_share=7_613 / ROWS,
            attacked_records=7_613,
            expected_reidentifications=599.31,
            smallest_effective_group=1,
            naive_maximum_risk=0.5,
            naive_attacked_share=7_154 / ROWS,
            naive_expected_reidentifications=385.24,
            histogram=bins((2_011, 1_893, 3_580, 6_644, 7_316, 5_904, 2_987, 1_204, 736, 138, 103, 45)),
            attack_group_size=75.0,
        ),
        sequential=adversary_records.attacked(),
    )
    return changed(
        record,
        decision=Verdict.BLOCKED,
        reasons=(
            "Highest risk of a record from a recipient who knows the method: 1 measured; at most 0.09 allowed.",
            "Records worth attacking for a recipient who knows the method: 23.38% measured; at most 0% allowed.",
            "Highest risk of a record from repeated attempts: 0.63 measured; at most 0.09 allowed.",
        ),
        gates=_gates(1.0, 7_613 / ROWS, 0.0, 0.9961, planned=0.63),
        dataset=_without_file(record),
        fields=tuple(
            field.model_copy(update={"treatment": field.treatment.replace("no-attack-partition", "basic")})
            for field in record.fields
        ),
        recipient=record.recipient.model_copy(
            update={
                "id": "broker",
                "organisation": "Meridian Data Partners",
                "purpose": "Market analysis.",
                "controls": (),
                "prior_release_ids": (sha("earlier"),),
            }
        ),
        risk=risk,
        expert=None,
    )


def blocked_by_planning() -> DecisionRecord:
    """No single attempt pays, a series of them does: the gate on the sequential adversary alone has failed."""
    record = approved()
    agreement = AgreementFact(id="DUA-2026-015", expires=date(2028, 12, 31))
    return changed(
        record,
        decision=Verdict.BLOCKED,
        reasons=("Highest risk of a record from repeated attempts: 0.99 measured; at most 0.09 allowed.",),
        gates=_gates(1 / 75, 0.0, 0.0, 0.951, planned=0.99),
        dataset=_without_file(record),
        recipient=record.recipient.model_copy(update={"agreement": agreement}),
        risk=_risk(sequential=adversary_records.undeterred()),
    )


def without_adversaries() -> DecisionRecord:
    """Blocked because no stage after the risk finished; nothing was masked."""
    record = approved()
    failures = (
        NotAssessed(stage="Sequential adversary", reason="The register does not have the quasi-identifier zip."),
        NotAssessed(stage="Combined identity and attribute risk", reason="Too many sets of attributes may be known."),
    )
    return changed(
        record,
        decision=Verdict.BLOCKED,
        reasons=("Highest risk of a record from repeated attempts: not measured; at most 0.09 allowed.",),
        gates=_gates(1 / 75, 0.0, 0.0, 0.951, planned=None),
        dataset=_without_file(record),
        fields=tuple(
            field.model_copy(update={"treatment": _AS_COLLECTED}) if field.treatment.startswith("masked") else field
            for field in record.fields
        ),
        masking=(),
        risk=_risk().model_copy(update={"sequential": None, "combined": None, "linkage": None}),
        utility=None,
        further={},
        not_assessed=failures,
    )


def validation_failed() -> DecisionRecord:
    """Stopped by validation: no file, no risk."""
    record = approved()
    failing = {("ssn", "occupation"): 3, ("unique", "record_id"): 24}
    checks = tuple(
        check.model_copy(update={"passed": False, "failed": failing[kind, check.column]})
        if (kind := check.id.split("/")[0], check.column) in failing
        else check
        for check in record.validation.checks
    )
    because = f"2 of {len(checks)} validation checks failed: no social security number (occupation), unique record id."
    return changed(
        record,
        decision=Verdict.BLOCKED,
        reasons=(
            because,
            "Highest risk of a record from a recipient who knows the method: not measured; at most 0.09 allowed.",
        ),
        gates=(
            _condition("validation.passed", "Validation passed", because, met=False),
            *record.gates[1:2],
            *(gate.model_copy(update={"measured": None, "passed": False}) for gate in record.gates[2:-2]),
        ),
        dataset=_without_file(record),
        fields=tuple(
            field.model_copy(
                update={
                    "levels": (),
                    "groups_per_level": (),
                    "records_per_level": (),
                    "information_kept": None,
                    "treatment": "removed" if field.treatment == "removed" else "not released",
                }
            )
            for field in record.fields
        ),
        validation=record.validation.model_copy(update={"passed": False, "checks": checks}),
        masking=(),
        risk=None,
        utility=None,
        further={},
        not_assessed=(
            NotAssessed(
                stage="Generalization and risk",
                reason="The data did not pass validation, so nothing was generalized and no risk was measured.",
            ),
        ),
    )


def awaiting_review() -> DecisionRecord:
    """Every gate passed, one of two votes in; a few records suppressed."""
    record = approved()
    suppressed = 6
    rows = ROWS - suppressed
    risk = record.risk
    if risk is None:
        raise ValueError("the approved record has its risk")
    residual = risk.residual.model_copy(
        update={
            "prosecutor": _figure(0.2, 3_711 / rows, (0, 0, 0, 0, 0, 402, 2_944, 3_681, rows - 7_027, 0, 0, 0)),
            "journalist": _figure(1 / 75, 0.00561, (2_010, 2_390, 4_618, 9_437, 9_121, 4_979, 0, 0, 0, 0, 0, 0)),
            "smallest_class": 5,
            "classes": 3_711,
        }
    )
    game = risk.game.model_copy(update={"minimum_class_size": 5, "suppressed_records": suppressed})
    return changed(
        record,
        decision=Verdict.AWAITING_REVIEW,
        reasons=("All 11 gates passed; 2 reviews are still needed.",),
        gates=_gates(1 / 75, 0.0, suppressed / ROWS, 0.9556),
        dataset=record.dataset.model_copy(update={"rows_out": rows}),
        fields=tuple(
            field.model_copy(
                update={"records_per_level": (field.records_per_level[0] - suppressed, *field.records_per_level[1:])}
            )
            if field.records_per_level
            else field
            for field in record.fields
        ),
        risk=risk.model_copy(
            update={
                "residual": residual,
                "game": game,
                "transparent": risk.transparent.model_copy(update={"histogram": residual.journalist.histogram}),
            }
        ),
        utility=linkage_records.utility().model_copy(update={"records": rows, "suppressed": suppressed}),
        reviews_required=2,
        reviews=(
            Review(
                reviewer="M. Okafor",
                role="second reviewer",
                vote="approve",
                reason="The figures agree with my own count.",
                at=datetime(2026, 3, 9, 16, 2, tzinfo=UTC),
                record_sha256=sha("record"),
            ),
        ),
    )


def _without_file(record: DecisionRecord) -> DatasetFact:
    return record.dataset.model_copy(update={"output_sha256": None, "rows_out": None})


def _condition(gate_id: str, title: str, because: str, *, met: bool = True) -> GateResult:
    return GateResult(
        id=gate_id,
        title=title,
        unit="",
        measured=1.0 if met else 0.0,
        comparison="is",
        threshold=1.0,
        passed=met,
        because=because,
    )


def _gates(
    maximum: float, attacked: float, suppressed: float, kept: float, *, planned: float | None = 0.0
) -> tuple[GateResult, ...]:
    figures = {
        Measure.TRANSPARENT_MAXIMUM: maximum,
        Measure.TRANSPARENT_ATTACKED: attacked,
        Measure.SUPPRESSED_SHARE: suppressed,
        Measure.INFORMATION_KEPT: kept,
    }
    intervals = {}
    if planned is not None:
        figures |= {Measure.SEQUENTIAL_MAXIMUM: planned, **gate_figures(linkage_records.linkage())}
        intervals = gate_intervals(linkage_records.linkage())
        figures[Measure.COLUMNS_UNPLACED] = 0.0
        figures[Measure.SINGLED_OUT_POPULATION] = special_records.singling_out().population_share
        figures |= {Measure.COMBINED_EXPECTED: 0.0412, Measure.ATTRIBUTE_DISCLOSED: 0.0}
    policy = (
        *DEFAULT_GATES,
        Gate(
            measure=Measure.SUPPRESSED_SHARE,
            at_most=0.05,
            because="More than one record in twenty left out would bias the study.",
        ),
        Gate(
            measure=Measure.INFORMATION_KEPT,
            at_least=0.6,
            because="Below this the recipient's analysis is not possible; agreed with the recipient.",
        ),
    )
    gates = (
        _condition("validation.passed", "Validation passed", "All validation checks passed."),
        _condition("agreement.in_force", "Agreement in force", "The agreement DUA-2026-014 runs until 2028-12-31."),
        *judge_gates(policy, figures, intervals=intervals),
    )
    if not all(gate.passed for gate in gates):
        return gates
    return (
        *gates,
        _condition("stages.finished", "Every stage finished", "All 9 stages finished."),
        _condition(
            "released.rescored_equal",
            "Risk recomputed from the written file matches the record",
            "All 18 figures of the file as written are those recorded.",
        ),
    )


def _field(name: str, role: str, kind: str, distinct: int, treatment: str, **more: Any) -> FieldFact:
    return FieldFact(
        name=name,
        role=role,
        type=kind,
        distinct_values=distinct,
        treatment=treatment,
        **{"safe_harbor": "none", **more},
    )


def _levels(count: int) -> tuple[str, ...]:
    return ("as collected", *(f"level {level}" for level in range(1, count - 1)), "withheld")


def _fields() -> tuple[FieldFact, ...]:
    generalized = "generalized (no-attack-partition)"
    plain = _AS_COLLECTED
    swapped, averaged = "masked (rank-swapping)", "masked (individual-ranking)"
    return (
        _field("record_id", "direct identifier", "text", ROWS, "removed", description="Key of the record."),
        _field(
            "age",
            "quasi-identifier",
            "integer",
            98,
            generalized,
            safe_harbor="age",
            known_probability=0.9,
            description="Age in completed years.",
            levels=_levels(6),
            groups_per_level=(121, 61, 31, 16, 5, 1),
            records_per_level=(27_214, 3_911, 1_117, 302, 11, 6),
            information_kept=0.9712,
        ),
        _field(
            "zip",
            "quasi-identifier",
            "text",
            620,
            generalized,
            safe_harbor="zip",
            known_probability=0.8,
            description="Five-digit ZIP code of residence.",
            levels=_levels(6),
            groups_per_level=(628, 110, 15, 2, 1, 1),
            records_per_level=(24_660, 4_120, 3_019, 700, 0, 62),
            information_kept=0.9204,
        ),
        _field("workclass", "sensitive", "text", 9, plain, known_probability=0.3),
        _field("fnlwgt", "insensitive", "integer", 21_648, swapped, description="Census weight of the record."),
        _field("education", "insensitive", "text", 16, plain),
        _field("education-num", "insensitive", "integer", 16, plain),
        _field("marital-status", "insensitive", "text", 7, plain),
        _field("occupation", "sensitive", "text", 15, plain, known_probability=0.3),
        _field("relationship", "insensitive", "text", 6, plain),
        _field(
            "race",
            "quasi-identifier",
            "text",
            5,
            generalized,
            known_probability=0.7,
            levels=_levels(4),
            groups_per_level=(5, 3, 2, 1),
            records_per_level=(26_870, 2_140, 1_840, 1_711),
            information_kept=0.9033,
        ),
        _field(
            "sex",
            "quasi-identifier",
            "text",
            2,
            generalized,
            known_probability=1.0,
            levels=_levels(2),
            groups_per_level=(2, 1),
            records_per_level=(30_508, 2_053),
            information_kept=0.9369,
        ),
        _field("capital-gain", "sensitive", "integer", 119, averaged),
        _field("capital-loss", "sensitive", "integer", 92, averaged),
        _field("hours-per-week", "insensitive", "integer", 94, swapped),
        _field("native-country", "insensitive", "text", 42, plain),
        _field("salary-class", "sensitive", "text", 2, plain, description="Income above or below 50,000 dollars."),
    )


def _check(kind: str, expectation: str, column: str = "") -> CheckFact:
    return CheckFact(
        id="/".join(part for part in (kind, "expect_it", column) if part),
        expectation=expectation,
        column=column,
        passed=True,
        checked=ROWS,
        failed=0,
    )


def _validation() -> ValidationFact:
    columns = [(field.name, field.type) for field in _fields() if field.role != "direct identifier"]
    texts = [name for name, kind in columns if kind == "text"]
    checks = [
        _check("release columns", "no direct identifier among the columns to be released"),
        _check("population coverage", "quasi-identifiers found in the population, at least 100 % of records"),
        _check("unique", "unique record id", "record_id"),
        _check("present", "record id present", "record_id"),
    ]
    checks += [_check("type", "whole numbers", name) for name, kind in columns if kind == "integer"]
    checks += [_check(pattern.value, PATTERN_TITLES[pattern], name) for pattern in PatternName for name in texts]
    checks += [_check("identifier copy", "not a copy of a direct identifier", name) for name, _ in columns]
    return ValidationFact(
        passed=True,
        checks=tuple(checks),
        skipped=(
            SkippedCheck(
                id="pattern scan/fnlwgt",
                expectation="no identifier by pattern or repeated in the text",
                column="fnlwgt",
                reason="the request sets scan: false",
            ),
        ),
        observed=(
            ObservedCount(
                id="age/age",
                description="ages over 89 in a quasi-identifier, which generalization treats",
                column="age",
                records=43,
            ),
        ),
        evidence_sha256=sha("validation"),
    )


def _outcome(
    method: str, payoff: float, gain: float, kept: float, attacked: tuple[float, float], **more: Any
) -> PolicyOutcome:
    """One row of the comparison; shares in percent of the records, the rest as published."""
    return PolicyOutcome(
        method=method,
        publisher_payoff=payoff,
        adversary_payoff=gain,
        information_kept=kept,
        naive_attacked_share=attacked[0] / 100,
        transparent_attacked_share=attacked[1] / 100,
        **more,
    )


def _frontier(method: str) -> FrontierFact:
    """As solved for Adult-TN: by the partition, V changes no choice and nobody is attacked."""
    steps = (0.25, 0.5, 1.0, 2.0, 4.0) if method.startswith("no-attack") else (0.25, 1.0, 4.0)
    kept = {0.25: 0.98913, 0.5: 0.97723, 1.0: 0.95568, 2.0: 0.92075, 4.0: 0.86657}
    attacked = {1.0: 0.0} if method == "no-attack-partition" else {0.25: 0.0492, 1.0: 0.2338, 4.0: 0.4119}
    points = tuple(
        FrontierPoint(
            benefit=1200.0 * benefit,
            loss=300.0 * loss,
            gain=300.0 * loss,
            publisher_payoff=1200.0 * benefit * kept[loss],
            attacked_share=attacked.get(loss, 0.0),
            information_kept=kept[loss],
        )
        for benefit in steps
        for loss in steps
    )
    return FrontierFact(benefit_factors=steps, loss_factors=steps, games=len(steps), points=points)


def _outcomes(chosen: str) -> tuple[PolicyOutcome, ...]:
    rows = (
        _outcome("safe-harbor", 849.26, 0.43, 0.7082, (2.77, 2.77), most_specific_share=0.0, mean_generalization=0.1432,
                 naive_expected_reidentifications=45.1, transparent_expected_reidentifications=45.1),
        _outcome("basic", 1195.29, 2.67, 0.9991, (21.97, 23.38), most_specific_share=0.6274, mean_generalization=0.0278,
                 naive_expected_reidentifications=385.24, transparent_expected_reidentifications=599.31),
        _outcome("no-attack", 1175.79, 0.0, 0.9798, (0.0, 11.52), most_specific_share=0.6249,
                 mean_generalization=0.0476, naive_expected_reidentifications=0.0,
                 transparent_expected_reidentifications=287.06),
        _outcome("sh-friendly", 849.57, 0.16, 0.7080, (1.69, 2.05), most_specific_share=0.0, mean_generalization=0.1452,
                 naive_expected_reidentifications=21.9, transparent_expected_reidentifications=26.4),
        _outcome("common", 1001.18, 0.21, 0.8345, (1.04, 1.04), most_specific_share=0.0, mean_generalization=0.1429,
                 naive_expected_reidentifications=30.2, transparent_expected_reidentifications=30.2),
        _outcome("basic-partition", 1194.53, 2.71, 0.9985, (22.13, 22.13), most_specific_share=0.6188,
                 mean_generalization=0.0291, naive_expected_reidentifications=388.6,
                 transparent_expected_reidentifications=388.6),
        _outcome("no-attack-partition", 1146.82, 0.0, 0.9557, (0.0, 0.0), most_specific_share=0.5723,
                 mean_generalization=0.0682, naive_expected_reidentifications=0.0,
                 transparent_expected_reidentifications=0.0,
                 exact_values={"zip": 0.8779, "age": 0.7938, "race": 0.9616, "sex": 0.6704}),
    )  # fmt: skip
    return tuple(row.model_copy(update={"chosen": row.method == chosen}) for row in rows)


def _figure(maximum: float, mean: float, counts: Sequence[int]) -> RiskFigure:
    return RiskFigure(
        maximum=maximum,
        mean=mean,
        records=sum(counts),
        over_threshold=sum(counts[EDGES.index(0.09) :]),
        histogram=bins(counts),
    )


def _risk(
    method: str = "no-attack-partition",
    journalist: RiskFigure | None = None,
    transparent: TransparentRisk | None = None,
    sequential: SequentialFact | None = None,
) -> RiskFact:
    residual = journalist or _figure(1 / 75, 0.00561, (2_016, 2_390, 4_618, 9_437, 9_121, 4_979, 0, 0, 0, 0, 0, 0))
    return RiskFact(
        threats=THREATS,
        threshold=0.09,
        initial=RiskView(
            prosecutor=_figure(1.0, 27_116 / ROWS, (0, 0, 0, 0, 0, 0, 0, 611, 3_204, 3_618, 4_317, 20_811)),
            journalist=_figure(
                1.0, 0.02716, (1_622, 1_498, 2_871, 6_013, 7_244, 6_402, 4_115, 1_560, 806, 226, 112, 92)
            ),
            marketer=0.02716,
            smallest_class=1,
            classes=27_116,
            below_small_cell=0.9812,
        ),
        residual=RiskView(
            prosecutor=_figure(1.0, 15_702 / ROWS, (0, 0, 0, 0, 0, 402, 2_944, 3_681, 6_110, 3_940, 4_493, 10_991)),
            journalist=residual,
            marketer=residual.mean,
            smallest_class=1,
            classes=15_702,
            below_small_cell=0.7843,
        ),
        transparent=transparent
        or TransparentRisk(
            maximum_risk=1 / 75,
            mean_risk=0.00561,
            attacked_share=0.0,
            attacked_records=0,
            expected_reidentifications=0.0,
            smallest_effective_group=75,
            naive_maximum_risk=1 / 75,
            naive_attacked_share=0.0,
            naive_expected_reidentifications=0.0,
            histogram=bins((2_016, 2_390, 4_618, 9_437, 9_121, 4_979, 0, 0, 0, 0, 0, 0)),
            attack_group_size=75.0,
        ),
        game=GameFact(
            method=method,
            weights={"age": 1.0, "zip": 1.0, "race": 1.0, "sex": 0.0},
            lattice_nodes=288,
            cube_cells=5_871_285,
            cube_form="dense",
            distinct_tuples=27_116,
            cell_weights="population",
            minimum_class_size=1,
            suppressed_records=0,
            outcomes=_outcomes(method),
            frontier=_frontier(method),
        ),
        sequential=sequential or adversary_records.deterred(),
        combined=adversary_records.combined(),
        linkage=linkage_records.linkage(),
        zip_table=ZipTableFact(
            census="US Census Bureau, 2010 Census ZCTA populations, in union with the HHS list from Census 2000",
            sha256=sha("zcta"),
            restricted_prefixes=(
                "036",
                "059",
                "063",
                "102",
                "203",
                "205",
                "369",
                "556",
                "692",
                "753",
                "772",
                "790",
                "821",
                "823",
                "830",
                "831",
                "878",
                "879",
                "884",
                "890",
                "893",
            ),
        ),
    )
