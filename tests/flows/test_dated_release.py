"""Releases of shifted and relative dates: offsets of people, files as collected, gates, checks of order."""

import csv
import hmac
import json
import re
import shutil
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from flows.gate.outcome import Outcome
from flows.reassessment.copy_reassessment import AS_ASKED
from flows.reassessment.run import reassess
from reports.model.record_view import RecordView
from reports.sections.contents import determination_sections, evidence_sections
from tasks.assessments.dates.facts import DatesFact
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord, Verdict
from tasks.reassessment.record import TodaysVerdict
from tests.flows.test_last_check import assert_nothing_left, exchange_before_hashing, exchanged
from tests.support.dated_world import (
    DATES,
    GATES,
    VISIT_COLUMNS,
    dated_persons,
    dated_visits,
    make_dated_persons,
    make_dated_visits,
)
from tests.support.search import files_holding
from tests.support.world import NOW, Row, World, recipient

PROSECUTOR = {"measure": "prosecutor.maximum_risk", "at_most": 0.5, "because": "a small world"}
SMALL_CLASSES = {"method": "no-attack-partition", "minimum_class_size": 2}


def delivered(outcome: Outcome, who: str = "university") -> list[dict[str, str]]:
    folder = outcome.bundle / "delivery" / who
    if (folder / "data.parquet").exists():
        rows = pq.read_table(folder / "data.parquet").to_pylist()
        return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]
    with (folder / "data.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def offset(world: World, person: str, who: str = "university", identifier: str = "patient", days: int = 30) -> int:
    """As ``tasks.dates.offsets`` describes it, step by step."""
    scope = json.dumps([who, identifier, days])
    key = hmac.digest(world.workspace.key_file.read_bytes(), f"date offsets\0{scope}".encode(), "sha256")
    return int.from_bytes(hmac.digest(key, f"0\0{person}".encode(), "sha256")[:8]) % (2 * days + 1) - days


def moved(day: str, by: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat() if day else ""


def as_released(world: World, rows: list[Row]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        stay = (
            (date.fromisoformat(row["discharge"]) - date.fromisoformat(row["visit"])).days if row["discharge"] else ""
        )
        visit = moved(row["visit"], offset(world, row["patient"]))
        found[row["diagnosis"], row["visits"], visit, str(stay)] += 1
    return found


def shown_of(record: DecisionRecord) -> str:
    view = RecordView(record)
    return repr(determination_sections(view)) + repr(evidence_sections(view))


@pytest.fixture(scope="module")
def visits(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:
    world = make_dated_visits(tmp_path_factory.mktemp("dated") / "world")
    outcome = world.run(engine)
    assert outcome.records[0].decision is Verdict.APPROVED, outcome.records[0].reasons
    return world, outcome


def test_visits_leave_by_the_offset_of_their_person_and_discharges_as_days_since(
    visits: tuple[World, Outcome],
) -> None:
    world, outcome = visits
    rows = delivered(outcome)
    found = Counter((row["diagnosis"], row["visits"], row["visit"], row["discharge"]) for row in rows)
    assert found == as_released(world, dated_visits())
    assert any(row["discharge"] == "" for row in rows), "a missing date stays missing"
    dictionary = json.loads((outcome.bundle / "delivery/university/dictionary.json").read_text())
    treatments = {column["name"]: (column["type"], column["treatment"]) for column in dictionary["columns"]}
    assert treatments["visit"] == ("date", "shifted by up to 30 days, all dates of a person by the same number")
    assert treatments["discharge"] == ("integer", "days since visit")


def test_offsets_are_spread_over_the_window(visits: tuple[World, Outcome]) -> None:
    """By a key of each workspace's own, so that 240 people need not have all 61 offsets."""
    people = {row["patient"] for row in dated_visits()}
    drawn = [offset(visits[0], one) for one in people]
    assert -30 <= min(drawn) < -20
    assert 20 < max(drawn) <= 30


def test_the_record_and_its_reports_say_whom_dates_find(visits: tuple[World, Outcome]) -> None:
    (record,) = visits[1].records
    fact = DatesFact.model_validate(record.further["dates"])
    assert (fact.shifted, fact.relative, fact.index, fact.known) == (("visit",), ("discharge",), None, 2)
    assert fact.offset is not None
    assert fact.offset.weekday_bits > 0.2, "there are no visits on weekends"
    assert fact.whole.share >= fact.with_class.share >= fact.by_dates.share > 0
    shown = shown_of(record)
    for words in (
        "People whom true dates find",
        "drawn from −30 to 30",
        "of 2.81",
        "knows 2 true dates of the person at most",
        "Acquaintance with dates",
        "the dates of visit, discharge were shifted",
    ):
        assert words in shown, words
    by_name = {field.name: field.treatment for field in record.fields}
    assert by_name["discharge"] == "days since visit"


def test_a_bundle_with_dates_verifies_and_holds_when_assessed_again(
    visits: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    world, outcome = visits
    shutil.copytree(world.folder.parent, tmp_path / "copy")
    again = World(tmp_path / "copy" / "world")
    bundle = again.workspace.bundle(outcome.release_id)
    assert releasegate("verify", bundle, "--workspace", again.workspace.root).code == 0
    (found,) = reassess(outcome.release_id, again.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert found.verdict is TodaysVerdict.HOLDS, found.because
    assert found.record is not None
    measured = {gate.id: gate.measured for gate in found.record.gates}
    decided = {gate.id: gate.measured for gate in outcome.records[0].gates}
    assert measured["dates.alone_share"] == decided["dates.alone_share"]
    world.data.rename(world.data.with_suffix(".aside"))
    try:
        (bare,) = reassess(outcome.release_id, again.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=31))
    finally:
        world.data.with_suffix(".aside").rename(world.data)
    assert bare.verdict is TodaysVerdict.CANNOT, "whom dates find cannot be counted without the true ones"
    assert bare.record is not None
    assert {gate.id: gate.measured for gate in bare.record.gates}["dates.alone_share"] is None


@pytest.mark.slow
def test_rows_of_one_person_each_leave_as_days(tmp_path: Path, engine: Any) -> None:
    world = make_dated_persons(tmp_path / "world")
    (record,) = (outcome := world.run(engine)).records
    assert record.decision is Verdict.APPROVED, record.reasons
    found = Counter((row["visits"], row["admitted"], row["died"]) for row in delivered(outcome))
    expected: Counter[tuple[str, ...]] = Counter()
    for row in dated_persons():
        by = offset(world, row["record_id"], identifier="record_id")
        expected[row["visits"], moved(row["admitted"][:10], by), moved(row["died"], by)] += 1
    assert found == expected


@pytest.mark.slow
def test_recipients_have_other_offsets_and_keep_them_in_a_later_release_in_parquet(tmp_path: Path, engine: Any) -> None:
    world = make_dated_persons(tmp_path / "world", recipients=[recipient("university"), recipient("archive")])
    first = world.run(engine)
    assert {record.decision for record in first.records} == {Verdict.APPROVED}
    at_university, at_archive = (
        {(row["diagnosis"], row["visits"], row["admitted"]) for row in delivered(first, who)}
        for who in ("university", "archive")
    )
    assert len(at_university & at_archive) < len(at_university) / 4
    world.ask(**{**json.loads(world.request.read_text()), "title": "Again", "delivery_format": "parquet"})
    later = world.run(engine, clock=lambda: NOW + timedelta(days=1))
    assert later.release_id != first.release_id
    assert {(row["diagnosis"], row["visits"], row["admitted"]) for row in delivered(later)} == at_university


def one_day(rows: list[dict[str, Any]]) -> None:
    day = date.fromisoformat(str(rows[3]["visit"])[:10]) + timedelta(days=1)
    rows[3]["visit"] = day if isinstance(rows[3]["visit"], date) else day.isoformat()


def one_stay(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["discharge"])
    row["discharge"] = type(row["discharge"])(77)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "column", "form"),
    [(one_day, "visit", "csv"), (one_day, "visit", "parquet"), (one_stay, "discharge", "csv")],
)
def test_a_date_exchanged_after_the_score_never_leaves(
    tmp_path: Path, engine: Any, monkeypatch: pytest.MonkeyPatch, *, change: Any, column: str, form: str
) -> None:
    world = make_dated_visits(tmp_path / "world", delivery_format=form)
    exchange_before_hashing(monkeypatch, world, lambda path: exchanged(path, change))
    with pytest.raises(StageFailed, match="not what its record says") as caught:
        world.run(engine)
    assert f"cells of {column}" in caught.value.got
    assert_nothing_left(world)


@pytest.mark.slow
def test_a_gate_on_known_dates_blocks_and_is_explained(tmp_path: Path, engine: Any, releasegate: Any) -> None:
    limit = {"measure": "dates.linked_share", "at_most": 0.09, "because": "as for numbers"}
    world = make_dated_visits(tmp_path / "world", policy={"gates": [*GATES[:1], limit]})
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.BLOCKED
    assert [gate.id for gate in record.gates if not gate.passed] == ["dates.linked_share"]
    told = releasegate("explain", str(outcome.release_id), "--workspace", world.workspace.root, "--json")
    assert told.document["exit_code"] == told.code == 0
    figures = told.document["recipients"][0]["figures"]
    assert figures["dates.linked_share"] == pytest.approx(record.further["dates"]["with_class"]["share"])


def test_copies_with_other_offsets_held_by_one_party_block(tmp_path: Path, engine: Any) -> None:
    world = make_dated_persons(
        tmp_path / "world",
        recipients=[recipient("university"), recipient("archive")],
        policy={"gates": GATES, "reassessment": {"together": [["university", "archive"]]}},
    )
    for record in world.run(engine).records:
        assert record.decision is Verdict.BLOCKED
        (gate,) = (one for one in record.gates if not one.passed)
        assert "shifted otherwise" in gate.because


def test_a_gate_on_dates_passes_where_none_is_shifted(world: World, engine: Any) -> None:
    world.ask(policy={"gates": [*GATES[:1], {"measure": "dates.linked_share", "at_most": 0, "because": "one policy"}]})
    (record,) = world.run(engine).records
    assert record.decision is Verdict.APPROVED, record.reasons
    assert "No date is shifted" in shown_of(record)


@pytest.mark.slow
def test_all_dates_may_count_from_a_birth_that_is_withheld(tmp_path: Path, engine: Any) -> None:
    """Ages in days leave in place of dates."""
    since = {"date": {"relative_to": "birth", "shift": None, "days": None}}
    world = make_dated_visits(tmp_path / "world", attributes={"visit": since, "discharge": since})
    (record,) = (outcome := world.run(engine)).records
    assert record.decision is Verdict.APPROVED, record.reasons
    fact = DatesFact.model_validate(record.further["dates"])
    assert (fact.shifted, fact.relative, fact.index, fact.offset) == ((), ("visit", "discharge"), "birth", None)
    found = Counter((row["visits"], row["visit"], row["discharge"]) for row in delivered(outcome))
    ages = (
        [
            str((date.fromisoformat(row[name]) - date.fromisoformat(row["birth"])).days) if row[name] else ""
            for name in ("visit", "discharge")
        ]
        for row in dated_visits()
    )
    assert found == Counter((row["visits"], *days) for row, days in zip(dated_visits(), ages, strict=True))
    assert "in days since birth: visit, discharge" in shown_of(record)


@pytest.mark.slow
def test_a_date_of_birth_may_leave_as_a_period_of_the_calendar(tmp_path: Path, engine: Any) -> None:
    """Where people are counted in the file, and beside dates that are shifted."""
    levels = {"minimum": "1960-01-01", "maximum": "2009-12-31", "levels": ["month", "quarter", "year"]}
    born = {"role": "quasi-identifier", "type": "date", "hierarchy": {"dates": levels}, "date": {"event": "birth"}}
    world = make_dated_persons(
        tmp_path / "world",
        attributes={"born": born},
        policy={"presence": "known", "gates": [*GATES, PROSECUTOR], "generalization": SMALL_CLASSES},
    )
    days = [f"{2023 - int(row['age'])}-{1 + place % 12:02d}-15" for place, row in enumerate(dated_persons())]
    rows = [{**row, "born": day} for row, day in zip(dated_persons(), days, strict=True)]
    world.write_rows(rows, tuple(rows[0]))
    document = json.loads(world.request.read_text())
    world.request.write_text(json.dumps({**document, "population": {"self": True, "source": "everybody"}}))
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    labels = {row["born"] for row in delivered(outcome)}
    forms = r"\*|\d{4}|\d{4}-Q[1-4]|\d{4}-\d\d|\d{4}-\d\d-15"
    assert all(re.fullmatch(forms, label) for label in labels)
    listed = (outcome.bundle / "delivery/university/hierarchies/born.csv").read_text().splitlines()
    assert listed[0] == "1960-01-01;1960-01;1960-Q1;1960;*"
    assert len(listed) == 18_263, "the calendar is public: 50 years with 13 leap days"


@pytest.mark.slow
def test_dates_are_assessed_alone_and_the_draft_proposes_to_shift_them(
    visits: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    world, outcome = visits
    told = releasegate("assess", "dates", world.request, "--json")
    assert told.code == 0, told.err
    (found,) = told.document["recipients"].values()
    decided = outcome.records[0].further["dates"]
    assert found["note"], "shifts are not those of the release"
    assert found["dates"] == decided["dates"]
    assert found["figures"]["dates.alone_share"] == pytest.approx(decided["by_dates"]["share"], rel=0.2)
    shown = releasegate("assess", "dates", world.request)
    assert "People whom true dates find" in shown.out
    assert "What the calendar reveals about the shift" in " ".join(shown.out.split())
    data = shutil.copy(world.data, tmp_path / "data.csv")
    assert releasegate("init", data, "--population", shutil.copy(world.population, tmp_path)).code == 0
    text = " ".join((tmp_path / "request.yaml").read_text().replace("#", " ").split())
    assert re.search(r"or insensitive with “date: {shift: person, days: 30}”[^{]* visit: {role: ", text), text


def failed_checks(world: World, releasegate: Any) -> dict[str, tuple[int, list[int]]]:
    told = releasegate("check", world.request, "--json")
    assert told.code == 3, told.out
    return {
        one["id"]: (one["failed"], told.document["positions"][one["id"]])
        for one in told.document["validation"]["checks"]
        if not one["passed"]
    }


@pytest.mark.slow
def test_impossible_orders_are_refused_with_counts_and_positions(tmp_path: Path, releasegate: Any, engine: Any) -> None:
    """A visit before birth, a discharge before birth with it, and two visits after death."""
    rows = [{**row, "death": "2025-06-01"} for row in dated_visits()]
    rows[4] |= {"birth": "2024-12-31", "visit": "2024-12-30", "discharge": ""}
    rows[7] |= {"visit": "2025-06-02"}
    rows[9] |= {"visit": "2025-07-02", "death": "1901-01-01", "discharge": ""}
    world = make_dated_visits(
        tmp_path / "world",
        attributes={"death": {"role": "direct identifier", "type": "date", "date": {"event": "death"}}},
    )
    world.write_rows(rows, (*VISIT_COLUMNS, *DATES, "death"))
    kind = "expect_column_values_to_be_between"
    assert failed_checks(world, releasegate) == {
        f"order/{kind}/visit": (1, [5]),
        f"order after/{kind}/visit": (2, [8, 10]),
        f"order/{kind}/death": (1, [10]),
    }
    (record,) = world.run(engine).records
    assert record.decision is Verdict.BLOCKED
    assert files_holding(world.workspace.root, "1901-01-01") == []


def test_an_age_that_contradicts_the_date_of_birth_is_refused(tmp_path: Path, releasegate: Any) -> None:
    """Ages are as of 2023-06-15, the last birthday before 2024: in 2024 they fit from no day on, or from 15 June on."""
    rows = [dict(row) for row in dated_visits()]
    for row in rows:
        born = date.fromisoformat(row["birth"])
        visit = date.fromisoformat(row["visit"])
        row["old"] = str(visit.year - born.year - ((visit.month, visit.day) < (born.month, born.day)))
    rows[3]["old"] = str(int(rows[3]["old"]) + 1)
    rows[6]["old"] = ""
    rows[8] |= {"birth": "1930-01-01", "old": "90", "note": "of 94 years; 90 stands for all from 90 on"}
    world = make_dated_visits(
        tmp_path / "world",
        attributes={
            "visit": {"date": {"shift": "person", "days": 30, "age": "old"}},
            "old": {"role": "direct identifier", "type": "integer", "of": "row"},
        },
    )
    world.write_rows(rows, (*VISIT_COLUMNS, *DATES, "old"))
    assert failed_checks(world, releasegate) == {
        "age on the day/expect_column_values_to_be_between/visit": (1, [4]),
    }


def test_times_of_their_own_are_refused(tmp_path: Path, releasegate: Any) -> None:
    rows = [
        {**row, "admitted": row["admitted"].replace("00:00:00", "08:15:00" if place == 5 else "00:00:00")}
        for place, row in enumerate(dated_persons())
    ]
    world = make_dated_persons(tmp_path / "world")
    world.write_rows(rows, tuple(rows[0]))
    told = releasegate("check", world.request, "--json")
    assert failed_checks(world, releasegate) == {"one form/expect_column_values_to_be_between/admitted": (1, [6])}
    assert "08:15" not in told.out + told.err
