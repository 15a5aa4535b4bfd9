"""Pages whose commands are followed word for word, in their order, each in one world; what they show is compared.

The tutorial and the pages on the studio and on signatures are followed by tests of their own.
"""

import json
import secrets
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

import flows.workspace.actor
from flows.cli.assess import AssessedMethod
from flows.gate.outcome import Outcome
from flows.people.accounts import Accounts
from flows.workspace.actor import utc_now
from flows.workspace.folders import open_workspace
from tasks.core.people import WorkflowRole
from tests.support.brief_reports import brief_reports
from tests.support.dated_world import make_dated_visits
from tests.support.decoyed_world import POLICY, make_decoyed_world, population_rows, the_same_decoys, with_decoys
from tests.support.engines import in_process
from tests.support.enrolled import enrol_people
from tests.support.followed import DOCS, Follower
from tests.support.world import (
    BROKER,
    QUASI_IDENTIFIERS,
    UNIVERSITY,
    WHOLE_CELLS,
    World,
    age_rows,
    make_world,
    write_table,
)

Follows = Callable[[str], Follower]
STRICTER = [{"measure": "transparent.maximum_risk", "at_most": 0.001, "because": "stricter"}]
PASSWORD = "a password of many words"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A folder with a request and what it names, in which the reader works."""
    made = make_world(tmp_path / "here")
    monkeypatch.chdir(made.folder)
    monkeypatch.delenv("RELEASEGATE_WORKSPACE", raising=False)
    return made


@pytest.fixture
def follows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Follows:
    return lambda page: Follower(page, monkeypatch, capsys)


def test_every_page_that_shows_output_is_followed() -> None:
    pages = {path.name for path in DOCS.rglob("*.md") if "\n$ releasegate " in path.read_text(encoding="utf-8")}
    assert pages == {"assessing.md", "studio.md", "tutorial.md"}


@pytest.mark.slow
def test_assessing(follows: Follows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """METHOD is each that there is; RELEASE is blocked."""
    reader, workspace = follows("assessing.md"), tmp_path / "workspace"
    monkeypatch.setenv("RELEASEGATE_WORKSPACE", str(workspace))
    monkeypatch.chdir(DOCS.parent)
    dated, decoyed = make_dated_visits(tmp_path / "dated"), make_decoyed_world(tmp_path / "decoyed")
    line, _ = reader.left.pop(0)
    for method in AssessedMethod:
        reader.run(line, METHOD=method, REQUEST=str(decoyed.request if method == "decoys" else dated.request))
    reader.follow("releasegate assess game")
    reader.follow("releasegate assess fmdp")
    with brief_reports():
        reader.run("releasegate release examples/clinic/request.yaml --enrol", 3)
    (bundle,) = (workspace / "releases").iterdir()
    reader.follow("releasegate explain", RELEASE=bundle.name)
    assert reader.left == []


@pytest.mark.slow
def test_enrolments(follows: Follows, world: World) -> None:
    """The reader's login is that of the requester, who is no officer."""
    reader = follows("enrolments.md")
    asked = {"title": "Visits", "requested_by": "ana.ruiz", "policy": {"review": {"officers": ["paul.ortiz"]}}}
    world.ask(**asked)
    reader.follow("releasegate enrol request")
    with brief_reports():
        reader.follow("releasegate release request.yaml --enrol")
    Path("policy.yaml").write_text(json.dumps({"id": "research", "version": "1.0", "presence": "unknown"}))
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(world.population), "counts.parquet")
    Path("icd10.csv").write_text("".join(";".join(row) + "\n" for row in age_rows()))
    Path("visits.yaml").write_bytes(world.request.read_bytes())
    with flows.workspace.actor.acting_as("ortiz"):
        for what in ("policy", "population", "sample", "person", "hierarchy", "template", "end policy"):
            printed = reader.follow(f"releasegate enrol {what} ", OFFICER="paul.ortiz")
            assert printed.startswith("ended" if what.startswith("end") else "enrolled"), printed
    assert reader.left == []
    shown = " ".join(reader.run("releasegate enrol list").split())
    for part in ("Census 2020", "Members of the plan", "Mary Okafor, reviewer, login okafor", "icd10/2026", "visits/1"):
        assert part in shown
    assert "research/1.0" not in shown


@pytest.mark.slow
def test_reassessment(follows: Follows, world: World) -> None:
    """A copy of last quarter, which its policy re-assesses after 90 days."""
    reader = follows("reassessment.md")
    world.ask(policy={"reassessment": {"every_days": 90}})
    with brief_reports():
        release = world.run(
            in_process(world.folder / "none"), world.folder / "workspace", clock=lambda: utc_now() - timedelta(days=91)
        ).release_id
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(world.population), "census-2027.parquet")
    policy = json.loads(world.request.read_text())["policy"] | {"version": "2", "gates": STRICTER}
    Path("policy.yaml").write_text(json.dumps(policy))
    assert "holds" in reader.follow("releasegate reassess 3f9c2a17", **{"3f9c2a17": release})
    assert "nothing is due" in reader.follow("releasegate reassess --due")
    assert "would be blocked" in reader.follow("releasegate reassess --all --under", 3)
    assert len(list(Path("reports").glob("*.pdf"))) == 1
    assert reader.left == []


