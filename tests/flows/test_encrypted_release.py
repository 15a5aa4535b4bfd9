"""A release to recipients with public keys, as Parquet and CSV: nobody but the holders of the keys has anything."""

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyrage
import pytest

import flows.actions.reviewing
from flows.gate.outcome import Outcome
from flows.gate.release import run_release
from flows.releases.cases import ReleaseAction, pending_key
from flows.workspace.folders import INPUTS, Workspace
from flows.workspace.progress import listening
from tasks.core.errors import StageFailed, TamperingFound
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import DecisionRecord
from tasks.decision.states import State
from tasks.delivery.bundle import seal
from tasks.delivery.pending import seal_folder
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support.acting import cast_vote
from tests.support.enrolled import but_enrolments
from tests.support.search import files_holding_each, holds
from tests.support.world import (
    HARD_NOTES,
    ID_MARK,
    NOW,
    QUASI_IDENTIFIERS,
    RECORDS,
    SENSITIVE_MARK,
    World,
    drawn_rows,
    make_world,
    recipient,
)

MARKS = (ID_MARK, SENSITIVE_MARK)
NOWHERE: dict[str, list[str]] = {mark: [] for mark in MARKS}
ARCHIVE = pyrage.x25519.Identity.generate()
CLINIC = pyrage.x25519.Identity.generate()
DEPUTY = pyrage.x25519.Identity.generate()
STRANGER = pyrage.x25519.Identity.generate()
RECIPIENTS = [
    recipient("archive", delivery_format="parquet", encrypt_to=[str(ARCHIVE.to_public())]),
    recipient("clinic", encrypt_to=[str(CLINIC.to_public()), str(DEPUTY.to_public())]),
]
FILES = {"archive": "data.parquet.age", "clinic": "data.csv.age"}
LISTS = tuple(f"hierarchies/{name}.csv.age" for name in QUASI_IDENTIFIERS)
KEPT = ("diagnosis", "visits", "note")
REVIEW = {"required": 2, "reviewers": ["M. Okafor", "J. Brandt"], "officers": ["P. Officer"]}


@dataclass(frozen=True)
class Published:
    """A world whose release is published."""

    world: World
    outcome: Outcome

    @property
    def workspace(self) -> Workspace:
        return self.world.workspace

    @property
    def bundle(self) -> Path:
        return self.outcome.bundle

    def ciphertext(self, who: str) -> Path:
        return self.bundle / "delivery" / who / FILES[who]

    def clear(self, who: str, identity: Any) -> bytes:
        return bytes(pyrage.decrypt(self.ciphertext(who).read_bytes(), [identity]))

    def record(self, who: str) -> DecisionRecord:
        return DecisionRecord.model_validate_json((self.bundle / "decision" / f"{who}.json").read_bytes())

    def problems(self, *, alone: bool = False) -> str:
        with Ledger.open(self.workspace.ledger, create=False) as ledger, pytest.raises(TamperingFound) as caught:
            verify_bundle(self.bundle, None if alone else ledger)
        return caught.value.got


