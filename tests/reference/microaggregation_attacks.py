"""Attacks on microaggregation that the gate does not make: running the method again, and brackets of values."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from tasks.assessments.linkage.problem.figure import Floats, Linkage
from tasks.assessments.linkage.problem.files import Files
from tasks.assessments.linkage.within import distance_score, linkage_within, truth_inside
from tasks.core.errors import ParameterError
from tasks.masking.method import MaskedRange
from tasks.masking.microaggregation import IndividualRanking

Remask = Callable[[Floats, int], Floats]
"""Masked values of one block, given its original values, shape (n_records, n_block_attributes), and its number."""


_ROUNDING = 1e-9


def rerun_linkage(files: Files, blocks: Sequence[Sequence[int]], remask: Remask) -> Linkage:
    """Run the method again on the original file, and link each record to the masked records that it gives.

    Parameters
    ----------
    files : Files
        The intruder holds everybody; of some attributes only, perhaps.
    blocks : sequence of sequences of int
        Attributes that were masked together, by position in the file.
    remask : callable
        The method, which is deterministic. It is run on the blocks that the intruder knows in full; on the other known
        attributes, and among records that share their groups, distance decides.

    Raises
    ------
    ParameterError
        If the intruder does not hold everybody, an attribute is in two blocks, or the method returns another table than
        it was given.

    Notes
    -----
    Values are equal within 1e-9 standard deviations. Where records are equally far apart the groups depend on the order
    of the records; the intruder is taken to have the publisher's.
    """
    if not files.knows_everybody:
        raise _refused(
            "the intruder's file", "all records, on which the method can be run", "some of them", "try bracketing"
        )
    listed = [attribute for block in blocks for attribute in block]
    if len(set(listed)) < len(listed):
        raise _refused("blocks", "each attribute in one block at most", "one in two", "give the method's own blocks")
    column = {int(name.split()[-1]) - 1: place for place, name in enumerate(files.names)}
    low, high = np.full_like(files.original, -np.inf), np.full_like(files.original, np.inf)
    for number, block in enumerate(blocks):
        if all(attribute in column for attribute in block):
            places = [column[attribute] for attribute in block]
            predicted = np.asarray(remask(files.original[:, places], number), dtype=np.float64)
            if predicted.shape != (len(files.original), len(places)) or not np.isfinite(predicted).all():
                raise _refused(
                    f"block {number + 1}", "a masked value of each original one", "another table", "correct the method"
                )
            slack = _ROUNDING * files.masked[:, places].std(axis=0)
            low[:, places], high[:, places] = predicted - slack, predicted + slack
    return linkage_within(files, MaskedRange(low, high), distance_score(files))


def bracketing_linkage(files: Files, by: Literal["rank", "value"] | None = None) -> Linkage:
    """Link each record within the groups of individual ranking that its values must have been in.

    Parameters
    ----------
    files : Files
    by : {"rank", "value"}, optional
        ``"rank"`` for an intruder who holds everybody, ``"value"`` for one who does not; chosen so where not given.

    Raises
    ------
    ParameterError
        If ``"rank"`` is asked for with some individuals only, or the masked file was not made by individual ranking.
    """
    if by == "rank" and not files.knows_everybody:
        raise _refused("by", "“value” for an intruder with some individuals", "“rank”", "leave it out")
    by_rank = by == "rank" or (by is None and files.knows_everybody)
    bounds = (rank_brackets if by_rank else value_brackets)(files.original, files.masked)
    if not truth_inside(files, bounds).all():
        raise _refused("the masked file", "means of individual ranking", "others", "give the method's own file")
    return linkage_within(files, bounds, distance_score(files))


def rank_brackets(original: Floats, masked: Floats) -> MaskedRange:
    """Group means at the ranks of each value in the intruder's own file, which lists everybody."""
    bounds = IndividualRanking(2).bounds(original, masked, complete=True)
    assert bounds is not None
    return bounds


def value_brackets(original: Floats, masked: Floats) -> MaskedRange:
    """The largest group mean below and the smallest above each value.

    A group beyond them would hold the value on the wrong side of a mean in between. A value that equals a mean may be
    in either neighbour of that group, too, where the group is all equal.
    """
    low, high = np.empty_like(original), np.empty_like(original)
    for axis, (before, after) in enumerate(zip(original.T, masked.T, strict=True)):
        means, slack = np.unique(after), _ROUNDING * after.std()
        below = np.searchsorted(means, before - slack, "left") - 1
        above = np.searchsorted(means, before + slack, "right")
        low[:, axis] = means[np.maximum(below, 0)]
        high[:, axis] = means[np.minimum(above, len(means) - 1)]
    return MaskedRange(low, high)


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError(
        "the attack on microaggregation cannot be run", where=where, expected=expected, got=got, fix=fix
    )
