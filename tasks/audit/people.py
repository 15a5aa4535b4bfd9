"""Actions of people: overrides, revocations, policies, keys; and the separation of duties.

The separation of duties is checked here on the entries themselves. The gate refuses all that violates it but votes
under different names from one login, which people may share: any other exception shows a ledger that was not written by
the gate.
"""

from collections.abc import Iterator, Mapping, Sequence

from tasks.audit.cases import AuditCase
from tasks.audit.figures import gate_figure
from tasks.audit.history import History, Period, day, text, texts
from tasks.audit.report import AuditPolicyRow, Duties, ExceptionRow, InterventionRow, KeyRow, SignedRow
from tasks.core.errors import TamperingFound
from tasks.core.people import (
    WorkflowRole,
    login_of,
    may_be_same_person,
    other_submitters,
    person_key,
    same_person,
    submitters_of,
)
from tasks.decision.overrides import is_gate_override, used_by
from tasks.decision.record import Verdict
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import Entry, Event

OVERRIDES = ("override of gates", "override of reviewers")
"""Names of overrides: of gates of a blocked release, or of reviewers who rejected it."""
REVOCATION = "revocation"
_NOT_RECORDED = "not recorded"
_KEYS = frozenset({Event.KEY_REGISTERED, Event.KEY_RETIRED, Event.KEYS_ROTATED})
_OFFICER = "officer"
_ONE_LOGIN = "votes under different names from one login, not signed"
_BY_REQUESTER, _FROM_ITS_LOGIN = "by the requester", "from the login that the request came from, not signed"


def intervention_rows(
    history: History, cases: Mapping[tuple[str, str], AuditCase], period: Period
) -> tuple[InterventionRow, ...]:
    """Every override since the ledger began, and the revocations of the period."""
    rows = []
    for entry in history.entries:
        if entry.event is Event.OVERRIDDEN:
            what = OVERRIDES[0] if is_gate_override(entry) else OVERRIDES[1]
        elif entry.event is Event.REVOKED and period.holds(entry.at):
            what = REVOCATION
        else:
            continue
        case = cases.get((str(entry.release_id), str(entry.recipient)))
        rows.append(
            InterventionRow(
                entry=entry.sequence,
                at=entry.at,
                in_period=period.holds(entry.at),
                what=what,
                release_id=entry.release_id or _NOT_RECORDED,
                recipient=entry.recipient,
                by=text(entry, "by") or _NOT_RECORDED,
                role=text(entry, "role") or _OFFICER,
                reason=text(entry, "reason") or _NOT_RECORDED,
                figures=_figures(entry, case),
                until=day(entry, "valid_until") if entry.event is Event.OVERRIDDEN else None,
                login=entry.actor,
                signed=entry.signature is not None,
                outcome=case.outcome.state if case else "not decided",
            )
        )
    return tuple(rows)


def signed_rows(history: History, period: Period) -> tuple[SignedRow, ...]:
    """Determinations signed in the period."""
    return tuple(
        SignedRow(
            entry=entry.sequence,
            at=entry.at,
            release_id=entry.release_id or _NOT_RECORDED,
            recipient=entry.recipient,
            subject=text(entry, "subject") or _NOT_RECORDED,
            by=text(entry, "by"),
            signed_sha256=text(entry, "signed_sha256") or _NOT_RECORDED,
            login=entry.actor,
        )
        for entry in history.entries
        if entry.event is Event.SIGNED and period.holds(entry.at)
    )


def policy_rows(cases: Sequence[AuditCase], period: Period) -> tuple[AuditPolicyRow, ...]:
    """Decisions of the period under another policy, or other contents of it, than the decision before under its id."""
    rows = []
    before: dict[str, tuple[str, str]] = {}
    for case in cases:
        policy = case.kept.policy
        earlier = before.get(policy.id)
        before[policy.id] = policy.version, policy.sha256
        if (earlier and earlier[1] == policy.sha256) or not period.holds(case.decided.at):
            continue
        rows.append(
            AuditPolicyRow(
                entry=case.decided.sequence,
                at=case.decided.at,
                policy=policy.id,
                version=policy.version,
                sha256=policy.sha256,
                before_version=earlier[0] if earlier else None,
                before_sha256=earlier[1] if earlier else None,
                same_version=earlier is not None and earlier[0] == policy.version,
                release_id=case.release_id,
                requested_by=case.kept.requested_by,
                login=case.requested.actor if case.requested else case.decided.actor,
            )
        )
    return tuple(rows)


def key_rows(history: History, period: Period) -> tuple[KeyRow, ...]:
    """Keys registered, retired and rotated in the period."""
    return tuple(
        KeyRow(
            entry=entry.sequence,
            at=entry.at,
            what=entry.event.value,
            name=text(entry, "name"),
            roles=texts(entry, "roles"),
            login=entry.actor,
        )
        for entry in history.entries
        if entry.event in _KEYS and period.holds(entry.at)
    )


