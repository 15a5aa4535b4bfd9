"""What the ledger keeps of a decision: from the record alone, and nothing of decoys."""

from collections.abc import Callable

import pytest

from tasks.core.canonical import canonical_json
from tasks.core.fact import Interval
from tasks.decision import bodies
from tasks.decision.bodies import KeptDecision, kept_decision
from tasks.decision.disclosure_rounding import count
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure
from tests.support import decoy_records, records


@pytest.mark.parametrize(
    "made",
    [records.approved, records.blocked, records.validation_failed, records.awaiting_review,
     records.without_adversaries, decoy_records.approved],
)  # fmt: skip
def test_it_is_small_and_comes_back_from_the_body(made: Callable[[], DecisionRecord]) -> None:
    record = made()
    body = bodies.decided(record)
    assert len(canonical_json(body)) < 8_000
    assert KeptDecision.model_validate(body["determined"]) == kept_decision(record)


def test_figures_are_those_of_the_record() -> None:
    record = records.approved()
    kept = kept_decision(record)
    assert record.risk is not None
    assert record.risk.linkage is not None
    assert (kept.records, kept.output_sha256) == (record.dataset.rows_out, record.dataset.output_sha256)
    assert kept.risk is not None
    assert kept.risk.highest == record.risk.transparent.maximum_risk
    assert [gate.id for gate in kept.gates] == [gate.id for gate in record.gates if gate.comparison != "is"]
    fact = record.risk.linkage
    strongest = [fact.attack(str(name)).figure for name in
                 (fact.strongest_uninformed, fact.strongest_informed, fact.strongest_masked)]  # fmt: skip
    assert [(attack.share, attack.people) for attack in kept.attacks] == [(one.share, one.people) for one in strongest]


def test_without_a_file_or_figures_there_are_none() -> None:
    kept = kept_decision(records.validation_failed())
    assert (kept.records, kept.output_sha256, kept.risk, kept.attacks) == (None, None, None, ())
    assert all(gate.measured is None for gate in kept.gates)


def test_shares_keep_the_records_they_refer_to_where_no_file_was_made() -> None:
    made = records.blocked()
    assert made.risk is not None
    assert made.dataset.rows_out is None
    released = made.risk.residual.prosecutor.records
    record = made.model_copy(update={"dataset": made.dataset.model_copy(update={"rows_in": released + 50})})
    people = {gate.id: gate.people for gate in kept_decision(record).gates}
    assert people[Measure.TRANSPARENT_ATTACKED] == released
    assert people[Measure.SUPPRESSED_SHARE] == record.dataset.rows_in
    assert people[Measure.TRANSPARENT_MAXIMUM] is None


def test_of_decoys_nothing_is_kept_and_numbers_of_people_are_rounded() -> None:
    record = decoy_records.approved()
    kept = kept_decision(record)
    assert record.decoys is not None
    assert record.dataset.rows_out is not None
    assert any(gate.id == DECOYS_DETECTABLE for gate in record.gates)
    assert all(gate.id != DECOYS_DETECTABLE for gate in kept.gates)
    assert kept.records == count(record.dataset.rows_out) != record.dataset.rows_out
    assert all(attack.people == count(attack.people) for attack in kept.attacks)
    assert all(gate.people is None or gate.people == count(gate.people) for gate in kept.gates)
    text = canonical_json(kept).decode()
    assert "decoy" not in text
    assert record.decoys.commitment_sha256 not in text


def test_an_interval_stays_with_its_gate() -> None:
    record = records.approved()
    around = [gate.interval for gate in record.gates if gate.interval]
    kept = [gate.interval for gate in kept_decision(record).gates if gate.interval]
    assert kept == around
    assert all(isinstance(one, Interval) for one in kept)
