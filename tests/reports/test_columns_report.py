"""The part of the report on what released columns reveal."""

from reports.record_view import RecordView
from reports.sections.columns import columns
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
    *_, table = columns(RecordView(records.approved()), bare)
    assert table.rows[0][-1] == "no finding"
    assert "not excused" in table.rows[1][-1]
