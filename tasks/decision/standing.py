"""Standing of one recipient's release, from the ledger's entries about it and the day.

Nothing is stored: each entry is a change of the table in ``tasks.decision.states``, or something that a later change
needs (a vote, an opened vote). Entries that contradict the table, the policy or each other are an error.
Nothing here reads a ledger or a clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from tasks.core.errors import BadInput, StageFailed
from tasks.core.people import WorkflowRole
from tasks.decision.judged import Judged
from tasks.decision.overrides import GateOverrides, is_gate_override
from tasks.decision.people import officer_of, reviewer_of, revoking_roles
from tasks.decision.record import Review, Verdict
from tasks.decision.states import Change, State, after, can_follow, state_after
from tasks.decision.verdict import is_over, lapsed, utc_day
from tasks.decision.votes import Ballot
from tasks.ledger.entry import Entry, Event

REVIEWER = "reviewer"
"""Role of a reviewer in a review."""

_LAST_CHANGE = {
    Verdict.BLOCKED: Change.BLOCK,
    Verdict.AWAITING_REVIEW: Change.ASK_FOR_REVIEW,
    Verdict.APPROVED: Change.APPROVE,
}
_FOR_GOOD = frozenset({Event.REVOKED, Event.REJECTED, Event.EXPIRED, Event.SUPERSEDED})
"""After one of these the same request is not decided again."""


@dataclass(frozen=True)
class Override:
    """An officer's reopening of a rejected release; reviewers vote again."""

    officer: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Standing:
    """Standing of one recipient's release."""

    state: State
    why: str
    """Reason for the state, in a sentence."""
    since: datetime
    """Time of the last entry that changed the state; an expiry by the calendar does not change it."""
    commitments: Mapping[str, str] = field(default_factory=dict)
    """Commitments of reviewers who have voted in this round, by name; they do not show the votes."""
    reviews: tuple[Review, ...] = ()
    """Opened votes of this round; none before all are in."""
    overrides: tuple[Override, ...] = ()
    expiry_recorded: bool = False
    """Whether an entry records the expiry; it expires by the calendar with or without one."""
    superseded_by: str | None = None
    """Later release that supersedes it."""


def standing(entries: Sequence[Entry], record: Judged, record_sha256: str, day: date) -> Standing:
    """Standing of a release.

    Parameters
    ----------
    entries : sequence of Entry
        The ledger's entries of this release, oldest first; those of other recipients are passed over.
    record : Judged
        The recipient's decision: its record, or the facts that the ledger keeps.
    record_sha256 : str
        SHA-256 of its bytes.
    day : date
        Today, in UTC.

    Raises
    ------
    StageFailed
        If there is no decision, or the entries contradict the table, the record or each other.
    """
    own = [entry for entry in entries if entry.recipient == record.recipient.id]
    decided = [place for place, entry in enumerate(own) if entry.event is Event.DECIDED]
    if not decided:
        raise _contradiction("release", "an entry of the decision", "none")
    check_open(own[: decided[-1]])
    fold = _Fold(record, record_sha256)
    for entry in own[decided[-1] :]:
        fold.add(entry)
    return fold.standing(day)


def check_open(entries: Sequence[Entry]) -> None:
    """Refuse to decide again on what was revoked, superseded, or rejected by its reviewers, or has expired.

    Raises
    ------
    StageFailed
        If one of the entries says so.
    """
    for entry in entries:
        if entry.event in _FOR_GOOD:
            raise StageFailed(
                f"this request was {entry.event.value}, and is not decided again",
                where=f"ledger entry {entry.sequence}",
                expected="a release that nothing has ended",
                got=f"an entry “{entry.event.value}” for {entry.recipient}",
                fix="make a new request; data, request or policy then differ",
            )


