import json
import os
import resource
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed, TamperingFound, WorkspaceError
from tasks.decision import bodies
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.bundle import publish, recover, seal
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tests.support import records
from tests.support.processes import exit_code

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
NAME = sha256(b"release").hexdigest()
OTHER = sha256(b"other release").hexdigest()
CANARY = "canary7731"
DATA = f"age,zip\n20-29,{CANARY}\n".encode()
DICTIONARY = b'{"columns": [{"name": "age"}, {"name": "zip"}]}'


@dataclass
class Workspace:
    """A workspace with three recipients: one approved, one blocked, one awaiting review."""

    root: Path
    ledger: Ledger

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def staging(self) -> Path:
        return self.root / "staging"

    def staged(self, name: str = NAME) -> Path:
        return self.staging / name

    def final(self, name: str = NAME) -> Path:
        return self.releases / name

    def decisions(self, name: str = NAME) -> list[DecisionRecord]:
        common = {"release_id": name, "prev_record_sha256": self.ledger.head().sha256}
        made = (records.approved(), records.blocked(), records.awaiting_review())
        changed = [records.changed(record, **common) for record in made]
        dataset = changed[0].dataset.model_copy(update={"output_sha256": sha256(DATA).hexdigest()})
        fields = tuple(field for field in changed[0].fields if field.name in {"age", "zip"})
        third = changed[2].recipient.model_copy(update={"id": "hospital"})
        return [
            records.changed(changed[0], dataset=dataset, fields=fields),
            changed[1],
            records.changed(changed[2], recipient=third),
        ]

    def stage(self, name: str = NAME) -> list[DecisionRecord]:
        decided = self.decisions(name)
        folder = self.staged(name)
        for part in ("decision", "report", "delivery/university/hierarchies", "evidence"):
            (folder / part).mkdir(parents=True)
        for record in decided:
            (folder / "decision" / f"{record.recipient.id}.json").write_bytes(canonical_json(record))
            (folder / "report" / f"{record.recipient.id}.pdf").write_bytes(b"%PDF " + record.recipient.id.encode())
        (folder / "delivery/university/data.csv").write_bytes(DATA)
        (folder / "delivery/university/dictionary.json").write_bytes(DICTIONARY)
        (folder / "delivery/university/hierarchies/age.csv").write_text("20;20-29;*\n")
        (folder / "evidence" / "validation.json").write_text("{}")
        return decided

    def record(self, decided: list[DecisionRecord], manifest_sha256: str, name: str = NAME) -> None:
        with self.ledger.transaction():
            for record in decided:
                self.append(Event.DECIDED, name, record.recipient.id, bodies.decided(record))
            self.append(Event.RELEASED, name, "university", bodies.released(sha256(DATA).hexdigest()))
            self.append(Event.PUBLISHED, name, None, bodies.published(manifest_sha256))

    def append(self, event: Event, name: str, recipient: str | None, body: dict[str, object]) -> None:
        self.ledger.append(event, release_id=name, recipient=recipient, actor="gate", body=body, at=NOON)

    def recover(self, name: str = NAME) -> None:
        recover(self.staged(name), self.final(name), self.ledger)

    def release(self, name: str = NAME) -> None:
        decided = self.stage(name)
        manifest = seal(self.staged(name))
        self.record(decided, manifest.sha256, name)
        publish(self.staged(name), self.final(name), manifest.sha256)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    for folder in ("releases", "staging"):
        (tmp_path / folder).mkdir()
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        made = Workspace(tmp_path, ledger)
        made.append(Event.REQUESTED, NAME, None, {})
        yield made


@pytest.fixture
def bundle(workspace: Workspace) -> Path:
    workspace.release()
    return workspace.final()


def problems(folder: Path, ledger: Ledger | None) -> list[str]:
    with pytest.raises(TamperingFound) as caught:
        verify_bundle(folder, ledger)
    assert CANARY not in str(caught.value)
    return caught.value.got.split("; ")


def reseal(folder: Path) -> str:
    """What somebody who can write the bundle would do after changing it."""
    for manifest in sorted(folder.rglob("manifest.json"), reverse=True):
        manifest.unlink()
    return seal(folder).sha256


def edit_record(path: Path, **changes: object) -> None:
    path.write_bytes(canonical_json(json.loads(path.read_bytes()) | changes))


