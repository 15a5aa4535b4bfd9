"""The plain linear program of Xia et al. 2015, section 5.1: all states of a record at once, clusters and all."""

import numpy as np
from scipy import sparse

from tasks.adversary.group_sizes import SizeBelief
from tasks.adversary.planning.two_level_lp import Program, cluster_program, top_program
from tasks.adversary.profile import AdversaryProfile


def plain_value(profile: AdversaryProfile, belief: SizeBelief) -> float:
    """V(x_0) of a record, in money, by one linear program over all its states.

    Raises
    ------
    StageFailed
        If the linear program is not solved.
    """
    return float(plain_program(profile, belief).solved()[0]) * profile.gain


def plain_program(profile: AdversaryProfile, belief: SizeBelief) -> Program:
    """All states of a record: x_0, per size the state in which the data is at hand, then the clusters of all sizes."""
    top = top_program(profile, belief, np.zeros(len(belief.sizes)))
    parts = [top, *(cluster_program(profile, size) for size in belief.sizes.tolist())]
    firsts = np.cumsum([0, *(len(part.bounds) for part in parts)])
    count = len(belief.sizes)
    links = sparse.csr_array((np.ones(count), (np.arange(count), firsts[1:-1])), shape=(count, firsts[-1]))
    return Program(
        bounds=np.concatenate([part.bounds for part in parts]),
        origin=np.concatenate(
            [*(first + part.origin for first, part in zip(firsts[:-1], parts, strict=True)), 1 + np.arange(count)]
        ),
        follow=sparse.csr_array(sparse.vstack([sparse.block_diag([part.follow for part in parts]), links])),
        costs=np.concatenate([*(part.costs for part in parts), np.full(count, profile.link_cost / profile.gain)]),
        discount=profile.discount,
    )
