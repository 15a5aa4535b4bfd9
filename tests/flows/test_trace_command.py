"""``releasegate trace`` on a release that the gate has really made: every form of incident, every refusal."""

import csv
import gzip
import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cryptography.fernet import Fernet

from flows.gate.outcome import Outcome
from flows.workspace.folders import Workspace
from tasks.core.errors import WorkspaceError
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.vault import NONCE_BYTES, VARIABLE, Vault, seal
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tests.support.decoyed_world import (
    POLICY,
    drawn_rows,
    make_decoyed_world,
    population_rows,
    the_same_decoys,
    with_decoys,
)
from tests.support.search import holds
from tests.support.world import DIAGNOSES, QUASI_IDENTIFIERS, WHOLE_CELLS, Row, World, write_table

PERSON = "QJXPERSON"
NOTHING = "Nothing points to any recipient."


@dataclass
class Made:
    """A workspace with one release: the clinic has its copy, the registry is blocked."""

    world: World
    outcome: Outcome
    folder: Path
    """For incidents and registers."""
    run: Callable[..., Any]

    @property
    def workspace(self) -> Workspace:
        return self.world.workspace

    @property
    def vault(self) -> Vault:
        return Vault.beside(self.workspace.key_file)

    @property
    def manifest(self) -> DecoyManifest:
        return self.vault.open(self.outcome.release_id)

    def delivered(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.outcome.bundle / "delivery" / name / "data.csv", dtype=str, keep_default_na=False)

    def decoys_of(self, name: str) -> set[tuple[str, ...]]:
        """Cells of a recipient's decoys, as labels."""
        holder = next(one for one in self.manifest.holders if one.recipient == name)
        return {tuple(row[column] for column in QUASI_IDENTIFIERS) for row in holder.rows}

    def write(self, name: str, frame: pd.DataFrame | Sequence[Row], **options: Any) -> Path:
        path = self.folder / name
        pd.DataFrame(frame).to_csv(path, index=False, **options)
        return path

    def trace(self, incident: Path, *options: str | Path) -> Any:
        """The answer as a document."""
        told = self.run(
            "trace", self.outcome.release_id[:8], incident, "--workspace", self.workspace.root, "--json", *options
        )
        return told.document

    def told(self, incident: Path, *options: str | Path) -> Any:
        """The answer as people see it."""
        return self.run("trace", self.outcome.bundle, incident, *options)

    def entries(self) -> list[Entry]:
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            return list(ledger.entries(event=Event.TRACED))


