"""Utility in print: loss by the measures of the field, changes of numbers and associations, clustering, classification.

Rows and sentences only, filled from the record; nothing is measured here.
"""

import math
from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.smallcell import HIDDEN, SmallCellRule
from tasks.assessments.utility.facts import AssociationFact, ClassifierFact, ClusteringFact, UtilityFact
from tasks.decision.record import DecisionRecord

ASSOCIATIONS_SHOWN = 5
_NOTHING = "–"


@dataclass(frozen=True)
class LossRow:
    """Loss of an attribute, or of all of them."""

    name: str
    loss: str
    entropy: str
    penalty: str


@dataclass(frozen=True)
class NumericRow:
    """Changes of a masked attribute."""

    name: str
    mean: str
    deviation: str
    deciles: str
    distribution: str
    moved: str
    """Share of the records that would have to change value."""
    displacement: str


@dataclass(frozen=True)
class AssociationRow:
    """An association before and after."""

    attributes: str
    measure: str
    before: str
    after: str


@dataclass(frozen=True)
class ClassifierRow:
    """Accuracy of one classifier."""

    name: str
    trained: str
    original: str
    released: str


@dataclass(frozen=True)
class LossText:
    """How losses are written: as they are, or so coarsely that few suppressed records do not follow from them."""

    grain: float | None
    """Losses are rounded to a multiple of it; None where they are written as they are."""

    def __call__(self, loss: float | None) -> str:
        """A loss, 0 to 1; None where the attribute has nothing to lose."""
        if loss is None:
            return _NOTHING
        if self.grain is None:
            return numbers.percent(loss)
        if math.isinf(self.grain):
            return HIDDEN
        decimals = 1 if self.grain < 0.01 else 0
        return f"{round(loss / self.grain) * self.grain * 100:.{decimals}f}%"


def loss_text(record: DecisionRecord) -> LossText:
    """How the losses of this record are written.

    A suppressed record loses everything: from an exact loss and the levels of an attribute their number would follow.
    """
    cells, total = SmallCellRule(record.policy.small_cell), record.dataset.rows_in
    return coarse_text(record) if cells.hides(total - released_records(record)) else LossText(None)


def coarse_text(record: DecisionRecord) -> LossText:
    """Losses so coarse that fewer people than may be shown change none of them by a step."""
    step = numbers.grain(record.policy.small_cell / record.dataset.rows_in)
    return LossText(math.inf if step is None else step)


def loss_rows(record: DecisionRecord, fact: UtilityFact) -> tuple[LossRow, ...]:
    """Loss of each generalized attribute, the whole file last."""
    write, file = loss_text(record), fact.file
    rows = [(one.name, one.loss, one.entropy, one.certainty_penalty) for one in fact.attributes]
    rows.append(("All of them", file.loss, file.entropy, file.certainty_penalty))
    return tuple(LossRow(name, *(write(loss) for loss in losses)) for name, *losses in rows)


def classes_text(record: DecisionRecord, fact: UtilityFact) -> str:
    """Average class size and discernibility, in a sentence."""
    file = fact.file
    before = "" if file.original_class_size is None else f", {numbers.risk(file.original_class_size)} in the source"
    size = f"The average class holds {numbers.risk(file.average_class_size)} records{before}"
    if loss_text(record).grain is not None:
        return f"{size}. Discernibility is not shown, since few records were suppressed."
    share = ""
    if file.discernibility_share is not None:
        share = f", {numbers.percent(file.discernibility_share)} of the way from the source to everything withheld"
    return (
        f"{size}. Discernibility, the sum of the squared class sizes where a suppressed record counts all records, is "
        f"{numbers.risk(file.discernibility)}{share}."
    )


def numeric_rows(record: DecisionRecord, fact: UtilityFact) -> tuple[NumericRow, ...]:
    """Changes of the masked attributes, in the order of the record."""
    moved = {one.name: moved_text(record, one.total_variation) for one in fact.marginals}
    return tuple(
        NumericRow(
            name=one.name,
            mean=_change(one.mean),
            deviation=_change(one.deviation_ratio),
            deciles=_change(one.deciles),
            distribution=_change(one.distribution),
            moved=moved.get(one.name, _NOTHING),
            displacement=_change(one.displacement),
        )
        for one in fact.numeric
    )


