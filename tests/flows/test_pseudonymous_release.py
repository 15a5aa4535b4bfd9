"""Releases whose copies have pseudonyms in place of identifiers: fresh, of a project, beside decoys, and refused."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tasks.delivery.write as writing
from flows.gate.outcome import Outcome
from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import reassess
from flows.workspace.folders import open_workspace
from tasks.core.errors import StageFailed, TamperingFound
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decoys.vault import Vault
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.reassessment.record import TodaysVerdict
from tests.support import decoyed_world
from tests.support.decoyed_world import POLICY, make_decoyed_world, the_same_decoys, with_decoys
from tests.support.examples import quick_and_slow
from tests.support.search import files_holding, holds
from tests.support.world import ID_MARK, NOW, Row, World, drawn_rows, make_world, recipient, write_table

AS_COLLECTED = ("visits", "note", "diagnosis")


def delivered(outcome: Outcome, name: str = "university") -> pd.DataFrame:
    frame = pd.read_csv(outcome.bundle / "delivery" / name / "data.csv", dtype=str, keep_default_na=False)
    return frame.assign(note=frame["note"].str.removeprefix("'"))


def ask(world: World, *names: str, terms: dict[str, Any] | None = None, **changes: Any) -> None:
    identifier = {"role": "pseudonym"} | ({"pseudonym": terms} if terms else {})
    world.ask(
        **{
            "attributes": {"record_id": identifier},
            "recipients": [recipient(name) for name in names or ("university",)],
        }
        | changes
    )


def released(world: World, engine: Any, day: int = 0) -> Outcome:
    outcome = world.run(engine, clock=lambda: NOW + timedelta(days=day))
    assert {one.decision for one in outcome.records} == {Verdict.APPROVED}, outcome.records[0].reasons
    return outcome


def entries(world: World) -> list[Any]:
    with Ledger.open(world.workspace.ledger, create=False) as ledger:
        return list(ledger.entries(event=Event.TRACED))


@pytest.fixture(scope="module")
def two(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:
    """One release to two recipients, with codes that are fresh in it."""
    world = make_world(tmp_path_factory.mktemp("pseudonyms") / "world")
    ask(world, "university", "registry", terms={"format": "code"})
    return world, released(world, engine)


def test_two_recipients_have_no_pseudonym_in_common(two: tuple[World, Outcome]) -> None:
    copies = [set(delivered(two[1], name)["record_id"]) for name in ("university", "registry")]
    assert [len(one) for one in copies] == [240, 240]
    assert not copies[0] & copies[1]
    assert all(len(one) == 16 and one[0] == "P" for copy in copies for one in copy)


def test_pseudonyms_lead_back_to_the_records_that_they_stand_for(
    two: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    """A leak of ten rows names the recipient; the file for the responder has the identifier of each row."""
    world, outcome = two
    leak, found = tmp_path / "leak.csv", tmp_path / "people.csv"
    delivered(outcome, "registry").head(10).to_csv(leak, index=False)
    line = ("identify", outcome.release_id[:8], leak, "record_id", "--workspace", world.workspace.root)
    told = releasegate(*line, "--to", found, "--json")
    assert told.code == 0, told.err
    assert told.document["named"] == ["registry"]
    assert told.document["recipients"] == [{"recipient": "registry", "found": 10, "alone": 10, "decoys": 0}]
    assert told.document["incident"]["unknown"] == 0
    assert found.stat().st_mode & 0o777 == 0o600
    people = pd.read_csv(found, dtype=str)
    by_id = {row["record_id"]: row for row in drawn_rows()}
    rows = pd.read_csv(leak, dtype=str, keep_default_na=False).set_index("record_id")
    assert list(people["pseudonym"]) == list(rows.index)
    for pseudonym, identifier in zip(people["pseudonym"], people["identifier"], strict=True):
        assert [rows.loc[pseudonym, name] for name in AS_COLLECTED] == [
            by_id[identifier][name] for name in AS_COLLECTED
        ]
    entry = entries(world)[-1]
    assert (entry.body["verdict"], entry.body["named"]) == ("pseudonyms, identifiers written", ["registry"])
    again = releasegate(*line, "--to", found)
    assert again.code == 2
    assert "identifiers cannot be written" in again.err


def test_the_answer_shows_neither_pseudonyms_nor_identifiers(
    two: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    world, outcome = two
    leak = tmp_path / "leak.csv"
    frame = delivered(outcome).head(3)
    pd.concat([frame, frame.assign(record_id="P000000000000000").head(1)]).to_csv(leak, index=False)
    told = releasegate("identify", outcome.bundle, leak, "record_id", "--workspace", world.workspace.root)
    assert "the copy of university (3 pseudonyms), which no other copy has" in told.out
    assert "1 of 4 pseudonyms are in no copy" in told.out
    assert not any(one in told.out + told.err for one in (ID_MARK, *frame["record_id"]))
    assert entries(world)[-1].body["verdict"] == "pseudonyms"


@pytest.mark.parametrize(
    ("column", "said"), [("note", "no copy of the release has pseudonyms in this column"), ("record_id", "once")]
)
def test_what_cannot_be_looked_up_is_refused(
    column: str, said: str, two: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    leak = tmp_path / "leak.csv"
    leak.write_text("sex\nF\n")
    told = releasegate("identify", two[1].bundle, leak, column, "--workspace", two[0].workspace.root)
    assert told.code == 2
    assert said in told.err


def test_a_crosswalk_that_was_exchanged_is_refused(
    two: tuple[World, Outcome], releasegate: Any, tmp_path: Path
) -> None:
    world, outcome = two
    vault = Vault.beside(world.workspace.key_file)
    own, other = (vault.crosswalk_place(outcome.release_id, name) for name in ("university", "registry"))
    leak, before = tmp_path / "leak.csv", own.read_bytes()
    delivered(outcome).head(1).to_csv(leak, index=False)
    own.write_bytes(other.read_bytes())
    told = releasegate("identify", outcome.bundle, leak, "record_id", "--workspace", world.workspace.root)
    own.write_bytes(before)
    assert told.code == 3
    assert "the crosswalk of pseudonyms is not the one that the record commits to" in told.err
    assert entries(world)[-1].body["verdict"] == "refused"


def test_identifiers_are_nowhere_in_the_workspace_and_the_copy_is_verified(
    two: tuple[World, Outcome], releasegate: Any
) -> None:
    world, outcome = two
    assert files_holding(world.workspace.root, ID_MARK) == []
    assert releasegate("verify", outcome.bundle).code == 0
    dictionary = json.loads((outcome.bundle / "delivery" / "registry" / "dictionary.json").read_bytes())
    assert dictionary["columns"][0] == {
        "name": "record_id",
        "type": "text",
        "description": "",
        "treatment": "pseudonyms, of this release alone",
    }


@pytest.mark.slow
def test_the_copy_is_assessed_again_from_its_bytes(two: tuple[World, Outcome]) -> None:
    world, outcome = two
    found = reassess(outcome.release_id, world.workspace, TodaysFiles())
    assert [(one.verdict, one.changed) for one in found] == [(TodaysVerdict.HOLDS, False)] * 2


def test_the_record_states_them(two: tuple[World, Outcome]) -> None:
    record = two[1].records[0]
    assert record.pseudonyms is not None
    (fact,) = record.pseudonyms.columns
    assert (fact.column, fact.format, fact.project, fact.repeats) == ("record_id", "code", None, False)
    (field,) = (one for one in record.fields if one.role == "pseudonym")
    assert (field.type, field.treatment) == ("text", "replaced by a pseudonym (code, fresh in this release)")
    assert record.dataset.columns_out == 7


@pytest.mark.slow
def test_numbers_from_one_name_nobody_and_the_order_of_rows_tells_nothing_of_them(
    world: World, engine: Any, releasegate: Any, tmp_path: Path
) -> None:
    ask(world, "university", "registry", terms={"format": "integer"})
    outcome, leak = released(world, engine), tmp_path / "leak.csv"
    numbers = delivered(outcome)["record_id"].astype(int)
    assert sorted(numbers) == list(range(1, 241))
    # 240 independent ranks: a correlation beyond 0.35 has a chance of about 1 in 10 million.
    assert abs(numbers.corr(pd.Series(range(240)))) < 0.35
    delivered(outcome).to_csv(leak, index=False)
    told = releasegate("identify", outcome.bundle, leak, "record_id", "--workspace", world.workspace.root, "--json")
    assert (told.document["verdict"], told.document["named"]) == ("nothing", [])
    assert [one["found"] for one in told.document["recipients"]] == [240, 240]


@pytest.mark.slow
@pytest.mark.parametrize("project", ["cohort", pytest.param(None, marks=pytest.mark.slow)])
def test_an_update_is_joined_within_a_project_and_not_otherwise(project: str | None, world: World, engine: Any) -> None:
    """Twenty people are new in the second file; whoever is in both has one pseudonym in both, or none in common."""
    terms = {"project": project} if project else {}
    world.write_rows(drawn_rows()[:220])
    ask(world, terms=terms)
    first = delivered(released(world, engine))
    world.write_rows(drawn_rows())
    ask(world, terms=terms, title="Second")
    second = delivered(released(world, engine, 1))
    joined = first.merge(second, on="record_id", suffixes=("", " later"))
    assert len(joined) == (220 if project else 0)
    for name in AS_COLLECTED if project else ():
        assert list(joined[name]) == list(joined[f"{name} later"])


@pytest.mark.slow
def test_two_copies_of_a_project_are_judged_by_the_link_that_pseudonyms_give(world: World, engine: Any) -> None:
    """The recipient joins both by the pseudonym and knows each person by both cells: no worse is left than was judged.

    The figure is counted here from the delivered file and the population: of each record, the people in its cells.
    """
    weights = ({"age": 1, "sex": 0.01, "zip": 0.01}, {"age": 0.01, "sex": 0.01, "zip": 1})
    records, copies = list[DecisionRecord](), list[pd.DataFrame]()
    for day, given in enumerate(weights):
        attributes = {name: {"weight": weight} for name, weight in given.items()}
        attributes["record_id"] = {"role": "pseudonym", "pseudonym": {"project": "cohort"}}
        measures = ("journalist.maximum_risk", "transparent.maximum_risk")
        gates = [{"measure": measure, "at_most": 1, "because": "a small world"} for measure in measures]
        ask(world, title=f"Day {day}", attributes=attributes, policy={"gates": gates})
        outcome = released(world, engine, day)
        records.append(outcome.records[0])
        copies.append(delivered(outcome))
    both = copies[0].merge(copies[1], on="record_id", suffixes=("", " later"))
    people = pd.read_csv(world.population, dtype=str)
    counts = people.pop("count").astype(int)
    columns = [f"{name}{later}" for name in people for later in ("", " later")]
    held = {
        (name, label): people[name.removesuffix(" later")].map(lambda value, label=label: _holds(label, value))
        for name in columns
        for label in both[name].unique()
    }
    cells = both[columns].drop_duplicates().to_dict("records")
    least = min(counts[pd.concat([held[item] for item in row.items()], axis=1).all(axis=1)].sum() for row in cells)
    gate = next(one for one in records[1].gates if one.id == "journalist.maximum_risk")
    assert gate.measured == pytest.approx(1 / least)
    assert gate.alone is not None
    assert gate.alone < gate.measured


def _holds(label: str, value: str) -> bool:
    """Whether a released group of the world's hierarchies holds a value."""
    if label == value or set(label) == {"*"}:
        return True
    if label.endswith("**"):
        return value.startswith(label[:3])
    if "-" in label:
        low, high = label.split("-")
        return value.isdigit() and int(low) <= int(value) <= int(high)
    return label.endswith("s") and value.isdigit() and int(value) // 10 * 10 == int(label[:-1])


