"""A release with decoys through the whole gate: what leaves, what is told, and that nobody but the manifest knows."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flows.gate.outcome import Outcome
from tasks.core.errors import RequestError, StageFailed, WorkspaceError
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decoys.manifest import DecoyManifest, Holder
from tasks.decoys.vault import Vault
from tests.support.brief_reports import whole_certificate, whole_report
from tests.support.decoyed_world import POLICY, STAKES, drawn_rows, make_decoyed_world, the_same_decoys, with_decoys
from tests.support.search import files_holding, files_holding_each, holds
from tests.support.world import COLUMNS, QUASI_IDENTIFIERS, World, recipient, write_table

MARK = "QuollMark"
UNIVERSITY = recipient("university", stakes=STAKES)


@pytest.fixture(scope="module")
def decoyed(tmp_path_factory: pytest.TempPathFactory, engine: Any) -> tuple[World, Outcome]:
    world = make_decoyed_world(tmp_path_factory.mktemp("decoyed") / "world")
    with the_same_decoys():
        return world, world.run(engine)


def vault_of(world: World) -> Vault:
    return Vault.beside(world.workspace.key_file)


def record_of(outcome: Outcome, name: str) -> DecisionRecord:
    return next(record for record in outcome.records if record.recipient.id == name)


def manifest_of(world: World, outcome: Outcome) -> DecoyManifest:
    fact = record_of(outcome, "clinic").decoys
    assert fact is not None
    return vault_of(world).open(outcome.release_id, fact.commitment_sha256)


def holder_of(manifest: DecoyManifest, name: str) -> Holder:
    return next(holder for holder in manifest.holders if holder.recipient == name)


def delivered(outcome: Outcome, name: str) -> list[dict[str, str]]:
    path = outcome.bundle / "delivery" / name / "data.csv"
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def as_delivered(rows: Any) -> Counter[tuple[str, ...]]:
    """Rows as the file has them: text that begins like a formula has an apostrophe before it."""
    columns = ("age", "sex", "zip", "diagnosis", "visits", "note")
    return Counter(
        tuple(f"'{row[name]}" if name == "note" and row[name].startswith("=") else row[name] for name in columns)
        for row in rows
    )


def test_every_copy_is_approved_and_holds_its_own_decoys(decoyed: tuple[World, Outcome]) -> None:
    world, outcome = decoyed
    assert [record.decision for record in outcome.records] == [Verdict.APPROVED] * 3
    manifest = manifest_of(world, outcome)
    for name in ("clinic", "registry"):
        rows, own = delivered(outcome, name), holder_of(manifest, name).rows
        found = Counter(tuple(row.values()) for row in rows)
        assert not as_delivered(own) - found
        cells = {(row["age"], row["sex"], row["zip"]) for row in own}
        assert sum((row["age"], row["sex"], row["zip"]) in cells for row in rows) == len(own)
        others = [
            row for other in ("registry", "clinic", "university") if other != name for row in delivered(outcome, other)
        ]
        assert not cells & {(row["age"], row["sex"], row["zip"]) for row in others}
    rows_out = {record.recipient.id: record.dataset.rows_out for record in outcome.records}
    assert rows_out == {name: len(delivered(outcome, name)) for name in rows_out}


def test_the_record_tells_that_there_are_decoys_and_not_which(decoyed: tuple[World, Outcome]) -> None:
    world, outcome = decoyed
    facts = [record.decoys for record in outcome.records]
    assert facts[2] is None
    assert facts[0] is not None
    assert facts[1] is not None
    assert facts[0].commitment_sha256 == facts[1].commitment_sha256
    assert facts[0].count == len(holder_of(manifest_of(world, outcome), "clinic").rows)
    assert all(record.statistics is not None for record in outcome.records)
    ids = [gate.id for gate in record_of(outcome, "clinic").gates]
    assert "decoys.detectability" in ids
    assert "decoys.detectability" not in [gate.id for gate in record_of(outcome, "university").gates]


def test_no_file_but_the_copies_names_a_decoy(decoyed: tuple[World, Outcome], engine: Any) -> None:
    """Cells as text and as positions: in no report, record, ledger, log or orchestrator; in no key, either."""
    world, outcome = decoyed
    manifest = manifest_of(world, outcome)
    texts: dict[str, str] = {}
    for name in ("clinic", "registry"):
        holder = holder_of(manifest, name)
        for row in holder.rows[:3]:
            cell = [str(row[attribute]) for attribute in ("age", "sex", "zip")]
            texts |= dict.fromkeys([",".join(f'"{part}"' for part in cell), ",".join(cell), json.dumps(cell)], name)
        for place in holder.decoys.cells.tolist():
            texts |= dict.fromkeys([json.dumps(place), json.dumps(place, separators=(",", ":"))], name)
    found = files_holding_each(world.workspace.root, texts)
    own = {name: {f"releases/{outcome.release_id}/delivery/{name}/data.csv"} for name in ("clinic", "registry")}
    assert all(set(files) <= own[texts[mark]] for mark, files in found.items())
    assert any(found.values())
    assert not any(files_holding_each(engine.home, texts).values())
    assert not any(holds(report, text) for report in map(whole_report, outcome.records) for text in texts)
    keys = [key.decode() for key in vault_of(world).keys().keys]
    assert files_holding_each(world.workspace.root, keys) == {key: [".releasegate/decoy-keys"] for key in keys}


def test_keys_and_manifest_are_the_owners_alone(decoyed: tuple[World, Outcome]) -> None:
    vault = vault_of(decoyed[0])
    assert vault.key_file.stat().st_mode & 0o777 == 0o600
    assert vault.folder.stat().st_mode & 0o777 == 0o700
    assert vault.place(decoyed[1].release_id).stat().st_mode & 0o777 == 0o600


def test_a_certificate_says_nothing_of_them(decoyed: tuple[World, Outcome]) -> None:
    assert files_holding(decoyed[1].bundle / "certificate", "decoy") == []
    certificates = [whole_certificate(record) for record in decoyed[1].records]
    assert not any(holds(one, "decoy") for one in certificates)
    assert all(holds(one, "statistics") for one in certificates)


def test_decoys_that_cannot_be_had_block_everybody(engine: Any, tmp_path: Path) -> None:
    """A copy without decoys that is out already would lack nothing, and so tell what later copies lack."""
    one = make_decoyed_world(tmp_path / "other" / "world")
    one.ask(recipients=[with_decoys("clinic", decoys={"classes": 5000}), UNIVERSITY], policy=POLICY)
    outcome = one.run(engine)
    assert [record.decision for record in outcome.records] == [Verdict.BLOCKED] * 2
    for record in outcome.records:
        assert any("decoy classes at most" in reason for reason in record.reasons)
        assert [missing.stage for missing in record.not_assessed] == ["decoys"]
    assert not list((outcome.bundle / "delivery").iterdir())


def test_the_same_data_again_must_continue(decoyed: tuple[World, Outcome], engine: Any) -> None:
    world, outcome = decoyed
    for recipients in ([with_decoys("clinic")], [UNIVERSITY]):
        world.ask(recipients=recipients, policy=POLICY, title="Asked again")
        with pytest.raises(RequestError, match=f"continues: {outcome.release_id}"):
            world.run(engine)


def test_a_file_without_one_row_does_not_show_decoys_by_comparing(decoyed: tuple[World, Outcome], engine: Any) -> None:
    """Rows that only the copy with decoys has would be these; the file's SHA-256 is another."""
    world, outcome = decoyed
    write_table(world.data, drawn_rows()[1:], COLUMNS)
    try:
        for who in ("clinic", "institute"):
            world.ask(recipients=[recipient(who, stakes=STAKES)], policy=POLICY, title="One row less")
            with pytest.raises(RequestError, match="copies of the same people would give the decoys away") as caught:
                world.run(engine)
            assert caught.value.fix.startswith(f"add “continues: {outcome.release_id}”")
    finally:
        write_table(world.data, drawn_rows(), COLUMNS)


