"""Adult's complete records over eight quasi-identifiers, with hierarchies of the depths that ARX's example has.

5 · 2 · 2 · 3 · 4 · 3 · 3 · 3 = 6,480 nodes over 30,162 records.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows

_DATA = Path(__file__).parents[2] / "examples" / "adult-tn" / "data" / "adult-tn.csv.gz"
_MARITAL = {"spouse present": "Married-civ-spouse Married-AF-spouse"}
_SCHOOLING = {
    "undergraduate": "Bachelors Some-college",
    "professional": "Prof-school Assoc-acdm Assoc-voc",
    "graduate": "Masters Doctorate",
    "primary school": "Preschool 1st-4th 5th-6th",
}
_DEGREE = {"primary school": "primary", "high school": "secondary"}
_COUNTRY = {
    "North America": "United-States Puerto-Rico Canada Outlying-US(Guam-USVI-etc) Cuba Honduras Jamaica Mexico "
    "Dominican-Republic Haiti Guatemala El-Salvador",
    "South America": "Ecuador Columbia Nicaragua Trinadad&Tobago Peru",
    "Asia": "Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong",
    "Africa": "South",
}
_WORK = {"business": "Private Self-emp-not-inc Self-emp-inc", "no pay": "Without-pay Never-worked"}
_OCCUPATION = {
    "technical": "Tech-support Craft-repair Prof-specialty Machine-op-inspct",
    "other": "Other-service Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
}
_AGES = range(17, 121)


@cache
def adult_lattice() -> tuple[tuple[Hierarchy, ...], np.ndarray]:
    """The hierarchies and the leaf codes of the records."""
    frame = pd.read_csv(_DATA, dtype=str, keep_default_na=False)
    frame = frame[~frame[["workclass", "occupation", "native-country"]].isin(["", "?"]).any(axis=1)]
    rows = {
        "age": [[str(age), *(f"{age // w * w} to {age // w * w + w - 1}" for w in (5, 10, 20)), "*"] for age in _AGES],
        "sex": _levels(frame["sex"]),
        "race": _levels(frame["race"]),
        "marital-status": _levels(frame["marital-status"], _MARITAL, "spouse not present"),
        "education": [
            [leaf, group, _DEGREE.get(group, "higher"), top]
            for leaf, group, top in _levels(frame["education"], _SCHOOLING, "high school")
        ],
        "native-country": _levels(frame["native-country"], _COUNTRY, "Europe"),
        "workclass": _levels(frame["workclass"], _WORK, "government"),
        "occupation": _levels(frame["occupation"], _OCCUPATION, "trade and management"),
    }
    trees = tuple(hierarchy_from_rows(name, levels, f"hierarchy of {name}") for name, levels in rows.items())
    codes = np.column_stack([tree.encode(frame[tree.name].to_numpy(dtype=object)) for tree in trees])
    return trees, codes


def _levels(column: pd.Series, groups: Mapping[str, str] | None = None, rest: str = "") -> list[list[str]]:
    """Rows of a hierarchy of the column's values, their group where there are groups, and the top."""
    group_of = {leaf: group for group, leaves in (groups or {}).items() for leaf in leaves.split()}
    return [[leaf, *([group_of.get(leaf, rest)] if groups else []), "*"] for leaf in sorted(column.unique())]
