"""The sequential adversary, who plans an attack on one record (Xia et al. 2015, *Process-Driven Data Privacy*).

In the paper's case study a penalty of 10,000, paid once at most, deters from 48 candidates on; a record of a smaller
group is re-identified with probability 0.63. Its figures come out at a discount of 0.9; gates judge without one. By the
one-shot baseline 24 candidates would be enough.

>>> from releasegate.fmdp import AdversaryProfile, baseline_risk, known_threshold, reidentification_probability
>>> adversary = AdversaryProfile(
...     gain=8000, penalty=10_000, access_cost=100, link_cost=0, exploit_cost=10, prior=0.63,
...     detection_intercept=-4.59, detection_slope=0, max_penalties=1, discount=0.9,
... )
>>> known_threshold(adversary)
48
>>> reidentification_probability(adversary, [1, 47, 48]).tolist()
[0.63, 0.63, 0.0]
>>> baseline_risk(adversary, [1, 10, 24]).round(4).tolist()
[0.63, 0.063, 0.0]
"""

from tasks.adversary.fmdp import (
    AdversaryProfile,
    Solution,
    baseline_risk,
    known_threshold,
    reidentification_probability,
    reidentification_probability_unknown,
    solve,
)
from tasks.adversary.profile import Resource

__all__ = [
    "AdversaryProfile",
    "Resource",
    "Solution",
    "baseline_risk",
    "known_threshold",
    "reidentification_probability",
    "reidentification_probability_unknown",
    "solve",
]
