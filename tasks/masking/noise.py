"""Noise with mean 0 and a published share of the data's variance (Torra 2016, slide 45): X' = X + ε."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.masking.masked import Masked, checked_positive, checked_values


@dataclass(frozen=True)
class AdditiveNoise:
    """Independent normal noise on each attribute, Var(ε) = k·Var(X).

    Parameters
    ----------
    proportion : float
        k, variance of the noise as a share of the attribute's; greater than 0, at most a million.

    Raises
    ------
    ParameterError
        If the proportion is outside its range.

    Notes
    -----
    A reader who knows k recovers Var(X) as Var(X')/(1 + k). Var is the sample variance, with n − 1.
    """

    proportion: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "proportion", checked_positive("proportion", self.proportion, largest=1e6))

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Add noise to an array of shape (n_records, n_attributes).

        Raises
        ------
        ParameterError
            If the values are not a table of at least two records of finite numbers up to ±1e140, or an attribute does
            not vary.
        """
        original = checked_values(values, fewest=2, squared=True, varying=True)
        deviations = np.sqrt(self.proportion) * original.std(axis=0, ddof=1)
        masked = original + generator.standard_normal(original.shape) * deviations
        return Masked(masked, {"method": "additive noise", "proportion": self.proportion})


@dataclass(frozen=True)
class CorrelatedNoise:
    """Normal noise with the covariances of the data, Cov(ε) = k·Cov(X), so that correlations are kept.

    Parameters
    ----------
    proportion : float
        k, covariance of the noise as a share of the data's; greater than 0, at most a million.

    Raises
    ------
    ParameterError
        If the proportion is outside its range.

    Notes
    -----
    A reader who knows k recovers Cov(X) as Cov(X')/(1 + k). Cov is the sample covariance, with n − 1. The noise is
    drawn through the symmetric square root of the correlation matrix, which is unique, and may be singular.
    """

    proportion: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "proportion", checked_positive("proportion", self.proportion, largest=1e6))

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Add noise to an array of shape (n_records, n_attributes).

        Raises
        ------
        ParameterError
            If the values are not a table of at least two records of finite numbers up to ±1e140, or an attribute does
            not vary.
        """
        original = checked_values(values, fewest=2, squared=True, varying=True)
        deviations = original.std(axis=0, ddof=1)
        standard = (original - original.mean(axis=0)) / deviations
        # einsum, not a product of matrices, whose last bits may depend on the number of threads
        correlations = np.einsum("ri,rj->ij", standard, standard) / (len(original) - 1)
        eigenvalues, vectors = np.linalg.eigh(correlations)
        root = np.einsum("ik,k,jk->ij", vectors, np.sqrt(np.maximum(eigenvalues, 0.0)), vectors)
        noise = np.einsum("ri,ij->rj", generator.standard_normal(original.shape), root)
        masked = original + noise * (np.sqrt(self.proportion) * deviations)
        return Masked(masked, {"method": "correlated noise", "proportion": self.proportion})
