"""Changes of columns in one line: names, numbers and ranges, and what is wrong with a line."""

import pytest

from flows.cli.column_answers import read_changes, read_figures
from tasks.draft.roles import ColumnProfile, Suggestion
from tasks.request.model import Role, ValueType


def column(name: str, *, of_row: bool = False) -> Suggestion:
    profile = ColumnProfile(name, 9, 0, 9, 9, ValueType.TEXT, 0, 0, 0, {})
    return Suggestion(profile, Role.UNREVIEWED, (), of_row=of_row)


COLUMNS = {name: column(name) for name in ("age", "flc.grp", "a-b", "with space", "x,y")} | {
    "labs.value": column("labs.value", of_row=True)
}


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("age=s", {"age": "s"}),
        ("1=s", {"age": "s"}),
        ("1-3=q", dict.fromkeys(("age", "flc.grp", "a-b"), "q")),
        ("flc.grp, a-b = S; 1=w", {"flc.grp": "s", "a-b": "s", "age": "w"}),
        ("with space=i x,y=w", {"with space": "i", "x,y": "w"}),
        ("1,6=k", {"age": "k", "labs.value": "k"}),
        ("1,5=d", {"age": "d", "x,y": "d"}),
        ("1-6=s 2=w", {name: "w" if name == "flc.grp" else "s" for name in COLUMNS}),
        ("age-3=i", dict.fromkeys(("age", "flc.grp", "a-b"), "i")),
        ("a-b-with space=i", {"a-b": "i", "with space": "i"}),
        ("", {}),
    ],
)
def test_columns_are_named_or_numbered_and_the_last_letter_counts(line: str, made: dict[str, str]) -> None:
    assert read_changes(line, COLUMNS) == (made, "")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("age", "not clear"),
        ("age=s sex", "not clear"),
        ("age=secret", "not clear"),
        ("age=z", "no such letter: z"),
        ("0=s", "no such column: 0"),
        ("7=s", "no such column: 7"),
        ("3-2=s", "no such column: 3-2"),
        ("age,sex=s", "no such column: sex"),
        ("6=q", "labs.value: differs between rows of a person"),
    ],
)
def test_a_line_that_is_not_clear_changes_nothing(line: str, wrong: str) -> None:
    made, found = read_changes(line, COLUMNS)
    assert made == {}
    assert found.startswith(wrong)


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("age=0.5, with space = 0.1", {"age": "0.5", "with space": "0.1"}),
        ("1=0,5 4=0,1", {"age": "0,5", "with space": "0,1"}),
        ("1=0,5,4=0,1", {"age": "0,5", "with space": "0,1"}),
        ("1=0,4=1", {"age": "0", "with space": "1"}),
        ("1,4=0.25;", {"age": "0.25", "with space": "0.25"}),
        ("1=half", {"age": "half"}),
    ],
)
def test_figures_are_given_to_columns_as_letters_are(line: str, made: dict[str, str]) -> None:
    assert read_figures(line, [*COLUMNS], {"age", "with space"}) == (made, "")


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("1=", "not clear; columns, “=” and a figure, such as 8=0.5 9=0.1"),
        ("1=0.5 of all", "not clear"),
        ("9=0.5", "no such column: 9"),
        ("1-2=0.5", "not marked k: flc.grp"),
    ],
)
def test_a_figure_for_another_column_is_told(line: str, wrong: str) -> None:
    made, found = read_figures(line, [*COLUMNS], {"age", "with space"})
    assert made == {}
    assert found.startswith(wrong)
