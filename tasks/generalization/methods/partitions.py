"""The partitions: whole cells of trees are divided by the exact recursion, which counts all of them."""

from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.facts import DivisionOutcome
from tasks.generalization.game.partition import partition
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.request.model import Method

_BYTES_A_CELL = 40
"""Bytes that the sparse recursion stores per cell: its number, people, weight, best sum, choice and one member."""
_SPARSE_AT_LEAST = 2**26


def _divided(rule: GameRule, table: CountIndex, problem: Problem, cell_weights: str) -> Recoding:
    check_divisible(table)
    exact = partition(problem, table.records if cell_weights == "data" else table.people, rule)
    return Recoding(exact.levels, division=DivisionOutcome(payoff=exact.total, upper_bound=None, exact=True))


def check_divisible(table: CountIndex) -> None:
    """Refuse (StageFailed) a partition into whole cells where levels cross or the cells are too many to be counted."""
    trees = all(hierarchy.is_tree for hierarchy in table.hierarchies)
    if not divisible(table):
        raise StageFailed(
            "the domain cannot be divided into whole cells",
            where="policy.generalization.method",
            expected="hierarchies that are trees, and cells that can all be counted",
            got="more cells than policy.generalization.memory_limit_mb holds" if trees else "levels that cross",
            fix="play no-attack-remainder, which needs neither, or use fewer quasi-identifiers or levels",
        )


def divisible(table: CountIndex) -> bool:
    """Whether no levels cross and all cells can be counted: densely, or those that the population has, one by one."""
    most = max(table.memory_limit, _SPARSE_AT_LEAST)
    counted = table.people.form == "dense" or table.game_size * _BYTES_A_CELL <= most
    return counted and all(hierarchy.is_tree for hierarchy in table.hierarchies)


_PROMISE = (
    "The cells of the quasi-identifiers' domain are divided from the top: a cell is either released as it stands or "
    "split along the one attribute whose children together pay more, best(cell) = max(release, max over attributes of "
    "the sum of best(children)). Everybody in a released cell is released as that cell, so nobody can be ruled out and "
    "the probability 1/n_p holds against a recipient who knows the rule."
)
BASIC_PARTITION = GeneralizationMethod(
    Method.BASIC_PARTITION,
    lambda table, problem, weights: _divided(GameRule.BASIC, table, problem, weights),
    "Basic game, recursive partition",
    "The domain is partitioned so that the total publisher's payoff is greatest, attacks included where they are "
    "worth their loss.",
    _PROMISE,
    partition=GameRule.BASIC,
    plain="People are divided into the groups that are worth most to the publisher, attempts counted as losses",
)
NO_ATTACK_PARTITION = GeneralizationMethod(
    Method.NO_ATTACK_PARTITION,
    lambda table, problem, weights: _divided(GameRule.NO_ATTACK, table, problem, weights),
    "No-Attack game, recursive partition",
    "The domain is partitioned so that the total publisher's payoff is greatest among the partitions in which no "
    "cell is worth attacking.",
    _PROMISE,
    stakes="loss",
    partition=GameRule.NO_ATTACK,
    plain="People are divided into groups in which no attempt to identify somebody pays",
)
