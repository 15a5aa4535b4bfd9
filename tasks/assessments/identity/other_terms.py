"""Score under terms other than the declared: other stakes, other fines and detection, uncertain terms."""

from dataclasses import replace

import numpy as np

from tasks.assessments.identity.penalties import penalties_fact
from tasks.assessments.identity.score import Score
from tasks.assessments.identity.stakes import stakes_fact
from tasks.assessments.identity.uncertain.declared import uncertainty
from tasks.assessments.identity.uncertain.fact import gate_figures
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.candidate.released import released_tuples
from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.sensitivity.robustness import Tolerances
from tasks.request.model import Recipient, ReleaseRequest


def with_other_terms(  # noqa: PLR0917
    score: Score,
    table: CountIndex,
    request: ReleaseRequest,
    recipient: Recipient,
    played: Generalization,
    rng: np.random.Generator,
) -> Score:
    """The score with what policy and recipient ask for; parameters as of the two measurements.

    Raises
    ------
    StageFailed
        If nothing is left to release, or terms are asked about that nothing can be solved with.
    """
    terms = request.policy.sensitivity
    kept = released_tuples(table, played, request.policy.generalization.minimum_class_size)
    tolerances = Tolerances(attacked=terms.attacked, regret=terms.regret, intensity=terms.generalization)
    stakes = penalties = None
    try:
        if terms.points is not None:
            stakes = stakes_fact(table, request, recipient, played, points=terms.points, tolerances=tolerances)
        if terms.penalties is not None:
            penalties = penalties_fact(table, request, recipient, terms.penalties)
        found = uncertainty(table, request, recipient, played, kept, rng=rng)
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None
    game = score.risk.game.model_copy(update={"stakes": stakes, "penalties": penalties})
    return with_uncertainty(replace(score, risk=score.risk.model_copy(update={"game": game})), found)


def with_uncertainty(score: Score, found: UncertaintyFact | None) -> Score:
    """The score with the results under uncertain terms and their gate figure."""
    risk = score.risk.model_copy(update={"uncertainty": found})
    return replace(score, risk=risk, figures=score.figures | gate_figures(found))
