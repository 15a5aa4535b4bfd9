"""Comparison of all policies for one request: payoff, information kept, claimed and actual risk, and time.

Safe Harbor, k-anonymity and every method of the game are applied as the policy states. The partitions are also solved
against the recipient as a sequential adversary, whichever adversary the policy names. A policy's claim is against the
adversary of its own game, by the people who match its cells. All policies are then evaluated alike: against the
recipient of the policy and against the sequential adversary, both of which know the rule.

The time of each policy is measured, so it differs between any two comparisons; no decision record holds it.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import ceil
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.facts import DivisionFact, PolicyOutcome
from tasks.assessments.identity.outcome import division_fact, policy_outcome, transparent_risk
from tasks.assessments.identity.score import adversary_of
from tasks.assessments.sequential.assessment import beliefs, judged_risks
from tasks.assessments.sequential.facts import BeliefFact
from tasks.candidate.groups import recipient_profile, released_groups, released_tuples
from tasks.core.errors import BadInput, ParameterError, StageFailed
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.demands import plain_demands
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.generalize import generalize
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.setting import follower_of, own_follower, weights_of
from tasks.microdata.coded import Prepared
from tasks.request.model import Method, Recipient, ReleaseRequest

_EXACT = 1 - 1e-12
"""A safe group is a quotient of decimals, rounded: one this near to a whole number is it."""


@dataclass(frozen=True)
class PolicyOption:
    """A way to generalize a file that is compared with others."""

    name: str
    method: Method
    plans: bool = False
    """Whether its game is against the recipient as a sequential adversary, whatever the request's policy says."""


POLICIES = (
    *(PolicyOption(method.value, method) for method in METHODS),
    PolicyOption("fmdp-partition-basic", Method.BASIC_PARTITION, plans=True),
    PolicyOption("fmdp-partition", Method.NO_ATTACK_PARTITION, plans=True),
    PolicyOption("fmdp-remainder", Method.NO_ATTACK_REMAINDER, plans=True),
)


@dataclass(frozen=True)
class SequentialAttack:
    """Risk of the released records from a sequential adversary that knows the method."""

    beliefs: tuple[BeliefFact, ...]
    """P_reid: the group known, believed, and access paid once for the file."""
    payoff: float
    """Publisher's mean payoff per record, access paid once; records that are left out pay nothing."""


@dataclass(frozen=True)
class PolicyFigures:
    """Figures of the file under a policy that could be applied; unrounded."""

    outcome: PolicyOutcome
    """Payoffs, information kept and risks against the recipient of the policy, over all records."""
    claimed: PolicyOutcome
    """The same against the adversary of the policy's own game."""
    claimed_maximum: float
    """Highest risk of a released record by the people who match its cell."""
    informed_maximum: float
    """Highest risk of a released record once the method is known."""
    planned: SequentialAttack | None
    """Against the sequential adversary; None where its plan cannot be solved."""
    unplanned: str
    """Reason why it cannot be solved."""
    seconds: float
    """Time to apply it, the first time."""
    left_out: float
    """Share of the records that are not released."""
    generalization: Generalization
    division: DivisionFact | None
    """Quality of a partition; None for other policies, and within a budget."""


@dataclass(frozen=True)
class ComparedPolicy:
    """One row of the comparison."""

    policy: str
    method: Method
    chosen: bool
    """Whether it is the recipient's own policy."""
    against: str
    """Adversary of its game: one attempt per record, or sequential, with its belief."""
    k: int | None
    """k where the comparison chose it, as the size of the groups that nobody attacks; else None."""
    figures: PolicyFigures | None
    """None where it cannot be applied."""
    because: str = ""
    """Reason why it cannot be applied."""

    def document(self) -> dict[str, Any]:
        """The row as JSON, for programs."""
        told: dict[str, Any] = {
            "policy": self.policy,
            "method": self.method.value,
            "chosen": self.chosen,
            "against": self.against,
            "k_from_safe_group": self.k,
            "not_played": self.because or None,
        }
        if self.figures is None:
            return told
        found, recoded = self.figures, self.figures.generalization.k_anonymity
        return {
            **found.outcome.model_dump(mode="json"),
            **told,
            "claimed": {
                "publisher_payoff": found.claimed.publisher_payoff,
                "adversary_payoff": found.claimed.adversary_payoff,
                "attacked_share": found.claimed.naive_attacked_share,
                "expected_reidentifications": found.claimed.naive_expected_reidentifications,
            },
            "claimed_maximum_risk": found.claimed_maximum,
            "transparent_maximum_risk": found.informed_maximum,
            "p_reid": None if found.planned is None else [one.model_dump(mode="json") for one in found.planned.beliefs],
            "planned_payoff": None if found.planned is None else found.planned.payoff,
            "not_planned": found.unplanned or None,
            "left_out": found.left_out,
            "seconds": found.seconds,
            "division": None if found.division is None else found.division.model_dump(mode="json"),
            "budget": None
            if found.generalization.budget is None
            else found.generalization.budget.model_dump(mode="json"),
            "k_anonymity": None if recoded is None else recoded.model_dump(),
        }


