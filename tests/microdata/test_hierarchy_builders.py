"""Hierarchies from intervals, calendar periods, prefixes and groups, and from whichever source a request names."""

import json
from datetime import date, timedelta
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import HierarchyError, WorkspaceError
from tasks.microdata.build import build_hierarchies, from_dates, from_groups, from_intervals, from_prefixes
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import DateLevels, GroupLevels, IntervalLevels, PrefixLevels
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import changed, tiny_request


def rows_of(tree: Hierarchy) -> list[list[str]]:
    return [[tree.labels[level][group] for level, group in enumerate(leaf)] for leaf in tree.groups]


def test_intervals_by_hand() -> None:
    tree = from_intervals("age", IntervalLevels(minimum=3, maximum=9, widths=(2, 4)))
    assert rows_of(tree) == [
        ["3", "3-4", "3-6", "*"],
        ["4", "3-4", "3-6", "*"],
        ["5", "5-6", "3-6", "*"],
        ["6", "5-6", "3-6", "*"],
        ["7", "7-8", "7-9", "*"],
        ["8", "7-8", "7-9", "*"],
        ["9", "9", "7-9", "*"],
    ]


def test_an_interval_that_holds_everything_is_the_top() -> None:
    tree = from_intervals("age", IntervalLevels(minimum=0, maximum=3, widths=(2, 4, 8)))
    assert [len(level) for level in tree.labels] == [4, 2, 1]
    assert tree.labels[-1] == ("*",)


def test_intervals_that_cross_by_hand() -> None:
    ages = from_intervals("age", IntervalLevels(minimum=0, maximum=6, widths=(2, 3)), levels_may_cross=True)
    assert rows_of(ages) == [
        ["0", "0-1", "0-2", "*"],
        ["1", "0-1", "0-2", "*"],
        ["2", "2-3", "0-2", "*"],
        ["3", "2-3", "3-5", "*"],
        ["4", "4-5", "3-5", "*"],
        ["5", "4-5", "3-5", "*"],
        ["6", "6", "6", "*"],
    ]
    with pytest.raises(HierarchyError, match="two parents"):
        from_intervals("age", IntervalLevels(minimum=0, maximum=6, widths=(2, 3)))


@settings(deadline=None, max_examples=examples(50))
@given(
    minimum=st.integers(-40, 40),
    extent=st.integers(1, 60),
    factors=st.lists(st.integers(2, 4), max_size=4),
)
def test_interval_groups_have_their_width_but_for_the_last(minimum: int, extent: int, factors: list[int]) -> None:
    widths = [1]
    for factor in factors:
        widths.append(widths[-1] * factor)
    maximum = minimum + extent
    tree = from_intervals("a", IntervalLevels(minimum=minimum, maximum=maximum, widths=tuple(widths[1:])))
    assert [int(leaf) for leaf in tree.labels[0]] == list(range(minimum, maximum + 1))
    kept = [width for width in widths if width < extent + 1]
    assert tree.n_levels == len(kept) + 1
    for level, width in enumerate(kept):
        sizes = tree.sizes[tree.offsets[level] : tree.offsets[level + 1]].tolist()
        assert sizes[:-1] == [width] * (len(sizes) - 1)
        assert 1 <= sizes[-1] <= width


def periods(first: str, last: str, *levels: str, crossing: bool = False) -> list[list[str]]:
    given = DateLevels.model_validate_json(json.dumps({"minimum": first, "maximum": last, "levels": levels}))
    return rows_of(from_dates("born", given, levels_may_cross=crossing))


def test_periods_of_the_calendar_by_hand() -> None:
    assert periods("2023-12-31", "2024-01-01", "month", "quarter", "year") == [
        ["2023-12-31", "2023-12", "2023-Q4", "2023", "*"],
        ["2024-01-01", "2024-01", "2024-Q1", "2024", "*"],
    ]
    # 1 January 2021 was a Friday, and so in the last week of 2020 by ISO 8601.
    assert periods("2021-01-03", "2021-01-04", "iso-week", "iso-year") == [
        ["2021-01-03", "2020-W53", "ISO 2020", "*"],
        ["2021-01-04", "2021-W01", "ISO 2021", "*"],
    ]
    assert periods("2024-02-28", "2024-03-01", "month", "year") == [
        ["2024-02-28", "2024-02", "*"],
        ["2024-02-29", "2024-02", "*"],
        ["2024-03-01", "2024-03", "*"],
    ], "a year that holds the whole domain is the top"
    assert periods("1989-12-31", "1995-01-01", "year", "five-years", "decade")[:: 365 * 5 + 2] == [
        ["1989-12-31", "1989", "1985-1989", "1980-1989", "*"],
        ["1995-01-01", "1995", "1995-1999", "1990-1999", "*"],
    ]
    assert periods("2024-05-01", "2024-05-02", "month") == [["2024-05-01", "*"], ["2024-05-02", "*"]]


