"""Methods of generalization and masking in the words that reports print: names, how they work, what holds of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from reports import numbers
from tasks.core.errors import StageFailed
from tasks.masking.method import MaskingMethod
from tasks.masking.registry import METHODS
from tasks.request.model import Method


@dataclass(frozen=True)
class MethodText:
    """The name of a method in print, how it works and what holds against a recipient who knows it."""

    title: str
    how: str
    promise: str
    partitions: bool = False
    """Whether the domain is partitioned, for which cells are weighted."""
    whole_cells: bool = False
    """Whether every person in a released cell is released as that cell, so that knowing the rule must gain nothing."""


_PER_RECORD = (
    "Each distinct combination of quasi-identifier values is recoded by itself. People whose released cell is the same "
    "may have different optimal strategies, so an informed recipient can rule out those who would have been released "
    "otherwise: the effective group n_T can be smaller than the n_p people who match the cell."
)
_PARTITION = (
    "The cells of the quasi-identifiers' domain are divided from the top: a cell is either released as it stands or "
    "split along the one attribute whose children together pay more, best(cell) = max(release, max over attributes "
    "of the sum of best(children)). Everybody in a released cell is released as that cell, so nobody can be ruled "
    "out and the "
    "probability 1/n_p holds against a recipient who knows the rule."
)

_METHODS = {
    Method.SAFE_HARBOR: MethodText(
        "Safe Harbor",
        "The strategy of 45 CFR 164.514(b)(2): three-digit ZIP codes, restricted prefixes written 000, ages over 89 "
        "in one group, all else as collected.",
        "The rule depends on the values alone, so that a released cell says nothing beyond itself; no figure bounds "
        "its risk, which is measured like that of any other method.",
        whole_cells=True,
    ),
    Method.BASIC: MethodText(
        "Basic game",
        "For each record the strategy with the greatest publisher's payoff, an attack included where it is worth its "
        "loss.",
        _PER_RECORD,
    ),
    Method.NO_ATTACK: MethodText(
        "No-Attack game",
        "For each record the strategy with the greatest publisher's payoff among those at which an attempt does not "
        "pay.",
        _PER_RECORD,
    ),
    Method.SH_FRIENDLY: MethodText(
        "SH-Friendly game",
        "The Basic game among the strategies at least as general as Safe Harbor.",
        _PER_RECORD,
    ),
    Method.COMMON: MethodText(
        "One common strategy",
        "One strategy for the whole file, the one with the greatest total payoff.",
        "Every record is generalized alike, so a released cell holds exactly the people who match it and the "
        "probability 1/n_p holds against a recipient who knows the rule.",
        whole_cells=True,
    ),
    Method.BASIC_PARTITION: MethodText(
        "Basic game, recursive partition",
        "The domain is partitioned so that the total publisher's payoff is greatest, attacks included where they are "
        "worth their loss.",
        _PARTITION,
        partitions=True,
        whole_cells=True,
    ),
    Method.NO_ATTACK_PARTITION: MethodText(
        "No-Attack game, recursive partition",
        "The domain is partitioned so that the total publisher's payoff is greatest among the partitions in which no "
        "cell is worth an attempt.",
        _PARTITION,
        partitions=True,
        whole_cells=True,
    ),
    Method.K_ANONYMITY: MethodText(
        "Optimal k-anonymity",
        "All records are generalized alike: of all combinations of levels at which every class that is left meets the "
        "policy's demands, with no more records suppressed than it allows, the one that loses least.",
        "What a recipient gains who knows the rule is measured with the effective groups n_T. Without local recoding a "
        "released cell holds exactly the people who match it; with it, those are ruled out who would have been "
        "released more specifically. No demand on the file's classes bounds the probability 1/n_p by itself; only "
        "one on the people who match does.",
        whole_cells=True,
    ),
}


_WORDS = {
    "p": "p {} % of the ranks",
    "buckets": "{} buckets",
    "reading": "reading “{}”",
    "mean": "moves by {} ranks on average",
    "standard_deviation": "standard deviation {} ranks",
    "proportion": "variance of the noise {} times that of the attribute",
    "distances": "distances {}",
}


_Named = TypeVar("_Named")
_TREATMENT = re.compile(r"(generalized|masked) \((.+?)(, then k-anonymity|, along levels that cross)?\)")


def method_text(name: str) -> MethodText:
    """Text of the report on a method of generalization.

    Raises
    ------
    StageFailed
        If the record names a method that the report cannot explain.
    """
    return _named(name, {method.value: text for method, text in _METHODS.items()})


def masking_method(name: str) -> type[MaskingMethod]:
    """The method of a masking, which raises as ``method_text`` does."""
    return _named(name, {method.name.value: method for method in METHODS.values()})


def _named(name: str, known: Mapping[str, _Named]) -> _Named:
    if name not in known:
        raise StageFailed(
            "the decision record names a method that the report cannot explain",
            where="decision record",
            expected="one of " + ", ".join(known),
            got=name,
            fix="render the record with the version of the program that wrote it",
        )
    return known[name]


def masking_parameters(method: str, parameters: Mapping[str, float | str]) -> str:
    """The parameters of a masking in words."""
    unit = masking_method(method).k_unit
    return "; ".join(
        f"k {numbers.setting(value)} {unit}".rstrip()
        if name == "k"
        else _WORDS.get(name, name.replace("_", " ") + " {}").format(numbers.setting(value))
        for name, value in sorted(parameters.items())
    )


def treatment_text(treatment: str) -> str:
    """A field's treatment with its method in words; one that names no method as it is.

    >>> treatment_text("generalized (no-attack, then k-anonymity)"), treatment_text("removed")
    ('generalized: No-Attack game, then k-anonymity', 'removed')
    """
    found = _TREATMENT.fullmatch(treatment)
    if found is None:
        return treatment
    done, method, after = found.groups()
    text = method_text(method).title if done == "generalized" else masking_method(method).title
    return f"{done}: {text}{after or ''}"
