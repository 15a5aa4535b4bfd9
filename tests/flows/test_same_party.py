"""Copies that go to one party, one release after the other: at release they are judged as re-assessment does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import flows.gate.release
from flows.gate.outcome import Outcome
from flows.reassessment.run import Reassessed, reassess
from flows.releases.cases import ReleaseAction
from tasks.core.errors import StageFailed
from tasks.decision.gates import EARLIER_COPIES
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.remedies import remedies
from tasks.reassessment.record import TodaysVerdict
from tests.support.acting import cast_vote
from tests.support.examples import quick_and_slow
from tests.support.longitudinal_world import COLUMNS as VISIT_COLUMNS
from tests.support.longitudinal_world import PERSON, visit_rows
from tests.support.world import COLUMNS, NOW, WHOLE_CELLS, ZIPS, Row, World, drawn_rows, recipient

INFORMED = "transparent.maximum_risk"
GATES = [{"measure": INFORMED, "at_most": 0.1, "because": "a small world"}]
FINE = {"benefit": 1200, "loss": 300, "cost": 8}
REVIEWED = {"review": {"required": 1, "reviewers": ["R. Reviewer"]}}


def weighted(**weights: float) -> dict[str, Any]:
    """Changes of a request after which the game keeps other attributes."""
    return {"attributes": {name: {"weight": weight} for name, weight in weights.items()}}


AGES = weighted(age=1, sex=0.01, zip=0.01)
AREAS = weighted(age=0.01, sex=0.01, zip=1)


def released(world: World, engine: Any, day: int = 0, **changes: Any) -> Outcome:
    world.ask(**{"title": f"Day {day}"} | changes)
    return world.run(engine, clock=lambda: NOW + timedelta(days=day))


def record_of(outcome: Outcome) -> DecisionRecord:
    (record,) = outcome.records
    return record


def gate_of(record: DecisionRecord, name: str) -> GateResult:
    return next(gate for gate in record.gates if gate.id == name)


def without(*positions: int) -> list[Row]:
    return [row for place, row in enumerate(drawn_rows()) if place not in positions]


def again(world: World, *outcomes: Outcome) -> list[Reassessed]:
    at = NOW + timedelta(days=9)
    return [found for one in outcomes for found in reassess(one.release_id, world.workspace, clock=lambda: at)]


def assert_no_gate_closed(found: list[Reassessed]) -> None:
    """The first file is not there any more, so that not all of it can be measured again."""
    assert [one.verdict for one in found] == [TodaysVerdict.CANNOT, TodaysVerdict.HOLDS]


def test_a_first_copy_finds_none_before_it(world: World, engine: Any) -> None:
    record = record_of(released(world, engine))
    assert record.earlier is not None
    assert record.earlier.copies == ()
    assert EARLIER_COPIES not in {gate.id for gate in record.gates}


def test_one_file_twice_under_other_weights_is_judged_together(world: World, engine: Any) -> None:
    """Each copy by itself is far below the threshold; side by side they single people out."""
    first = released(world, engine, **AGES)
    record = record_of(released(world, engine, 1, **AREAS))
    assert (record_of(first).decision, record.decision) == (Verdict.APPROVED, Verdict.BLOCKED)
    gate = gate_of(record, INFORMED)
    assert gate.alone is not None
    assert gate.measured is not None
    assert gate.alone < gate.threshold < gate.measured
    assert record.earlier is not None
    assert [(one.release_id, one.shares_people, one.cannot) for one in record.earlier.copies] == [
        (first.release_id, True, "")
    ]


@pytest.mark.slow
def test_the_same_copy_again_is_no_worse(world: World, engine: Any) -> None:
    outcomes = [released(world, engine, day) for day in range(2)]
    assert [record_of(one).decision for one in outcomes] == [Verdict.APPROVED] * 2
    assert gate_of(record_of(outcomes[1]), EARLIER_COPIES).passed
    assert {one.verdict for one in again(world, *outcomes)} == {TodaysVerdict.HOLDS}


@pytest.mark.parametrize("later", quick_and_slow({"removed"}, ["removed", "added"]))
def test_one_person_withdrawn_or_added_is_not_shown_by_comparing(world: World, engine: Any, later: str) -> None:
    files = [drawn_rows(), without(5)]
    for day, rows in enumerate(files if later == "removed" else reversed(files)):
        world.write_rows(list(rows))
        record = record_of(released(world, engine, day))
    assert record.decision is Verdict.BLOCKED
    gate = gate_of(record, EARLIER_COPIES)
    assert not gate.passed
    assert gate.because.startswith(
        "A few people, fewer than 11, are in one of the copies and not in another: they were"
    )
    assert record.earlier is not None
    assert (record.earlier.few_changed, record.earlier.least_class) == (True, 11)


def corrected(rows: list[Row], *positions: int) -> list[Row]:
    """The same rows, some with another diagnosis."""
    return [row | ({"diagnosis": "Corrected"} if place in positions else {}) for place, row in enumerate(rows)]


@pytest.mark.parametrize("form", quick_and_slow({"csv"}, ["csv", "parquet", "rows of people", "beside noise"]))
def test_one_corrected_value_is_not_shown_by_comparing(world: World, engine: Any, form: str) -> None:
    """The files would differ in one diagnosis; noise, which is another in each, does not hide whose class has it."""
    terms: dict[str, Any] = {"delivery_format": "parquet"} if form == "parquet" else {}
    rows, columns = list(drawn_rows()), COLUMNS
    if form == "rows of people":
        rows, columns, terms = visit_rows(), VISIT_COLUMNS, PERSON
    if form == "beside noise":
        terms = {"masking": [{"attributes": ["visits"], "method": "additive-noise", "noise": 0.5}]}
    records = []
    for day, some in enumerate([rows, rows, corrected(rows, 5)]):
        world.write_rows(some, columns)
        records.append(record_of(released(world, engine, day, **terms)))
    assert [one.decision for one in records] == [Verdict.APPROVED, Verdict.APPROVED, Verdict.BLOCKED]
    same, other = (one.earlier for one in records[1:])
    assert same is not None
    assert other is not None
    assert (same.few_changed, same.few_revised) == (False, False)
    assert (other.few_changed, other.few_revised, other.regrouped) == (False, True, False)
    gate = gate_of(records[2], EARLIER_COPIES)
    assert gate.because.startswith("Released values of a few people, fewer than 11, differ between the copies.")


@pytest.mark.parametrize("others", quick_and_slow({False}, [False, True]))
def test_people_under_other_numbers_are_joined_by_their_values(world: World, engine: Any, others: bool) -> None:
    """Both copies have diagnosis, visits and note of the same people; of other people the same values tell nothing."""
    released(world, engine)
    rows = [row | {"record_id": row["record_id"].replace("-", "-9")} for row in reversed(drawn_rows())]
    if others:
        rows = [
            row | {"diagnosis": rows[place - 1]["diagnosis"], "visits": rows[place - 7]["visits"], "note": ""}
            for place, row in enumerate(rows)
        ]
    world.write_rows(rows)
    record = record_of(released(world, engine, 1))
    assert record.earlier is not None
    (copy,) = record.earlier.copies
    assert (record.decision, copy.shares_people) == ("approved" if others else "blocked", False if others else None)
    assert ("values of diagnosis, visits, note join" in gate_of(record, EARLIER_COPIES).because) != others


@pytest.mark.slow
def test_a_reason_for_a_corrected_value_is_for_reviewers(world: World, engine: Any) -> None:
    first = released(world, engine, policy=REVIEWED)
    cast_vote(ReleaseAction(first.release_id, world.workspace, "R. Reviewer", "Fine.", clock=lambda: NOW), "approve")
    world.write_rows(corrected(list(drawn_rows()), 5))
    reason = {"release": first.release_id, "because": "A diagnosis was wrong."}
    assert record_of(released(world, engine, 1, policy=REVIEWED)).decision == "blocked"
    assert record_of(released(world, engine, 2, policy=REVIEWED, changes_since=reason)).decision == "awaiting review"


@pytest.mark.slow
def test_corrected_people_are_judged_as_added_ones_are(world: World, engine: Any) -> None:
    """Twenty are enough by themselves; where presence is known they hide among those of their cell alone."""
    rows, known = list(drawn_rows()), {"presence": "known"}
    for day, (policy, few) in enumerate((({}, Verdict.APPROVED), (known, Verdict.BLOCKED))):
        world.write_rows(rows)
        released(world, engine, 2 * day, policy=policy, recipients=[recipient(f"university-{day}")])
        world.write_rows(corrected(rows, *range(20)))
        record = record_of(
            released(world, engine, 2 * day + 1, policy=policy, recipients=[recipient(f"university-{day}")])
        )
        assert record.decision is few
        assert record.earlier is not None
        assert (record.earlier.few_revised, record.earlier.regrouped) == (False, False)
        if few is Verdict.BLOCKED:
            assert "groups are those of earlier copies held by the same party, or wider, but" in remedies(record)[0]


@pytest.mark.slow
def test_as_many_people_as_the_least_class_may_be_withdrawn(world: World, engine: Any) -> None:
    first = released(world, engine)
    world.write_rows(without(*range(11)))
    second = released(world, engine, 1)
    assert record_of(second).decision is Verdict.APPROVED
    assert_no_gate_closed(again(world, first, second))


@pytest.mark.slow
def test_a_reason_opens_the_gate_for_reviewers_alone(world: World, engine: Any) -> None:
    first = released(world, engine, policy=REVIEWED)
    cast_vote(ReleaseAction(first.release_id, world.workspace, "R. Reviewer", "Fine.", clock=lambda: NOW), "approve")
    world.write_rows(without(5))
    reason = {"release": first.release_id, "because": "One consent was withdrawn."}
    unreviewed = record_of(released(world, engine, 1, changes_since=reason))
    assert "requires no reviewer for the reason" in gate_of(unreviewed, EARLIER_COPIES).because
    elsewhere = record_of(released(world, engine, 2, policy=REVIEWED, changes_since={**reason, "release": "0" * 64}))
    assert "not the last earlier copy" in gate_of(elsewhere, EARLIER_COPIES).because
    outcome = released(world, engine, 3, policy=REVIEWED, changes_since=reason)
    record = record_of(outcome)
    assert [one.decision for one in (unreviewed, elsewhere, record)] == ["blocked", "blocked", "awaiting review"]
    at = NOW + timedelta(days=3)
    cast_vote(ReleaseAction(outcome.release_id, world.workspace, "R. Reviewer", "Fine.", clock=lambda: at), "approve")
    assert_no_gate_closed(again(world, first, outcome))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "policy"),
    [
        (recipient("faculty", organisation="the UNIVERSITY."), {}),
        (recipient("institute"), {"reassessment": {"together": [["institute", "university"]]}}),
        (recipient("institute", agreement=recipient("university")["agreement"]), {}),
    ],
    ids=["same organisation", "associate", "same agreement"],
)
def test_copies_of_one_organisation_or_agreement_or_of_associates_are_held_by_one_party(
    world: World, engine: Any, second: dict[str, Any], policy: dict[str, Any]
) -> None:
    released(world, engine, **AGES)
    record = record_of(released(world, engine, 1, **AREAS, recipients=[second], policy=policy))
    assert record.decision is Verdict.BLOCKED
    assert record.earlier is not None
    assert [one.recipient for one in record.earlier.copies] == ["university"]


def test_a_part_of_an_organisation_under_an_abbreviation_is_of_its_party(world: World, engine: Any) -> None:
    """Subtracting the files would show the one person who was withdrawn."""
    released(world, engine, recipients=[recipient("university", organisation="Regional University")])
    world.write_rows(without(5))
    part = recipient("epidemiology", organisation="Regional Univ. Epidemiology Dept")
    record = record_of(released(world, engine, 1, recipients=[part]))
    assert not gate_of(record, EARLIER_COPIES).passed
    assert any("university and epidemiology are taken for one party" in told for told in remedies(record))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("organisation", "together", "party"),
    [
        pytest.param("The university", [], True, marks=pytest.mark.slow),
        ("Elsewhere", [["faculty", "university"]], True),
        ("Elsewhere", [], False),
    ],
)
def test_copies_of_one_release_held_by_one_party_are_judged_together(
    world: World, engine: Any, organisation: str, together: list[list[str]], party: bool
) -> None:
    """Other stakes give other cells; whoever gets both copies intersects them."""
    second = recipient("faculty", organisation=organisation, stakes=FINE)
    world.ask(
        recipients=[recipient("university"), second], policy={"gates": GATES, "reassessment": {"together": together}}
    )
    outcome = world.run(engine)
    assert [record.decision for record in outcome.records] == ["blocked" if party else "approved"] * 2
    for record, other in zip(outcome.records, ("faculty", "university"), strict=True):
        assert record.earlier is not None
        assert record.earlier.siblings == ((other,) if party else ())
        assert (gate_of(record, INFORMED).alone is not None) == party


@pytest.mark.slow
def test_people_withdrawn_between_copies_that_come_together_later(world: World, engine: Any) -> None:
    """Nobody shares when they are released; under a policy that says so, re-assessment finds the one who is missing."""
    outcomes = [released(world, engine)]
    world.write_rows(without(5))
    outcomes.append(released(world, engine, 1, recipients=[recipient("institute")]))
    assert [record_of(one).decision for one in outcomes] == [Verdict.APPROVED] * 2
    assert_no_gate_closed(again(world, *outcomes))
    world.ask(recipients=[recipient("institute")], policy={"reassessment": {"together": [["institute", "university"]]}})
    for found in again(world, *outcomes):
        assert found.verdict is TodaysVerdict.BLOCKED
        assert any("A few people, fewer than 11," in reason for reason in found.because)


@pytest.mark.slow
def test_a_copy_in_another_hand_is_not_counted(world: World, engine: Any) -> None:
    released(world, engine, **AGES)
    record = record_of(released(world, engine, 1, **AREAS, recipients=[recipient("institute")]))
    assert record.decision is Verdict.APPROVED
    assert record.earlier is not None
    assert record.earlier.copies == ()


@pytest.mark.slow
@pytest.mark.parametrize("lost", quick_and_slow({"kept"}, ["kept", "delivered", "record"]))
def test_an_earlier_copy_that_cannot_be_read_blocks(world: World, engine: Any, lost: str) -> None:
    first = released(world, engine)
    bundle = world.workspace.bundle(first.release_id)
    path = {
        "kept": world.workspace.kept(first.release_id, "university"),
        "delivered": bundle / "delivery" / "university" / "data.csv",
        "record": bundle / "decision" / "university.json",
    }[lost]
    path.unlink()
    record = record_of(released(world, engine, 1))
    assert record.decision is Verdict.BLOCKED
    assert record.earlier is not None
    (copy,) = record.earlier.copies
    assert copy.cannot
    assert copy.cannot in gate_of(record, EARLIER_COPIES).because


def without_areas(world: World, engine: Any, **terms: Any) -> Outcome:
    """A release that leaves out a quasi-identifier of the one before."""
    document = json.loads(world.ask(**{"title": "Day 1"} | terms).read_text())
    document["attributes"]["zip"] = {"role": "withheld"}
    world.request.write_text(json.dumps(document))
    return world.run(engine, clock=lambda: NOW + timedelta(days=1))


def count_more_people(world: World) -> None:
    """A new population, by age and sex alone, with one more person of each."""
    counts = pd.read_csv(world.population).groupby(["age", "sex"], as_index=False)["count"].sum()
    counts.assign(count=counts["count"] + 1).to_csv(world.population, index=False)


def test_a_copy_without_a_quasi_identifier_of_an_earlier_one_says_what_it_needs(world: World, engine: Any) -> None:
    """Other people are counted than then, so that nobody knows how many of an age live in an area."""
    first = released(world, engine)
    count_more_people(world)
    gate = gate_of(record_of(without_areas(world, engine)), EARLIER_COPIES)
    assert gate.because.startswith(
        f"Release {first.release_id[:12]} to university: that copy has the quasi-identifier zip, which this one has "
        "not, and no population was counted by the quasi-identifiers of both, so that the two cannot be compared; to "
        "do: declare zip here too, with the hierarchy of that request; or take its population and no further"
    )
    assert f"releasegate revoke {first.release_id[:12]} --recipient university" in gate.because


@pytest.mark.slow
def test_without_a_quasi_identifier_the_others_are_judged_by_the_earlier_population(world: World, engine: Any) -> None:
    """Without areas ages are finer, so that age and area of both copies single people out."""
    first = released(world, engine, **AREAS)
    record = record_of(without_areas(world, engine))
    assert record.decision is Verdict.BLOCKED
    assert record.earlier is not None
    assert [(one.release_id, one.cannot) for one in record.earlier.judged] == [(first.release_id, "")]
    gate = gate_of(record, INFORMED)
    assert gate.alone is not None
    assert gate.measured is not None
    assert gate.alone < gate.threshold < gate.measured
    assert remedies(record)[0].startswith("This copy alone would pass: its groups differ from those of earlier copies")


def areas_for_nobody(world: World, engine: Any, **terms: Any) -> Outcome:
    """A release in which nobody's area is shown: a single area is too small at any age."""
    areas = {"role": "quasi-identifier", "weight": 0.001, "hierarchy": {"groups": {"levels": [{"*": [*ZIPS]}]}}}
    document = json.loads(world.ask(title="Day 0", **terms).read_text())
    document["attributes"]["zip"] = areas
    world.request.write_text(json.dumps(document))
    outcome = world.run(engine, clock=lambda: NOW)
    delivered = world.workspace.bundle(outcome.release_id) / "delivery" / "university" / "data.csv"
    assert set(pd.read_csv(delivered)["zip"]) == {"*"}
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("people", ["the same", "others"])
def test_a_smaller_revision_passes_where_nothing_else_gets_finer(world: World, engine: Any, people: str) -> None:
    """The default method's rule rests on areas that no record shows; a partition's does not, whoever is counted."""
    terms = {"recipients": [recipient("university", stakes=FINE | {"cost": 2.6})]}
    if people == "others":
        terms |= {"policy": WHOLE_CELLS}
    first = areas_for_nobody(world, engine, **terms)
    if people == "others":
        count_more_people(world)
    second = without_areas(world, engine, **terms)
    record = record_of(second)
    assert (record_of(first).decision, record.decision) == (Verdict.APPROVED, Verdict.APPROVED)
    assert record.earlier is not None
    assert [(one.release_id, one.cannot) for one in record.earlier.judged] == [(first.release_id, "")]
    if people == "the same":
        assert {one.verdict for one in again(world, first, second)} == {TodaysVerdict.HOLDS}


