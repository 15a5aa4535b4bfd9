"""Which levels of attributes of rows pay most: generalized less, more rows are withheld because too few people match.

Levels are stated in the request and are the same in every copy, so that they tell nothing of a copy's classes. This
counts what each choice of levels keeps, for a person to state the best.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from tasks.assessments.attribute.class_values import Floats
from tasks.assessments.events.assessment import event_values, events_of, people_matched
from tasks.candidate.candidate import Candidate
from tasks.core.errors import BadInput
from tasks.microdata.build import written_out
from tasks.microdata.coded import CodedColumn, numbered_column
from tasks.microdata.event_levels import released_cells
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.tables import own_rows
from tasks.request.model import ReleaseRequest

MOST_CHOICES = 256


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

    def document(self) -> dict[str, Any]:
        """The choice as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Level:
    """A column of rows at one level."""

    column: CodedColumn
    kept: Floats
    """Share of information that each row keeps, 0 in rows without a value; shape (n_rows,)."""


def as_collected(request: ReleaseRequest) -> ReleaseRequest:
    """The request, by which attributes of rows are read as they were collected."""
    plain = {name: one.model_copy(update={"level": None}) for name, one in request.attributes.items()}
    return request.model_copy(update={"attributes": plain})


def level_choices(candidate: Candidate, frame: pd.DataFrame) -> tuple[LevelChoice, ...]:
    """Every choice of levels with what the recipient's copy keeps by it, the one that pays most first.

    Parameters
    ----------
    candidate : Candidate
        The copy, of a request that names persons of rows.
    frame : DataFrame of shape (n_rows, n_columns)
        The microdata read ``as_collected``.

    Raises
    ------
    BadInput
        If nothing may be known of rows, no such attribute has a hierarchy, or there are more choices than
        ``MOST_CHOICES``.
    """
    request, events = candidate.request, events_of(candidate)
    trees = {
        name: written_out(name, source, frame)
        for name in request.known_events
        if (source := request.attributes[name].hierarchy) is not None
    }
    _check(prod(tree.n_levels for tree in trees.values()) if trees else 0)
    found = {name: [_at(request, frame, tree, level) for level in range(tree.n_levels)] for name, tree in trees.items()}
    choices = []
    for levels in product(*(range(tree.n_levels) for tree in trees.values())):
        chosen = {name: found[name][level] for name, level in zip(trees, levels, strict=True)}
        columns = {**events.columns, **{name: one.column for name, one in chosen.items()}}
        trial = replace(candidate, prepared=replace(candidate.prepared, events=replace(events, columns=columns)))
        choices.append(_choice(trial, dict(zip(trees, levels, strict=True)), frame, chosen))
    return tuple(sorted(choices, key=lambda one: -one.payoff))


def _check(choices: int) -> None:
    if not 0 < choices <= MOST_CHOICES:
        raise BadInput(
            "levels of rows cannot be compared",
            where="--levels",
            expected=f"attributes of rows that others may know, with at most {MOST_CHOICES} choices of levels",
            got=f"{choices:,}" if choices else "no such attribute",
            fix="give them hierarchies with fewer levels" if choices else "assess the file without --levels",
        )


def _at(request: ReleaseRequest, frame: pd.DataFrame, tree: Hierarchy, level: int) -> _Level:
    """An attribute of rows as it leaves at a level."""
    name = tree.name
    attribute, mine = request.attributes[name].model_copy(update={"level": level}), own_rows(frame, request, name)
    own = frame.iloc[mine]
    cells, persons = own[name], pd.factorize(own[request.person_id])[0]
    codes, values = pd.factorize(cells)
    leaves = np.append(tree.encode(values.to_numpy()), -1)[codes]
    share = 1.0 - np.log(tree.sizes[tree.positions[leaves, level]]) / np.log(max(tree.n_leaves, 2))
    out = released_cells(cells, persons, tree, attribute, request.table_paths[request.table_of(name)])
    nothing = (out == tree.labels[-1][0]).fillna(value=True).to_numpy(dtype=bool)
    column = frame[name].copy()
    column.loc[own.index] = out
    kept = np.zeros(len(frame))
    kept[mine] = np.where(nothing, 0.0, share)
    return _Level(numbered_column(request, name, *pd.factorize(column)), kept)


def _choice(
    trial: Candidate, levels: Mapping[str, int], frame: pd.DataFrame, chosen: Mapping[str, _Level]
) -> LevelChoice:
    request, events = trial.request, events_of(trial)
    withheld = np.zeros(len(events.of_row), dtype=np.bool_) if trial.withheld_rows is None else trial.withheld_rows
    leaves = trial.released[trial.prepared.tuple_of_row] & ~withheld
    shares = []
    for name in request.known_events:
        mine = own_rows(frame, request, name)
        of_row = chosen[name].kept[mine] if name in chosen else frame[name].iloc[mine].notna().to_numpy(dtype=float)
        shares.append(float((of_row * leaves[mine]).mean()))
    matched, kept = event_values(trial)[0].matched, float(np.mean(shares))
    fewest = 0 if matched is None else int(people_matched(request, matched).min())
    return LevelChoice(levels, kept, trial.recipient.stakes.benefit * kept, int(withheld.sum()), fewest)
