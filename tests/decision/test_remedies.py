"""What would open closed gates, by the record alone."""

from tasks.decision.record import DecisionRecord
from tasks.decision.remedies import remedies
from tests.support import records


def _closed(record: DecisionRecord, *ids: str, **fields: float | None) -> DecisionRecord:
    """A record with only these gates closed, and the stated probabilities of some fields."""
    (gate, *_) = (one for one in record.gates if one.comparison == "at most")
    gates = tuple(gate.model_copy(update={"id": one, "passed": False, "overridden": None}) for one in ids)
    known = tuple(
        one.model_copy(update={"known_probability": fields.get(one.name, one.known_probability)})
        for one in record.fields
    )
    return records.changed(record, gates=gates, fields=known)


def _beside(record: DecisionRecord) -> list[str]:
    return [one.name for one in record.fields if one.released and one.role in ("sensitive", "insensitive")]


def test_columns_that_may_be_known_are_named_first_and_those_that_nobody_knows_are_not() -> None:
    record = records.blocked()
    names = _beside(record)
    assert len(names) > 2
    found = remedies(
        _closed(record, "sequential.maximum_risk", "linkage.masked_share", **dict.fromkeys(names) | {names[0]: 0})
    )
    unstated = ", ".join(names[1:])
    assert found[0].startswith(f"State “known_probability: 0” under each of {unstated} that nobody outside can know")
    assert found[1].startswith(f"Withhold those of {unstated} that somebody can know")
    assert found[2].startswith("A higher penalty")
    assert not any(names[0] in sentence.replace(",", " ").split() for sentence in found)


def test_numbers_are_to_be_masked_and_words_are_not() -> None:
    record = records.blocked()
    names = _beside(record)
    (number, *_) = names
    kinds = tuple(
        one.model_copy(update={"type": "number" if one.name == number else "text"}) for one in record.fields
    )
    changed = records.changed(_closed(record, "singling_out.population_share"), fields=kinds)
    mask = f"(masking: attributes: [{number}], method: mdav, k: 200)"
    assert mask in remedies(changed)[-1]
    words = tuple(one.model_copy(update={"type": "text"}) for one in record.fields)
    assert "mask" not in remedies(records.changed(changed, fields=words))[-1]


def test_conditions_and_passed_gates() -> None:
    record = records.blocked()
    assert remedies(_closed(record, "validation.passed")) == (
        "Correct the data, or withhold the columns that failed a check.",
    )
    assert remedies(records.approved()) == ()
