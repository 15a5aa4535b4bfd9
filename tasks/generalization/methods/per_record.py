"""The record-by-record games: each distinct combination of values has the strategy that pays most."""

import numpy as np

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.problem import Problem, all_attacked
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Method

_PROMISE = (
    "Each distinct combination of quasi-identifier values is recoded by itself. People whose released cell is the same "
    "may have different optimal strategies, so an informed recipient can rule out those who would have been released "
    "otherwise: the effective group n_T can be smaller than the n_p people who match the cell."
)


def rule_of(method: Method) -> GameRule:
    """Strategies that a per-record method may choose."""
    return GameRule.NO_ATTACK if method is Method.NO_ATTACK else GameRule.BASIC


def safe_harbor_floor(table: CountIndex, codes: Codes) -> Codes:
    """Least levels that Safe Harbor allows leaf codes."""
    return np.column_stack([axis.floor[codes[:, place]] for place, axis in enumerate(table.safe_harbor)])


def _recoding(method: Method, table: CountIndex, problem: Problem) -> Recoding:
    def levels(codes: Codes) -> Codes:
        floor = safe_harbor_floor(table, codes) if method is Method.SH_FRIENDLY else None
        nodes, _ = solve(problem, codes, rule_of(method), floor)
        if (nodes < 0).any():
            raise all_attacked("some records have no strategy that nobody would attack", problem.payoffs)
        return problem.lattice.nodes[nodes]

    return Recoding(levels)


BASIC = GeneralizationMethod(
    Method.BASIC,
    lambda table, problem, _weights: _recoding(Method.BASIC, table, problem),
    "Basic game",
    "For each record the strategy with the greatest publisher's payoff, an attack included where it is worth its loss.",
    _PROMISE,
    per_record=True,
    plain="Each record is as precise as is worth most to the publisher, attempts counted as losses",
)
NO_ATTACK = GeneralizationMethod(
    Method.NO_ATTACK,
    lambda table, problem, _weights: _recoding(Method.NO_ATTACK, table, problem),
    "No-Attack game",
    "For each record the strategy with the greatest publisher's payoff among those at which an attempt does not pay.",
    _PROMISE,
    stakes="loss",
    per_record=True,
    plain="Each record is as precise as leaves no attempt worth its cost to somebody who does not know the method",
)
SH_FRIENDLY = GeneralizationMethod(
    Method.SH_FRIENDLY,
    lambda table, problem, _weights: _recoding(Method.SH_FRIENDLY, table, problem),
    "SH-Friendly game",
    "The Basic game among the strategies at least as general as Safe Harbor.",
    _PROMISE,
    per_record=True,
    safe_harbor=True,
    plain="Each record is as precise as is worth most to the publisher, and no more so than Safe Harbor allows",
)
