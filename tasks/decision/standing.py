"""Standing of one recipient's release, from the ledger's entries about it and the day.

Nothing is stored: each entry is a change of the table in ``tasks.decision.states``, or something that a later change
needs (a vote, an opened vote). Entries that contradict the table, the policy or each other are an error.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from tasks.core.errors import BadInput, StageFailed
from tasks.core.people import WorkflowRole, login_of, may_be_same_person, other_submitters, same_person, submitters_of
from tasks.decision.overrides import GateOverrides, is_gate_override
from tasks.decision.record import DecisionRecord, Review, Verdict
from tasks.decision.states import State, StateChange, after, can_follow
from tasks.decision.verdict import is_over, lapsed, utc_day
from tasks.decision.votes import Ballot
from tasks.ledger.entry import Entry, Event
from tasks.request.measures import MEASURES, Measure

OF_GATE = "gate"
"""Mark of a revocation by an officer whom the policy does not name: any officer of the gate may revoke."""
AWAITING_SIGNATURE = "technically passed, awaiting the expert's signature"
"""Words for a release that awaits review and takes no votes yet."""

_LAST_CHANGE = {
    Verdict.BLOCKED: StateChange.BLOCK,
    Verdict.AWAITING_REVIEW: StateChange.ASK_FOR_REVIEW,
    Verdict.APPROVED: StateChange.APPROVE,
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
    unsigned: bool = False
    """Whether the policy asks for the expert's signature, and there is none yet."""

    def is_as_decided(self, record: DecisionRecord) -> bool:
        """Whether nothing has changed the state since the decision."""
        return self.why == " ".join(record.reasons)

    @property
    def words(self) -> str:
        """The state as people read it."""
        return AWAITING_SIGNATURE if self.awaits_signature else self.state.value

    @property
    def awaits_signature(self) -> bool:
        """Whether votes wait for the expert's signature."""
        return self.unsigned and self.state is State.AWAITING_REVIEW


def standing(entries: Sequence[Entry], record: DecisionRecord, record_sha256: str, day: date) -> Standing:
    """Standing of a release on a day (UTC), from its entries, oldest first; those of other recipients are passed over.

    Raises StageFailed if there is no decision, or the entries contradict the table, the record or each other.
    """
    own = [entry for entry in entries if entry.recipient == record.recipient.id]
    decided = [place for place, entry in enumerate(own) if entry.event is Event.DECIDED]
    if not decided:
        raise _contradiction("release", "an entry of the decision", "none")
    askers = [entry.actor for entry in entries if entry.event is Event.REQUESTED]
    if record.handed_in_by and askers and record.handed_in_by not in askers:
        raise _contradiction("request", "an entry of the request by the login in the record", "another login")
    check_open(own[: decided[-1]])
    fold = _Fold(record, record_sha256)
    for entry in own[decided[-1] :]:
        fold.add(entry)
    if fold.now.reviews and fold.now.state is State.AWAITING_REVIEW:
        raise _contradiction("reviews", "votes that are opened together with what they decide", "no outcome")
    fold.expire(day)
    return fold.now


def review_of(ballot: Ballot, at: datetime) -> Review:
    """A vote as a review; ``at`` is when it was cast."""
    cast = ballot.model_dump(include={"reviewer", "vote", "reason", "record_sha256"})
    return Review(**cast, role=WorkflowRole.REVIEWER.value, at=at)


