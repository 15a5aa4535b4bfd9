"""What a masking method refuses, in words that carry no value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.masking.method import MaskingMethod, checked_values
from tasks.masking.microaggregation import IndividualRanking, Mdav
from tasks.masking.noise import AdditiveNoise, CorrelatedNoise
from tasks.masking.rank_swapping import BucketSwapping, DistributionSwapping, RankSwapping, Reading

SECRET = 987654.25
RAW = Mdav(3, standardised=False)
METHODS: list[MaskingMethod] = [
    *(RankSwapping(30, reading) for reading in Reading),
    BucketSwapping(3),
    DistributionSwapping(30),
    IndividualRanking(3),
    Mdav(3),
    RAW,
    AdditiveNoise(0.1),
    CorrelatedNoise(0.1),
]


def _file() -> np.ndarray:
    values = np.random.default_rng(1).normal(size=(10, 2))
    values[4, 1] = SECRET
    return values


def _with(value: Any) -> Callable[[np.ndarray], Any]:
    def change(values: np.ndarray) -> np.ndarray:
        changed = values.astype(object) if isinstance(value, str) else values.copy()
        changed[2, 1] = value
        return changed

    return change


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{type(method).__name__}")
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_with(np.nan), "missing or infinite"),
        (_with(-np.inf), "missing or infinite"),
        (_with("secret"), "not numbers"),
        (lambda values: values.astype(str), "not numbers"),
        (lambda values: values > 0, "not numbers"),
        (lambda values: values.astype(complex), "not numbers"),
        (lambda values: values[:, 0], "not a table"),
        (lambda values: [*values.tolist(), [SECRET]], "not a table"),
        (lambda values: values[:0], "nothing to mask"),
        (lambda values: values[:, :0], "nothing to mask"),
        (lambda values: values[:1], "too few records"),
        (lambda values: np.full(values.shape, 2**53 + 2), "too large"),
    ],
)
def test_values_that_cannot_be_masked(method: MaskingMethod, change: Callable[[np.ndarray], Any], what: str) -> None:
    method.mask(_file(), np.random.default_rng(1))
    with pytest.raises(ParameterError, match=what) as refusal:
        method.mask(change(_file()), np.random.default_rng(1))
    assert refusal.value.where
    assert refusal.value.expected
    assert refusal.value.got
    assert refusal.value.fix
    assert "987654" not in str(refusal.value)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_a_missing_value_is_named_by_its_place() -> None:
    values = _file()
    values[[2, 7], 1] = np.nan
    with pytest.raises(ParameterError) as refusal:
        RankSwapping(20).mask(values, np.random.default_rng(1))
    assert refusal.value.where == "attribute 2, rows 3, 8"


@pytest.mark.parametrize("method", [AdditiveNoise(0.1), CorrelatedNoise(0.1), Mdav(3)])
def test_a_constant_attribute_where_variance_is_needed(method: MaskingMethod) -> None:
    for value in (SECRET, 0.1):
        values = _file()
        values[:, 1] = value
        with pytest.raises(ParameterError, match="does not vary") as refusal:
            method.mask(values, np.random.default_rng(1))
        assert refusal.value.where == "attribute 2"
        assert "987654" not in str(refusal.value)
    values[:, 1] = 0
    values[3, 1] = 1e-200
    with pytest.raises(ParameterError, match="does not vary"):
        method.mask(values, np.random.default_rng(1))


@pytest.mark.parametrize(
    "method", [RankSwapping(30), BucketSwapping(3), DistributionSwapping(30), IndividualRanking(3), RAW]
)
def test_a_constant_attribute_stays_as_it_is_elsewhere(method: MaskingMethod) -> None:
    values = _file()
    values[:, 1] = 0.1
    assert method.mask(values, np.random.default_rng(1)).values[:, 1].tolist() == [0.1] * 10


@pytest.mark.parametrize("method", [IndividualRanking(3), RAW, AdditiveNoise(0.1), CorrelatedNoise(0.1)])
def test_values_too_large_to_be_squared(method: MaskingMethod) -> None:
    values = _file()
    values[2, 1] = -1e200
    with pytest.raises(ParameterError, match="too large") as refusal:
        method.mask(values, np.random.default_rng(1))
    assert refusal.value.where == "attribute 2, row 3"
    assert np.isfinite(RankSwapping(30).mask(values, np.random.default_rng(1)).values).all()


@pytest.mark.parametrize("p", [0, -1, 100.5, float("nan"), float("inf"), True, "2", None])
def test_p_outside_its_range(p: Any) -> None:
    for method in (RankSwapping, DistributionSwapping):
        with pytest.raises(ParameterError) as refusal:
            method(p)
        assert refusal.value.where == "p"


@pytest.mark.parametrize("method", [RankSwapping(5), DistributionSwapping(5)])
def test_p_of_less_than_one_record(method: MaskingMethod) -> None:
    with pytest.raises(ParameterError, match="less than one") as refusal:
        method.mask(_file(), np.random.default_rng(1))
    assert refusal.value.expected == "at least 10"


def test_an_unknown_reading() -> None:
    assert RankSwapping(2, "literal").reading == Reading.LITERAL  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="reading is not known"):
        RankSwapping(2, "other")  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, True, "3", None])
def test_k_outside_its_range(k: Any) -> None:
    for build in (IndividualRanking, Mdav):
        with pytest.raises(ParameterError) as refusal:
            build(k)
        assert refusal.value.where == "k"


@pytest.mark.parametrize("method", [IndividualRanking(11), Mdav(11)])
def test_fewer_records_than_a_group(method: MaskingMethod) -> None:
    with pytest.raises(ParameterError, match="too few records") as refusal:
        method.mask(_file(), np.random.default_rng(1))
    assert (refusal.value.expected, refusal.value.got) == ("at least 11 records", "10")


@pytest.mark.parametrize("buckets", [0, -1, 2.0, True])
def test_buckets_outside_their_range(buckets: Any) -> None:
    with pytest.raises(ParameterError, match="outside its range"):
        BucketSwapping(buckets)


def test_more_buckets_than_records() -> None:
    with pytest.raises(ParameterError, match="more buckets than records"):
        BucketSwapping(11).mask(_file(), np.random.default_rng(1))


@pytest.mark.parametrize("proportion", [0, -0.1, float("nan"), float("inf"), 1e7, True, "0.1"])
def test_proportion_outside_its_range(proportion: Any) -> None:
    for method in (AdditiveNoise, CorrelatedNoise):
        with pytest.raises(ParameterError) as refusal:
            method(proportion)
        assert refusal.value.where == "proportion"


def test_whole_numbers_are_taken_exactly_and_what_is_given_is_not_changed() -> None:
    given = np.array([[2**53, 1], [-3, 4]])
    taken = checked_values(given)
    taken[0, 0] = 0
    assert given.tolist() == [[2**53, 1], [-3, 4]]
