"""The report's part on what released columns tell."""

from reports.record_view import RecordView
from reports.sections.columns import columns
from tests.support import records, special_records
from tests.support.rendered import determination_html
from tests.support.texts import sections


def test_each_column_is_shown_with_its_finding_and_who_answers_for_it() -> None:
    shown = sections(determination_html(records.approved()))["columns"]
    assert "relationship tells sex outright for 45% of the records excused by Dana: it is needed." in shown
    assert "occupation" in shown


def test_a_column_without_a_place_is_marked() -> None:
    fact = special_records.columns()
    bare = fact.model_copy(update={"columns": tuple(one.model_copy(update={"excused": ""}) for one in fact.columns)})
    *_, table = columns(RecordView(records.approved()), bare)
    assert table.rows[0][-1] == "tells nothing of others"
    assert "none" in table.rows[1][-1]
