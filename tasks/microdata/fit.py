"""Whether a population can be the one that the data are drawn from: room for every record, and similar margins.

Neither shows that it is: a population whose counts are all multiplied by one number has the same margins and more room.
Its total is for the officer who enrols it to know.
"""

from collections.abc import Mapping

import numpy as np

from tasks.core.errors import PopulationError
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.tuples import Tuples

LARGEST_EXCESS = 0.01
"""Share of the records for which a combination may have more records than people: counts are of another day."""
LEAST_MISFIT = 0.1
"""Share of the records that must have other values, beyond chance, before a column's margins are said not to fit."""
MORE_RECORDS_THAN_PEOPLE = "some combinations of quasi-identifiers have more records than people"
_CHANCE = 0.001


def check_room(data: Tuples, population: Tuples, where: str) -> None:
    """Refuse (PopulationError) a population with fewer people than records, in all or by combinations of values.

    Records whose combination the population lacks are for validation to judge.
    """
    place = population.find(data.keys)
    people = np.where(place >= 0, population.counts[place], data.counts)
    excess = int(np.maximum(data.counts - people, 0).sum())
    more = data.total > population.total
    if more or excess > LARGEST_EXCESS * data.total:
        raise PopulationError(
            "the population has fewer people than the file has records" if more else MORE_RECORDS_THAN_PEOPLE,
            where=where,
            expected="at least as many people as records"
            if more
            else f"as many people as records for each combination of quasi-identifier values, but for "
            f"{LARGEST_EXCESS:.0%} of the records",
            got="fewer people in all" if more else "more records than that beyond the people of their combination",
            fix="name the population that the data are drawn from; each record stands for one person, so name the "
            "column of the person under dataset.person where one has several rows",
        )


def misfits(data: Tuples, population: Tuples, hierarchies: Mapping[str, Hierarchy]) -> dict[str, float]:
    """Columns whose margins do not fit the population's, each with the share of the records that need other values.

    Shares are of the records that have a value, rounded down to hundredths.

    Notes
    -----
    The share is the total variation distance between the margins, less what chance explains of n records drawn from
    the population: its mean is at most half the sum of sqrt(p(1 − p)/n) over the values (Jensen), and it exceeds its
    mean by sqrt(ln(1000)/2n) in one of a thousand draws at most (McDiarmid), since a record moves it by 1/n at most.
    So it holds for small files and many values, where chi-squared's distribution does not.
    """
    found = {}
    for axis, (name, tree) in enumerate(hierarchies.items()):
        margins = [np.bincount(one.codes[:, axis], one.counts, tree.n_leaves) for one in (data, population)]
        if tree.missing_leaf >= 0:
            margins = [np.delete(one, tree.missing_leaf) for one in margins]
        if not all(one.any() for one in margins):
            continue
        ours, theirs = (one / one.sum() for one in margins)
        stated = margins[0].sum()
        by_chance = np.sqrt(theirs * (1 - theirs) / stated).sum() / 2 + np.sqrt(np.log(1 / _CHANCE) / (2 * stated))
        share = float(np.abs(ours - theirs).sum() / 2 - by_chance)
        if share >= LEAST_MISFIT:
            found[name] = np.floor(share * 100) / 100
    return found
