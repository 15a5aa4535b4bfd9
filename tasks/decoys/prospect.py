"""Decoys that a release could have, before they are asked for: room, recipients, costs.

Nothing here is a release's own: its decoys differ from those of a release under the same request.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tasks.candidate.candidate import Candidate, Randomness
from tasks.core.errors import ParameterError, StageFailed
from tasks.decoys.assignment import even_hands
from tasks.decoys.classes import sums_of
from tasks.decoys.decoy_cells import RiskBand, find_decoy_cells, offered, ranked
from tasks.decoys.origins import Origins, rosters_of
from tasks.decoys.planning import CopyToMark, axes_of, copies_to_mark, minimum_class, missing_limit, of_others, plan
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.kanonymity.optimum import search
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Tuples
from tasks.request.model import DecoyPolicy

MINIMA = (2, 5, 10, 20, 50)
LIMITS = (0.0, 0.02, 0.05, 0.1, 0.15)
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Shares of the candidates below the risk factors that are given."""
SAMPLES = 5
_SIZES = 10
"""Multiples of k that class sizes are counted in."""
RATIOS = (1, 2, 4)
"""Kept classes a decoy, t, that costs are worked out for."""

Limit = Literal["candidates", "real classes", "classes that look alike", "budget"]


@dataclass(frozen=True)
class Room:
    """Room for decoys in the cells of one lattice node."""

    k: int
    """Smallest class, released or decoy."""
    suppression_limit: float
    """Share of the records that may be suppressed, 0 to 1, under which a search chose the node."""
    levels: tuple[int, ...]
    classes: int
    """Released classes, #EQ in D'."""
    close_to_minimum: int
    """Released classes Q with k ≤ |Q| ≤ k + ⌈k/10⌉, the paper's closeToK, among which a decoy of k records does not
    stand out. The bound is lost in print and restored."""
    suppressed_records: int
    records: int
    """Number of records of the data, the suppressed ones included."""
    least_linked: int | None
    """Fewest people whom a released class links to, minLink; None where no class links to any person."""
    published: int
    """Candidates as the paper has them, k ≤ |E'| < minLink: cells left over by the released classes."""
    published_people: int
    riskier: int
    """Published candidates without any original record, the suppressed records included."""
    in_band: int
    """Cells without any original record, of k people or more, whose risk factor lies in the band."""
    factors: tuple[float, ...]
    """Risk multiplication factors of the paper's candidates at ``QUANTILES``, its Figure 2; empty without any."""
    sizes: tuple[int, ...]
    """Released classes of k to 2k − 1 records, of 2k to 3k − 1, … and the last of 10k or more, its Figure 3."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of one figure over samples."""

    mean: float
    deviation: float


@dataclass(frozen=True)
class SampledRoom:
    """Room in uniform samples of the population, as many people as the data have records; the paper's own trials."""

    k: int
    suppression_limit: float
    samples: int
    """Samples that the setting could be met in."""
    least_linked: Spread
    published: Spread
    published_people: Spread
    classes: Spread
    close_to_minimum: Spread


@dataclass(frozen=True)
class Supported:
    """Most recipients of one generalization, and what limits their number."""

    recipients: int
    limit: Limit


@dataclass(frozen=True)
class RatioCost:
    """Records that the worst-off copy would miss, at one ratio; None where no choice exists or the search failed."""

    ratio: int
    optimal: int | None
    proven: bool
    """Whether no choice misses fewer."""
    why_not: str = ""
    """Reason that the optimal choice is not possible."""


def room_table(candidate: Candidate, band: RiskBand) -> tuple[Room, ...]:
    """Room for decoys in optimal k-anonymous releases of the data, over k and suppression: the paper's Tables 4 and 5.

    Settings that no generalization meets are left out.
    """
    return _rooms(candidate.index, candidate.index.data.codes[candidate.prepared.tuple_of_record], band)


def sampled_rooms(
    candidate: Candidate, band: RiskBand, generator: np.random.Generator, samples: int = SAMPLES
) -> tuple[SampledRoom, ...]:
    """Tables 4 and 5 with their spread: room in random samples of the population, each of as many as the data hold."""
    index, found = candidate.index, defaultdict[tuple[int, float], list[Room]](list)
    people = index.population
    size = min(len(candidate.prepared.tuple_of_record), people.total)
    for _ in range(samples):
        counts = generator.multivariate_hypergeometric(people.counts, size, method="marginals")
        drawn = counts > 0
        data = Tuples(people.codes[drawn], counts[drawn].astype(np.int64), people.keys[drawn])
        for room in _rooms(replace(index, data=data), np.repeat(data.codes, data.counts, axis=0), band):
            found[room.k, room.suppression_limit].append(room)
    return tuple(
        SampledRoom(k, limit, len(rooms), *(_spread(rooms, name) for name in _SPREAD))
        for (k, limit), rooms in sorted(found.items())
    )


_SPREAD = "least_linked", "published", "published_people", "classes", "close_to_minimum"


def _spread(rooms: Sequence[Room], name: str) -> Spread:
    values = [getattr(room, name) or 0 for room in rooms]
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