def test_weeks_and_months_cross() -> None:
    rows = periods("2024-02-26", "2024-03-05", "iso-week", "month", crossing=True)
    assert [row[1:] for row in rows] == [
        *[["2024-W09", "2024-02", "*"]] * 4,
        *[["2024-W09", "2024-03", "*"]] * 3,
        *[["2024-W10", "2024-03", "*"]] * 2,
    ]


@settings(max_examples=examples(30))
@given(st.dates(date(1600, 1, 1), date(2400, 1, 1)), st.integers(1, 800))
def test_every_period_holds_the_days_that_the_calendar_puts_there(first: date, extent: int) -> None:
    last = first + timedelta(days=extent)
    for row in periods(str(first), str(last), "month", "quarter", "year"):
        day = date.fromisoformat(row[0])
        assert set(row[1:-1]) <= {f"{day:%Y-%m}", f"{day:%Y}-Q{-(-day.month // 3)}", f"{day:%Y}"}
    for row in periods(str(first), str(last), "iso-week", "iso-year"):
        assert set(row[1:-1]) <= {
            date.fromisoformat(row[0]).strftime("%G-W%V"),
            date.fromisoformat(row[0]).strftime("ISO %G"),
        }


def test_prefixes_by_hand() -> None:
    tree = from_prefixes("zip", PrefixLevels(keep=(3, 2)), ["37201", "37010", "37011", "37010"])
    assert rows_of(tree) == [
        ["37010", "370**", "37***", "*"],
        ["37011", "370**", "37***", "*"],
        ["37201", "372**", "37***", "*"],
    ]
    assert rows_of(from_prefixes("zip", PrefixLevels(keep=(3,), mask=""), ["37010"])) == [["37010", "370", "*"]]
    assert rows_of(from_prefixes("zip", PrefixLevels(keep=()), ["a", "b"])) == [["a", "*"], ["b", "*"]]


def test_prefixes_of_codes_of_several_lengths_stay_apart() -> None:
    tree = from_prefixes("code", PrefixLevels(keep=(2, 1)), ["A10", "A1000", "A11"])
    assert rows_of(tree) == [["A10", "A1*", "A**", "*"], ["A11", "A1*", "A**", "*"], ["A1000", "A1***", "A****", "*"]]


def test_a_prefix_as_long_as_a_value_is_refused() -> None:
    with pytest.raises(HierarchyError, match="as long as a value") as caught:
        from_prefixes("zip", PrefixLevels(keep=(8, 3)), ["3701" + CANARY, "x" + CANARY[:7]])
    assert caught.value.where == "prefixes of zip"
    assert_silent(caught.value)


def test_prefixes_of_nothing_are_refused() -> None:
    with pytest.raises(HierarchyError, match="is empty"):
        from_prefixes("zip", PrefixLevels(keep=(3,)), [])


def test_a_value_that_looks_like_a_prefix_is_refused() -> None:
    with pytest.raises(HierarchyError, match="different groups"):
        from_prefixes("zip", PrefixLevels(keep=(3,)), ["37010", "37011", "370**"])
    with pytest.raises(HierarchyError, match="different groups"):
        from_prefixes("zip", PrefixLevels(keep=()), ["*", "a"])


def test_groups_by_hand() -> None:
    levels = ({"solid": ("lung", "colon"), "blood": ("leukaemia",)}, {"cancer": ("solid", "blood")})
    assert rows_of(from_groups("diagnosis", GroupLevels(levels=levels))) == [
        ["lung", "solid", "cancer"],
        ["colon", "solid", "cancer"],
        ["leukaemia", "blood", "cancer"],
    ]
    assert rows_of(from_groups("diagnosis", GroupLevels(levels=levels[:1])))[2] == ["leukaemia", "blood", "*"]


