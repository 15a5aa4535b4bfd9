"""Uncertain terms in few words."""

from tasks.request.model import UncertainTerm


def between(low: float, high: float) -> UncertainTerm:
    """A range without a distribution."""
    return UncertainTerm(kind="between", low=low, high=high)


def uniform(low: float, high: float) -> UncertainTerm:
    """Every value as likely as every other."""
    return UncertainTerm(kind="uniform", low=low, high=high)


def log_uniform(low: float, high: float) -> UncertainTerm:
    """Every factor as likely as every other."""
    return UncertainTerm(kind="log-uniform", low=low, high=high)


def points(values: tuple[float, ...], weights: tuple[float, ...]) -> UncertainTerm:
    """A few values with weights."""
    return UncertainTerm(kind="points", values=values, weights=weights)
