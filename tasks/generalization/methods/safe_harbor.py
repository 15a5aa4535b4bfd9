"""The strategy of HIPAA Safe Harbor, the same for everybody: the yardstick of the games."""

import numpy as np

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.problem import Problem
from tasks.generalization.methods.method import GeneralizationMethod, Recoding
from tasks.generalization.methods.per_record import safe_harbor_floor
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Method


def _recoding(table: CountIndex, _problem: Problem, _weights: str) -> Recoding:
    def cells(codes: Codes) -> Codes:
        return np.column_stack([axis.positions[codes[:, place]] for place, axis in enumerate(table.safe_harbor)])

    return Recoding(lambda codes: safe_harbor_floor(table, codes), cells)


SAFE_HARBOR = GeneralizationMethod(
    Method.SAFE_HARBOR,
    _recoding,
    "Safe Harbor",
    "The strategy of 45 CFR 164.514(b)(2): three-digit ZIP codes, restricted prefixes written 000, ages over 89 "
    "in one group, all else as collected.",
    "The rule depends on the values alone, so that a released cell says nothing beyond itself; no figure bounds "
    "its risk, which is measured like that of any other method.",
    stakes="none",
    safe_harbor=True,
    plain="ZIP codes are shortened and ages over 89 put together, by the fixed list of the Privacy Rule",
)
