"""Records of copies with decoys: eight recipients, t = 2, and what the stages would find of them.

Counts and shares agree with each other and with ``tests.support.records``; the figures are of the size that the methods
give on such data, and none is computed here.
"""

from typing import Any

from tasks.assessments.identity.facts import RiskFigure
from tasks.core.fact import Interval
from tasks.decision.decoy_facts import (
    AttemptFact,
    ChoiceFact,
    CollusionFact,
    DecoyFact,
    DetectabilityFact,
    DetectionFact,
    StatisticChange,
    StatisticsFact,
)
from tasks.decision.record import DecisionRecord, GateResult
from tasks.request.model import Measure
from tests.support import records

DECOYS = 66
MISSING = 186
THRESHOLD = 0.75
SUPPRESSED = Measure.SUPPRESSED_SHARE.value
_SUBSETS = (8, 28, 56, 70, 56, 28, 8, 1)
_CATEGORIES = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "native-country",
    "salary-class",
)
_NUMBERS = ("fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def statistics(scale: float = 1.0, **changes: Any) -> StatisticsFact:
    """Changes of the sample's columns, each as far as the scale says; 1 is what few decoys and masking do."""
    means = {"fnlwgt": 0.0012, "education-num": -0.0024, "capital-gain": 0.0151, "capital-loss": -0.0007}
    moved = {"workclass": 0.0017, "education": 0.0021, "native-country": 0.0142}
    columns = (
        *(
            StatisticChange(
                name=name,
                kind="number",
                mean=scale * means.get(name, 0.0),
                standard_errors=scale * means.get(name, 0.0) * records.ROWS**0.5,
                spread=1 + scale * means.get(name, 0.0) / 2,
            )
            for name in _NUMBERS
        ),
        *(
            StatisticChange(
                name=name,
                kind="categories",
                total_variation=scale * moved.get(name, 0.0013),
                largest=scale * moved.get(name, 0.0013) / 2,
            )
            for name in _CATEGORIES
        ),
    )
    fact = StatisticsFact(
        columns=columns,
        correlation=scale * 0.0061,
        association=scale * 0.0043,
        target="salary-class",
        coefficient=scale * 0.41,
        explained_before=0.3521,
        explained_after=0.3521 - scale * 0.0012,
    )
    return fact.model_copy(update=changes)


def collusion(recipients: int = 8) -> tuple[CollusionFact, ...]:
    """Sets of one recipient, whose classes all stand alone, to all of them; the plan of 1/3 holds."""
    return tuple(
        CollusionFact(
            colluders=number,
            sets=_SUBSETS[number - 1] if number <= len(_SUBSETS) else 200,
            exhaustive=number <= len(_SUBSETS),
            suspects_decoys=6.0 * number,
            suspects_real=3_500.0 if number == 1 else 12.0 * number + 2.5,
            probability=6 / 3_506 if number == 1 else 6 * number / (18 * number + 2.5),
            worst=6 / 3_480 if number == 1 else 0.331,
            informed=0.012 if number == 1 else 1 / 3,
            worst_informed=0.018 if number == 1 else 1 / 3,
        )
        for number in range(1, recipients + 1)
    )


def detectability(**changes: Any) -> DetectabilityFact:
    """Six tries, of which boosting with all values does best."""
    areas = (
        ("file alone", "gradient boosting", 0.531),
        ("file alone", "logistic regression", 0.498),
        ("population", "gradient boosting", 0.562),
        ("population", "logistic regression", 0.517),
        ("population and values", "gradient boosting", 0.604),
        ("population and values", "logistic regression", 0.549),
    )
    tried = tuple(
        DetectionFact(view=view, classifier=classifier, area=area, low=area - 0.055, high=area + 0.055)
        for view, classifier, area in areas
    )
    fact = DetectabilityFact(tried=tried, worst=tried[4], decoys=120, real_classes=3_500, size_p_value=0.421)
    return fact.model_copy(update=changes)


def decoys(**changes: Any) -> DecoyFact:
    """Six decoy classes in this copy, twelve kept real ones, an assignment proven optimal."""
    fact = DecoyFact(
        count=DECOYS,
        commitment_sha256=records.sha("decoys"),
        classes=6,
        kept_per_decoy=2,
        planned_probability=1 / 3,
        recipients=8,
        missing=MISSING,
        choice=ChoiceFact(status="optimal", bound=190, worst_missing=190),
        collusion=collusion(),
        detectability=detectability(),
        attempts=AttemptFact(
            subjects_maximum=1 / 75,
            subjects_mean=0.00561,
            shown_maximum=1 / 61,
            shown_mean=0.00563,
            success=0.0056,
            lured=0.31,
        ),
        statistics=statistics(0.5),
    )
    return fact.model_copy(update=changes)


def gate(worst: float = 0.604, high: float = 0.659) -> GateResult:
    """The gate on detectability, as the decision writes it."""
    return GateResult(
        id="decoys.detectability",
        title="Decoys cannot be distinguished from real classes",
        unit="",
        measured=high,
        interval=Interval(low=worst - (high - worst), high=high, level=0.95),
        comparison="at most",
        threshold=THRESHOLD,
        passed=high <= THRESHOLD,
        because="Whoever tells decoys from real classes more surely than this can leave them out.",
    )


def approved(**changes: Any) -> DecisionRecord:
    """The approved sample as a copy with decoys, nothing else left out; changes are those of its decoys."""
    return with_decoys(decoys(**changes))


def with_decoys(fact: DecoyFact, *, suppressed: int = 0) -> DecisionRecord:
    """The approved sample with decoys in it, without the records suppressed and those missing for kept classes."""
    record = records.approved()
    if record.risk is None:
        raise ValueError("the approved record has its risk")
    left_out = fact.missing + suppressed
    risk = record.risk.model_copy(
        update={
            "residual": record.risk.residual.model_copy(
                update={
                    "prosecutor": _without(record.risk.residual.prosecutor, left_out),
                    "journalist": _without(record.risk.residual.journalist, left_out),
                }
            ),
            "game": record.risk.game.model_copy(
                update={"suppressed_records": left_out, "minimum_class_size": 5 if suppressed else 1}
            ),
        }
    )
    return records.changed(
        record,
        risk=risk,
        fields=tuple(
            field.model_copy(
                update={"records_per_level": (field.records_per_level[0] - left_out, *field.records_per_level[1:])}
            )
            if field.records_per_level
            else field
            for field in record.fields
        ),
        gates=(
            *(
                one.model_copy(update={"measured": left_out / records.ROWS}) if one.id == SUPPRESSED else one
                for one in record.gates
            ),
            gate(),
        ),
        reasons=("All 11 gates passed.",),
        dataset=record.dataset.model_copy(update={"rows_out": records.ROWS - left_out + fact.count}),
        decoys=fact,
        statistics=statistics(),
        not_assessed=(),
    )


def _without(figure: RiskFigure, left_out: int) -> RiskFigure:
    """A risk over fewer records, taken from the fullest bin."""
    fullest = max(part.records for part in figure.histogram)
    histogram = tuple(
        part.model_copy(update={"records": part.records - left_out}) if part.records == fullest else part
        for part in figure.histogram
    )
    return figure.model_copy(update={"records": figure.records - left_out, "histogram": histogram})
