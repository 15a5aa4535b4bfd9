"""The No-Attack game with one common strategy: one grouping a column, and no cell that is worth attacking."""

import numpy as np

from tasks.generalization.budget.full_domain import budgeted_full_domain
from tasks.generalization.budget.partitions import Weighed
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.request.model import Method


def _recoding(table: CountIndex, problem: Problem, _weights: str) -> Recoding:
    found = budgeted_full_domain(problem, Weighed(table.population, table.data, table.layers), None)
    return Recoding(lambda codes: np.broadcast_to(found.levels[0], codes.shape))


NO_ATTACK_COMMON = GeneralizationMethod(
    Method.NO_ATTACK_COMMON,
    _recoding,
    "No-Attack game, one common strategy",
    "One strategy for the whole file: of those at which no released cell is worth attacking, with no more records left "
    "out than the limits allow, the one with the highest weighted geometric mean of the information that each column "
    "keeps, so that none is withheld where that can be avoided, less ten times the share of each value's records that "
    "are left out; where strategies are very many, the best that was found step by step.",
    "Every record is generalized alike and each column has one grouping, so a released cell holds exactly the people "
    "who match it, and the probability 1/n_p holds against a recipient who knows the rule.",
    stakes="loss",
    common=True,
    plain="Each column has one grouping, the same for all records, at which no attempt to identify somebody pays",
)