class _Fold:
    """A release while its entries are read."""

    def __init__(self, record: Judged, record_sha256: str) -> None:
        self._record = record
        self._record_sha256 = record_sha256
        self._state = State.REQUESTED
        self._why = ""
        self._since = record.decided_at
        self._commitments: dict[str, str] = {}
        self._voted_at: dict[str, datetime] = {}
        self._reviews: list[Review] = []
        self._overrides: list[Override] = []
        self._in_review = False
        self._expiry_recorded = False
        self._superseded_by: str | None = None
        self._readers: Mapping[Event, Callable[[Entry], None]] = {
            Event.DECIDED: self._decided,
            Event.VOTED: self._voted,
            Event.REVIEWED: self._reviewed,
            Event.APPROVED: self._approved,
            Event.REJECTED: self._rejected,
            Event.RELEASED: self._released,
            Event.REVOKED: self._revoked,
            Event.OVERRIDDEN: self._overridden,
            Event.SUPERSEDED: self._superseded,
            Event.EXPIRED: self._expired,
        }

    def add(self, entry: Entry) -> None:
        """Read the next entry; one that changes no state is passed over."""
        reader = self._readers.get(entry.event)
        if reader is None:
            return
        self._expire(utc_day(entry.at))
        try:
            reader(entry)
        except (BadInput, StageFailed) as error:
            raise _contradiction(f"ledger entry {entry.sequence}", error.expected, error.what) from None
        except (KeyError, TypeError, ValueError):
            raise _contradiction(
                f"ledger entry {entry.sequence}", f"the body of an entry “{entry.event.value}”", "other content"
            ) from None

    def standing(self, day: date) -> Standing:
        """Standing after all entries."""
        if self._reviews and self._state is State.AWAITING_REVIEW:
            raise _contradiction("reviews", "votes that are opened together with what they decide", "no outcome")
        self._expire(day)
        return Standing(
            self._state,
            self._why,
            self._since,
            dict(self._commitments),
            tuple(self._reviews),
            tuple(self._overrides),
            self._expiry_recorded,
            self._superseded_by,
        )

    def _expire(self, day: date) -> None:
        if is_over(self._record.valid_until, day) and can_follow(self._state, Change.EXPIRE, WorkflowRole.GATE):
            self._state = after(self._state, Change.EXPIRE, WorkflowRole.GATE)
            self._why = lapsed(self._record, day)

    def _change(self, change: Change, role: WorkflowRole, entry: Entry, why: str) -> None:
        self._state = after(self._state, change, role)
        self._why, self._since = why, entry.at

    def _decided(self, entry: Entry) -> None:
        if entry.body["record_sha256"] != self._record_sha256:
            raise StageFailed("a different decision record", expected="the record that the entry names")
        decision = Verdict(self._record.decision)
        if entry.body["decision"] != decision.value:
            raise StageFailed("a different verdict", expected="the record's verdict")
        way = (Change.VALIDATE, Change.ASSESS, _LAST_CHANGE[decision])
        self._state = state_after((change, WorkflowRole.GATE) for change in way)
        self._why, self._since = " ".join(self._record.reasons), entry.at
        self._in_review = decision is Verdict.AWAITING_REVIEW

    def _voted(self, entry: Entry) -> None:
        self._awaiting()
        name = reviewer_of(self._record, _text(entry, "reviewer"), [one.officer for one in self._overrides])
        if self._reviews or entry.body["record_sha256"] != self._record_sha256:
            raise StageFailed("a vote out of place", expected="a vote on this record, before any is opened")
        self._commitments[name] = _text(entry, "commitment")
        self._voted_at[name] = entry.at

    def _reviewed(self, entry: Entry) -> None:
        self._awaiting()
        ballot = Ballot.model_validate(
            {
                "release_id": self._record.release_id,
                "recipient": self._record.recipient.id,
                "record_sha256": self._record_sha256,
                **{name: entry.body[name] for name in ("reviewer", "vote", "reason", "nonce")},
            }
        )
        if self._commitments.get(ballot.reviewer) != ballot.commitment:
            raise StageFailed("a different vote", expected="the vote that the reviewer committed to")
        if any(review.reviewer == ballot.reviewer for review in self._reviews):
            raise StageFailed("a vote opened twice", expected="one vote a reviewer")
        self._reviews.append(
            Review(
                reviewer=ballot.reviewer,
                role=REVIEWER,
                vote=ballot.vote,
                reason=ballot.reason,
                at=self._voted_at[ballot.reviewer],
                record_sha256=ballot.record_sha256,
            )
        )

    def _approved(self, entry: Entry) -> None:
        if self._count_of("reject"):
            raise StageFailed("an approval against a vote", expected="an approval that no reviewer rejects")
        self._change(
            Change.APPROVE,
            WorkflowRole.REVIEWER,
            entry,
            f"{self._count_of('approve')} of {self._required} reviewers approve.",
        )

    def _rejected(self, entry: Entry) -> None:
        if not self._count_of("reject"):
            raise StageFailed("a rejection without a vote to reject", expected="a vote to reject")
        against = "; ".join(f"{one.reviewer}: {one.reason}" for one in self._reviews if one.vote == "reject")
        self._change(Change.REJECT, WorkflowRole.REVIEWER, entry, f"Rejected in review. {against}")

    def _count_of(self, vote: str) -> int:
        """Opened votes of a kind, once all that are needed are open."""
        if len(self._reviews) < self._required or len(self._reviews) != len(self._commitments):
            raise StageFailed("an outcome without all votes", expected=f"{self._required} opened votes")
        return sum(review.vote == vote for review in self._reviews)

    @property
    def _required(self) -> int:
        return max(self._record.reviews_required, 1)

    def _released(self, entry: Entry) -> None:
        if entry.body["output_sha256"] != self._record.dataset.output_sha256:
            raise StageFailed("a different file", expected="the file that was decided on")
        self._change(Change.RELEASE, WorkflowRole.GATE, entry, self._why)

    def _revoked(self, entry: Entry) -> None:
        by, reason, role = (_text(entry, name) for name in ("by", "reason", "role"))
        if WorkflowRole(role) not in revoking_roles(self._record, by):
            raise StageFailed("a different role", expected="a role of the person named")
        self._change(Change.REVOKE, WorkflowRole(role), entry, f"Revoked by {by} ({role}): {reason}")

    def _overridden(self, entry: Entry) -> None:
        officer, reason = officer_of(self._record, _text(entry, "by")), _text(entry, "reason")
        if is_gate_override(entry):
            self._gates_overridden(entry, officer, reason)
            return
        if not self._in_review:
            raise StageFailed("an override of a gate", expected="a release that was rejected by its reviewers")
        if is_over(self._record.valid_until, utc_day(entry.at)):
            raise StageFailed("a release reopened after its last day", expected="a release that is still valid")
        self._change(
            Change.REOPEN,
            WorkflowRole.OFFICER,
            entry,
            f"Put before its reviewers again by {officer} (officer): {reason}",
        )
        self._overrides.append(Override(officer, reason, entry.at))
        self._commitments, self._voted_at, self._reviews = {}, {}, []

    def _gates_overridden(self, entry: Entry, officer: str, reason: str) -> None:
        """The release stays blocked, with its reasons; what an override allows is a release of its own."""
        override = GateOverrides.of(entry)
        if self._record.decision is not Verdict.BLOCKED or override.record_sha256 != self._record_sha256:
            raise StageFailed("an override of a different decision", expected="a decision that gates have blocked")
        why = (
            f"{' '.join(self._record.reasons)} {officer} (officer) answers for {', '.join(sorted(override.gates))} "
            f"until {override.valid_until}: {reason}"
        )
        self._change(Change.OVERRIDE, WorkflowRole.OFFICER, entry, why)

    def _superseded(self, entry: Entry) -> None:
        self._superseded_by = _text(entry, "by_release")
        self._change(Change.SUPERSEDE, WorkflowRole.GATE, entry, f"Superseded by the release {self._superseded_by}.")

    def _expired(self, entry: Entry) -> None:
        if self._state is not State.EXPIRED or self._expiry_recorded:
            raise StageFailed("an end that had not come", expected="one entry of it, after the last day")
        if entry.body["valid_until"] != self._record.valid_until.isoformat():
            raise StageFailed("a different last day", expected="that of the record")
        self._expiry_recorded = True

    def _awaiting(self) -> None:
        if self._state is not State.AWAITING_REVIEW:
            raise StageFailed(
                f"a vote on a release that is {self._state.value}", expected="a release that awaits review"
            )


def _text(entry: Entry, name: str) -> str:
    value = entry.body[name]
    if not isinstance(value, str) or not value:
        raise TypeError(name)
    return value


def _contradiction(where: str, expected: str, got: str) -> StageFailed:
    return StageFailed(
        "the ledger's entries of this release contradict each other",
        where=where,
        expected=expected,
        got=got,
        fix="deliver nothing; verify the ledger and find out who wrote this entry",
    )
