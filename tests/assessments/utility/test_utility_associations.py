"""Associations of quasi-identifiers with outcomes: by hand, beside a regression, of requests, at the edges."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from tasks.assessments.utility.associations import correlation_ratio
from tasks.assessments.utility.facts import AssociationFact
from tests.support.numeric import drawn, masking, numeric_request
from tests.support.stages import made
from tests.support.tiny import changed

SAFE_HARBOR = changed("policy", "generalization", to={"method": "safe-harbor", "minimum_class_size": 1})


def found(path: Path, *maskings: dict[str, Any], frame: pd.DataFrame) -> tuple[Any, list[AssociationFact]]:
    one = made(numeric_request(path, SAFE_HARBOR, maskings=maskings, frame=frame))
    return one, [fact for fact in one.measured().fact.associations if fact.attributes[1] in {"dose", "ward"}]


def test_a_correlation_ratio_by_hand() -> None:
    """Means 1, 2 and 6 of groups of two, five times over: a sum of squares of 140 between the groups, of 170 in all."""
    values = np.tile([0.0, 2.0, 1.0, 3.0, 5.0, 7.0], 5)
    expected = (1 - (1 - 140 / 170) * 29 / 27) ** 0.5
    assert correlation_ratio(np.tile([7, 7, 0, 0, 3, 3], 5), values) == pytest.approx(expected)


def test_groups_that_tell_all_and_groups_that_tell_nothing() -> None:
    values = np.repeat([1.0, 5.0], 10)
    assert correlation_ratio(np.repeat([0, 1], 10), values) == pytest.approx(1)
    assert correlation_ratio(np.tile([0, 1], 10), values) == 0


@pytest.mark.parametrize(
    ("groups", "values"),
    [
        ([1] * 10, [1.0, 2.0] * 5),
        ([0, 1] * 4 + [0], [1.0, 2.0, 3.0] * 3),
        ([0, 1] * 5, [2.0] * 10),
        ([0], [1.0]),
    ],
    ids=["one group", "fewer than five records a group", "a number that does not vary", "one record"],
)
def test_nothing_can_be_told(groups: list[int], values: list[float]) -> None:
    assert correlation_ratio(np.array(groups), np.array(values)) is None


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-50, 50)), min_size=6, max_size=40))
def test_squared_it_is_the_adjusted_coefficient_of_a_regression_on_the_groups(records: list[tuple[int, int]]) -> None:
    groups, values = np.array(records).T
    ratio = correlation_ratio(groups, values.astype(float))
    indicators = (groups[:, None] == np.unique(groups)).astype(float)
    n, n_groups = indicators.shape
    if n_groups < 2 or n < 5 * n_groups or len(set(values.tolist())) < 2:
        assert ratio is None
        return
    explained = LinearRegression(fit_intercept=False).fit(indicators, values).score(indicators, values)
    assert ratio is not None
    assert ratio**2 == pytest.approx(max(0.0, 1 - (1 - explained) * (n - 1) / (n - n_groups)), abs=1e-9)


def test_a_masked_outcome_before_and_after(tmp_path: Path) -> None:
    """Every quasi-identifier with every outcome: values as collected on one side, groups and means on the other."""
    one, facts = found(tmp_path, masking("mdav", "dose", k=20), frame=drawn(300))
    told = {fact.attributes: fact for fact in facts}
    quasi = one.request.quasi_identifiers
    assert told.keys() == {(name, outcome) for name in quasi for outcome in ("dose", "ward")}
    tuples, place = one.prepared.tuple_of_record, one.columns.names.index("dose")
    for axis, name in enumerate(quasi):
        fact = told[name, "dose"]
        assert fact.measure == "correlation ratio"
        expected = (
            correlation_ratio(one.prepared.data.codes[tuples, axis], one.columns.original[:, place]),
            correlation_ratio(one.generalization.cells[tuples, axis], one.columns.masked[:, place]),
        )
        assert (fact.before, fact.after) == pytest.approx(expected)
        assert told[name, "ward"].measure == "Cramér's V"


def test_missing_outcomes_count_on_neither_side(tmp_path: Path) -> None:
    frame = drawn(300)
    short = frame.iloc[100:].reset_index(drop=True)
    frame.loc[:99, "dose"] = None
    for path in (one := tmp_path / "one", two := tmp_path / "two"):
        path.mkdir()
    unmasked = [found(path, frame=used)[1] for path, used in ((one, frame), (two, short))]
    doses = [[(fact.attributes, fact.before) for fact in facts if "dose" in fact.attributes] for facts in unmasked]
    assert doses[0] == [(names, pytest.approx(before)) for names, before in doses[1]]
    assert any(before for _, before in doses[0])
