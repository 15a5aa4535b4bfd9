"""Identity disclosure: prosecutor, journalist, marketer and informed recipient, and the game that made the copy."""

from collections.abc import Mapping

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.identity.facts import FieldFact, RiskFact
from tasks.assessments.identity.frontier import frontier, with_frontier
from tasks.assessments.identity.other_terms import with_other_terms, with_uncertainty
from tasks.assessments.identity.score import Score, identity_figures, residual_risk, score
from tasks.assessments.identity.uncertain import fact as uncertain
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.candidate.candidate import Candidate
from tasks.core.fact import Fact, Interval
from tasks.request.model import Measure, Method

UNCERTAINTY = "uncertain terms"


class IdentityFact(Fact):
    """Risk before and after, the game, and the treatment of each field."""

    risk: RiskFact
    fields: tuple[FieldFact, ...]


class IdentityAssessment(Assessment[IdentityFact]):
    """Risk of being identified, before and after, and the outcome of the game, also under other terms."""

    id = "identity"
    stage = "risk"
    fact = IdentityFact
    families = ("transparent", "prosecutor", "journalist", "released", "game")

    def assess(self, candidate: Candidate, effort: Effort = Effort.FULL) -> Finding[IdentityFact]:
        """Measure a candidate.

        With less than the full effort other generalizations and other stakes are left out, and nothing is drawn for
        uncertain terms: what is known of them is taken from the candidate.

        Raises
        ------
        StageFailed
            If nothing is left to release, a copy exceeds a limit of its policy, or nothing can be solved under the
            terms asked about.
        """
        full = effort is Effort.FULL
        found = score(
            candidate.index,
            candidate.generalization,
            candidate.request,
            candidate.recipient,
            candidate.prepared.distinct_values,
            compare=tuple(Method) if full else (candidate.generalization.method,),
        )
        if full:
            found = _under_other_terms(candidate, found)
        else:
            known = candidate.known.get(UNCERTAINTY)
            found = with_uncertainty(found, known if isinstance(known, UncertaintyFact) else None)
        return Finding(IdentityFact(risk=found.risk, fields=found.fields), found.figures)

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone, without that of uncertain terms."""
        table, released, policy = candidate.index, candidate.released, candidate.request.policy
        played, payoffs = candidate.generalization, candidate.payoffs
        risk = residual_risk(table, played, released, payoffs, policy.risk_threshold, small_cell=policy.small_cell)
        return identity_figures(table, played, released, payoffs, risk, candidate.coalitions, policy)

    def intervals(self, fact: IdentityFact) -> Mapping[Measure, tuple[Interval, int | None]]:
        """The interval of the probability that the gates pass, where terms are uncertain."""
        return dict(uncertain.gate_intervals(fact.risk.uncertainty))


def _under_other_terms(candidate: Candidate, found: Score) -> Score:
    table, request, recipient = candidate.index, candidate.request, candidate.recipient
    found = with_frontier(found, frontier(table, request, recipient))
    generator = candidate.randomness(f"uncertain terms {recipient.id}")
    return with_other_terms(found, table, request, recipient, candidate.generalization, generator)