@pytest.mark.slow
def test_another_key_of_the_workspace_ends_a_project(world: World, engine: Any) -> None:
    """The recipient could not join what it makes: the workspace notices, and else the earlier copy cannot be opened."""
    ask(world, terms={"project": "cohort"})
    released(world, engine)
    world.workspace.key_file.write_bytes(bytes(32))
    ask(world, terms={"project": "cohort"}, title="Second")
    with pytest.raises(TamperingFound, match="note of the ledger's head"):
        world.run(engine)
    (world.workspace.private / "ledger-head" / "noted").unlink()
    (record,) = world.run(engine, clock=lambda: NOW + timedelta(days=1)).records
    assert record.decision is Verdict.BLOCKED
    assert record.earlier is not None
    assert all(one.cannot for one in record.earlier.copies)


@pytest.mark.slow
def test_what_links_records_of_people_blocks_until_somebody_answers_for_it(world: World, engine: Any) -> None:
    """Three records a household: risks are of single records, so that no gate has judged what the link tells."""
    rows = [row | {"household": f"H{place // 3}"} for place, row in enumerate(drawn_rows())]
    write_table(world.data, rows, (*rows[0],))
    column = {"role": "pseudonym"}
    world.ask(attributes={"household": column})
    (blocked,) = world.run(engine).records
    assert blocked.decision is Verdict.BLOCKED
    assert any(
        one.startswith("household links records, whose risks are measured one by one: 33%") for one in blocked.reasons
    )
    excuse = {"by": "dana.whitfield", "because": "Households were drawn at random for this test."}
    world.ask(attributes={"household": column | {"excused": excuse}})
    frame = delivered(released(world, engine))
    assert sorted(frame.groupby("household").size()) == [3] * 80


