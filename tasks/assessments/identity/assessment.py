"""Identity disclosure: prosecutor, journalist, marketer and informed recipient, and the game that made the copy."""

from collections.abc import Mapping
from typing import Any

from tasks.assessments.identity.facts import FieldFact, RiskFact
from tasks.assessments.identity.other_terms import frontier, penalties_fact
from tasks.assessments.identity.sampled import sample_intervals, sampled, sampled_figures
from tasks.assessments.identity.score import Score, identity_figures, residual_risk, score
from tasks.assessments.identity.stakes import stakes_fact
from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.assessments.identity.uncertain.verdict import gate_figures, gate_intervals, uncertainty
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError, StageFailed
from tasks.core.fact import Fact, Interval
from tasks.generalization.methods.registry import compared_with
from tasks.request.model import Measure

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
    families = ("transparent", "prosecutor", "journalist", "released", "game", "estimated")

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[IdentityFact]:
        """Measure a candidate.

        With less than the full effort other generalizations and other stakes are left out, and nothing is drawn for
        uncertain terms: what is known of them is taken from the candidate.
        """
        full, method = effort is Effort.FULL, candidate.generalization.method
        found = score(
            candidate.index,
            candidate.generalization,
            candidate.request,
            candidate.recipient,
            candidate.prepared.distinct_values,
            compare=compared_with(method, candidate.index) if full else (method,),
            released=candidate.released,
        )
        known = candidate.known.get(UNCERTAINTY)
        other: dict[str, Any] = {"uncertainty": known if isinstance(known, UncertaintyFact) else None}
        if full:
            other = under_other_terms(candidate, found)
        sample = sampled(candidate)
        risk = found.risk.model_copy(update={**other, "sample": sample})
        figures = found.figures | sampled_figures(candidate, sample) | gate_figures(risk.uncertainty)
        return Finding(IdentityFact(risk=risk, fields=found.fields), figures)

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone, without that of uncertain terms."""
        table, released, policy = candidate.index, candidate.released, candidate.request.policy
        generalization, payoffs = candidate.generalization, candidate.payoffs
        risk = residual_risk(table, generalization, released, payoffs, policy)
        counted = identity_figures(table, generalization, released, payoffs, risk, candidate.coalitions, policy)
        return counted | sampled_figures(candidate, sampled(candidate))

    def intervals(self, fact: IdentityFact) -> Mapping[Measure, tuple[Interval, int | None]]:
        """Intervals of estimates from a sample, and of the probability that the gates pass under uncertain terms."""
        alone = None if fact.risk.coalitions else fact.risk.sample  # else the figure may be a coalition's
        return {**sample_intervals(alone), **gate_intervals(fact.risk.uncertainty)}


def under_other_terms(candidate: Candidate, found: Score) -> dict[str, Any]:
    """Fields of the risk that other stakes, other fines and detection, and uncertain terms give.

    Raises StageFailed if terms are asked about that nothing can be solved with.
    """
    table, request, recipient = candidate.index, candidate.request, candidate.recipient
    terms = request.policy.sensitivity
    # What a copy lacks for others' decoys must not show in one point of the grid.
    made = candidate.generalization if candidate.generalization.withheld is None else None
    game: dict[str, Fact | None] = {"frontier": frontier(table, request, recipient, made)}
    try:
        if terms.points is not None:
            game["stakes"] = stakes_fact(table, request, recipient, candidate.generalization, candidate.released)
        if terms.penalties is not None:
            game["penalties"] = penalties_fact(table, request, recipient, terms.penalties)
        generator = candidate.randomness(f"uncertain terms {recipient.id}")
        uncertain = uncertainty(candidate, generator)
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    return {"game": found.risk.game.model_copy(update=game), "uncertainty": uncertain}
