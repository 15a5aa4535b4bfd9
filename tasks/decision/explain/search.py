"""Searching a number outwards from its present value for the first that turns the verdict.

The verdict need not be monotone in a term: a higher cost makes fewer records worth an attempt, and for that reason
lets smaller groups be released, whose risk may be too high. So nothing is inferred from the ends of a range.
"""

from collections.abc import Callable, Iterator
from math import ceil, floor, sqrt

from tasks.decision.explain.terms import Term, rounded

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Grid of factors on the present value; its inverses downwards."""
WIDTH = 0.01
"""Relative distance at which a change that turns the verdict and one that does not are near enough."""


def outwards(term: Term, *, up: bool) -> Iterator[float]:
    """Values of the grid, from the present one outwards and within the term's range; each once."""
    last = term.current
    for factor in FACTORS:
        value = _written(term, term.current * factor if up else term.current / factor, up=up)
        value = min(value, term.highest) if up else max(value, term.lowest)
        if value > last if up else 0 < value < last:
            last = value
            yield value


def nearest_flip(term: Term, flips: Callable[[float], bool], *, up: bool) -> float | None:
    """The value nearest to the present one that is found to turn the verdict; None where none of the grid does.

    Between the first value of the grid that turns the verdict and the last before it that does not, the distance is
    halved (on a logarithmic scale) until it is ``WIDTH``; the returned end was itself tried and turns the verdict.
    What turns and turns back between two neighbouring values of the grid is not seen.
    """
    kept = term.current
    for value in outwards(term, up=up):
        if flips(value):
            return _narrowed(term, kept, value, flips)
        kept = value
    return None


def _narrowed(term: Term, kept: float, flipped: float, flips: Callable[[float], bool]) -> float:
    while max(kept, flipped) > min(kept, flipped) * (1 + WIDTH):
        middle = _written(term, sqrt(kept) * sqrt(flipped), up=True)
        if middle in (kept, flipped):
            middle = _written(term, sqrt(kept) * sqrt(flipped), up=False)
        if middle in (kept, flipped):
            break
        if flips(middle):
            flipped = middle
        else:
            kept = middle
    return flipped


def _written(term: Term, value: float, *, up: bool) -> float:
    if term.whole:
        # 1e-9: a product such as 10 * 1.1 must not be lifted to 12.
        return ceil(value - 1e-9) if up else floor(value + 1e-9)
    return rounded(value)
