"""Decoys that a release could have, before they are asked for: room, recipients, costs.

Nothing here is a release's own: its decoys differ from those of a release under the same request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.core.errors import ParameterError, StageFailed
from tasks.decoys.candidates import RiskBand, find_candidates
from tasks.decoys.capacity import Limit, Supported, recipients_supported
from tasks.decoys.feasibility import Setting, TableRow, counted, feasibility_table
from tasks.decoys.offer import first_of, ranked, real_classes
from tasks.decoys.planting import Asked, missing_limit, of_others, plan
from tasks.decoys.removal import Ground, ground
from tasks.decoys.stage import Copies
from tasks.generalization.kanonymity.optimum import search
from tasks.request.model import DecoyPolicy

MINIMA = (3, 5, 10, 15)
"""Least class sizes k of the table."""
LIMITS = (0.0, 0.01, 0.05)
"""Suppression limits of the table."""
RATIOS = (1, 2, 4)
"""Kept classes a decoy, t, that costs are worked out for."""

Generators = Callable[[str], np.random.Generator]


@dataclass(frozen=True)
class Cost:
    """Records that the worst-off copy would miss, at one ratio; None where no choice exists or the search failed."""

    ratio: int
    optimal: int | None
    proven: bool
    """Whether no choice misses fewer."""
    why_not: str = ""
    """Why the optimal choice is not possible."""


def room(copies: Copies, band: RiskBand) -> tuple[TableRow, ...]:
    """Room for decoys in optimal k-anonymous releases of the data, over k and suppression: the paper's Tables 4 and 5.

    Settings that no generalization meets are left out.

    Parameters
    ----------
    copies : Copies
    band : RiskBand
        Risk multiplication factors that decoys may have.
    """
    table = copies.table
    codes = table.data.codes[copies.prepared.tuple_of_record]
    settings = []
    for minimum in MINIMA:
        for limit in LIMITS:
            try:
                found = search(codes, table.hierarchies, minimum, limit, "loss")
            except (StageFailed, ParameterError):
                continue
            settings.append(Setting(minimum, limit, found.levels))
    counts = counted(table.data, table.population, table.hierarchies, table.records, table.people)
    return feasibility_table(counts, settings, band)


def supported(copies: Copies, one: Asked, generator: np.random.Generator) -> Supported:
    """Most recipients whose copies are generalized as this one's.

    A release offers as many cells as are asked for (``tasks.decoys.offer``), so what the optimal choice costs is worked
    out anew for each number of recipients; with more cells on offer it would be less than the release then finds.

    Raises
    ------
    ParameterError
        If there is no candidate at all.
    """
    policy, candidates = copies.request.policy.decoys, find_candidates(one.release, copies.minimum)
    files = {asked.form: real_classes(asked.release) for asked in copies.asked}
    barred = of_others(candidates, list(files.values()), copies.axes)
    ratio = policy.kept_per_decoy
    order = ranked(one.release, candidates, one.band, generator, ratio=ratio, barred=barred)
    seed = int(generator.integers(2**62))

    def place(most: int) -> Ground:
        table = first_of(one.release, candidates, order, np.random.default_rng(seed), most=most, ratio=ratio)
        return ground([files[one.form]], [table], copies.axes)

    def possible(recipients: int, budget: int | None) -> bool:
        cells = recipients * one.classes
        made = place(cells)
        if len(made.offered) < cells:
            return False
        # A recipient without decoys misses every kept class.
        if budget is not None and without and ratio * made.offered.total > budget:
            return False
        found = recipients_supported(made, one.classes, ratio, budget=budget)
        return found.recipients >= recipients

    without = any(not asked.classes for asked in copies.asked)
    most = recipients_supported(place(len(order)), one.classes, ratio)
    budget, least = missing_limit(copies.asked, policy), ratio * one.classes * int(one.release.classes.sizes.min())
    affordable = budget // least + (not without)
    ceiling = min(most.recipients, affordable)
    fewest, too_many = 0, ceiling + 1
    while too_many - fewest > 1:
        middle = (fewest + too_many) // 2
        fewest, too_many = (middle, too_many) if possible(middle, budget) else (fewest, middle)
    if fewest == most.recipients:
        return most
    limit: Limit = "budget" if fewest == ceiling or possible(too_many, None) else "classes that look alike"
    return Supported(fewest, limit)


def costs(copies: Copies, generators: Generators, ratios: Sequence[int] = RATIOS) -> tuple[Cost, ...]:
    """Records that the worst-off copy would miss, by ratio, with the policy's limit lifted."""
    found = []
    for ratio in ratios:
        policy = DecoyPolicy(kept_per_decoy=ratio, missing_limit=1.0, seats=copies.request.policy.decoys.seats)
        try:
            made = plan(copies.asked, copies.axes, policy, copies.minimum, generators("plan"))
        except (ParameterError, StageFailed) as error:
            found.append(Cost(ratio, None, proven=False, why_not=error.what))
            continue
        found.append(Cost(ratio, made.found.worst_missing, made.found.status == "optimal"))
    return tuple(found)
