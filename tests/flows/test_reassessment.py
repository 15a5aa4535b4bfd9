"""Assessing again what has left: in an unchanged world every figure is the original one, to the last bit."""

import csv
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pyrage
import pytest

from flows.reassessment.copy_reassessment import TodaysFiles
from flows.reassessment.run import Reassessed, reassess, reassess_all
from flows.schemas import schema_files
from flows.workspace.folders import Workspace
from reports.reassessment import reassessment, render_reassessment, verdict_box
from reports.templating import document_html
from tasks.core.canonical import canonical_json
from tasks.core.errors import BadInput, PopulationError, TamperingFound, WorkspaceError
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.reassessment.record import Reassessment, TodaysVerdict
from tasks.reassessment.scoring import score_with_originals
from tests.support.decoyed_world import POLICY as DECOYED_POLICY
from tests.support.decoyed_world import STAKES, make_decoyed_world, the_same_decoys, with_decoys
from tests.support.rendered import reassessment_html
from tests.support.search import files_holding_each
from tests.support.world import (
    ID_MARK,
    NOW,
    QUASI_IDENTIFIERS,
    SENSITIVE_MARK,
    World,
    make_world,
    population_rows,
    recipient,
    write_table,
)

KEY = str(pyrage.x25519.Identity.generate().to_public())
UNCHANGED = "Every gate is open, and every figure is that of the release."
INFORMED = "transparent.maximum_risk"
GATES = [
    {"measure": INFORMED, "at_most": 0.3, "because": "a"},
    {"measure": "prosecutor.maximum_risk", "at_most": 1, "because": "b"},
    {"measure": "journalist.maximum_risk", "at_most": 0.5, "because": "c"},
    {"measure": "attribute.homogeneous_share", "at_most": 1, "because": "m"},
    {"measure": "attribute.maximum_rise", "at_most": 1, "because": "n"},
    {"measure": "combined.expected_share", "at_most": 1, "because": "o"},
    {"measure": "sequential.maximum_risk", "at_most": 0.5, "because": "d"},
    {"measure": "combined.maximum", "at_most": 100, "because": "e"},
    {"measure": "linkage.informed_share", "at_most": 1, "because": "f"},
    {"measure": "utility.loss", "at_most": 1, "because": "g"},
    {"measure": "released.information_kept", "at_least": 0, "because": "h"},
    {"measure": "released.suppressed_share", "at_most": 0.5, "because": "i"},
]
POLICY: Mapping[str, Any] = {
    "presence": "unknown",
    "gates": GATES,
    "utility": {"target": "diagnosis"},
    "linkage": {"learned": False},
}
SEVERAL = [
    recipient("university"),
    recipient("broker", method="basic", delivery_format="parquet"),
    recipient("clinic", method="safe-harbor", encrypt_to=[KEY]),
]
"""A partition, a lattice game whose cells overlap, and whole cells; CSV, Parquet, and encrypted."""
STRICT = [{**gate, "at_most": 0.02} if gate["measure"] == INFORMED else gate for gate in GATES]
K_ANONYMOUS: Mapping[str, Any] = {
    "policy": {
        **POLICY,
        "gates": STRICT,
        "generalization": {"k_anonymity": {"k": 5, "suppression_limit": 0.1, "local_recoding": True}},
    },
    "recipients": [recipient("archive", method="k-anonymity", delivery_format="parquet", encrypt_to=[KEY])],
    "masking": [{"attributes": ["visits"], "method": "rank-swapping", "p": 40}],
}


@dataclass(frozen=True)
class Out:
    """A world whose releases have left."""

    world: World
    releases: tuple[str, ...]

    @property
    def workspace(self) -> Workspace:
        return self.world.workspace

    def record(self, release: str, who: str) -> DecisionRecord:
        path = self.workspace.bundle(release) / "decision" / f"{who}.json"
        return DecisionRecord.model_validate_json(path.read_bytes())

    def again(self, *, number: int = 0, after: int = 30, **options: Any) -> tuple[Reassessed, ...]:
        at = NOW + timedelta(days=after)
        return reassess(self.releases[number], self.workspace, TodaysFiles(**options), clock=lambda: at)

    def entries(self) -> list[dict[str, Any]]:
        with Ledger.open(self.workspace.ledger, create=False) as ledger:
            ledger.verify()
            return [dict(one.body) for one in ledger.entries(event=Event.REASSESSED)]


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Out:
    """A release to three recipients, and one of the same data to the first of them three days later."""
    world = make_world(tmp_path_factory.mktemp("several") / "world")
    world.ask(policy=POLICY, recipients=SEVERAL)
    first = world.run(engine)
    request = world.request.read_bytes()
    world.ask(policy=POLICY, recipients=[recipient("university", method="safe-harbor")], title="Second")
    second = world.run(engine, clock=lambda: NOW + timedelta(days=3))
    assert all(record.decision == "approved" for record in (*first.records, *second.records))
    world.request.write_bytes(request)
    return Out(world, (first.release_id, second.release_id))


