"""The field inventory: who confirmed a role, who excused a column, and which nobody has reviewed."""

from tests.support import records
from tests.support.rendered import determination_html
from tests.support.texts import sections


def test_who_judged_a_column_and_why_is_printed() -> None:
    record = records.approved()
    last, told = record.fields[-1], {"confirmed": "Dana: her reason.", "excused": "Eric: his reason."}
    fields = (*record.fields[:-1], last.model_copy(update=told))
    shown = sections(determination_html(records.changed(record, fields=fields)))["fields"]
    assert "Role confirmed by Dana: her reason." in shown
    assert "Excused by Eric: his reason." in shown


def test_columns_that_nobody_has_reviewed_are_named() -> None:
    record = records.approved()
    unreviewed = record.fields[0].model_copy(update={"role": "unreviewed", "name": "mark"})
    shown = sections(determination_html(records.changed(record, fields=(*record.fields, unreviewed))))
    assert "Withheld because nobody has reviewed them: mark." in shown["fields"]
    assert "Withheld: nobody has reviewed them mark" in shown["decision"]
