"""Conditions that would stop the risk stages on a request, found before anything runs."""

from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.combined.assessment import scored_names
from tasks.assessments.combined.known_sets import known_sets
from tasks.assessments.sequential.by_size import thresholds
from tasks.assessments.singling_out.minimal_uniques import check_sets
from tasks.microdata.coded import Prepared, knowable_columns, known_probabilities
from tasks.request.model import ReleaseRequest


def check_risk_setting(request: ReleaseRequest, prepared: Prepared) -> None:
    """Derive every recipient's profile, solve its plan, and count the sets of attributes that may be known.

    Raises ParameterError if a plan cannot be solved, or more sets may be known than can be counted or searched.
    """
    for recipient in request.recipients:
        thresholds(derive_profile(recipient).profile)
    check_sets(len(knowable_columns(request)), request.policy.singling_out.columns)
    chances = known_probabilities(request)
    known_sets([chances[name] for name in scored_names(request, prepared)], request.policy.combined.epsilon)
