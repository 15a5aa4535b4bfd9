"""Commitments of a decision on a copy beside its gates, as they stand today: its budget and the verdict's probability.

Both depend on population and terms, and age with them. Of a budget these are the limits on risk, and the least people
who match a cell; what was left out, what the attributes lose and the least records of a cell follow from the file alone
and stay as they were. All else that a decision states of the game belongs to the release alone: how good a partition
was, what sharing one representation cost, and what other stakes, fines or detection would have brought when it was
made.
"""

import math
from collections.abc import Sequence

import numpy as np

from tasks.assessments.identity.facts import BudgetFact, UncertaintyFact
from tasks.assessments.identity.uncertain.verdict import uncertainty
from tasks.decision.disclosure_rounding import rounded_uncertainty
from tasks.decision.measures import BUDGET_ATTACKED, BUDGET_LEAST_PEOPLE, BUDGET_REIDENTIFICATIONS, BUDGET_TEXTS
from tasks.decision.record import GateResult
from tasks.generalization.budget.limits import ATTACKED, REIDENTIFICATIONS, within
from tasks.generalization.game import Follower
from tasks.microdata.tuples import Counts
from tasks.reassessment.compare import rounded
from tasks.reassessment.scoring import Delivered, Today, candidate_of_bytes

_SAME = 1e-9
"""Sums over a file depend on the order of its records by less than this share of them."""


def commitments_today(delivered: Delivered, today: Today) -> tuple[tuple[GateResult, ...], UncertaintyFact | None]:
    """Budget and probability of the verdict of a copy, from its bytes and today's population and terms.

    Returns
    -------
    limits : tuple of GateResult
        Limits of the budget that age, as gates; none where there is no budget.
    uncertainty : UncertaintyFact or None
        None where no term of the recipient is uncertain today.

    Raises
    ------
    ReleasegateError
        If the file or the population cannot be used, or a plan cannot be solved under today's terms.
    """
    candidate, _ = candidate_of_bytes(delivered, today)
    record, made, recipient = delivered.record, candidate.generalization, candidate.recipient
    budget = None if record.risk is None else record.risk.game.budget
    limits: tuple[GateResult, ...] = ()
    if budget is not None:
        used = used_today(budget, candidate.game, made.people, candidate.records)
        limits = _told(delivered, budget_gates(used, int(made.people.min()), record.dataset.rows_in))
    found = uncertainty(
        candidate.index,
        today.request,
        recipient,
        made,
        candidate.released,
        delivered.generator(f"uncertain terms {recipient.id}"),
        collected=record.dataset.rows_in,
    )
    return limits, rounded_uncertainty(found) if record.decoys is not None and found is not None else found


def commitments_then(delivered: Delivered) -> tuple[GateResult, ...]:
    """The limits of a budget as they were kept when a copy was made."""
    record, kept = delivered.record, delivered.kept
    budget = None if record.risk is None else record.risk.game.budget
    if budget is None:
        return ()
    least_people = int(kept.played.people[kept.released].min())
    return _told(delivered, budget_gates(budget, least_people, record.dataset.rows_in))


def _told(delivered: Delivered, gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Gates, their figures rounded where the copy has decoys."""
    return tuple(map(rounded, gates)) if delivered.record.decoys is not None else tuple(gates)


def not_measured(gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """The same gates without their figures; none of them has passed."""
    return tuple(gate.model_copy(update={"measured": None, "passed": False}) for gate in gates)


def used_today(then: BudgetFact, follower: Follower, people: Counts, records: Counts) -> BudgetFact:
    """A budget with what a copy uses of its limits on risk today.

    Parameters
    ----------
    then : BudgetFact
        Of the decision.
    follower : Follower
        Adversary of the game as it would be solved today.
    people, records : arrays of shape (n_cells,)
        People of today who match each cell, and released records in it.
    """
    used = {
        REIDENTIFICATIONS: float(records @ follower.reidentified(people)),
        ATTACKED: float(records[follower.attacked(people)].sum()),
    }
    limits = tuple(
        limit
        if math.isclose(used.get(limit.name, limit.used), limit.used, rel_tol=_SAME)
        else limit.model_copy(update={"used": used[limit.name]})
        for limit in then.limits
    )
    return then.model_copy(update={"limits": limits})


def budget_gates(fact: BudgetFact, least_people: int, rows_in: int) -> tuple[GateResult, ...]:
    """The limits of a budget that age, as gates.

    Parameters
    ----------
    fact : BudgetFact
    least_people : int
        Least people who match a released cell.
    rows_in : int
        Records that came in.
    """
    units = {REIDENTIFICATIONS: (BUDGET_REIDENTIFICATIONS, 1), ATTACKED: (BUDGET_ATTACKED, rows_in)}
    found = [
        _gate(
            name, limit.used / unit, limit.limit / unit, passed=within(np.array([limit.used]), np.array([limit.limit]))
        )
        for limit in fact.limits
        for name, unit in ([units[limit.name]] if limit.name in units else [])
    ]
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
