"""Generalization methods and their promises, in the words the report prints."""

from dataclasses import dataclass

from tasks.core.errors import StageFailed
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
    "split "
    "along the one attribute whose children together pay more, best(cell) = max(release, max over attributes of the "
    "sum "
    "of best(children)). Everybody in a released cell is released as that cell, so nobody can be ruled out and the "
    "probability 1/n_p holds against a recipient who knows the rule."
)

_TEXTS = {
    Method.SAFE_HARBOR: MethodText(
        "Safe Harbor",
        "The strategy of 45 CFR 164.514(b)(2): three-digit ZIP codes, restricted prefixes written 000, ages over 89 "
        "in one group, all else as collected.",
        "The rule depends on the values alone, so that a released cell says nothing beyond itself; no figure bounds "
        "its "
        "risk, which is measured like that of any other method.",
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
        "probability "
        "1/n_p holds against a recipient who knows the rule.",
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
        "cell "
        "is worth an attempt.",
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


def method_text(name: str) -> MethodText:
    """Text of the report on a method.

    Raises
    ------
    StageFailed
        If the record names a method that the report cannot explain.
    """
    try:
        return _TEXTS[Method(name)]
    except ValueError:
        raise StageFailed(
            "the decision record names a method that the report cannot explain",
            where="risk.game",
            expected="one of " + ", ".join(method.value for method in Method),
            got=name,
            fix="render the record with the version of the program that wrote it",
        ) from None
