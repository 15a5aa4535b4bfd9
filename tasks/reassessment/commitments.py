"""Commitments of a decision on a copy beside its gates, as they stand today: its budget and the verdict's probability.

Both depend on population and terms, and age with them. Of a budget these are the limits on risk, and the least people
who match a cell; what was left out, what the attributes lose and the least records of a cell follow from the file alone
and stay as they were. All else that a decision states of the game belongs to the release alone: how good a partition
was, what sharing one representation cost, and what other stakes, fines or detection would have brought when it was
made.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tasks.assessments.identity.facts import BudgetFact
from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.assessments.identity.uncertain.verdict import uncertainty
from tasks.candidate.candidate import Candidate
from tasks.decision.disclosure_rounding import rounded_uncertainty
from tasks.decision.record import GateResult
from tasks.decision.written_figures import BUDGET_ATTACKED, BUDGET_LEAST_PEOPLE, BUDGET_REIDENTIFICATIONS, BUDGET_TEXTS
from tasks.generalization.budget.limits import ATTACKED, REIDENTIFICATIONS, within
from tasks.generalization.game.payoffs import Follower
from tasks.microdata.tuples import Counts
from tasks.reassessment.compare import rounded
from tasks.reassessment.scoring import Delivered, TodaysCopy, candidate_of_bytes

_AGEING = {REIDENTIFICATIONS: BUDGET_REIDENTIFICATIONS, ATTACKED: BUDGET_ATTACKED}
"""Limits on risk, by the gates that show them."""
_SAME = 1e-9
"""Sums over a file depend on the order of its records by less than this share of them."""


def commitments_today(delivered: Delivered, today: TodaysCopy) -> tuple[tuple[GateResult, ...], UncertaintyFact | None]:
    """Budget and probability of the verdict of a copy, from its bytes and today's population and terms.

    The limits that age come as gates, none where there is no budget; the fact is None where no term of the recipient is
    uncertain today. A ReleasegateError says that the file or the population cannot be used, or a plan cannot be solved
    under today's terms.
    """
    candidate, _ = candidate_of_bytes(delivered, today)
    record, made, recipient = delivered.record, candidate.generalization, candidate.recipient
    generator = delivered.generator(f"uncertain terms {recipient.id}")
    found = uncertainty(candidate, generator, collected=record.dataset.rows_in)
    limits = _limits(delivered, made.people, candidate)
    return limits, rounded_uncertainty(found) if record.decoys is not None and found is not None else found


def commitments_then(delivered: Delivered) -> tuple[GateResult, ...]:
    """The limits of a budget as they were kept when a copy was made."""
    kept = delivered.kept
    return _limits(delivered, kept.generalization.people[kept.released])


def _limits(delivered: Delivered, people: Counts, candidate: Candidate | None = None) -> tuple[GateResult, ...]:
    """The limits of a budget by the people who match each released cell; used as recorded, or by a candidate."""
    record = delivered.record
    if record.risk is None or record.risk.game.budget is None:
        return ()
    used = {} if candidate is None else used_today(candidate.game, people, candidate.records)
    gates = budget_gates(record.risk.game.budget, int(people.min()), record.dataset.rows_in, used)
    return rounded(gates, decoyed=record.decoys is not None)


def not_measured(gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Gates without their figures; none of them has passed."""
    return tuple(gate.model_copy(update={"measured": None, "passed": False}) for gate in gates)


def used_today(follower: Follower, people: Counts, records: Counts) -> Mapping[str, float]:
    """Use of each limit on risk by a copy, against the adversary of the game as it would be solved today.

    `people` of today match each cell, which has so many released records; shape (n_cells,) both.
    """
    return {
        REIDENTIFICATIONS: float(records @ follower.reidentified(people)),
        ATTACKED: float(records[follower.attacked(people)].sum()),
    }


def budget_gates(
    fact: BudgetFact, least_people: int, rows_in: int, used: Mapping[str, float]
) -> tuple[GateResult, ...]:
    """The limits of a decision's budget that age, as gates.

    `least_people` match a released cell, `rows_in` records came in; `used` is the use of limits, where it is not as
    recorded.
    """
    found = []
    for limit in fact.limits:
        if limit.name in _AGEING:
            now, unit = used.get(limit.name, limit.used), rows_in if limit.name == ATTACKED else 1
            now = limit.used if math.isclose(now, limit.used, rel_tol=_SAME) else now
            passed = within(np.array([now]), np.array([limit.limit]))
            found.append(_gate(_AGEING[limit.name], now / unit, limit.limit / unit, passed=passed))
    if fact.least_people is not None:
        enough = least_people >= fact.least_people
        found.append(_gate(BUDGET_LEAST_PEOPLE, least_people, fact.least_people, passed=enough))
    return tuple(found)


def _gate(name: str, measured: float, threshold: float, *, passed: bool) -> GateResult:
    text = BUDGET_TEXTS[name]
    return GateResult(
        id=name,
        title=text.title,
        unit=text.unit,
        measured=measured,
        comparison="at least" if name == BUDGET_LEAST_PEOPLE else "at most",
        threshold=threshold,
        passed=passed,
        because="A limit of the budget that the file was made within.",
    )
