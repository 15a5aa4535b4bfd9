"""Released free text: what the scanner may miss, and what remains of it that looks like an identifier."""

from tasks.assessments.text.facts import TextFact
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.request.model import Measure, ReleaseRequest


class TextAssessment(Assessment[TextFact]):
    """Text as it leaves, the same for every recipient; without text nothing is missed and nothing remains."""

    id = "text"
    stage = "text"
    fact = TextFact

    def applies(self, request: ReleaseRequest) -> bool:
        """Whether text is released, or a gate judges it."""
        return bool(request.texts) or any(gate.measure in self.gate_measures for gate in request.policy.gates)

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[TextFact]:
        """Figures of the redaction that the copy is made of."""
        fact = TextFact(columns=(), notes=0, scanner=())
        if candidate.request.texts:
            made = None if candidate.redacted is None else candidate.redacted().fact
            if not isinstance(made, TextFact):
                raise StageFailed(
                    "the text of a copy was not redacted",
                    where=", ".join(candidate.request.texts),
                    expected="redacted text and its figures",
                    got="none",
                    fix="nothing is released; report this message",
                )
            fact = made
        return Finding(fact, {Measure.TEXT_MISSED: fact.missed, Measure.TEXT_RESIDUAL: fact.residual})
