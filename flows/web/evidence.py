"""Releases as the ledger knows them, and the evidence of one, which is compared with the ledger before it is shown.

The index of all releases rests on the ledger alone; it is kept until the ledger's end or the day changes.

The ledger names the bundle's manifest, the manifest each file; an altered file is not shown. Signed determinations and
additions by reviews are named by the ledger itself. Nothing is changed here; a vote verifies the whole bundle again
(``flows.releases.cases.ReleaseAction``).
"""

import hashlib
import threading
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Never, Self, TypeVar

from pydantic import BaseModel, ValidationError

from flows.actions.reviewing import answering
from flows.people.signing import key_in_force
from flows.queue.undecided import BoardRequest, ended_undecided
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.audit.cases import AuditCase, audit_cases
from tasks.audit.history import History, text
from tasks.core.errors import TamperingFound, WorkspaceError
from tasks.core.people import WorkflowRole, may_be_same_person, same_person, submitters_of
from tasks.decision.changes import read_standing
from tasks.decision.record import DecisionRecord
from tasks.decision.standing import AWAITING_SIGNATURE, Standing
from tasks.decision.states import State
from tasks.delivery.additions import recorded_files, since_publication
from tasks.delivery.manifest import MANIFEST_FILE, Manifest
from tasks.delivery.verification import decision_path
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Entry, Event, Head
from tasks.ledger.signing import RegisteredKey

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class IndexedRelease:
    """One recipient's release as listed in the queue."""

    case: AuditCase
    release_id: str
    recipient: str
    state: str
    title: str
    """Title of the request, or of its data if the ledger has no request."""
    organisation: str
    requested_by: str
    voted: tuple[str, ...]
    """Reviewers whose votes of this round count."""

    @classmethod
    def of(cls, case: AuditCase) -> Self:
        """The entry of a case."""
        return cls(
            case=case,
            release_id=case.release_id,
            recipient=case.recipient,
            state=case.outcome.state,
            title=(case.requested and text(case.requested, "title")) or case.kept.dataset,
            organisation=case.kept.organisation,
            requested_by=case.kept.requested_by,
            voted=case.outcome.voted,
        )

    @property
    def awaits(self) -> bool:
        """Whether votes are missing."""
        return self.state in {State.AWAITING_REVIEW.value, AWAITING_SIGNATURE}

    def is_by(self, name: str) -> bool:
        """Whether somebody is its requester."""
        return same_person(self.requested_by, name)

    def was_handed_in_by(self, login: str) -> bool:
        """Whether a login took part in its request."""
        return login in submitters_of(self.case.kept.handed_in_by)

    def needs_vote_of(self, name: str) -> bool:
        """Whether somebody's vote is missing: a reviewer of its policy, not its requester, who has not voted."""
        if self.state != State.AWAITING_REVIEW or may_be_same_person(self.requested_by, name):
            return False
        named = any(same_person(name, one) for one in self.case.kept.reviewers)
        return named and not any(same_person(name, one) for one in self.voted)


class ReleaseIndex:
    """All releases of a workspace, up to date at every call."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._made_from: tuple[Head, date] | None = None
        self._found: tuple[IndexedRelease, ...] = ()
        self._undecided: tuple[BoardRequest, ...] = ()

    def undecided(self, today: date) -> tuple[BoardRequest, ...]:
        """Every request that ended without a decision and in no queue, oldest first; errors as of `all`."""
        self.all(today)
        return self._undecided

    def all(self, today: date) -> tuple[IndexedRelease, ...]:
        """Every decided release by recipient, the newest decision first.

        Raises TamperingFound if an entry of the ledger was edited; WorkspaceError if the ledger cannot be used.
        """
        if not has_ledger(self._workspace):
            return ()
        with self._lock, open_ledger(self._workspace) as ledger:
            now = (ledger.head(), today)
            if now != self._made_from:
                entries = ledger.entries()
                cases = audit_cases(History(entries, (), {}), today)
                self._found = tuple(IndexedRelease.of(case) for case in reversed(cases))
                self._undecided = ended_undecided(entries)
                self._made_from = now
            return self._found


@dataclass(frozen=True)
class EvidenceFile:
    """A file of the bundle that visitors may open."""

    key: str
    """Name in the address."""
    title: str
    path: str
    """Path in the bundle."""
    sha256: str

    @property
    def is_pdf(self) -> bool:
        """Whether it is a PDF; otherwise it is JSON."""
        return self.path.endswith(".pdf")


@dataclass(frozen=True)
class Evidence:
    """The evidence of one recipient's release."""

    bundle: Path
    record: DecisionRecord
    record_sha256: str
    standing: Standing
    entries: tuple[Entry, ...]
    """Entries about this recipient or the whole release, oldest first."""
    documents: tuple[EvidenceFile, ...]
    answering: tuple[str, ...]
    """Officers who made overrides, and therefore do not review it."""
    key: RegisteredKey | None
    """The visitor's key, if one is in force."""
    is_officer: bool
    """Whether the visitor is an enrolled officer."""
    logins: frozenset[str]
    """All logins that the visitor has or had."""

    @property
    def last(self) -> str:
        """Hash of its last entry other than votes and comments: others may add those while a visitor considers."""
        passed_over = {Event.VOTED, Event.COMMENTED}
        return next(entry.sha256 for entry in reversed(self.entries) if entry.event not in passed_over)

    def read(self, document: EvidenceFile) -> bytes:
        """Bytes of a file. Raises TamperingFound if they differ from the record."""
        return _read(self.bundle, document.path, document.sha256)


