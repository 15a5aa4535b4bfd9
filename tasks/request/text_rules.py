"""Rules of a request that relate columns of free text to its other parts."""

from typing import Any

from tasks.core.plural import listed
from tasks.request.measures import Measure
from tasks.request.part import Rule
from tasks.request.population_rules import decoys_asked

TEXT_GATES = (Measure.TEXT_MISSED, Measure.TEXT_RESIDUAL)
"""Measures that a policy limits before any text is released."""


def _unlimited(request: Any) -> list[str]:
    """Measures of text on which the policy has no gate."""
    judged = {gate.measure for gate in request.policy.gates}
    return [one.value for one in TEXT_GATES if one not in judged]


TEXT_RULES: tuple[Rule[Any], ...] = (
    Rule(
        "text is released only under gates on text.missed and text.residual",
        lambda one: bool(one.texts) and bool(_unlimited(one)),
        "policy.gates",
        got=lambda one: f"no gate on {listed(_unlimited(one))}",
        fix="state in the policy how much may be missed and may remain, or withhold the text (role: withheld)",
    ),
    Rule(
        "text is released only after reviewers have judged it",
        lambda one: bool(one.texts) and one.policy.review.required == 0,
        "policy.review.required",
        got="0",
        fix="name reviewers (review: {required: 1, reviewers: […]}), or withhold the text (role: withheld)",
    ),
    Rule(
        "decoys have no text that would pass for real text",
        lambda one: decoys_asked(one) if one.texts else None,
        got=lambda one: f"decoys beside the column {one.texts[0]}",
        fix="remove the decoys, or withhold the text (role: withheld)",
    ),
)
