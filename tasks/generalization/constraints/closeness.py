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
    missing,
    refused,
)
from tasks.request.model import Closeness


@dataclass(frozen=True)
class TCloseness(ValueConstraint):
    """Sensitive values of each class within an earth mover's distance ``t`` of the file's, 0 to 1.

    Different values are 1 apart or, where ``ordered``, the difference of their codes over the largest code of the file.

    Missing values that may be any value are assumed to be those of which the distance is greatest. A share m/n of a
    class of n lacks one, and M/N of the file of N. Unordered, the class's are a value that nobody else has, the file's
    others one that the class has not: the distance is Σ max(p − q, 0) + m(1/n − 1/N), p and q the shares of stated
    values in all records. Where ordered, no distance is greater than the sum, over the codes, of the larger of
    F − G + m(1/n − 1/N) and G − F + (M − m)/N, F and G the sums of p and q up to the code.
    """

    t: float
    ordered: bool = False
    name = "t-closeness"

    def __post_init__(self) -> None:
        if not 0 <= self.t <= 1:
            raise refused("the distance t is outside its range", self.name, "0 to 1", f"{self.t}")

    def met(self, counts: Floats, whole: Floats) -> Bools:
        """Whether each class is near enough to the file."""
        own, everybody = counts.sum(axis=1), float(whole.sum())
        stated, stated_whole = self.stated(counts), self.stated(whole)
        off = stated / own[:, None] - stated_whole / everybody
        lacking = own - stated.sum(axis=1)
        above, below = lacking * (1 / own - 1 / everybody), (everybody - stated_whole.sum() - lacking) / everybody
        if self.ordered:
            up_to = np.cumsum(off, axis=1)[:, :-1]
            farthest = np.maximum(up_to + above[:, None], below[:, None] - up_to)
            distance = farthest.sum(axis=1) / max(len(stated_whole) - 1, 1)
        else:
            distance = np.maximum(off, 0.0).sum(axis=1) + above
        return np.asarray(distance <= self.t + ROUNDING, dtype=np.bool_)

    def relaxed(self, counts: Floats, whole: Floats) -> Bools:
        """Whether the file's distribution can be moved onto the values of each class at a cost of t."""
        stated = self.stated(whole)
        present = self.stated(counts) > 0
        steps = np.where(present, 0.0, 1.0)
        if self.ordered:
            steps = _steps_to_present(present) / max(len(stated) - 1, 1)
        near = np.asarray(steps @ (stated / whole.sum()) <= self.t + ROUNDING, dtype=np.bool_)
        # A class without any stated value that is near enough is so whatever its values are.
        return np.where(present.any(axis=1), near, self.met(counts, whole)) if self.missing is not None else near


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
        TCloseness(coded(prepared, terms.attribute), terms.t, terms.ordered, missing=missing(prepared, terms.attribute))
        for terms in demanded
    ],
    words=lambda demanded: [_words(terms) for terms in demanded],
    sources=(
        "Li N, Li T, Venkatasubramanian S (2007). t-Closeness: privacy beyond k-anonymity and l-diversity. Proceedings "
        "of ICDE 2007.",
    ),
)
