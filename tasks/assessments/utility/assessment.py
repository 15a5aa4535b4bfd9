"""Utility: what generalization loses, what masking changes, what analyses still find."""

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.utility.facts import UtilityFact
from tasks.assessments.utility.measure import measure
from tasks.candidate.candidate import Candidate


class UtilityAssessment(Assessment[UtilityFact]):
    """Utility of the copy, compared with the microdata."""

    id = "utility"
    stage = "utility"
    fact = UtilityFact

    def assess(self, candidate: Candidate, effort: Effort = Effort.FULL) -> Finding[UtilityFact]:
        """Measure a candidate; samples and starts are drawn from its randomness.

        Raises
        ------
        ParameterError
            If the released groups do not hold the original values.
        """
        measured = measure(candidate, candidate.randomness("utility"))
        return Finding(measured.fact, measured.figures)