@pytest.fixture(scope="module")
def published(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Published:
    world = make_world(tmp_path_factory.mktemp("encrypted") / "world")
    world.ask(recipients=RECIPIENTS, attributes={"visits": {"labels": {"1": "once", "2": "twice"}}})
    return Published(world, world.run(engine))


@pytest.fixture
def copied(published: Published, tmp_path: Path) -> Published:
    """To be changed by a test."""
    shutil.copytree(published.world.folder.parent, tmp_path / "copy")
    world = World(tmp_path / "copy" / "world")
    bundle = world.workspace.bundle(published.outcome.release_id)
    return Published(world, Outcome(published.outcome.release_id, bundle, (), repeated=False))


def test_only_ciphertext_is_delivered(published: Published) -> None:
    for who, name in FILES.items():
        folder = published.bundle / "delivery" / who
        assert {path.name for path in folder.iterdir()} == {name, "dictionary.json", "hierarchies", "manifest.json"}
        assert published.ciphertext(who).read_bytes().startswith(b"age-encryption.org/v1\n")
        dictionary = json.loads((folder / "dictionary.json").read_bytes())
        assert dictionary["file"] == name
        assert not any("labels" in column for column in dictionary["columns"]), "they tell which values occur"


def test_no_value_and_no_identifier_is_outside_of_it(published: Published, engine: Any) -> None:
    for folder in (published.workspace.root, engine.home):
        assert files_holding_each(folder, MARKS) == NOWHERE
    clear = published.clear("clinic", CLINIC)
    assert holds(clear, SENSITIVE_MARK)
    assert not holds(clear, ID_MARK)


def test_what_is_decrypted_is_what_was_checked(published: Published) -> None:
    for who, identity in (("archive", ARCHIVE), ("clinic", CLINIC), ("clinic", DEPUTY)):
        record, clear = published.record(who), published.clear(who, identity)
        assert record.dataset.output_sha256 == sha256(clear).hexdigest()
        (rescored,) = (gate for gate in record.gates if gate.id == RESCORED_EQUAL)
        assert rescored.passed
        assert rescored.evidence_sha256 == record.dataset.output_sha256


def test_it_holds_every_record_as_a_file_in_clear_would(published: Published) -> None:
    kept = [tuple(row[name] for name in KEPT) for row in drawn_rows()]
    table = pq.read_table(io.BytesIO(published.clear("archive", ARCHIVE)))
    assert table.num_rows == RECORDS
    assert Counter(zip(*(map(str, table[name].to_pylist()) for name in KEPT), strict=True)) == Counter(kept)
    assert str(table.schema.field("visits").type) == "int64"
    assert set(HARD_NOTES) < set(table["note"].to_pylist()), "text in Parquet is as it is"
    rows = list(csv.DictReader(io.StringIO(published.clear("clinic", CLINIC).decode(), newline="")))
    assert Counter(tuple(row[name].removeprefix("'") for name in KEPT) for row in rows) == Counter(kept)


def test_another_key_does_not_open_it(published: Published) -> None:
    for who, identity in (("archive", STRANGER), ("archive", CLINIC), ("clinic", ARCHIVE)):
        with pytest.raises(pyrage.DecryptError):
            published.clear(who, identity)


def test_record_ledger_and_manifests_name_both_hashes(published: Published) -> None:
    with Ledger.open(published.workspace.ledger, create=False) as ledger:
        released = {entry.recipient: entry.body for entry in ledger.entries(event=Event.RELEASED)}
        assert verify_bundle(published.bundle, ledger).delivered == ("archive", "clinic")
    for who, name in FILES.items():
        record = published.record(who)
        assert record.delivery is not None
        delivered = sha256(published.ciphertext(who).read_bytes()).hexdigest()
        assert (record.delivery.file, record.delivery.sha256, record.delivered_sha256) == (name, delivered, delivered)
        assert released[who] == {"output_sha256": record.dataset.output_sha256, "delivered_sha256": delivered}
        manifest = json.loads((published.bundle / "delivery" / who / "manifest.json").read_bytes())
        assert {one["path"]: one["sha256"] for one in manifest["files"]}[name] == delivered
    assert [key.fingerprint for key in published.record("clinic").delivery.encrypted_to] == [  # type: ignore[union-attr]
        sha256(str(identity.to_public()).encode()).hexdigest() for identity in (CLINIC, DEPUTY)
    ]


def test_no_key_is_repeated_anywhere(published: Published) -> None:
    keys = [str(identity.to_public()) for identity in (ARCHIVE, CLINIC, DEPUTY)]
    assert files_holding_each(published.workspace.root, keys) == {key: [] for key in keys}


def flip(published: Published) -> None:
    path = published.ciphertext("clinic")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def add_clear(published: Published) -> None:
    clear = published.clear("clinic", CLINIC)
    (published.bundle / "delivery" / "clinic" / "data.csv").write_bytes(clear)


def put_clear(published: Published) -> None:
    clear = published.clear("clinic", CLINIC)
    published.ciphertext("clinic").unlink()
    (published.bundle / "delivery" / "clinic" / "data.csv").write_bytes(clear)


def encrypt_another(published: Published) -> None:
    published.ciphertext("clinic").write_bytes(pyrage.encrypt(b"age\n20\n", [CLINIC.to_public()]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (flip, "delivery/clinic/data.csv.age was altered"),
        (add_clear, "delivery/clinic holds 2 data files instead of one"),
        (put_clear, "delivery/clinic/data.csv is an extra file"),
        (encrypt_another, "delivery/clinic holds another data file than the one decided on"),
    ],
)
@pytest.mark.parametrize("resealed", [False, True])
def test_another_delivery_is_found(
    copied: Published, change: Callable[[Published], None], told: str, *, resealed: bool
) -> None:
    change(copied)
    if resealed:
        for manifest in sorted(copied.bundle.rglob("manifest.json"), reverse=True):
            manifest.unlink()
        seal(copied.bundle)
        assert "clinic holds" in copied.problems(alone=True)
    assert (told if not resealed else "delivery/clinic") in copied.problems()


class Killed(BaseException):
    """Stands for the end of the process at this point."""


def killed(*_: object) -> None:
    raise Killed


def clear_files(workspace: Workspace, *digests: str | None) -> list[str]:
    """Files that are the clear ones, or named like them."""
    found = []
    for path in workspace.root.rglob("*"):
        if INPUTS in path.parts:  # the run's private copies of the sources
            continue
        clear = path.name.startswith(("released-", "data.")) and not path.name.endswith(".age")
        if path.is_file() and (clear or sha256(path.read_bytes()).hexdigest() in digests):
            found.append(path.name)
    return found


POINTS = ("deciding", "flows.gate.publishing.seal", "flows.gate.publishing.publish")


def run_until(point: str, world: World, engine: Any, place: Path) -> None:
    """A run that ends at a point: the beginning of a step, or of one of the gate's own acts."""

    def step(name: str) -> None:
        if name.startswith(point):
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        if point.startswith("flows."):
            patch.setattr(point, killed)
        with listening(step), pytest.raises(Killed):
            world.run(engine, place)


@pytest.fixture(scope="module")
def finished(published: Published, engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Published:
    """The same release under the same key in another workspace, killed again and again before it is finished."""
    other = Workspace(tmp_path_factory.mktemp("killed") / "workspace")
    other.private.mkdir(parents=True)
    shutil.copyfile(published.workspace.key_file, other.key_file)
    digests = [published.record(who).dataset.output_sha256 for who in FILES]
    for point in POINTS:
        run_until(point, published.world, engine, other.root)
        assert [path for path in other.private.rglob("*.age") if path.is_file()] != [], point
        assert clear_files(other, *digests) == [], point
        assert list(other.releases.iterdir()) == [], point
    return Published(published.world, published.world.run(engine, other.root))


@pytest.mark.slow
def test_killed_at_any_point_it_leaves_no_clear_file_and_is_finished(published: Published, finished: Published) -> None:
    """What is left after each kill is looked at while it is made."""
    place = finished.bundle.parents[1]
    assert place != published.workspace.root
    assert files_holding_each(place, MARKS) == NOWHERE
    with Ledger.open(Workspace(place).ledger, create=False) as ledger:
        assert verify_bundle(finished.bundle, ledger).delivered == tuple(FILES)


KINDS = (("decision", "json"), ("report", "pdf"), ("certificate", "pdf"))


@pytest.mark.slow
def test_nothing_but_its_hash_depends_on_what_is_drawn_for_the_ciphertext(
    published: Published, finished: Published
) -> None:
    """The same key of the workspace, the same clear file; what differs, differs by the hash alone."""
    differing = set()
    for path in published.bundle.rglob("*"):
        name = path.relative_to(published.bundle).as_posix()
        if path.is_file() and (finished.bundle / name).read_bytes() != path.read_bytes():
            differing.add(name)
    assert differing == {
        "manifest.json",
        *(f"delivery/{who}/{name}" for who, file in FILES.items() for name in (file, "manifest.json", *LISTS)),
        *(f"{kind}/{who}.{form}" for who in FILES for kind, form in KINDS),
        *(f"evidence/report-{who}.pdf" for who in FILES),
    }
    for who, identity in (("archive", ARCHIVE), ("clinic", CLINIC)):
        assert finished.clear(who, identity) == published.clear(who, identity)
        ours, theirs = published.record(who), finished.record(who)
        assert ours.delivery is not None
        assert theirs.delivery is not None
        assert ours.delivery.sha256 != theirs.delivery.sha256
        same = theirs.delivery.model_copy(update={"sha256": ours.delivery.sha256})
        assert theirs.model_copy(update={"delivery": same}) == ours


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Published:
    """The clinic's, awaiting review."""
    world = make_world(tmp_path_factory.mktemp("reviewed") / "world")
    world.ask(recipients=RECIPIENTS[1:], policy={"review": REVIEW})
    return Published(world, world.run(engine))


@pytest.fixture
def waiting(decided: Published, tmp_path: Path) -> Published:
    shutil.copytree(decided.world.folder.parent, tmp_path / "copy")
    world = World(tmp_path / "copy" / "world")
    return Published(
        world,
        Outcome(decided.outcome.release_id, world.workspace.bundle(decided.outcome.release_id), (), repeated=False),
    )


def vote(published: Published, reviewer: str) -> Any:
    return cast_vote(
        ReleaseAction(
            published.outcome.release_id,
            published.workspace,
            by=reviewer,
            reason="Figures recounted.",
            recipient="clinic",
            clock=lambda: NOW + timedelta(hours=1),
        ),
        "approve",
    )


def nothing_is_clear(published: Published) -> None:
    assert files_holding_each(published.workspace.root, MARKS) == NOWHERE
    assert clear_files(published.workspace, published.record("clinic").dataset.output_sha256) == []


def test_after_review_the_ciphertext_that_was_decided_on_is_delivered(waiting: Published) -> None:
    nothing_is_clear(waiting)
    assert list((waiting.bundle / "delivery").iterdir()) == []
    vote(waiting, "M. Okafor")
    assert vote(waiting, "J. Brandt").standing.state is State.RELEASED
    nothing_is_clear(waiting)
    record = waiting.record("clinic")
    ciphertext = waiting.ciphertext("clinic").read_bytes()
    assert sha256(ciphertext).hexdigest() == record.delivered_sha256 != record.dataset.output_sha256
    assert sha256(waiting.clear("clinic", CLINIC)).hexdigest() == record.dataset.output_sha256
    with Ledger.open(waiting.workspace.ledger, create=False) as ledger:
        assert verify_bundle(waiting.bundle, ledger).delivered == ("clinic",)
        (released,) = ledger.entries(event=Event.RELEASED)
    assert released.body["delivered_sha256"] == record.delivered_sha256
    flip(waiting)
    assert "data.csv.age was altered; delivery/clinic holds another data file" in waiting.problems()


@pytest.mark.slow
def test_killed_between_ledger_and_delivery_nothing_is_clear_and_the_next_command_delivers(
    waiting: Published, engine: Any
) -> None:
    vote(waiting, "M. Okafor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.actions.reviewing, "finish_additions", killed)
        with pytest.raises(Killed):
            vote(waiting, "J. Brandt")
    nothing_is_clear(waiting)
    assert list((waiting.bundle / "delivery").iterdir()) == []
    again = waiting.world.run(engine, clock=lambda: NOW + timedelta(hours=2))
    assert again.standings["clinic"].state is State.RELEASED
    nothing_is_clear(waiting)
    assert sha256(waiting.clear("clinic", CLINIC)).hexdigest() == waiting.record("clinic").dataset.output_sha256


@pytest.mark.parametrize("name", ["data.csv.age", "data.csv"])
def test_another_file_put_in_place_of_the_waiting_one_is_not_delivered(
    waiting: Published, tmp_path: Path, name: str
) -> None:
    """By somebody who has the workspace's key and encrypts to the recipient; the record names the ciphertext."""
    (tmp_path / "other").mkdir()
    content = b"age\n20\n"
    (tmp_path / "other" / name).write_bytes(
        pyrage.encrypt(content, [CLINIC.to_public()]) if name.endswith("age") else content
    )
    vote(waiting, "M. Okafor")
    pending = waiting.workspace.pending(waiting.outcome.release_id, "clinic")
    seal_folder(tmp_path / "other", pending, pending_key(waiting.workspace, waiting.outcome.release_id))
    with pytest.raises(StageFailed, match="not the one that was decided on"):
        vote(waiting, "J. Brandt")
    assert list((waiting.bundle / "delivery").iterdir()) == []


def test_the_command_names_the_keys_by_their_fingerprints(
    published: Published, releasegate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.gate.release.run_release", partial(run_release, clock=lambda: NOW))
    fingerprints = [sha256(str(one.to_public()).encode()).hexdigest() for one in (CLINIC, DEPUTY)]
    told = releasegate("release", published.world.request, "--workspace", published.workspace.root)
    assert told.code == 0
    assert f"encrypted   data.csv.age, to age {fingerprints[0]}, age {fingerprints[1]}" in told.out
    document = releasegate(
        "release", published.world.request, "--workspace", published.workspace.root, "--json"
    ).document
    assert document["recipients"][0]["delivery"]["format"] == "parquet"
    checked = releasegate("check", published.world.request)
    assert f"encrypted: csv for clinic to age {fingerprints[0]}, age {fingerprints[1]}" in checked.out
    assert "encrypted: parquet for archive" in checked.out
    deliveries = releasegate("check", published.world.request, "--json").document["deliveries"]
    assert [one["encrypted_to"][0]["fingerprint"] for one in deliveries][1] == fingerprints[0]


def test_a_private_key_in_the_request_is_refused_and_kept_nowhere(world: World, releasegate: Any) -> None:
    world.ask(recipients=[recipient("clinic", encrypt_to=[str(CLINIC)])])
    told = releasegate("release", world.request, "--workspace", world.workspace.root)
    assert told.code == 2
    assert "the request holds a private key" in told.err
    secret = str(CLINIC)[16:]
    assert not holds((told.out + told.err).encode(), secret)
    assert files_holding_each(world.workspace.root, [secret]) == {secret: []}
    with Ledger.open(world.workspace.ledger, create=False) as ledger:
        assert [entry.event for entry in but_enrolments(ledger)] == [Event.REFUSED]
