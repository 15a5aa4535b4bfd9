"""A decision record as its report shows it: what several sections take from it, and the disclosure rule."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from reports.model import numbers
from reports.model.document import DASH, kept, named
from reports.model.smallcell import HIDDEN, SmallCellRule
from tasks.assessments.attribute.facts import AttributeFact
from tasks.assessments.columns.facts import ColumnFact, ColumnsFact
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.dates.facts import STAGE, DatesFact
from tasks.assessments.events.facts import EventsFact
from tasks.assessments.identity.facts import FieldFact, RiskFact
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.assessments.singling_out.facts import SinglingOutFact
from tasks.assessments.text.facts import TextFact
from tasks.core.errors import StageFailed
from tasks.core.fact import Fact, Interval
from tasks.core.plural import listed
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.written_figures import RecordCounts, is_told_as_bound, write_result
from tasks.masking.facts import MaskingFact
from tasks.request.model import Measure, PopulationBasis, Role

_ROUNDING = 1e-9
_Fact = TypeVar("_Fact", bound=Fact)


@dataclass(frozen=True)
class GateRow:
    """A gate in print: its figures are as far as they may be shown."""

    gate: GateResult
    measured: str
    interval: str
    """Around a figure that is an estimate; empty for exact ones, and where it would disclose a small count."""
    asked: str
    unit: str


@dataclass(frozen=True)
class WorseFigure:
    """A figure of a gate that is not of the quasi-identifiers of the copy alone, and what makes it worse."""

    figure: float
    why: str
    alone: str
    """Words for the figure that it is worse than."""


@dataclass(eq=False)
class FileView:
    """A measured copy as the tables of one assessment show it: its size, its columns, and the disclosure rule."""

    cells: SmallCellRule
    rows_in: int
    """Records that came in."""
    released: int
    """Records that were measured for release, whether or not a file was written; those that came in, if none."""
    roles: Mapping[str, str]
    """Role of each column."""
    masking: Sequence[MaskingFact]
    gated: Collection[str] = ()
    """Measures that a gate judges, as far as a table mentions gates."""
    has_coalitions: bool = False
    """Whether the policy takes the recipient to collude."""
    basis: PopulationBasis = PopulationBasis.TABLE
    """Place in which the people of a class are counted."""

    @property
    def few_suppressed(self) -> bool:
        """Whether so few records were suppressed that nothing may disclose their number."""
        return self.cells.hides(self.rows_in - self.released)

    @property
    def masked(self) -> tuple[str, ...]:
        """Names of the masked columns."""
        return tuple(name for fact in self.masking for name in fact.attributes)

    def share_in(self, share: float) -> str:
        """A share of the records that came in."""
        return self.cells.share(share, self.rows_in)

    def share_out(self, share: float) -> str:
        """A share of the records measured for release."""
        return self.cells.share(share, self.released)

    def most_specific(self, share: float) -> str:
        """The share of records that keep every value, which counts those left out, as no level of a column does."""
        return self.stepped_in(share) if self.few_suppressed and 0 < share < 1 else self.share_in(share)

    def people_out(self, count: int) -> str:
        """A number of released people or of some of them; those left out do not follow from it."""
        return self.cells.part(count, self.rows_in) if count <= self.rows_in else self.cells.count(count)

    def kept(self, field: FieldFact) -> str:
        """Information kept of a column, averaged over the released records, whose number would follow from it."""
        return DASH if field.information_kept is None else self.mean_share(field.information_kept)

    def mean_share(self, value: float) -> str:
        """A mean of shares over the records that came in or leave; coarse where few were left out."""
        return self.stepped_in(value) if self.few_suppressed and 0 < value < 1 else numbers.percent(value)

    def stepped_in(self, share: float) -> str:
        """A share so coarse that fewer of the records that came in than may be shown change it by no step."""
        return self.cells.stepped(share, self.cells.step(self.rows_in))

    def mean_in(self, value: float | None, whole: float, written: Callable[[float], str]) -> str:
        """A mean over the records that came in to which suppressed ones add nothing, and others ``whole`` at most."""
        return self.cells.mean(value, self.rows_in, self.released, whole=whole, written=written)


def _further(name: str, kind: type[_Fact]) -> "cached_property[_Fact | None]":
    """What an assessment found beside the risk; None where it does not apply, or its stage did not finish."""

    def fact(view: "RecordView") -> _Fact | None:
        found = view.record.further.get(name)
        return None if found is None else kind.model_validate(found)

    return cached_property(fact)


class RecordView(FileView):
    """A record with what follows from it."""

    def __init__(self, record: DecisionRecord) -> None:
        risk, rows_in = record.risk, record.dataset.rows_in
        super().__init__(
            cells=SmallCellRule(record.policy.small_cell),
            rows_in=rows_in,
            released=rows_in if risk is None else risk.residual.prosecutor.records,
            roles={field.name: field.role for field in record.fields},
            masking=record.masking,
            gated={gate.id for gate in record.gates},
            has_coalitions=risk is not None and bool(risk.coalitions),
            basis=record.population.basis,
        )
        self.record = record

    @property
    def blocked(self) -> bool:
        """Whether nothing may be delivered."""
        return self.record.decision is Verdict.BLOCKED

    @property
    def risk(self) -> RiskFact:
        """The measured risk; ``StageFailed`` if nothing was measured."""
        if self.record.risk is None:
            raise StageFailed("the record holds no risk", where="risk", expected="a measured risk")
        return self.record.risk

    @property
    def sequential(self) -> SequentialFact | None:
        """The sequential adversary; None where the stage did not finish."""
        return self.record.risk.sequential if self.record.risk else None

    @property
    def combined(self) -> CombinedFact | None:
        """The combined score; None where the stage did not finish."""
        return self.record.risk.combined if self.record.risk else None

    @property
    def linkage(self) -> LinkageFact | None:
        """Record linkage; None where the stage did not finish."""
        return self.record.risk.linkage if self.record.risk else None

    columns = _further("columns", ColumnsFact)
    """Places of the released columns in the attack; None where the stage did not finish."""

    @property
    def excused(self) -> tuple[ColumnFact, ...]:
        """Released columns that reveal others and that somebody has excused."""
        fact = self.columns
        return () if fact is None else tuple(one for one in fact.columns if one.findings and one not in fact.unplaced)

    def worse(self, measure: Measure, figure: float) -> WorseFigure | None:
        """The figure of a risk that other columns of the copy or other copies raise, where it is above ``figure``."""
        found, columns, earlier, row = [], self.columns, self.record.earlier, self.gate(measure)
        if columns and measure in columns.whole_row:
            names = columns.revealing(field.name for field in self.fields(Role.QUASI))
            verb = "reveals" if len(names) == 1 else "reveal"
            why = f"with what {listed(names)} also {verb}"
            found.append(WorseFigure(columns.whole_row[measure], why, "by the quasi-identifiers alone"))
        if self.events and measure in self.events.by_known_rows and measure is not Measure.TRANSPARENT_MAXIMUM:
            why = "with what others know of a person's rows"  # by the informed recipient, it has a row of its own
            found.append(WorseFigure(self.events.by_known_rows[measure], why, "without these"))
        if earlier and measure in earlier.figures:
            why = "with other copies held by the same party"
            found.append(WorseFigure(earlier.figures[measure], why, "by this copy alone"))
        if self.has_coalitions and row:
            pooled = row.gate.measured if row.gate.alone is None else row.gate.alone
            if pooled is not None:
                found.append(WorseFigure(pooled, "in a coalition", "by this copy alone"))
        worst = max(found, key=lambda one: one.figure, default=None)
        return worst if worst and worst.figure > figure * (1 + _ROUNDING) else None

    singling_out = _further("singling_out", SinglingOutFact)
    """Records that a few columns single out; None where the stage did not finish."""

    attribute = _further("attribute", AttributeFact)
    """Values that classes disclose; None where the stage did not finish."""

    events = _further("events", EventsFact)
    """Rows of people who can have several; None where each row is a record, or the stage did not finish."""

    dates = _further("dates", DatesFact)
    """People whom known dates find; None where no date is shifted or relative, or the stage did not finish."""

    @property
    def dated(self) -> tuple[str, ...]:
        """Names of the columns that leave as shifted or relative dates."""
        return () if self.dates is None else (*self.dates.shifted, *self.dates.relative)

    @property
    def moves_dates(self) -> bool:
        """Whether the release needed a measurement of shifted or relative dates, finished or not."""
        return self.dates is not None or any(one.stage == STAGE for one in self.record.not_assessed)

    text = _further("text", TextFact)
    """Free text that leaves; None where there is none, or the stage did not finish."""

    @cached_property
    def overridden(self) -> tuple[GateResult, ...]:
        """Gates that have failed and that an officer has overridden."""
        return tuple(gate for gate in self.record.gates if gate.overridden)

    @cached_property
    def gates(self) -> tuple[GateRow, ...]:
        """The gates in print, in the order of the record."""
        return tuple(self._gate_row(gate) for gate in self.record.gates)

    @cached_property
    def left_out(self) -> tuple[str, str]:
        """Records suppressed, and missing for others' kept classes; neither discloses a small count of the other."""
        missing = self.record.decoys.missing if self.record.decoys else 0
        if not missing:
            return self.cells.count(self.suppressed), "0"
        shown = self.cells.breakdown((self.suppressed, missing))
        return shown[0], shown[1]

    @property
    def suppressed(self) -> int:
        """Number of records suppressed, without those missing for others' kept classes; not to be shown as it is."""
        missing = self.record.decoys.missing if self.record.decoys else 0
        return max((self.record.risk.game.suppressed_records if self.record.risk else 0) - missing, 0)

    @property
    def suppressed_from(self) -> tuple[str, str]:
        """Groups whose records are suppressed, and a sentence on the share that may be, where one rule states it."""
        game = self.risk.game
        limits = game.budget.limits if game.budget else ()
        allowed = {one.limit / self.rows_in for one in limits if one.name == "suppressed records"}
        least = game.budget and (game.budget.least_people or game.budget.least_records)
        which = kept(
            f"groups {'too small for' if least else 'beyond'} the policy's limits" if allowed else None,
            "classes that do not meet the policy's demands" if game.k_anonymity else None,
            f"classes of fewer than {numbers.integer(game.minimum_class_size)} records"
            if game.minimum_class_size > 1
            else None,
            "groups that disclose a sensitive value" if game.disclosing_records else None,
        )
        if game.k_anonymity:
            allowed.add(game.k_anonymity.suppression_limit)
        share = (
            f"The policy lets at most {numbers.percent(*allowed)} be left out."
            if len(allowed) == 1 and game.minimum_class_size == 1
            else ""
        )
        return " or ".join(which), share

    def fields(self, *roles: Role) -> tuple[FieldFact, ...]:
        """Columns with one of the roles."""
        return tuple(field for field in self.record.fields if field.role in roles)

    def names(self, *roles: Role) -> str:
        """Their names in a sentence; “none” where there are none."""
        return named(field.name for field in self.fields(*roles)) or "none"

    def gate(self, *measures: str) -> GateRow | None:
        """The first gate on one of the measures."""
        return next((row for row in self.gates if row.gate.id in measures), None)

    def asked(self, *measures: str) -> str:
        """Its threshold in words."""
        gate = self.gate(*measures)
        return gate.asked if gate else "none set"

    def _gate_row(self, gate: GateResult) -> GateRow:
        records = RecordCounts(self.rows_in, self.released)
        measured, asked = write_result(gate, records=records, small_cell=self.cells.limit)
        coarse = self._coarse(gate)
        is_bound = bool(coarse) or is_told_as_bound(gate, records=records, small_cell=self.cells.limit)
        return GateRow(
            gate=gate,
            measured=coarse or measured,
            interval="" if is_bound or gate.interval is None else _interval(gate, gate.interval),
            asked=asked,
            unit=gate.unit or ("area under the ROC curve" if gate.id == DECOYS_DETECTABLE else ""),
        )

    def _coarse(self, gate: GateResult) -> str:
        """Information kept or payoff where few records were suppressed; empty elsewhere.

        Suppressed records count as nothing in it, and the report shows the figure before suppression as well: the
        difference would disclose how few there are.
        """
        scales = {Measure.INFORMATION_KEPT: 1.0, Measure.PUBLISHER_PAYOFF: max(self.record.recipient.benefit, 1e-9)}
        scale = scales.get(gate.id)  # type: ignore[call-overload]
        if scale is None or gate.measured is None or not self.few_suppressed:
            return ""
        step = self.cells.step(self.rows_in)
        if step is None:
            return HIDDEN
        below = step * scale * math.floor(gate.measured / scale / step + 1e-9)
        return f"over {numbers.percent(below) if gate.id == Measure.INFORMATION_KEPT else numbers.amount(below)}"


def _interval(gate: GateResult, interval: Interval) -> str:
    ends = f"{numbers.risk(interval.low)} to {numbers.risk(interval.high)}"
    if gate.unit.startswith("share"):
        ends = numbers.percent_range(interval.low, interval.high)
    end, name = (interval.low, "lower") if gate.comparison == "at least" else (interval.high, "upper")
    text = f"{numbers.percent(interval.level)} interval {ends}"
    return f"{text}, its {name} end is judged" if gate.measured == end else text
