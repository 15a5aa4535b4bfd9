"""Input that cannot be used: said clearly, with exit code 2, a ledger entry and nothing else left behind."""

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.cli.output import as_json
from tasks.core.errors import BadInput, DataError, HierarchyError, PopulationError, RequestError, WorkspaceError
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support.enrolled import but_enrolments
from tests.support.silence import CANARY, assert_silent
from tests.support.world import (
    COLUMNS,
    QUASI_IDENTIFIERS,
    STAKES,
    World,
    age_rows,
    drawn_rows,
    population_rows,
    recipient,
    write_table,
)


def no_engine(_home: Path, _results: Path) -> Any:
    pytest.fail("the orchestrator was started for a request that cannot be used")


def refused(world: World, engine: Any) -> BadInput:
    """Run the gate on something unusable, and check what holds for all of it."""
    with pytest.raises(BadInput) as caught:
        world.run(engine)
    error = caught.value
    assert_silent(error)
    assert error.exit_code == 2
    several = len(getattr(error, "problems", ())) > 1
    assert {"what", "where", "fix", "got" if several else "expected"} <= error.fields().keys()
    assert_nothing_left(world)
    with Ledger.open(world.workspace.ledger, create=False) as ledger:
        ledger.verify()
        entries = ledger.entries()
    last = entries[-1]
    assert last.event is Event.REFUSED
    assert last.recipient is None
    assert {part: text[:500] for part, text in error.reason().items()} == {
        part: str(text)[:500] for part, text in last.body.items() if part not in {"title", "recipients", "requested_by"}
    }
    return error


def assert_nothing_left(world: World) -> None:
    """No bundle, no staged bundle, no file of the run."""
    assert list(world.workspace.releases.iterdir()) == []
    assert list(world.workspace.staging.iterdir()) == []
    assert [path for path in (world.workspace.private / "runs").rglob("*") if path.suffix != ".lock"] == []


@dataclass(frozen=True)
class Case:
    """One way to spoil a world, and what the message must say."""

    name: str
    spoil: Callable[[World], object]
    error: type[BadInput]
    where: str
    says: str = ""
    got: str = ""


def outside(world: World) -> Path:
    return world.data.rename(world.folder.parent / "outside.csv")


def link_outside(world: World) -> None:
    world.data.symlink_to(outside(world))


def folder_for(path: Path) -> None:
    path.unlink()
    path.mkdir()


def parametrized(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case.name for case in cases])


def check(case: Case, error: BadInput) -> None:
    assert type(error) is case.error
    assert case.where in error.where
    assert case.says in error.what
    assert case.got in error.got


def stakes(**changes: object) -> Callable[[World], object]:
    return lambda world: world.ask(recipients=[recipient("university", stakes=STAKES | changes)])


def gate(**terms: object) -> Callable[[World], object]:
    return lambda world: world.ask(policy={"gates": [{"because": "a test"} | terms]})


RISK = "transparent.maximum_risk"
REQUESTS = [
    Case("negative stakes", stakes(cost=-4), RequestError, "recipients[0].stakes.cost", got="-4"),
    Case("zero stakes", stakes(loss=0), RequestError, "recipients[0].stakes.loss", got="0"),
    Case("NaN stakes", stakes(benefit=float("nan")), RequestError, "recipients[0].stakes.benefit", got="nan"),
    Case("threshold above 1", gate(measure=RISK, at_most=1.5), RequestError, "policy.gates[0]"),
    Case("threshold below 0", gate(measure=RISK, at_most=-0.1), RequestError, "policy.gates[0]"),
    Case("threshold NaN", gate(measure=RISK, at_most=float("nan")), RequestError, "policy.gates[0]"),
    Case(
        "risk threshold 0", lambda world: world.ask(policy={"risk_threshold": 0}), RequestError, "policy.risk_threshold"
    ),
    Case(
        "two recipients with one id",
        lambda world: world.ask(recipients=[recipient("university"), recipient("university")]),
        RequestError,
        "recipients",
    ),
    Case(
        "masking of text",
        lambda world: world.ask(masking=[{"attributes": ["note"], "method": "mdav", "k": 3}]),
        RequestError,
        "masking[0].attributes[0]",
        got="a column of type text",
    ),
    Case(
        "masking by another's parameter",
        lambda world: world.ask(masking=[{"attributes": ["visits"], "method": "mdav", "p": 3}]),
        RequestError,
        "masking[0]",
        got="p",
    ),
    Case("unknown role", lambda world: world.ask(attributes={"note": {"role": "harmless"}}), RequestError, "note.role"),
    Case("no YAML", lambda world: world.request.write_text("a: [\n"), RequestError, "request.yaml", "YAML"),
    Case("empty request", lambda world: world.request.write_text(""), RequestError, "request.yaml", "empty"),
    Case("no request", lambda world: world.request.unlink(), RequestError, "request.yaml", got="no such file"),
    Case(
        "thousands of mistakes",
        lambda world: world.ask(**{f"unknown{number}": number for number in range(5000)}),
        RequestError,
        "request.yaml",
        "5000 mistakes",
    ),
    Case(
        "path outside",
        lambda world: outside(world) and world.ask(dataset={"path": "../outside.csv"}),
        WorkspaceError,
        "dataset.path",
        "outside",
    ),
    Case(
        "absolute path outside",
        lambda world: world.ask(dataset={"path": str(outside(world))}),
        WorkspaceError,
        "dataset.path",
        "outside",
    ),
    Case("link to outside", link_outside, WorkspaceError, "dataset.path", "outside"),
    Case("missing data", lambda world: world.data.unlink(), WorkspaceError, "dataset.path", got="no such file"),
    Case("missing hierarchy", lambda world: world.ages.unlink(), WorkspaceError, "attributes.age.hierarchy.file"),
    Case("folder for data", lambda world: folder_for(world.data), WorkspaceError, "dataset.path", got="a folder"),
]


