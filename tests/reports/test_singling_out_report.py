"""What a determination says of records that a few columns single out."""

from reports.determination import evidence
from reports.model.record_view import RecordView
from reports.sections.reference import cited
from tasks.assessments.singling_out.facts import ColumnUniquesFact, SingledOutFact
from tasks.decision.record import DecisionRecord
from tests.support import records, texts
from tests.support.rendered import determination_html
from tests.support.special_records import RECORDS, singling_out


def with_fact(**changes: object) -> DecisionRecord:
    fact = singling_out(**changes).model_dump(mode="json")
    record = records.approved()
    return records.changed(record, further={**record.further, "singling_out": fact})


def section(record: DecisionRecord) -> str:
    """Text of the part."""
    return texts.sections(determination_html(record))["singling_out"]


def sizes(*counts: int) -> tuple[SingledOutFact, ...]:
    return tuple(SingledOutFact(columns=size, singled_out=count) for size, count in enumerate(counts, start=1))


def test_the_part_shows_share_columns_and_estimates() -> None:
    shown = section(records.approved())
    for words in (
        "any 3 of the columns below",
        "No probability of being known is stated for hours-per-week; such columns count as known.",
        "Masked numbers count as collected, which singles out fewer records than as released.",
        "one column 0.08%",
        "2 columns 21.53%",
        "some set 73.13%",
        "zip 67.11% 64.51% 42.09%",
        "age, zip, occupation 44.02% 0.0199 2.35% 35.95% 35.48% 2.35%, Pitman",
        "all 7 columns 75.19%",
        "Sampling fraction 0.51%, from the population table",
    ):
        assert words in shown, words


def test_where_others_can_know_who_is_in_the_file_the_sampling_fraction_says_why() -> None:
    shown = section(with_fact(known_presence=True, sampling_fraction=1.0))
    assert "Sampling fraction 100%, since others can know who is in the file: whoever is alone there is found" in shown


def test_few_records_are_not_shown() -> None:
    """Race singles out four records alone; of sizes that add up a small one is hidden, and with it the next."""
    shown = section(with_fact(by_size=sizes(4, 7_031, 16_777)))
    assert "race 3.55% 2.75% <0.03%" in shown
    assert "one column not shown 2 columns not shown 3 columns 51.52% some set 73.13%" in shown


def test_a_small_rest_is_not_shown() -> None:
    """All but five records are singled out: neither the rest is shown nor all that add up to it."""
    shown = section(with_fact(singled_out=RECORDS - 5, by_size=sizes(20, 16_000, RECORDS - 16_025)))
    assert "some set >99.97%" in shown
    assert "one column not shown 2 columns 49.14% 3 columns 50.78%" in shown


def test_nobody_is_singled_out() -> None:
    empty = ColumnUniquesFact(column="age", score_share=0.0, singled_out=0, needed=0)
    shown = section(with_fact(singled_out=0, by_size=sizes(0, 0, 0), by_column=(empty,), presumed=(), masked=None))
    assert "some set 0%" in shown
    assert "Columns that single records out" not in shown
    assert "Masked numbers" not in shown
    assert "does not say" not in shown


def test_a_model_without_a_fit_has_no_figure() -> None:
    fact = singling_out()
    assert fact.worst is not None
    worst = fact.worst.model_copy(update={"snb": None, "chosen": "zayatz", "population_share": 0.3595})
    assert "2.35% 35.95% – 35.95%, Zayatz" in section(with_fact(worst=worst))


def test_papers_and_terms_are_named_where_it_was_assessed() -> None:
    view = RecordView(records.approved())
    assert any(paper.startswith("Manning AM, Haglin DJ, Keane JA (2008)") for paper in cited(view))
    without = records.changed(records.approved(), further={})
    assert not any(paper.startswith("Manning") for paper in cited(RecordView(without)))
    shown = texts.sections(determination_html(without))
    assert "Singling out by a few columns The stage did not finish" in shown["assumed"]
    assert "Minimal sample unique" not in shown["reference"]


def test_the_part_stands_after_those_whose_numbers_are_cited() -> None:
    risk = next(one for one in evidence(records.approved()).sections if one.key == "risk")
    assert [part.number for part in risk.parts if part.key == "singling_out"] == ["E10.4"]
