"""The combined score: probability of finding a record by known attributes, times the sensitivity of the others."""

from collections.abc import Mapping

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.combined.combined_score import (
    combine,
    combined_by_coalition,
    gate_figures,
    pooled_table,
    score_collected,
    score_figure,
    scores,
)
from tasks.assessments.combined.facts import CombinedFact, ScoreFigure
from tasks.assessments.combined.score_table import Floats, released_table
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.request.model import Measure

COLLECTED = "combined score as collected"


class CombinedAssessment(Assessment[CombinedFact]):
    """Identity and attribute disclosure in one score; gates use the worst of the copy alone and in any coalition."""

    id = "combined"
    stage = "combined risk"
    fact = CombinedFact

    def assess(self, candidate: Candidate, effort: Effort = Effort.FULL) -> Finding[CombinedFact]:
        """Measure a candidate; the fact is of the copy alone.

        Raises
        ------
        ParameterError
            If more sets of attributes may be known than can be counted.
        """
        request, table, released = candidate.request, candidate.index, candidate.released
        alone = combine(
            request, candidate.as_masked, table, candidate.generalization, released, collected_score(candidate)
        )
        return Finding(alone.fact, worst(alone.figures, _pooled(candidate)))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        policy = candidate.request.policy.combined
        return worst(gate_figures(score_figure(record_scores(candidate), policy)), _pooled(candidate))


def record_scores(candidate: Candidate, coalition: Coalition | None = None) -> Floats:
    """Score of each released record, in the copy alone or as a coalition sees it."""
    request, table, released = candidate.request, candidate.index, candidate.released
    if coalition is None:
        seen = released_table(request, candidate.as_masked, table, candidate.generalization, released)
    else:
        seen = pooled_table(request, candidate.as_masked, table, coalition, released)
    return scores(seen, request.policy.combined)


def _pooled(candidate: Candidate) -> tuple[dict[Measure, float], ...]:
    return combined_by_coalition(
        candidate.request, candidate.as_masked, candidate.index, candidate.coalitions, candidate.released
    )


def collected_score(candidate: Candidate) -> ScoreFigure:
    """Scores of the records as collected, which are the same for every recipient."""
    known = candidate.known.get(COLLECTED)
    if isinstance(known, ScoreFigure):
        return known
    return score_collected(candidate.request, candidate.prepared, candidate.index)
