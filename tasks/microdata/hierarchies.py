"""The hierarchies of a request's quasi-identifiers, from whichever source each names."""

from collections.abc import Mapping

import pandas as pd

from tasks.microdata.arx import read_arx
from tasks.microdata.build import from_groups, from_intervals, from_prefixes
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.load import LoadedRequest


def build_hierarchies(loaded: LoadedRequest, tables: Mapping[str, pd.DataFrame]) -> dict[str, Hierarchy]:
    """Build the hierarchy of every quasi-identifier, in the order of the request.

    Parameters
    ----------
    loaded : LoadedRequest
    tables : mapping of str to DataFrame
        Tables of text columns whose values make up the domain of a hierarchy by prefixes: population and data.

    Raises
    ------
    HierarchyError, WorkspaceError
        If a hierarchy is no tree, or its file cannot be read.
    """
    hierarchies = {}
    for name in loaded.request.quasi_identifiers:
        source = loaded.request.attributes[name].hierarchy
        if source is None:
            continue
        if source.file is not None:
            path = loaded.resolve(source.file, f"attributes.{name}.hierarchy.file")
            hierarchies[name] = read_arx(name, path)
        elif source.intervals is not None:
            hierarchies[name] = from_intervals(name, source.intervals)
        elif source.prefixes is not None:
            values = {str(value) for table in tables.values() for value in table[name].dropna().unique()}
            hierarchies[name] = from_prefixes(name, source.prefixes, values)
        elif source.groups is not None:
            hierarchies[name] = from_groups(name, source.groups)
    return hierarchies
