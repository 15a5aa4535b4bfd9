"""The interval of a share."""

import math

CONFIDENCE = 0.95
"""Level of every interval."""


def wilson(correct: float, n: float) -> tuple[float, float]:
    """Score interval of a share (Wilson 1927), not clipped at counts of 0 or n.

    ``correct`` is 0 to n; shared ties make it fractional, and the interval is then wide rather than narrow.

    >>> tuple(round(end, 4) for end in wilson(8, 10))
    (0.4902, 0.9433)
    """
    from scipy.special import ndtri  # noqa: PLC0415  the service shows intervals seldom

    z2 = float(ndtri(0.5 + CONFIDENCE / 2)) ** 2
    share = correct / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At 0 and n an end is the share itself, but for the last digit.
    return min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share)
