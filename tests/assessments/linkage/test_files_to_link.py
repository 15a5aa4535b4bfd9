"""What may be linked, what is refused, and that no refusal shows a value."""

import numpy as np
import pytest

from tasks.assessments.linkage.problem.files import Knowledge, common_scale, files_to_link
from tasks.core.errors import ParameterError
from tests.support.silence import assert_silent

BEFORE = np.array([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
AFTER = np.array([[2.0, 10.0], [1.0, 20.0], [4.0, 30.0]])


def test_the_known_part_is_kept_with_its_truth() -> None:
    files = files_to_link(BEFORE, AFTER, Knowledge(attributes=(1,), records=(2, 0)), ["age", "income"])
    assert (files.truth.tolist(), files.names) == ([2, 0], ("income",))
    assert files.original.tolist() == [[20.0], [10.0]]
    assert files.masked.tolist() == [[10.0], [20.0], [30.0]]
    assert not files.knows_everybody
    assert files_to_link(BEFORE, AFTER).knows_everybody


def test_each_file_by_its_own_scale_unless_few_are_known() -> None:
    files = files_to_link(BEFORE, BEFORE * 10 + 3)
    original, masked = common_scale(files)
    assert np.allclose(original, masked)
    assert np.allclose(original.std(axis=0), 1)
    few = files_to_link(BEFORE, AFTER, Knowledge(records=(1,)))
    original, masked = common_scale(few)
    assert np.allclose(original, (BEFORE[[1]] - AFTER.mean(axis=0)) / AFTER.std(axis=0))
    assert np.allclose(masked.mean(axis=0), 0)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (BEFORE[:2], AFTER, "cannot be paired"),
        (BEFORE[:, :1], AFTER, "cannot be paired"),
        (BEFORE[:0], AFTER[:0], "nothing to link"),
        (BEFORE[:, :0], AFTER[:, :0], "nothing to link"),
        (BEFORE[:, 0], AFTER[:, 0], "nothing to link"),
        (BEFORE.astype(str), AFTER, "needs numbers"),
        (BEFORE > 1, AFTER, "needs numbers"),
        (np.where(BEFORE == 30, np.nan, BEFORE), AFTER, "missing or infinite"),
        (BEFORE, np.where(AFTER == 20, np.inf, AFTER), "missing or infinite"),
        (BEFORE, np.column_stack([AFTER[:, 0], np.ones(3)]), "no standard deviation"),
        (BEFORE, AFTER * 1e-200, "no standard deviation"),
        (BEFORE, AFTER * 1e200, "no standard deviation"),
    ],
)
def test_files_that_cannot_be_linked(before: np.ndarray, after: np.ndarray, what: str) -> None:
    with pytest.raises(ParameterError, match=what):
        files_to_link(before, after)


@pytest.mark.parametrize(
    "knowledge",
    [
        Knowledge(attributes=()),
        Knowledge(attributes=(2,)),
        Knowledge(attributes=(-1,)),
        Knowledge(attributes=(0, 0)),
        Knowledge(records=(3,)),
        Knowledge(records=()),
    ],
)
def test_knowledge_of_what_is_not_there(knowledge: Knowledge) -> None:
    with pytest.raises(ParameterError, match="what the intruder knows"):
        files_to_link(BEFORE, AFTER, knowledge)


def test_names_for_each_attribute() -> None:
    with pytest.raises(ParameterError, match="names"):
        files_to_link(BEFORE, AFTER, names=["age"])


def test_a_constant_original_attribute_cannot_be_standardised() -> None:
    files = files_to_link(np.column_stack([BEFORE[:, 0], np.full(3, 7.0)]), AFTER)
    with pytest.raises(ParameterError, match="no standard deviation"):
        common_scale(files)
    original, _ = common_scale(files, "masked")
    assert np.isfinite(original).all()


def test_refusals_name_column_and_row_and_show_no_value() -> None:
    secret = 8123457.25
    broken = np.array([[secret, np.nan], [2.0, 3.0]])
    with pytest.raises(ParameterError) as caught:
        files_to_link(broken, broken, names=["age", "income"])
    assert_silent(caught.value, "8123457")
    assert "income" in str(caught.value)
    assert "row 1" in str(caught.value)
