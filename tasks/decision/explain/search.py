"""Searching a number outwards from its present value for the first that changes the verdict.

The verdict need not be monotone in a term: a higher cost makes fewer records worth attacking, and for that reason lets
smaller groups be released, whose risk may be too high. So nothing is inferred from the ends of a range.
"""

from collections.abc import Callable, Iterator
from math import ceil, floor, sqrt

from tasks.decision.explain.terms import Term, rounded

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Grid of factors on the present value; its inverses downwards."""
WIDTH = 0.01
"""Relative distance at which a change that reverses the verdict and one that does not are near enough."""
_NEXT_TO_ZERO = 1e-6


def outwards(term: Term, *, up: bool) -> Iterator[float]:
    """Values of the grid and those to try beside, from the present one outwards and within the term's range."""
    present, least, most = term.current, term.lowest, term.highest
    steps = (present * factor if up else present / factor for factor in FACTORS)
    grid = {min(max(_written(term, step, up=up), least), most) for step in steps} - {0}
    values = grid | {value for value in term.also if least <= value <= most}
    yield from sorted((value for value in values if (value > present if up else value < present)), reverse=not up)


def nearest_flip(term: Term, flips: Callable[[float], bool], *, up: bool) -> float | None:
    """The value nearest to the present one that is found to change the verdict; None where none that is tried does.

    Between the first value that changes the verdict and the last before it that does not, the distance is halved (on a
    logarithmic scale) until it is ``WIDTH``; the returned end was itself tried and changes the verdict. Next to 0
    tenths are tried first. A change that is undone between two neighbouring values is not seen.
    """
    kept = term.current
    for value in outwards(term, up=up):
        if flips(value):
            return _narrowed(term, kept, value, flips)
        kept = value
    return None


def _narrowed(term: Term, kept: float, flipped: float, flips: Callable[[float], bool]) -> float:
    while min(kept, flipped) == 0 and max(kept, flipped) > _NEXT_TO_ZERO:
        tenth = rounded(max(kept, flipped) / 10)
        kept, flipped = (kept, tenth) if flips(tenth) else (tenth, flipped)
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