def marginals_text(record: DecisionRecord, fact: UtilityFact) -> str:
    """How far the shares of values changed of the attributes that are not masked, in a sentence; empty for none."""
    masked = {one.name for one in fact.numeric}
    moved = [
        f"{one.name} {moved_text(record, one.total_variation)}" for one in fact.marginals if one.name not in masked
    ]
    if not moved:
        return ""
    return (
        "Because records were suppressed, the values of the others are distributed differently: of these, so many "
        f"would have to change value, {', '.join(moved)}."
    )


def moved_text(record: DecisionRecord, share: float) -> str:
    """A share of the records that would have to change value; few of them, or few suppressed, do not follow."""
    write = loss_text(record)
    if write.grain is not None:
        return write(share)
    return SmallCellRule(record.policy.small_cell).share(share, released_records(record))


def _change(value: float | None) -> str:
    return _NOTHING if value is None else numbers.fixed(value, 4)


def association_rows(fact: UtilityFact) -> tuple[AssociationRow, ...]:
    """The associations that changed most, the largest change first, those without a figure last."""
    changed = sorted(fact.associations, key=lambda one: -_moved(one))
    return tuple(_association_row(one) for one in changed[:ASSOCIATIONS_SHOWN])


def rising(fact: UtilityFact) -> bool:
    """Whether an association of generalized attributes is stronger after than before."""
    pairs = [(one.before, one.after) for one in fact.associations if one.measure != "correlation"]
    return any(before is not None and after is not None and after > before for before, after in pairs)


def _moved(fact: AssociationFact) -> float:
    return -1.0 if fact.before is None or fact.after is None else abs(fact.after - fact.before)


def _association_row(fact: AssociationFact) -> AssociationRow:
    before, after = (_NOTHING if value is None else numbers.fixed(value) for value in (fact.before, fact.after))
    return AssociationRow(" and ".join(fact.attributes), fact.measure, before, after)


def clustering_text(fact: ClusteringFact, cells: SmallCellRule) -> str:
    """Agreement of the clusterings, in a few sentences."""
    itself = ""
    if fact.repeated_rand is not None and fact.repeated_f_measure is not None:
        itself = (
            " The original clustered anew from another start agrees with itself by "
            f"{numbers.percent(fact.repeated_rand)} (Rand), F {numbers.fixed(fact.repeated_f_measure)}."
        )
    return (
        f"k-means with {numbers.integer(fact.clusters)} clusters on {cells.count(fact.records)} records of both files: "
        "of the pairs of records, the two clusterings say the same of "
        f"{numbers.percent(fact.rand)} (Rand); of those together in either, {numbers.percent(fact.jaccard)} are "
        f"together in both (Jaccard); F is {numbers.fixed(fact.f_measure)}.{itself}"
    )


def classifier_rows(record: DecisionRecord, fact: UtilityFact) -> tuple[ClassifierRow, ...]:
    """Accuracy of the classifiers; a share of the records held out stands for a count of them."""
    made = fact.classification
    if made is None:
        return ()
    cells = SmallCellRule(record.policy.small_cell)
    return tuple(_classifier_row(one, made.tested, cells) for one in made.classifiers)


def _classifier_row(fact: ClassifierFact, tested: int, cells: SmallCellRule) -> ClassifierRow:
    return ClassifierRow(
        fact.name[:1].upper() + fact.name[1:],
        cells.count(fact.trained),
        _accuracy(fact.original, fact.original_low, fact.original_high, tested, cells),
        _accuracy(fact.released, fact.released_low, fact.released_high, tested, cells),
    )


def _accuracy(share: float, low: float, high: float, tested: int, cells: SmallCellRule) -> str:
    text = cells.share(share, tested)
    if cells.bounded(share, tested) != share:
        return text
    return f"{text} ({numbers.percent_range(low, high)})"
