"""Associations of the released quasi-identifiers with the other columns of a copy, before and after.

What a study asks of a file is mostly how an outcome differs between groups: such a pair has one column that is grouped
and one that is masked, or leaves as it is. Quasi-identifiers among each other, and masked numbers among each other, are
in :mod:`tasks.assessments.utility.numeric_change`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.utility.facts import AssociationFact
from tasks.assessments.utility.numeric_change import FEWEST_A_VALUE, LARGEST_TO_SQUARE, Floats, cramers_v, varies
from tasks.candidate.candidate import Candidate
from tasks.request.attribute import NUMERIC
from tasks.request.model import Role, ValueType

CORRELATION_RATIO = "correlation ratio"
CRAMERS_V = "Cramér's V"


@dataclass(frozen=True)
class _Outcome:
    """A column that is no quasi-identifier, of all records as collected and of the released ones as released."""

    name: str
    is_number: bool
    """Whether it has numbers, and not codes of categories."""
    before: Floats
    """NaN where a value is missing, here and after."""
    after: Floats


def outcome_changes(candidate: Candidate) -> Iterator[AssociationFact]:
    """Association of every quasi-identifier with every other column that leaves with values, before and after.

    The correlation ratio where the other column has numbers, else Cramér's V, both from 0 to 1 and corrected for bias.
    Records without a value of the other column count on neither side; those left out of the copy count before only.

    Raises
    ------
    LookupError
        If the candidate has no microdata, and columns that leave unmasked.
    """
    rows, tuples = candidate.rows, candidate.prepared.tuple_of_record
    codes, cells = candidate.prepared.data.codes, candidate.generalization.cells
    for outcome in _outcomes(candidate):
        for axis, name in enumerate(candidate.request.quasi_identifiers):
            yield AssociationFact(
                attributes=(name, outcome.name),
                measure=CORRELATION_RATIO if outcome.is_number else CRAMERS_V,
                before=_association(codes[tuples, axis], outcome.before, is_number=outcome.is_number),
                after=_association(cells[tuples[rows], axis], outcome.after, is_number=outcome.is_number),
            )


def correlation_ratio(groups: NDArray[np.integer], values: Floats) -> float | None:
    """Correlation ratio of a number with groups, corrected for bias (Kelley 1935), 0 to 1.

    Parameters
    ----------
    groups : array of int, shape (n,)
        Codes of the groups; only whether they are equal counts.
    values : array of float, shape (n,)

    Returns
    -------
    float or None
        None where there is one group, the number does not vary, or fewer than five records have a group on average.

    Notes
    -----
    √max(0, 1 − (1 − η²)(n − 1)/(n − g)) of g groups, η² the share of the number's variance that lies between the means
    of the groups. Without the correction a file of many groups would seem to lose association when they are merged.
    """
    group, found = pd.factorize(groups)
    n, n_groups = len(values), len(found)
    if n_groups < 2 or n < FEWEST_A_VALUE * n_groups or not varies(values):
        return None
    centred = (values - values.mean()) / values.std()
    sizes = np.bincount(group)
    between = float((np.bincount(group, weights=centred) ** 2 / sizes).sum()) / n
    return float(np.sqrt(max(0.0, 1 - (1 - min(between, 1.0)) * (n - 1) / (n - n_groups))))


def _outcomes(candidate: Candidate) -> Iterator[_Outcome]:
    """The sensitive and harmless columns that leave, dates apart."""
    masked, attributes, frame = candidate.masked, candidate.request.attributes, None
    for name in candidate.request.outbound:
        attribute = attributes[name]
        if name in masked.names:
            place = masked.names.index(name)
            yield _Outcome(name, True, masked.original[:, place], masked.masked[candidate.rows, place])
        elif attribute.role in (Role.SENSITIVE, Role.INSENSITIVE) and attribute.type is not ValueType.DATE:
            frame = candidate.frame if frame is None else frame
            values, is_number = _values(frame[name], may_be_numbers=attribute.type in NUMERIC)
            yield _Outcome(name, is_number, values, values[candidate.rows])


def _values(text: pd.Series, *, may_be_numbers: bool) -> tuple[Floats, bool]:
    """A column as numbers, where all its values are, or as codes; and whether they are numbers."""
    codes = pd.factorize(text)[0].astype(np.float64)
    codes[codes < 0] = np.nan
    if may_be_numbers:
        numbers = pd.to_numeric(text.astype("str"), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if ((np.abs(numbers) <= LARGEST_TO_SQUARE) | np.isnan(codes)).all():
            return numbers, True
    return codes, False


def _association(groups: NDArray[np.integer], values: Floats, *, is_number: bool) -> float | None:
    """Association of groups with the numbers, or codes, of the same records; None where there is nothing to measure."""
    present = ~np.isnan(values)
    if not present.any():
        return None
    groups, values = groups[present], values[present]
    return correlation_ratio(groups, values) if is_number else cramers_v(groups, values, np.ones(len(values)))
