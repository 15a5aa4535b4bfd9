"""Results under uncertain terms, in the form of the record."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from tasks.assessments.identity.uncertain.distributions import (
    Between,
    LogUniform,
    Points,
    Triangular,
    TruncatedNormal,
    Uniform,
)
from tasks.assessments.identity.uncertain.drawn import Case
from tasks.assessments.identity.uncertain.terms import Term
from tasks.assessments.identity.uncertain.verdict import CONFIDENCE, Uncertainty
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.core.fact import Interval
from tasks.generalization.setting import payoffs_of
from tasks.request.model import Measure

_KINDS = {
    Between: "between",
    Uniform: "uniform",
    LogUniform: "log-uniform",
    Triangular: "triangular",
    TruncatedNormal: "normal, cut off",
    Points: "points",
}
_ENDS = frozenset({"low", "high"})


def uncertainty_fact(case: Case, found: Uncertainty) -> UncertaintyFact:
    """The fact of a case; figures that are not numbers are None."""
    document = asdict(found)
    for figure in document["figures"]:
        figure["measure"] = figure["measure"].value
        figure["declared"] = _number(figure["declared"])
        figure["expectation"] = _number(figure["expectation"])
        figure["quantiles"] = tuple(_number(value) for value in figure["quantiles"])
    for one in document["deciding"]:
        one["term"] = one["term"].value
    terms = [
        {
            "term": term.value,
            "kind": _KINDS[type(known)],
            "low": known.ends[0],
            "high": known.ends[1],
            "parameters": {
                field.name: getattr(known, field.name) for field in fields(known) if field.name not in _ENDS
            },
            "declared": _declared(case, term),
        }
        for term, known in case.uncertain.items()
    ]
    return UncertaintyFact.model_validate({**document, "terms": terms, "confidence": CONFIDENCE})


def gate_figures(fact: UncertaintyFact | None) -> dict[Measure, float]:
    """Gate figure of uncertain terms: the lower end of the probability's interval; empty where no term is uncertain.

    It holds in the worst case of terms with only a known range. Where nothing is drawn it is 0 or 1.
    """
    return {} if fact is None else {Measure.PASSING_PROBABILITY: fact.approved.low}


def gate_intervals(fact: UncertaintyFact | None) -> dict[Measure, tuple[Interval, None]]:
    """The interval whose lower end is the gate figure; none where nothing is drawn."""
    if fact is None or fact.approved.draws == 1:
        return {}
    around = Interval(low=fact.approved.low, high=fact.approved.high, level=fact.confidence)
    return {Measure.PASSING_PROBABILITY: (around, None)}


def _declared(case: Case, term: Term) -> float:
    """Value of a term in the request, or derived from it."""
    payoffs, profile = payoffs_of(case.recipient), case.profile
    stakes: dict[Term, Any] = {
        Term.BENEFIT: payoffs.benefit,
        Term.LOSS: payoffs.loss,
        Term.GAIN: payoffs.gain,
        Term.COST: payoffs.cost,
    }
    if term in stakes:
        return float(stakes[term])
    return float(profile.detection(0)) if term is Term.DETECTION else float(getattr(profile, term.value))


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
