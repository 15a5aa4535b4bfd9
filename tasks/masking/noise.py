"""Noise with mean 0 and a published share of the data's variance (Torra 2016, slide 45): X' = X + ε."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.masking.method import Effect, Floats, Masked, MaskingMethod, Strengths, checked_values
from tasks.request.model import MaskingName


@dataclass(frozen=True)
class AdditiveNoise(MaskingMethod):
    """Independent normal noise on each attribute, Var(ε) = k·Var(X).

    ``proportion`` is k, above 0, at most a million. A reader recovers Var(X), with n − 1, as Var(X')/(1 + k).
    """

    name = MaskingName.ADDITIVE_NOISE
    title = "Additive noise"
    plain = "a random amount added to each"
    derived = "how likely each difference of original and masked value is, attribute by attribute"
    strengths = Strengths((0.01, 0.05, 0.1, 0.25, 0.5, 1.0), 1e-6, 1e6)
    effect = Effect.NOISE
    parameter_words = (("proportion", "variance of the noise {} times that of the attribute"),)

    proportion: float

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Add noise to at least two records of finite numbers up to ±1e140 that vary; else ParameterError."""
        original = checked_values(values, fewest=2, squared=True, varying=True)
        deviations = original.std(axis=0, ddof=1)
        noise = self._standard_noise(original, deviations, generator)
        masked = original + noise * (np.sqrt(self.proportion) * deviations)
        return Masked(masked, {"method": self.title.lower(), "proportion": self.proportion})

    def _standard_noise(self, original: Floats, _deviations: Floats, generator: np.random.Generator) -> Floats:
        """Noise of variance 1."""
        return generator.standard_normal(original.shape)


@dataclass(frozen=True)
class CorrelatedNoise(AdditiveNoise):
    """Normal noise with the covariances of the data, Cov(ε) = k·Cov(X), so that correlations are kept.

    Cov is the sample covariance, with n − 1, which a reader who knows k recovers as Cov(X')/(1 + k). The noise is drawn
    through the symmetric square root of the correlation matrix, which is unique, and may be singular.
    """

    name = MaskingName.CORRELATED_NOISE
    title = "Correlated noise"
    plain = "a random amount added to each"
    derived = "how likely each difference of original and masked record is, over all masked attributes together"
    effect = Effect.JOINT_NOISE

    def _standard_noise(self, original: Floats, deviations: Floats, generator: np.random.Generator) -> Floats:
        standard = (original - original.mean(axis=0)) / deviations
        # einsum, not a product of matrices, whose last bits may depend on the number of threads
        correlations = np.einsum("ri,rj->ij", standard, standard) / (len(original) - 1)
        eigenvalues, vectors = np.linalg.eigh(correlations)
        root = np.einsum("ik,k,jk->ij", vectors, np.sqrt(np.maximum(eigenvalues, 0.0)), vectors)
        return np.asarray(np.einsum("ri,ij->rj", generator.standard_normal(original.shape), root))