def check_open(entries: Sequence[Entry]) -> None:
    """Refuse (``StageFailed``) to decide again on what was revoked, superseded or rejected, or has expired."""
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

    def __init__(self, record: DecisionRecord, record_sha256: str) -> None:
        self.now = Standing(State.REQUESTED, "", record.decided_at)
        self._record = record
        self._record_sha256 = record_sha256
        self._votes: dict[str, Entry] = {}
        self._hands = set[str]()
        """Logins, and ids of people, that submitted the request once its run had begun."""
        self._in_review = False

    def add(self, entry: Entry) -> None:
        """Read the next entry; one that changes no state is passed over."""
        reader = _READERS.get(entry.event)
        if reader is None:
            return
        self.expire(utc_day(entry.at))
        try:
            reader(self, entry)
        except (BadInput, StageFailed) as error:
            raise _contradiction(f"ledger entry {entry.sequence}", error.expected, error.what) from None
        except (KeyError, TypeError, ValueError):
            raise _contradiction(
                f"ledger entry {entry.sequence}", f"the body of an entry “{entry.event.value}”", "other content"
            ) from None

    def expire(self, day: date) -> None:
        """Let the release expire where its last day is over."""
        ends = can_follow(self.now.state, StateChange.EXPIRE, WorkflowRole.GATE)
        if ends and is_over(self._record.valid_until, day):
            self._set(state=State.EXPIRED, why=lapsed(self._record, day))

    def _set(self, **changes: Any) -> None:
        self.now = replace(self.now, **changes)

    def _change(self, change: StateChange, role: WorkflowRole, entry: Entry, why: str) -> None:
        self._set(state=after(self.now.state, change, role), why=why, since=entry.at)

    def _decided(self, entry: Entry) -> None:
        decision = Verdict(self._record.decision)
        same = entry.body["record_sha256"] == self._record_sha256
        _expect(same, "a different decision record", "the record that the entry names")
        _expect(entry.body["decision"] == decision.value, "a different verdict", "the record's verdict")
        for change in (StateChange.VALIDATE, StateChange.ASSESS, _LAST_CHANGE[decision]):
            self._change(change, WorkflowRole.GATE, entry, " ".join(self._record.reasons))
        self._in_review = decision is Verdict.AWAITING_REVIEW
        self._set(unsigned=self._record.expert_signs)

    def _signed(self, entry: Entry) -> None:
        same = entry.body["record_sha256"] == self._record_sha256
        _expect(same, "a signature of a different decision", "a signature of the determination that was decided")
        self._set(unsigned=False)

    def _voted(self, entry: Entry) -> None:
        self._awaiting()
        self._apart(entry)
        name = reviewer_of(self._record, _text(entry, "reviewer"), [one.officer for one in self.now.overrides])
        signed = entry.signature is not None or not self._record.signed_votes
        _expect(signed, "a vote without a signature", "a vote signed with the reviewer's key, as the policy requires")
        in_place = not self.now.reviews and entry.body["record_sha256"] == self._record_sha256
        _expect(in_place, "a vote out of place", "a vote on this record, before any is opened")
        self._set(commitments={**self.now.commitments, name: _text(entry, "commitment")})
        self._votes[name] = entry

    def _handed_in(self, entry: Entry) -> None:
        """Votes of whoever has submitted the request too are void, unless they have decided."""
        people = entry.body["people"]
        if not isinstance(people, list):
            raise TypeError("people")
        self._hands |= {*submitters_of(entry.actor), *map(str, people)}
        if self.now.state is State.AWAITING_REVIEW:
            left = {name: one for name, one in self.now.commitments.items() if not self._has_hand(self._votes[name])}
            self._set(commitments=left)

    def _has_hand(self, entry: Entry) -> bool:
        return not self._hands.isdisjoint({login_of(entry.actor), str(entry.body.get("person"))})

    def _apart(self, entry: Entry) -> None:
        """Refuse a vote or override by somebody who took part in the request, before its run or since."""
        check_apart(self._record, entry.actor, str(entry.body.get("person")), signed=entry.signature is not None)
        late = self._has_hand(entry)
        _expect(not late, "a vote or override by somebody who had submitted the request too", "another person")

    def _reviewed(self, entry: Entry) -> None:
        self._awaiting()
        about = {"release_id": self._record.release_id, "recipient": self._record.recipient.id}
        vote = {name: entry.body[name] for name in ("reviewer", "vote", "reason", "nonce")}
        ballot = Ballot.model_validate({**about, "record_sha256": self._record_sha256, **vote})
        committed = self.now.commitments.get(ballot.reviewer) == ballot.commitment
        _expect(committed, "a different vote", "the vote that the reviewer committed to")
        again = any(review.reviewer == ballot.reviewer for review in self.now.reviews)
        _expect(not again, "a vote opened twice", "one vote a reviewer")
        self._set(reviews=(*self.now.reviews, review_of(ballot, self._votes[ballot.reviewer].at)))

    def _approved(self, entry: Entry) -> None:
        votes, required = self._all_votes()
        _expect("reject" not in votes, "an approval against a vote", "an approval that no reviewer rejects")
        why = f"{len(votes)} of {required} reviewers approve."
        self._change(StateChange.APPROVE, WorkflowRole.REVIEWER, entry, why)

    def _rejected(self, entry: Entry) -> None:
        votes, _ = self._all_votes()
        _expect("reject" in votes, "a rejection without a vote to reject", "a vote to reject")
        against = "; ".join(
            f"{one.reviewer}: {_quoted(one.reason)}" for one in self.now.reviews if one.vote == "reject"
        )
        self._change(StateChange.REJECT, WorkflowRole.REVIEWER, entry, f"Rejected in review. {against}")

    def _all_votes(self) -> tuple[list[str], int]:
        """Opened votes, once all that are needed are open, and how many are needed."""
        required = max(self._record.reviews_required, 1)
        complete = required <= len(self.now.reviews) == len(self.now.commitments)
        _expect(complete, "an outcome without all votes", f"{required} opened votes")
        return [review.vote for review in self.now.reviews], required

    def _released(self, entry: Entry) -> None:
        same = entry.body["output_sha256"] == self._record.dataset.output_sha256
        _expect(same, "a different file", "the file that was decided on")
        self._change(StateChange.RELEASE, WorkflowRole.GATE, entry, self.now.why)

    def _revoked(self, entry: Entry) -> None:
        by, reason, role = (_text(entry, name) for name in ("by", "reason", "role"))
        of_gate = role == WorkflowRole.OFFICER and entry.body.get("officer_of") == OF_GATE
        own = of_gate or WorkflowRole(role) in revoking_roles(self._record, by)
        _expect(own, "a different role", "a role of the person named")
        self._change(StateChange.REVOKE, WorkflowRole(role), entry, f"Revoked by {by} ({role}): {_quoted(reason)}")

    def _overridden(self, entry: Entry) -> None:
        self._apart(entry)
        officer, reason = officer_of(self._record, _text(entry, "by")), _text(entry, "reason")
        if is_gate_override(entry):
            self._gates_overridden(entry, officer, reason)
            return
        _expect(self._in_review, "an override of a gate", "a release that was rejected by its reviewers")
        valid = not is_over(self._record.valid_until, utc_day(entry.at))
        _expect(valid, "a release reopened after its last day", "a release that is still valid")
        why = f"Put before its reviewers again by {officer} (officer): {_quoted(reason)}"
        self._change(StateChange.REOPEN, WorkflowRole.OFFICER, entry, why)
        overrides = (*self.now.overrides, Override(officer, reason, entry.at))
        self._set(overrides=overrides, commitments={}, reviews=())

    def _gates_overridden(self, entry: Entry, officer: str, reason: str) -> None:
        """The release stays blocked, with its reasons; what an override allows is a release of its own."""
        override = GateOverrides.of(entry)
        own = self._record.decision is Verdict.BLOCKED and override.record_sha256 == self._record_sha256
        _expect(own, "an override of a different decision", "a decision that gates have blocked")
        gates = ", ".join(f"“{MEASURES[Measure(name)].title}”" for name in sorted(override.gates))
        why = (
            f"{' '.join(self._record.reasons)} {officer} (officer) overrode {gates} "
            f"until {override.valid_until}: {_quoted(reason)}"
        )
        self._change(StateChange.OVERRIDE, WorkflowRole.OFFICER, entry, why)

    def _superseded(self, entry: Entry) -> None:
        later = _text(entry, "by_release")
        self._change(StateChange.SUPERSEDE, WorkflowRole.GATE, entry, f"Superseded by the release {later}.")
        self._set(superseded_by=later)

    def _expired(self, entry: Entry) -> None:
        due = self.now.state is State.EXPIRED and not self.now.expiry_recorded
        _expect(due, "an end that had not come", "one entry of it, after the last day")
        same = entry.body["valid_until"] == self._record.valid_until.isoformat()
        _expect(same, "a different last day", "that of the record")
        self._set(expiry_recorded=True)

    def _awaiting(self) -> None:
        waits = self.now.state is State.AWAITING_REVIEW and not self.now.unsigned
        _expect(waits, f"a vote on a release that is {self.now.words}", "a release that awaits review")


