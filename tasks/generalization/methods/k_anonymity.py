"""k-anonymity by itself: nothing is generalized before the policy's demands on classes are met."""

import numpy as np

from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.request.model import Method


def _recoding(table: CountIndex, _problem: Problem, _weights: str) -> Recoding:
    if table.demands is None:
        raise StageFailed(
            "the method k-anonymity has no terms",
            where="policy.generalization.k_anonymity",
            expected="at least k",
            got="nothing",
            fix="add “k_anonymity: {k: 5}” under policy.generalization",
        )
    return Recoding(np.zeros_like)


K_ANONYMITY = GeneralizationMethod(
    Method.K_ANONYMITY,
    _recoding,
    "Optimal k-anonymity",
    "All records are generalized alike: of all combinations of levels at which every class that is left meets the "
    "policy's demands, with no more records suppressed than it allows, the one that loses least.",
    "The gain of a recipient who knows the rule is measured with the effective groups n_T. Without local recoding a "
    "released cell holds exactly the people who match it; with it, those are ruled out who would have been "
    "released more specifically. No demand on the file's classes bounds the probability 1/n_p by itself; only "
    "one on the people who match does.",
    stakes="none",
    common=True,
    plain="Columns are made as coarse as the required size of groups asks",
)
