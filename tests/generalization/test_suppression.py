"""Classes of the released file that are too small are left out."""

import numpy as np

from tasks.generalization.suppression import class_sizes, suppressed


def test_classes_add_up_over_tuples() -> None:
    cells, records = np.array([7, 3, 7, 9]), np.array([2, 1, 3, 4])
    assert class_sizes(cells, records).tolist() == [5, 1, 5, 4]


def test_classes_smaller_than_the_minimum_are_left_out_and_equal_ones_stay() -> None:
    cells, records = np.array([7, 3, 7, 9]), np.array([2, 1, 3, 4])
    assert suppressed(cells, records, 1).tolist() == [False] * 4
    assert suppressed(cells, records, 4).tolist() == [False, True, False, False]
    assert suppressed(cells, records, 5).tolist() == [False, True, False, True]
    assert suppressed(cells, records, 6).all()
