"""FF1 against the sample vectors of NIST, and as a permutation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.pseudonyms.permutation import permuted

SHORT = "2B7E151628AED2A6ABF7158809CF4F3C"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (SHORT, 2433477484),
        (SHORT + "EF4359D8D580AA4F", 2830668132),
        (SHORT + "EF4359D8D580AA4F7F036D6F04FC6A94", 6657667009),
    ],
    ids=["sample 1, AES-128", "sample 4, AES-192", "sample 7, AES-256"],
)
def test_the_sample_vectors_of_nist_without_a_tweak(key: str, expected: int) -> None:
    """The plaintext is 0123456789, radix 10 (NIST, FF1 samples)."""
    assert permuted(np.array([123456789], dtype=np.uint64), bytes.fromhex(key), 10).tolist() == [expected]


def test_every_number_of_six_digits_occurs_once() -> None:
    made = permuted(np.arange(10**6, dtype=np.uint64), bytes(32), 6)
    assert np.array_equal(np.sort(made), np.arange(10**6))
    assert abs(np.corrcoef(made.astype(float), np.arange(10**6))[0, 1]) < 0.005


@given(st.lists(st.integers(0, 10**15 - 1), max_size=50, unique=True), st.binary(min_size=32, max_size=32))
def test_numbers_of_fifteen_digits_stay_apart_and_in_range(numbers: list[int], key: bytes) -> None:
    made = permuted(np.array(numbers, dtype=np.uint64), key)
    assert len(set(made.tolist())) == len(numbers)
    assert all(0 <= one < 10**15 for one in made.tolist())
    alone = [permuted(np.array([one], dtype=np.uint64), key)[0] for one in numbers]
    assert made.tolist() == alone
