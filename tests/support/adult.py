"""The Adult-TN example: data, population and hierarchies loaded once a process, and each method played once."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.game.problem import Problem
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.zip3 import zip_table
from tasks.generalization.generalize import generalize
from tasks.microdata.build import read_arx
from tasks.microdata.read import read_population
from tasks.microdata.tuples import distinct_tuples, encode
from tasks.request.model import Method, Population, SafeHarborRule

EXAMPLE = Path(__file__).parents[2] / "examples" / "adult-tn"
NAMES = ("age", "race", "sex", "zip")
RULES = {"age": SafeHarborRule.AGE, "zip": SafeHarborRule.ZIP}
PAYOFFS = Payoffs(benefit=1200, loss=300, gain=300, cost=4)
"""Wan et al. 2015, Table 2."""
GIBIBYTE = 2**30


@cache
def table(memory_limit: int = GIBIBYTE) -> CountIndex:
    hierarchies = {name: read_arx(name, EXAMPLE / "hierarchies" / f"{name}.csv") for name in NAMES}
    trees = tuple(hierarchies.values())
    records = pd.read_csv(EXAMPLE / "data" / "adult-tn.csv.gz", dtype=str, usecols=list(NAMES))
    data, _ = distinct_tuples(encode(records, hierarchies, "adult-tn"), trees)
    path = EXAMPLE / "data" / "population-tn.parquet"
    values, counts = read_population(path, Population(path=path.name, source="test"), NAMES)
    population, _ = distinct_tuples(encode(values, hierarchies, "population"), trees, counts)
    axes = tuple(
        safe_harbor_axis(tree, RULES.get(name, SafeHarborRule.NONE), zip_table()) for name, tree in hierarchies.items()
    )
    return CountIndex(trees, axes, data, population, memory_limit)


def weights(preset: str = "table7") -> np.ndarray:
    return information_loss_weights(preset, NAMES, [1.0] * len(NAMES))


@cache
def generalization(method: Method, cell_weights: str = "population") -> Generalization:
    return generalize(table(), method, PAYOFFS, weights(), cell_weights)


@cache
def problem(preset: str = "table7") -> Problem:
    adult = table()
    return Problem(adult.hierarchies, InformationLoss(adult.hierarchies, weights(preset)), PAYOFFS, adult.people)