@pytest.mark.slow
def test_decoys_have_pseudonyms_like_the_others(tmp_path: Path, engine: Any, releasegate: Any) -> None:
    world = make_decoyed_world(tmp_path / "world")
    identifier = {"role": "pseudonym", "pseudonym": {"format": "integer", "project": "cohort"}, "type": "integer"}
    rows: list[Row] = [
        row | {"record_id": row["record_id"][-4:].lstrip("0") or "0"} for row in decoyed_world.drawn_rows()
    ]
    write_table(world.data, rows, (*rows[0],))
    world.ask(
        attributes={"record_id": identifier}, recipients=[with_decoys("clinic"), with_decoys("registry")], policy=POLICY
    )
    with the_same_decoys():
        outcome = released(world, engine)
    numbers = {name: delivered(outcome, name)["record_id"] for name in ("clinic", "registry")}
    assert all(one.is_unique and (one.str.len() <= 15).all() for one in numbers.values())
    assert not set(numbers["clinic"]) & set(numbers["registry"])
    leak, found = tmp_path / "leak.csv", tmp_path / "people.csv"
    delivered(outcome, "clinic").to_csv(leak, index=False)
    told = releasegate(
        "identify", outcome.bundle, leak, "record_id", "--workspace", world.workspace.root, "--to", found, "--json"
    )
    (hits,) = told.document["recipients"]
    manifest = Vault.beside(world.workspace.key_file).open(outcome.release_id)
    decoys = manifest.records_of("clinic")
    assert hits["decoys"] == len(decoys) > 0
    people = pd.read_csv(found, dtype=str, keep_default_na=False)
    assert set(people["identifier"]) - {""} <= {row["record_id"] for row in rows}
    assert (people["identifier"] == "").sum() == (people["decoy"] == "1").sum() == len(decoys)
    # Real and decoy numbers are of one range: neither is seen to come from small originals.
    for flag in ("0", "1"):
        assert people["pseudonym"][people["decoy"] == flag].astype(float).max() > 1e14


