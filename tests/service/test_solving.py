"""Solvers run as they are asked for, unless somebody gives out places."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flows.solving import solver_slot, solving_within


def test_without_a_limit_nothing_is_asked_for() -> None:
    with solver_slot(), solver_slot():
        pass


def test_every_solver_takes_a_place_and_gives_it_back_also_after_an_error() -> None:
    held: list[str] = []

    @contextmanager
    def slot() -> Iterator[None]:
        held.append("taken")
        try:
            yield
        finally:
            held.append("given back")

    with solving_within(slot):
        with solver_slot():
            assert held == ["taken"]
        with pytest.raises(ValueError, match="unsolved"), solver_slot():
            raise ValueError("unsolved")
    with solver_slot():
        pass
    assert held == ["taken", "given back"] * 2
