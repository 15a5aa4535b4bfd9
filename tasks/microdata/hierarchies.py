"""The hierarchies of a request's quasi-identifiers, from whichever source each names."""

import pandas as pd

from tasks.microdata.arx import read_arx
from tasks.microdata.build import from_groups, from_intervals, from_prefixes
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.load import LoadedRequest


def build_hierarchies(loaded: LoadedRequest, population: pd.DataFrame) -> dict[str, Hierarchy]:
    """Build the hierarchy of every quasi-identifier, in the order of the request.

    Parameters
    ----------
    loaded : LoadedRequest
    population : DataFrame
        Text columns whose values make up the domain of a hierarchy by prefixes. The data's own do not: hierarchies go
        with a delivery, and the rule of a release must not depend on who is in it.

    Raises
    ------
    HierarchyError, WorkspaceError
        If a hierarchy is no tree and may not be another, or its file cannot be read.
    """
    hierarchies = {}
    for name in loaded.request.quasi_identifiers:
        source = loaded.request.attributes[name].hierarchy
        if source is None:
            continue
        if source.file is not None:
            path = loaded.resolve(source.file, f"attributes.{name}.hierarchy.file")
            hierarchies[name] = read_arx(name, path, levels_may_cross=source.levels_may_cross)
        elif source.intervals is not None:
            hierarchies[name] = from_intervals(name, source.intervals, levels_may_cross=source.levels_may_cross)
        elif source.prefixes is not None:
            values = population[name].dropna().unique()
            hierarchies[name] = from_prefixes(name, source.prefixes, (str(value) for value in values))
        elif source.groups is not None:
            hierarchies[name] = from_groups(name, source.groups, levels_may_cross=source.levels_may_cross)
    return hierarchies