def test_decoys_beside_identifiers_that_repeat_block_everybody(tmp_path: Path, engine: Any) -> None:
    world = make_decoyed_world(tmp_path / "world")
    rows = [row | {"household": f"H{place // 3}"} for place, row in enumerate(decoyed_world.drawn_rows())]
    write_table(world.data, rows, (*rows[0],))
    excuse = {"by": "dana.whitfield", "because": "A test."}
    world.ask(
        attributes={"household": {"role": "pseudonym", "excused": excuse}},
        recipients=[with_decoys("clinic"), recipient("university")],
        policy=POLICY,
    )
    records = world.run(engine).records
    assert {one.decision for one in records} == {Verdict.BLOCKED}
    assert all("decoys have no pseudonyms like those of a column" in " ".join(one.reasons) for one in records)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_whose_pseudonyms_were_exchanged_never_leaves(
    form: str, world: World, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pseudonyms change places before the file is hashed: no figure sees it, the last check does."""
    whole = writing.pseudonyms_of_copy

    def exchanged(*given: Any) -> Any:
        made = whole(*given)
        (one,) = made.values()
        first, second, *rest = one.made.to_pylist()
        return {"record_id": replace(one, made=pa.array([second, first, *rest], type=pa.large_string()))}

    monkeypatch.setattr(writing, "pseudonyms_of_copy", exchanged)
    ask(world, delivery_format=form)
    with pytest.raises(StageFailed) as caught:
        world.run(engine)
    assert caught.value.got == "cells of record_id"
    assert not holds(str(caught.value).encode(), ID_MARK)


@pytest.mark.slow
def test_an_identifier_that_is_missing_or_in_another_column_is_refused(world: World, engine: Any) -> None:
    rows = [row | {"patient": f"QJX{place:04d}PATIENT"} for place, row in enumerate(drawn_rows())]
    rows[7]["patient"] = ""
    rows[8]["note"] = f"see {rows[8]['patient']}"
    write_table(world.data, rows, (*rows[0],))
    world.ask(attributes={"patient": {"role": "pseudonym"}})
    (record,) = world.run(engine).records
    assert record.decision is Verdict.BLOCKED
    failed = {(one.id.split("/")[0], one.column) for one in record.validation.checks if not one.passed}
    assert failed == {("present", "patient"), ("identifier in text", "note")}


@pytest.mark.slow
@pytest.mark.parametrize("point", quick_and_slow({"seal_members"}, ["delivered_table", "seal_members"]))
def test_a_run_that_is_resumed_gives_the_same_bytes_and_commitment(
    point: str, world: World, engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workspaces of one key: in one the run is killed once the crosswalk is sealed, and again taken up."""
    ask(world, terms={"format": "integer"})
    whole = released(world, engine)
    other = tmp_path / "other"
    open_workspace(other).key_file.write_bytes(world.workspace.key_file.read_bytes())

    class Killed(BaseException):
        pass

    def die(*_given: object, **_more: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(writing, point, die)
        with pytest.raises(Killed):
            world.run(engine, other)
    resumed = world.run(engine, other)
    file = Path("delivery") / "university" / "data.csv"
    assert (resumed.bundle / file).read_bytes() == (whole.bundle / file).read_bytes()
    assert resumed.records[0].pseudonyms == whole.records[0].pseudonyms
