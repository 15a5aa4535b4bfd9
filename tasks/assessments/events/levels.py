"""Levels of attributes of rows by payoff: generalized less, more rows are withheld because too few people match.

Levels, and the rows of a person that keep them, are stated in the request and are the same in every copy, so that they
tell nothing of a copy's classes. This counts what each choice keeps, for a person to state the best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tasks.assessments.events.assessment import event_values, events_of, people_matched
from tasks.candidate.candidate import Candidate
from tasks.core.errors import BadInput
from tasks.microdata.coded import RowLevel
from tasks.request.model import ReleaseRequest

MOST_CHOICES = 256
CAPS = (1, 2, 3, 5, 10, 20, 50, 100)
"""Most rows of a person that are tried with the levels that pay most."""


@dataclass(frozen=True)
class LevelChoice:
    """Levels of the attributes of rows that others may know, and what a copy keeps with them."""

    levels: Mapping[str, int]
    kept: float
    """Share of information kept of these attributes, 0 to 1: the mean over their rows, where a withheld row keeps none;
    a value in a group of n of N keeps 1 − ln n / ln N."""
    payoff: float
    """Publisher's payoff of a row, the benefit of a record times what is kept of it."""
    withheld_rows: int
    fewest: int
    """Fewest people of a class who match known rows of a person, as the policy takes them to be known."""
    most_rows: int | None = None
    """Most rows of a person that keep their knowable values; None for all."""

    def document(self) -> dict[str, Any]:
        """The choice as JSON."""
        return asdict(self)


def level_choices(candidate: Candidate, levels: Mapping[str, Sequence[RowLevel]]) -> tuple[LevelChoice, ...]:
    """Every choice of levels with what the recipient's copy keeps by it, the one that pays most first.

    ``policy.events.most_rows`` is as the request states it; with the levels that then pay most, ``CAPS`` are tried too.

    The copy is of a request that names persons of rows; ``levels`` has all levels of each attribute of rows that others
    may know and that has a hierarchy. Raises BadInput if there is no such attribute, or there are more choices than
    ``MOST_CHOICES``.
    """
    events = events_of(candidate)
    _check(prod(map(len, levels.values())) if levels else 0)
    stated = candidate.request.policy.events.most_rows

    def choice(named: Mapping[str, int], most_rows: int | None) -> LevelChoice:
        at = {name: levels[name][level] for name, level in named.items()}
        columns = {**events.columns, **{name: one.column for name, one in at.items()}}
        trial = replace(
            candidate,
            request=_capped(candidate.request, most_rows),
            prepared=replace(candidate.prepared, events=replace(events, columns=columns)),
        )
        return replace(_choice(trial, named, at), most_rows=most_rows)

    every = product(*(range(len(of_one)) for of_one in levels.values()))
    choices = [choice(dict(zip(levels, chosen, strict=True)), stated) for chosen in every]
    best, most = max(choices, key=lambda one: one.payoff), int(np.bincount(events.of_row).max())
    caps = [None, *(cap for cap in CAPS if cap < most)]
    choices += [choice(best.levels, cap) for cap in caps if cap != stated]
    return tuple(sorted(choices, key=lambda one: -one.payoff))


def _capped(request: ReleaseRequest, most_rows: int | None) -> ReleaseRequest:
    events = request.policy.events.model_copy(update={"most_rows": most_rows})
    return request.model_copy(update={"policy": request.policy.model_copy(update={"events": events})})


def best_levels(copies: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[Mapping[str, int], int | None]:
    """Levels and most rows of a person that pay most over all copies, given the choices of each as JSON."""
    payoffs: dict[tuple[tuple[tuple[str, int], ...], int | None], list[float]] = {}
    for one in (one for choices in copies for one in choices):
        payoffs.setdefault((tuple(one["levels"].items()), one["most_rows"]), []).append(one["payoff"])
    (levels, most_rows), _ = max(
        (item for item in payoffs.items() if len(item[1]) == len(copies)), key=lambda item: sum(item[1])
    )
    return dict(levels), most_rows


def _check(choices: int) -> None:
    if not 0 < choices <= MOST_CHOICES:
        raise BadInput(
            "levels of rows cannot be compared",
            where="--levels",
            expected=f"attributes of rows that others may know, with at most {MOST_CHOICES} choices of levels",
            got=f"{choices:,}" if choices else "no such attribute",
            fix="give them hierarchies with fewer levels" if choices else "assess the file without --levels",
        )


def _choice(trial: Candidate, levels: Mapping[str, int], at: Mapping[str, RowLevel]) -> LevelChoice:
    request, events = trial.request, events_of(trial)
    withheld = np.zeros(len(events.of_row), dtype=np.bool_) if trial.withheld_rows is None else trial.withheld_rows
    leaves = trial.released[trial.prepared.tuple_of_row] & ~withheld
    shares = []
    for name in request.known_events:
        column, mine = events.columns[name], events.rows_of(request.number_of(name))
        of_row = at[name].kept if name in at else column.codes != column.missing
        shares.append(float((of_row * leaves)[mine].mean()))
    matched, kept = event_values(trial)[0].matched, float(np.mean(shares))
    fewest = 0 if matched is None else int(people_matched(request, matched).min())
    return LevelChoice(levels, kept, trial.recipient.stakes.benefit * kept, int(withheld.sum()), fewest)