def duties(history: History, cases: Sequence[AuditCase], period: Period) -> Duties:
    """Whether requester, reviewers and officers of what happened in the period were different people.

    An exception is a vote or an override by the requester, or without a signature from the login that the request came
    from, or by a person whom the policy does not name, who was not enrolled in this role or, without a signature, acted
    from a login that is not theirs; votes under different names from one login, without a signature; a vote on a
    release by an officer who reopened it or overrode its gates; and a file that was delivered without the approvals
    that its decision required.
    """
    pairs = [(case, entry) for case in cases for entry in case.entries if period.holds(entry.at)]
    votes = [(case, entry) for case, entry in pairs if entry.event is Event.VOTED]
    unsigned = [(case, entry) for case, entry in votes if entry.signature is None]
    answering = {entry.sha256: text(entry, "by") or "" for entry in history.entries if entry.event is Event.OVERRIDDEN}
    enrolments = [entry for entry in history.entries if entry.event in {Event.ENROLLED, Event.ENROLMENT_ENDED}]
    rows = (row for case in cases for row in (*_exceptions(case, answering), *_not_enrolled(case, enrolments)))
    found = [row for row in rows if period.holds(row.at)]
    return Duties(
        votes=len(votes),
        overrides=sum(entry.event is Event.OVERRIDDEN for _, entry in pairs),
        deliveries=sum(entry.event is Event.RELEASED for _, entry in pairs),
        unsigned_votes=len(unsigned),
        votes_from_requesters_login=sum(_from_requesters_login(case, entry) for case, entry in unsigned),
        self_reviews=len({row.entry for row in found if row.what.endswith((_BY_REQUESTER, _FROM_ITS_LOGIN))}),
        exceptions=tuple(sorted(found, key=lambda row: row.entry)),
    )


def _exceptions(case: AuditCase, answering: Mapping[str, str]) -> Iterator[ExceptionRow]:
    officers = {answering[one] for one in used_by(case.decided) if one in answering}
    approving: set[str] = set()
    voters: dict[str, str] = {}
    approved = False
    for entry in case.entries:
        if entry.event is Event.VOTED:
            who = text(entry, "reviewer") or _NOT_RECORDED
            yield from _not_of(case, entry, who, case.kept.reviewers, "vote")
            if any(may_be_same_person(who, one) for one in officers):
                yield _row(case, entry, "vote by an officer who made an override of the release", who)
            if entry.signature is None:
                other = voters.setdefault(login_of(entry.actor), who)
                if not same_person(other, who):
                    yield _row(case, entry, _ONE_LOGIN, f"{other} and {who}")
        elif entry.event is Event.OVERRIDDEN:
            who = text(entry, "by") or _NOT_RECORDED
            yield from _not_of(case, entry, who, case.kept.officers, "override")
            officers.add(who)
            approving, approved = set(), False
        elif entry.event is Event.DECIDED:
            approving, approved = set(), text(entry, "decision") == Verdict.APPROVED.value
        elif entry.event is Event.REVIEWED and text(entry, "vote") == "approve":
            approving.add(person_key(text(entry, "reviewer") or ""))
        elif entry.event is Event.APPROVED:
            approved = len(approving) >= max(case.kept.reviews_required, 1)
        elif entry.event is Event.RELEASED and not approved:
            yield _row(case, entry, "delivery without the approvals that the decision required", entry.actor)


def _figures(entry: Entry, case: AuditCase | None) -> tuple[str, ...]:
    gates = entry.body.get("gates")
    named = [gate.get("id") for gate in gates if isinstance(gate, dict)] if isinstance(gates, list) else []
    kept = {gate.id: gate for gate in case.kept.gates} if case else {}
    return tuple(gate_figure(case, kept[name]) if case and name in kept else str(name) for name in named)


def _not_of(case: AuditCase, entry: Entry, who: str, named: Sequence[str], what: str) -> Iterator[ExceptionRow]:
    if may_be_same_person(who, case.kept.requested_by):
        yield _row(case, entry, f"{what} {_BY_REQUESTER}", who)
    if _from_requesters_login(case, entry):
        yield _row(case, entry, f"{what} {_FROM_ITS_LOGIN}", who)
    if not any(same_person(who, one) for one in named):
        yield _row(case, entry, f"{what} by a person whom the policy does not name", who)


def _not_enrolled(case: AuditCase, enrolments: Sequence[Entry]) -> Iterator[ExceptionRow]:
    """Votes and overrides by people who were not enrolled in the role, or not from a login of theirs."""
    roles = {
        Event.VOTED: ("vote", "reviewer", WorkflowRole.REVIEWER),
        Event.OVERRIDDEN: ("override", "by", WorkflowRole.OFFICER),
    }
    for entry in case.entries:
        before = [one for one in enrolments if one.sequence < entry.sequence]
        if entry.event not in roles or not before:
            continue
        what, field, role = roles[entry.event]
        who = text(entry, field) or _NOT_RECORDED
        try:
            directory = Directory(before)
        except TamperingFound:
            directory = Directory()
        person = directory.person(who)
        if person is None or role not in person.roles:
            yield _row(case, entry, f"{what} by a person who was not enrolled as {role}", who)
        elif entry.signature is None and not directory.is_own_login(person, entry.actor):
            yield _row(case, entry, f"{what} from a login that is not this person's, not signed", who)
        again = [one for one in case.entries if one.event is Event.HANDED_IN and one.sequence < entry.sequence]
        logins = other_submitters(case.kept.handed_in_by).union(*(submitters_of(one.actor) for one in again))
        if not directory.logins_of(person).isdisjoint(logins):
            yield _row(case, entry, f"{what} by a person who took part in the request", who)


def _from_requesters_login(case: AuditCase, entry: Entry) -> bool:
    asked = case.kept.handed_in_by or (case.requested.actor if case.requested else None)
    return entry.signature is None and asked is not None and login_of(entry.actor) == login_of(asked)


def _row(case: AuditCase, entry: Entry, what: str, who: str) -> ExceptionRow:
    return ExceptionRow(
        entry=entry.sequence, at=entry.at, release_id=case.release_id, recipient=case.recipient, what=what, who=who
    )