@pytest.fixture(scope="module")
def released(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:

    world = make_decoyed_world(tmp_path_factory.mktemp("traced") / "world")
    world.ask(
        recipients=[
            with_decoys("clinic"),
            with_decoys("registry", agreement={"id": "DUA-x", "expires": "2025-12-31"}),
        ],
        policy=POLICY | WHOLE_CELLS,
    )
    with the_same_decoys():
        return world, world.run(engine)


@pytest.fixture
def made(
    released: tuple[World, Outcome], releasegate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Made]:
    monkeypatch.delenv(VARIABLE, raising=False)
    world, outcome = released
    kept = tmp_path / "kept"
    shutil.copytree(world.workspace.private, kept)
    yield Made(world, outcome, tmp_path, releasegate)
    shutil.rmtree(world.workspace.private)
    shutil.copytree(kept, world.workspace.private)


@pytest.fixture
def leak(made: Made) -> pd.DataFrame:
    """The clinic's copy."""
    return made.delivered("clinic")


def persons() -> list[Row]:
    """The population, each person by an id and quasi-identifiers."""
    found = [row for row in population_rows() for _ in range(int(row["count"]))]
    return [
        {"person": f"{PERSON}{number:05d}"} | {column: row[column] for column in QUASI_IDENTIFIERS}
        for number, row in enumerate(found)
    ]


def people_of(made: Made, name: str, number: int) -> list[Row]:
    """People of the population who live in a recipient's decoy cells, from each in turn."""

    def cells_of(row: Row) -> set[tuple[str, ...]]:
        age = int(row["age"])
        ages = (row["age"], f"{age // 5 * 5}-{age // 5 * 5 + 4}", f"{age // 10 * 10}s", "*")
        return set(product(ages, (row["sex"], "*"), (row["zip"], row["zip"][:3] + "**", "*****")))

    by_cell = [[row for row in persons() if cell in cells_of(row)] for cell in sorted(made.decoys_of(name))]
    found = [row for together in zip(*by_cell, strict=False) for row in together]
    assert len(found) >= number
    return found[:number]


class TestLeakedFile:
    def test_the_whole_copy_names_its_recipient(self, made: Made, leak: pd.DataFrame) -> None:
        found = made.trace(made.write("leak.csv", leak))
        clinic = next(holder for holder in made.manifest.holders if holder.recipient == "clinic")
        (hits,) = found["recipients"]
        assert (found["verdict"], found["named"], found["suspected"]) == ("decoys", ["clinic"], [])
        assert hits["recipient"] == "clinic"
        assert hits["decoy_hits"] == len(clinic.rows)
        assert hits["decoy_classes"] == hits["of_decoys"] == len(clinic.decoys)
        assert hits["kept_classes"] == hits["of_kept"] == len(clinic.kept)
        assert hits["kept_hits"] == clinic.kept.records.sum()
        assert found["incident"]["total"] == len(leak)
        assert found["incident"]["ordinary"] == len(leak) - hits["decoy_hits"] - hits["kept_hits"]
        assert found["by_population"]

    def test_its_quasi_identifiers_alone_do_in_any_order_from_parquet_or_gzip(
        self, made: Made, leak: pd.DataFrame
    ) -> None:
        part = leak[["zip", "age", "sex"]].sample(frac=1, random_state=3)
        whole = made.trace(made.write("leak.csv", leak))
        part.to_parquet(made.folder / "leak.parquet")
        with gzip.open(made.folder / "leak.csv.gz", "wt", newline="") as lines:
            part.to_csv(lines, index=False)
        for name in ("leak.parquet", "leak.csv.gz"):
            found = made.trace(made.folder / name)
            assert (found["recipients"], found["incident"]["ordinary"]) == (
                whole["recipients"],
                whole["incident"]["ordinary"],
            )

    def test_what_others_have_too_may_be_generalized_or_gone(self, made: Made, leak: pd.DataFrame) -> None:
        cells = leak[list(QUASI_IDENTIFIERS)].apply(tuple, axis=1)
        decoys = cells.isin(made.decoys_of("clinic"))
        coarser = made.write("leak.csv", leak.assign(sex=leak["sex"].where(decoys, "*")))
        found = made.trace(coarser, "--level", "0.05")  # kept classes cannot be told any more, in a world of few cells
        assert found["named"] == ["clinic"]
        assert found["recipients"][0]["decoy_hits"] == decoys.sum()
        alone = made.trace(made.write("decoys.csv", leak[decoys]))
        assert alone["named"] == ["clinic"]
        assert (alone["recipients"][0]["kept_hits"], alone["incident"]["ordinary"]) == (0, 0)
        others = made.trace(made.write("others.csv", leak[~decoys]))
        assert [hits["decoy_hits"] for hits in others["recipients"]] == [0]

    def test_a_column_that_was_dropped_is_unknown(self, made: Made, leak: pd.DataFrame) -> None:
        dropped = made.trace(made.write("dropped.csv", leak.drop(columns="sex")))
        unknown = made.trace(made.write("unknown.csv", leak.assign(sex="*")))
        assert dropped["incident"]["absent"] == ["sex"]
        assert "no column of sex" in " ".join(dropped["notes"])
        assert dropped["recipients"] == unknown["recipients"]

    def test_cells_that_cannot_be_read_are_counted_by_column(self, made: Made, leak: pd.DataFrame) -> None:
        leak.loc[:4, "zip"] = "QuollMark"
        leak.loc[7, "age"] = ""
        found = made.trace(made.write("leak.csv", leak))
        assert found["incident"]["unreadable"] == {"age": 1, "sex": 0, "zip": 5}
        told = made.told(made.folder / "leak.csv")
        assert "unreadable" in told.out
        assert f"5 of {len(leak)}" in told.out
        assert "QuollMark" not in told.out + told.err

    def test_the_data_from_before_the_decoys_point_to_nobody(self, made: Made) -> None:
        path = made.folder / "before.csv"
        write_table(path, drawn_rows(), QUASI_IDENTIFIERS)
        found = made.trace(path)
        assert (found["verdict"], found["named"], found["suspected"]) == ("nothing", [], [])
        assert found["sentences"] == [NOTHING]
        told = made.told(path)
        assert told.code == 0
        assert told.out.startswith(NOTHING)

    @pytest.mark.parametrize("delimiter", [";", "\t", "|"])
    def test_other_delimiters_are_read(self, made: Made, leak: pd.DataFrame, delimiter: str) -> None:
        assert made.trace(made.write("leak.csv", leak, sep=delimiter))["named"] == ["clinic"]

    def test_a_recipient_who_was_never_given_its_copy_is_told_to_be_one(self, made: Made) -> None:
        """Its decoys come to light: somebody else has read its copy."""
        rows = [dict(zip(QUASI_IDENTIFIERS, cell, strict=True)) for cell in sorted(made.decoys_of("registry"))]
        found = made.trace(made.write("cells.csv", rows * 2))
        assert found["named"] == ["registry"]
        assert any("registry was never given its copy" in note for note in found["notes"])


class TestPeople:
    def test_people_in_decoy_cells_name_the_recipient(self, made: Made) -> None:
        found = made.trace(made.write("people.csv", people_of(made, "clinic", 4)))
        assert found["named"] == ["clinic"]
        assert found["recipients"][0]["decoy_hits"] == 4

    def test_one_person_of_a_decoy_forty_times_is_one_hit(self, made: Made) -> None:
        one = people_of(made, "clinic", 1)
        once = made.trace(made.write("once.csv", one))
        often = made.trace(made.write("often.csv", one * 40))
        assert often["recipients"][0]["decoy_hits"] == 40
        assert often["recipients"][0]["chance"] == once["recipients"][0]["chance"]
        assert often["named"] == once["named"] == []

    def test_people_of_one_place_name_nobody(self, made: Made) -> None:
        """Everybody of the ZIP code, or of the age, of somebody in a decoy cell: one list, one place."""
        for row in people_of(made, "clinic", 2):
            for column in ("zip", "age"):
                same = [other for other in persons() if other[column] == row[column]]
                assert made.trace(made.write("place.csv", same))["named"] == []

    def test_ids_of_a_register(self, made: Made) -> None:
        wanted = people_of(made, "clinic", 4)
        ids = [row["person"] for row in wanted]
        register = made.write("register.csv", persons(), sep=";")
        options = ("--register", register, "--register-id", "person")
        by_values = made.trace(made.write("people.csv", wanted))
        incident = made.write("ids.csv", [{"person": one, "seen": "x"} for one in [*ids, ids[0], f"{PERSON}-none"]])
        found = made.trace(incident, *options)
        assert found["recipients"] == by_values["recipients"]
        assert (found["incident"]["unknown_ids"], found["incident"]["repeated_ids"]) == (1, 1)
        alone = made.trace(made.write("alone.csv", [{"any name": one} for one in ids]), *options)
        assert alone["recipients"] == by_values["recipients"]
        told = made.told(incident, *options)
        assert "1 id is missing or not in the register" in told.out
        assert PERSON not in told.out + told.err + json.dumps(found)


class TestWithoutThePopulation:
    @pytest.mark.parametrize("gone", ["population", "request"])
    def test_decoys_are_compared_with_those_of_others(self, made: Made, leak: pd.DataFrame, gone: str) -> None:
        """Two of the clinic's two decoys of six, the registry's and a seat's among them: 1 in 15, and kept classes."""
        cells = leak[list(QUASI_IDENTIFIERS)].apply(tuple, axis=1)
        path = made.write("decoys.csv", leak[cells.isin(made.decoys_of("clinic"))])
        known = made.trace(path)
        file = getattr(made.world, gone)
        content, requests = file.read_bytes(), made.workspace.private / "requests"
        file.write_bytes(content + b"\n")
        shutil.move(requests, requests.with_name("elsewhere"))
        try:
            without, whole = made.trace(path), made.trace(made.write("leak.csv", leak))
        finally:
            file.write_bytes(content)
            shutil.move(requests.with_name("elsewhere"), requests)
        assert known["by_population"]
        assert not without["by_population"]
        assert without["recipients"][0]["chance"] == pytest.approx(2 / 15)
        assert without["recipients"][0]["chance"] > known["recipients"][0]["chance"]
        assert without["named"] == []
        assert f"alone: the {gone} changed since the decision" in " ".join(without["notes"])
        assert whole["recipients"][0]["chance"] < without["recipients"][0]["chance"]

    def test_neither_data_nor_hierarchies_are_needed(self, made: Made, leak: pd.DataFrame) -> None:
        path = made.write("leak.csv", leak)
        kept = {file: file.read_bytes() for file in (made.world.data, made.world.ages)}
        for file in kept:
            file.unlink()
        try:
            found = made.trace(path)
        finally:
            for file, content in kept.items():
                file.write_bytes(content)
        assert found["named"] == ["clinic"]
        assert found["by_population"]


class TestManifestThatCannotBeOpened:
    """Refused, with an entry in the ledger: somebody tried."""

    def refused(self, made: Made, leak: pd.DataFrame, code: int, *words: str) -> None:
        before = len(made.entries())
        told = made.told(made.write("leak.csv", leak))
        assert told.code == code
        for word in words:
            assert word in told.err
        assert told.out == ""
        entry = made.entries()[before]
        assert len(made.entries()) == before + 1
        assert entry.body["verdict"] == "refused"
        assert entry.body["reason"] == words[0]

    def test_with_another_key(self, made: Made, leak: pd.DataFrame) -> None:
        made.vault.key_file.write_bytes(Fernet.generate_key() + b"\n")
        self.refused(made, leak, 2, "the manifest of the decoys was sealed with a key that is not here", "restore that")

    def test_with_the_key_lost(self, made: Made, leak: pd.DataFrame) -> None:
        made.vault.key_file.unlink()
        self.refused(made, leak, 2, "the keys that seal manifests of decoys cannot be read", "backup")

    def test_where_it_was_changed(self, made: Made, leak: pd.DataFrame) -> None:
        place = made.vault.place(made.outcome.release_id)
        envelope = json.loads(place.read_bytes())
        envelope["token"] = envelope["token"][:-8] + "AAAAAAA="
        place.write_text(json.dumps(envelope))
        self.refused(made, leak, 3, "the sealed manifest of the decoys was changed")

    def test_where_another_lies_in_its_place(self, made: Made, leak: pd.DataFrame) -> None:
        content, _ = seal(made.manifest, made.vault.keys(), bytes(NONCE_BYTES))
        made.vault.write(made.outcome.release_id, content)
        self.refused(made, leak, 3, "the manifest of the decoys is not the one that the record commits to")

    def test_where_it_is_gone(self, made: Made, leak: pd.DataFrame) -> None:
        made.vault.place(made.outcome.release_id).unlink()
        self.refused(made, leak, 2, "there is no manifest of decoys of this release")

    def test_the_key_may_be_in_the_environment(
        self, made: Made, leak: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLE, made.vault.key_file.read_text().strip())
        made.vault.key_file.unlink()
        assert made.trace(made.write("leak.csv", leak))["named"] == ["clinic"]


class TestBadInput:
    """Exit code 2; nothing was opened, so nothing is recorded."""

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("", "the file is empty"),
            ("age,sex,zip\n", "no r"),
            ("colour,shape\nred,round\n", "no quasi-identifier of this release"),
            ("age,age\n20,21\n", "twice"),
            ("age,sex\n20,F\n21\n", "or leave these rows out"),
            ("age,sex\n20,\udce9\n", "save it as UTF-8, with commas between its cells"),
        ],
    )
    def test_of_an_incident(self, made: Made, content: str, words: str) -> None:
        path, before = made.folder / "incident.csv", len(made.entries())
        path.write_bytes(content.encode(errors="surrogateescape"))
        told = made.told(path)
        assert told.code == 2
        assert words in told.err
        assert "dataset." not in told.err
        assert "round" not in told.err
        assert len(made.entries()) == before

    def test_a_file_that_is_not_there(self, made: Made) -> None:
        told = made.told(made.folder / "nowhere.csv")
        assert told.code == 2
        assert "there is no such incident" in told.err

    @pytest.mark.parametrize(
        ("register", "ids", "words"),
        [
            ("person,age\n1,20\n", "other,more\n1,2\n", "no column of register ids"),
            ("id,age\n1,20\n", "person\n1\n", "missing: person"),
            ("person,height\n1,20\n", "person\n1\n", "missing: age, sex, zip"),
            ("person,age\n1,20\n1,30\n", "person\n1\n", "rows 1, 2"),
            ("person,age\n1,20\n", "person\n7\n", "none of the ids is in the register"),
            ("person,age\n1,20\n2,30\n", "1\n2\n", "the list of ids has no header"),
            ("", "person\n1\n", "the file is empty"),
        ],
    )
    def test_of_a_register(self, made: Made, register: str, ids: str, words: str) -> None:
        (made.folder / "register.csv").write_text(register)
        (made.folder / "ids.csv").write_text(ids)
        told = made.told(made.folder / "ids.csv", "--register", made.folder / "register.csv", "--register-id", "person")
        assert told.code == 2
        assert words in told.err

    def test_a_person_listed_twice_alike_is_one(self, made: Made) -> None:
        (made.folder / "register.csv").write_text("person,age\n1,20\n1,20\n2,33\n")
        (made.folder / "ids.csv").write_text("person\n1\n2\n")
        options = ("--register", made.folder / "register.csv", "--register-id", "person")
        assert made.trace(made.folder / "ids.csv", *options)["incident"]["total"] == 2

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--register", "x.csv"), "--register and --register-id go together"),
            (("--register-id", "x"), "--register and --register-id go together"),
            (("--level", "0"), "--level must lie between 0 and 1"),
            (("--level", "2"), "'--level'"),
        ],
    )
    def test_of_options(self, made: Made, leak: pd.DataFrame, options: tuple[str, ...], words: str) -> None:
        told = made.told(made.write("leak.csv", leak), *options)
        assert told.code == 2
        assert words in " ".join(told.err.split())

    def test_a_bundle_that_was_changed_is_not_looked_into(self, made: Made, leak: pd.DataFrame) -> None:
        path = made.outcome.bundle / "evidence" / "hierarchies" / "age.csv"
        content, before = path.read_bytes(), len(made.entries())
        path.write_bytes(content + b"\n")
        told = made.told(made.write("leak.csv", leak))
        path.write_bytes(content)
        assert told.code == 3
        assert len(made.entries()) == before


