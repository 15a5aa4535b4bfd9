"""Judging the place of released columns in the attack, from codes alone: `init`, `check` and the gate share it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from math import comb

import numpy as np

from tasks.assessments.columns.dependence import Codes, Dependence, classes, dependence
from tasks.assessments.columns.facts import ColumnFinding, Sign
from tasks.assessments.columns.formulas import formulas
from tasks.assessments.columns.group_means import of_groups
from tasks.assessments.columns.numbers import GROUP_SIZES, Numbers, adding_up, grouped, stands_out
from tasks.microdata.presence import Naming, Presence
from tasks.microdata.withheld import NEARLY_UNIQUE

TELLS = 0.5
"""Share of a column's information from which another one nearly determines it."""
TOLD = 0.1
"""Share of the records for which a column is revealed outright, from which it counts as revealed."""
_OF_VALUES = {Sign.UNIQUE, Sign.FAR, Sign.FREE}
"""Findings on a column's own values, which say nothing of others."""
_LEAST_RECORDS, _LEAST_SHARE = 50, 0.05
"""Fewest records beside the most frequent value that are judged by themselves."""
_LEAST_VALUES, _FEW_RECORDS = 100, 12
"""Fewest values that link records, and most records of each, as of the members of a household."""
_FEW_VALUES, _MOST_CLASSED = 4, 3
"""Most values of a column within each of which formulas are fitted, and most such columns."""
SET_TELLS = 0.8
"""The same share for columns taken together: more columns reveal more."""
_RECORDS, _RECORDS_OF_SETS, _MOST_SETS = 100_000, 8_000, 1_000


@dataclass(frozen=True)
class ColumnTable:
    """Columns of a file by name, in codes from 0, each of shape (n_records,)."""

    released: Mapping[str, Codes]
    """Released columns other than the quasi-identifiers; of masked ones, the original value nearest to the masked."""
    collected: Mapping[str, Codes]
    """Original values of the masked ones."""
    quasi_identifiers: Mapping[str, Codes]
    """As collected; dates also by their parts."""
    withheld: Mapping[str, Codes]
    listed: tuple[Presence, ...] = ()
    named: tuple[Naming, ...] = ()
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    """Number of each code of released columns and quasi-identifiers that have numbers, NaN for none."""
    free_texts: Collection[str] = ()
    """Columns of text with sentences of one record each."""

    @property
    def known(self) -> dict[str, Codes]:
        """Columns that must not be revealed."""
        return {**self.withheld, **self.quasi_identifiers}

    def sample(self, most: int) -> "ColumnTable":
        """The same of at most so many records, drawn the same way each time."""
        records = max((len(one) for one in self.released.values()), default=0)
        if records <= most:
            return self
        rows = np.sort(np.random.default_rng(0).choice(records, most, replace=False))
        released, collected, quasi, withheld = (
            {name: codes[rows] for name, codes in part.items()}
            for part in (self.released, self.collected, self.quasi_identifiers, self.withheld)
        )
        return replace(self, released=released, collected=collected, quasi_identifiers=quasi, withheld=withheld)

    def by_record(self, columns: Mapping[str, Codes]) -> dict[str, Numbers]:
        """The numbers of those of some columns that have them, of each record."""
        return {name: self.numbers[name][codes] for name, codes in columns.items() if name in self.numbers}


def places(table: ColumnTable) -> dict[str, tuple[ColumnFinding, ...]]:
    """Findings on each released column other than the quasi-identifiers; empty where none is needed."""
    found: dict[str, list[ColumnFinding]] = {name: [] for name in table.released}
    shown = table.sample(_RECORDS)
    groups = {name: tuple(_groups(shown, name)) for name in shown.released}
    pairs = {
        (name, other): _with_groups(dependence(shown.released[name], codes), groups[name], codes)
        for name in table.released
        for other, codes in shown.known.items()
    }
    for (name, other), tells in pairs.items():
        found[name] += _told((name,), other, tells)
    for name in table.released:
        for other, codes in shown.quasi_identifiers.items():
            back = dependence(codes, shown.released[name])
            if back.share >= TELLS and not _is_told(pairs[name, other]):
                found[name].append(_finding(Sign.FOLLOWS, (name,), (other,), share=back.share))
        found[name] += _listed(name, shown)
        found[name] += _of_values(table, name)
    for one in table.named:
        if one.column in found and not _is_told(pairs[one.column, one.other]):
            found[one.column].append(_finding(Sign.NAMES, (one.column,), (one.other,)))
    for finding in chain(_of_numbers(shown, found), _of_sets(table.sample(_RECORDS_OF_SETS), found)):
        for name in finding.columns:
            found[name].append(finding)
    released = table.by_record(table.released)
    # A sample has other means than the file.
    for name, other, share in of_groups(released, {**released, **table.by_record(table.quasi_identifiers)}):
        found[name].append(_finding(Sign.OF_GROUPS, (name,), (other,), share=share))
    return {name: tuple(one) for name, one in found.items()}


def _of_values(table: ColumnTable, name: str) -> Iterator[ColumnFinding]:
    """Findings on a column's own values."""
    if nearly_unique(table, name):
        yield _finding(Sign.UNIQUE, (name,), share=share_alone(table, name))
    elif name in table.free_texts:
        yield _finding(Sign.FREE, (name,))
    if name in table.numbers and stands_out(table.numbers[name][table.released[name]]):
        yield _finding(Sign.FAR, (name,))


