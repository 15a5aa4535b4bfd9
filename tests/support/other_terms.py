"""The score of a file with what policy and recipient ask about other terms."""

from dataclasses import replace

import numpy as np

from tasks.assessments.identity.assessment import under_other_terms
from tasks.assessments.identity.score import Score
from tasks.assessments.identity.uncertain.verdict import gate_figures
from tasks.candidate.candidate import Candidate
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.request.model import Recipient, ReleaseRequest
from tests.support.explaining import prepared


def with_other_terms(  # noqa: PLR0917
    score: Score,
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    generalization: Generalization,
    rng: np.random.Generator,
) -> Score:
    """The score with stakes, penalties and uncertain terms."""
    coded = prepared(table, ())
    copy = Candidate(request, recipient, coded, table, generalization, randomness=lambda _purpose: rng)
    risk = score.risk.model_copy(update=under_other_terms(copy, score))
    return replace(score, risk=risk, figures=score.figures | gate_figures(risk.uncertainty))
