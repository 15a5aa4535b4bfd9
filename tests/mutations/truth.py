"""The risk of a delivered file, counted from its cells alone, whatever the request said of its columns."""

import csv
from collections.abc import Mapping
from pathlib import Path

from tests.mutations.bases import Base, Tree


def highest_risk(base: Base, trees: Mapping[str, Tree], delivered: Path) -> float:
    """One over the fewest people of the population whose true values a delivered row leaves possible.

    Every column that is a quasi-identifier, or tells one, is read as it was delivered: a label as the values below it.
    """
    leaves = {name: _below(trees[name]) for name in base.quasi_identifiers}
    found: dict[tuple[frozenset[str], ...], int] = {}
    with delivered.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            possible = {name: leaves[name][row[name]] for name in leaves if name in row}
            for column, (name, values) in base.tells.items():
                if column in row:
                    every = possible.get(name, frozenset(leaves[name]))
                    possible[name] = every & values[row[column]]
            key = tuple(possible.get(name, frozenset(leaves[name])) for name in base.quasi_identifiers)
            if key not in found:
                found[key] = _people(base, key)
    return 1 / min(found.values())


def identifiers_left(base: Base, delivered: Path) -> tuple[str, ...]:
    """Columns that name a person and were delivered."""
    with delivered.open(newline="", encoding="utf-8") as stream:
        header = next(csv.reader(stream))
    return tuple(name for name in base.identifiers if name in header)


def _below(tree: Tree) -> dict[str, frozenset[str]]:
    """The values that each label of a hierarchy stands for."""
    below: dict[str, set[str]] = {}
    for row in tree:
        for label in row:
            below.setdefault(label, set()).add(row[0])
    return {label: frozenset(values) for label, values in below.items()}


def _people(base: Base, possible: tuple[frozenset[str], ...]) -> int:
    return sum(
        int(one["count"])
        for one in base.population
        if all(one[name] in values for name, values in zip(base.quasi_identifiers, possible, strict=True))
    )
