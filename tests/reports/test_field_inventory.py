"""The field inventory: who confirmed a role, who excused a column, and which nobody has reviewed."""

from tasks.decision.record import PseudonymFact, PseudonymsFact
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


def test_what_pseudonyms_link_and_who_can_undo_them_is_printed() -> None:
    record = records.approved()
    keyed = record.fields[0].model_copy(
        update={"name": "patient", "role": "pseudonym", "treatment": "replaced by a pseudonym (uuid, fresh)"}
    )
    columns = [
        PseudonymFact(column="patient", format="uuid", identifier="patient", repeats=True),
        PseudonymFact(column="visit", format="code", project="cohort", identifier="visit", repeats=False),
    ]
    sealed = PseudonymsFact(columns=tuple(columns), crosswalk_sha256="ab" * 32)
    shown = sections(determination_html(records.changed(record, fields=(*record.fields, keyed), pseudonyms=sealed)))
    fresh, stable = "for this recipient and this release. They link this copy to no other.", "and the project cohort."
    assert f"{fresh} Several rows have the same pseudonym." in shown["fields"]
    assert f"{stable} With them the recipient can join this copy, record by record, with its other" in shown["fields"]
    assert "The crosswalk from pseudonyms to identifiers is sealed" in shown["fields"]
    assert "Codes made with a secret key replace patient." in shown["safeharbor"]
    assert "Pseudonyms stand in place of the values of patient." in shown["loss"]
