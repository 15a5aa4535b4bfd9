"""The per-record games at many stakes at once: what the publisher earns, what is attacked, how much is generalized.

Each point's choice is that of ``tasks.generalization.exact.solve``. For each tuple it is one of two strategies: the
best of those that are not attacked, which depends on the safe group alone, and the best of the others, which depends on
V/L alone. Both are looked up in tables over the distinct ratios, and compared at every point.

Source: Wan et al. 2015, Figs. 8 to 11. Group sizes are those that the game goes by, n_p; what a recipient who knows the
rule makes of them is measured on the release itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats
from tasks.generalization.sensitivity.envelope import Envelopes, envelopes
from tasks.generalization.sensitivity.staircase import Staircases
from tasks.generalization.sensitivity.terms import Stakes
from tasks.microdata.tuples import Counts

_TABLE_CELLS = 2_000_000
_TIE = 1e-12
"""Payoffs over V that are nearer than this are equal."""

Nodes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Means:
    """Means over the records at each point, shape (n_points,); NaN where some record has no strategy."""

    kept: Floats
    """Share of information kept, 0 to 1."""
    reidentified: Floats
    """Probability of re-identification, 0 where a record is not attacked."""
    attacked: Floats
    """Share of the records that are worth attacking."""
    intensity: Floats
    """Generalization intensity GI, 0 to 1."""
    specific: Floats
    """Share of the records released in full detail."""

    def publisher(self, stakes: Stakes) -> Floats:
        """Publisher's payoff, units a record."""
        earned: Floats = stakes.benefit * self.kept - stakes.loss * self.reidentified
        return earned

    def adversary(self, stakes: Stakes) -> Floats:
        """Recipient's payoff, units a record."""
        earned: Floats = stakes.gain * self.reidentified - stakes.cost * self.attacked
        return earned

    def select(self, points: NDArray[np.intp]) -> "Means":
        """Some points."""
        return Means(*(getattr(self, field.name)[points] for field in fields(self)))


def sweep(stairs: Staircases, stakes: Stakes, rule: Rule = Rule.BASIC) -> Means:
    """Outcome of a per-record game at each point.

    Parameters
    ----------
    stairs : Staircases
        Made with a floor for SH-Friendly.
    stakes : Stakes
    rule : Rule

    Raises
    ------
    ParameterError
        If a point's safe group is larger than the staircases reach.
    """
    ratios, safe, place = _distinct_points(stairs, stakes, rule)
    sums = np.zeros((len(fields(Means)), len(ratios)))
    for part in _parts(stairs, envelopes(stairs), ratios, safe, rule):
        sums[:, part.points] += part.sums()
    return Means(*(sums[:, place] / stairs.total))


def _distinct_points(stairs: Staircases, stakes: Stakes, rule: Rule) -> tuple[Floats, Counts, NDArray[np.intp]]:
    """Distinct pairs of V/L and safe group, by safe group, and the pair of each point."""
    if len(stakes) and stakes.safe.max() > stairs.largest_safe:
        raise ParameterError(
            "a point asks about larger groups than were looked at",
            where="gain over cost",
            expected=f"at most {stairs.largest_safe:,} people",
            got=f"{int(stakes.safe.max()):,}",
            fix="make the staircases for the largest safe group of all points",
        )
    # Without attacks V/L changes no choice.
    ratio = np.ones(len(stakes)) if rule is Rule.NO_ATTACK else stakes.ratio
    pairs, place = np.unique(np.column_stack([stakes.safe.astype(np.float64), ratio]), axis=0, return_inverse=True)
    return pairs[:, 1], pairs[:, 0].astype(np.int64), place.ravel()


