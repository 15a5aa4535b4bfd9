"""Minimal sample uniques by their definition: every subset of columns, every record against every other."""

from itertools import combinations
from typing import Any

Table = list[tuple[Any, ...]]


def alone(table: Table, row: int, columns: tuple[int, ...]) -> bool:
    own = [table[row][place] for place in columns]
    return not any([other[place] for place in columns] == own for at, other in enumerate(table) if at != row)


def minimal_sets(table: Table, row: int, largest: int) -> list[tuple[int, ...]]:
    """The minimal sample uniques of a record, the smallest first."""
    found: list[tuple[int, ...]] = []
    for size in range(1, largest + 1):
        for columns in combinations(range(len(table[0])), size):
            if alone(table, row, columns) and not any(set(one) <= set(columns) for one in found):
                found.append(columns)
    return found


def most_alone(table: Table, largest: int) -> int:
    """Records alone by the set of at most so many columns by which most are."""
    sets = (one for size in range(1, largest + 1) for one in combinations(range(len(table[0])), size))
    return max(sum(alone(table, row, columns) for row in range(len(table))) for columns in sets)
