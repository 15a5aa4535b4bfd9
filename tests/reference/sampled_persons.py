"""Individuals drawn from a release, as the papers draw those that are looked for."""

import numpy as np

from tasks.assessments.linkage.problem.generalized_files import LinkableRelease
from tasks.microdata.tuples import Counts


def sampled_persons(release: LinkableRelease, count: int, rng: np.random.Generator) -> Counts:
    """Individuals drawn at random among those whose records are released, by tuple; shape (n_tuples,)."""
    upto = np.cumsum(np.where(release.kept, release.records, 0))
    drawn = rng.choice(release.released_records, count, replace=False)
    return np.bincount(np.searchsorted(upto, drawn, "right"), minlength=len(upto)).astype(np.int64)
