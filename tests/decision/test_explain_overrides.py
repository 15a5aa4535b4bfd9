"""A release that rests on overrides has nothing to explain but that; the blocked one has."""

from dataclasses import replace

from tasks.decision.explain.explain import explain
from tasks.decision.record import Verdict
from tests.support.explaining import MAXIMUM, asked, candidates, decided
from tests.support.overridden_records import GATE, OFFICER, overridden


def test_the_changes_that_would_open_overridden_gates_are_those_of_the_blocked_release() -> None:
    request, plays = asked(gates=({**MAXIMUM, "at_most": 0.001},)), candidates()
    blocked = decided(request, plays)
    assert blocked.verdict is Verdict.BLOCKED
    assert explain(request, request.recipients[1], plays, blocked).fixed == ""
    fact = next(gate.overridden for gate in overridden().gates if gate.overridden)
    excepted = replace(
        blocked,
        verdict=Verdict.APPROVED,
        gates=tuple(
            gate.model_copy(update={"overridden": fact}) if gate.id == GATE else gate for gate in blocked.gates
        ),
    )
    told = explain(request, request.recipients[1], plays, excepted).fixed
    assert told.startswith(f"It rests on overrides: {OFFICER} overrode “Highest risk of a record")
    assert told.endswith(f"releasegate explain {fact.release_id[:12]}.")