@pytest.mark.slow
def test_reviews(follows: Follows, world: World) -> None:
    """A release awaits one vote; another is blocked by three gates, of which the page names the first."""
    reader = follows("reviews.md")
    closed = ["transparent.maximum_risk", "transparent.attacked_share", "combined.expected_share"]
    review = {"required": 1, "reviewers": ["mary.okafor"], "officers": ["paul.ortiz"], "overridable": closed}

    def decided(recipient: dict[str, Any]) -> Outcome:
        world.ask(recipients=[recipient], requested_by="ana.ruiz", policy={"review": review})
        with flows.workspace.actor.acting_as("ruiz"):
            return world.run(in_process(world.folder), world.folder / "workspace", clock=utc_now)

    with brief_reports():
        waiting = decided(UNIVERSITY)
        named, delivered = {"3f9c2a17": waiting.release_id}, waiting.bundle / "delivery/university/data.csv"
        reader.follow("releasegate review 3f9c2a17 --recipient university", 4, **named)
        assert not delivered.exists()
        reader.follow("releasegate review 3f9c2a17 --recipient university --vote approve", **named)
        assert delivered.exists()
        assert "REVOKED" in reader.follow("releasegate revoke", **named)
        blocked = decided(BROKER)
        assert [gate.id for gate in blocked.records[0].gates if not gate.passed] == closed
        named = {"3f9c2a17": blocked.release_id}
        line, _ = reader.left[0]
        for gate in closed[1:]:
            reader.run(line.replace(closed[0], gate), **named)
        reader.follow("releasegate override", **named)
        assert "AWAITING REVIEW" in reader.follow("releasegate release request.yaml", 4)
    assert reader.left == []


@pytest.mark.slow
def test_tracing(follows: Follows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaks are whole copies; the ids are of people of the population."""
    reader = follows("tracing.md")
    monkeypatch.chdir(tmp_path)
    decoyed, coded = make_decoyed_world(tmp_path / "decoyed"), make_world(tmp_path / "coded")
    decoyed.ask(recipients=[with_decoys("clinic"), with_decoys("registry")], policy=POLICY | WHOLE_CELLS)
    coded.ask(recipients=[UNIVERSITY], attributes={"record_id": {"role": "pseudonym", "pseudonym": {"format": "code"}}})
    with brief_reports(), the_same_decoys():
        traced, identified = (one.run(in_process(tmp_path), one.folder / "workspace") for one in (decoyed, coded))
    monkeypatch.setenv("RELEASEGATE_WORKSPACE", str(decoyed.folder / "workspace"))
    shutil.copy(traced.bundle / "delivery/clinic/data.csv", "leaked.csv")
    assert "Points to clinic" in reader.follow("releasegate trace", RELEASE=traced.release_id)
    register = [row | {"person": f"{place}"} for place, row in enumerate(population_rows())]
    write_table(Path("register.csv"), register, ("person", *QUASI_IDENTIFIERS))
    write_table(Path("ids.csv"), register[:30], ("person",))
    reader.follow("releasegate trace", RELEASE=traced.release_id)
    monkeypatch.setenv("RELEASEGATE_WORKSPACE", str(coded.folder / "workspace"))
    shutil.copy(identified.bundle / "delivery/university/data.csv", "leaked.csv")
    for _ in range(2):
        told = reader.follow("releasegate identify", RELEASE=identified.release_id, patient="record_id")
        assert "the copy of university" in told
    assert len(Path("people.csv").read_text().splitlines()) == 241
    reader.follow("releasegate key rotate")
    assert reader.left == []


@pytest.mark.slow
def test_accounts(follows: Follows, world: World) -> None:
    reader = follows("reviewing.md")
    place = open_workspace(world.folder / "workspace")
    reviewer, officer = [WorkflowRole.REVIEWER], [WorkflowRole.OFFICER]
    enrol_people(place, {"Mary Okafor": reviewer, "Lise Sand": reviewer, "Paul Ortiz": officer})
    accounts = Accounts(place)
    reader.follow("releasegate account add okafor", typed=f"{PASSWORD}\n")
    assert "Mary Okafor" in reader.run("releasegate account list")
    reader.run("releasegate account password okafor", typed=f"{PASSWORD} anew\n")
    secret = secrets.token_bytes(20)
    code = TOTP(secret, 6, SHA1(), 30).generate(int(utc_now().timestamp())).decode()  # noqa: S303 - what apps do
    accounts.set_second_factor("okafor", secret, code, utc_now())
    assert "reset" in reader.run("releasegate account reset okafor")
    reader.run("releasegate account remove okafor")
    assert accounts.all() == ()
    reader.follow("releasegate account add sand")
    (sand,) = accounts.all()
    assert (sand.person, sand.password) == ("lise.sand", None)
    assert reader.left == []
