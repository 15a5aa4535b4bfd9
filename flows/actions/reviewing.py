"""Reviews: votes that stay sealed until all are in, the delivery that follows if all approve, and comments.

The steps of one vote:

1. Open the release, which verifies it and finishes what was interrupted.
2. Check that it awaits review, and that the policy names the reviewer, who is enrolled and did not ask for the release;
   the login that the request came from needs the reviewer's signature.
3. Seal the vote into the private folder. While votes are missing, record only that this reviewer has voted.
4. With the last vote, open all of them and check each against its commitment. If all approve, stage delivery,
   certificate and approval; then record the last vote, all opened votes, the outcome and the release in one
   transaction, which also ends a release that this one supersedes; then move the staged files to their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flows.releases.cases import (
    OpenRelease,
    ReleaseAction,
    ReleaseCase,
    ballot_box,
    finish_additions,
    pending_key,
    with_late_submissions,
)
from flows.releases.earlier import check_still_apart, forget_superseded, supersede
from flows.releases.released_copies import check_hand
from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.kept_request import kept_request
from tasks.core.errors import BadInput
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.changes import Step
from tasks.decision.overrides import GateOverrides
from tasks.decision.record import DecisionRecord, Review, Verdict
from tasks.decision.standing import Standing, review_of, reviewer_of
from tasks.decision.states import State
from tasks.decision.verdict import lapsed
from tasks.decision.votes import Ballot, checked_reason, new_nonce
from tasks.delivery.additions import overrides_in, stage_addition
from tasks.delivery.pending import open_folder
from tasks.delivery.verification import report_path
from tasks.ledger.entry import Entry, Event
from tasks.ledger.signing import Signer
from tasks.ledger.store import Ledger
from tasks.request.load import request_of_bytes
from tasks.request.model import ReleaseRequest


@dataclass(frozen=True)
class Voted:
    """Result of a vote; shows no vote while one is missing."""

    release_id: str
    recipient: str
    reviewer: str
    replaced: bool
    """Whether the reviewer had voted before in this round."""
    votes: int
    required: int
    standing: Standing


@dataclass(frozen=True)
class Overview:
    """One recipient's release as reviewers see it; shows no vote before all are in."""

    case: ReleaseCase
    others: tuple[Entry, ...]
    """Other releases to the same recipient, earlier and later: two that differ disclose more than each by itself."""


def cast_vote(action: ReleaseAction, vote: Literal["approve", "reject"]) -> Voted:
    """Take a reviewer's vote, and decide with the last one.

    The action is that of a person in policy.review.reviewers; its reason is opened with the votes. A single vote to
    reject rejects the release.
    Raises BadInput if the reviewer may not review this release or their key is not available, the reason cannot be
    kept, or the recipient is not named; StageFailed if the release does not await review, or its file cannot be
    delivered as it was decided on; TamperingFound if bundle, ledger, a vote or the sealed file is not as recorded.
    """
    reason = checked_reason(action.reason)
    with action.opened("review") as found:
        release = with_late_submissions(found)
        case = _awaiting(release, action.recipient)
        barred = answering(release.ledger, case.record, case.standing)
        ballot = Ballot(
            release_id=release.release_id,
            recipient=case.recipient,
            record_sha256=case.record_sha256,
            reviewer=reviewer_of(case.record, action.named(release), barred),
            vote=vote,
            reason=reason,
            nonce=new_nonce(),
        )
        person, signer = action.authorized_apart(release, case.record, WorkflowRole.REVIEWER)
        if case.record.signed_votes and signer is None:
            raise BadInput(
                "the policy requires signed votes",
                where=f"release to {case.recipient}",
                expected="a reviewer with a registered key",
                got="no key in force",
                fix="register one: releasegate key create, or a public key on the page of your account",
            )
        step = (Event.VOTED, bodies.voted(ballot, person.id))
        box = ballot_box(release.workspace, release.release_id, case.recipient)
        box.put(ballot)
        others = {name: sealed for name, sealed in case.standing.commitments.items() if name != ballot.reviewer}
        if len(others) + 1 < case.record.reviews_required:
            after = release.append(case, [step], signer)
            box.keep_only(ballot.reviewer, ballot.commitment)
        else:
            earlier = [box.open(name, commitment) for name, commitment in others.items()]
            after = _decide(release, case, [*earlier, ballot], step, signer)
            box.clear()
        return Voted(
            release.release_id,
            case.recipient,
            ballot.reviewer,
            ballot.reviewer in case.standing.commitments,
            len(others) + 1,
            case.record.reviews_required,
            after,
        )


def overview(reference: str, workspace: Workspace, *, clock: Clock = utc_now) -> tuple[Overview, ...]:
    """A release as reviewers see it: its standing, who has voted, and other releases to its recipients."""
    with ReleaseAction(reference, workspace, clock=clock).opened("review") as release:
        return tuple(Overview(case, _others(release, case)) for case in release.cases.values())


def _others(release: OpenRelease, case: ReleaseCase) -> tuple[Entry, ...]:
    entries = release.ledger.entries(recipient=case.recipient, event=Event.RELEASED)
    return tuple({one.release_id: one for one in entries if one.release_id != release.release_id}.values())


