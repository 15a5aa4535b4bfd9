"""Whether the records of a file look like several rows of the same people, though the request does not say so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.persons import persons_of, records_of
from tasks.request.model import NUMERIC, ReleaseRequest, Role, ValueType
from tasks.validation.values import matches, read_days

AGREEING = 0.9
"""Share of the repeated records that have the quasi-identifiers of the first with the same identifier."""
BY_CHANCE = 0.5
"""Share of the records with the most frequent quasi-identifiers from which that says nothing."""
_WITHHELD = (Role.WITHHELD, Role.UNREVIEWED, Role.PSEUDONYM)
_MANY = 0.05
"""Share of the records that repeat a person from which groups of records are no groups of people."""
_LIFETIMES = pd.Timedelta(days=3653)
"""Least span of dates of birth; that of visits or of the days of a survey is shorter in most files."""
_FOLLOWS = 0.95
"""Share of the records whose value is the most frequent one beside another column's, from which it follows from it."""
_WITH_DATES = 0.8
"""Rank correlation with dates from which a number is an age or a year."""
_PARTS = (r"^(?P<part>.*\w)[\W_]+(?P<rest>[^\W_]+)$", r"^(?P<rest>[^\W_]+)[\W_]+(?P<part>\w.*)$")
"""A number with the last or the first part taken off, as in P0007-2021; what remains may name a person."""
_PROBED = 100
"""First records that show whether a column's values have parts."""
_GROWN = 0.1
"""Width within which numbers of one person lie, as ages do that grow from row to row: a share of the middle range."""
_MIDDLE = (0.05, 0.95)
_NAMES = r"^\pL+(?:['’-]\pL+)*\z"
"""Single words, as forenames and surnames are."""

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RepeatedPeople:
    """Columns whose values seem to name people with several records."""

    columns: tuple[str, ...]
    values: int
    records: int
    """Records with a value in all of them."""
    rows: NDArray[np.bool_]
    """Whether each record is a further one of its person."""
    is_certain: bool
    """Whether so many records are, and alike in so much, that groups of records are no groups of people."""

    @property
    def again(self) -> int:
        """Records beyond the first of each value."""
        return self.records - self.values


