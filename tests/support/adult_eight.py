"""Adult-TN over eight quasi-identifiers: the example's four, and education, marital status, occupation and work class.

The records are the example's. The people are the example's too, thinned evenly, and each is given the last four
attributes of a record of the same sex and five-year age band, drawn at random from a fixed seed; the records' own
people are added to them, so that everybody in the file is in the population.
"""

from functools import cache

import numpy as np
import pandas as pd

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.zip3 import zip_table
from tasks.microdata.build import read_arx
from tasks.microdata.hierarchy import Codes, Hierarchy, hierarchy_from_rows
from tasks.microdata.read import read_population
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.request.model import Population, SafeHarborRule
from tests.support.adult import EXAMPLE, NAMES

ADDED = ("education", "marital-status", "occupation", "workclass")
_GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "education": {
        "Preschool": ("up to 8th", "no diploma"),
        "1st-4th": ("up to 8th", "no diploma"),
        "5th-6th": ("up to 8th", "no diploma"),
        "7th-8th": ("up to 8th", "no diploma"),
        "9th": ("9th to 12th", "no diploma"),
        "10th": ("9th to 12th", "no diploma"),
        "11th": ("9th to 12th", "no diploma"),
        "12th": ("9th to 12th", "no diploma"),
        "HS-grad": ("high school", "diploma"),
        "Some-college": ("college", "diploma"),
        "Assoc-acdm": ("associate", "diploma"),
        "Assoc-voc": ("associate", "diploma"),
        "Bachelors": ("bachelor", "degree"),
        "Masters": ("graduate", "degree"),
        "Prof-school": ("graduate", "degree"),
        "Doctorate": ("graduate", "degree"),
    },
    "marital-status": {
        "Married-civ-spouse": ("married",),
        "Married-AF-spouse": ("married",),
        "Married-spouse-absent": ("apart",),
        "Separated": ("apart",),
        "Divorced": ("apart",),
        "Widowed": ("widowed",),
        "Never-married": ("single",),
    },
    "occupation": {
        "Exec-managerial": ("managers and professions", "office"),
        "Prof-specialty": ("managers and professions", "office"),
        "Adm-clerical": ("clerks and sales", "office"),
        "Sales": ("clerks and sales", "office"),
        "Tech-support": ("technicians", "hands"),
        "Craft-repair": ("technicians", "hands"),
        "Machine-op-inspct": ("operators", "hands"),
        "Transport-moving": ("operators", "hands"),
        "Handlers-cleaners": ("labour", "hands"),
        "Farming-fishing": ("labour", "hands"),
        "Other-service": ("services", "services and unknown"),
        "Priv-house-serv": ("services", "services and unknown"),
        "Protective-serv": ("protection", "services and unknown"),
        "Armed-Forces": ("protection", "services and unknown"),
        "unknown": ("unknown", "services and unknown"),
    },
    "workclass": {
        "Private": ("private", "employed"),
        "Federal-gov": ("public", "employed"),
        "Local-gov": ("public", "employed"),
        "State-gov": ("public", "employed"),
        "Self-emp-inc": ("own", "self-employed"),
        "Self-emp-not-inc": ("own", "self-employed"),
        "Without-pay": ("unpaid", "other"),
        "Never-worked": ("unpaid", "other"),
        "unknown": ("not told", "other"),
    },
}
_BAND = 5
_SEED = 20150325
_RULES = {"age": SafeHarborRule.AGE, "zip": SafeHarborRule.ZIP}


@cache
def trees() -> dict[str, Hierarchy]:
    """Hierarchies of the eight attributes: 288 · 4 · 3 · 4 · 4 = 55,296 strategies."""
    own = {name: read_arx(name, EXAMPLE / "hierarchies" / f"{name}.csv") for name in NAMES}
    added = {
        name: hierarchy_from_rows(name, [[leaf, *groups, "*"] for leaf, groups in _GROUPS[name].items()], "a benchmark")
        for name in ADDED
    }
    return {**own, **added}


@cache
def _records() -> pd.DataFrame:
    names = [*NAMES, *ADDED]
    frame = pd.read_csv(EXAMPLE / "data" / "adult-tn.csv.gz", dtype=str, usecols=names, keep_default_na=False)
    return frame[names].replace({"": "unknown", "?": "unknown"})


def table(share: float, records: int | None = None, memory_limit: int = 2**30) -> CountIndex:
    """Data and population.

    Parameters
    ----------
    share : float
        Share of the example's people, 0 to 1.
    records : int, optional
        Records of the file, evenly spaced; all where not given.
    memory_limit : int
        Bytes that the count cube may take.
    """
    hierarchies = trees()
    order = tuple(hierarchies.values())
    frame = _records()
    if records is not None:
        frame = frame.iloc[np.linspace(0, len(frame) - 1, records).astype(int)]
    codes = encode(frame, hierarchies, "adult-tn")
    data, _ = distinct_tuples(codes, order)
    axes = tuple(
        safe_harbor_axis(tree, _RULES.get(name, SafeHarborRule.NONE), zip_table()) for name, tree in hierarchies.items()
    )
    return CountIndex(order, axes, data, _population(codes, share), memory_limit)


def _population(records: Codes, share: float) -> Tuples:
    hierarchies = trees()
    path = EXAMPLE / "data" / "population-tn.parquet"
    values, counts = read_population(path, Population(path=path.name, source="test"), NAMES)
    four = encode(values, {name: hierarchies[name] for name in NAMES}, "population")
    rng = np.random.default_rng(_SEED)
    people = np.repeat(four, rng.binomial(counts, share), axis=0)
    donors = encode(_records(), hierarchies, "adult-tn")
    added = donors[_donors(people, donors, rng), len(NAMES) :]
    everybody = np.concatenate([np.column_stack([people, added]), records])
    return distinct_tuples(everybody, tuple(hierarchies.values()))[0]


def _donors(people: Codes, donors: Codes, rng: np.random.Generator) -> np.ndarray:
    """A record for each person, of the same sex and of the nearest age band that has any."""
    age, sex = NAMES.index("age"), NAMES.index("sex")
    years = np.array([int("".join(filter(str.isdigit, label)) or 0) for label in trees()["age"].labels[0]])
    chosen = np.empty(len(people), dtype=np.intp)
    for value in np.unique(donors[:, sex]):
        own = np.flatnonzero(donors[:, sex] == value)
        bands, starts = np.unique(years[donors[own, age]] // _BAND, return_inverse=True)
        by_band = [own[starts == band] for band in range(len(bands))]
        mine = np.flatnonzero(people[:, sex] == value)
        nearest = np.abs(years[people[mine, age]][:, None] // _BAND - bands).argmin(axis=1)
        for band, pool in enumerate(by_band):
            rows = mine[nearest == band]
            chosen[rows] = rng.choice(pool, len(rows))
    return chosen
