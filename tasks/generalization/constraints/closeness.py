"""t-closeness (Li et al. 2007): sensitive values are distributed in each class nearly as in the whole file."""

from dataclasses import dataclass

import numpy as np

from tasks.generalization.constraints.constraint import (
    ROUNDING,
    Bools,
    Floats,
    PrivacyModel,
    ValueConstraint,
    coded,
    refused,
)
from tasks.request.model import Closeness


@dataclass(frozen=True)
class TCloseness(ValueConstraint):
    """Sensitive values of each class within an earth mover's distance ``t`` of the file's, 0 to 1.

    Different values are 1 apart or, where ``ordered``, the difference of their codes over the largest code of the file.
    """

    t: float
    ordered: bool = False
    name = "t-closeness"

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise refused("the distance t is outside its range", self.name, "0 to 1", f"{self.t}")

    def met(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class is near enough to the file."""
        off = counts / counts.sum(axis=1, keepdims=True) - whole / whole.sum()
        if self.ordered:
            distance = np.abs(np.cumsum(off, axis=1)).sum(axis=1) / max(len(whole) - 1, 1)
        else:
            distance = np.abs(off).sum(axis=1) / 2
        return np.asarray(distance <= self.t + ROUNDING, dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:
        """Whether the file's distribution can be moved onto the values of each class at a cost of t."""
        present = counts > 0
        steps = np.where(present, 0.0, 1.0)
        if self.ordered:
            steps = _steps_to_present(present) / max(len(whole) - 1, 1)
        return np.asarray(steps @ (whole / whole.sum()) <= self.t + ROUNDING, dtype=np.bool_)


def _steps_to_present(present: Bools) -> Floats:
    """Codes between each code and the nearest one that the class has."""
    n_values = present.shape[1]
    codes = np.arange(n_values)
    before = np.maximum.accumulate(np.where(present, codes, -n_values), axis=1)
    after = np.minimum.accumulate(np.where(present, codes, 2 * n_values)[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(codes - before, after - codes).astype(np.float64)


def _words(terms: Closeness) -> str:
    order = ", in order" if terms.ordered else ""
    return f"{terms.attribute} distributed within {terms.t:g} of the whole file (earth mover's distance{order})"


CLOSENESS = PrivacyModel(
    term="closeness",
    constraints=lambda demanded, prepared: [
        TCloseness(coded(prepared, terms.attribute), terms.t, terms.ordered) for terms in demanded
    ],
    words=lambda demanded: [_words(terms) for terms in demanded],
    sources=(
        "Li N, Li T, Venkatasubramanian S (2007). t-Closeness: privacy beyond k-anonymity and l-diversity. Proceedings "
        "of ICDE 2007.",
    ),
)