def test_a_published_bundle_is_in_order(workspace: Workspace, bundle: Path) -> None:
    report = verify_bundle(bundle, workspace.ledger)
    assert report.release_id == NAME
    assert report.manifest_sha256 == sha256((bundle / "manifest.json").read_bytes()).hexdigest()
    assert report.files == 11
    assert report.decisions == {
        "broker": Verdict.BLOCKED,
        "hospital": Verdict.AWAITING_REVIEW,
        "university": Verdict.APPROVED,
    }
    assert report.delivered == ("university",)
    assert report.ledger_checked
    assert not verify_bundle(bundle, None).ledger_checked
    assert not workspace.staged().exists()


def test_the_manifest_lists_every_file_and_the_delivery_has_its_own(workspace: Workspace) -> None:
    workspace.stage()
    manifest = seal(workspace.staged())
    assert [fact.path for fact in manifest.files] == [
        "decision/broker.json",
        "decision/hospital.json",
        "decision/university.json",
        "delivery/university/data.csv",
        "delivery/university/dictionary.json",
        "delivery/university/hierarchies/age.csv",
        "delivery/university/manifest.json",
        "evidence/validation.json",
        "report/broker.pdf",
        "report/hospital.pdf",
        "report/university.pdf",
    ]
    data = manifest.files[3]
    assert (data.size, data.sha256) == (len(DATA), sha256(DATA).hexdigest())
    assert json.loads((workspace.staged() / "delivery/university/manifest.json").read_bytes())["files"] == [
        {"path": path, "size": size, "sha256": sha256(content).hexdigest()}
        for path, size, content in (
            ("data.csv", len(DATA), DATA),
            ("dictionary.json", len(DICTIONARY), DICTIONARY),
            ("hierarchies/age.csv", 11, b"20;20-29;*\n"),
        )
    ]
    assert manifest.sha256 == sha256((workspace.staged() / "manifest.json").read_bytes()).hexdigest()


def test_the_same_files_are_sealed_with_the_same_bytes(workspace: Workspace, tmp_path: Path) -> None:
    workspace.stage()
    shutil.copytree(workspace.staged(), tmp_path / "copy")
    assert seal(workspace.staged()) == seal(tmp_path / "copy")


def test_a_bundle_is_sealed_once(workspace: Workspace) -> None:
    workspace.stage()
    seal(workspace.staged())
    with pytest.raises(StageFailed, match="no manifest yet"):
        seal(workspace.staged())


@pytest.mark.parametrize(
    "intrude",
    [
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: path.symlink_to("evidence"),
        os.mkfifo,
        lambda path: Path(os.fsdecode(os.fsencode(path) + b"\xff")).touch(),
    ],
    ids=["link to a file", "link to a folder", "pipe", "name not UTF-8"],
)
def test_only_plain_files_are_sealed_or_accepted(
    workspace: Workspace, bundle: Path, intrude: Callable[[Path], None]
) -> None:
    intrude(bundle / "odd")
    (told,) = problems(bundle, workspace.ledger)
    assert told.startswith("odd")
    assert told.endswith("is not a readable file")
    for manifest in bundle.rglob("manifest.json"):
        manifest.unlink()
    with pytest.raises(StageFailed, match="cannot be sealed"):
        seal(bundle)


