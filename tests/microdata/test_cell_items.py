"""Items of lists within cells, and chapters and categories of codes."""

import pandas as pd

from tasks.microdata.cell_items import cell_items

WEIGHTS = {"J00": 0.25, "F20": 1.0}


def items(*levels: str) -> tuple[list[list[int]], list[float]]:
    found = cell_items(pd.Index(levels), lambda value: WEIGHTS.get(value, 0.5))
    return ([], []) if found is None else (found.pairs.tolist(), found.weights.tolist())


def test_items_of_lists_are_numbered_as_they_come() -> None:
    assert items("a;b", "a; c", "b;c", "a;b;c") == (
        [[0, 0], [0, 1], [1, 0], [1, 2], [2, 1], [2, 2], [3, 0], [3, 1], [3, 2]],
        [0.5, 0.5, 0.5],
    )


def test_names_with_commas_and_single_words_are_no_lists() -> None:
    assert items("Ada, King", "Mary, Jones", "Ida, Rhodes") == ([], [])
    assert items("a", "b", "c") == ([], [])


def test_a_chapter_and_a_category_weigh_as_the_heaviest_of_their_codes() -> None:
    """J and J00, F and F20 and F21: chapters and categories, in order of the codes."""
    pairs, weights = items("J00", "F20", "F21.1")
    assert pairs == [[0, 0], [0, 1], [1, 2], [1, 3], [2, 2], [2, 4]]
    assert weights == [0.25, 0.25, 1.0, 1.0, 0.5]


def test_codes_in_lists_are_items_beside_their_chapters() -> None:
    pairs, weights = items("J00;F20", "F20;J00;F21", "J00", "F20", "F21;J00")
    assert len(weights) == 3 + 2 + 3
    assert [item for code, item in pairs if code == 0] == [0, 1, 2, 3, 4, 5]


def test_spellings_have_their_letters_and_digits_in_common() -> None:
    """Each value of its own otherwise; marks without letters stand for themselves."""
    pairs, weights = items("Flu", "flu ", "J00", "-", "+", "F.L.U")
    assert pairs == [[0, 0], [1, 0], [2, 1], [3, 2], [4, 3], [5, 0]]
    assert weights == [0.5, 0.25, 0.5, 0.5]
    assert items("+", "-", "J00") == ([], [])
