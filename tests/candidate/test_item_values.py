"""Values of a person that are spread among a series of columns."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tasks.candidate.item_values import item_values
from tasks.candidate.value_counts import ValueCounts
from tasks.microdata.coded import CodedColumn, code_column
from tasks.request.model import SensitivityWeights, ValueType

CLASSES = np.repeat([0, 1], [40, 360])
OTHERS = ("flu", "cold", "burn", "cut", "ache", "cough")


def columns(*, names: Sequence[str], weights: SensitivityWeights | None = None) -> Mapping[str, CodedColumn]:
    """Four columns in which each of the first 40 people has HIV once, a quarter of them in each column."""
    cells = [[OTHERS[(person + place * (1 + person // 6)) % 6] for place in range(4)] for person in range(400)]
    for person in range(40):
        cells[person][person % 4] = "hiv"
    return {
        name: code_column(
            pd.Series([one[place] for one in cells], dtype="str"), weights or SensitivityWeights(), in_series=True
        )
        for place, name in enumerate(names)
    }


def counts(found: Mapping[str, CodedColumn]) -> ValueCounts:
    return ValueCounts.of(CLASSES, [], found, np.arange(400))


def test_a_value_that_all_of_a_class_have_in_some_column_of_a_series_is_disclosed() -> None:
    found = counts(columns(names=["dx1", "dx2", "dx3", "dx4"])).found
    assert [one.disclosed.sum() for one in found.values()] == [40] * 4
    assert [one.alone.sum() for one in found.values()] == [0] * 4


def test_columns_of_other_names_are_judged_one_by_one() -> None:
    found = counts(columns(names=["illness", "reason", "history", "remark"])).found
    assert not any(one.disclosed.any() for one in found.values())


def test_a_value_that_is_not_sensitive_is_not_disclosed_by_a_series() -> None:
    weights = SensitivityWeights(values={"hiv": 0.0}, default=1.0)
    found = counts(columns(names=["dx1", "dx2", "dx3", "dx4"], weights=weights)).found
    assert not any(one.disclosed.any() for one in found.values())


def test_numbered_columns_of_different_things_are_no_series() -> None:
    """Without a value that occurs in both, columns tell of different things."""
    one, other = (pd.Series([f"{thing}{place % 7}" for place in range(400)], dtype="str") for thing in ("in", "out"))
    coded = {
        name: code_column(cells, SensitivityWeights(), in_series=True)
        for name, cells in {"q1": one, "q2": other}.items()
    }
    rows = np.arange(400)
    assert item_values(coded, dict.fromkeys(coded, rows), dict.fromkeys(coded, rows)) == ()


def test_items_of_rows_belong_to_the_persons_of_the_rows() -> None:
    """By hand: persons 0, 0, 1 with a, b and a in the first column, and b, none and a in the second."""
    cells = {"dx1": ["a", "b", "a"], "dx2": ["b", None, "a"]}
    coded = {
        name: code_column(pd.Series(one, dtype="str"), SensitivityWeights(), in_series=True)
        for name, one in cells.items()
    }
    rows, persons = np.arange(3), np.array([0, 0, 1])
    (series,) = item_values(coded, dict.fromkeys(coded, rows), dict.fromkeys(coded, persons))
    assert series.columns == ("dx1", "dx2")
    assert series.owners.tolist() == [0, 0, 1, 0, 1]
    a, b = series.values.ranks[:2].tolist()
    assert a != b
    assert series.values.ranks.tolist() == [a, b, a, b, a]


def loads(positive: int, *, others: int = 20, missing: int = 0) -> CodedColumn:
    """A number of 400 people, 0 for all but `positive` of the first 40, who all differ, and `others` of the rest."""
    cells = ["0" if person % 18 or person >= 40 + 18 * others else str(7 * person) for person in range(400)]
    cells[:40] = [str(1000 * (1 + person)) if person < positive else "0" for person in range(40)]
    values = pd.Series(cells, dtype="str").where(pd.Series(range(400)) >= missing)
    return code_column(values, SensitivityWeights(), ValueType.INTEGER)


def test_a_class_in_which_nobody_has_the_usual_value_discloses_that() -> None:
    assert counts({"load": loads(40)}).found["load"].disclosed.sum() == 40
    assert counts({"load": loads(36)}).found["load"].disclosed.sum() == 36
    assert not counts({"load": loads(10)}).found["load"].disclosed.any()


def test_a_missing_value_is_told_of_where_all_others_of_the_class_are_unusual() -> None:
    assert counts({"load": loads(40, missing=4)}).found["load"].disclosed[:40].all()


def test_where_no_value_is_usual_or_none_of_the_others_is_sensitive_nothing_more_is_judged() -> None:
    rows = np.arange(400)
    for cells, weights in (
        ([f"v{place % 5}" for place in range(400)], SensitivityWeights()),
        (["none"] * 300 + ["a", "b"] * 50, SensitivityWeights(values={"a": 0.0, "b": 0.0}, default=1.0)),
        (["none"] * 300 + ["a"] * 100, SensitivityWeights()),
    ):
        coded = {"x": code_column(pd.Series(cells, dtype="str"), weights)}
        assert item_values(coded, {"x": rows}, {"x": rows}) == ()


def test_spellings_of_one_value_are_judged_together() -> None:
    """Eight spellings, each too rare in the class of forty to be disclosed, where others have one in twenty."""
    spellings = ("hiv", "HIV", "Hiv", "H.I.V.", "h.i.v.", "HIV+", "(HIV)", "hi-v")
    others = [spellings[place % 8] if place % 20 == 0 else OTHERS[place % 6] for place in range(360)]
    cells = pd.Series([*(spellings[place % 8] for place in range(40)), *others], dtype="str")
    found = counts({"diagnosis": code_column(cells, SensitivityWeights())}).found["diagnosis"]
    assert found.disclosed[:40].all()
