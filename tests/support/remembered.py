"""Results that the gate works out alike in most tests, kept for as long as the process runs.

Most tests of flows release the same records under the same terms: Great Expectations, the classes of the default method
with their bound, the search for deterring penalties and clusterings take two thirds of such a release. What is kept
depends on nothing but its key: the function's arguments, with the state of a generator among them; of a request, what
validation reads. Tests of validation itself keep nothing.
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
import numpy.typing as npt
import pandas as pd
import pytest
import sklearn
from sklearn.cluster import _kmeans
from sklearn.metrics import pairwise

from tasks.adversary import exploiting
from tasks.assessments.singling_out import population_uniqueness
from tasks.assessments.utility import analyses
from tasks.decoys import decoy_cells, detectability, prospect
from tasks.generalization import recoding
from tasks.generalization.budget import remainders
from tasks.generalization.methods import remainder
from tasks.request.model import ReleaseRequest
from tasks.validation import run
from tasks.validation.suite import Check

Result = TypeVar("Result")

_evaluate, _judge = run.evaluate, run.judge
_solved = lru_cache(maxsize=4096)(exploiting._table.__wrapped__)
_verdicts: dict[tuple[object, ...], dict[str, bool]] = {}
_judged: dict[bytes, run.Judged] = {}
_NOT_VALIDATED = {"hierarchy", "known_probability", "weight"}
"""Terms of an attribute that validation does not read; of the policy it reads its own part alone."""


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


def _judge_once(
    frame: pd.DataFrame,
    request: ReleaseRequest,
    columns: Sequence[str],
    covered: npt.NDArray[np.bool_] = run._NOBODY,
    *,
    confirmed: bool = True,
) -> run.Judged:
    attributes = {name: one.model_dump(exclude=_NOT_VALIDATED) for name, one in request.attributes.items()}
    read = request.dataset, attributes, request.tables, request.policy.validation
    cells = [(name, str(column.dtype), column.tolist()) for name, column in frame.items()]
    key = hashlib.sha256(repr((cells, read, tuple(columns), covered.tobytes(), confirmed)).encode()).digest()
    if key not in _judged:
        _judged[key] = _judge(frame, request, columns, covered, confirmed=confirmed)
    return _judged[key] | run.NOTHING_JUDGED


def _distances(points: npt.NDArray[np.float64], **options: Any) -> npt.NDArray[np.float64]:
    """Those of scikit-learn, which checks its own centres for longer than it works out their distances."""
    return pairwise._euclidean_distances(points, points, None, None, **options)


@contextmanager
def remembered() -> Iterator[None]:
    """Keep results of this process, and use those kept before, for a while."""
    checked = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with checked, pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "evaluate", _evaluate_once)
        patch.setattr(run, "judge", _judge_once)
        patch.setattr(_kmeans, "euclidean_distances", _distances)
        patch.setattr(exploiting, "_table", _solved)
        for (module, name), function in _remembering.items():
            patch.setattr(module, name, function)
        yield