@pytest.fixture(scope="module")
def k_anonymous(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Out:
    """One release, k-anonymous with records lifted back, masked, as encrypted Parquet."""
    world = make_world(tmp_path_factory.mktemp("k") / "world")
    world.ask(**K_ANONYMOUS)
    outcome = world.run(engine)
    assert outcome.records[0].decision == "approved"
    return Out(world, (outcome.release_id,))


@pytest.fixture(scope="module")
def decoyed(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Out:
    """A copy with decoys and one without; the search for learned distances is left out."""
    world = make_decoyed_world(tmp_path_factory.mktemp("decoyed") / "world")
    world.ask(
        recipients=[with_decoys("clinic"), recipient("university", stakes=STAKES)],
        policy={**DECOYED_POLICY, "linkage": {"learned": False}},
    )
    with the_same_decoys():
        return Out(world, (world.run(engine).release_id,))


@pytest.fixture(scope="module")
def without_originals(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Out:
    """One release whose originals are gone, so that its bytes alone are scored, which takes a moment."""
    world = make_world(tmp_path_factory.mktemp("bare") / "world")
    world.ask(policy={"gates": GATES[:1]}, recipients=[recipient("archive", method="safe-harbor")])
    outcome = world.run(engine)
    assert outcome.records[0].decision == "approved"
    world.data.unlink()
    return Out(world, (outcome.release_id,))


@pytest.fixture
def bare(without_originals: Out, tmp_path: Path) -> Out:
    """To be changed by a test."""
    return copied(without_originals, tmp_path)


@pytest.fixture
def out(k_anonymous: Out, tmp_path: Path) -> Out:
    """To be changed by a test: the ledger still names the place of the request that the release was asked with."""
    return copied(k_anonymous, tmp_path)


@contextmanager
def gone(path: Path) -> Iterator[None]:
    """Without a file for a while, such as the originals: what then is left to score takes a moment."""
    aside = path.rename(path.with_name(f"{path.name}.aside"))
    try:
        yield
    finally:
        aside.rename(path)


def copied(made: Out, folder: Path) -> Out:
    """A copy of a world; what the ledger says of the request's place goes with it."""
    shutil.copytree(made.world.folder.parent, folder / "copy")
    return Out(World(folder / "copy" / "world"), made.releases)


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[DecisionRecord]:
    """Every record that would be decided on today, as it is made."""
    found: list[DecisionRecord] = []

    def catch(*given: Any) -> DecisionRecord:
        found.append(score_with_originals(*given))
        return found[-1]

    monkeypatch.setattr("flows.reassessment.copy_reassessment.score_with_originals", catch)
    return found


def assert_same(then: DecisionRecord, now: DecisionRecord) -> None:
    """All figures are those of the record, but for other methods, stakes and divisions, of which nothing has left."""
    daily = "agreement.in_force"
    assert [gate for gate in now.gates if gate.id != daily] == [gate for gate in then.gates if gate.id != daily]
    assert now.risk is not None
    assert then.risk is not None
    assert then.risk.linkage is not None
    assert now.risk.linkage is not None
    others = {"outcomes": (), "frontier": None, "division": None}
    for one, other in (
        (then.risk.residual, now.risk.residual),
        (then.risk.initial, now.risk.initial),
        (then.risk.transparent, now.risk.transparent),
        (then.risk.sequential, now.risk.sequential),
        (then.risk.combined, now.risk.combined),
        (then.risk.game.model_copy(update=others), now.risk.game.model_copy(update=others)),
        (then.risk.linkage.model_copy(update={"policies": ()}), now.risk.linkage.model_copy(update={"policies": ()})),
        (then.fields, now.fields),
        (then.utility, now.utility),
        (then.masking, now.masking),
        (then.validation, now.validation),
        (then.statistics, now.statistics),
        (then.dataset, now.dataset),
        (then.population, now.population),
    ):
        assert one == other


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), [("made", 0), ("k_anonymous", 0), ("decoyed", 0)])
def test_an_unchanged_world_gives_the_original_figures(
    kind: str, number: int, request: pytest.FixtureRequest, scored: list[DecisionRecord], tmp_path: Path
) -> None:
    out = copied(request.getfixturevalue(kind), tmp_path)
    found = out.again(number=number)
    assert len(scored) == len(found)
    for one, now in zip(found, scored, strict=True):
        assert (one.verdict, one.changed, one.repeated, one.because[0]) == (
            TodaysVerdict.HOLDS,
            False,
            False,
            UNCHANGED,
        )
        assert_same(out.record(one.release_id, one.recipient), now)
        assert one.record is not None
        assert one.record.not_measured == ()
        assert not any(gate.changed or gate.figure_changed for gate in one.record.gates)
        assert {cause.kind for cause in one.record.causes} <= {"further release"}
    holding = files_holding_each(out.workspace.root, (ID_MARK,))
    assert holding[ID_MARK] == []
    if kind == "k_anonymous":
        assert files_holding_each(out.workspace.root, (SENSITIVE_MARK,))[SENSITIVE_MARK] == []


def test_once_more_nothing_is_written_but_that_nothing_has_changed(bare: Out) -> None:
    (first,) = bare.again(after=30)
    (second,) = bare.again(after=31)
    assert first.path is not None
    assert (second.repeated, second.path) == (True, first.path)
    assert len(list(first.path.parent.iterdir())) == 1
    assert [(one["repeated"], one["verdict"], one["due"]) for one in bare.entries()] == [
        (False, "cannot be re-assessed", "2026-05-31"),
        (True, "cannot be re-assessed", "2026-06-30"),
    ]
    stored = Reassessment.model_validate_json(first.path.read_bytes())
    assert canonical_json(stored) == first.path.read_bytes()
    jsonschema.validate(json.loads(first.path.read_bytes()), json.loads(schema_files()["reassessment.schema.json"]))


def test_a_record_that_the_ledger_does_not_name_is_told_to_nobody(bare: Out) -> None:
    """Changed after it was written, or left by a crash before its entry: it is put aside, and the copy assessed."""
    (first,) = bare.again(after=30)
    assert first.path is not None
    forged = first.path.read_bytes().replace(b'"verdict":"cannot be re-assessed"', b'"verdict":"holds"')
    assert forged != first.path.read_bytes()
    first.path.write_bytes(forged)
    (second,) = bare.again(after=31)
    assert (second.repeated, second.verdict, second.path) == (False, TodaysVerdict.CANNOT, first.path)
    (aside,) = first.path.parent.glob("*.unrecorded-*")
    assert aside.read_bytes() == forged


@pytest.mark.slow
def test_the_ledger_verifies_the_records(bare: Out, releasegate: Any) -> None:
    def verified() -> Any:
        return releasegate("verify", "ledger", "--workspace", bare.workspace.root, "--json")

    (found,) = bare.again(after=30)
    bare.again(after=31)
    assert found.path is not None
    assert verified().document["reassessments"] == {"as recorded": 1, "put aside": 0}
    content = found.path.read_bytes()

    found.path.write_bytes(content.replace(b'"cannot be re-assessed"', b'"HOLDS"'))
    changed = verified()
    assert changed.code == TamperingFound.exit_code
    assert "is not what an entry of the ledger names; the record in ledger entry" in changed.document["error"]["got"]
    assert "HOLDS" not in changed.out, "it says nothing of what the record says"

    found.path.rename(found.path.with_name(f"{'0' * 64}.json")).write_bytes(content)
    assert "does not bear the digest of its inputs" in verified().document["error"]["got"]
    shutil.rmtree(bare.workspace.reassessments)
    assert "is missing" in verified().document["error"]["got"]

    found.path.parent.mkdir(parents=True)
    found.path.write_bytes(content)
    found.path.with_name(f"{found.path.stem}.unrecorded-0.json").write_bytes(b"{}")
    assert "is not what an entry of the ledger names" in verified().document["error"]["got"], "none hides by its name"
    found.path.with_name(f"{found.path.stem}.unrecorded-0.json").rename(found.path.with_suffix(".unrecorded-0123"))
    assert verified().document["reassessments"] == {"as recorded": 1, "put aside": 1}


def test_what_follows_from_the_day_is_told_of_today(bare: Out) -> None:
    """The agreement ends in four years: 89 and then 80 days before that, the same record, and other days."""
    days = (date(2030, 12, 31) - NOW.date()).days
    (first,) = bare.again(after=days - 89)
    (second,) = bare.again(after=days - 80)
    assert (second.repeated, second.path) == (True, first.path)
    left = []
    for one in (first, second):
        assert one.record is not None
        left += [lapse.days_left for lapse in one.record.lapses if lapse.what == "agreement"]
    assert left == [89, 80]


def test_what_is_named_and_cannot_be_used_is_refused_before_anything_is_said(bare: Out, tmp_path: Path) -> None:
    folder = tmp_path / "none"
    wrong = tmp_path / "policy.yaml"
    wrong.write_text("gates: 5\n")
    for named in ({"policy": wrong}, {"request": folder}, {"population": folder}):
        with pytest.raises(BadInput):
            bare.again(**named)
        with pytest.raises(BadInput):
            reassess_all(bare.workspace, options=TodaysFiles(**named))
    assert bare.entries() == []


@pytest.mark.parametrize("of_other_data", [False, True])
def test_that_no_request_of_today_is_there_is_told(without_originals: Out, bare: Out, *, of_other_data: bool) -> None:
    request = without_originals.world.request
    document = json.loads(request.read_bytes())
    document["attributes"]["sex"] = {"role": "insensitive"}
    with gone(request):
        if of_other_data:
            request.write_text(json.dumps(document))
        (found,) = bare.again()
    assert found.record is not None
    cause = found.record.causes[0]
    assert (cause.kind, "other quasi-identifiers" in cause.text) == ("request", of_other_data)
    assert cause.text in found.because
    assert "today's request" not in {one.stage for one in found.record.not_measured}, (
        "it keeps nothing from being judged"
    )


def shrink(world: World, *, divisor: int, path: Path | None = None) -> Path:
    """Write a population with a fraction of the people, at least one of each kind."""
    target = path or world.population
    rows = [{**row, "count": str(max(int(row["count"]) // divisor, 1))} for row in population_rows()]
    write_table(target, rows, (*QUASI_IDENTIFIERS, "count"))
    return target


def test_a_population_that_has_shrunk_closes_gates_and_says_so(out: Out, tmp_path: Path) -> None:
    smaller = shrink(out.world, divisor=20, path=tmp_path / "smaller.csv")
    (found,) = out.again(population=smaller)
    assert (found.verdict, found.before, found.changed) == (
        TodaysVerdict.BLOCKED,
        TodaysVerdict.HOLDS,
        True,
    )
    record = found.record
    assert record is not None
    then = out.record(out.releases[0], "archive").risk
    assert then is not None
    informed = next(gate for gate in record.gates if gate.id == INFORMED)
    assert informed.measured_then == then.transparent.maximum_risk
    assert informed.measured is not None
    assert informed.measured > informed.measured_then
    assert (informed.open_then, informed.open, informed.changed) == (True, False, True)
    assert [cause.text for cause in record.causes] == [
        f"The population has shrunk from {record.people_then:,} to {record.people:,} people."
    ]
    assert out.entries()[-1]["gates"][0] == INFORMED
    (back,) = out.again(after=40)
    assert (back.verdict, back.before, back.changed) == (TodaysVerdict.HOLDS, TodaysVerdict.BLOCKED, True)
    assert back.path != found.path


def test_what_the_shrunk_population_gives_is_what_a_loop_over_its_people_gives(
    made: Out, scored: list[DecisionRecord], tmp_path: Path
) -> None:
    """Whole cells of the Safe Harbor copy: each record hides among the people whose age, sex and area it shows."""
    smaller = shrink(made.world, divisor=10, path=tmp_path / "smaller.csv")
    out = copied(made, tmp_path)
    out.again(number=1, population=smaller)
    people = list(csv.DictReader(smaller.read_text().splitlines()))
    path = out.workspace.bundle(out.releases[1]) / "delivery" / "university" / "data.csv"
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    matching = [
        sum(
            int(one["count"])
            for one in people
            if row["age"] in {one["age"], "*"}
            and row["sex"] in {one["sex"], "*"}
            and one["zip"].startswith(row["zip"][:3])
        )
        for row in rows
    ]
    risk = scored[0].risk
    assert risk is not None
    assert risk.residual.journalist.maximum == 1 / min(matching)
    assert risk.residual.journalist.mean == pytest.approx(sum(1 / size for size in matching) / len(rows), rel=1e-12)
    assert risk.transparent.maximum_risk == 1 / min(matching)


def test_another_policy_and_other_prices_are_told_apart(out: Out, tmp_path: Path) -> None:
    strict = [{**gate, "at_most": 0.001} if gate["measure"] == INFORMED else gate for gate in GATES]
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps({**POLICY, "gates": strict, "id": "standard", "version": "2"}))
    (found,) = out.again(policy=policy)
    assert found.verdict is TodaysVerdict.BLOCKED
    assert found.record is not None
    (cause,) = found.record.causes
    assert (cause.kind, cause.text.partition("-")[0]) == ("policy", "The policy is standard 2 now, before standard 1")
    assert cause.text.endswith(" (gates).")
    assert "at most 0.001 allowed. When it was released:" in found.because[0]
    cheaper = out.world.folder / "cheaper.yaml"
    stakes = {"benefit": 1200, "loss": 300, "cost": 1}
    shutil.copyfile(out.world.request, tmp_path / "request.yaml")
    changes = {**K_ANONYMOUS, "recipients": [{**K_ANONYMOUS["recipients"][0], "stakes": stakes}]}
    out.world.ask(**changes).rename(cheaper)
    shutil.copyfile(tmp_path / "request.yaml", out.world.request)
    (priced,) = out.again(request=cheaper)
    assert priced.record is not None
    assert [one.text for one in priced.record.causes] == ["Terms of the recipient are others: stakes.cost."]


def test_without_the_originals_the_bytes_are_scored_alone_and_the_rest_is_named(
    k_anonymous: Out, tmp_path: Path
) -> None:
    out = copied(k_anonymous, tmp_path)
    data = k_anonymous.world.data
    with gone(data):
        data.write_bytes(b"others")
        (changed,) = out.again()
        data.unlink()
        (lost,) = out.again(after=31)
    for found, why in ((changed, "have changed"), (lost, "are gone")):
        assert (found.verdict, found.changed) == (TodaysVerdict.CANNOT, found is changed)
        record = found.record
        assert record is not None
        assert {one.stage for one in record.not_measured} == {"validation", "record linkage", "utility"}
        assert all(why in one.reason for one in record.not_measured)
        by_id = {gate.id: gate for gate in record.gates}
        assert by_id["linkage.informed_share"].open is None
        for name in (INFORMED, "prosecutor.maximum_risk", "journalist.maximum_risk", "sequential.maximum_risk"):
            assert by_id[name].measured == by_id[name].measured_then
        for name in (
            "combined.maximum",
            "combined.expected_share",
            "attribute.homogeneous_share",
            "attribute.maximum_rise",
            "released.information_kept",
            "released.suppressed_share",
        ):
            assert by_id[name].measured == pytest.approx(by_id[name].measured_then, rel=1e-12)


def test_bytes_that_are_not_those_that_left_are_never_scored(bare: Out) -> None:
    delivered = next((bare.workspace.bundle(bare.releases[0]) / "delivery" / "archive").glob("data*"))
    delivered.write_bytes(delivered.read_bytes()[:-1] + b"!")
    (found,) = bare.again()
    assert (found.verdict, found.record) == (TodaysVerdict.CANNOT, None)
    assert "could not be assessed again" in found.because[0]
    assert bare.entries()[-1]["reassessment_sha256"] is None


def test_what_was_kept_must_be_there_and_unchanged(bare: Out) -> None:
    kept = bare.workspace.kept(bare.releases[0], "archive")
    content = kept.read_bytes()
    kept.write_bytes(content[:-20])
    (damaged,) = bare.again()
    kept.unlink()
    (gone,) = bare.again()
    assert (damaged.verdict, gone.verdict) == (TodaysVerdict.CANNOT, TodaysVerdict.CANNOT)
    assert "sealed file" in damaged.because[0]
    assert "sealed file" in gone.because[0]


def test_a_population_of_others_leaves_nothing_to_score(out: Out, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    write_table(other, [{"age": "7", "sex": "X", "zip": "99999", "count": "5"}], (*QUASI_IDENTIFIERS, "count"))
    (found,) = out.again(population=other)
    assert found.verdict is TodaysVerdict.CANNOT
    assert "nobody in the population has the values" in found.because[0]
    assert found.record is not None
    assert {gate.open for gate in found.record.gates if gate.id == INFORMED} == {None}


def test_a_named_file_that_is_no_population_is_refused_and_nothing_is_recorded(out: Out, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    write_table(other, [{"age": "7", "colour": "red"}], ("age", "colour"))
    before = out.entries()
    with pytest.raises(PopulationError):
        out.again(population=other)
    with pytest.raises(PopulationError):
        reassess_all(out.workspace, options=TodaysFiles(population=other))
    assert out.entries() == before


def test_an_agreement_that_has_ended_closes_its_gate(out: Out) -> None:
    (found,) = out.again(after=5 * 365)
    assert found.verdict is TodaysVerdict.BLOCKED
    assert found.record is not None
    assert [one.kind for one in found.record.causes] == ["agreement"]
    assert found.record.lapses[0].what in {"ZIP code table", "agreement", "determination"}
    ended = {one.what: one.within for one in found.record.lapses}
    assert ended["agreement"] is None
    assert ended["determination"] is None
    assert found.late == 5 * 365 - 90


def test_copies_of_one_recipient_are_judged_together_and_those_of_others_compared(made: Out, tmp_path: Path) -> None:
    out = copied(made, tmp_path)
    (found,) = out.again(number=1)
    assert found.record is not None
    hands = {(hand.kind, hand.recipients): hand for hand in found.record.coalitions}
    assert set(hands) == {
        ("same recipient", ("university",)),
        ("compared", ("university", "broker")),
        ("compared", ("university", "clinic")),
    }
    own = hands["same recipient", ("university",)]
    assert own.judged
    assert set(own.releases) == set(out.releases)
    assert own.shared == 240
    alone = next(gate for gate in found.record.gates if gate.id == INFORMED)
    both = next(gate for gate in own.gates if gate.id == INFORMED)
    assert both.measured == slow_informed(out, (out.releases[1], out.releases[0]), "university")
    assert both.measured > alone.measured  # type: ignore[operator]
    assert [one.kind for one in found.record.causes] == ["further release"]
    html = reassessment_html(found.record)
    judged, compared = html.split("compared, and not judged", 1)
    assert "✓ passed" in judged
    assert "✓ passed" not in compared.partition('id="dates"')[0], "what is only compared opens and closes nothing"
    assert ">within<" in compared


def slow_informed(out: Out, releases: Sequence[str], who: str) -> float:
    """The highest risk for somebody with both copies: records and people one by one, joined by what leaves as it is."""
    with out.world.data.open(newline="") as lines:
        originals = list(csv.DictReader(lines))
    cells = []
    for release in releases:
        path = out.workspace.bundle(release) / "delivery" / who / "data.csv"
        with path.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        used: dict[tuple[str, ...], tuple[str, ...]] = {}
        for row in rows:
            shown = tuple(row[name] for name in QUASI_IDENTIFIERS)
            for one in originals:
                if fits(one, shown):
                    used[one["age"], one["sex"], one["zip"]] = shown
        cells.append(used)
    worst = 0.0
    for one in originals:
        values = one["age"], one["sex"], one["zip"]
        shown = [used[values] for used in cells]
        size = sum(int(row["count"]) for row in population_rows() if all(fits(row, cell) for cell in shown))
        worst = max(worst, 1 / size)
    return worst


def fits(row: Mapping[str, str], shown: Sequence[str]) -> bool:
    age, sex, area = shown
    ages = {row["age"], f"{int(row['age']) // 5 * 5}-{int(row['age']) // 5 * 5 + 4}", f"{row['age'][0]}0s", "*"}
    areas = {row["zip"], row["zip"][:3] + "**", row["zip"][:3], "*"}
    return age in ages and sex in {row["sex"], "*"} and area in areas


def test_recipients_who_are_taken_to_share_are_judged_together(made: Out, tmp_path: Path) -> None:
    out = copied(made, tmp_path)
    gates = [{**gate, "at_most": 0.2} if gate["measure"] == INFORMED else gate for gate in GATES]
    together = {"together": [["university", "broker"]], "colluding": 1}
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        json.dumps({**POLICY, "gates": gates, "reassessment": together, "id": "standard", "version": "2"})
    )
    (found,) = out.again(number=1, policy=policy)
    assert found.record is not None
    declared = next(hand for hand in found.record.coalitions if hand.kind == "declared")
    assert declared.recipients == ("university", "broker")
    assert not [hand for hand in found.record.coalitions if hand.kind == "compared"]
    assert found.verdict is TodaysVerdict.BLOCKED
    assert "3 pooled releases" not in found.because[0]
    assert "pooled releases (university, broker)" in " ".join(found.because)


def test_a_copy_that_cannot_be_pooled_does_not_pass_for_one_that_was(made: Out, tmp_path: Path) -> None:
    """With what was kept of the other copy damaged it is another re-assessment, whatever was said before."""
    out = copied(made, tmp_path)
    (whole,) = out.again(number=1)
    kept = out.workspace.kept(out.releases[0], "university")
    content = kept.read_bytes()
    kept.write_bytes(content[:-20])
    (damaged,) = out.again(number=1)
    kept.write_bytes(content)
    (restored,) = out.again(number=1)
    assert [one.verdict for one in (whole, damaged, restored)] == [
        TodaysVerdict.HOLDS,
        TodaysVerdict.CANNOT,
        TodaysVerdict.HOLDS,
    ]
    assert [(one.changed, one.repeated) for one in (damaged, restored)] == [(True, False), (True, True)]
    assert "sealed file" in " ".join(damaged.because)
    assert [one["before"] for one in out.entries()] == ["holds", "holds", "cannot be re-assessed"]


def test_a_bundle_that_is_gone_keeps_no_other_copy_from_its_turn(made: Out, tmp_path: Path) -> None:
    out = copied(made, tmp_path)
    shutil.rmtree(out.workspace.bundle(out.releases[0]))
    with gone(made.world.data):
        found = reassess_all(out.workspace, clock=lambda: NOW + timedelta(days=30))
    assert len(found) == 4
    lost, there = found[:3], found[3]
    assert all((one.verdict, one.record) == (TodaysVerdict.CANNOT, None) for one in lost)
    assert all("the bundle of a release that has left is gone" in one.because[0] for one in lost)
    assert there.record is not None
    assert {gate.open for gate in there.record.gates if gate.id == INFORMED} == {True}, "it is scored all the same"
    assert "is gone" in there.record.coalitions[0].cannot
    assert there.verdict is TodaysVerdict.CANNOT


def test_a_release_that_another_process_works_on_is_passed_over_and_stays_due(
    made: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copied(made, tmp_path)
    monkeypatch.setattr("flows.releases.cases._LONGEST_WAIT", 0.0)
    told: list[Reassessed] = []
    busy = pytest.raises(WorkspaceError, match="worked on by another process")
    with out.workspace.locked(out.releases[0]), gone(made.world.data), busy:
        reassess_all(out.workspace, clock=lambda: NOW + timedelta(days=30), tell=told.append)
    assert [(one.release_id, one.verdict) for one in told] == [(out.releases[1], TodaysVerdict.CANNOT)]
    assert len(out.entries()) == 1


def test_sets_that_are_too_many_to_be_compared_are_counted(
    made: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = copied(made, tmp_path)
    monkeypatch.setattr("flows.reassessment.copy_reassessment._MOST_SETS", 1)
    with gone(made.world.data):
        (found,) = out.again(number=1)
    assert found.record is not None
    assert [hand.kind for hand in found.record.coalitions] == ["same recipient", "compared"]
    assert found.record.sets_left_out == 1
    assert "1 further set" in reassessment_html(found.record)


def test_all_copies_and_those_that_are_due(made: Out, tmp_path: Path) -> None:
    out = copied(made, tmp_path)
    told: list[Reassessed] = []
    early = reassess_all(out.workspace, clock=lambda: NOW + timedelta(days=80), due_only=True, tell=told.append)
    assert (early, told) == ((), [])
    assert out.entries() == []
    with gone(made.world.data):
        due = reassess_all(out.workspace, clock=lambda: NOW + timedelta(days=90), due_only=True, tell=told.append)
    assert [one.recipient for one in due] == ["university", "broker", "clinic"]
    assert [one.recipient for one in told] == [one.recipient for one in due]
    assert all(one.late == 0 for one in due)
    assert reassess_all(out.workspace, clock=lambda: NOW + timedelta(days=90), due_only=True) == ()


def test_a_copy_with_decoys_gives_nothing_away_and_is_judged_by_what_was_measured_of_them(
    decoyed: Out, tmp_path: Path
) -> None:
    out = copied(decoyed, tmp_path)
    with gone(decoyed.world.data):
        found = next(one for one in out.again() if one.recipient == "clinic")
    assert found.record is not None
    assert found.record.decoyed
    (gate,) = (gate for gate in found.record.gates if gate.id == "decoys.detectability")
    assert (gate.open_then, gate.open, gate.figure_changed) == (True, True, False)
    informed = next(gate for gate in found.record.gates if gate.id == INFORMED)
    assert informed.measured == informed.measured_then
    measured = [gate.measured for hand in found.record.coalitions for gate in hand.gates if gate.measured]
    assert measured
    assert all(float(f"{one:.2e}") == one for one in measured)
    assert "Figures of this copy are rounded" in reassessment_html(found.record)
    assert files_holding_each(out.workspace.kept(out.releases[0], "clinic").parent, (SENSITIVE_MARK,)) == {
        SENSITIVE_MARK: []
    }


def test_the_report_is_the_same_bytes_each_time(out: Out) -> None:
    (found,) = out.again()
    assert found.record is not None
    assert render_reassessment(found.record) == render_reassessment(found.record)
    html = reassessment_html(found.record)
    assert "The decision holds" in html
    assert "Gates of this copy by itself" in html
    assert "None" not in html.replace("None is beyond", "")


def test_that_a_release_was_revoked_comes_first(bare: Out, releasegate: Any) -> None:
    with Ledger.open(bare.workspace.ledger, create=False) as ledger:
        body = bodies.revoked("a.steward", WorkflowRole.REQUESTER, "Agreement broken")
        ledger.append(
            Event.REVOKED, release_id=bare.releases[0], recipient="archive", actor="a.steward", body=body, at=NOW
        )
    (found,) = bare.again()
    revoked = f"This release was revoked on {NOW:%Y-%m-%d}: nothing may be delivered under it."
    assert found.ended == revoked
    assert found.record is not None
    html = document_html(reassessment(found.record, found.ended))
    assert html.index(revoked) < html.index("still has")
    assert "would be released today" not in html
    told = releasegate("reassess", bare.releases[0][:12], "--workspace", bare.workspace.root)
    assert revoked in " ".join(told.out.split())
    assert "still has" in " ".join(told.out.split())
    held = found.record.model_copy(update={"verdict": TodaysVerdict.HOLDS})
    assert verdict_box(held, ended=True).words == "Its gates would pass today"
    assert "would be released today" in verdict_box(held, ended=False).meaning


def test_a_release_of_which_nothing_has_left_has_nothing_to_assess(engine: Any, world: World) -> None:
    world.uncover(0)
    outcome = world.run(engine)
    with pytest.raises(BadInput, match="no copy of this release was delivered"):
        reassess(outcome.release_id, world.workspace)


def test_the_command_line(out: Out, releasegate: Any, tmp_path: Path) -> None:
    reports = ("--workspace", out.workspace.root, "--report", tmp_path / "pdf")
    told = releasegate("reassess", out.releases[0][:12], *reports)
    assert told.code == 0
    assert "holds  archive" in told.out
    assert "Gates then and today" in told.out
    (report,) = (tmp_path / "pdf").iterdir()
    assert report.name.startswith(f"{out.releases[0][:12]}-archive-")
    content = report.read_bytes()
    assert content[:5] == b"%PDF-"
    smaller = shrink(out.world, divisor=20, path=tmp_path / "smaller.csv")
    told = releasegate("reassess", "--all", *reports, "--under", smaller, "--json")
    assert told.code == 3
    (one,) = told.document["reassessed"]
    assert (one["verdict"], one["before"], one["changed"]) == ("would be blocked", "holds", True)
    assert sorted((tmp_path / "pdf").iterdir()) == sorted([report, Path(one["report"])])
    assert report.read_bytes() == content, "no report takes the place of another"
    assert releasegate("reassess", "--workspace", out.workspace.root).code == 2
