"""Copies that follow from an assignment of decoys."""

import numpy as np

from tasks.decoys.collusion import Copy
from tasks.decoys.removal import Assignment, Ground


def copies(place: Ground, found: Assignment) -> list[Copy]:
    """The copies that follow from an assignment: real classes less the removed ones, and decoys."""
    made = []
    for share in found.shares:
        real = place.files[share.generalization]
        left = np.ones(len(real), dtype=bool)
        left[share.removed] = False
        decoys = place.candidates[share.generalization].take(share.decoys)
        classes = real.take(left).with_rows(decoys)
        made.append(Copy(classes, np.arange(len(classes)) >= int(left.sum())))
    return made
