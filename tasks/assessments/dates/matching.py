"""People whom some known true dates of a person could be of: exact counts, by packed keys and sorting.

Known dates of a person give the days between them, which a shift keeps, and each day up to the reach of the shift.
A person matches if some of the person's released dates, of the same columns, lie the same days apart, and all of them
within the reach of the known ones by one offset. So the dates of a known set are reduced to a *signature*, columns and
intervals, and the *day* of the first. Released sets of one signature and person cover ranges of known days; ranges that
overlap are joined, so that each person counts once, and the people who match are the ranges that cover the known day.

Knowledge of the days of the week on which a column has no date also rules out offsets that would put other dates of a
person there. That is a matter of the offset modulo 7, which the person's released dates leave possible or not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.dates.histories import Histories
from tasks.generalization.kanonymity.classes import number_rows

Counts = NDArray[np.int64]
_BLOCK = 2**22
"""Sets of dates that are counted at once."""
MOST_SETS = 2**28
"""Sets of dates that are counted; the longest histories are left out past them."""
_LARGEST = 2**62


@dataclass(frozen=True)
class Matches:
    """People who match what is known of each person, the person included."""

    fewest: Counts
    """By the known set of dates that fewest match; 1 where too many sets would have to be counted; (n_people,)."""
    uncounted: int
    """People whose sets were not counted: they are assumed to be found, and to match nobody else."""


def matches_of_known(histories: Histories, groups: Counts, known: int, most: int = MOST_SETS) -> Matches:
    """People of the same group who match any ``known`` true dates of each person, by those that fewest match.

    Of a person with fewer dates all are known. ``groups`` has the group of each person, from 0: what else is known.
    """
    fewest, lengths = np.bincount(groups)[groups].astype(np.int64), histories.lengths
    counted = _short_enough(lengths, known, most)
    for size in range(1, known + 1):
        asked = lengths == size if size < known else lengths >= known
        if (asked & counted).any():
            for sets in _blocks(histories, groups, np.flatnonzero((lengths >= size) & counted), size):
                found = _matching(histories, sets)
                mine = asked[sets.persons]
                np.minimum.at(fewest, sets.persons[mine], found[mine])
    fewest[~counted] = 1
    return Matches(fewest, int((~counted).sum()))


def matches_of_all(histories: Histories, groups: Counts) -> Matches:
    """People of the same group who match all true dates of each person, and have no others."""
    lengths, starts = histories.lengths, histories.starts
    signatures = _joined([groups, lengths])
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        step = _step(histories, starts[longer] + place, place)
        signatures[longer] = np.unique(_joined([signatures[longer], step]), return_inverse=True)[1]
    signatures = _joined([signatures, lengths])
    fewest = np.bincount(signatures)[signatures].astype(np.int64)
    some = np.flatnonzero(lengths)
    if len(some):
        fewest[some] = _matching(histories, _Sets(signatures[some], some, starts[some]))
    return Matches(fewest, 0)


@dataclass(frozen=True)
class _Sets:
    """Sets of dates, one signature and person each; all arrays of shape (n_sets,)."""

    signatures: Counts
    persons: Counts
    first: Counts
    """Place of the first date."""


def _short_enough(lengths: Counts, known: int, most: int) -> NDArray[np.bool_]:
    """Whether the sets of each person are counted: of the shortest histories, as many as the sets allow."""
    values, people = np.unique(lengths, return_counts=True)
    total, limit = 0, -1
    for length, count in zip(values.tolist(), people.tolist(), strict=True):
        total += count * comb(length, known)
        if total > most:
            break
        limit = length
    return lengths <= limit


def _blocks(histories: Histories, groups: Counts, people: Counts, size: int) -> Iterator[_Sets]:
    """All sets of a size of some people, in blocks that have all or none of the sets of a signature."""
    lengths = histories.lengths[people]
    total = sum(int((lengths == one).sum()) * comb(int(one), size) for one in np.unique(lengths))
    blocks = 1 if size == 1 else -(-total // _BLOCK)
    for block in range(blocks):
        parts = [
            part
            for one in np.unique(lengths).tolist()
            for part in _sets_of_length(histories, people[lengths == one], (one, size), (block, blocks))
        ]
        places, persons = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not len(persons):
            continue
        steps = [groups[persons], *(_step(histories, places[:, at], at, places[:, at - 1]) for at in range(size))]
        yield _Sets(_joined(steps), persons, places[:, 0])


def _sets_of_length(
    histories: Histories, people: Counts, sizes: tuple[int, int], block: tuple[int, int]
) -> Iterator[tuple[Counts, Counts]]:
    """Places and persons of the sets of people with histories of one length; of a block by the first interval alone."""
    (length, size), (number, blocks) = sizes, block
    chosen = np.array(list(combinations(range(length), size)), dtype=np.int64)
    at_once = max(1, _BLOCK // max(1, len(chosen)))
    for start in range(0, len(people), at_once):
        some = people[start : start + at_once]
        places = (histories.starts[some][:, None, None] + chosen).reshape(-1, size)
        persons = np.repeat(some, len(chosen))
        if blocks > 1:
            kept = _step(histories, places[:, 1], 1, places[:, 0]) % blocks == number
            places, persons = places[kept], persons[kept]
        yield places, persons


def _step(histories: Histories, places: Counts, at: int, before: Counts | None = None) -> Counts:
    """Column of the dates at some places and, but for a first date, days since the date before each."""
    column = histories.columns[places]
    if at == 0:
        return column
    days = histories.known[places] - histories.known[places - 1 if before is None else before]
    return np.asarray(days * histories.kinds + column)


def _matching(histories: Histories, sets: _Sets) -> Counts:
    """People who match each set, shape (n_sets,).

    Known days are parted by their rest modulo the number of residues that ``Histories.possible`` has, 7 or 1: a
    released set and a possible residue of its offset lead to days of one rest, which are ranges in their quotients.
    """
    known, released, residues = histories.known[sets.first], histories.released[sets.first], histories.possible.shape[1]
    reach, low = histories.reach, int(min(known.min(), released.min()))
    span, signatures = int(max(known.max(), released.max())) - low + 2 * reach + 2, sets.signatures
    if (int(signatures.max()) + 1) * residues * histories.people * span >= _LARGEST:
        signatures = np.unique(signatures, return_inverse=True)[1].astype(np.int64)
    chosen, residue = np.nonzero(histories.possible[sets.persons])
    day = released[chosen] - low
    parted, day, again = _in_order(
        signatures[chosen] * residues + (day - residue) % residues, sets.persons[chosen], day
    )
    rest = parted % residues
    begins, ends = -((rest + reach - day) // residues), (day + reach - rest) // residues + 1
    begins[again] = np.maximum(begins[again], ends[np.flatnonzero(again) - 1])
    ends = np.maximum(ends, begins)
    asked = (signatures * residues + (known - low) % residues) * span + reach + (known - low) // residues
    at = np.argsort(asked, kind="stable")
    found = np.empty(len(asked), dtype=np.int64)
    begun, ended = (
        np.searchsorted(np.sort(parted * span + reach + one), asked[at], side="right") for one in (begins, ends)
    )
    found[at] = begun - ended
    return found


def _in_order(signatures: Counts, persons: Counts, days: Counts) -> tuple[Counts, Counts, NDArray[np.bool_]]:
    """Signatures and days in the order of both and persons, and whether signature and person are those before."""
    width, people = int(days.max()) + 1, int(persons.max()) + 1
    if (int(signatures.max()) + 1) * people * width < _LARGEST:
        pair, day = np.divmod(np.sort((signatures * people + persons) * width + days), width)
        return pair // people, day, np.diff(pair, prepend=-1) == 0
    order = np.lexsort((days, persons, signatures))
    signature, person = signatures[order], persons[order]
    again = (np.diff(signature, prepend=-1) == 0) & (np.diff(person, prepend=-1) == 0)
    return signature, days[order], again


def _joined(columns: list[Counts]) -> Counts:
    """One number for each combination of numbers from 0, equal for equal combinations."""
    return number_rows(columns, [int(column.max(initial=0)) + 1 for column in columns], len(columns[0]))[0]
