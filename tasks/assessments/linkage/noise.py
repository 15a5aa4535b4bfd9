"""The attack on noise whose share of the variance is published (known k).

With X' = X + ε and Var(ε) = k·Var(X), Var(X) is Var(X')/(1+k) (Torra 2016, slide 45), so that the intruder knows the
noise's distribution and, of each masked record, how likely it comes from any original one.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.nearest import nearest_credit
from tasks.core.errors import ParameterError

_MOST_PAIRS = 2**28
_BLOCK_PAIRS = 2**22
_LEAST_EIGENVALUE = 1e-10


@dataclass(frozen=True)
class NoiseScore:
    """Minus the log-likelihood of a pair, but for a constant; both files in units of the noise."""

    original: Floats
    masked: Floats
    truth: Positions

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        """Half the squared distance of each pair."""
        apart = self.original[records] - self.masked[candidates]
        half: Floats = np.einsum("ij,ij->i", apart, apart) / 2
        return half

    def credit_anywhere(self, records: Positions) -> Floats:
        """Credit of the likeliest masked record."""
        return nearest_credit(self.original[records], self.masked, self.truth[records])


def noise_score(files: Files, proportion: float, *, correlated: bool = False) -> NoiseScore:
    """The score of an intruder who knows the noise; parameters as in ``noise_linkage``."""
    if not np.isfinite(proportion) or proportion <= 0:
        raise ParameterError(
            "the noise is not described",
            where="proportion k",
            expected="a finite number greater than 0",
            got=f"{proportion}",
            fix="give k as it was published",
        )
    return NoiseScore(*_in_units_of_noise(files, proportion, correlated), files.truth)


def noise_linkage(files: Files, proportion: float, *, correlated: bool = False) -> Linkage:
    """Link each record x to the masked record x' with the greatest p(x' | x)/p(x').

    Parameters
    ----------
    files : Files
    proportion : float
        k, variance of the noise as a share of the attribute's; greater than 0.
    correlated : bool
        Whether the noise has the covariances of the data, k·Cov(X), or is independent on each attribute.

    Raises
    ------
    ParameterError
        If k is not a finite number greater than 0.

    Notes
    -----
    p(x' | x) is normal with the noise's covariance. p(x') is its mean over the original records where the intruder has
    them all; else over the masked ones shrunk towards their mean by √(1+k), which have the originals' mean and
    covariance. Dividing by it spares the intruder the masked records that many others explain as well. For more than
    2²⁸ pairs, p(x') rests on a regular sample of the records.
    """
    score = noise_score(files, proportion, correlated=correlated)
    if files.knows_everybody:
        population = score.original
    else:
        mean = score.masked.mean(axis=0)
        population = mean + (score.masked - mean) / np.sqrt(1 + proportion)
    density = _log_density(score.masked, population)
    # The nearest under |x−x'|² + 2 log p(x') is a nearest point with the second term as the square of a coordinate.
    height = np.sqrt(2 * (density - density.min()))
    ground = np.zeros(len(files.original))
    original, masked = np.column_stack([score.original, ground]), np.column_stack([score.masked, height])
    return linkage(nearest_credit(original, masked, files.truth), len(masked))


def _in_units_of_noise(files: Files, proportion: float, correlated: bool) -> tuple[Floats, Floats]:
    """Both files in coordinates in which the noise is standard normal."""
    known = files.original if files.knows_everybody else files.masked
    share = proportion if files.knows_everybody else proportion / (1 + proportion)
    mean, spread = files.masked.mean(axis=0), known.std(axis=0)
    original, masked = (files.original - mean) / spread, (files.masked - mean) / spread
    if correlated:
        standard = (known - known.mean(axis=0)) / spread
        values, vectors = np.linalg.eigh(np.einsum("ri,rj->ij", standard, standard) / len(known))
        kept = values > _LEAST_EIGENVALUE * values.max()
        axes = vectors[:, kept] / np.sqrt(values[kept])
        original, masked = (np.einsum("ri,ij->rj", table, axes) for table in (original, masked))
    return original / np.sqrt(share), masked / np.sqrt(share)


def _log_density(masked: Floats, population: Floats) -> Floats:
    """Log of the mean of exp(−|x'−x|²/2) over a population, for each masked record."""
    step = -(-len(masked) * len(population) // _MOST_PAIRS)
    population = population[::step]
    density, rows = np.empty(len(masked)), max(1, _BLOCK_PAIRS // len(population))
    for start in range(0, len(masked), rows):
        half = scipy.spatial.distance.cdist(masked[start : start + rows], population, "sqeuclidean") / 2
        least = half.min(axis=1)
        density[start : start + rows] = np.log(np.exp(least[:, None] - half).mean(axis=1)) - least
    return density
