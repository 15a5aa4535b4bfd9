"""Values of decoys: alike in the large, nobody's own, never a value that says where it comes from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.decoys.value_model import draw_values
from tests.support.examples import examples

N = 3000


def people(seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """A group that follows from the class, a number that follows from the group, its double, and a serial value."""
    generator = np.random.default_rng(seed)
    context = generator.integers(0, 6, size=(N, 1)).astype(np.float64)
    group = (context[:, 0] >= 3).astype(np.int64) + 2 * (generator.random(N) < 0.3)
    level = np.round(10.0 * group + generator.normal(size=N) * 2)
    serial = np.round(generator.lognormal(8, 1, size=N), 2)
    return {"group": group, "level": level, "double": 2 * level, "serial": serial}, context


def rows(columns: dict[str, np.ndarray]) -> list[tuple[float, ...]]:
    return [tuple(map(float, row)) for row in zip(*columns.values(), strict=True)]


def test_values_are_alike_alone_together_and_with_the_class() -> None:
    columns, context = people()
    drawn = draw_values(columns, context, context, np.random.default_rng(2))
    shares = [np.bincount(part["group"], minlength=4) / N for part in (columns, drawn)]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.04
    assert set(drawn["group"].tolist()) <= set(columns["group"].tolist())
    # The class decides between even and odd groups, the group decides the number, the number its double.
    assert ((drawn["group"] % 2) == (context[:, 0] >= 3)).all()
    for group in range(4):
        before, after = (part["level"][part["group"] == group] for part in (columns, drawn))
        assert abs(before.mean() - after.mean()) < 0.4
        assert 0.85 < after.std() / before.std() < 1.15
    assert np.corrcoef(drawn["level"], drawn["double"])[0, 1] > 0.99
    assert {name: column.dtype for name, column in drawn.items()} == {
        name: column.dtype for name, column in columns.items()
    }


def test_nobody_is_copied() -> None:
    columns, context = people()
    drawn = draw_values(columns, context, context, np.random.default_rng(2))
    assert not set(rows(drawn)) & set(rows(columns))


def test_a_column_of_serial_values_gives_new_ones_on_its_own_grid() -> None:
    columns, context = people()
    serial = draw_values(columns, context, context[:500], np.random.default_rng(2))["serial"]
    assert (np.round(serial, 2) == serial).all()
    assert np.isin(serial, columns["serial"]).mean() < 0.1
    assert columns["serial"].min() <= serial.min()
    assert serial.max() <= columns["serial"].max()
    assert abs(np.log(serial).mean() - np.log(columns["serial"]).mean()) < 0.15


def test_the_same_generator_gives_the_same_values_and_another_others() -> None:
    columns, context = people()
    first, same, other = (
        rows(draw_values(columns, context, context[:50], np.random.default_rng(seed))) for seed in (2, 2, 3)
    )
    assert first == same
    assert first != other


def test_missing_values_stay_as_frequent() -> None:
    columns, context = people()
    generator = np.random.default_rng(9)
    columns["level"][generator.random(N) < 0.25] = np.nan
    columns["serial"][generator.random(N) < 0.1] = np.nan
    columns["never"] = np.full(N, np.nan)
    # Without a column that is always new, a decoy that lacks the serial value would more often be a copy.
    columns["noise"] = generator.normal(size=N)
    drawn = draw_values(columns, context, context, np.random.default_rng(2))
    assert abs(np.isnan(drawn["level"]).mean() - 0.25) < 0.04
    assert abs(np.isnan(drawn["serial"]).mean() - 0.1) < 0.04
    assert np.isnan(drawn["never"]).all()
    assert not np.isinf(np.column_stack(list(drawn.values()))).any()


def test_values_that_all_are_common_need_leave_to_be_drawn() -> None:
    generator = np.random.default_rng(1)
    column = {"yes": generator.integers(0, 2, size=200)}
    context = np.zeros((200, 1))
    with pytest.raises(ParameterError, match="would copy the other values of real records") as refusal:
        draw_values(column, context, context[:20], np.random.default_rng(2))
    assert "common_from" in refusal.value.fix
    assert "for 20 of 20 decoy records" in refusal.value.got
    drawn = draw_values(column, context, context[:20], np.random.default_rng(2), common_from=2)
    assert set(drawn["yes"].tolist()) <= {0, 1}


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_a_vector_of_few_is_never_copied(seed: int, common_from: int) -> None:
    generator = np.random.default_rng(seed)
    columns = {"a": generator.integers(0, 6, size=60), "b": generator.integers(0, 4, size=60).astype(np.float64)}
    context = generator.integers(0, 2, size=(60, 1)).astype(np.float64)
    try:
        drawn = draw_values(columns, context, context[:15], generator, common_from=common_from)
    except ParameterError as refusal:
        assert "would copy the other values" in refusal.what  # noqa: PT017
        return
    real = rows(columns)
    counts = [real.count(row) for row in rows(drawn)]
    assert all(count == 0 or count >= common_from for count in counts)