@pytest.mark.slow
def test_of_two_at_once_to_one_party_the_second_is_judged_beside_the_first(world: World, engine: Any) -> None:
    """The other leaves while this one is being made, so that it was not judged with it at first."""
    outcomes: list[Outcome] = []

    @contextmanager
    def slow(home: Path, results: Path) -> Iterator[Any]:
        with engine(home, results) as take:
            yield take
            if not outcomes:
                outcomes.append(released(world, engine, **AREAS | {"title": "Another"}))

    record = record_of(released(world, slow, **AGES))
    assert record_of(outcomes[0]).decision is Verdict.APPROVED
    assert record.earlier is not None
    assert [one.release_id for one in record.earlier.copies] == [outcomes[0].release_id]
    assert record.decision is Verdict.BLOCKED


@pytest.mark.slow
def test_a_release_gives_up_after_some_rounds(world: World, engine: Any) -> None:
    @contextmanager
    def slow(home: Path, results: Path) -> Iterator[Any]:
        with engine(home, results) as take:
            yield take
            released(world, engine, title="Another")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.release, "_MOST_ROUNDS", 1)
        with pytest.raises(StageFailed, match="another copy was delivered to the same party in the meantime"):
            released(world, slow, **AGES)


@pytest.mark.slow
@pytest.mark.parametrize("gone", [False, True])
def test_people_who_are_not_in_this_copy_tell_nothing(world: World, engine: Any, gone: bool) -> None:
    """Unless the file is gone, so that nobody can tell whether its people are others."""
    world.write_rows(list(drawn_rows()[:120]))
    first = released(world, engine, **AGES)
    world.write_rows(list(drawn_rows()[120:]))
    if gone:
        world.workspace.bundle(first.release_id).joinpath("delivery/university/data.csv").unlink()
    record = record_of(released(world, engine, 1, **AREAS))
    assert record.decision is (Verdict.BLOCKED if gone else Verdict.APPROVED)
    assert record.earlier is not None
    assert [one.shares_people for one in record.earlier.copies] == [None if gone else False]
