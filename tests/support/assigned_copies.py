"""Copies that follow from an assignment of decoys."""

import numpy as np

from tasks.decoys.assignment import Assignment, AssignmentProblem, Demand
from tasks.decoys.classes import joined
from tasks.decoys.collusion import MarkedCopy


def copies(problem: AssignmentProblem, demands: list[Demand], found: Assignment) -> list[MarkedCopy]:
    """The copies that follow from an assignment: real classes less the removed ones, and decoys."""
    made = []
    for demand, share in zip(demands, found.shares, strict=True):
        real = problem.files[share.file]
        left = np.ones(len(real), dtype=bool)
        left[share.removed] = False
        classes = joined([real.take(left), problem.offers[demand.offer].classes.take(share.decoys)])
        made.append(MarkedCopy(classes, np.arange(len(classes)) >= int(left.sum())))
    return made
