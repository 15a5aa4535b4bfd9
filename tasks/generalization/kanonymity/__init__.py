"""Optimal full-domain k-anonymity with suppression, further constraints, and local recoding of what is suppressed."""

from tasks.generalization.kanonymity.constraints import (
    Closeness,
    Constraint,
    DistinctDiversity,
    EntropyDiversity,
    KMap,
    RecursiveDiversity,
)
from tasks.generalization.kanonymity.lifting import Lifted, Round, lift
from tasks.generalization.kanonymity.metrics import Metric
from tasks.generalization.kanonymity.optimum import Optimum, search

__all__ = [
    "Closeness",
    "Constraint",
    "DistinctDiversity",
    "EntropyDiversity",
    "KMap",
    "Lifted",
    "Metric",
    "Optimum",
    "RecursiveDiversity",
    "Round",
    "lift",
    "search",
]
