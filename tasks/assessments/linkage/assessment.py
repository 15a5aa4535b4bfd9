"""Record linkage: what an intruder who holds the original file can link to the release."""

from collections.abc import Mapping

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.linkage.attack import attack
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.linkage.judged import gate_figures, gate_intervals
from tasks.candidate.candidate import Candidate
from tasks.core.fact import Interval
from tasks.request.model import Measure, Method


class LinkageAssessment(Assessment[LinkageFact]):
    """Every attack on the copy by record linkage, with and without knowledge of the rule and the maskings."""

    id = "linkage"
    stage = "record linkage"
    fact = LinkageFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[LinkageFact]:
        """Attack a candidate; people and samples are drawn from its randomness."""
        generator = candidate.randomness(f"record linkage {candidate.recipient.id}")
        methods = tuple(Method) if effort is Effort.FULL else (candidate.generalization.method,)
        fact = attack(candidate, generator, methods=methods)
        return Finding(fact, gate_figures(fact))

    def intervals(self, fact: LinkageFact) -> Mapping[Measure, tuple[Interval, int | None]]:
        """Intervals of the shares that come from a sample of the people."""
        return dict(gate_intervals(fact))
