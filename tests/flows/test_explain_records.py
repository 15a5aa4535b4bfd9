"""What is shown of the records at stake: no count of few records, and none from which one follows."""

from typing import Any

import pytest
from rich.console import Console

from reports.explanation.records import documents, rendered_records
from reports.terminal import show
from tasks.decision.explain.at_stake import AtStake, RecordClass
from tasks.decision.explain.result import NotByClass
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure
from tests.support import records
from tests.support.decoy_records import approved as with_decoys

RECORD = records.blocked()


def stake(
    *bands: int, released: int = 1000, measure: Measure = Measure.TRANSPARENT_MAXIMUM, members: bytes = b"1"
) -> AtStake:
    """The same counts by size of the group, by levels and by attribute."""
    ordered = sorted(bands, reverse=True)
    return AtStake(
        measure=measure,
        condition="with a risk above 0.09",
        counted="people of the population",
        records=sum(bands),
        released=released,
        patterns=tuple(RecordClass({"zip": 0, "age": level}, count) for level, count in enumerate(ordered)),
        bands=tuple(RecordClass((least, least), count) for least, count in enumerate(bands, 1)),
        attributes=tuple(RecordClass(f"q{place}", count) for place, count in enumerate(ordered)),
        members=members,
    )


def shown(*found: AtStake | NotByClass, record: DecisionRecord = RECORD, width: int = 100) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        show(rendered_records(record, found), console)
    return captured.get()


def document(*found: AtStake | NotByClass, record: DecisionRecord = RECORD) -> list[dict[str, Any]]:
    return documents(record, found)


def sizes(one: dict[str, Any]) -> list[str]:
    return [part["records_shown"] for part in one["by_group_size"]]


def test_nothing_to_show() -> None:
    assert rendered_records(RECORD, ()) == []
    assert documents(RECORD, ()) == []


def test_counts_that_may_be_shown() -> None:
    (told,) = document(stake(20, 0, 33))
    assert (told["records"], told["records_shown"], told["released"], told["rounded"]) == (53, "53", 1000, False)
    assert [(part["least"], part["most"], part["records"]) for part in told["by_group_size"]] == [
        (1, 1, 20), (2, 2, 0), (3, 3, 33),
    ]  # fmt: skip
    assert [(part["attribute"], part["records"]) for part in told["by_attribute"]][:2] == [("q0", 33), ("q1", 20)]
    assert told["by_levels"][0]["zip"] == "as collected"


def test_a_small_count_and_the_one_it_would_follow_from_are_hidden() -> None:
    (told,) = document(stake(20, 3, 33))
    assert sizes(told) == ["not shown", "not shown", "33"]
    assert [part["records"] for part in told["by_group_size"]] == [None, None, 33]


def test_several_small_counts_hide_each_other() -> None:
    assert sizes(document(stake(9, 8, 40))[0]) == ["<11", "<11", "40"]


def test_small_classes_are_joined_where_their_order_means_nothing() -> None:
    (told,) = document(stake(9, 8, 40))
    assert [(part.get("others"), part["records"]) for part in told["by_levels"]] == [(None, 40), (2, 17)]


def test_few_records_in_all_are_not_broken_down() -> None:
    (told,) = document(stake(4, 5))
    assert (told["records"], told["records_shown"]) == (None, "<11")
    assert told["by_levels"] == told["by_group_size"] == told["by_attribute"] == []
    assert "Too few records to be shown by class." in shown(stake(4, 5))


def test_few_records_that_are_not_at_stake_do_not_follow_from_the_parts() -> None:
    (told,) = document(stake(40, 55, released=100))
    assert (told["records"], told["records_shown"]) == (None, ">89")
    assert sizes(told) == ["not shown", "55"]


def test_two_gates_whose_records_differ_are_rounded_so_that_the_difference_tells_nothing() -> None:
    """Of 43 and 40 records the difference would be 3; both are told as 40."""
    other = stake(40, 50, measure=Measure.TRANSPARENT_ATTACKED, members=b"2")
    first, second = document(stake(43, 50), other)
    assert first["rounded"]
    assert sizes(first) == sizes(second) == ["40", "50"]
    assert (first["records"], second["records"]) == (90, 90)
    assert "Counts are rounded" in shown(stake(43, 50), other)
    assert "Counts are rounded" not in shown(stake(43, 50))


def test_the_very_same_records_are_not_repeated() -> None:
    other = stake(43, 50, measure=Measure.TRANSPARENT_ATTACKED)
    first, second = document(stake(43, 50), other)
    assert (first["same_as"], second["same_as"]) == (None, "transparent.maximum_risk")
    assert second["by_levels"] == []
    assert (first["records"], second["records"]) == (93, 93)
    told = shown(stake(43, 50), other)
    assert "the same as of: Highest risk of a record from a recipient who knows the method" in told


def test_counts_of_a_copy_with_decoys_are_rounded_as_in_its_record() -> None:
    (told,) = document(stake(43, 5678, released=32561), record=with_decoys())
    assert (told["records"], told["released"]) == (5720, 32600)
    assert sizes(told) == ["40", "5,680"]


def test_a_gate_whose_records_have_no_class() -> None:
    told = NotByClass(Measure.LINKED_MASKED, "By numbers alone.")
    assert document(told) == [{"measure": "linkage.masked_share", "reason": "By numbers alone."}]
    assert "by numbers alone: By numbers alone." in " ".join(shown(told).split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_lines_fit(width: int) -> None:
    text = shown(stake(*range(0, 400, 17), released=9999), width=width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "others" in text
