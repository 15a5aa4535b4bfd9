"""Estimates of how many people of a population are unique, from the sizes of the classes of a sample of it.

Three models for files without a population table: Zayatz, Pitman, and the slide negative binomial (SNB), and the rule
by which Dankar et al. choose among them. Nothing is known here of columns or records.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, root
from scipy.special import digamma, expit, gammaln

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

LARGEST_PITMAN_FRACTION = 0.1
"""Sampling fraction up to which Pitman's estimate is taken (Dankar et al. 2012)."""
_RESIDUAL = 1e-6
_STARTS = ((0.1, 0.1), (1.0, 0.5), (0.01, 0.01), (5.0, 0.9), (0.5, 0.001))


@dataclass(frozen=True)
class ClassSizes:
    """Classes of a sample by their size, and the sampling fraction."""

    sizes: Counts
    """Sizes that occur, ascending."""
    classes: Counts
    """Classes of each size."""
    fraction: float
    """Sampling fraction π, above 0 and at most 1."""

    @classmethod
    def of(cls, classes: Counts, fraction: float) -> "ClassSizes":
        """From the number of records of every class."""
        sizes, counts = np.unique(classes, return_counts=True)
        return cls(sizes.astype(np.int64), counts.astype(np.int64), fraction)

    @property
    def records(self) -> int:
        """Records of the sample, n."""
        return int(self.sizes @ self.classes)

    @property
    def people(self) -> int:
        """People of the population, N."""
        return max(self.records, round(self.records / self.fraction))

    def of_size(self, size: int) -> int:
        """Classes of one size."""
        return int(self.classes[self.sizes == size].sum())


@dataclass(frozen=True)
class UniquePeople:
    """Share of the population that is unique, by each model."""

    pitman: float | None
    """None where the model cannot be fitted."""
    zayatz: float
    snb: float | None
    chosen: str
    """Model that the decision rule takes."""

    def share_by(self, model: str) -> float | None:
        """The estimate of a model; None where it cannot be fitted."""
        return {"pitman": self.pitman, "zayatz": self.zayatz, "snb": self.snb}[model]

    @property
    def share(self) -> float:
        """The chosen estimate."""
        return float(self.share_by(self.chosen) or 0.0)


def unique_people(given: ClassSizes) -> UniquePeople:
    """Share of the population that is unique, which is the expected share of the sample that is so as well.

    Notes
    -----
    Dankar, El Emam, Neisa & Roffey 2012: Pitman's estimate up to a sampling fraction of 0.1; beyond it the smaller of
    Zayatz's and the SNB's. Where the model that is wanted cannot be fitted, Zayatz's is taken. No estimate exceeds the
    share of the sample that is unique in the sample, which bounds what it estimates.
    """
    alone = given.of_size(1) / given.records
    zayatz, pitman, snb = zayatz_share(given), pitman_share(given), snb_share(given)
    bounded = [None if one is None else min(one, alone) for one in (pitman, snb)]
    if given.fraction <= LARGEST_PITMAN_FRACTION:
        chosen = "zayatz" if pitman is None else "pitman"
    else:
        chosen = "zayatz" if snb is None or zayatz < snb else "snb"
    return UniquePeople(bounded[0], min(zayatz, alone), bounded[1], chosen)


def zayatz_share(given: ClassSizes) -> float:
    """Zayatz's estimate: the sample's classes stand for the population's, and Bayes' rule for what sampling hides.

    Notes
    -----
    Zayatz 1991: P(F = 1 | f = 1) = p₁·P(f = 1 | F = 1) / Σ_j p_j·P(f = 1 | F = j), with p_j the share of the sample's
    classes of size j and f hypergeometric given F; this share of the sample's uniques is unique in the population.
    """
    drawn = _drawn_once(given) * given.classes
    single = drawn[given.sizes == 1].sum()
    return float(given.of_size(1) * single / drawn.sum() / given.records) if single else 0.0


def _drawn_once(given: ClassSizes) -> Floats:
    """P(f = 1 | F = j) for every size j, shape (n_sizes,): j·n/N·Π (N − n − i)/(N − 1 − i) over i from 0 to j − 2."""
    before = np.arange(given.sizes.max(initial=1) - 1)
    others_left = np.cumprod(np.maximum(given.people - given.records - before, 0) / (given.people - 1 - before))
    return np.asarray(given.sizes * (given.records / given.people) * np.append(1.0, others_left)[given.sizes - 1])


