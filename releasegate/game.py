"""The re-identification game between publisher and recipient (Wan et al. 2015).

The stakes of the paper's Table 2: an attack costs 4 and may gain 300, so 75 people are the least group that is safe.

>>> import numpy as np
>>> from releasegate.game import Payoffs
>>> stakes = Payoffs(benefit=1200, loss=300, gain=300, cost=4)
>>> stakes.attacked(np.array([74, 75])).tolist()
[True, False]
>>> stakes.publisher(np.array([1200.0, 500.0]), np.array([1, 75])).tolist()
[900.0, 500.0]
"""

from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Follower, InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.generalize import generalize as play
from tasks.request.model import Method

__all__ = [
    "CountIndex",
    "Follower",
    "Generalization",
    "InformationLoss",
    "Method",
    "Payoffs",
    "information_loss_weights",
    "play",
]
