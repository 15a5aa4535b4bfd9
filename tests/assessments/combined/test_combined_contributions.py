"""What the combined risk of a record, and of a file, is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.combined.disclosure import contributions, disclosure_risk, mean_contributions
from tasks.core.errors import ParameterError
from tests.support.examples import examples
from tests.support.literal_risk import PAPER, by_record, literal_parts


def test_likelihood_and_consequence_of_the_paper() -> None:
    (found,) = contributions(*PAPER, rows=[3])
    assert found.row == 3
    assert found.risk == pytest.approx(2.36797, abs=5e-6)
    assert dict(found.known_sets)[0, 1, 2] == pytest.approx(0.084 * 1.63, rel=1e-12)
    assert dict(found.attributes) == pytest.approx({4: 1.458890, 3: 0.909076}, abs=5e-7)


def test_the_greatest_part_comes_first_and_nothing_is_left_out_but_zeros() -> None:
    (found,) = contributions(*PAPER, rows=[3])
    for parts in (found.known_sets, found.attributes):
        values = [part for _, part in parts]
        assert values == sorted(values, reverse=True)
        assert values[-1] > 0
    assert len(found.known_sets) == 24  # the 8 sets with both income and disease disclose nothing


def random_problem(seed, rows=30, sizes=(60, 3, 2, 80, 4)):
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, size, rows) for size in sizes], axis=1)
    codes[rows // 2 :, [0, 3]] = codes[: rows - rows // 2, [0, 3]]
    weights = [draw.random(size) * (place != 1) for place, size in enumerate(sizes)]
    return codes, draw.uniform(0.1, 0.9, len(sizes)) * (np.arange(len(sizes)) != 4), weights


def summed(parts, key):
    totals = {}
    for place, part in parts.items():
        if part > 0:
            totals[key(*place)] = totals.get(key(*place), 0.0) + part
    return totals


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1000), st.sampled_from([None, 0.05]), st.booleans())
def test_parts_of_rows_equal_the_definition(seed, epsilon, exclusive) -> None:
    codes, probabilities, weights = random_problem(seed)
    parts = literal_parts(codes, probabilities, by_record(codes, weights), 3.0, epsilon, exclusive=exclusive)
    rows = [0, 29, 7]
    for found in contributions(codes, probabilities, weights, 3.0, epsilon, rows=rows, exclusive=exclusive):
        own = {place: part for place, part in parts.items() if place[0] == found.row}
        assert dict(found.known_sets) == pytest.approx(summed(own, lambda _, known, __: known), rel=1e-11)
        assert dict(found.attributes) == pytest.approx(summed(own, lambda _, __, place: place), rel=1e-11)
        assert found.risk == pytest.approx(sum(own.values()), rel=1e-11)


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1000), st.sampled_from([None, 0.05]), st.booleans())
def test_mean_parts_equal_the_definition(seed, epsilon, exclusive) -> None:
    codes, probabilities, weights = random_problem(seed)
    parts = literal_parts(codes, probabilities, by_record(codes, weights), 3.0, epsilon, exclusive=exclusive)
    mean = {place: part / 30 for place, part in parts.items()}
    found = mean_contributions(codes, probabilities, weights, 3.0, epsilon, exclusive=exclusive)
    risks = disclosure_risk(codes, probabilities, weights, 3.0, epsilon, exclusive=exclusive)
    assert found.risks.tolist() == risks.tolist()
    assert found.risk == pytest.approx(risks.mean(), rel=1e-12)
    assert dict(found.known_sets) == pytest.approx(summed(mean, lambda _, known, __: known), rel=1e-11)
    assert dict(found.attributes) == pytest.approx(summed(mean, lambda _, __, place: place), rel=1e-11)
    assert sum(part for _, part in found.known_sets) == pytest.approx(found.risk, rel=1e-11)
    assert sum(part for _, part in found.attributes) == pytest.approx(found.risk, rel=1e-11)


def test_no_row_to_explain() -> None:
    assert contributions(*PAPER, rows=[]) == ()


@pytest.mark.parametrize("rows", [[5], [-1], [0.0], [[0]]])
def test_rows_that_do_not_exist_are_refused(rows) -> None:
    with pytest.raises(ParameterError) as refusal:
        contributions(*PAPER, rows=rows)
    assert refusal.value.where == "rows"
