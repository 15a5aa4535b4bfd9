"""Opening a published release to act on it: its ledger, its lock, and its standing for each recipient."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from flows.people.persons import check_own_login, enrolled
from flows.people.signing import Ask, PrivateKey, nobody_to_ask, signer_of
from flows.releases.recall import find_bundle
from flows.releases.submissions import check_not_submitter, note_late_submissions, submissions_of
from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger, recorder_of
from tasks.core.errors import BadInput, StageFailed, TamperingFound, WorkspaceError
from tasks.core.guard import guarded
from tasks.core.people import WorkflowRole
from tasks.core.seed import derive_seed
from tasks.decision.changes import Author, Step, change, read_standing
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.standing import Standing
from tasks.decision.states import State
from tasks.decision.verdict import is_over, utc_day
from tasks.delivery.additions import finish, since_publication
from tasks.delivery.bundle import recover
from tasks.delivery.pending import BallotBox
from tasks.delivery.verification import BundleReport, decision_path, verify_bundle
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Event
from tasks.ledger.signing import Signer
from tasks.ledger.store import Ledger

_LONGEST_WAIT = 30.0
"""Seconds to wait for another process that acts on the same release."""


@dataclass(frozen=True)
class ReleaseCase:
    """One recipient's part of a release."""

    record: DecisionRecord
    record_sha256: str
    standing: Standing

    @property
    def recipient(self) -> str:
        """Id of the recipient."""
        return self.record.recipient.id

    def refused(
        self, what: str, expected: str, got: str = "", fix: str = "for another decision, release a new request"
    ) -> StageFailed:
        """Error for an action that the release does not allow now; `got` is its present standing where not given."""
        where = f"release to {self.recipient}"
        return StageFailed(
            what, where=where, expected=expected, got=got or f"{self.standing.words}. {self.standing.why}", fix=fix
        )


@dataclass(frozen=True)
class OpenRelease:
    """A verified release, locked against other processes."""

    release_id: str
    workspace: Workspace
    ledger: Ledger
    report: BundleReport
    cases: Mapping[str, ReleaseCase]
    """By recipient."""
    now: datetime
    """Time of the action on it."""

    def case(self, recipient: str | None) -> ReleaseCase:
        """The case of a recipient, or the only one.

        Raises BadInput if the release has no such recipient, or several and none is named.
        """
        if recipient is None and len(self.cases) == 1:
            return next(iter(self.cases.values()))
        if recipient is None or recipient not in self.cases:
            raise BadInput(
                "the release has several recipients" if recipient is None else "the release has no such recipient",
                where="--recipient",
                expected=" or ".join(sorted(self.cases)),
                got="none" if recipient is None else "a different id",
                fix="name one of the recipients",
            )
        return self.cases[recipient]

    def append(self, case: ReleaseCase, steps: Sequence[Step], signer: Signer | None = None) -> Standing:
        """Write a change of a case to the ledger, if the case has not changed since and the change is allowed."""
        author = Author(actor(), self.now, signer)
        return change(self.ledger, case.record, case.record_sha256, steps, author, expected=case.standing)