def repeated_people(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[RepeatedPeople]:
    """Columns whose values repeat, if the records that share one share their quasi-identifiers too.

    Those of a ward or a physician do not; ages of one person may differ a little. Direct identifiers are asked; where
    the request names no person of rows, also these without a part, withheld columns, forenames with surnames, and dates
    of birth, with the quasi-identifiers that do not follow from them. `frame` is the microdata; where the request names
    the persons of rows, its records are these. Nothing is found where most records have the same quasi-identifiers
    anyway.

    A finding is certain where a twentieth of the records repeat somebody and at least two quasi-identifiers agree of
    which neither follows from the other, so that they do not merely follow from the column, as a region does from a
    town. Beside dates of decades one that does not follow from the date is enough.
    """
    records = records_of(frame, persons_of(frame, request))
    quasi = {name: pd.factorize(records[name])[0] for name in request.quasi_identifiers}
    if np.bincount(_joint(list(quasi.values()))).max() > BY_CHANCE * len(records):
        return
    known = _Known(quasi, {name: _grown(records[name]) for name in quasi if request.attributes[name].type in NUMERIC})
    names, whole = list[tuple[str, Codes]](), False
    for name in request.with_role(Role.DIRECT):
        codes, values = pd.factorize(records[name])
        found = list(_found((name,), codes, known, least=2))
        yield from found
        whole |= any(one.is_certain for one in found)
        alone = request.dataset.person is None and not found and len(values) > 0
        if alone and matches(pd.Series(values), _NAMES).mean() >= AGREEING:
            names.append((name, codes))
    if request.dataset.person is not None:
        return
    for name in () if whole else request.with_role(Role.DIRECT):
        for part, rest in _parts(records[name]):
            lasting = {other: codes for other, codes in quasi.items() if (records[other] == rest).mean() < AGREEING}
            yield from _found((name,), part, replace(known, codes=lasting), least=2, certain_only=True)
    for (one, some), (other, more) in combinations(names, 2):
        both = np.where((some < 0) | (more < 0), -1, _joint([some, more]))
        yield from _found((one, other), both, known, least=2, certain_only=True)
    for name, attribute in request.attributes.items():
        if attribute.role in _WITHHELD and attribute.type is not ValueType.NUMBER:
            codes = pd.factorize(records[name])[0]
            yield from _found((name,), codes, known, least=2, certain_only=True)
    for name in request.quasi_identifiers:
        if request.attributes[name].type is ValueType.DATE:
            yield from _by_dates(records, request, name, known)


def _by_dates(records: pd.DataFrame, request: ReleaseRequest, name: str, known: "_Known") -> Iterator[RepeatedPeople]:
    codes, values = pd.factorize(records[name])
    days = read_days(pd.Series(values))
    if days.isna().any() or len(days) < 2 or days.max() - days.min() < _LIFETIMES:
        return
    others = {
        other: column
        for other, column in known.codes.items()
        if request.attributes[other].type is not ValueType.DATE and not _follows_dates(records[other], codes, days)
    }
    if others:
        yield from _found((name,), codes, replace(known, codes=others), least=1, certain_only=True)


def _parts(cells: pd.Series) -> Iterator[tuple[Codes, pd.Series]]:
    """Numbers of what remains of a column's values without a part, and that part."""
    texts = cells.astype("object")
    for pattern in _PARTS:
        if texts.head(_PROBED).str.match(pattern).fillna(value=False).mean() >= AGREEING:
            found = texts.str.extract(pattern)
            yield pd.factorize(found["part"])[0], found["rest"]


@dataclass(frozen=True)
class _Known:
    """Quasi-identifiers of all records."""

    codes: Mapping[str, Codes]
    numbers: Mapping[str, tuple[Floats, float]]
    """Numbers of those that have them, and the width within which those of one person lie."""

    def agreeing(self, codes: Codes, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """As ``agreeing``, of some records, whose numbers may differ a little where other columns do not."""
        fixed = [column[rows] for name, column in self.codes.items() if name not in self.numbers]
        places, same = agreeing(codes, _joint(fixed or [column[rows] for column in self.codes.values()]))
        first = pd.Series(rows).groupby(codes).transform("first").to_numpy()[places]
        for name in self.codes.keys() & self.numbers.keys() if fixed else ():
            numbers, width = self.numbers[name]
            own = self.codes[name]
            same &= (own[rows[places]] == own[first]) | (np.abs(numbers[rows[places]] - numbers[first]) <= width)
        return places, same


def _grown(cells: pd.Series) -> tuple[Floats, float]:
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = np.nanquantile(numbers, _MIDDLE) if np.isfinite(numbers).any() else (0.0, 0.0)
    return numbers, _GROWN * float(high - low)


def _found(
    columns: tuple[str, ...], codes: Codes, known: _Known, *, least: int, certain_only: bool = False
) -> Iterator[RepeatedPeople]:
    stated = np.flatnonzero(codes >= 0)
    values = int(np.count_nonzero(np.bincount(codes[stated])))
    if not known.codes or not 1 < values < len(stated):
        return
    places, same = known.agreeing(codes[stated], stated)
    if same.mean() < AGREEING:
        return
    is_certain = len(places) >= _MANY * len(codes) and len(_independent(known.codes)) >= least
    if is_certain or not certain_only:
        rows = np.zeros(len(codes), dtype=np.bool_)
        rows[stated[places[same]]] = True
        yield RepeatedPeople(columns, values, len(stated), rows, is_certain)


def agreeing(codes: NDArray[np.integer], tuples: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Places of the records but the first of each identifier, and whether each has the tuple of that first.

    ``codes`` are numbers of identifiers from 0, shape (n_records,), and ``tuples`` those of quasi-identifiers.
    """
    rows = np.arange(len(codes))
    first = np.empty(codes.max(initial=-1) + 1, dtype=np.intp)
    first[codes[::-1]] = rows[::-1]  # of several rows of one identifier the first is written last
    later = rows[first[codes] != rows]
    same: NDArray[np.bool_] = tuples[later] == tuples[first[codes[later]]]
    return later, same


def _independent(quasi: Mapping[str, Codes]) -> list[str]:
    """Quasi-identifiers in which people differ, coarse ones first, of which none follows from another one."""
    kept: list[str] = []
    varied = {name: codes for name, codes in quasi.items() if np.bincount(codes + 1).max() <= _FOLLOWS * len(codes)}
    for name in sorted(varied, key=lambda one: len(np.unique(varied[one]))):
        ours = varied[name]
        if not any(_follows(ours, varied[other]) or _follows(varied[other], ours) for other in kept):
            kept.append(name)
    return kept


def _follows(codes: Codes, other: Codes) -> bool:
    """Whether a column follows from another one."""
    pairs = pd.DataFrame({"other": other, "codes": codes}).value_counts(sort=False)
    return bool(pairs.groupby(level="other").max().sum() >= _FOLLOWS * len(codes))


def _follows_dates(cells: pd.Series, codes: Codes, days: pd.Series) -> bool:
    """Whether a column is an age, a year or a period of some dates: numbers in their order, or values of some years.

    By the first record of each date, so that repeated people do not count again.
    """
    stated, first = np.unique(codes, return_index=True)
    first = first[stated >= 0]
    day = days.to_numpy().astype("datetime64[D]").astype(np.float64)[codes[first]]
    values = cells.iloc[first]
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isfinite(numbers).all() and len(np.unique(numbers)) > 2:  # two numbers are a code, as of a sex
        return bool(abs(pd.Series(numbers).corr(pd.Series(day), method="spearman")) >= _WITH_DATES)
    groups = pd.Series(day).groupby(pd.factorize(values)[0])
    free = len(first) - groups.ngroups
    if free <= 0:
        return False
    within = float(((day - groups.transform("mean")) ** 2).sum()) / free
    return within < (1 - _WITH_DATES) * float(np.var(day, ddof=1))


def _joint(columns: Sequence[Codes]) -> Codes:
    numbers = pd.DataFrame(dict(enumerate(columns))).groupby(list(range(len(columns))), sort=False).ngroup()
    return np.asarray(numbers, dtype=np.int64)