_READERS: Mapping[Event, Callable[[_Fold, Entry], None]] = {
    Event.DECIDED: _Fold._decided,
    Event.SIGNED: _Fold._signed,
    Event.VOTED: _Fold._voted,
    Event.HANDED_IN: _Fold._handed_in,
    Event.REVIEWED: _Fold._reviewed,
    Event.APPROVED: _Fold._approved,
    Event.REJECTED: _Fold._rejected,
    Event.RELEASED: _Fold._released,
    Event.REVOKED: _Fold._revoked,
    Event.OVERRIDDEN: _Fold._overridden,
    Event.SUPERSEDED: _Fold._superseded,
    Event.EXPIRED: _Fold._expired,
}


def _expect(fulfilled: bool, got: str, expected: str) -> None:
    if not fulfilled:
        raise StageFailed(got, expected=expected)


def _text(entry: Entry, name: str) -> str:
    value = entry.body[name]
    if not isinstance(value, str) or not value:
        raise TypeError(name)
    return value


def _quoted(reason: str) -> str:
    """A person's text in one line, in quotation marks that it does not contain itself."""
    return "“" + " ".join(reason.split()).replace("“", '"').replace("”", '"') + "”"


def _contradiction(where: str, expected: str, got: str) -> StageFailed:
    return StageFailed(
        "the ledger's entries of this release contradict each other",
        where=where,
        expected=expected,
        got=got,
        fix="deliver nothing; verify the ledger and find out who wrote this entry",
    )


