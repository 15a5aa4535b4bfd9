"""Messages about news of the ledger, in words for the people whom they concern.

A message has the title of the request, the verdict, the reason in full, the deadline and a link; of a trace only that
it was made. One about a copy that would be blocked today says so in its first line. It holds no data value: reasons are
those that reports print, or what a person wrote for the ledger.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from urllib.parse import quote

from flows.queue.undecided import REASON
from tasks.audit.current import BLOCKED_TODAY
from tasks.audit.history import kept, text, texts
from tasks.audit.reassessments import WOULD_BE_BLOCKED
from tasks.core.people import login_of, same_person, submitters_of
from tasks.decision.bodies import KeptDecision
from tasks.ledger.enrolment import EnrolledPerson
from tasks.ledger.entry import Entry, Event
from tasks.service.settings import NewsKind

_LABELS = {"fix": "to do"}
_AWAITED = frozenset({NewsKind.AWAITING_REVIEW, NewsKind.REVIEW_DUE})
_IN_FORCE = frozenset({NewsKind.APPROVED, NewsKind.RELEASED, NewsKind.EXPIRING, NewsKind.REASSESSED})
_OF_REVIEWERS = frozenset(
    {*_AWAITED, NewsKind.REJECTED, NewsKind.RELEASED, NewsKind.OVERRIDDEN, NewsKind.REVOKED, NewsKind.EXPIRED}
)
_OF_OFFICERS = frozenset(
    {
        NewsKind.BLOCKED,
        NewsKind.REJECTED,
        NewsKind.OVERRIDDEN,
        NewsKind.REVOKED,
        NewsKind.EXPIRING,
        NewsKind.EXPIRED,
        NewsKind.REASSESSED,
        NewsKind.TRACED,
    }
)
_ASKING = frozenset({Event.REQUESTED, Event.REFUSED, Event.FAILED})
_OF_REQUESTERS = frozenset(NewsKind) - {NewsKind.TRACED, NewsKind.REVIEW_DUE}


@dataclass(frozen=True)
class Subject:
    """The request or release that a message is about, as far as the ledger knows it."""

    title: str = ""
    recipients: tuple[str, ...] = ()
    requested_by: str = ""
    requester_id: str = ""
    kept: KeptDecision | None = None
    """Facts of the decision, where there is one."""
    voted: tuple[str, ...] = field(default=())
    """Reviewers who have voted in this round."""
    submitters: frozenset[str] = frozenset()
    """Logins that have submitted it."""

    @classmethod
    def of(cls, entry: Entry, of_release: Sequence[Entry]) -> "Subject":
        """The subject of an entry, from the entries of its release: of one recipient's, or of all without one."""
        about = [
            one
            for one in of_release
            if (entry.recipient is None or one.recipient in (None, entry.recipient)) and one.sequence <= entry.sequence
        ]
        asked = next((one for one in reversed(about) if one.event is Event.REQUESTED), entry)
        decided = next((one for one in reversed(about) if one.event is Event.DECIDED), None)
        facts = None if decided is None else _facts(decided)
        return cls(
            title=text(asked, "title") or (facts.dataset if facts else ""),
            recipients=(entry.recipient,) if entry.recipient else texts(asked, "recipients"),
            requested_by=text(asked, "requested_by") or (facts.requested_by if facts else ""),
            requester_id=text(asked, "requester_id") or (facts.requester_id if facts else ""),
            kept=facts,
            submitters=frozenset(
                login
                for by in texts(asked, "handed_in_by") or ((asked.actor,) if asked.event in _ASKING else ())
                for login in submitters_of(by)
            ),
        )

    def concerns(self, person: EnrolledPerson, kind: NewsKind) -> bool:
        """Whether news of a kind concerns a person: who asked for it or submitted it, a reviewer or an officer."""
        if self.requester_id == person.id or same_person(self.requested_by, person.name):
            return kind in _OF_REQUESTERS
        if kind in _OF_REQUESTERS and not self.submitters.isdisjoint(map(login_of, person.logins)):
            return True
        reviewers, officers = (self.kept.reviewers, self.kept.officers) if self.kept else ((), ())
        if kind in _OF_OFFICERS and any(same_person(person.name, one) for one in officers):
            return True
        asked = kind in _OF_REVIEWERS and any(same_person(person.name, one) for one in reviewers)
        return asked and not (kind is NewsKind.REVIEW_DUE and any(same_person(person.name, one) for one in self.voted))