def test_decoys_cannot_be_added_to_data_that_are_out(engine: Any, tmp_path: Path) -> None:
    one = make_decoyed_world(tmp_path / "other" / "world")
    one.ask(recipients=[UNIVERSITY], policy={"gates": POLICY["gates"]})
    one.run(engine)
    one.ask(recipients=[with_decoys("clinic")], policy=POLICY)
    with pytest.raises(RequestError, match="release these people without decoys"):
        one.run(engine)
    one.ask(recipients=[with_decoys("clinic")], policy=POLICY, continues="0" * 64)
    with pytest.raises(RequestError):
        one.run(engine)


@pytest.mark.slow
def test_the_next_version_keeps_decoys_and_a_lost_key_stops_it(
    decoyed: tuple[World, Outcome], engine: Any, releasegate: Any, tmp_path: Path
) -> None:
    world, outcome = decoyed
    strict = {**POLICY, "decoys": POLICY["decoys"] | {"maximum_detectability": 0.5}}
    request = {"recipients": [with_decoys("clinic"), with_decoys("agency")], "continues": outcome.release_id}
    world.ask(**request, policy=strict)
    vault = vault_of(world)
    keys = vault.key_file.read_bytes()
    vault.key_file.unlink()
    with pytest.raises(WorkspaceError, match="keys that seal manifests of decoys cannot be read"):
        world.run(engine)
    vault.key_file.write_bytes(keys)
    vault.key_file.chmod(0o600)
    later = world.run(engine)
    fact = record_of(later, "clinic").decoys
    assert fact is not None
    manifest = vault.open(later.release_id, fact.commitment_sha256)
    assert [version.release for version in manifest.versions] == [outcome.release_id, later.release_id]
    assert holder_of(manifest, "clinic").rows == holder_of(manifest_of(world, outcome), "clinic").rows
    assert [record.decision for record in later.records] == [Verdict.BLOCKED] * 2, "nothing is as good as guessing here"
    failed = [gate.id for gate in record_of(later, "clinic").gates if not gate.passed]
    assert failed == ["decoys.detectability"]
    for name, rows in (
        ("clinic", delivered(outcome, "clinic")),
        ("registry", delivered(outcome, "registry")),
        ("agency", holder_of(manifest, "agency").rows),
    ):
        write_table(tmp_path / "leak.csv", list(rows), QUASI_IDENTIFIERS)
        answer = releasegate("trace", later.bundle, tmp_path / "leak.csv", "--json").document
        assert answer["recipients"][0]["recipient"] == name
        assert answer["recipients"][0]["decoy_classes"] == 2
        assert set(answer["named"]) <= {name}


