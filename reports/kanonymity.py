"""k-anonymity in the determination: the demand, the levels that met it, and their loss."""

from dataclasses import dataclass

from reports import numbers
from reports.decoys import left_out
from reports.gates import released_records
from reports.smallcell import HIDDEN, SmallCellRule
from reports.utility import coarse_text
from tasks.assessments.identity.kanonymity_fact import KAnonymityFact
from tasks.decision.record import DecisionRecord
from tasks.request.model import Method

_METRICS = {
    "precision": "mean height of generalization, 0 to 1 (Sweeney 2002)",
    "non-uniform entropy": "information lost, 0 to 1 (Gionis and Tassa 2007)",
    "discernibility": "squared sizes of the classes (Bayardo and Agrawal 2005)",
    "loss": "mean share of the domain that a released value stands for, 0 to 1 (Iyengar 2002)",
}


@dataclass(frozen=True)
class Recoded:
    """Facts of k-anonymity for the determination."""

    fact: KAnonymityFact
    after: bool
    """Whether another method came before it."""
    whole_cells: bool
    """Whether only the people whose own cell it is match a released cell."""
    demands: tuple[str, ...]
    proof: str
    rows: tuple[tuple[str, str], ...]


def recoded(record: DecisionRecord) -> Recoded | None:
    """Printed facts; None where the policy demands no k-anonymity or no class was made."""
    fact = record.risk.game.k_anonymity if record.risk else None
    if record.risk is None or fact is None:
        return None
    linkage = record.risk.linkage
    chosen = [one.whole_cells for one in linkage.policies if one.chosen] if linkage else []
    return Recoded(
        fact,
        after=record.risk.game.method != Method.K_ANONYMITY,
        whole_cells=chosen == [True],
        demands=fact.demands,
        proof=_proof(record, fact),
        rows=tuple(_rows(record, fact)),
    )


def _proof(record: DecisionRecord, fact: KAnonymityFact) -> str:
    looked = f"{numbers.integer(fact.nodes_evaluated)} of {numbers.integer(fact.nodes_total)} combinations were counted"
    if fact.proven_optimal:
        return f"No other loses less: {looked}, and bounds rule out all others."
    least = _value(record, fact, fact.lower_bound)
    none = "" if least == HIDDEN else f"; none can lose less than {least}"
    return f"That no other loses less is not proven: {looked}{none}."


def _rows(record: DecisionRecord, fact: KAnonymityFact) -> list[tuple[str, str]]:
    names = {field.name: field.levels for field in record.fields}
    levels = "; ".join(f"{name}: {_level(names.get(name, ()), level)}" for name, level in fact.levels.items())
    rows = [("Least level of each attribute", levels), ("Measure of loss", f"{fact.metric}: {_METRICS[fact.metric]}")]
    rows.append(("Loss of the file, suppressed records included", _value(record, fact, fact.value)))
    if fact.lifted_records:
        rows.append(("The same without local recoding", _value(record, fact, fact.value_before_lifting)))
    rows.append(("Records suppressed by these demands", _suppressed(record, fact)))
    if fact.local_recoding:
        rows.append(("Records released by local recoding", _lifted(record, fact)))
    return rows


def _suppressed(record: DecisionRecord, fact: KAnonymityFact) -> str:
    """A part of all that were suppressed, which the report may show elsewhere."""
    missing = record.decoys.missing if record.decoys else 0
    together = record.risk.game.suppressed_records - missing if record.risk else 0
    shown = left_out(record).suppressed
    if shown != numbers.integer(together):
        return shown
    return SmallCellRule(record.policy.small_cell).part(fact.suppressed_records, together)


def _lifted(record: DecisionRecord, fact: KAnonymityFact) -> str:
    return SmallCellRule(record.policy.small_cell).part(fact.lifted_records, released_records(record))


def _level(names: tuple[str, ...], level: int) -> str:
    return names[level] if level < len(names) else f"level {level}"


def _value(record: DecisionRecord, fact: KAnonymityFact, value: float) -> str:
    """A loss, coarse where few records were suppressed or lifted: beside the levels an exact one would show how few."""
    exact = _suppressed(record, fact) == numbers.integer(fact.suppressed_records)
    if exact and _lifted(record, fact) == numbers.integer(fact.lifted_records):
        return numbers.integer(round(value)) if fact.metric == "discernibility" else numbers.risk(value)
    return HIDDEN if fact.metric == "discernibility" else coarse_text(record)(value)