def _rooms(index: CountIndex, codes: Codes, band: RiskBand) -> tuple[Room, ...]:
    rows = []
    for k in MINIMA:
        for limit in LIMITS:
            with suppress(StageFailed, ParameterError):
                rows.append(room_at(index, search(codes, index.hierarchies, k, limit, "loss").levels, k, band, limit))
    return tuple(rows)


def room_at(index: CountIndex, levels: Sequence[int], k: int, band: RiskBand, suppression_limit: float = 1.0) -> Room:
    """Room for decoys at one node."""
    chosen = np.asarray(levels, dtype=np.int32)
    sizes = [hierarchy.axis_length for hierarchy in index.hierarchies]
    cells = [
        cell_numbers(cells_at(part.codes, chosen, index.hierarchies), sizes) for part in (index.data, index.population)
    ]
    every, counts = np.unique(np.concatenate(cells)), (index.data.counts, index.population.counts)
    records, people = (sums_of(weights, numbers, every) for weights, numbers in zip(counts, cells, strict=True))
    released, empty = records >= k, records == 0
    linked = people[released & (people > 0)]
    least = int(linked.min(initial=np.iinfo(np.int64).max))
    candidates = (people >= k) & (people < least) & bool(len(linked))
    riskier = people[candidates & ~released]
    in_band = empty & (people >= k) & band.holds(least / np.maximum(people, 1)) & bool(len(linked))
    return Room(
        k=k,
        suppression_limit=suppression_limit,
        levels=tuple(int(level) for level in levels),
        classes=int(released.sum()),
        close_to_minimum=int((released & (records <= k + -(-k // 10))).sum()),
        suppressed_records=int(records[~released].sum()),
        records=index.data.total,
        least_linked=least if len(linked) else None,
        published=int((candidates & ~released).sum()),
        published_people=int(people[candidates & ~released].sum()),
        riskier=int((candidates & empty).sum()),
        in_band=int(in_band.sum()),
        factors=tuple(np.quantile(least / riskier, QUANTILES).tolist()) if len(riskier) else (),
        sizes=tuple(np.bincount(np.minimum(records[released] // k, _SIZES) - 1, minlength=_SIZES).tolist()),
    )


def supported(candidates: Sequence[Candidate], one: CopyToMark, generator: np.random.Generator) -> Supported:
    """Most recipients whose copies are generalized as this one's; a ParameterError where no cell is fit for a decoy.

    What the optimal choice costs is worked out anew for each number of recipients, since a release offers as many cells
    as are asked for. Where cells overlap, classes can bar one another by their origin: fewer may then be supported.
    """
    first, copies = candidates[0], copies_to_mark(candidates)
    policy, cells = first.request.policy.decoys, find_decoy_cells(one.release, minimum_class(first))
    forms = {other.form: other.release for other in copies}
    tables = [release.classes for release in forms.values()]
    origins = Origins(axes_of(first), rosters_of(list(forms.values())))
    barred = of_others(cells, list(forms).index(one.form), list(enumerate(tables)), origins)
    ratio = policy.kept_per_decoy
    order = ranked(cells, one.band, generator, ratio=ratio, barred=barred)
    seed = int(generator.integers(2**62))
    without, budget = any(not other.classes for other in copies), missing_limit(copies, policy)

    def offer(recipients: int) -> np.ndarray:
        most = recipients * one.classes
        return offered(
            cells, order, np.random.default_rng(seed), most=most, ratio=ratio, by_people=one.band.blends
        ).records

    def affordable(recipients: int) -> bool:
        sizes = offer(recipients)
        # A recipient without decoys misses every kept class; the others all but their own.
        own = 0 if without else min(sum(hand) for hand in even_hands(sizes, [one.classes] * recipients))
        return ratio * (int(sizes.sum()) - own) <= budget

    most = len(offer(len(order))) // one.classes
    few = bisect_left(range(1, most + 1), True, key=lambda recipients: not affordable(recipients))
    if few < most:
        return Supported(few, "budget")
    if len(order) // one.classes <= most:
        return Supported(most, "candidates")
    scarce = len(cells.real) // (ratio * one.classes) <= most
    return Supported(most, "real classes" if scarce else "classes that look alike")


def ratio_costs(
    candidates: Sequence[Candidate], generators: Randomness, ratios: Sequence[int] = RATIOS
) -> tuple[RatioCost, ...]:
    """Records that the worst-off copy would miss, by ratio, with the policy's limit lifted."""
    first, copies, found = candidates[0], copies_to_mark(candidates), []
    for ratio in ratios:
        policy = DecoyPolicy(kept_per_decoy=ratio, missing_limit=1.0, seats=first.request.policy.decoys.seats)
        try:
            made = plan(copies, axes_of(first), policy, minimum_class(first), generators("plan")).found
        except (ParameterError, StageFailed) as error:
            found.append(RatioCost(ratio, None, proven=False, why_not=error.what))
        else:
            found.append(RatioCost(ratio, made.worst_missing, made.status == "optimal"))
    return tuple(found)