def test_groups_that_cross_list_the_values_at_every_level() -> None:
    levels = (
        {"young": ("child", "teen"), "old": ("adult", "senior")},
        {"minor": ("child",), "major": ("teen", "adult", "senior")},
    )
    assert rows_of(from_groups("age", GroupLevels(levels=levels), levels_may_cross=True)) == [
        ["child", "young", "minor", "*"],
        ["teen", "young", "major", "*"],
        ["adult", "old", "major", "*"],
        ["senior", "old", "major", "*"],
    ]
    with pytest.raises(HierarchyError, match="do not cover the values") as caught:
        from_groups("age", GroupLevels(levels=(levels[0], {"all": ("young", "old")})), levels_may_cross=True)
    assert (caught.value.where, caught.value.got) == ("groups of age, level 2", "4 left out, 2 unknown")


GROUPS_REFUSED = {
    "two parents": (({"x": ("a", "b"), "y": ("b",)},), "two parents", "level 1"),
    "two parents above": (({"x": ("a",), "y": ("b",)}, {"p": ("x", "y"), "q": ("y",)}), "two parents", "level 2"),
    "value twice": (({"x": ("a", "a")},), "occurs twice", ""),
    "left out": (({"x": ("a",), "y": ("b",)}, {"p": ("x",)}), "do not cover", "level 2"),
    "unknown": (({"x": ("a",)}, {"p": ("x", "z")}), "do not cover", "level 2"),
    "no values": (({"x": ()},), "is empty", ""),
    "a group named as a value": (({"a": ("a", "b"), "y": ("c",)},), "different groups", ""),
}


@pytest.mark.parametrize("case", GROUPS_REFUSED)
def test_groups_that_are_no_tree_are_refused(case: str) -> None:
    levels, what, where = GROUPS_REFUSED[case]
    secret = tuple(
        {CANARY + name: tuple(CANARY + member for member in members) for name, members in level.items()}
        for level in levels
    )
    with pytest.raises(HierarchyError, match=what) as caught:
        from_groups("diagnosis", GroupLevels(levels=secret))
    assert caught.value.where.startswith("groups of diagnosis")
    assert where in caught.value.where
    assert_silent(caught.value)


def test_a_request_gives_each_quasi_identifier_its_hierarchy(tmp_path: Path) -> None:
    trees = build_hierarchies(tiny_request(tmp_path), pd.DataFrame())
    assert list(trees) == ["zip", "age", "sex"]
    assert trees["zip"].labels[1] == ("370**", "372**")
    assert trees["age"].labels[1] == ("88-89", "90-91", "92-93")
    assert trees["sex"].labels == (("F", "M"), ("*",))


@pytest.mark.parametrize(
    "source",
    [
        {"file": "age.csv"},
        {"intervals": {"minimum": 88, "maximum": 93, "widths": [2, 3]}},
        {"groups": {"levels": [
            {"88-89": ["88", "89"], "90-91": ["90", "91"], "92-93": ["92", "93"]},
            {"88-90": ["88", "89", "90"], "91-93": ["91", "92", "93"]},
        ]}},
    ],
)  # fmt: skip
def test_every_source_may_have_levels_that_cross(tmp_path: Path, source: dict[str, object]) -> None:
    rows = [(age, f"{age // 2 * 2}-{age // 2 * 2 + 1}", "88-90" if age < 91 else "91-93", "*") for age in range(88, 94)]
    (tmp_path / "age.csv").write_text("".join(";".join(map(str, row)) + "\n" for row in rows))
    declared = changed("attributes", "age", "hierarchy", to={**source, "levels_may_cross": True})
    ages = build_hierarchies(tiny_request(tmp_path, declared), pd.DataFrame())["age"]
    assert rows_of(ages) == [[str(label) for label in row] for row in rows]
    assert not ages.is_tree


def test_prefixes_take_their_domain_from_the_population(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, changed("attributes", "zip", "hierarchy", to={"prefixes": {"keep": [3]}}))
    population = pd.DataFrame({"zip": ["37011", None, "37010", "37011"]})
    assert build_hierarchies(loaded, population)["zip"].labels[0] == ("37010", "37011")


def test_a_hierarchy_file_that_is_not_there(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, changed("attributes", "zip", "hierarchy", "file", to="nowhere.csv"))
    with pytest.raises(WorkspaceError) as caught:
        build_hierarchies(loaded, pd.DataFrame())
    assert "attributes.zip.hierarchy.file" in caught.value.where
