"""Figures of gates by the whole released row: by the generalized values that released columns leave possible.

A column that tells a quasi-identifier and is released all the same leaves, of the values in a generalized group, those
that occur with it in the file. Records are in one class if their groups and what is left of these agree. Figures are
the worse of two readings, by all values that occur and by those that occur firmly, so that no stray record hides a
class.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.columns.dependence import NEARLY_CERTAIN, Codes, classes
from tasks.assessments.combined.assessment import gate_figures as combined_figures
from tasks.assessments.combined.assessment import released_table, score_figure, scores
from tasks.assessments.combined.expected import expected_names, expected_of_rows
from tasks.assessments.identity.outcome import risk_view, transparent_risk
from tasks.assessments.identity.score import risk_figures
from tasks.assessments.sequential.assessment import gate_figures as sequential_figures
from tasks.assessments.sequential.assessment import judged_belief
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import worst
from tasks.candidate.groups import densest, groups, probability_present
from tasks.generalization.game.transparency import cell_numbers
from tasks.microdata.coded import coded_rows, value_weights
from tasks.request.model import Measure

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
_BY_MATCH = frozenset({Measure.JOURNALIST_MAXIMUM, Measure.JOURNALIST_MEAN})
"""Figures by the people who match a cell, which are counted here where it is everybody's own alone."""


@dataclass(frozen=True)
class PossibleValues:
    """Values of one quasi-identifier that one column leaves possible."""

    axis: int
    leaves: int
    """Values of the quasi-identifier."""
    held: Counts
    """Every set and value that it holds: set · leaves + value, ascending."""
    of_record: Counts
    """Set of each released record."""

    def hold(self, sets: Counts, values: Codes) -> Flags:
        """Whether sets hold values."""
        return np.isin(sets * self.leaves + values, self.held)


def whole_row_figures(
    candidate: Candidate, pairs: Iterable[tuple[tuple[str, ...], str]], released: Mapping[str, Codes]
) -> dict[Measure, float]:
    """Figures of the classes by the whole row, that gates judge if they are worse; none without a pair.

    ``released`` has the released values of the columns as codes, of all records of the file. Raises ParameterError if
    the plan of the recipient cannot be solved, or more sets of attributes may be known than can be counted.
    """
    quasi = candidate.request.quasi_identifiers
    axes = [(classes([released[column] for column in columns]), quasi.index(name)) for columns, name in pairs]
    if not axes:
        return {}
    occurring, firm = ([left_possible(candidate, *one, firm=firm) for one in axes] for firm in (False, True))
    figures = _figures(candidate, occurring, occurring)
    if any(not np.array_equal(one.held, other.held) for one, other in zip(occurring, firm, strict=True)):
        firmly = _figures(candidate, firm, occurring)
        figures = worst(figures, [firmly]) if figures and firmly else figures or firmly
    return figures


