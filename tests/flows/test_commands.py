"""The commands that release nothing: their help, their JSON, their exit codes, and what they say of bad data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.workspace.folders import open_workspace
from tasks.ledger.store import Ledger
from tests.support.silence import CANARY
from tests.support.world import COLUMNS, World, drawn_rows, recipient

COMMANDS = ("init", "check", "assess", "release", "explain", "verify")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, releasegate: Any) -> None:
    told = releasegate(command, "--help")
    assert told.code == 0
    assert f"releasegate {command}" in told.out
    assert "--json" in told.out


def test_the_help_names_every_command(releasegate: Any) -> None:
    told = releasegate("--help")
    assert told.code == 0
    for command in COMMANDS:
        assert f" {command} " in told.out


def test_good_data_pass_and_nothing_is_written(world: World, releasegate: Any) -> None:
    before = sorted(world.folder.parent.rglob("*"))
    document = releasegate("check", world.request, "--json").document
    assert (document["ok"], document["exit_code"]) == (True, 0)
    assert document["records"] == 240
    assert document["positions"] == {}
    assert sorted(world.folder.parent.rglob("*")) == before


def uncover(world: World) -> None:
    world.uncover(12)


BLOCKED: dict[str, tuple[Callable[[World], object], str, list[int]]] = {
    "record id twice": (lambda world: world.spoil(record_id={3: CANARY, 8: CANARY}), "unique", [4, 9]),
    "record id missing": (lambda world: world.spoil(record_id={3: ""}), "present", [4]),
    "mixed types": (lambda world: world.spoil(visits={5: CANARY, 6: "2.5", 7: "0x1F"}), "type", [6, 7, 8]),
    "million characters": (lambda world: world.spoil(note={9: CANARY[:1] * 1_000_000}), "text length", [10]),
    "e-mail": (lambda world: world.spoil(note={2: f"{CANARY}@example.org"}), "email", [3]),
    "identifier in text": (lambda world: world.spoil(note={1: "of QJXIDENTITY-0001"}), "identifier in text", [2]),
    "population without the data's tuples": (uncover, "population coverage", [12, 13]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BLOCKED)
def test_bad_content_is_counted_and_placed(kind: str, world: World, releasegate: Any) -> None:
    """It is no error of reading, so the gate would block it with a record; exit code 3."""
    spoil, check, rows = BLOCKED[kind]
    spoil(world)
    told = releasegate("check", world.request, "--json")
    assert told.code == told.document["exit_code"] == 3
    failed = [one for one in told.document["validation"]["checks"] if not one["passed"]]
    assert [one["id"].split("/")[0] for one in failed] == [check]
    assert failed[0]["failed"] == len(rows)
    assert list(told.document["positions"].values()) == [rows]
    assert CANARY not in told.out + told.err
    shown = releasegate("check", world.request)
    assert shown.code == 3
    assert "Next: " not in shown.out
    assert f"rows {', '.join(map(str, rows))}" in shown.out
    assert CANARY not in shown.out + shown.err


def test_check_names_in_one_round_what_scans_find_and_what_released_columns_reveal(
    world: World, releasegate: Any
) -> None:
    """Where nothing is added to it, pay is the total, which as a whole number counts as an identifier of its person."""
    rows = [
        row | {"pay": str(200_000 + 11 * n), "total": str(200_000 + 11 * n + 100_000 * (n % 4)), "code": f"{n}x"}
        for n, row in enumerate(drawn_rows())
    ]
    world.write_rows(rows, (*COLUMNS, "pay", "total", "code"))
    pay = {"role": "sensitive", "type": "integer", "known_probability": 0}
    total, code = {"role": "withheld", "type": "integer"}, {"role": "insensitive", "known_probability": 0}
    mask = [{"attributes": ["pay"], "method": "individual-ranking", "k": 5}]
    world.ask(attributes={"pay": pay, "total": total, "code": code}, masking=mask)
    told = releasegate("check", world.request, "--json").document
    failed = [one["id"].split("/")[::2] for one in told["validation"]["checks"] if not one["passed"]]
    assert failed == [["identifier in text", "pay"]]
    assert told["unplaced"] == ["code"]
    (note,) = (one for one in told["notes"] if one.startswith("pay "))
    assert note.endswith("if total is an amount or another quantity, which names nobody, give it type: number")
    world.ask(
        attributes={"pay": pay, "total": {"role": "withheld", "type": "number"}, "code": {"role": "withheld"}},
        masking=mask,
    )
    told = releasegate("check", world.request, "--json")
    assert (told.code, told.document["unplaced"]) == (0, []), told.document


def test_check_ends_with_the_next_command(
    world: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    world.enrol()
    for workspace, rest in ((tmp_path / "workspace", ""), (Path("a new"), " --workspace 'a new'")):
        shown = releasegate("check", world.request, "--root", "..", "--workspace", workspace).out
        command = f"releasegate release {world.request} --root ..{rest} --dry-run"
        then = "with --enrol" if rest else "without --dry-run"
        assert shown.endswith(f"\nNext: run `{command}`, which records nothing; then {then}.\n")


def test_check_names_enrolment_after_a_refused_release_has_begun_the_workspace(
    world: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    begun = open_workspace(tmp_path / "begun")
    with Ledger.open(begun.ledger, create=True):
        pass
    told = releasegate("check", world.request, "--workspace", "begun").out
    assert f"\nNext: run `releasegate release {world.request} --workspace begun --dry-run`" in told
    assert told.endswith("; then with --enrol.\n")


def test_a_blocked_release_is_explained_in_its_workspace(
    world: World, engine: Any, releasegate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world.ask(recipients=[recipient("university", expires="2025-12-31")])
    name = world.run(engine).release_id[:12]
    for folder, rest in ((tmp_path, ""), (tmp_path.parent, f" --workspace {tmp_path.name}/workspace")):
        monkeypatch.chdir(folder)
        told = releasegate("release", world.request, "--workspace", world.workspace.root)
        assert f"releasegate explain {name} --recipient university{rest}\n" in told.out


def test_check_is_closed_by_a_review_that_can_never_be_complete(world: World, releasegate: Any) -> None:
    for required in (1, 0):
        world.ask(policy={"review": {"required": required, "reviewers": ["a.steward"]}})
        told = releasegate("check", world.request)
        assert (told.code, "1 more reviewer is needed" in told.out) == ((3, True) if required else (0, False))


def test_check_names_recipients_who_count_as_one_party(world: World, releasegate: Any) -> None:
    lab, university = recipient("lab"), recipient("university")
    for agreement, together in ({"id": "DUA-lab"}, True), ({"id": "DUA-own"}, False):
        world.ask(recipients=[lab, university | {"agreement": university["agreement"] | agreement}])
        notes = releasegate("check", world.request, "--json").document["notes"]
        assert any(one.startswith("lab and university count as one party") for one in notes) is together


def test_check_names_recipients_whose_agreement_has_expired(world: World, releasegate: Any) -> None:
    for expires, expired in (("2025-12-31", True), ("9999-12-31", False)):
        world.ask(recipients=[recipient("university", expires="9999-12-31"), recipient("lab", expires=expires)])
        told = releasegate("check", world.request, "--json")
        assert told.code == (3 if expired else 0)
        assert any("the agreement has expired: lab;" in one for one in told.document["notes"]) is expired
        assert ("✗ lab: the agreement has expired" in releasegate("check", world.request).out) is expired


def test_check_says_what_is_not_enrolled(world: World, releasegate: Any) -> None:
    world.enrol()
    place = ("--workspace", world.workspace.root)
    assert "would be refused" not in releasegate("check", world.request, *place).err
    world.ask(requested_by="lise.sand", policy={"version": "2"})
    told = releasegate("check", world.request, *place)
    shown = " ".join(told.err.split())
    assert (told.code, "Next: " in told.out) == (0, False)
    assert "note: a release would be refused: the policy is not enrolled" in shown
    assert "note: a release would be refused: this person is not enrolled as requester" in shown


def test_text_that_holds_numbers_is_named_where_it_is_attacked(world: World, releasegate: Any) -> None:
    for known, named in ((None, True), (0, False)):
        world.ask(attributes={"visits": {"type": "text", "known_probability": known}})
        notes = releasegate("check", world.request, "--json").document["notes"]
        assert any("attacked as numbers: visits;" in one for one in notes) is named


def test_a_column_of_numbers_but_for_one_text_is_named(world: World, releasegate: Any) -> None:
    table = pd.read_csv(world.data, dtype=str, keep_default_na=False)
    table["diagnosis"] = [CANARY if row % 20 == 7 else str(row % 9 + 30) for row in range(len(table))]
    table.to_csv(world.data, index=False)
    told = releasegate("check", world.request, "--json")
    (note,) = (one for one in told.document["notes"] if one.startswith("diagnosis: "))
    assert "% of its cells are numbers" in note
    assert "declare it under dataset.missing" in note
    assert CANARY not in told.out


def test_a_negative_code_among_numbers_is_named(world: World, releasegate: Any) -> None:
    table = pd.read_csv(world.data, dtype=str, keep_default_na=False)
    table["visits"] = ["-9" if row % 20 == 7 else str(row % 9 + 30) for row in range(len(table))]
    table.to_csv(world.data, index=False)
    notes = releasegate("check", world.request, "--json").document["notes"]
    (note,) = (one for one in notes if one.startswith("visits: "))
    assert note.endswith("of its cells are negative: if that means “no value”, declare it under dataset.missing")


def test_assess_compares_methods(world: World, releasegate: Any) -> None:
    outcomes = releasegate("assess", "game", world.request, "--json").document["recipients"]["university"]
    chosen = [outcome["method"] for outcome in outcomes if outcome["chosen"]]
    assert chosen == ["no-attack-remainder"]
    assert releasegate("assess", "game", world.request).code == 0


def test_init_drafts_what_check_then_asks_to_complete(world: World, releasegate: Any, tmp_path: Path) -> None:
    drafted = releasegate("init", world.data, "--output", tmp_path / "draft", "--json").document
    assert set(drafted["columns"]) == set(COLUMNS)
    assert drafted["columns"]["record_id"]["role"] == "direct identifier"
    told = releasegate("check", tmp_path / "draft" / "request.yaml", "--json")
    assert told.code == 2
    assert told.document["error"]["problems"]
    values = {row["diagnosis"] for row in drawn_rows()} | {"QJXIDENTITY"}
    assert not any(value in told.out for value in values)


def test_check_explains_what_a_request_leaves_unsaid(world: World, releasegate: Any) -> None:
    told = releasegate("check", world.request, "--explain", "--json")
    assert told.code == 0
    (days,) = (one for one in told.document["defaults"] if one["term"] == "policy.validity_days")
    assert days["value"] == "365"
    assert "defaults" not in releasegate("check", world.request, "--json").document
    shown = releasegate("check", world.request, "--explain").out
    assert f"policy.validity_days: 365\n    {days['meaning']}\n" in shown
    assert "validity_days" not in releasegate("check", world.request).out


@pytest.mark.parametrize("as_json", [True, False])
def test_a_fault_of_the_program_ends_with_code_1_and_quotes_nothing(
    as_json: bool, world: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError(f"cannot read {CANARY}")

    monkeypatch.setattr("flows.cli.check.checked_request", fail)
    told = releasegate("check", world.request, *(["--json"] if as_json else []))
    assert told.code == 1
    shown = told.out if as_json else told.err
    assert "the program failed; nothing was released" in shown
    assert "RuntimeError" in shown
    assert "fail, line" in shown
    assert CANARY not in told.out + told.err
    assert "Traceback" not in told.out + told.err
    assert not as_json or told.document["ok"] is False


def test_an_interruption_ends_with_code_130(world: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.cli.check.checked_request", interrupt)
    told = releasegate("check", world.request)
    assert (told.code, told.err) == (130, "stopped; the same command can be run again\n")


@pytest.mark.slow
def test_a_terminal_that_knows_few_characters(world: World) -> None:
    from tests.support.world import releasegate as in_a_process

    told = in_a_process("check", world.request, environment={"PYTHONIOENCODING": "ascii"})
    assert told.returncode == 0
    assert "\\u2713" in told.stdout


def test_a_delivery_and_a_certificate_are_told_as_such(tmp_path: Path, releasegate: Any) -> None:
    folder = tmp_path / "university"
    folder.mkdir()
    for name in ("data.csv", "dictionary.json", "manifest.json"):
        (folder / name).write_text("{}")
    told = releasegate("verify", folder)
    assert (told.code, "this is a delivery, not a bundle" in told.err) == (2, True)
    assert f"(sha256sum {folder}/*)" in told.err
    told = releasegate("verify", folder / "manifest.json", "--alone")
    assert (told.code, "got: a file" in told.err) == (2, True)
    (folder / "certificate.pdf").write_bytes(b"%PDF-")
    told = releasegate("verify", folder / "certificate.pdf")
    assert (told.code, "this is a certificate" in told.err) == (2, True)


def test_a_file_in_place_of_a_workspace_is_told_as_such(tmp_path: Path, releasegate: Any) -> None:
    file = tmp_path / "file"
    file.touch()
    told = releasegate("enrol", "list", "--workspace", file)
    assert (told.code, "expected: a folder" in told.err, "got: a file" in told.err) == (2, True, True)


@pytest.mark.parametrize("words", [("verify", "ledger"), ("enrol", "list"), ("key", "list"), ("reassess", "--all")])
def test_where_there_is_no_workspace_no_ledger_has_disappeared(
    words: tuple[str, ...], tmp_path: Path, releasegate: Any
) -> None:
    told = releasegate(*words, "--workspace", tmp_path / "none")
    assert (told.code, "there is no workspace" in told.err) == (2, True)
    (tmp_path / "none" / "releases").mkdir(parents=True)
    assert "there is no ledger" in releasegate(*words, "--workspace", tmp_path / "none").err


def test_a_folder_with_nothing_of_a_bundle_is_bad_input_and_one_with_something_an_alarm(
    tmp_path: Path, releasegate: Any
) -> None:
    told = releasegate("verify", tmp_path, "--alone")
    assert (told.code, "this folder is no bundle" in told.err) == (2, True)
    (tmp_path / "decision").mkdir()
    assert releasegate("verify", tmp_path, "--alone").code == 3
    (tmp_path / ("a" * 64)).mkdir()
    assert releasegate("verify", tmp_path / ("a" * 64), "--alone").code == 3


def test_an_id_outside_a_workspace_is_told_that_there_is_none(tmp_path: Path, releasegate: Any) -> None:
    for command in ("verify", "review"):
        told = releasegate(command, "94b63d6c", "--workspace", tmp_path / "none")
        assert (told.code, "there is no workspace" in told.err) == (2, True)


def test_too_few_digits_of_a_release_are_told(tmp_path: Path, releasegate: Any) -> None:
    assert "give at least the first six digits" in releasegate("review", "45ab", "--workspace", tmp_path).err


@pytest.mark.parametrize(("method", "what"), [("events", "one row a person"), ("dates", "no dates leave shifted")])
def test_what_the_request_alone_tells_is_told_before_data_are_read(
    method: str, what: str, world: World, releasegate: Any
) -> None:
    world.data.unlink()
    assert what in releasegate("assess", method, world.request).err
