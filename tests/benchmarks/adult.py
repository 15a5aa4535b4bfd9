"""The Adult-TN example as the benchmarks need it: prepared data, the game under the case study's stakes."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.game.problem import Problem
from tasks.generalization.setting import game_table
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.microdata.tuples import Tuples
from tasks.request.load import load_request

EXAMPLE = Path(__file__).parents[2] / "examples" / "adult-tn" / "request.yaml"
CASE_STUDY = Payoffs(benefit=1200, loss=300, gain=300, cost=4)
_Result = TypeVar("_Result")


@cache
def prepared() -> Prepared:
    """Adult-TN and its population, coded."""
    loaded = load_request(EXAMPLE)
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    return prepare(loaded, frame)


@cache
def _table() -> CountIndex:
    return game_table(load_request(EXAMPLE).request, prepared())


def fresh_table() -> CountIndex:
    """Data and population with nothing counted or played yet."""
    return replace(_table(), outcomes={})


def weights(preset: str) -> np.ndarray:
    """Information-loss weights of a preset."""
    return information_loss_weights(preset, list(prepared().hierarchies), [1.0] * 4)


def problem(table: CountIndex, preset: str = "table7") -> Problem:
    """The case study's game; building it counts the population's cube."""
    loss = InformationLoss(table.hierarchies, weights(preset))
    return Problem(table.hierarchies, loss, CASE_STUDY, table.people)


def resampled(records: int) -> Tuples:
    """Adult-TN drawn with replacement to a number of records, as distinct tuples."""
    data = prepared().data
    counts = np.random.default_rng(1).multinomial(records, data.counts / data.total)
    present = counts > 0
    return replace(data, codes=data.codes[present], counts=counts[present], keys=data.keys[present])


def drawn(request: Path, target: Path, records: int) -> Path:
    """A request of the example, its data drawn with replacement to a number of records and its population as large.

    Record ids are numbered anew; the folder is copied to ``target``.
    """
    shutil.copytree(request.parent, target)
    data = next((target / "data").glob("adult-tn.csv*"))
    frame = pd.read_csv(data, dtype=str, keep_default_na=False)
    taken = frame.iloc[np.random.default_rng(1).integers(len(frame), size=records)]
    taken.assign(**{frame.columns[0]: np.arange(1, records + 1).astype(str)}).to_csv(data, index=False)
    people = target / "data" / "population-tn.parquet"
    counted = pd.read_parquet(people)
    counted.assign(count=counted["count"] * -(-records // len(frame))).to_parquet(people, index=False)
    return target / request.name


def best_of(times: int, action: Callable[[], _Result]) -> tuple[float, _Result]:
    """Least seconds of several runs, and the last result."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - started)
    return min(seconds), result