def _of_numbers(table: ColumnTable, found: Mapping[str, Sequence[ColumnFinding]]) -> Iterator[ColumnFinding]:
    """Findings on released columns without one on others, from which numbers of quasi-identifiers can be reckoned."""
    given = table.by_record(
        {name: table.released[name] for name, one in found.items() if {each.sign for each in one} <= _OF_VALUES}
    )
    targets, added = table.by_record(table.quasi_identifiers), set[str]()
    for two, other, share in adding_up(given, targets):
        added.update(two)
        yield _finding(Sign.ADDS, two, (other,), share=share)
    left = {name: numbers for name, numbers in given.items() if name not in added}
    for names, other, share in formulas(left, targets, _of_few_values(table), SET_TELLS):
        yield _finding(Sign.FORMULA, names, (other,), share=share)


def _of_few_values(table: ColumnTable) -> list[Codes]:
    """First columns of two to four values, as a sex, quasi-identifiers before others."""
    columns = {**table.quasi_identifiers, **table.withheld, **table.released}.values()
    return [one for one in columns if 2 <= np.count_nonzero(np.bincount(one)) <= _FEW_VALUES][:_MOST_CLASSED]


def _groups(table: ColumnTable, name: str) -> Iterator[Codes]:
    """A column of numbers in groups of neighbours, where it has more values than groups."""
    if name in table.numbers:
        codes = table.released[name]
        yield from (
            grouped(codes, table.numbers[name], size) for size in GROUP_SIZES if distinct_share(codes) * size > 1
        )


def _with_groups(found: Dependence, groups: Sequence[Codes], column: Codes) -> Dependence:
    """The same with the largest share of information; of what groups tell outright, as the tallest a sex, nothing."""
    return replace(found, share=max([found.share, *(dependence(one, column, TELLS).share for one in groups)]))


def distinct_share(codes: Codes) -> float:
    """Distinct values over records."""
    return np.count_nonzero(np.bincount(codes)) / max(len(codes), 1)


def others_of(codes: Codes) -> Codes:
    """The records beside the most frequent value, such as none; all of them if hardly any are left."""
    counts = np.bincount(codes)
    others = codes[codes != counts.argmax()] if len(counts) else codes
    return others if len(others) >= max(_LEAST_RECORDS, _LEAST_SHARE * len(codes)) else codes


def links_a_few(codes: Codes) -> bool:
    """Whether the values of a column are each in at most twelve records, and most of these in more than one.

    So are numbers of households, contracts or samples. The most frequent value may be that of no such number.
    """
    counts = np.bincount(others_of(codes))
    counts = counts[counts > 0]
    in_few = len(counts) >= _LEAST_VALUES and counts.max() <= _FEW_RECORDS
    return bool(in_few and counts[counts > 1].sum() >= counts.sum() / 2)


def share_alone(table: ColumnTable, name: str) -> float:
    """Distinct values over records; of text, if larger, over those beside the most frequent value."""
    released = table.released[name]
    share = distinct_share(released)
    return share if name in table.numbers else max(share, distinct_share(others_of(released)))


def nearly_unique(table: ColumnTable, name: str) -> bool:
    """Whether most records stand alone by a column; a masked one no longer does where its values lead elsewhere.

    A column of text may leave most records without a value, or with the same one: the others count.
    """
    collected, released = table.collected.get(name), table.released[name]
    if collected is None:
        return bool(share_alone(table, name) >= NEARLY_UNIQUE)
    return distinct_share(collected) >= NEARLY_UNIQUE and bool((collected == released).mean() >= NEARLY_UNIQUE)


def _is_told(found: Dependence) -> bool:
    return found.share >= TELLS or found.told >= TOLD


def _told(columns: tuple[str, ...], other: str, found: Dependence) -> Iterator[ColumnFinding]:
    if found.share >= TELLS:
        yield _finding(Sign.TELLS, columns, (other,), share=found.share)
    elif found.told >= TOLD:
        yield _finding(Sign.TOLD, columns, (other,), share=found.told)


def _listed(name: str, table: ColumnTable) -> Iterator[ColumnFinding]:
    """Tables of people that have a column, unless masking has taken its values away."""
    collected, released = table.collected.get(name), table.released[name]
    away = (
        collected is not None
        and not _is_told(dependence(released, collected))
        and bool((collected == released).mean() < NEARLY_UNIQUE)
    )
    for one in table.listed:
        if one.column == name and not away:
            yield _finding(Sign.LISTED, (name,), (one.listed,), table=one.table)


def _of_sets(table: ColumnTable, found: Mapping[str, Sequence[ColumnFinding]]) -> Iterator[ColumnFinding]:
    """Findings on sets of two and three columns, of released columns without a finding on others."""
    free = {
        name: table.released[name] for name, findings in found.items() if {one.sign for one in findings} <= {Sign.FAR}
    }
    for names, name, share in _sets(table.quasi_identifiers, free):
        yield _finding(Sign.FOLLOWS, (name,), names, share=share)
    for names, other, share in _sets(free, table.known):
        yield _finding(Sign.TELLS, names, (other,), share=share)


def _sets(given: Mapping[str, Codes], columns: Mapping[str, Codes]) -> Iterator[tuple[tuple[str, ...], str, float]]:
    """The smallest sets that reveal a column, with their share of information; sizes of too many sets are skipped."""
    told: list[set[str]] = []
    for size in (2, 3):
        if not columns or comb(len(given), size) * len(columns) > _MOST_SETS:
            return
        for names in combinations(given, size):
            combined = classes([given[name] for name in names])
            for name, codes in columns.items():
                if any(one <= {*names, name} for one in told):
                    continue
                share = dependence(combined, codes, SET_TELLS).share
                if share >= SET_TELLS:
                    told.append({*names, name})
                    yield names, name, share


def _finding(
    sign: Sign, columns: tuple[str, ...], others: tuple[str, ...] = (), table: str = "", share: float = 1.0
) -> ColumnFinding:
    return ColumnFinding(sign=sign, columns=columns, others=others, table=table, share=round(share, 2))
