"""Pooled copies against a solver that takes one record and one person after another."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import StageFailed
from tasks.reassessment.pooling import LaidCopy, PooledCells, laid_together
from tests.support.examples import examples

VALUES = (4, 3, 3)
"""Values of each attribute of the small world."""


def slow(
    copies: Sequence[LaidCopy], codes: np.ndarray, people: np.ndarray, listed: np.ndarray
) -> list[tuple[int, ...]]:
    """Records in the class, people who match, people whom the rules give these cells, listed ones: record by record."""
    found = []
    first = copies[0]
    for record, name in enumerate(first.people):
        rows = [record] + [next((r for r, n in enumerate(c.people) if n == name), None) for c in copies[1:]]
        own_signature = signature_of(copies, rows)
        same = 0
        for other, other_name in enumerate(first.people):
            others = [other] + [next((r for r, n in enumerate(c.people) if n == other_name), None) for c in copies[1:]]
            same += signature_of(copies, others) == own_signature
        matching = effective = named = 0
        for tuple_, count, register in zip(codes, people, listed, strict=True):
            fits = gives = True
            for copy, row in zip(copies, rows, strict=True):
                if row is None:
                    continue
                for axis, (attribute, holds) in enumerate(copy.members.items()):
                    fits &= bool(holds[copy.cells[row, axis]][tuple_[attribute]])
                place = next(i for i, one in enumerate(codes) if (one == tuple_).all())
                gives &= bool((copy.own[place] == copy.cells[row]).all())
            matching += int(count) if fits else 0
            effective += int(count) if gives else 0
            named += int(register) if gives else 0
        found.append((same, matching, effective, named))
    return found


def signature_of(copies: Sequence[LaidCopy], rows: Sequence[int | None]) -> tuple[object, ...]:
    return tuple(
        None if row is None else tuple(copy.cells[row].tolist()) for copy, row in zip(copies, rows, strict=True)
    )


def expanded(found: PooledCells) -> list[tuple[int, ...]]:
    """As many lines as records, in order."""
    listed = found.listed
    assert listed is not None
    lines = zip(found.records, found.people, found.effective, listed, strict=True)
    return sorted(tuple(map(int, line)) for line in lines for _ in range(int(line[0])))


def crossing_copy(generator: np.random.Generator, codes: np.ndarray, names: np.ndarray, tuples: np.ndarray) -> LaidCopy:
    """A copy whose groups are any partition of the values, so that those of two copies cross."""
    chosen = sorted(generator.choice(len(VALUES), size=generator.integers(1, len(VALUES) + 1), replace=False).tolist())
    groups = [generator.integers(0, 2, size=VALUES[attribute]) for attribute in chosen]
    members = {
        attribute: np.array([group == number for number in range(2)])
        for attribute, group in zip(chosen, groups, strict=True)
    }
    own = np.column_stack([group[codes[:, attribute]] for group, attribute in zip(groups, chosen, strict=True)])
    own[generator.random(len(own)) < 0.1] = -1
    kept = np.flatnonzero(generator.random(len(names)) < 0.7)
    generator.shuffle(kept)
    cells = np.column_stack(
        [group[codes[tuples[kept], attribute]] for group, attribute in zip(groups, chosen, strict=True)]
    )
    return LaidCopy(members, cells.astype(np.int32), names[kept], own.astype(np.int32))


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_every_record_has_the_candidates_that_a_slow_solver_finds(seed: int, copies: int) -> None:
    generator = np.random.default_rng(seed)
    codes = np.unique(np.column_stack([generator.integers(0, n, size=30) for n in VALUES]), axis=0).astype(np.int32)
    people = generator.integers(0, 9, size=len(codes))
    listed = np.minimum(people, generator.integers(0, 9, size=len(codes)))
    names = np.array([f"person {number}".encode() for number in range(14)], dtype="S16")
    tuples = generator.integers(0, len(codes), size=len(names))
    held = [crossing_copy(generator, codes, names, tuples) for _ in range(copies)]
    if not len(held[0].people):
        return
    found = laid_together(held, codes, people, listed)
    assert expanded(found) == sorted(slow(held, codes, people, listed))


def test_two_cuts_of_one_attribute_leave_what_both_hold() -> None:
    """Ages 0 to 5, one person each but two of age 3: 0-3 in one copy, 3-5 in the other, is the two of age 3."""
    ages = np.arange(6, dtype=np.int32)[:, None]
    people = np.array([1, 1, 1, 2, 1, 1])
    low = np.array([[True] * 4 + [False] * 2, [False] * 4 + [True] * 2])
    high = np.array([[True] * 3 + [False] * 3, [False] * 3 + [True] * 3])
    name = np.array([b"somebody"], dtype="S16")
    one = LaidCopy({0: low}, np.array([[0]], dtype=np.int32), name, np.array([[0]] * 4 + [[1]] * 2, dtype=np.int32))
    two = LaidCopy({0: high}, np.array([[1]], dtype=np.int32), name, np.array([[0]] * 3 + [[1]] * 3, dtype=np.int32))
    alone, both = laid_together([one], ages, people), laid_together([one, two], ages, people)
    assert (alone.people.tolist(), alone.effective.tolist(), alone.narrowed) == ([5], [5], 0)
    assert (both.people.tolist(), both.effective.tolist(), both.shared, both.narrowed) == ([2], [2], 1, 1)
    assert both.listed is None


def test_a_copy_of_other_people_tells_nothing() -> None:
    ages = np.arange(6, dtype=np.int32)[:, None]
    whole, half = np.ones((1, 6), dtype=bool), np.array([[True] * 3 + [False] * 3, [False] * 3 + [True] * 3])
    one = LaidCopy({0: whole}, np.zeros((2, 1), np.int32), np.array([b"a", b"b"], "S16"), np.zeros((6, 1), np.int32))
    two = LaidCopy(
        {0: half},
        np.zeros((2, 1), np.int32),
        np.array([b"c", b"d"], "S16"),
        np.repeat([[0], [1]], 3, 0).astype("i4"),
    )
    found = laid_together([one, two], ages, np.ones(6, dtype=np.int64))
    assert (found.records.tolist(), found.people.tolist(), found.shared) == ([2], [6], 0)


def test_more_intersections_than_can_be_compared_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.reassessment.pooling._MOST_PAIRS", 1)
    ages = np.arange(6, dtype=np.int32)[:, None]
    low = np.array([[True] * 4 + [False] * 2, [False] * 4 + [True] * 2])
    own = np.array([[0]] * 4 + [[1]] * 2, dtype=np.int32)
    one = LaidCopy({0: low}, np.array([[0]], dtype=np.int32), np.array([b"somebody"], dtype="S16"), own)
    with pytest.raises(StageFailed, match="too many intersections"):
        laid_together([one], ages, np.ones(6, dtype=np.int64))