def _awaiting(release: OpenRelease, recipient: str | None) -> ReleaseCase:
    today = release.now.date()
    if recipient is None:
        waiting = [case for case in release.cases.values() if case.standing.state is State.AWAITING_REVIEW]
        if len(waiting) > 1:
            raise BadInput(
                "the release awaits review for several recipients",
                where="--recipient",
                expected=" or ".join(sorted(case.recipient for case in waiting)),
                got="none",
                fix="say which of them the vote is about",
            )
        case = waiting[0] if waiting else next(iter(release.cases.values()))
    else:
        case = release.case(recipient)
    if case.standing.state is not State.AWAITING_REVIEW:
        raise case.refused(
            f"the release is {case.standing.state.value} and takes no votes", "a release that awaits review"
        )
    if case.standing.awaits_signature:
        raise case.refused(
            "the release takes no votes before the expert has signed its determination",
            "a determination with the expert's signature, as the policy asks",
            got="none",
            fix=f"sign it: releasegate sign {release.release_id[:12]} --recipient {case.recipient} --pkcs12 FILE",
        )
    if today < case.record.valid_from:
        raise case.refused(
            "the vote would be dated before the decision that it rests on",
            "a clock that is right",
            lapsed(case.record, today),
            "set the clock of this machine",
        )
    return case


def _decide(
    release: OpenRelease, case: ReleaseCase, ballots: Sequence[Ballot], last: Step, signer: Signer | None
) -> Standing:
    """Open the votes, the last of which is new, and act on them in one transaction; deliver if all approve."""
    votes = [last]
    votes += [(Event.REVIEWED, bodies.reviewed(ballot)) for ballot in ballots]
    outcome = bodies.outcome(case.record_sha256)
    if any(ballot.vote == "reject" for ballot in ballots):
        return release.append(case, [*votes, (Event.REJECTED, outcome)], signer)
    try:
        released, asked = _stage(release, case, ballots), _request_kept(release, case)
        with release.ledger.transaction():
            after = release.append(case, [*votes, (Event.APPROVED, outcome), (Event.RELEASED, released)], signer)
            check_still_apart(release.workspace, release.ledger, case.record)
            supersede(release.workspace, release.ledger, case.record, release.now)
            check_hand(release.ledger, case.record, asked)
    finally:
        finish_additions(release.workspace, release.ledger, release.release_id)
    forget_superseded(release.workspace, case.record)
    return after


def _request_kept(release: OpenRelease, case: ReleaseCase) -> ReleaseRequest:
    """The request as it was decided on; the file itself may have changed since."""
    content = kept_request(release.workspace, case.record.request_sha256)
    if content is None:  # decided by an earlier version, which kept it with the copy alone
        from flows.releases.delivered import read_kept  # noqa: PLC0415  imports all assessments

        content = read_kept(release.workspace, release.release_id, case.recipient).request
    return request_of_bytes(content, Path("request.yaml")).request


def answering(ledger: Ledger, record: DecisionRecord, stands: Standing) -> tuple[str, ...]:
    """Officers who made overrides that this release rests on, and so do not review it.

    Of several who have overridden one gate the record shows the last.
    """
    named = set(record.overrides)
    entries = ledger.entries(event=Event.OVERRIDDEN) if named else ()
    overriding = [GateOverrides.of(entry).officer for entry in entries if entry.sha256 in named]
    return (*record.answering, *overriding, *(one.officer for one in stands.overrides))


def _stage(release: OpenRelease, case: ReleaseCase, ballots: Sequence[Ballot]) -> dict[str, object]:
    """Stage the delivery that was sealed when it was decided; returns the body of its entry."""
    from reports.certificate import render_certificate  # noqa: PLC0415  WeasyPrint takes a second to import
    from reports.determination import render_approved  # noqa: PLC0415
    from reports.sections.review import AfterReview  # noqa: PLC0415

    workspace, name, record = release.workspace, release.release_id, case.record
    staging = workspace.additions(name)
    delivery, key = staging / "delivery" / case.recipient, pending_key(workspace, name)
    open_folder(workspace.pending(name, case.recipient), delivery, key)
    reviews = _reviews(release, case, ballots)
    approved = record.model_copy(update={"decision": Verdict.APPROVED, "reviews": reviews})
    sealed, signed = release.report.hashes, f"signed/{case.recipient}/"
    after = AfterReview(
        reviews=reviews,
        returned=overrides_in(case.standing),
        approved_at=release.now,
        report_sha256=sealed[report_path(case.recipient)],
        record_sha256=case.record_sha256,
        signed=tuple(sealed[path] for path in release.report.signed if path.startswith(signed)),
    )
    hashes = stage_addition(
        staging,
        record,
        case.record_sha256,
        reviews=reviews,
        standing=case.standing,
        approved_at=release.now,
        documents={
            "certificate_sha256": render_certificate(approved, approved_at=release.now),
            "determination_sha256": render_approved(record, after),
        },
    )
    return bodies.released(str(record.dataset.output_sha256), record.delivered_sha256, **hashes)


def _reviews(release: OpenRelease, case: ReleaseCase, ballots: Sequence[Ballot]) -> tuple[Review, ...]:
    """The votes as reviews; each at the time when it was cast."""
    cast = {
        entry.body["commitment"]: entry.at
        for entry in release.ledger.entries(release_id=release.release_id, recipient=case.recipient, event=Event.VOTED)
    }
    return tuple(review_of(ballot, cast.get(ballot.commitment, release.now)) for ballot in ballots)


def comment(action: ReleaseAction) -> None:
    """Record a comment, the reason of the action, on one recipient's release; its state does not change.

    Raises BadInput if the person is not enrolled, neither login nor key is theirs, or the comment cannot be kept;
    TamperingFound if bundle or ledger is not as recorded.
    """
    text = checked_reason(action.reason)
    with action.opened("comment") as release:
        case = release.case(action.recipient)
        person, signer = action.authorized(release, WorkflowRole.REQUESTER, WorkflowRole.REVIEWER, WorkflowRole.OFFICER)
        release.ledger.append(
            Event.COMMENTED,
            release_id=release.release_id,
            recipient=case.recipient,
            actor=actor(),
            body=bodies.commented(person.name, person.id, text),
            at=release.now,
            signer=signer,
        )
