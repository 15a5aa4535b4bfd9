"""What a determination says of values that classes disclose."""

from tasks.assessments.attribute.facts import ColumnDisclosureFact
from tasks.decision.record import DecisionRecord
from tests.support import records, texts
from tests.support.rendered import determination_html
from tests.support.special_records import attribute


def with_fact(**changes: object) -> DecisionRecord:
    record = records.approved()
    fact = attribute(**changes).model_dump(mode="json")
    return records.changed(record, further={**record.further, "attribute": fact})


def section(record: DecisionRecord) -> str:
    """Text of the part."""
    return texts.sections(determination_html(record))["attribute"]


def column(**changes: object) -> tuple[ColumnDisclosureFact, ...]:
    return (attribute().columns[0].model_copy(update=changes),)


def test_the_part_shows_each_column_beside_chance() -> None:
    shown = section(records.approved())
    for words in (
        "No class of 17,636 does.",
        "occupation 100% 30.48% 30.60% 0% 0.0301 0.0384",
        "salary-class 100% 9.24% 9% 0% 0.0301 0.0384",
        "relationship – – – – – –",
        "Numbers count as one value where they are near each other: capital-gain within 501.3.",
        "Not judged for a sensitivity below 0.5: capital-gain (1 of 119 values), salary-class (1 of 2 values), "
        "relationship (all values).",
    ):
        assert words in shown, words


def test_classes_that_disclose_are_counted_unless_they_are_few() -> None:
    many = section(with_fact(columns=column(disclosed_records=411), disclosed_classes=22, disclosed_records=411))
    assert "22 classes do, with 1.26% of the records." in many
    assert "No class of" not in many
    few = section(with_fact(columns=column(disclosed_records=5), disclosed_classes=1, disclosed_records=5))
    assert "Some classes do, with <0.03% of the records." in few
    assert "occupation 100% 30.48% 30.60% <0.03% 0.0301 0.0384" in few


def test_columns_that_are_known_are_named_and_none_may_be_sensitive() -> None:
    assert "Classes are told apart by education too, known for certain." in section(with_fact(known=("education",)))
    assert "No sensitive column is released" in section(with_fact(columns=()))


def test_a_missing_stage_is_named() -> None:
    record = records.approved()
    rest = {name: fact for name, fact in record.further.items() if name != "attribute"}
    shown = texts.sections(determination_html(records.changed(record, further=rest)))
    assert "Attribute disclosure The stage did not finish: what the records of a class share" in shown["assumed"]
