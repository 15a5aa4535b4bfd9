"""k-anonymity in the determination: what was demanded, the levels that met it, and what they lose."""

from dataclasses import dataclass

from reports import numbers
from reports.decoys import left_out
from reports.gates import released_records
from reports.smallcell import SmallCellRule
from tasks.decision.kanonymity_fact import KAnonymityFact
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
    """What the determination prints of k-anonymity."""

    fact: KAnonymityFact
    after: bool
    """Whether another method came before it."""
    whole_cells: bool
    """Whether nobody matches a released cell but those whose own it is."""
    demands: tuple[str, ...]
    proof: str
    rows: tuple[tuple[str, str], ...]


def recoded(record: DecisionRecord) -> Recoded | None:
    """What is printed; None where the policy demands no k-anonymity or no class was made."""
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
        proof=_proof(fact),
        rows=tuple(_rows(record, fact)),
    )


def _proof(fact: KAnonymityFact) -> str:
    looked = f"{numbers.integer(fact.nodes_evaluated)} of {numbers.integer(fact.nodes_total)} combinations were counted"
    if fact.proven_optimal:
        return f"No other loses less: {looked}, and bounds rule out all others."
    return (
        f"That no other loses less is not proven: {looked}; none can lose less than {_value(fact, fact.lower_bound)}."
    )


def _rows(record: DecisionRecord, fact: KAnonymityFact) -> list[tuple[str, str]]:
    names = {field.name: field.levels for field in record.fields}
    levels = "; ".join(f"{name}: {_level(names.get(name, ()), level)}" for name, level in fact.levels.items())
    rows = [("Least level of each attribute", levels), ("Measure of loss", f"{fact.metric}: {_METRICS[fact.metric]}")]
    rows.append(("Loss of the file, suppressed records included", _value(fact, fact.value)))
    if fact.lifted_records:
        rows.append(("The same without local recoding", _value(fact, fact.value_before_lifting)))
    cells = SmallCellRule(record.policy.small_cell)
    rows.append(("Records suppressed by these demands", _suppressed(record, fact, cells)))
    if fact.local_recoding:
        released = cells.part(fact.lifted_records, released_records(record))
        rows.append(("Records released by local recoding", released))
    return rows


def _suppressed(record: DecisionRecord, fact: KAnonymityFact, cells: SmallCellRule) -> str:
    """A part of all that were suppressed, which the report may show elsewhere."""
    missing = record.decoys.missing if record.decoys else 0
    together = record.risk.game.suppressed_records - missing if record.risk else 0
    shown = left_out(record).suppressed
    return cells.part(fact.suppressed_records, together) if shown == numbers.integer(together) else shown


def _level(names: tuple[str, ...], level: int) -> str:
    return names[level] if level < len(names) else f"level {level}"


def _value(fact: KAnonymityFact, value: float) -> str:
    return numbers.integer(round(value)) if fact.metric == "discernibility" else numbers.risk(value)
