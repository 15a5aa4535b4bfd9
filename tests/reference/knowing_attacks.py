"""Attacks on one masking by whoever knows it, as the papers make them; the gate makes them on whole releases."""

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.assessments.linkage.informed import joint_linkage
from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import Files, Positions, nearest_credit
from tasks.assessments.linkage.within import displacement_score, noise_score
from tasks.masking.method import MaskedRange
from tasks.masking.rank_swapping import window_bounds

_MOST_PAIRS = 2**25
_BLOCK_PAIRS = 2**22
_NOISE_REACH = 6.0


def candidate_sets(original: Floats, masked: Floats, window: int) -> NDArray[np.bool_]:
    """The sets B_j of a few records in full: whether each masked record is in B_j(x); ``.all(axis=1)`` intersects them.

    Shape (n_known_records, n_attributes, n_records).
    """
    bounds = window_bounds(original, masked, window)
    return (masked.T[None] >= bounds.low[:, :, None]) & (masked.T[None] <= bounds.high[:, :, None])


def joint_rank_swap_linkage(files: Files, window: int | None, displacement: Floats | None = None) -> Linkage:
    """The intersection attack on everybody at once; all moves within the window are alike where none is given."""

    def alike(records: Positions, _candidates: Positions) -> Floats:
        return np.zeros(len(records))

    anything = np.full_like(files.original, np.inf)
    bounds = MaskedRange(-anything, anything)
    if window is not None:
        bounds = window_bounds(files.original, files.masked, window)
    score = alike if displacement is None else displacement_score(files, displacement)
    return joint_linkage(files, bounds, score, _MOST_PAIRS)


def noise_linkage(files: Files, proportion: float, *, correlated: bool = False) -> Linkage:
    """Link each record x to the masked record x' with the greatest p(x' | x)/p(x'); the intruder holds everybody.

    p(x' | x) is normal with the noise's covariance, p(x') its mean over the original records. Dividing by it spares the
    intruder the masked records that many others explain as well.
    """
    original, masked = _in_units_of_noise(files, proportion, correlated=correlated)
    density, rows = np.empty(len(masked)), max(1, _BLOCK_PAIRS // len(original))
    for start in range(0, len(masked), rows):
        half = scipy.spatial.distance.cdist(masked[start : start + rows], original, "sqeuclidean") / 2
        least = half.min(axis=1)
        density[start : start + rows] = np.log(np.exp(least[:, None] - half).mean(axis=1)) - least
    # The nearest under |x−x'|² + 2 log p(x') is a nearest point with the second term as the square of a coordinate.
    height = np.sqrt(2 * (density - density.min()))
    before, after = np.column_stack([original, np.zeros(len(original))]), np.column_stack([masked, height])
    return linkage(nearest_credit(before, after, files.truth), len(masked))


def joint_noise_linkage(files: Files, proportion: float, *, correlated: bool = False) -> Linkage:
    """The known-k attack on everybody at once; pairs farther apart than 6 standard deviations are left out."""
    reach = _NOISE_REACH * np.sqrt(proportion) * files.original.std(axis=0)
    bounds = MaskedRange(files.original - reach, files.original + reach)
    return joint_linkage(files, bounds, noise_score(files, proportion, correlated=correlated), _MOST_PAIRS)


def _in_units_of_noise(files: Files, proportion: float, *, correlated: bool) -> tuple[Floats, Floats]:
    spread = files.original.std(axis=0)
    original, masked = files.original / spread, files.masked / spread
    if correlated:
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(original.T, ddof=0)))
        kept = values > 1e-10 * values.max()
        axes = vectors[:, kept] / np.sqrt(values[kept])
        original, masked = original @ axes, masked @ axes
    return original / np.sqrt(proportion), masked / np.sqrt(proportion)
