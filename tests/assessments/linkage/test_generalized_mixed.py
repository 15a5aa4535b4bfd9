"""Linkage of generalized attributes and masked numbers together: by hand, and as plain loops over all pairs."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage.mixed import MixedFiles, alike_records, components, mixed_linkage
from tasks.assessments.linkage.mixed import mixed_files as files_of
from tasks.assessments.linkage.problem.files import (
    Files,
    Knowledge,
    common_scale,
    distance_linkage,
    files_to_link,
    tie_limit,
)
from tasks.assessments.linkage.problem.generalized_files import AxisGroups, axis_groups
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.examples import examples
from tests.support.generalized import GeneralizedFile, generalized_files, slow_distance

QUICK = settings(deadline=None, max_examples=examples(30))
LETTERS = hierarchy_from_rows("letter", [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c.", "*"]], "a test")


class GeneralizedPart(NamedTuple):
    """Known generalized attributes: leaf codes of each individual, and each released cell in axis positions."""

    groups: tuple[AxisGroups, ...]
    leaves: np.ndarray
    cells: np.ndarray


def mixed_files(
    truth: np.ndarray,
    part: GeneralizedPart,
    numbers: Files | None,
    classes: np.ndarray | None = None,
    *,
    matching: bool = False,
) -> MixedFiles:
    released = alike_records(part.cells, numbers.masked if numbers else None, classes)
    return files_of(truth, part.groups, part.leaves, released, numbers, matching=matching)


PART = GeneralizedPart(
    (axis_groups(LETTERS),), np.array([[0], [1], [2]], dtype=np.int32), np.array([[0], [3], [5]], dtype=np.int32)
)
ALL = np.arange(3)
NUMBERS = np.array([[0.0], [3.0], [6.0]]), np.array([[1.0], [2.0], [6.0]])


def without_groups(records: int) -> GeneralizedPart:
    """Records of which no generalized attribute is known."""
    none = np.empty((records, 0), dtype=np.int32)
    return GeneralizedPart((), none, none)


def test_components_by_hand() -> None:
    """Distances of a, b, c to a, ab, *: 0 ½ 1, ½ ½ 1, 1 1 1, squared a mean of 3¾/6 over the pairs."""
    assert LETTERS.axis_labels == ("a", "b", "c", "ab", "c.", "*")
    files = mixed_files(ALL, PART, files_to_link(*NUMBERS))
    got = components(files)
    squared = np.array([[0, 0.25, 1], [0.25, 0.25, 1], [1, 1, 1]])
    np.testing.assert_allclose(got[:, :, 0], squared / squared.mean())
    before, after = ((values - values.mean()) / values.std() for values in NUMBERS)
    apart = (before - after.T) ** 2
    np.testing.assert_allclose(got[:, :, 1], apart / apart.mean())
    np.testing.assert_allclose(got.mean(axis=(0, 1)), 1)


def test_links_by_hand() -> None:
    """By letter alone a is nearest to a, b to a and ab alike, c to all three."""
    figure = mixed_linkage(mixed_files(ALL, PART, None))
    assert figure.expected_correct == pytest.approx(1 + 1 / 2 + 1 / 3)
    assert (figure.n, figure.baseline) == (3, 1 / 3)
    both = mixed_linkage(mixed_files(ALL, PART, files_to_link(*NUMBERS)))
    assert both.expected_correct == 3


def test_only_records_of_the_own_class_are_compared() -> None:
    """a and c are of one class, b is alone: a is nearest to a, b to its own, c to both of its class alike."""
    alone = mixed_linkage(mixed_files(ALL, PART, None, np.array([0, 1, 0])))
    assert alone.expected_correct == pytest.approx(1 + 1 + 1 / 2)
    numbers = mixed_linkage(mixed_files(ALL, PART, files_to_link(*NUMBERS), np.array([0, 1, 0])))
    assert numbers.expected_correct == 3


def test_another_distance_chooses_among_the_nearest() -> None:
    """The sum of the components as a distance of its own links the same; one of the letters alone as letters do."""
    files = mixed_files(ALL, PART, files_to_link(*NUMBERS))
    assert mixed_linkage(files, [1, 1], lambda apart: apart.sum(axis=1)) == mixed_linkage(files)
    assert mixed_linkage(files, [1, 1], lambda apart: apart[:, 0]) == mixed_linkage(files, [1, 0])


def test_links_among_matching_groups_by_hand() -> None:
    """a is in a, ab and *, b in ab and *, c in * alone; the number then decides, rightly for a and wrongly for b."""
    assert mixed_linkage(mixed_files(ALL, PART, None, matching=True)).expected_correct == pytest.approx(
        1 / 3 + 1 / 2 + 1
    )
    numbers = files_to_link(np.array([[0.0], [3.0], [6.0]]), np.array([[0.0], [6.0], [3.0]]))
    assert mixed_linkage(mixed_files(ALL, PART, numbers, matching=True)).expected_correct == 2


def test_a_weight_of_0_leaves_an_attribute_out() -> None:
    files = mixed_files(ALL, PART, files_to_link(*NUMBERS))
    assert mixed_linkage(files, [1, 0]) == mixed_linkage(mixed_files(ALL, PART, None))
    assert mixed_linkage(files, [0, 5]) == mixed_linkage(mixed_files(ALL, without_groups(3), files_to_link(*NUMBERS)))


def random_case(file: GeneralizedFile, seed: int) -> tuple[GeneralizedPart, np.ndarray, np.ndarray, Knowledge]:
    """Records of a random file in random order, two numbers for each, and what an intruder knows of them."""
    rng = np.random.default_rng(seed)
    of = rng.permutation(np.repeat(np.arange(file.in_data), file.records[file.data]))
    of = np.append(of, of[:1]) if len(of) < 2 else of
    original = np.column_stack([rng.permutation(len(of)), rng.permutation(len(of))]).astype(float)
    known = rng.permutation(len(of))[: rng.integers(2, len(of) + 1)]
    axes = sorted(set(rng.integers(0, len(file.hierarchies), 2).tolist()))
    groups = tuple(file.groups[axis] for axis in axes)
    part = GeneralizedPart(groups, file.leaves[of[known]][:, axes], file.cells[of][:, axes])
    return part, original, np.roll(original, 1, axis=0), Knowledge(tuple(axes), tuple(known.tolist()))


def slow_components(
    file: GeneralizedFile, part: GeneralizedPart, before: np.ndarray, after: np.ndarray, knowledge: Knowledge
) -> np.ndarray:
    """Components of all pairs, pair by pair, shape (n_individuals, n_released, m)."""
    records, axes = knowledge.records or (), knowledge.attributes or ()
    found = np.zeros((len(records), len(part.cells), len(axes) + before.shape[1]))
    tuples = {tuple(cell[list(axes)].tolist()): file.sets(number) for number, cell in enumerate(file.cells)}
    for i, j in np.ndindex(*found.shape[:2]):
        cell = tuples[tuple(part.cells[j].tolist())]
        for place, axis in enumerate(axes):
            leaf = int(part.leaves[i, place])
            found[i, j, place] = slow_distance(file.hierarchies[axis], file.numbers[axis], leaf, cell[axis]) ** 2
        found[i, j, len(axes) :] = (before[i] - after[j]) ** 2
    mean = found.mean(axis=(0, 1))
    return found / np.where(mean > 0, mean, 1)


@QUICK
@given(file=generalized_files(), seed=st.integers(0, 99), weighted=st.booleans())
def test_links_and_components_as_plain_loops(file: GeneralizedFile, seed: int, *, weighted: bool) -> None:
    part, original, masked, knowledge = random_case(file, seed)
    numbers = files_to_link(original, masked, Knowledge(records=knowledge.records))
    files = mixed_files(np.array(knowledge.records), part, numbers)
    slow = slow_components(file, part, *common_scale(numbers), knowledge)
    truth = np.array(knowledge.records)
    np.testing.assert_allclose(components(files), slow[:, truth], atol=1e-12)
    weights = np.arange(1.0, slow.shape[2] + 1) if weighted else np.ones(slow.shape[2])
    total = slow @ weights
    tied = total <= tie_limit(total.min(axis=1))[:, None]
    credit = tied[np.arange(len(truth)), truth] / tied.sum(axis=1)
    figure = mixed_linkage(files, weights.tolist() if weighted else None)
    assert figure.expected_correct == pytest.approx(credit.sum(), abs=1e-9)
    assert figure.n == len(truth)


def test_numbers_alone_link_as_distance_linkage_of_one_scaled_attribute() -> None:
    rng = np.random.default_rng(2)
    original = rng.standard_normal((300, 1))
    files = files_to_link(original, original + 0.01 * rng.standard_normal(original.shape))
    assert mixed_linkage(mixed_files(np.arange(300), without_groups(300), files)) == distance_linkage(files)