def left_possible(candidate: Candidate, column: Codes, axis: int, *, firm: bool) -> PossibleValues:
    """Values of a quasi-identifier that a column leaves possible: those that occur with it, in the released group.

    If ``firm``, those that occur firmly with it alone, where any of these lies in the group.
    """
    prepared, width = candidate.prepared, list(candidate.prepared.hierarchies.values())[axis].n_leaves
    leaves = prepared.data.codes[prepared.tuple_of_record, axis].astype(np.int64)
    together, counts = np.unique(column.astype(np.int64) * width + leaves, return_counts=True)
    made = candidate.generalization.cells[prepared.tuple_of_record[candidate.rows], axis].astype(np.int64)
    own = candidate.own_cells[:, axis].astype(np.int64) * width + prepared.population.codes[:, axis]
    inside = np.union1d(own, made * width + leaves[candidate.rows])
    span = int(column.max()) + 1
    kinds, of_record = np.unique(made * span + column[candidate.rows], return_inverse=True)
    occurring = pd.DataFrame({"value": together // width, "leaf": together % width})
    occurring["firm"] = occurs_firmly(together // width, counts)
    asked = pd.DataFrame({"kind": np.arange(len(kinds)), "group": kinds // span, "value": kinds % span})
    left = asked.merge(occurring, on="value")
    left = left[np.isin(left["group"].to_numpy() * width + left["leaf"].to_numpy(), inside)]
    if firm:
        left = left[left["firm"] | ~left.groupby("kind")["firm"].transform("any")]
    left = left.sort_values(["kind", "leaf"])
    starts = np.searchsorted(left["kind"].to_numpy(), np.arange(len(kinds) + 1))
    values = left["leaf"].to_numpy()
    sets: dict[bytes, int] = {}
    of_kind = [sets.setdefault(values[first:last].tobytes(), len(sets)) for first, last in pairwise(starts.tolist())]
    held = np.unique(np.repeat(of_kind, np.diff(starts)) * width + values)
    return PossibleValues(axis, width, held, np.asarray(of_kind, dtype=np.int64)[of_record.ravel()])


def occurs_firmly(given: Counts, counts: Counts) -> Flags:
    """Whether values occur firmly with a given one: among the most frequent that hold all but one of its records.

    Where more, all but the share up to which a value counts as told; values as frequent as one of these are among them.

    ``given`` has the given value of each pair of values that occurs, ascending, ``counts`` the records of each.

    Examples
    --------
    >>> occurs_firmly(np.array([0, 0, 1, 1, 2, 2, 2]), np.array([9, 1, 1, 1, 94, 5, 1])).tolist()
    [True, False, True, True, True, True, False]
    """
    order = np.lexsort((-counts, given))
    sizes = np.bincount(given, weights=counts).astype(np.int64)[given]
    before = np.cumsum(counts[order]) - counts[order]
    first = np.searchsorted(given, given)
    before -= before[first]
    stray = np.maximum(1, np.floor((1 - NEARLY_CERTAIN) * sizes + 1e-9))
    needed = before < np.maximum(sizes - stray, 1)
    least = np.full(int(given.max(initial=0)) + 1, counts.max(initial=0))
    np.minimum.at(least, given, np.where(needed, counts[order], counts.max(initial=0)))
    return np.asarray(counts >= least[given])


def _figures(
    candidate: Candidate, left: Sequence[PossibleValues], otherwise: Sequence[PossibleValues]
) -> dict[Measure, float]:
    """Figures where columns leave sets of values possible; none where that leaves the classes as they are.

    ``otherwise`` has the sets to go by where nobody of the population is left.
    """
    made, tuples = candidate.generalization, candidate.prepared.tuple_of_record[candidate.rows]
    cells = cell_numbers(made.cells, candidate.index.axis_sizes)[tuples]
    kind = classes([np.unique(cells, return_inverse=True)[1], *(one.of_record for one in left)])
    records, first = np.bincount(kind), np.unique(kind, return_index=True)[1]
    counted = _people(candidate, cells[first], [(one, one.of_record[first]) for one in left])
    if not counted["people"].all():
        instead = _people(candidate, cells[first], [(one, one.of_record[first]) for one in otherwise])
        counted = counted.where(counted["people"] > 0, instead)
    people = np.maximum(counted["people"].to_numpy(), 1)
    if len(np.unique(cells)) == len(records) and np.array_equal(people, made.effective[tuples[first]]):
        return {}
    listed = counted["listed"].to_numpy() if "listed" in counted else None
    policy = candidate.request.policy
    seen = risk_view(records, people, records, policy.risk_threshold, policy.small_cell)
    informed = transparent_risk(people, people, records, candidate.payoffs)
    profile = derive_profile(candidate.recipient, *densest(people, listed)).profile
    planned = judged_belief(profile, groups(candidate.index, people, listed, records, profile.prior))
    figures = {
        **risk_figures(seen, informed),
        **sequential_figures((planned,), candidate.recipient.stakes.loss),
        **_combined(candidate, left, probability_present(candidate.request, records, people)[kind]),
    }
    if np.array_equal(made.people[candidate.released], made.effective[candidate.released]):
        return figures
    return {name: one for name, one in figures.items() if name not in _BY_MATCH}


def _combined(
    candidate: Candidate, left: Sequence[PossibleValues], presence: NDArray[np.float64]
) -> dict[Measure, float]:
    """Combined scores of records whose quasi-identifiers are known as far as the whole row leaves them possible.

    ``presence`` is of each record the share in the file of the people whom it could be.
    """
    request, prepared, made = candidate.request, candidate.as_masked, candidate.generalization
    sets: dict[str, list[Counts]] = {}
    of_left: dict[str, NDArray[np.float64]] = {}
    for one in left:
        name = request.quasi_identifiers[one.axis]
        sets.setdefault(name, []).append(one.of_record)
        of_left[name] = np.minimum(of_left.get(name, np.inf), _heaviest(candidate, one))

    def narrowed(names: Sequence[str]) -> tuple[NDArray[np.integer], list[list[NDArray[np.float64]]]]:
        codes = coded_rows(request, prepared, made.cells, candidate.rows, names).astype(np.int64)
        weights = [list(value_weights(request, prepared, names, codes, lightest=least)) for least in (False, True)]
        for name in sets.keys() & set(names):
            place, cells = names.index(name), codes[:, names.index(name)].copy()
            narrow = classes([np.unique(cells, return_inverse=True)[1], *sets[name]])
            codes[:, place] = narrow
            # A group of all values reveals nothing, but what is left of it may; others weigh as any value in them.
            told = (np.maximum(weights[0][place][cells], of_left[name]), weights[1][place][cells])
            for column, of_rows in zip(weights, told, strict=True):
                column[place] = np.zeros(int(narrow.max()) + 1)
                column[place][narrow] = of_rows
        return codes, weights

    table = released_table(request, prepared, made, candidate.released)
    codes, (weights, _) = narrowed(table.names)
    seen = scores(replace(table, codes=codes, sensitivities=tuple(weights)), request.policy.combined)
    expected = expected_of_rows(candidate, *narrowed(expected_names(candidate)), presence)
    return {
        **combined_figures(score_figure(seen, request.policy.combined)),
        Measure.COMBINED_EXPECTED: float(expected.max()),
    }


def _heaviest(candidate: Candidate, left: PossibleValues) -> NDArray[np.float64]:
    """Weight of the heaviest value that is left of a quasi-identifier, of each record; 0 where every value is left."""
    name = candidate.request.quasi_identifiers[left.axis]
    hierarchy, occurring = candidate.prepared.hierarchies[name], np.unique(candidate.prepared.data.codes[:, left.axis])
    given = candidate.request.attributes[name].sensitivity
    if given is None:
        return np.zeros(len(left.of_record))
    of_values = np.zeros(hierarchy.n_leaves)
    for one, leaf in hierarchy.domain.items():
        of_values[leaf] = max(of_values[leaf], given.attribute * given.values.get(one, given.default))
    if hierarchy.missing_leaf >= 0:
        of_values[hierarchy.missing_leaf] = 0.0
    of_set, value = left.held // left.leaves, left.held % left.leaves
    heaviest = np.zeros(int(of_set.max()) + 1)
    np.maximum.at(heaviest, of_set, of_values[value])
    heaviest[np.bincount(of_set) == len(occurring)] = 0.0
    return heaviest[left.of_record]


def _people(candidate: Candidate, cells: Counts, left: Sequence[tuple[PossibleValues, Counts]]) -> pd.DataFrame:
    """People in the effective group of each class whose values are left possible, and those of them listed."""
    population, listed = candidate.prepared.population, candidate.index.listed
    kinds = {"people": population.counts} | ({} if listed is None else {"listed": listed})
    axes = {f"axis {one.axis}": one.axis for one, _ in left}
    own: dict[str, NDArray[np.integer]] = {"cell": cell_numbers(candidate.own_cells, candidate.index.axis_sizes)}
    own |= {name: population.codes[:, axis] for name, axis in axes.items()}
    counted = pd.DataFrame({**own, **kinds}).groupby(list(own), as_index=False)[list(kinds)].sum()
    joined = pd.DataFrame({"cell": cells, "class": np.arange(len(cells))}).merge(counted, on="cell")
    held, possible = joined["class"].to_numpy(), np.ones(len(joined), dtype=np.bool_)
    for one, of_class in left:
        possible &= one.hold(of_class[held], joined[f"axis {one.axis}"].to_numpy())
    return joined[possible].groupby("class")[list(kinds)].sum().reindex(range(len(cells)), fill_value=0)
