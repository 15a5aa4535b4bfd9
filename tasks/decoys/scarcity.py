"""Whether a copy's classes are too large for decoys beside them, as far as it shows before anything is generalized.

A decoy's cell holds no original record. Of cells with n people each, a sample of a share f of the population leaves
about exp(−n·f) without a record. Where the least class of some copy has so many people that few such cells are left,
decoys of that copy are unlike its classes. So are those of finer copies beside it, whose cells lie in no class of it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, isfinite

import numpy as np

from tasks.decoys.planning import CopyToMark
from tasks.generalization.setting import own_follower
from tasks.microdata.coded import Prepared
from tasks.request.model import DIVISIONS, Method, ReleaseRequest

FEW = 0.2
"""Share of cells without a record below which decoys are likely to be too few, or detectable."""
_ALL_SAFE = DIVISIONS - {Method.BASIC_PARTITION} | {Method.NO_ATTACK}


@dataclass(frozen=True)
class Crowding:
    """Number of people whom the classes of some copies link to, and share of such cells left for decoys."""

    recipients: tuple[str, ...]
    people: int
    """People of the least class, or of the median one."""
    empty: float
    """Share of the cells of as many people that hold no record."""


def crowded_copies(request: ReleaseRequest, prepared: Prepared) -> Iterator[Crowding]:
    """Copies whose least class, about, leaves fewer than ``FEW`` of the cells like it empty.

    As far as it follows from the request; none where nobody gets decoys.
    """
    total, least = prepared.population.total, defaultdict[float, list[str]](list)
    share = prepared.data.total / total
    for one in request.recipients if any(each.decoys for each in request.recipients) else ():
        safe = own_follower(request, one, total).safe_group if request.method_for(one) in _ALL_SAFE else 0.0
        people = max(request.fewest_records / share, safe if isfinite(safe) else 0.0)
        least[people].append(one.id)
    for people, recipients in least.items():
        if exp(-people * share) < FEW:
            yield Crowding(tuple(recipients), round(people), exp(-people * share))


def crowding(copies: Sequence[CopyToMark]) -> Iterator[Crowding]:
    """Crowding of the median classes of copies that are made, one for those that are generalized alike."""
    for form, release in {one.form: one.release for one in copies}.items():
        people = float(np.median(release.classes.people))
        share = release.data.counts.sum() / release.population.counts.sum()
        recipients = tuple(one.recipient for one in copies if one.form == form)
        yield Crowding(recipients, round(people), exp(-people * share))
