"""Hierarchies of quasi-identifiers, and records folded into distinct tuples.

>>> import pandas as pd
>>> from releasegate.microdata import distinct_tuples, encode, hierarchy_from_rows
>>> sex = hierarchy_from_rows("sex", [["F", "*"], ["M", "*"]], "example")
>>> codes = encode(pd.DataFrame({"sex": ["F", "M", "F"]}), {"sex": sex}, "example")
>>> tuples, tuple_of_record = distinct_tuples(codes, [sex])
>>> tuples.counts.tolist(), tuple_of_record.tolist()
([2, 1], [0, 1, 0])
"""

from tasks.microdata.build import read_arx, write_arx
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.microdata.tuples import Tuples, distinct_tuples, encode, leaf_codes, leaf_keys

__all__ = [
    "Hierarchy",
    "Tuples",
    "distinct_tuples",
    "encode",
    "hierarchy_from_rows",
    "leaf_codes",
    "leaf_keys",
    "read_arx",
    "write_arx",
]