@dataclass(frozen=True, eq=False)
class _Part:
    """Some staircases at the points of one safe group; tables of shape (n_points, n_owners)."""

    stairs: Staircases
    owners: slice
    points: NDArray[np.intp]
    safe_step: NDArray[np.intp]
    """Best step that is not attacked, shape (n_owners,)."""
    has_safe: NDArray[np.bool_]
    attacked: NDArray[np.bool_]
    """Whether the attacked step is chosen."""
    attacked_step: NDArray[np.intp]
    possible: NDArray[np.bool_]
    """Whether there is a strategy, shape (n_owners,)."""

    def nodes(self) -> Nodes:
        own = np.where(self.has_safe, self.stairs.nodes[self.safe_step], -1)
        return np.where(self.attacked, self.stairs.nodes[self.attacked_step], own)

    def sums(self) -> Floats:
        """Sums over the records, in the order of the fields of ``Means``; shape (5, n_points)."""
        stairs, records = self.stairs, self.stairs.records[self.owners]
        if not self.possible.all():
            return np.full((len(fields(Means)), len(self.points)), np.nan)
        step = np.where(self.attacked, self.attacked_step, self.safe_step)
        hit = self.attacked * records
        return np.stack(
            [
                stairs.kept[step] @ records,
                (hit / stairs.people[step]).sum(axis=1),
                hit.sum(axis=1),
                stairs.intensity[step] @ records,
                (stairs.nodes[step] == 0) @ records,
            ]
        )


def _parts(stairs: Staircases, hulls: Envelopes, ratios: Floats, safe: Counts, rule: Rule) -> Iterator[_Part]:
    columns, column = np.unique(ratios, return_inverse=True)
    sizes, size = np.unique(safe, return_inverse=True)
    width = max(1, _TABLE_CELLS // max(len(columns), len(sizes), 1))
    for start in range(0, len(stairs), width):
        owners = slice(start, min(start + width, len(stairs)))
        best_safe, exists = _safe_steps(stairs, owners, sizes)
        risky = _risky_steps(hulls, owners, columns)
        for number, smallest in enumerate(sizes):
            points = np.flatnonzero(size == number)
            own, has = best_safe[number], exists[number]
            if rule is Rule.NO_ATTACK:
                none = np.zeros((len(points), len(own)), dtype=np.bool_)
                yield _Part(stairs, owners, points, own, has, none, np.broadcast_to(own, none.shape), has)
                continue
            steps = risky[column[points]]
            attacked = _attack_chosen(stairs, ratios[points], int(smallest), (own, has), steps)
            yield _Part(stairs, owners, points, own, has, attacked, steps, np.ones(len(own), dtype=np.bool_))


def _safe_steps(stairs: Staircases, owners: slice, sizes: Counts) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """First step whose group is safe, by safe size and staircase, and whether there is one."""
    starts, ends = stairs.starts[owners], stairs.starts[1:][owners]
    people = stairs.people[starts[0] : ends[-1]]
    passed = _counts_above(np.searchsorted(sizes, people, side="right"), starts, ends, len(sizes), rising=True)
    steps = starts + passed
    return np.minimum(steps, ends - 1), steps < ends


def _risky_steps(hulls: Envelopes, owners: slice, ratios: Floats) -> NDArray[np.intp]:
    """Best step if all are attacked, by ratio and staircase."""
    starts, ends = hulls.starts[owners], hulls.starts[1:][owners]
    place = np.searchsorted(ratios, hulls.breaks[starts[0] : ends[-1]], side="left")
    steps: NDArray[np.intp] = hulls.steps[starts + _counts_above(place, starts, ends, len(ratios), rising=False)]
    return steps


def _counts_above(
    place: NDArray[np.intp], starts: NDArray[np.intp], ends: NDArray[np.intp], size: int, *, rising: bool
) -> NDArray[np.intp]:
    """Entries of each owner whose place is at most (rising) or greater than each position; shape (size, n_owners)."""
    owner = np.repeat(np.arange(len(starts)), ends - starts)
    counts = np.bincount(place * len(starts) + owner, minlength=(size + 1) * len(starts)).reshape(size + 1, -1)
    upto: NDArray[np.intp] = np.cumsum(counts, axis=0)[:size]
    return upto if rising else (ends - starts) - upto


def _attack_chosen(
    stairs: Staircases,
    ratios: Floats,
    smallest: int,
    safe: tuple[NDArray[np.intp], NDArray[np.bool_]],
    steps: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Whether the attacked step pays more than the safe one, or as much and comes first."""
    own, has = safe
    people = stairs.people[steps]
    kept = np.where(has, stairs.kept[own], -np.inf)
    more = stairs.kept[steps] - kept - 1.0 / (people * ratios[:, None])
    chosen: NDArray[np.bool_] = more > _TIE
    near = np.abs(more) <= _TIE
    if near.any():
        chosen |= near & (stairs.nodes[steps] < stairs.nodes[own])
    return chosen & (people < smallest)