def flip(path: Path) -> None:
    stored = bytearray(path.read_bytes())
    stored[len(stored) // 2] ^= 1
    path.write_bytes(stored)


def test_a_flipped_byte_a_missing_and_an_extra_file_are_told_apart_and_all_are_named(bundle: Path) -> None:
    flip(bundle / "report/broker.pdf")
    (bundle / "evidence/validation.json").unlink()
    (bundle / "evidence/more.json").touch()
    (bundle / "report/hospital.pdf").write_bytes(b"")
    assert problems(bundle, None) == [
        "evidence/more.json is an extra file",
        "evidence/validation.json is missing",
        "report/broker.pdf was altered",
        "report/hospital.pdf was altered",
    ]


def test_a_flipped_byte_in_any_file_is_found_and_the_file_named(workspace: Workspace, bundle: Path) -> None:
    for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
        before = path.read_bytes()
        flip(path)
        told = problems(bundle, workspace.ledger)
        name = path.relative_to(bundle).as_posix()
        assert any(name in clause for clause in told), name
        path.write_bytes(before)
    verify_bundle(bundle, workspace.ledger)


def test_an_altered_delivery_is_found_even_without_the_bundle_around_it(bundle: Path) -> None:
    flip(bundle / "delivery/university/dictionary.json")
    (bundle / "delivery/university/manifest.json").unlink()
    assert problems(bundle, None) == [
        "delivery/university/dictionary.json was altered",
        "delivery/university/manifest.json is missing",
        "delivery/university: dictionary.json describes other columns than the record",
    ]


@pytest.mark.parametrize("resealed", [False, True])
def test_a_missing_dictionary_is_one_problem(bundle: Path, resealed: bool) -> None:
    (bundle / "delivery/university/dictionary.json").unlink()
    if resealed:
        reseal(bundle)
    (told,) = problems(bundle, None)
    assert told.endswith("dictionary.json is missing")


def test_a_folder_without_manifest_or_decisions(workspace: Workspace, bundle: Path) -> None:
    (bundle / "manifest.json").unlink()
    assert problems(bundle, workspace.ledger) == [
        "manifest.json is missing",
        f"manifest.json is not the one in ledger entry {workspace.ledger.head().sequence}",
    ]
    shutil.rmtree(bundle / "decision")
    told = problems(bundle, workspace.ledger)
    assert "it holds no valid decision" in told
    assert "delivery/university has no valid decision" in told
    (bundle / "manifest.json").write_text("{}")
    assert "manifest.json cannot be read as a manifest" in problems(bundle, None)


def test_a_manifest_that_names_a_file_twice_or_outside_is_refused(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    manifest["files"] += [manifest["files"][0], manifest["files"][1] | {"path": "../../ledger.sqlite"}]
    (bundle / "manifest.json").write_bytes(canonical_json(manifest))
    assert problems(bundle, None) == ["manifest.json lists a file twice", "../../ledger.sqlite is missing"]


def test_a_changed_decision_is_found_in_the_ledger_when_the_manifest_was_changed_too(
    workspace: Workspace, bundle: Path
) -> None:
    edit_record(bundle / "decision/broker.json", decision="approved", reasons=["All gates passed."])
    reseal(bundle)
    verify_bundle(bundle, None)
    published = workspace.ledger.head().sequence
    assert problems(bundle, workspace.ledger) == [
        f"manifest.json is not the one in ledger entry {published}",
        "decision/broker.json is not the record in ledger entry 3",
        "decision/broker.json gives another verdict or other reasons than ledger entry 3",
    ]


def test_a_decision_that_is_none_is_found_without_being_quoted(bundle: Path) -> None:
    edit_record(bundle / "decision/broker.json", title=7, **{CANARY: CANARY})
    reseal(bundle)
    assert problems(bundle, None) == ["decision/broker.json is not a valid decision record"]


def test_the_decision_of_another_recipient_or_release_is_found(workspace: Workspace, bundle: Path) -> None:
    edit_record(bundle / "decision/hospital.json", release_id=OTHER)
    reseal(bundle)
    assert problems(bundle, workspace.ledger) == ["its decisions belong to different releases"]
    shutil.copy(bundle / "decision/broker.json", bundle / "decision/hospital.json")
    reseal(bundle)
    assert problems(bundle, None) == ["decision/hospital.json is the decision of another recipient"]


def test_a_bundle_in_the_place_of_another_is_found(workspace: Workspace, bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / "received from the agency"
    shutil.copytree(bundle, copy)
    verify_bundle(copy, workspace.ledger)
    bundle.rename(workspace.final(OTHER))
    assert problems(workspace.final(OTHER), None) == ["the folder bears the name of another release"]


@pytest.mark.parametrize(
    ("recipient", "told"),
    [
        ("broker", "delivery/broker exists although the decision is “blocked”"),
        ("hospital", "delivery/hospital exists although the decision is “awaiting review”"),
        ("stranger", "delivery/stranger has no valid decision"),
    ],
)
def test_only_the_approved_have_a_delivery(bundle: Path, recipient: str, told: str) -> None:
    shutil.copytree(bundle / "delivery/university", bundle / "delivery" / recipient)
    reseal(bundle)
    assert told in problems(bundle, None)
    shutil.rmtree(bundle / "delivery" / recipient)
    (bundle / "delivery" / recipient).mkdir()
    assert told in problems(bundle, None)


def test_another_data_file_than_decided_is_found_behind_new_manifests(workspace: Workspace, bundle: Path) -> None:
    (bundle / "delivery/university/data.csv").write_bytes(DATA + b"30-39,37000\n")
    reseal(bundle)
    assert problems(bundle, None) == ["delivery/university holds another data file than the one decided on"]
    told = problems(bundle, workspace.ledger)
    assert "delivery/university is not what ledger entry 5 records as released" in told


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("data.csv", DATA.replace(b"age,zip", b"age,ssn"), "data.csv has other columns than the record"),
        ("data.csv", DATA.replace(b"age,zip", b"zip,age"), "data.csv has other columns than the record"),
        ("dictionary.json", DICTIONARY.replace(b"zip", b"ssn"), "dictionary.json describes other columns"),
        ("dictionary.json", b"{}", "dictionary.json describes other columns"),
    ],
)
def test_columns_that_the_record_does_not_list_are_found_behind_new_manifests_and_hashes(
    bundle: Path, file: str, content: bytes, told: str
) -> None:
    (bundle / "delivery/university" / file).write_bytes(content)
    record = json.loads((bundle / "decision/university.json").read_bytes())
    data = sha256((bundle / "delivery/university/data.csv").read_bytes()).hexdigest()
    edit_record(bundle / "decision/university.json", dataset=record["dataset"] | {"output_sha256": data})
    reseal(bundle)
    assert any(told in clause for clause in problems(bundle, None))


@pytest.mark.parametrize(
    "place", ["delivery/university/more", "delivery/university/hierarchies/a/b", "evidence/x", "x", "signed"]
)
def test_an_empty_folder_is_found(bundle: Path, place: str) -> None:
    (bundle / place).mkdir(parents=True)
    named = place.rsplit("university/", maxsplit=1)[-1]
    assert any(clause.endswith(f"{named} is an empty folder") for clause in problems(bundle, None))


def test_a_second_data_file_is_found(bundle: Path) -> None:
    (bundle / "delivery/university/data.parquet").write_bytes(b"PAR1")
    reseal(bundle)
    assert problems(bundle, None) == ["delivery/university holds 2 data files instead of one"]


def test_a_removed_delivery_is_found_by_the_ledger(workspace: Workspace, bundle: Path) -> None:
    shutil.rmtree(bundle / "delivery/university")
    reseal(bundle)
    verify_bundle(bundle, None)
    assert "delivery/university is not what ledger entry 5 records as released" in problems(bundle, workspace.ledger)


def test_a_removed_decision_is_found_by_the_ledger(workspace: Workspace, bundle: Path) -> None:
    (bundle / "decision/broker.json").unlink()
    reseal(bundle)
    assert "decision/broker.json, recorded in ledger entry 3, is not in the bundle" in problems(
        bundle, workspace.ledger
    )


def test_a_bundle_of_another_ledger_is_found(bundle: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "other.sqlite") as other:
        assert problems(bundle, other) == ["the ledger records no publication of this release"]


def test_a_ledger_that_was_started_again_is_found(workspace: Workspace, bundle: Path, tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "other.sqlite") as other:
        for entry in workspace.ledger.entries(release_id=NAME)[1:]:
            other.append(
                entry.event, release_id=NAME, recipient=entry.recipient, actor="gate", body=entry.body, at=NOON
            )
        assert problems(bundle, other) == [
            f"decision/{name}.json names a ledger head that is not in this ledger before entry {number}"
            for name, number in (("broker", 2), ("hospital", 3), ("university", 1))
        ]


def test_a_decision_without_entry_and_a_delivery_without_release(workspace: Workspace) -> None:
    decided = workspace.stage()
    manifest = seal(workspace.staged())
    for record in decided[1:]:
        workspace.append(Event.DECIDED, NAME, record.recipient.id, bodies.decided(record))
    workspace.append(Event.PUBLISHED, NAME, None, bodies.published(manifest.sha256))
    assert problems(workspace.staged(), workspace.ledger) == [
        "the ledger records no decision for decision/university.json",
        "the ledger records no release of delivery/university",
    ]


def test_an_entry_that_names_another_clear_file_than_decided_is_found(workspace: Workspace) -> None:
    decided = workspace.stage()
    manifest = seal(workspace.staged())
    for record in decided:
        workspace.append(Event.DECIDED, NAME, record.recipient.id, bodies.decided(record))
    workspace.append(Event.RELEASED, NAME, "university", bodies.released("0" * 64, sha256(DATA).hexdigest()))
    workspace.append(Event.PUBLISHED, NAME, None, bodies.published(manifest.sha256))
    assert problems(workspace.staged(), workspace.ledger) == [
        "delivery/university is not what ledger entry 5 records as released"
    ]


def test_entries_of_an_earlier_attempt_do_not_count(workspace: Workspace) -> None:
    workspace.record(workspace.stage(), seal(workspace.staged()).sha256)
    shutil.rmtree(workspace.staged())
    decided = workspace.stage()
    manifest = seal(workspace.staged())
    workspace.append(Event.PUBLISHED, NAME, None, bodies.published(manifest.sha256))
    assert len(problems(workspace.staged(), workspace.ledger)) == 4
    workspace.record(decided, manifest.sha256)
    verify_bundle(workspace.staged(), workspace.ledger)


def test_a_ledger_that_is_not_whole_is_told(workspace: Workspace, bundle: Path) -> None:
    path = Path(workspace.ledger.place)
    workspace.ledger.close()
    path.write_bytes(path.read_bytes().replace(b'"decision":"blocked"', b'"decision":"blocket"'))
    with Ledger.open(path) as ledger:
        (told,) = problems(bundle, ledger)
    assert told == ("the ledger cannot be relied on: an entry of the ledger was edited (ledger entry 3)")


@pytest.mark.parametrize("name", ["missing", "ledger.sqlite"])
def test_no_bundle_to_verify(workspace: Workspace, name: str) -> None:
    with pytest.raises(WorkspaceError, match="no bundle"):
        verify_bundle(workspace.root / name, None)


def test_publishing_replaces_nothing(workspace: Workspace, bundle: Path) -> None:
    workspace.stage()
    with pytest.raises(StageFailed, match="sealed"):
        publish(workspace.staged(), workspace.final(OTHER), "")
    sealed = seal(workspace.staged()).sha256
    with pytest.raises(WorkspaceError, match="published already"):
        publish(workspace.staged(), bundle, sealed)
    workspace.final(OTHER).symlink_to("nowhere")
    with pytest.raises(WorkspaceError, match="published already"):
        publish(workspace.staged(), workspace.final(OTHER), sealed)
    assert workspace.staged().exists()
    verify_bundle(bundle, workspace.ledger)


def test_what_was_changed_since_it_was_sealed_is_not_published(workspace: Workspace) -> None:
    """Neither one file, nor all of them with manifests that fit."""
    workspace.stage()
    sealed = seal(workspace.staged()).sha256
    data = workspace.staged() / "delivery/university/data.csv"
    data.write_bytes(data.read_bytes() + b"20,F,37201\n")
    with pytest.raises(TamperingFound, match="not what was decided and sealed"):
        publish(workspace.staged(), workspace.final(), sealed)
    shutil.rmtree(workspace.staged())
    workspace.stage()
    (workspace.staged() / "report/university.pdf").write_bytes(b"%PDF, another")
    seal(workspace.staged())
    with pytest.raises(TamperingFound, match="not the one that was sealed"):
        publish(workspace.staged(), workspace.final(), sealed)
    assert not workspace.final().exists()


def test_publishing_needs_a_place(workspace: Workspace) -> None:
    workspace.stage()
    sealed = seal(workspace.staged()).sha256
    with pytest.raises(WorkspaceError, match="cannot be written"):
        publish(workspace.staged(), workspace.root / "missing" / NAME, sealed)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/shm")
def test_publishing_stays_within_one_file_system(workspace: Workspace) -> None:
    workspace.stage()
    sealed, here = seal(workspace.staged()).sha256, workspace.staged().stat().st_dev
    other = next(place for place in (Path("/dev/shm"), Path(__file__).parent) if place.stat().st_dev != here)  # noqa: S108
    with TemporaryDirectory(dir=other) as folder, pytest.raises(WorkspaceError, match="one file system"):
        publish(workspace.staged(), Path(folder) / NAME, sealed)
    assert workspace.staged().exists()


def seal_is_refused(staged: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    with pytest.raises(WorkspaceError, match="cannot be written"):
        seal(staged)


def test_a_disk_that_refuses_is_told(workspace: Workspace) -> None:
    workspace.stage()
    assert exit_code(seal_is_refused, workspace.staged()) == 0


def run_until(root: Path, crash: str) -> None:
    """A run in a process that is killed just before a step."""

    def due(step: str) -> None:
        if step == crash:
            os.kill(os.getpid(), signal.SIGKILL)

    with Ledger.open(root / "ledger.sqlite") as ledger:
        workspace = Workspace(root, ledger)
        due("stage")
        decided = workspace.stage()
        due("seal")
        manifest = seal(workspace.staged())
        due("record")
        workspace.record(decided, manifest.sha256)
        due("publish")
        publish(workspace.staged(), workspace.final(), manifest.sha256)
        due("end")


@pytest.mark.parametrize(
    ("crash", "published"),
    [("stage", False), ("seal", False), ("record", False), ("publish", True), ("end", True)],
)
def test_a_crash_at_any_point_leaves_nothing_or_all(workspace: Workspace, crash: str, published: bool) -> None:
    assert exit_code(run_until, workspace.root, crash) == -signal.SIGKILL
    for _ in range(2):
        workspace.recover()
        assert list(workspace.staging.iterdir()) == []
        assert workspace.final().exists() is published
    if published:
        verify_bundle(workspace.final(), workspace.ledger)
    else:
        workspace.release()
        verify_bundle(workspace.final(), workspace.ledger)


def die_within_the_record(root: Path) -> None:
    with Ledger.open(root / "ledger.sqlite") as ledger:
        workspace = Workspace(root, ledger)
        decided = workspace.stage()
        manifest = seal(workspace.staged())
        with ledger.transaction():
            workspace.record(decided, manifest.sha256)
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_crash_within_the_record_leaves_nothing(workspace: Workspace) -> None:
    assert exit_code(die_within_the_record, workspace.root) == -signal.SIGKILL
    workspace.recover()
    assert list(workspace.staging.iterdir()) == []
    assert workspace.ledger.verify() == 1


def test_a_crash_while_removing_is_made_good(workspace: Workspace) -> None:
    workspace.stage()
    seal(workspace.staged())
    shutil.rmtree(workspace.staged() / "decision")
    workspace.recover()
    assert list(workspace.staging.iterdir()) == []


def test_what_was_changed_while_staged_is_not_published(workspace: Workspace) -> None:
    workspace.record(workspace.stage(), seal(workspace.staged()).sha256)
    (workspace.staged() / "delivery/university/data.csv").write_bytes(DATA * 2)
    for _ in range(2):
        with pytest.raises(TamperingFound, match="interrupted release cannot be finished") as caught:
            workspace.recover()
        assert "data.csv was altered" in caught.value.got
        assert caught.value.where == str(workspace.staged())
    assert workspace.staged().exists()
    assert not workspace.final().exists()


def test_a_second_attempt_at_a_published_release_is_removed(workspace: Workspace, bundle: Path) -> None:
    workspace.stage()
    seal(workspace.staged())
    workspace.recover()
    assert list(workspace.staging.iterdir()) == []
    verify_bundle(bundle, workspace.ledger)


def test_a_planted_bundle_does_not_cost_the_staged_one(workspace: Workspace) -> None:
    workspace.record(workspace.stage(), seal(workspace.staged()).sha256)
    shutil.copytree(workspace.staged(), workspace.final())
    (workspace.final() / "decision/broker.json").unlink()
    with pytest.raises(TamperingFound, match="interrupted"):
        workspace.recover()
    assert workspace.staged().exists()


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_sealed_files_are_for_the_owner_and_the_group_to_read(workspace: Workspace, mode: int) -> None:
    workspace.stage()
    data = workspace.staged() / "delivery/university/data.csv"
    data.chmod(mode)
    seal(workspace.staged())
    assert stat.S_IMODE(data.stat().st_mode) == 0o640
    assert stat.S_IMODE(data.parent.stat().st_mode) == 0o750
