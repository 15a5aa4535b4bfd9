"""Strategies chosen at each of several stakes."""

import numpy as np

from tasks.generalization.exact import Rule
from tasks.generalization.sensitivity.envelope import envelopes
from tasks.generalization.sensitivity.staircase import Staircases
from tasks.generalization.sensitivity.sweep import Nodes, _distinct_points, _parts
from tasks.generalization.sensitivity.terms import Stakes


def chosen_nodes(stairs: Staircases, stakes: Stakes, rule: Rule = Rule.BASIC) -> Nodes:
    """Lattice node of each tuple at each point, shape (n_points, n_tuples); −1 where there is none.

    Parameters and errors are those of ``sweep``; meant for few points.
    """
    ratios, safe, place = _distinct_points(stairs, stakes, rule)
    nodes = np.empty((len(ratios), len(stairs)), dtype=np.intp)
    for part in _parts(stairs, envelopes(stairs), ratios, safe, rule):
        nodes[part.points, part.owners] = part.nodes()
    return nodes[place][:, stairs.of_tuple]
