"""Columns beside the quasi-identifiers, in integer form: those others may know, and those that are sensitive."""

import numpy as np
import pandas as pd

from tasks.microdata.coded import Column
from tasks.request.model import Attribute, ReleaseRequest, Role, Sensitivity

UNKNOWN = 0.0
KNOWN = 1.0


def known_probabilities(request: ReleaseRequest) -> dict[str, float]:
    """Probability that each outbound attribute is publicly known of a person.

    Where the request does not say, a quasi-identifier is known and nothing else is.
    """
    return {
        name: _known_probability(attribute)
        for name, attribute in request.attributes.items()
        if attribute.role is not Role.DIRECT
    }


def sensitivities(request: ReleaseRequest) -> dict[str, Sensitivity]:
    """Weights of the sensitive attributes; all 1 where the request does not say."""
    return {
        name: attribute.sensitivity or Sensitivity()
        for name, attribute in request.attributes.items()
        if attribute.role is Role.SENSITIVE
    }


def absent_values(frame: pd.DataFrame, request: ReleaseRequest) -> tuple[str, ...]:
    """One sentence for each sensitive column with weights for values that no record has, as misspelt ones would be."""
    notes = []
    for name, given in sensitivities(request).items():
        absent = len(given.values.keys() - set(frame[name].dropna().unique()))
        if absent:
            notes.append(
                f"sensitivity.values ({name}) weighs {absent} of {len(given.values)} values that no record has"
            )
    return tuple(notes)


def code_columns(frame: pd.DataFrame, request: ReleaseRequest) -> dict[str, Column]:
    """Code the columns beside the quasi-identifiers that the combined score counts or weighs, or an intruder holds.

    Parameters
    ----------
    frame : DataFrame
        Text columns, missing cells as NA.
    request : ReleaseRequest
    """
    weighed = {name: given for name, given in sensitivities(request).items() if given.attribute > 0}
    known = {name for name, probability in known_probabilities(request).items() if probability > 0}
    wanted = (known | weighed.keys() | set(request.policy.linkage.known or ())) - set(request.quasi_identifiers)
    return {name: code_column(frame[name], weighed.get(name)) for name in request.attributes if name in wanted}


def code_column(values: pd.Series, sensitivity: Sensitivity | None) -> Column:
    """Code one column of text and weigh its values."""
    codes, levels = pd.factorize(values)
    numbers = np.where(codes < 0, len(levels), codes)
    weights = np.zeros(len(levels) + 1)
    if sensitivity is not None:
        weights[:-1] = [
            sensitivity.attribute * sensitivity.values.get(str(level), sensitivity.default) for level in levels
        ]
    return Column(numbers.astype(np.min_scalar_type(len(levels))), weights)


def _known_probability(attribute: Attribute) -> float:
    if attribute.known_probability is not None:
        return attribute.known_probability
    return KNOWN if attribute.role is Role.QUASI else UNKNOWN
