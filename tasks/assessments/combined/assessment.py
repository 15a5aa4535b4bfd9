"""The combined score: probability of finding a record by known attributes, times the sensitivity of the others."""

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.combined.combined_score import combine, combined_by_coalition, score_collected
from tasks.assessments.combined.facts import CombinedFact, ScoreFigure
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import worst

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
        pooled = combined_by_coalition(request, candidate.as_masked, table, candidate.coalitions, released)
        return Finding(alone.fact, worst(alone.figures, pooled))


def collected_score(candidate: Candidate) -> ScoreFigure:
    """Scores of the records as collected, which are the same for every recipient."""
    known = candidate.known.get(COLLECTED)
    if isinstance(known, ScoreFigure):
        return known
    return score_collected(candidate.request, candidate.prepared, candidate.index)
