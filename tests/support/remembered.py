"""Results that the gate works out alike in most tests, kept for as long as the process runs.

Most tests of flows release the same records under the same terms: Great Expectations, the classes of the default method
with their bound, the search for deterring penalties and clusterings take two thirds of such a release. What is kept
depends on nothing but its key: the function's arguments, with the state of a generator among them.
"""

import copy
import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pytest
import sklearn

from tasks.adversary import exploiting
from tasks.assessments.singling_out import population_uniqueness
from tasks.assessments.utility import analyses
from tasks.decoys import decoy_cells, detectability, prospect
from tasks.generalization import recoding
from tasks.generalization.budget import remainders
from tasks.generalization.methods import remainder
from tasks.validation import run
from tasks.validation.suite import Check

Result = TypeVar("Result")

_evaluate = run.evaluate
_solved = lru_cache(maxsize=4096)(exploiting._table.__wrapped__)
_verdicts: dict[tuple[object, ...], dict[str, bool]] = {}


def once(function: Callable[..., Result]) -> Callable[..., Result]:
    """A function of its arguments alone, which changes none but generators; results and their states are kept."""
    known: dict[bytes, tuple[Result, list[Any]]] = {}

    def remembering(*given: object, **named: object) -> Result:
        generators = [one.bit_generator for one in given if isinstance(one, np.random.Generator)]
        try:
            key = hashlib.sha256(pickle.dumps(_plain((given, named)))).digest()
        except (pickle.PicklingError, AttributeError, TypeError):
            return function(*given, **named)
        if key not in known:
            known[key] = function(*given, **named), [one.state for one in generators]
        result, states = known[key]
        for generator, state in zip(generators, states, strict=True):
            generator.state = state
        return copy.deepcopy(result)

    return remembering


def _plain(value: Any) -> Any:
    """What a value is made of, without what it has worked out and kept itself."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return [(name, _plain(one)) for name, one in value.items()]
    if is_dataclass(value):
        return type(value).__name__, [_plain(getattr(value, field.name)) for field in fields(value)]
    return value


_PURE: tuple[tuple[ModuleType, str], ...] = (
    (remainder, "find"),
    (remainder, "priced_bound"),
    (recoding, "find"),
    (remainders, "find"),
    (exploiting, "_backwards"),
    (analyses, "_labels"),
    (population_uniqueness, "fit_pitman"),
    (prospect, "search"),
    (decoy_cells, "log_likeness"),
    (detectability, "_scores"),
)
"""Functions, by the module in which they are looked up."""
_remembering = {(module, name): once(getattr(module, name)) for module, name in _PURE}


def _evaluate_once(table: pd.DataFrame, checks: Sequence[Check]) -> dict[str, bool]:
    cells = tuple((name, str(column.dtype), *column) for name, column in table.items())
    key = (cells, repr(checks))
    if key not in _verdicts:
        _verdicts[key] = _evaluate(table, checks)
    return dict(_verdicts[key])


@contextmanager
def remembered() -> Iterator[None]:
    """Keep results of this process, and use those kept before, for a while."""
    checked = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with checked, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "evaluate", _evaluate_once)
        patch.setattr(exploiting, "_table", _solved)
        for (module, name), function in _remembering.items():
            patch.setattr(module, name, function)
        yield
