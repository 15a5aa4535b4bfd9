"""Numeric columns that a request releases masked: read, masked, kept between stages, and written as text again."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, ParameterError, row_positions
from tasks.core.files import save_arrays, saved_arrays
from tasks.core.plural import plural
from tasks.masking.facts import MaskingFact
from tasks.masking.method import Effect, Floats
from tasks.masking.registry import METHODS
from tasks.microdata.coded import Prepared, code_column, is_in_series, sensitivities
from tasks.microdata.persons import persons_of
from tasks.request.model import Attribute, Masking, ReleaseRequest, ValueType

_LARGEST_EXACT = 2.0**53
"""Largest number up to which a double holds every whole one."""

GeneratorFor = Callable[[str], np.random.Generator]
"""Gives the generator of one masking, by a name that its values and terms determine."""


@dataclass(frozen=True)
class MaskedColumns:
    """Numeric columns before and after masking, (n_records, n_names), in the order of the file; a fact a masking.

    A value is NaN where it is missing, before and after.
    """

    names: tuple[str, ...]
    original: Floats
    masked: Floats
    facts: tuple[MaskingFact, ...]

    def columns(self, names: Sequence[str]) -> list[int]:
        """Positions of columns by name."""
        return [self.names.index(name) for name in names]

    def text(self, name: str) -> pd.Series:
        """A masked column as it is written: whole numbers without a point, others in the fewest digits."""
        values, place = np.unique(self.masked[:, self.names.index(name)] + 0.0, return_inverse=True)
        texts = [None if np.isnan(value) else written_number(value) for value in values.tolist()]
        return pd.Series(np.array(texts, dtype=object)[place], dtype="str")


NOTHING_MASKED = MaskedColumns((), np.empty((0, 0)), np.empty((0, 0)), ())
"""The columns of a request that masks none."""


def written_number(value: float) -> str:
    """A number as it is written into a released file.

    >>> written_number(40.0), written_number(0.1), written_number(1e300)
    ('40', '0.1', '1e+300')
    """
    return str(int(value)) if value.is_integer() and abs(value) <= _LARGEST_EXACT else repr(value)


def mask_columns(request: ReleaseRequest, frame: pd.DataFrame, generator_for: GeneratorFor) -> MaskedColumns:
    """Mask the numeric columns that a request names in microdata as text, missing cells as NA; of each person once.

    A generator's name is a hash of terms and values: a release that is repeated with the same values is masked the
    same, so that nobody gains by averaging several. A missing value stays missing: a masking is of the records that
    have its values. DataError if a value is no number or too large, a column does not vary, a record has some of the
    values that are masked together and not all, or the method cannot be applied to the records.
    """
    names = tuple(name for masking in request.masking for name in masking.attributes)
    persons = persons_of(frame, request) if names else None
    rows = slice(None) if persons is None else persons.first_rows
    original = np.empty((len(frame) if persons is None else len(persons), len(names)))
    for place, name in enumerate(names):
        whole = request.attributes[name].type is ValueType.INTEGER
        original[:, place] = numbers(frame[name], name, request.dataset.path, whole=whole)[rows]
    masked, facts = original.copy(), []
    for number, masking in enumerate(request.masking):
        places = [names.index(name) for name in masking.attributes]
        held = _stated(original[:, places], masking, request.dataset.path, number)
        values, at = original[held][:, places], np.ix_(held, np.array(places))
        name = hashlib.sha256(masking.model_dump_json().encode() + values.tobytes()).hexdigest()
        try:
            made = METHODS[masking.method].of(masking).mask(values, generator_for(name))
        except ParameterError as error:
            raise _not_maskable(error, request, number) from None
        attributes = [request.attributes[name] for name in masking.attributes]
        masked[at], rounded, limited = _kept_valid(made.values, masking, attributes)
        facts.append(
            MaskingFact(
                attributes=masking.attributes,
                method=masking.method.value,
                parameters={key: value for key, value in made.described.items() if key != "method"},
                rounded=rounded,
                limited=limited,
            )
        )
    return MaskedColumns(names, original, masked, tuple(facts))


def _stated(values: Floats, masking: Masking, where: str, number: int) -> NDArray[np.intp]:
    """Records that have all values of a masking; DataError if one has some of them alone."""
    absent = np.isnan(values)
    some = np.flatnonzero(absent.any(axis=1) & ~absent.all(axis=1))
    if len(some):
        raise DataError(
            "a record has some of the values that are masked together, and not all",
            where=f"{where}, columns {', '.join(masking.attributes)} (masking[{number}]), {row_positions(some)}",
            expected="all of these values in a record, or none of them",
            got=f"{plural(len(some), 'record')} with some",
            fix="mask the attributes one by one, each in a masking of its own, or complete the records",
        )
    return np.flatnonzero(~absent.any(axis=1))


def numbers(column: pd.Series, name: str, where: str, *, whole: bool = False) -> Floats:
    """A column of text as numbers, NaN where missing.

    DataError if a cell is no finite number, all are the same, or one is not exact.
    """
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(values) & column.notna().to_numpy())
    if len(wrong):
        raise DataError(
            "a value that is to be masked is no number",
            where=f"{where}, column {name}, {row_positions(wrong)}",
            expected="a finite number, or nothing",
            got=f"{plural(len(wrong), 'record')} with others",
            fix="correct or leave out these records, or take the attribute out of masking",
        )
    stated = values[~np.isnan(values)]
    if not len(stated) or stated.min() == stated.max():
        raise DataError(
            "an attribute that is to be masked does not vary",
            where=f"{where}, column {name}",
            expected="at least two different values",
            got="the same in every record",
            fix="take the attribute out of masking; there is nothing to hide in it",
        )
    beyond = np.flatnonzero(np.abs(values) >= _LARGEST_EXACT)
    if whole and len(beyond):
        raise DataError(
            "a whole number that is to be masked is too large to be held exactly",
            where=f"{where}, column {name}, {row_positions(beyond)}",
            expected="whole numbers between -2⁵³ and 2⁵³",
            got=f"{plural(len(beyond), 'record')} with others",
            fix="take the attribute out of masking; a number as long as this is rather an identifier",
        )
    return values


def with_masked(prepared: Prepared, request: ReleaseRequest, columns: MaskedColumns) -> Prepared:
    """Coded data whose masked columns hold the masked values."""
    weights = sensitivities(request)
    replaced = {
        name: code_column(
            columns.text(name),
            weights.get(name),
            request.attributes[name].type,
            in_series=is_in_series(request, name),
        )
        for name in columns.names
        if name in prepared.columns
    }
    return replace(prepared, columns={**prepared.columns, **replaced})


def _kept_valid(values: Floats, masking: Masking, attributes: Sequence[Attribute]) -> tuple[Floats, bool, bool]:
    """Masked values as the columns can hold them: whole where they were, within the bounds that were declared."""
    effect = METHODS[masking.method].effect
    if effect is Effect.EXCHANGED:
        return values, False, False
    whole = [attribute.type is ValueType.INTEGER for attribute in attributes]
    kept = np.where(whole, np.rint(values), values)
    if effect is Effect.DERIVED:
        return kept, any(whole), False
    low = [-np.inf if attribute.minimum is None else attribute.minimum for attribute in attributes]
    high = [np.inf if attribute.maximum is None else attribute.maximum for attribute in attributes]
    within = np.clip(kept, low, high)
    return within, any(whole), bool((within != kept).any())


def _not_maskable(error: ParameterError, request: ReleaseRequest, number: int) -> DataError:
    masking = request.masking[number]
    where = f"masking[{number}] ({masking.method.value} of {', '.join(masking.attributes)})"
    return DataError(
        error.what,
        where=f"{where}: {error.where}" if error.where else where,
        expected=error.expected,
        got=error.got,
        fix="correct the parameters of the masking, or take the attribute out of it",
    )


def save_masked(columns: MaskedColumns, path: Path) -> None:
    """Keep masked columns between the stages of a run."""
    about = {"names": columns.names, "facts": [fact.model_dump(mode="json") for fact in columns.facts]}
    save_arrays(path, about, original=columns.original, masked=columns.masked)


def load_masked(path: Path) -> MaskedColumns:
    """Read what ``save_masked`` wrote; StageFailed if the file is missing or damaged."""
    with saved_arrays(path, "masking") as (about, arrays):
        facts = tuple(map(MaskingFact.model_validate, about["facts"]))
        return MaskedColumns(tuple(about["names"]), arrays["original"], arrays["masked"], facts)