def pitman_share(given: ClassSizes) -> float | None:
    """Pitman's sampling formula, fitted by maximum likelihood; None where it cannot be fitted.

    Notes
    -----
    Hoshino 2001, with 0 ≤ α < 1. Hoshino's estimate of the population's uniques, Γ(θ+1)/Γ(θ+α)·N^α, is the limit of the
    expectation N·Γ(θ+1)·Γ(θ+α+N−1)/(Γ(θ+α)·Γ(θ+N)) that is taken here.
    """
    if given.of_size(1) in (0, given.records):
        # With nobody or everybody alone the likelihood has no maximum inside.
        return 1.0 if given.of_size(1) else 0.0
    fitted = fit_pitman(given)
    if fitted is None:
        return None
    theta, alpha = fitted
    ends = gammaln(theta + 1) - gammaln(theta + alpha), gammaln(theta + alpha + given.people - 1)
    return float(np.exp(ends[0] + ends[1] - gammaln(theta + given.people)))


def fit_pitman(given: ClassSizes) -> tuple[float, float] | None:
    """Most likely θ and α of Pitman's sampling formula; None where the search does not end."""
    sizes, classes, records = given.sizes, given.classes, given.records
    steps = np.arange(1.0, classes.sum())

    def loss(point: Floats) -> tuple[float, Floats]:
        """Negative log-likelihood a record and its gradient, by log(θ + α) and α."""
        alpha = float(point[1])
        shifted = float(np.exp(point[0]))
        theta = shifted - alpha
        terms = theta + alpha * steps
        if theta <= -alpha or (len(terms) and terms[0] <= 0):
            return np.inf, np.zeros(2)
        likelihood = (
            np.log(terms).sum()
            - (gammaln(theta + records) - gammaln(theta + 1))
            + float(classes @ (gammaln(sizes - alpha) - gammaln(1 - alpha)))
        )
        by_theta = (1 / terms).sum() - (digamma(theta + records) - digamma(theta + 1))
        by_alpha = (steps / terms).sum() - float(classes @ (digamma(sizes - alpha) - digamma(1 - alpha)))
        gradient = np.array([by_theta * shifted, by_alpha - by_theta])
        return -likelihood / records, -gradient / records

    found = minimize(
        loss,
        np.array([np.log(max(len(steps), 1) / 2 + 1), 0.5]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-12.0, 40.0), (0.0, 1 - 1e-9)],
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-10},
    )
    if not np.isfinite(found.fun):
        return None
    alpha = float(found.x[1])
    return float(np.exp(found.x[0])) - alpha, alpha


def snb_share(given: ClassSizes) -> float | None:
    """The slide negative binomial: class sizes less one are negative binomial; None where it cannot be fitted.

    Notes
    -----
    Chen & Keller-McNulty 1998: α and β such that the expected classes of one and of two are those of the sample, with
    D = (1 − β)(1 − π): E s₁ = K·π·(β/(1−D))^α·(1 + αD/(1−D)) and E s₂ = K·π²/2·α(1−β)β^α·(2 − (1−α)D)/(1−D)^(α+2). K,
    the classes of the population, is Shlosser's estimate. The population's uniques are K·β^α.
    """
    ones, twos, fraction = given.of_size(1), given.of_size(2), given.fraction
    if not ones or not twos or fraction >= 1:
        return ones / given.records if fraction >= 1 or not ones else None
    missed = (1 - fraction) ** given.sizes * given.classes
    drawn = given.sizes * fraction * (1 - fraction) ** (given.sizes - 1) * given.classes
    classes = given.classes.sum() + ones * missed.sum() / drawn.sum()

    def off(point: Floats) -> Floats:
        alpha, beta = np.exp(np.clip(point[0], -40, 40)), expit(point[1])
        hidden = (1 - beta) * (1 - fraction)
        first = classes * fraction * (beta / (1 - hidden)) ** alpha * (1 + alpha * hidden / (1 - hidden))
        second = classes * fraction**2 / 2 * alpha * (1 - beta) * beta**alpha * (2 - (1 - alpha) * hidden)
        return np.array([first / ones - 1, second / (1 - hidden) ** (alpha + 2) / twos - 1])

    # On its way the search may leave the range of doubles; only a point where both equations hold is taken.
    with np.errstate(all="ignore"):
        for alpha, beta in _STARTS:
            found = root(off, np.array([np.log(alpha), np.log(beta / (1 - beta))]))
            if np.abs(off(found.x)).max() < _RESIDUAL:
                share = classes * expit(found.x[1]) ** np.exp(found.x[0]) / given.people
                return float(share) if np.isfinite(share) else None
    return None