def evidence(workspace: Workspace, release_id: str, recipient: str, now: datetime, *, who: str) -> Evidence:
    """Read the evidence of a recipient's release.

    The ledger must record a decision on it; `who` is the visitor's name.
    Raises WorkspaceError if the release was recorded but its bundle is not published yet; TamperingFound if the
    manifest, the record or the ledger has been altered; StageFailed if the ledger's entries contradict each other.
    """
    bundle = workspace.bundle(release_id)
    with open_ledger(workspace) as ledger:
        entries = ledger.entries(release_id=release_id)
        own = tuple(entry for entry in entries if entry.recipient in {None, recipient})
        manifest = _manifest(bundle, entries)
        sealed = {fact.path: fact.sha256 for fact in manifest.files}
        path = decision_path(recipient)
        decided = [entry for entry in own if entry.event is Event.DECIDED]
        if not decided or sealed.get(path) != decided[-1].body.get("record_sha256"):
            _differs(path)
        record_sha256 = sealed[path]
        record = _parsed(DecisionRecord, bundle, path, record_sha256)
        stands = read_standing(ledger, record, record_sha256, now)
        directory = Directory.of(ledger)
        person = directory.person(who)
        return Evidence(
            bundle,
            record,
            record_sha256,
            stands,
            own,
            _documents(recipient, sealed, own),
            answering(ledger, record, stands),
            key_in_force(ledger, who),
            person is not None and WorkflowRole.OFFICER in person.roles,
            directory.logins_of(person),
        )


def _manifest(bundle: Path, entries: tuple[Entry, ...]) -> Manifest:
    published = [entry for entry in entries if entry.event is Event.PUBLISHED]
    if not published or not bundle.is_dir():
        raise WorkspaceError(
            "this release is not published yet",
            where="bundle of the release",
            expected="a published bundle",
            got="no bundle",
            fix="wait until its run has ended; if it was interrupted, releasegate release finishes it",
        )
    return _parsed(Manifest, bundle, MANIFEST_FILE, str(published[-1].body.get("manifest_sha256")))


def _documents(recipient: str, sealed: dict[str, str], own: tuple[Entry, ...]) -> tuple[EvidenceFile, ...]:
    """Files that visitors may open: the documents of the decision, then signed determinations, oldest first."""
    files, signed = dict(sealed), []
    for entry in since_publication(own):
        files |= recorded_files(entry)
        if entry.event is Event.SIGNED:
            title = f"Determination signed by {entry.body['subject']}"
            signed += [(f"signed-{path.rsplit('/', 1)[1]}", title, path) for path in recorded_files(entry)]
    documents = (
        ("report.pdf", "Determination", f"report/{recipient}.pdf"),
        ("evidence.pdf", "Evidence", f"evidence/report-{recipient}.pdf"),
        ("certificate.pdf", "Certificate", f"certificate/{recipient}.pdf"),
        ("decision.json", "Decision record", decision_path(recipient)),
        ("after-review.pdf", "Determination after review", f"approval/{recipient}.pdf"),
        ("approval.json", "Approval", f"approval/{recipient}.json"),
        *signed,
    )
    return tuple(EvidenceFile(key, title, path, files[path]) for key, title, path in documents if path in files)


def _read(bundle: Path, path: str, sha256: str) -> bytes:
    try:
        content = (bundle / path).read_bytes()
    except OSError:
        _differs(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        _differs(path)
    return content


def _parsed(model: type[Model], bundle: Path, path: str, sha256: str) -> Model:
    """A file as recorded, which this program may yet be unable to read."""
    try:
        return model.model_validate_json(_read(bundle, path, sha256))
    except ValidationError:
        raise WorkspaceError(
            "a file of this release is intact, but this version of the program cannot read it",
            where=path,
            expected="a file of this version, or of one that it can read",
            got="a file of another version",
            fix="show the release with the version that decided it",
        ) from None


def _differs(path: str) -> Never:
    raise TamperingFound(
        "a file of this release differs from the record",
        where=path,
        expected="the file that manifest and ledger name",
        got="a different file, or no file",
        fix="do not decide on it; verify the bundle, and restore it from a backup",
    )