def reviewer_of(record: DecisionRecord, name: str, answering: Collection[str] = ()) -> str:
    """The reviewer with a given name, as the policy spells it; neither the requester nor an ``answering`` officer.

    Raises BadInput if the policy names no such reviewer, or the person may not review this release.
    """
    answers = any(may_be_same_person(name, officer) for officer in answering)
    if answers or may_be_same_person(name, record.requested_by):
        raise BadInput(
            "an officer who made an override may not review the release"
            if answers
            else "the requester of a release may not review it",
            where=f"release to {record.recipient.id}",
            expected="one of the policy's reviewers who has not overridden anything for this release"
            if answers
            else "one of the policy's reviewers who did not ask for this release",
            got="a name that may be such an officer's" if answers else _as_requester(record, name),
            fix="ask a different reviewer",
        )
    return _named(record, name, record.reviewers, "a reviewer", "policy.review.reviewers")


def _as_requester(record: DecisionRecord, name: str) -> str:
    return "the requester" if name == record.requested_by else "a name that may be the requester's"


def officer_of(record: DecisionRecord, name: str) -> str:
    """The officer with a given name, as the policy spells it; ``BadInput`` for none, or for the requester."""
    if may_be_same_person(name, record.requested_by):
        raise BadInput(
            "the requester of a release may not override its gates or reviewers",
            where=f"release to {record.recipient.id}",
            expected="an officer who did not ask for this release",
            got=_as_requester(record, name),
            fix="ask a different officer",
        )
    return _named(record, name, record.officers, "an officer", "policy.review.officers")


def check_apart(record: DecisionRecord, actor: str, person: str, *, signed: bool, logins: Collection[str] = ()) -> None:
    """Refuse (``BadInput``) votes and overrides by the requester, by id, and by people whom the request came from.

    ``logins`` are those that the person has or had besides the ``actor``'s. Several people may share a login; whoever
    signs with their own registered key shows who they are. No signature helps whoever made the token of the request, or
    submitted it again for another: they have acted as its requester.
    """
    own = bool(person) and person == record.requester_id
    own_logins = {login_of(actor), *logins}
    acted = not own_logins.isdisjoint(other_submitters(record.handed_in_by))
    if not (own or acted or (not signed and record.handed_in_by and login_of(record.handed_in_by) in own_logins)):
        return
    what = "the login that a request came from may neither review nor override its release"
    got = "the login that the request came from, and no signature"
    if own:
        what, got = "the requester may neither review nor override their own release", "the id of the requester"
    elif acted:
        what = "who made the token of a request, or submitted it again, may neither review nor override its release"
        got = "a login that made the token of the request, or submitted it again"
    another = "another person than the requester, at another login or with a signature of their own key"
    register = "act under your own login, or register a key: releasegate key create"
    raise BadInput(
        what,
        where=f"release to {record.recipient.id}",
        expected="a person who took no part in the request" if acted else another,
        got=got,
        fix="ask a different person" if own or acted else register,
    )


def revoking_roles(record: DecisionRecord, name: str) -> frozenset[WorkflowRole]:
    """Roles in which a release names a person who may revoke it: officer, requester, or both; ``BadInput`` if none."""
    people = {WorkflowRole.REQUESTER: (record.requested_by,), WorkflowRole.OFFICER: record.officers}
    roles = frozenset(role for role, names in people.items() if any(same_person(name, one) for one in names))
    if not roles:
        raise BadInput(
            "this person may not revoke the release",
            where=f"release to {record.recipient.id}",
            expected="the requester, or an enrolled officer",
            got="a different name",
            fix="ask one of them",
        )
    return roles


def _named(record: DecisionRecord, name: str, names: Iterable[str], what: str, place: str) -> str:
    found = next((one for one in names if same_person(one, name)), None)
    if found is not None:
        return found
    raise BadInput(
        f"the policy does not name you as {what}",
        where=f"release to {record.recipient.id}",
        expected=f"one of {place} of the policy that it was decided under",
        got="a different name",
        fix="check the name; a request with other people in its policy is a new release",
    )