@dataclass(frozen=True)
class ReleaseAction:
    """An action of a person on a published release: vote, revoke, override or sign."""

    reference: str
    """Release id, its first digits, or the bundle's folder."""
    workspace: Workspace
    by: str = ""
    """Id or name of the person, as enrolled."""
    reason: str = ""
    """Kept permanently in the ledger."""
    recipient: str | None = None
    """Recipient concerned; may be left out where there is only one."""
    key: PrivateKey | None = None
    """Private key for the ledger, where one is registered; in its usual place where not given."""
    ask: Ask = nobody_to_ask
    """Asks for the key's passphrase, where the environment gives none."""
    clock: Clock = utc_now

    @contextmanager
    def opened(self, stage: str) -> Iterator[OpenRelease]:
        """The release, verified and locked; internal errors are named after the stage.

        Raises WorkspaceError if there is no such release, it is outside its workspace, or another process acts on it;
        TamperingFound if the bundle or the ledger is not as recorded; StageFailed if the ledger's entries contradict
        each other.
        """
        with guarded(stage):
            bundle = find_bundle(self.reference, self.workspace)
            home = recorder_of(bundle, self.workspace)
            if bundle != home.bundle(bundle.name).resolve():
                raise WorkspaceError(
                    "this bundle is a copy",
                    where=str(bundle),
                    expected=f"a release in its own workspace, below {home.releases}",
                    got="a bundle elsewhere",
                    fix="name the release by its id, and its workspace with --workspace",
                )
            with open_ledger(home, clock=self.clock) as ledger, home.locked(bundle.name, wait_seconds=_LONGEST_WAIT):
                yield opened(home, ledger, bundle.name, self.clock())

    def named(self, release: OpenRelease) -> str:
        """Name of the person who acts, as enrolled; as given where nobody is enrolled so."""
        person = Directory.of(release.ledger).person(self.by)
        return person.name if person else self.by

    def authorized(self, release: OpenRelease, *roles: WorkflowRole) -> tuple[EnrolledPerson, Signer | None]:
        """The person who acts, enrolled in one of some roles, and their private key, where one is in force.

        Raises BadInput if there is no such person, or neither login nor key is theirs.
        """
        directory = Directory.of(release.ledger)
        person = enrolled(directory, self.by, *roles)
        signer = self.signer(release, person.name)
        if signer is None:
            check_own_login(directory, person, actor())
        return person, signer

    def authorized_apart(
        self, release: OpenRelease, record: DecisionRecord, role: WorkflowRole
    ) -> tuple[EnrolledPerson, Signer | None]:
        """The same as `authorized`; BadInput for a person who submitted the request, under any of their logins."""
        person, signer = self.authorized(release, role)
        logins = Directory.of(release.ledger).logins_of(person)
        check_not_submitter(release.workspace, record, actor(), person.id, signed=signer is not None, logins=logins)
        return person, signer

    def signer(self, release: OpenRelease, name: str) -> Signer | None:
        """The person who acts, with their private key; None where they have no key in force."""
        return signer_of(release.ledger, name, self.key, self.ask)


def with_late_submissions(release: OpenRelease) -> OpenRelease:
    """The release once the ledger names all who have submitted it since its run began: votes of theirs are void.

    The service records them as they come, but for those who came before the decision, or as it died.
    """
    for case in release.cases.values():
        note_late_submissions(
            release.ledger, case.record.release_id, submissions_of(release.workspace, case.record), release.now
        )
    return replace(release, cases=cases_of(release.report, release.ledger, release.now))


def opened(workspace: Workspace, ledger: Ledger, release_id: str, now: datetime) -> OpenRelease:
    """A release that is locked already: settled and verified, expiries recorded, and what they end removed."""
    settle(workspace, ledger, release_id)
    report = verify_bundle(workspace.bundle(release_id), ledger)
    cases = cases_of(report, ledger, now)
    for who, case in cases.items():
        if case.standing.state is State.EXPIRED and not case.standing.expiry_recorded:
            recorded = change(ledger, case.record, case.record_sha256, [], Author(actor(), now))
            cases[who] = replace(case, standing=recorded)
        if _is_past_delivery(case, now):
            forget(workspace, release_id, who)
    return OpenRelease(release_id, workspace, ledger, report, cases, now)


def settle(workspace: Workspace, ledger: Ledger, release_id: str) -> None:
    """Finish what interrupted commands have recorded of a locked release, and remove what they have not.

    Raises TamperingFound if something is not what was recorded.
    """
    finish_additions(workspace, ledger, release_id)
    recover(workspace.staging / release_id, workspace.bundle(release_id), ledger)


def wait_and_settle(workspace: Workspace, ledger: Ledger, release_id: str) -> None:
    """Wait for a process that works on a release, then settle it; raises a `WorkspaceError` after a while."""
    with workspace.locked(release_id, wait_seconds=_LONGEST_WAIT):
        settle(workspace, ledger, release_id)


