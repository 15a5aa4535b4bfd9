"""Copies held by one party, judged at release: the copy that is to leave beside those that left before.

All are laid on the population of the copy that is to leave and judged like pooled copies that are re-assessed
(``tasks.reassessment.pooling``): its own records, and those of each earlier copy by the gates of that copy's policy,
so that a re-assessment of any of them finds nothing that was not judged here.

Comparing copies also shows who is in one and not in another. Those who are in the same ones of the earlier copies, and
are or are not in the new one, hide among each other alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.candidate.coalition import worst
from tasks.decision.disclosure_rounding import downward, upward
from tasks.decision.gates import judge_gates
from tasks.delivery.kept import Names
from tasks.reassessment.pooling import LaidCopy, held_together
from tasks.reassessment.population import TodaysPopulation
from tasks.reassessment.scoring import TodaysCopy
from tasks.request.model import LARGER_IS_BETTER, Measure, Policy, Recipient, ReleaseRequest

Figures = Mapping[Measure, float]


@dataclass(frozen=True)
class HeldCopy:
    """One of the copies that a party holds."""

    name: str
    """Release and recipient, as reports show them."""
    laid: LaidCopy
    holder: Recipient
    policy: Policy
    """That it was or is decided by."""
    decoyed: bool
    is_released: bool = True
    """Whether it was released, so that it is judged by its own policy."""


def least_class(request: ReleaseRequest) -> int:
    """The fewest people whom the terms leave in a class or show as a count."""
    return max(request.fewest_records, request.policy.small_cell)


def few_changed(people: Names, earlier: Sequence[Names], least: int) -> bool:
    """Whether a new copy adds or removes some people, but fewer than a number, of those that one party holds.

    Those count as one group who are in the same ones of the earlier copies. A group is disclosed where the new copy
    splits so few off that lack in it, or has so few that some earlier copy lacks. Of one earlier copy these are the
    people removed and the people added. Nobody is named twice in one of the copies.
    """
    everybody = np.unique(np.concatenate([people, *earlier]))
    had = np.column_stack([np.isin(everybody, names) for names in earlier])
    has = np.isin(everybody, people)
    groups, group_of = np.unique(had, axis=0, return_inverse=True)
    inside, outside = (np.bincount(group_of.ravel(), weights=part, minlength=len(groups)) for part in (has, ~has))
    removed = (inside > 0) & (outside > 0) & (outside < least)
    added = (inside > 0) & (inside < least) & ~groups.all(axis=1)
    return bool((removed | added).any())


def judged_together(
    own: HeldCopy, others: Sequence[HeldCopy], today: TodaysCopy, ground: TodaysPopulation
) -> tuple[dict[Measure, float], list[str], bool]:
    """Worst figures of a copy's records beside some others, the gates of the others that it would close, and narrowing.

    The last is whether fewer people match some record's cells in all copies than in the copy alone.

    `today` is that of the copy, `ground` as of ``held_together``, which also says what is raised; figures are rounded
    to the worse side where one of the copies has decoys.
    """
    copies = [own, *others]
    holders = list({one.holder.id: one.holder for one in reversed(copies)}.values())
    decoyed = any(one.decoyed for one in copies)
    own_figures: dict[Measure, float] = {}
    narrowed = False
    reported: set[Measure] = set()
    closed = []
    for first in (one for one in copies if one is own or one.is_released):
        policy, by = today.request.policy, first.policy
        terms = {"risk_threshold": by.risk_threshold, "small_cell": by.small_cell}
        request = today.request.model_copy(update={"policy": policy.model_copy(update=terms)})
        rest = [one.laid for one in copies if one is not first]
        figures, cells = held_together([first.laid, *rest], TodaysCopy(request, today.ground), holders, ground)
        if decoyed:
            figures = {measure: _rounded(measure, figure) for measure, figure in figures.items()}
        gates = [gate for gate in by.gates if gate.measure in figures.keys() - reported]
        failed = [gate for gate in judge_gates(gates, figures) if not gate.passed]
        if first is own:
            own_figures, reported, narrowed = figures, {Measure(gate.id) for gate in failed}, cells.narrowed > 0
        else:
            closed += [f"{gate.title}, of release {first.name}: outside its policy's threshold." for gate in failed]
    return own_figures, closed, narrowed


def worst_of(several: Sequence[Figures]) -> dict[Measure, float]:
    """The worst figure of several parties, by measure."""
    return worst(several[0], several[1:]) if several else {}


def _rounded(measure: Measure, figure: float) -> float:
    return downward(figure) if measure in LARGER_IS_BETTER else upward(figure)
