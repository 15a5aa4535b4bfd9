"""Intruders who know less than those whom gates judge: p from above alone, some individuals, another schema.

They attack masked numbers alone, and are shown beside the worst case (Torra 2016, slides 21 and 60). They know the
method, but no parameter exactly.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from tasks.assessments.linkage.facts import WeakerFact, link_figure
from tasks.assessments.linkage.holdings import Holdings
from tasks.assessments.linkage.informed import InformedView
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Files, Positions, common_scale, distance_linkage
from tasks.assessments.linkage.within import MaskedPart
from tasks.core.errors import ParameterError
from tasks.request.model import MaskingName

_FEW = 200
"""Individuals whom the intruder holds who does not hold everybody."""
_QUANTILES = np.linspace(0.005, 0.995, 199)


def weaker_intruders(numbers: Holdings, people: Positions, p_at_most: float | None) -> tuple[WeakerFact, ...]:
    """Links of each weaker intruder; none where no number is masked, and without those whose attack cannot be made."""
    found = []
    for title, attack in _intruders(numbers, people, p_at_most) if numbers.parts else ():
        try:
            found.append(WeakerFact(title=title, figure=link_figure(attack())))
        except ParameterError:
            continue
    return tuple(found)


def _intruders(
    numbers: Holdings, people: Positions, p_at_most: float | None
) -> Iterator[tuple[str, Callable[[], Linkage]]]:
    few = people[:: -(-len(people) // _FEW)]
    if len(few) < len(numbers.released):
        yield (
            f"Holds {len(few)} individuals alone, and takes the nearest record",
            partial(distance_linkage, numbers.numbers(few), "masked"),
        )
    yield (
        "Holds columns of other names and units, matched by their distributions",
        partial(other_schema_linkage, numbers.numbers()),
    )
    swapped = any(part.masking.method is MaskingName.RANK_SWAPPING for part in numbers.parts)
    if p_at_most is not None and swapped:
        view = replace(numbers.numbers_view(), parts=tuple(_bounded(part, p_at_most) for part in numbers.parts))
        yield f"Knows that p is at most {p_at_most:g}, one person at a time", partial(view.candidate_linkage, people)
        yield f"Knows that p is at most {p_at_most:g}, everybody at once", partial(_joint, view)


def _joint(view: InformedView) -> Linkage:
    return view.joint_linkage(np.random.default_rng(0))


def _bounded(part: MaskedPart, p_at_most: float) -> MaskedPart:
    """A masking as an intruder takes it to be who knows an upper bound of p in place of p."""
    if part.masking.method is not MaskingName.RANK_SWAPPING:
        return part
    masking = part.masking.model_copy(update={"p": p_at_most})
    return MaskedPart(masking, part.original, part.masked, part.complete, names=part.names, stated=part.stated)


def other_schema_linkage(files: Files) -> Linkage:
    """Link to the nearest record by an intruder who does not know which column of the masked file is which.

    Columns are matched by the squared differences of their standardised quantiles, in all the least.
    """
    before, after = (np.quantile(side, _QUANTILES, axis=0).T for side in common_scale(files, "own"))
    _, column = linear_sum_assignment(((before[:, None] - after[None]) ** 2).sum(axis=2))
    return distance_linkage(replace(files, masked=np.ascontiguousarray(files.masked[:, column])), "own")
