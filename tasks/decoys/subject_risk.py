"""Risk of the people in the data, with and without decoys.

A decoy is no person of the data, so the gate judges the real classes alone. Decoys lie in cells of their own: they
change no real record's risk. What they change is what an intruder finds: part of the attempts, and the riskiest above
all, hit a person who is not in the data.
"""

from dataclasses import dataclass

import numpy as np

from tasks.core.errors import ParameterError
from tasks.decoys.generalized_release import Classes, Flags, Floats


@dataclass(frozen=True)
class Risk:
    """Risk over the records of some classes; each 0 to 1."""

    prosecutor_maximum: float
    """1 over the smallest class: the intruder knows that the person is in the file."""
    prosecutor_mean: float
    """Classes over records."""
    journalist_maximum: float
    """1 over the fewest people whom a class links to; none counts as one."""
    journalist_mean: float
    records: int


@dataclass(frozen=True)
class RiskWithDecoys:
    """The risk of the data's people, and what the file with decoys shows."""

    subjects: Risk
    """Risk of the real records: the same with and without decoys; the risk that a gate judges."""
    shown: Risk
    """Risk over all records, as computed by a reader who takes decoys for real."""
    success: float
    """Attempts that identify a subject when every record is linked to one of its people at random, 0 to 1. Without
    decoys it is ``subjects.journalist_mean``."""
    lured: float
    """Share of decoys among the records whose journalist risk is at least the highest of a subject, 0 to 1: where an
    intruder begins who takes the riskiest first."""


def subject_risk(real: Classes, decoys: Classes, *, informed: bool = False) -> RiskWithDecoys:
    """Score the real classes of a copy with and without its decoys.

    Parameters
    ----------
    real, decoys : Classes
        Of one recipient's copy; there may be no decoys.
    informed : bool
        Whether people are those whom an intruder is left with who knows the generalization's rule.

    Raises
    ------
    ParameterError
        If there are no real classes.
    """
    if len(real) == 0:
        raise ParameterError(
            "there are no real records to score",
            where="real classes",
            expected="at least one",
            got="none",
            fix="score a copy that releases something",
        )
    sizes = np.concatenate([real.sizes, decoys.sizes])
    people = np.concatenate([_people(real, informed=informed), _people(decoys, informed=informed)])
    own = np.arange(len(sizes)) < len(real)
    linked = 1 / np.maximum(people, 1.0)
    subjects, shown = _risk(sizes[own], linked[own]), _risk(sizes, linked)
    first = linked >= subjects.journalist_maximum
    return RiskWithDecoys(
        subjects=subjects,
        shown=shown,
        success=float(sizes[own] @ linked[own] / sizes.sum()),
        lured=_share(sizes.astype(np.float64), first, ~own),
    )


def _people(classes: Classes, *, informed: bool) -> Floats:
    return (classes.effective if informed else classes.people).astype(np.float64)


def _risk(sizes: np.ndarray, linked: Floats) -> Risk:
    records = int(sizes.sum())
    return Risk(
        prosecutor_maximum=float(1 / sizes.min()),
        prosecutor_mean=len(sizes) / records,
        journalist_maximum=float(linked.max()),
        journalist_mean=float(sizes @ linked / records),
        records=records,
    )


def _share(weights: Floats, among: Flags, wanted: Flags) -> float:
    return float(weights[among & wanted].sum() / weights[among].sum())
