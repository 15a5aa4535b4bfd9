"""What would stop the risk stages on a request, found before anything runs."""

from tasks.microdata.coded import Prepared
from tasks.microdata.columns import known_probabilities
from tasks.request.model import ReleaseRequest
from tasks.risk.known_sets import known_sets
from tasks.risk.profile import recipient_profile
from tasks.risk.score_table import scored_names


def check_risk_setting(request: ReleaseRequest, prepared: Prepared) -> None:
    """Derive every recipient's profile and list the sets of attributes that may be known.

    Raises
    ------
    RequestError
        If a profile lacks a term that does not follow from the rest.
    ParameterError
        If a profile is out of range, or more sets may be known than can be counted.
    """
    for recipient in request.recipients:
        recipient_profile(request, recipient, prepared)
    chances = known_probabilities(request)
    known_sets([chances[name] for name in scored_names(request, prepared)], request.policy.combined.epsilon)
