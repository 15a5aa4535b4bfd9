"""The combined score: probability of finding a record by known attributes, times the sensitivity of the others."""

from collections.abc import Mapping

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.combined.combined_score import (
    combine,
    combined_by_coalition,
    gate_figures,
    pooled_table,
    released_table,
    score_collected,
    score_figure,
    scores,
)
from tasks.assessments.combined.facts import CombinedFact, ScoreFigure
from tasks.assessments.combined.known_set_tree import Floats
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.request.model import Measure

COLLECTED = "combined score as collected"


class CombinedAssessment(Assessment[CombinedFact]):
    """Identity and attribute disclosure in one score; gates use the worst of the copy alone and in any coalition."""

    id = "combined"
    stage = "combined risk"
    fact = CombinedFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[CombinedFact]:
        """Score a candidate; the fact is of the copy alone."""
        initial = candidate.known.get(COLLECTED)
        if not isinstance(initial, ScoreFigure):
            initial = score_collected(candidate.request, candidate.prepared)
        fact = combine(candidate.request, candidate.as_masked, candidate.generalization, candidate.released, initial)
        return Finding(fact, _worst(candidate, fact.residual))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        return _worst(candidate, score_figure(record_scores(candidate), candidate.request.policy.combined))


def record_scores(candidate: Candidate, coalition: Coalition | None = None) -> Floats:
    """Score of each released record, in the copy alone or as a coalition sees it."""
    request, prepared, released = candidate.request, candidate.as_masked, candidate.released
    if coalition is None:
        seen = released_table(request, prepared, candidate.generalization, released)
    else:
        seen = pooled_table(request, prepared, coalition, released)
    return scores(seen, request.policy.combined)


def _worst(candidate: Candidate, alone: ScoreFigure) -> dict[Measure, float]:
    """Gate figures of the copy alone or in any coalition, whichever are worse."""
    pooled = combined_by_coalition(candidate.request, candidate.as_masked, candidate.coalitions, candidate.released)
    return worst(gate_figures(alone), pooled)
