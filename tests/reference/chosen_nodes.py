"""Strategies chosen at each of several stakes."""

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game.exact import GameRule
from tasks.generalization.sensitivity.means import StakesPoints
from tasks.generalization.sensitivity.staircase import Staircases
from tasks.generalization.sensitivity.sweep import choices


def chosen_nodes(stairs: Staircases, stakes: StakesPoints, rule: GameRule = GameRule.BASIC) -> NDArray[np.intp]:
    """Lattice node of each tuple at each point, shape (n_points, n_tuples); −1 where there is none."""
    nodes = np.empty((len(stakes), len(stairs.records)), dtype=np.intp)
    for points, step, _ in choices(stairs, stakes, rule):
        nodes[points] = np.where(step < 0, -1, stairs.nodes[step])
    return nodes[:, stairs.of_tuple]