@dataclass(frozen=True)
class Comparison:
    """The comparison on one request's data, for one recipient after another."""

    request: ReleaseRequest
    prepared: Prepared
    table: CountIndex
    _tables: dict[int, CountIndex] = field(default_factory=dict, repr=False)
    """The table under each k that the policy does not demand."""
    _seconds: dict[Hashable, float] = field(default_factory=dict, repr=False)
    """Time of each outcome; recipients with equal stakes share the outcome and its time."""

    def of(self, recipient: Recipient) -> tuple[ComparedPolicy, ...]:
        """Every policy for a recipient; one that cannot be applied gives the reason."""
        _ = self.table.people  # counted here, so that no policy is charged with it
        if self.request.policy.generalization.cell_weights == "data":
            _ = self.table.records
        return tuple(self._compared(policy, recipient) for policy in POLICIES)

    def _compared(self, policy: PolicyOption, recipient: Recipient) -> ComparedPolicy:
        request, people = self.request, self.table.population.total
        asked = _planning(request) if policy.plans else request
        k, figures, because = None, None, ""
        try:
            game = follower_of(asked, recipient, people, from_below=self.table.from_below)
            table = self.table
            if policy.method is Method.K_ANONYMITY and table.demands is None:
                k = self._safe_k(game)
                if k not in self._tables:
                    self._tables[k] = table.demanding(plain_demands(k, self.prepared))
                table = self._tables[k]
            claims = own_follower(asked, recipient, people, from_below=self.table.from_below)
            figures = self._figures(table, policy.method, game, claims, recipient)
        except (StageFailed, BadInput) as error:
            because = _reason(error)
        chosen = policy.method is request.method_for(recipient) and not policy.plans
        return ComparedPolicy(policy.name, policy.method, chosen, adversary_of(asked), k, figures, because)

    def _figures(
        self, table: CountIndex, method: Method, game: Follower, claims: Follower, recipient: Recipient
    ) -> PolicyFigures:
        request, weights = self.request, weights_of(self.request)
        payoffs = own_follower(request, recipient, table.population.total, from_below=table.from_below)
        generalization, seconds = self._generalized(table, method, game, weights)
        kept = released_tuples(table, generalization, request.policy.generalization.minimum_class_size)
        records, total = table.data.counts, table.data.total
        risk = transparent_risk(generalization.people[kept], generalization.effective[kept], records[kept], payoffs)
        planned, unplanned = None, ""
        try:
            planned = _planned(table, generalization, kept, recipient)
        except ParameterError as error:
            unplanned = _reason(error)
        return PolicyFigures(
            outcome=policy_outcome(table, generalization, payoffs),
            claimed=policy_outcome(table, generalization, claims),
            claimed_maximum=risk.naive_maximum_risk,
            informed_maximum=risk.maximum_risk,
            planned=planned,
            unplanned=unplanned,
            seconds=seconds,
            left_out=float(records[~kept].sum() / total),
            generalization=generalization,
            division=division_fact(table, generalization, request.policy.generalization.cell_weights),
        )

    def _generalized(
        self, table: CountIndex, method: Method, game: Follower, weights: Floats
    ) -> tuple[Generalization, float]:
        cell_weights = self.request.policy.generalization.cell_weights
        start = perf_counter()
        generalization = generalize(table, method, game, weights, cell_weights)
        took = perf_counter() - start
        key = method, game, None if table.demands is None else table.demands.k
        return generalization, self._seconds.setdefault(key, took)

    def _safe_k(self, game: Follower) -> int:
        safe, records = game.safe_group, self.table.data.total
        if not np.isfinite(safe):
            raise StageFailed("the policy has no k, and no group is so large that this recipient attempts nothing")
        k = max(ceil(safe * _EXACT), 1)
        if k > records:
            raise StageFailed(
                "the policy has no k, and groups that this recipient leaves alone are larger than the file",
                expected=f"at most {records:,} records",
                got=f"{k:,}",
            )
        return k


def _planning(request: ReleaseRequest) -> ReleaseRequest:
    """The request with a sequential adversary in its game."""
    terms = request.policy.generalization.model_copy(update={"adversary": "sequential"})
    return request.model_copy(update={"policy": request.policy.model_copy(update={"generalization": terms})})


def _planned(
    table: CountIndex, generalization: Generalization, kept: NDArray[np.bool_], recipient: Recipient
) -> SequentialAttack:
    profile = recipient_profile(recipient, generalization, kept).profile
    groups = released_groups(table, generalization, kept, profile.prior)
    stakes, records = recipient.stakes, table.data.counts[kept]
    payoffs = stakes.benefit * generalization.kept[kept] - stakes.loss * judged_risks(profile, groups)
    return SequentialAttack(beliefs(profile, groups), float(records @ payoffs / table.data.total))


def _reason(error: StageFailed | BadInput) -> str:
    """The error, with what was expected and got, in one clause."""
    parts = error.fields()
    got = [f"{name} {parts[name]}" for name in ("expected", "got") if name in parts]
    return f"{error.what} ({', '.join(got)})" if got else error.what