class TestWhatIsKept:
    def test_the_ledger_says_who_asked_and_what_came_of_it(self, made: Made, leak: pd.DataFrame) -> None:
        path = made.write("leak.csv", leak)
        found = made.trace(path, "--level", "0.001")
        entry = made.entries()[-1]
        assert entry.release_id == made.outcome.release_id
        assert entry.actor
        assert entry.body == {
            "kind": "rows",
            "incident_sha256": found["incident"]["sha256"],
            "total": len(leak),
            "verdict": "decoys",
            "named": ["clinic"],
            "suspected": [],
            "level": 0.001,
        }
        verified = made.run("verify", made.outcome.bundle, "--json")
        assert verified.code == 0
        assert made.run("verify", "ledger", "--workspace", made.workspace.root).code == 0

    def test_an_answer_that_cannot_be_recorded_is_not_told(
        self, made: Made, leak: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_given: object, **_more: object) -> None:
            raise WorkspaceError("the disk is full")

        monkeypatch.setattr(Ledger, "append", full)
        told = made.told(made.write("leak.csv", leak))
        assert told.code == 2
        assert "the disk is full" in told.err
        assert "clinic" not in told.out + told.err

    def test_no_value_and_no_decoy_cell_is_told_or_kept(
        self, made: Made, leak: pd.DataFrame, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        rows = made.write("leak.csv", leak)
        people = made.write("people.csv", people_of(made, "clinic", 4))
        told = [made.told(rows), made.told(people), made.told(rows, "--json")]
        said = "".join(one.out + one.err for one in told) + caplog.text
        said += "".join(json.dumps(dict(entry.body)) for entry in made.entries())
        said = re.sub(r'[0-9a-f]{64}|"chance": [^,]*', "", said)  # digits of these may be any
        values = {str(code) for code in leak["zip"]} | set(DIAGNOSES) | set(leak["note"])
        ages = {label for label in leak["age"] if "-" in label or label.endswith("s")}
        values |= ages | {row["zip"] for row in people_of(made, "clinic", 4)}
        values -= {"*", "*****"}
        assert len(values) > 20
        assert [value for value in values if holds(said.encode(), value)] == []

    def test_what_is_shown(self, made: Made, leak: pd.DataFrame) -> None:
        told = made.told(made.write("leak.csv", leak))
        assert told.code == 0
        assert told.out.startswith("Points to clinic: 2 of its 2 decoy classes were hit by ")
        assert "; a file from elsewhere would hit as often with a chance of 1 in " in " ".join(told.out.split())
        assert told.err == ""


def test_incidents_of_rows_are_read_by_name_not_by_place(made: Made, leak: pd.DataFrame) -> None:
    swapped = leak.rename(columns={"age": "zip", "zip": "age"})
    found = made.trace(made.write("swapped.csv", swapped))
    assert found["verdict"] == "nothing"
    with (made.folder / "swapped.csv").open(newline="") as lines:
        known = [row for row in csv.DictReader(lines) if row["age"] == "*"]
    assert found["incident"]["unreadable"]["age"] == len(leak) - len(known)