@parametrized(REQUESTS)
def test_a_request_that_cannot_be_used_is_refused_before_anything_starts(case: Case, world: World) -> None:
    case.spoil(world)
    check(case, refused(world, no_engine))
    with Ledger.open(world.workspace.ledger) as ledger:
        assert [entry.release_id for entry in but_enrolments(ledger)] == [None]


def without(column: str) -> Callable[[World], object]:
    return lambda world: world.write_rows(drawn_rows(), tuple(name for name in COLUMNS if name != column))


def rewrite(change: Callable[[bytes], bytes]) -> Callable[[World], object]:
    return lambda world: world.data.write_bytes(change(world.data.read_bytes()))


def population(change: Callable[[int, dict[str, str]], dict[str, str]]) -> Callable[[World], object]:
    rows = [change(number, dict(row)) for number, row in enumerate(population_rows())]
    return lambda world: write_table(world.population, rows, (*QUASI_IDENTIFIERS, "count"))


def ages(change: Callable[[int, list[str]], list[str]]) -> Callable[[World], object]:
    return lambda world: world.write_ages([change(number, row) for number, row in enumerate(age_rows())])


def torn_archive(world: World) -> None:
    packed = gzip.compress(world.data.read_bytes())
    (world.folder / "data.csv.gz").write_bytes(packed[: len(packed) // 2])
    world.ask(dataset={"path": "data.csv.gz"})


def masking(**terms: object) -> Callable[[World], object]:
    return lambda world: world.ask(masking=[{"attributes": ["visits"]} | terms])


def masked_constant(world: World) -> None:
    world.spoil(visits=dict.fromkeys(range(240), "731"))
    masking(method="additive-noise", noise=0.1)(world)


DATA = [
    Case("masked column without variety", masked_constant, DataError, "data.csv, column visits", "does not vary"),
    Case(
        "larger groups than the file",
        masking(method="mdav", k=241),
        DataError,
        "masking[0] (mdav of visits)",
        "too few records",
        "240",
    ),
    Case(
        "a swap past less than a record",
        masking(method="rank-swapping", p=0.4),
        DataError,
        "masking[0] (rank-swapping of visits): p",
        "less than one",
        "0.4",
    ),
    Case("missing column", without("note"), DataError, "data.csv", "columns", "missing: note"),
    Case(
        "extra column",
        lambda world: world.write_rows([row | {CANARY: "x"} for row in drawn_rows()], (*COLUMNS, CANARY)),
        DataError,
        "data.csv",
        "columns",
        "undeclared: column 8",
    ),
    Case(
        "column twice",
        lambda world: world.write_rows(drawn_rows(), (*COLUMNS, "age")),
        DataError,
        "data.csv",
        "columns",
        "used twice",
    ),
    Case(
        "value outside its hierarchy",
        lambda world: world.spoil(age={4: CANARY, 9: f"{CANARY}2"}),
        DataError,
        "data.csv, column age, rows 5, 10",
        "missing from a hierarchy",
        "2 other values in 2 records",
    ),
    Case(
        "million characters in a quasi-identifier",
        lambda world: world.spoil(sex={3: CANARY * 100_000}),
        DataError,
        "column sex, row 4",
        "missing from a hierarchy",
    ),
    Case(
        "prefix that the population lacks",
        lambda world: world.spoil(zip={3: CANARY}),
        DataError,
        "column zip, row 4",
        "missing from a hierarchy",
    ),
    Case("empty file", rewrite(lambda _content: b""), DataError, "data.csv", "empty"),
    Case("header only", lambda world: world.write_rows([]), DataError, "data.csv", "no records", "a header only"),
    Case("only a line break", rewrite(lambda _content: b"\n"), DataError, "data.csv"),
    Case(
        "missing quasi-identifier beside decoys",
        lambda world: (
            world.ask(recipients=[recipient("university", decoys={"classes": 1})]),
            world.spoil(zip={0: "", 239: ""}),
        ),
        DataError,
        "data.csv, columns zip",
        "missing values, in a request with decoys",
    ),
    Case(
        "NaN in a quasi-identifier",
        lambda world: world.spoil(age={7: "NaN"}),
        DataError,
        "column age, row 8",
        "missing from a hierarchy",
    ),
    Case(
        "wrong encoding",
        rewrite(lambda content: content.decode().replace("☃", "").encode("latin-1")),
        DataError,
        "data.csv",
        "cannot be read as CSV",
        "not of this encoding",
    ),
    Case(
        "unknown encoding",
        lambda world: world.ask(dataset={"encoding": "utf-9"}),
        DataError,
        "data.csv",
        "cannot be read as CSV",
    ),
    Case(
        "uneven records",
        rewrite(lambda content: content + f"x,{CANARY}\n".encode()),
        DataError,
        "data.csv, row 241",
        "more or fewer cells",
    ),
    Case("torn archive", torn_archive, DataError, "data.csv.gz", "cannot be read"),
    Case("not Parquet", rewrite(lambda content: b"PAR1" + content), DataError, "data.csv", "Parquet"),
    Case(
        "hierarchy with a hole",
        ages(lambda number, row: [row[0], "", *row[2:]] if number == 6 else row),
        HierarchyError,
        "age.csv, level 1, row 7",
        "hole",
    ),
    Case(
        "hierarchy with a cycle",
        ages(lambda number, row: [row[0], "20" if number in (1, 2) else row[1] + "'", *row[2:]]),
        HierarchyError,
        "age.csv, level 1",
        "cycle",
    ),
    Case(
        "hierarchy of unequal depth",
        ages(lambda number, row: row[:-1] if number == 3 else row),
        HierarchyError,
        "age.csv, row 4",
        "unequal depth",
    ),
    Case(
        "hierarchy with two parents",
        ages(lambda number, row: [*row[:2], "other", "*"] if number == 6 else row),
        HierarchyError,
        "age.csv, level 2, row 7",
        "two parents",
    ),
    Case("empty hierarchy", lambda world: world.ages.write_text(""), HierarchyError, "age.csv", "empty"),
    Case(
        "population outside the hierarchy",
        population(lambda number, row: row | {"age": CANARY} if number == 2 else row),
        PopulationError,
        "population.csv, column age, row 3",
        "missing from a hierarchy",
    ),
    Case(
        "negative count of people",
        population(lambda number, row: row | {"count": "-1"} if number == 2 else row),
        PopulationError,
        "population.csv, column count",
        "counts",
    ),
    Case(
        "people that are no number",
        population(lambda number, row: row | {"count": CANARY} if number == 2 else row),
        PopulationError,
        "population.csv, column count",
        "counts",
    ),
    Case(
        "population without a quasi-identifier",
        lambda world: write_table(world.population, population_rows(), ("age", "sex", "count")),
        PopulationError,
        "population.csv",
        "lacks columns",
        "missing: zip",
    ),
    Case("empty population", lambda world: world.population.write_text(""), PopulationError, "population.csv", "empty"),
    Case(
        "population without people",
        lambda world: write_table(world.population, [], (*QUASI_IDENTIFIERS, "count")),
        PopulationError,
        "population.csv",
    ),
]


@pytest.mark.slow
@parametrized(DATA)
def test_data_that_cannot_be_used_are_refused_within_the_flow(case: Case, world: World, engine: Any) -> None:
    case.spoil(world)
    check(case, refused(world, engine))
    with Ledger.open(world.workspace.ledger) as ledger:
        requested, refusal = but_enrolments(ledger)
    assert requested.event is Event.REQUESTED
    assert requested.release_id == refusal.release_id is not None


def test_after_a_refusal_the_mended_request_is_a_new_one(world: World, engine: Any) -> None:
    """The ledger tells of each attempt."""
    world.spoil(age={4: CANARY})
    refused(world, engine)
    refused(world, engine)
    with Ledger.open(world.workspace.ledger) as ledger:
        assert [entry.event.value for entry in but_enrolments(ledger)] == ["requested", "refused"] * 2


def test_a_refusal_as_json(world: World, releasegate: Any) -> None:
    world.ask(recipients=[recipient("university", stakes=STAKES | {"cost": -4})])
    told = releasegate("release", world.request, "--workspace", world.workspace.root, "--json")
    assert told.code == 2
    assert told.err == ""
    assert told.document["ok"] is False
    assert told.document["error"].keys() == {"what", "where", "expected", "got", "fix", "problems"}
    assert "recipients[0].stakes.cost" in told.document["error"]["where"]
    assert not as_json.get()  # the command's choice ends with it, here as in a process that runs several


def test_a_request_whose_name_is_no_text(world: World, releasegate: Any) -> None:
    """File names are bytes; one that is not UTF-8 must not break messages or ledger."""
    folder = os.fsdecode(os.fsencode(world.folder) + b"\xff")
    world.enrol()
    world.folder.rename(folder)
    for command in (["release", "--workspace", str(world.workspace.root)], ["check"]):
        told = releasegate(*command, str(Path(folder, "nothing.yaml")), "--json")
        assert told.code == 2
        assert "\udcff" in told.document["error"]["where"]
        told = releasegate(*command, str(Path(folder, "nothing.yaml")))
        assert told.code == 2
        assert "no such file" in told.err
