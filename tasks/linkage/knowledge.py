"""Partial knowledge: which attributes, or which individuals, the intruder has."""

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from tasks.errors import ParameterError
from tasks.linkage.figure import Linkage
from tasks.linkage.files import Files, Knowledge, files_to_link

Attack = Callable[[Files], Linkage]


def first_attributes(count: int) -> Knowledge:
    """The first ``count`` attributes in file order, of everybody (the protocol of Torra 2016, slide 62)."""
    return Knowledge(attributes=tuple(range(_whole(count, "known attributes"))))


def named_attributes(names: Sequence[str], wanted: Sequence[str]) -> Knowledge:
    """A named set of attributes, of everybody.

    Raises
    ------
    ParameterError
        If a name is not in the file.
    """
    place = {name: position for position, name in enumerate(names)}
    unknown = [name for name in wanted if name not in place]
    if unknown:
        raise ParameterError(
            "an attribute that the intruder is said to know is not in the file",
            where=", ".join(unknown),
            expected="names of numeric attributes of the file",
            got=f"{len(unknown)} others",
            fix="correct the names",
        )
    return Knowledge(attributes=tuple(place[name] for name in wanted))


def random_attributes(n_attributes: int, size: int, count: int, rng: np.random.Generator) -> list[Knowledge]:
    """Different random sets of ``size`` attributes: ``count`` of them, or all there are where that is fewer.

    Raises
    ------
    ParameterError
        If ``size`` is not from 1 to ``n_attributes`` or ``count`` is below 1.
    """
    _whole(size, "size of the sets", n_attributes)
    _whole(count, "number of sets")
    if comb(n_attributes, size) <= count:
        return [Knowledge(attributes=chosen) for chosen in combinations(range(n_attributes), size)]
    sets: dict[tuple[int, ...], None] = {}
    while len(sets) < count:
        sets[tuple(sorted(rng.choice(n_attributes, size, replace=False).tolist()))] = None
    return [Knowledge(attributes=chosen) for chosen in sets]


def some_individuals(n_records: int, count: int, rng: np.random.Generator) -> Knowledge:
    """All attributes of ``count`` individuals drawn at random, in file order.

    Raises
    ------
    ParameterError
        If ``count`` is not from 1 to ``n_records``.
    """
    _whole(count, "known individuals", n_records)
    return Knowledge(records=tuple(sorted(rng.choice(n_records, count, replace=False).tolist())))


def attack_under(
    attack: Attack,
    original: ArrayLike,
    masked: ArrayLike,
    knowledge: Sequence[Knowledge],
    names: Sequence[str] | None = None,
) -> list[Linkage]:
    """One attack under several states of knowledge; average their shares with ``mean_share``.

    Examples
    --------
    >>> from tasks.linkage.distance import distance_linkage
    >>> from tasks.linkage.figure import mean_share
    >>> table = np.array([[1.0, 5.0], [2.0, 9.0], [4.0, 7.0]])
    >>> figures = attack_under(distance_linkage, table, table, [first_attributes(1), first_attributes(2)])
    >>> mean_share(figures)
    1.0
    """
    return [attack(files_to_link(original, masked, known, names)) for known in knowledge]


def _whole(value: int, where: str, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1 or (most and value > most):
        raise ParameterError(
            "what the intruder knows cannot be used",
            where=where,
            expected="a whole number from 1" + (f" to {most}" if most else ""),
            got=f"{value}" if isinstance(value, int | float | np.number) else type(value).__name__,
            fix="choose a number within the file",
        )
    return int(value)