def _is_past_delivery(case: ReleaseCase, now: datetime) -> bool:
    """Whether neither votes nor an officer can lead to a delivery any more."""
    ended = case.standing.state in {State.EXPIRED, State.REVOKED, State.SUPERSEDED}
    blocked = case.standing.state is State.BLOCKED and case.record.decision is not Verdict.BLOCKED
    return ended or (blocked and is_over(case.record.valid_until, utc_day(now)))


def forget(workspace: Workspace, release_id: str, recipient: str) -> None:
    """Remove the sealed delivery and the sealed votes of a release that has ended; repeating is harmless.

    Material for re-assessment stays if the copy was delivered.
    """
    drop(workspace.pending(release_id, recipient))
    ballot_box(workspace, release_id, recipient).clear()
    places = (workspace.bundle(release_id), workspace.additions(release_id))
    if not any((place / "delivery" / recipient).exists() for place in places):
        drop(workspace.kept(release_id, recipient))


def cases_of(report: BundleReport, ledger: Ledger, now: datetime) -> dict[str, ReleaseCase]:
    """Standing of a verified release by recipient."""
    cases = {}
    for recipient, record in report.records.items():
        sha256 = report.record_sha256(recipient)
        cases[recipient] = ReleaseCase(record, sha256, read_standing(ledger, record, sha256, now))
    return cases


def case_of(workspace: Workspace, ledger: Ledger, release_id: str, recipient: str, now: datetime) -> ReleaseCase:
    """Standing of one recipient's release, whose record must be the one in the ledger; the rest is not verified.

    Raises TamperingFound if the decision file is missing or is not this release's; StageFailed if its bytes are others.
    """
    path = workspace.bundle(release_id) / decision_path(recipient)
    try:
        content = path.read_bytes()
        record = DecisionRecord.model_validate_json(content)
    except (OSError, ValidationError) as error:
        missing = "no file that can be read" if isinstance(error, OSError) else "no valid decision record"
        raise _altered(path, missing) from None
    if (record.release_id, record.recipient.id) != (release_id, recipient):
        raise _altered(path, "the decision of another release or recipient")
    sha256 = hashlib.sha256(content).hexdigest()
    return ReleaseCase(record, sha256, read_standing(ledger, record, sha256, now))


def _altered(path: Path, got: str) -> TamperingFound:
    return TamperingFound(
        "an earlier release's decision is not the one that was recorded",
        where=str(path),
        expected="the decision record that the ledger names",
        got=got,
        fix="restore the file from a backup, find out who changed it, and run the command again",
    )


def finish_additions(workspace: Workspace, ledger: Ledger, release_id: str) -> None:
    """Move recorded additions into their bundle, and remove staged ones that are not recorded; repeating is harmless.

    Raises TamperingFound if a recorded addition is not what was recorded.
    """
    staging = workspace.additions(release_id)
    if not staging.is_dir():
        return
    entries = since_publication(ledger.entries(release_id=release_id))
    finish(staging, workspace.bundle(release_id), entries)
    for entry in entries:
        if entry.event is Event.RELEASED:
            drop(workspace.pending(release_id, str(entry.recipient)))
            ballot_box(workspace, release_id, str(entry.recipient)).clear()
    shutil.rmtree(staging)


def ballot_box(workspace: Workspace, release_id: str, recipient: str) -> BallotBox:
    """The sealed votes on a recipient's release."""
    return BallotBox(workspace.private / "votes" / release_id / recipient, workspace.key_file, release_id)


def pending_key(workspace: Workspace, release_id: str) -> bytes:
    """Key of a release's sealed deliveries."""
    return derive_seed(workspace.key_file, release_id, "pending deliveries")


def drop(path: Path) -> None:
    """Remove a sealed file that is no longer needed, and its folder once that is empty."""
    path.unlink(missing_ok=True)
    if path.parent.is_dir() and not any(path.parent.iterdir()):
        path.parent.rmdir()
