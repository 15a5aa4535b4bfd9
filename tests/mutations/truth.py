"""The risk of a delivered file, counted from its cells alone, whatever the request said of its columns."""

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.mutations.bases import Base, Row, Tree

Possible = tuple[frozenset[str], ...]
"""The true values that a delivered row leaves possible, by quasi-identifier."""


def highest_risk(base: Base, trees: Mapping[str, Tree], delivered: Path) -> float:
    """One over the fewest people of the population whose true values a delivered row leaves possible.

    Where others can know who is in the file, also one over the fewest rows that may be one person's of it. Every column
    that is a quasi-identifier, or tells one, is read as it was delivered: a label as the values below it.
    """
    leaves = {name: _below(trees[name]) for name in base.quasi_identifiers}
    found = Counter[Possible]()
    with delivered.open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            possible = {name: leaves[name][row[name]] for name in leaves if name in row}
            for column, (name, values) in base.tells.items():
                if column in row:
                    every = possible.get(name, frozenset(leaves[name]))
                    possible[name] = every & values[row[column]]
            found[tuple(possible.get(name, frozenset(leaves[name])) for name in base.quasi_identifiers)] += 1
    people = Counter({_values(base, one): int(one["count"]) for one in base.population})
    least = min(sum(people[values] for values in people if _fits(values, possible)) for possible in found)
    if base.presence_known:
        in_file = {_values(base, one) for one in base.rows}
        rows = (sum(found[possible] for possible in found if _fits(values, possible)) for values in in_file)
        least = min(least, *(number for number in rows if number))
    return 1 / least


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


def _values(base: Base, row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in base.quasi_identifiers)


def _fits(values: tuple[str, ...], possible: Possible) -> bool:
    return all(value in held for value, held in zip(values, possible, strict=True))
