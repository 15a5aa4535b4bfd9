"""The part of the report on what released columns reveal."""

from reports.model.document import alike, named
from reports.model.record_view import RecordView
from reports.sections.columns import columns, excused
from tests.support import records, special_records
from tests.support.rendered import determination_html
from tests.support.texts import sections


def test_each_column_is_shown_with_its_finding_and_who_answers_for_it() -> None:
    shown = sections(determination_html(records.approved()))["columns"]
    assert "relationship reveals sex exactly for 45% of the records excused by Dana: it is needed." in shown
    assert "occupation" in shown


def test_a_revealing_column_that_nobody_excused_is_marked() -> None:
    fact = special_records.columns()
    bare = fact.model_copy(update={"columns": tuple(one.model_copy(update={"excused": ""}) for one in fact.columns)})
    *_, table, clear = columns(RecordView(records.approved()), bare)
    assert "not excused" in table.rows[0][-1]
    assert clear.text.startswith("No finding in ")
    assert fact.columns[0].name in clear.text


def test_an_excuse_that_does_not_count_is_marked() -> None:
    fact = special_records.columns()
    findings = {
        one.name: tuple(two.model_copy(update={"knowable": True}) for two in one.findings) for one in fact.columns
    }
    known = [one.model_copy(update={"findings": findings[one.name]}) for one in fact.columns]
    *_, table, _ = columns(RecordView(records.approved()), fact.model_copy(update={"columns": tuple(known)}))
    assert "excused without effect" in table.rows[0][-1]


def test_columns_that_say_the_same_are_one_row_and_ranges_have_their_ends() -> None:
    """Names of one width, of another, with a gap, and two only."""
    assert named(["q08", "q09", "q10"]) == "q08 to q10"
    assert named(["q8", "q9", "q10", "q12"]) == "q8 to q10, q12"
    assert named(["q1", "q2"]) == "q1, q2"
    rows = [("a", "2"), ("b", "2"), ("c", "3"), ("d", "2")]
    assert alike(rows) == [("a, b", "2"), ("c", "3"), ("d", "2")]
    many = [chr(ord("a") + number) for number in range(20)]
    assert named(many) == "a, b, c, d, e, f, g, h, i, j and 10 others"
    assert alike([(name, "") for name in many]) == [(", ".join(many), "")]


def test_the_determination_names_excused_columns_with_what_they_reveal_who_accepts_it_and_why() -> None:
    """Of 20 records, 45% are 9: fewer than may be shown, so that the share is told as a bound of 11 in 20."""
    record = records.approved()
    shown = sections(determination_html(record))
    assert "Excused although it reveals other columns or people: relationship; section 3" in shown["decision"]
    told = "relationship relationship reveals sex exactly for 45% of the records excused by Dana: it is needed."
    assert told in shown["judged"]
    few = records.changed(record, dataset=record.dataset.model_copy(update={"rows_in": 20}))
    (table,) = excused(RecordView(few))
    assert "reveals sex exactly for &lt;55% of the records" in table.rows[0][1]


def test_revealing_columns_that_no_gate_judges_and_nobody_excused_are_named() -> None:
    record = records.approved()
    fact = special_records.columns()
    bare = fact.model_copy(update={"columns": tuple(one.model_copy(update={"excused": ""}) for one in fact.columns)})
    without = records.changed(record, further={**record.further, "columns": bare.model_dump(mode="json")}, gates=())
    (sentence,) = excused(RecordView(without))
    assert "no excuse covers that of relationship: section E10.6" in sentence
