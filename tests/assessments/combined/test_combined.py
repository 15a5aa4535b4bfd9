"""The combined risk against its definition, its worked example, and what must not change a bit of it."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.combined.disclosure import disclosure_risk, mean_contributions
from tasks.core.errors import ParameterError
from tests.support.examples import examples
from tests.support.literal_risk import (
    DISEASE,
    INCOME,
    PAPER,
    PAPER_CODES,
    PAPER_PROBABILITIES,
    PAPER_WEIGHTS,
    by_record,
    literal_risk,
)


@st.composite
def tables(draw, *, largest=6):
    """Arguments of a small problem: codes, sizes, probabilities and weights by code."""
    sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=4))
    rows = draw(st.integers(1, 12))
    codes = [[draw(st.integers(0, size - 1)) for size in sizes] for _ in range(rows)]
    chance = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.01, 1))
    probabilities = [draw(chance) for _ in sizes]
    weight = st.one_of(st.just(0.0), st.floats(0.01, 1))
    weights = [np.array([draw(weight) for _ in range(size)]) for size in sizes]
    return np.array(codes), probabilities, weights


def test_worked_example_of_the_paper() -> None:
    risks = disclosure_risk(*PAPER, 1.0, None)
    assert risks.round(5).tolist() == [1.19991, 3.06232, 2.20083, 2.36797, 1.92395]


def test_alpha_multiplies() -> None:
    once = disclosure_risk(*PAPER)
    hundred = disclosure_risk(*PAPER, 100.0)
    np.testing.assert_allclose(hundred, 100 * once, rtol=1e-15)


@settings(max_examples=examples(60), deadline=None)
@given(tables(), st.sampled_from([None, 0.0, 0.05, 0.4]), st.booleans(), st.sampled_from([1.0, 2.5]))
def test_equals_the_definition(table, epsilon, exclusive, alpha) -> None:
    codes, probabilities, weights = table
    expected = literal_risk(codes, probabilities, by_record(codes, weights), alpha, epsilon, exclusive=exclusive)
    risks = disclosure_risk(codes, probabilities, weights, alpha, epsilon, exclusive=exclusive)
    np.testing.assert_allclose(risks, expected, rtol=1e-12)


@settings(max_examples=examples(60), deadline=None)
@given(tables(), st.sampled_from([0.02, 0.05, 0.4, 0.9]), st.booleans())
def test_what_epsilon_leaves_out_is_bounded(table, epsilon, exclusive) -> None:
    """Never below the whole; equal to it for a record that is alone by every set that is left out."""
    codes, probabilities, weights = table
    found = mean_contributions(codes, probabilities, weights, 1.0, epsilon, exclusive=exclusive)
    whole = mean_contributions(codes, probabilities, weights, 1.0, None, exclusive=exclusive)
    bound = found.risks + found.left_out
    assert (bound >= whole.risks * (1 - 1e-12) - 1e-15).all()
    assert not whole.left_out.any()
    if len(codes) == 1:
        np.testing.assert_allclose(bound, whole.risks, rtol=1e-9)


def random_problem(rows, sizes, seed=0):
    """Rows with codes, probabilities and weights drawn at random."""
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, size, rows) for size in sizes], axis=1)
    return codes, draw.uniform(0.1, 0.9, len(sizes)), [draw.random(size) for size in sizes]


# Up to 10^7 combinations: from known sets that are counted in cubes to sets that nearly tell every row apart.
WIDE_SIZES = (100, 3, 40, 2, 200, 5)


@pytest.mark.parametrize("epsilon", [None, 0.1])
def test_known_sets_of_many_combinations_equal_the_definition(epsilon) -> None:
    codes, probabilities, weights = random_problem(120, WIDE_SIZES)
    codes[60:] = codes[:60]
    codes[60:, 3] = 1
    expected = literal_risk(codes, probabilities, by_record(codes, weights), epsilon=epsilon)
    risks = disclosure_risk(codes, probabilities, weights, epsilon=epsilon)
    np.testing.assert_allclose(risks, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(70, 50, 30, 6, 2), (3, 200_000, 40)])
def test_many_rows_equal_grouping_by_every_known_set(sizes) -> None:
    codes, probabilities, weights = random_problem(300_000, sizes)
    frame = pd.DataFrame(codes)
    expected = np.zeros(len(codes))
    for bits in range(2 ** len(sizes)):
        known = [place for place in range(len(sizes)) if bits >> place & 1]
        matching = frame.groupby(known)[0].transform("size").to_numpy() if known else len(frame)
        unknown = sum(weights[place][codes[:, place]] for place in range(len(sizes)) if place not in known)
        expected += np.prod(probabilities[known]) / matching * unknown
    risks = disclosure_risk(codes, probabilities, weights)
    np.testing.assert_allclose(risks, expected, rtol=1e-12)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot restrict a process")
def test_number_of_processors_does_not_change_a_bit() -> None:
    problem = random_problem(140_000, WIDE_SIZES)
    several = disclosure_risk(*problem)
    processors = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(processors)})
        one = disclosure_risk(*problem)
    finally:
        os.sched_setaffinity(0, processors)
    assert np.array_equal(one, several)


def test_layout_and_type_of_the_codes_do_not_change_a_bit() -> None:
    codes, *rest = random_problem(1000, (7, 3, 200, 2))
    expected = disclosure_risk(codes, *rest)
    for kind in (np.uint8, np.int16, np.uint32, np.int64, ">i4"):
        for order in ("C", "F"):
            assert np.array_equal(disclosure_risk(codes.astype(kind, order=order), *rest), expected)
    assert np.array_equal(disclosure_risk(np.repeat(codes, 2, axis=1)[:, ::2], *rest), expected)


def test_equal_records_have_equal_bits_of_risk() -> None:
    codes, probabilities, weights = random_problem(200, WIDE_SIZES)
    risks = disclosure_risk(np.tile(codes, (300, 1)), probabilities, weights)
    assert np.array_equal(risks, np.tile(risks[:200], 300))


def test_an_adversary_who_knows_everything_learns_nothing() -> None:
    codes, _, weights = random_problem(50, WIDE_SIZES)
    risks = disclosure_risk(codes, np.ones(6), weights, exclusive=True)
    assert risks.tolist() == [0.0] * 50


def test_with_nothing_known_every_record_risks_its_share() -> None:
    codes, _, weights = random_problem(50, (4, 3, 5))
    risks = disclosure_risk(codes, np.zeros(3), weights)
    np.testing.assert_allclose(risks, by_record(codes, weights).sum(axis=1) / 50, rtol=1e-13)


def test_nothing_sensitive_is_no_risk() -> None:
    codes, probabilities, _ = random_problem(50, (4, 3, 5))
    assert not disclosure_risk(codes, probabilities, (0, 0.0, np.zeros(5))).any()


@settings(max_examples=examples(30), deadline=None)
@given(tables())
def test_exclusive_risk_is_an_expectation(table) -> None:
    codes, probabilities, _ = table
    risks = disclosure_risk(codes, probabilities, [1.0] * len(probabilities), exclusive=True)
    assert (risks <= len(probabilities) * (1 + 1e-12)).all()
    unique = disclosure_risk(codes[:1], probabilities, [1.0] * len(probabilities), exclusive=True)
    expected = sum(1 - chance for chance in probabilities)  # a lone record is found: what is unknown is disclosed
    np.testing.assert_allclose(unique, [expected], rtol=1e-12, atol=1e-15)


GOOD = {
    "codes": PAPER_CODES,
    "known_probabilities": PAPER_PROBABILITIES,
    "sensitivities": PAPER_WEIGHTS,
}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"codes": PAPER_CODES[:0]}, "codes"),
        ({"codes": PAPER_CODES[:, :0]}, "codes"),
        ({"codes": PAPER_CODES[0]}, "codes"),
        ({"codes": PAPER_CODES * 1.0}, "codes"),
        ({"codes": PAPER_CODES.astype(str)}, "codes"),
        ({"codes": PAPER_CODES > 0}, "codes"),
        ({"codes": PAPER_CODES - np.array([0, 0, 1, 0, 0])}, "codes"),
        ({"codes": PAPER_CODES + np.array([0, 0, 0, 1, 0])}, "sensitivities, column index 3"),
        ({"known_probabilities": PAPER_PROBABILITIES[:4]}, "known probabilities"),
        ({"known_probabilities": (0.3, 0.8, 0.7, 0.005, 1.1)}, "known probabilities"),
        ({"known_probabilities": (0.3, 0.8, -0.1, 0.005, 1)}, "known probabilities"),
        ({"known_probabilities": (0.3, 0.8, np.nan, 0.005, 1)}, "known probabilities"),
        ({"known_probabilities": "none"}, "known probabilities"),
        ({"sensitivities": PAPER_WEIGHTS[:4]}, "sensitivities"),
        ({"sensitivities": 0.5}, "sensitivities"),
        ({"sensitivities": (0, 0, 0, INCOME, DISEASE + 0.1)}, "sensitivities, column index 4"),
        ({"sensitivities": (0, 0, -0.1, INCOME, DISEASE)}, "sensitivities, column index 2"),
        ({"sensitivities": (0, np.inf, 0, INCOME, DISEASE)}, "sensitivities, column index 1"),
        ({"sensitivities": (0, 0, 0, DISEASE, DISEASE)}, "sensitivities, column index 3"),
        ({"sensitivities": (0, 0, 0, "high", DISEASE)}, "sensitivities, column index 3"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.inf}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": "1"}, "alpha"),
        ({"epsilon": 1.0}, "epsilon"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
    ],
)
def test_refusals_name_the_place(change, where) -> None:
    with pytest.raises(ParameterError) as refusal:
        disclosure_risk(**(GOOD | change))
    assert refusal.value.where == where
    assert refusal.value.expected
    assert refusal.value.fix


def test_a_refusal_shows_no_code() -> None:
    codes = PAPER_CODES.copy()
    codes[3, 0] = -8_675_309
    with pytest.raises(ParameterError) as refusal:
        disclosure_risk(codes, *PAPER[1:])
    assert "8675309" not in str(refusal.value).replace(",", "")
