"""Partitions along ages whose levels cross, beside trees that are much like them: payoff, bound and gap."""

import time
from collections.abc import Sequence

from tasks.generalization.play import CountIndex, play
from tasks.generalization.safe_harbor import safe_harbor_axis
from tasks.generalization.zip3 import zip_table
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.microdata.tuples import Tuples, distinct_tuples
from tasks.request.model import Method
from tests.benchmarks.record import Benchmark, Row
from tests.support import adult

_OLDEST = 120
_AGES: dict[str, tuple[int | tuple[int, ...], ...]] = {
    "5, 10, 20 years": (5, 10, 20),
    "5, 12, 30 years": (5, 12, 30),
    "5, 10 years, 0-19 and 20+": (5, 10, (0, 20)),
    "5, 10 years, 0-17 and 18+": (5, 10, (0, 18)),
    "5 years, 0-19, 20-64, 65+": (5, (0, 20, 65)),
    "5 years, 0-17, 18-64, 65+": (5, (0, 18, 65)),
}
"""Levels above years: a width in years, or the first ages of groups."""


def run() -> Benchmark:
    """Payoff a person and a record of the No-Attack partition, with each kind of ages."""
    return {
        "name": "crossing",
        "title": "Ages whose levels cross, Adult-TN (V 1200, L 300, c 4, sex free), No-Attack partition",
        "rows": [row for name, levels in _AGES.items() for row in _played(name, _table(_ages(levels)))],
        "note": "seconds of CPU; cells are weighted by the population",
    }


def _ages(levels: Sequence[int | tuple[int, ...]]) -> Hierarchy:
    rows = [[str(age), *(_group(age, level) for level in levels), "*"] for age in range(_OLDEST + 1)]
    return hierarchy_from_rows("age", rows, "a benchmark", levels_may_cross=True)


def _group(age: int, level: int | tuple[int, ...]) -> str:
    lows = tuple(range(0, _OLDEST + 1, level)) if isinstance(level, int) else level
    low = max(low for low in lows if low <= age)
    high = min((other - 1 for other in lows if other > low), default=_OLDEST)
    return str(low) if low == high else f"{low}-{high}"


def _table(ages: Hierarchy) -> CountIndex:
    """Adult-TN with other groups of ages."""
    table = adult.table()
    trees = (ages, *table.hierarchies[1:])

    def recoded(tuples: Tuples) -> Tuples:
        codes = tuples.codes.copy()
        codes[:, 0] = ages.encode(table.hierarchies[0].labels[0])[codes[:, 0]]
        return distinct_tuples(codes, trees, tuples.counts)[0]

    axis = safe_harbor_axis(ages, adult.RULES["age"], zip_table())
    axes = (axis, *table.safe_harbor[1:])
    return CountIndex(trees, axes, recoded(table.data), recoded(table.population), adult.GIBIBYTE)


def _played(name: str, table: CountIndex) -> list[Row]:
    _ = table.people
    started = time.process_time()
    played = play(table, Method.NO_ATTACK_PARTITION, adult.PAYOFFS, adult.weights())
    seconds, people, division = time.process_time() - started, table.population.total, played.division
    if division is None:
        raise RuntimeError("a partition says how good it is")
    paid = adult.PAYOFFS.publisher(adult.PAYOFFS.benefit * played.kept, played.people)
    kind = "tree" if table.hierarchies[0].is_tree else "levels cross"
    rows = [
        Row(figure=f"{name} ({kind}): payoff a person", ours=division.payoff / people),
        Row(figure=f"{name} ({kind}): payoff a record", ours=float(table.data.counts @ paid) / table.data.total),
        Row(figure=f"{name} ({kind}): to play it", ours=seconds, unit="s"),
    ]
    if division.upper_bound is not None:
        rows.append(Row(figure=f"{name} ({kind}): bound a person", ours=division.upper_bound / people))
        rows.append(Row(figure=f"{name} ({kind}): gap", ours=division.gap))
    return rows
