"""Utility: what generalization loses, what masking changes, what analyses still find."""

from collections.abc import Mapping

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.utility.facts import UtilityFact
from tasks.assessments.utility.measure import loss_of, measure
from tasks.candidate.candidate import Candidate
from tasks.request.model import Measure


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

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Loss by generalization alone."""
        return {Measure.UTILITY_LOSS: loss_of(candidate).loss or 0.0}