def test_a_fault_that_quotes_the_data_tells_nothing(
    tmp_path: Path,
    engine: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def quote(*given: object, **_more: object) -> None:
        raise ValueError(f"cannot draw {MARK} of {given}")

    monkeypatch.setattr("tasks.decoys.stage.plant", quote)
    one = make_decoyed_world(tmp_path / "other" / "world")
    with pytest.raises(StageFailed) as caught:
        one.run(engine)
    assert caught.value.got == "ValueError"
    printed = capfd.readouterr()
    assert not holds("".join([str(caught.value), caplog.text, printed.out, printed.err]).encode(), MARK)
    assert files_holding(one.workspace.root, MARK) == []
    assert files_holding(engine.home, MARK) == []


def test_check_says_who_is_to_have_decoys_and_what_would_keep_them_off(tmp_path: Path, releasegate: Any) -> None:
    one = make_decoyed_world(tmp_path / "other" / "world")
    told = releasegate("check", one.request)
    assert "decoys: 2 classes for clinic" in told.out
    assert "will be blocked" not in told.err
    rows = [row | {"note": f"{MARK} {number}"} for number, row in enumerate(drawn_rows())]
    write_table(one.data, rows, COLUMNS)
    told = releasegate("check", one.request)
    assert told.code == 0
    assert "recipients who are to have decoys will be blocked" in told.err
    assert "column note" in told.err
    assert MARK not in told.out + told.err
