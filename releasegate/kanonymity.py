"""Optimal full-domain k-anonymity with suppression, and further constraints on classes.

Three people of one age each, in classes of two: ages are released as ranges, and the third record is suppressed.

>>> from releasegate.kanonymity import search
>>> from releasegate.microdata import hierarchy_from_rows
>>> age = hierarchy_from_rows("age", [["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"]], "example")
>>> optimum = search([[0], [1], [2]], [age], k=2, suppression_limit=0.4, metric="loss")
>>> optimum.levels, optimum.suppressed.tolist()
((1,), [False, False, True])
"""

from tasks.generalization.constraints.closeness import TCloseness
from tasks.generalization.constraints.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.kanonymity.metrics import Metric
from tasks.generalization.kanonymity.optimum import Optimum, search

__all__ = [
    "DistinctDiversity",
    "EntropyDiversity",
    "KMap",
    "Metric",
    "Optimum",
    "RecursiveDiversity",
    "TCloseness",
    "search",
]