@dataclass(frozen=True)
class Message:
    """A message, ready to be sent."""

    subject: str
    body: str


def message(kind: NewsKind, entry: Entry, about: Subject, of_release: Sequence[Entry], address: str | None) -> Message:
    """The message of a piece of news; `address` is that of the page, for the link."""
    whom = ", ".join(about.recipients)
    head = [words(kind, entry), *filter(None, (about.title, whom))]
    lines = {
        "Title": about.title,
        "Recipient": whom if about.kept is None or not entry.recipient else f"{about.kept.organisation} ({whom})",
        "Requested by": about.requested_by,
        "Verdict": words(kind, entry),
        "Reason": "\n  ".join(_reasons(kind, entry, of_release)),
        "Deadline": _deadline(kind, about.kept),
        "Link": link(address, entry.release_id, entry.recipient) or "",
        "Release": entry.release_id or "none",
        "Ledger": f"entry {entry.sequence}, {entry.at:%Y-%m-%d %H:%M} UTC",
    }
    body = "\n".join(f"{label}: {said}" for label, said in lines.items() if said)
    if lines["Verdict"] == BLOCKED_TODAY:
        body = f"{BLOCKED_TODAY.capitalize()}: {', '.join(head[1:])}\n{body}"
    return Message(f"releasegate: {' · '.join(head)}", body)


def words(kind: NewsKind, entry: Entry) -> str:
    """The verdict in words: the result of a re-assessment, or the kind of other news."""
    found = text(entry, "verdict") if kind is NewsKind.REASSESSED else None
    return BLOCKED_TODAY if found == WOULD_BE_BLOCKED else found or kind.value


def link(address: str | None, release_id: str | None, recipient: str | None) -> str | None:
    """Address of the page of a release, or of the list where it has none; None without an address of the page."""
    if address is None:
        return None
    base = f"{address.rstrip('/')}/releases"
    if release_id is None:
        return base
    return f"{base}?show=all&q={release_id}" if recipient is None else f"{base}/{release_id}/{quote(recipient)}"


def reason_lines(reason: dict[str, str] | Entry) -> Iterator[str]:
    """A refusal or failure in full, a line for each part."""
    for part in REASON:
        said = text(reason, part) if isinstance(reason, Entry) else reason.get(part)
        if said:
            yield said if part in {"what", "problems"} else f"{_LABELS.get(part, part)}: {said}"


def _facts(decided: Entry) -> KeptDecision | None:
    try:
        return kept(decided)
    except (TypeError, ValueError):  # of a version that kept other facts
        return None


def _reasons(kind: NewsKind, entry: Entry, of_release: Sequence[Entry]) -> Iterator[str]:
    if kind in {NewsKind.REFUSED, NewsKind.FAILED}:
        yield from reason_lines(entry)
    elif kind is NewsKind.REJECTED:
        votes = [one for one in of_release if one.event is Event.REVIEWED and one.recipient == entry.recipient]
        last = [one for one in votes if one.sequence < entry.sequence and one.at == entry.at]
        yield from (f"{text(one, 'reviewer')}: {text(one, 'vote')}. {text(one, 'reason')}" for one in last)
    elif kind is NewsKind.TRACED:
        yield f"A trace was made by {entry.actor}. The audit shows its result."
    elif kind is NewsKind.REASSESSED:
        yield from texts(entry, "because")
    elif kind is NewsKind.SUPERSEDED:
        yield f"The release {text(entry, 'by_release')} took its place."
    elif entry.event is Event.DECIDED:
        yield from texts(entry, "reasons")
    elif text(entry, "reason"):
        yield f"{text(entry, 'by')}: {text(entry, 'reason')}"


def _deadline(kind: NewsKind, facts: KeptDecision | None) -> str:
    if facts is None:
        return ""
    if kind in _AWAITED:
        return f"votes count until {facts.valid_until}"
    return f"holds until {facts.valid_until}" if kind in _IN_FORCE else ""


def reminder_due(last_day: date, days: Sequence[int], checked: date, today: date) -> bool:
    """Whether a reminder so many days before a last day falls after the day checked last, up to today."""
    return today <= last_day and any(checked < date.fromordinal(last_day.toordinal() - one) <= today for one in days)
