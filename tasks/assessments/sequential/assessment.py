"""The sequential adversary: what a recipient re-identifies who tries one candidate after another while it pays."""

from collections.abc import Mapping

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.sequential.facts import SequentialFact
from tasks.assessments.sequential.sequential import (
    external_fact,
    gate_figures,
    judged_belief,
    plan,
    sequential_by_coalition,
)
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import worst
from tasks.request.model import Measure


class SequentialAssessment(Assessment[SequentialFact]):
    """Risk from the sequential adversary; gates use the worst of the copy alone and in any coalition."""

    id = "sequential"
    stage = "sequential adversary"
    fact = SequentialFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[SequentialFact]:
        """Plan of the sequential adversary; the fact is of the copy alone."""
        derived = candidate.adversary
        external = external_fact(candidate.request, candidate.prepared, derived.profile.prior)
        alone = plan(candidate.index, candidate.generalization, candidate.released, derived, external)
        pooled = sequential_by_coalition(candidate.index, candidate.coalitions, candidate.released, candidate.recipient)
        return Finding(alone.fact, worst(alone.figures, pooled))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        alone = gate_figures((judged_belief(candidate.adversary.profile, candidate.groups),))
        pooled = sequential_by_coalition(candidate.index, candidate.coalitions, candidate.released, candidate.recipient)
        return worst(alone, pooled)
