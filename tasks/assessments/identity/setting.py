"""Conditions that would stop the risk stages on a request, found before anything runs."""

from tasks.adversary.profile import derive_profile
from tasks.assessments.combined.assessment import scored_names
from tasks.assessments.combined.known_sets import known_sets
from tasks.assessments.sequential.assessment import thresholds
from tasks.microdata.coded import Prepared, known_probabilities
from tasks.request.model import ReleaseRequest


def check_risk_setting(request: ReleaseRequest, prepared: Prepared) -> None:
    """Derive every recipient's profile, solve its plan, and list the sets of attributes that may be known.

    Raises
    ------
    ParameterError
        If a plan cannot be solved, or more sets may be known than can be counted.
    """
    for recipient in request.recipients:
        thresholds(derive_profile(recipient).profile)
    chances = known_probabilities(request)
    known_sets([chances[name] for name in scored_names(request, prepared)], request.policy.combined.epsilon)
