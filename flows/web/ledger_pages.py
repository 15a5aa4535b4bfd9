"""Search of the ledger, its entries in words, and the audit of a period as PDF, JSON or CSV.

Of an entry's body only the fields listed here are shown: paths, commitments and nonces do not help a reader, and of a
trace only its existence is shown.
"""

import io
import re
import threading
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from http import HTTPStatus
from string import Formatter

from fastapi import APIRouter
from fastapi.responses import Response

from flows.actions.audit import JSON, as_data, as_pdf, audit_of, month_before
from flows.web.authentication import CurrentVisitor, PostedForm
from flows.web.http import not_allowed, number_of, query, sentence
from flows.web.site import Visitor, fields, log
from flows.workspace.folders import Workspace
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.audit.history import text, texts
from tasks.core.errors import BadInput
from tasks.core.people import person_key
from tasks.decision.overrides import is_gate_override
from tasks.ledger.entry import Entry, EntryFilter, Event

router = APIRouter()

_ROWS = 40
_READ_AT_ONCE = 500
_READ_AT_MOST = 10_000
"""Entries searched for a person before the reader is asked whether to go on."""
_LONGEST = 100
_PEOPLE = ("by", "reviewer", "name", "requested_by")
"""Fields of bodies that name people."""
_TYPES = {"pdf": "application/pdf", "json": "application/json", "csv": "application/zip"}
_ONE_AT_A_TIME = threading.Lock()
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)

_WORDS: Mapping[Event, tuple[str, str, str]] = {
    Event.REQUESTED: ("Requested", "Requested by {requested_by}", "title"),
    Event.REFUSED: ("Request refused", "{what}", ""),
    Event.FAILED: ("A stage failed", "{what}", ""),
    Event.DECIDED: ("Decided by the gate", "{decision}. {reasons}", ""),
    Event.RELEASED: ("Released", "SHA-256 of the file: {output_sha256}", ""),
    Event.PUBLISHED: ("Bundle published", "", ""),
    Event.VOTED: ("Vote cast", "{reviewer} has voted. The vote is sealed until all votes are cast.", ""),
    Event.HANDED_IN: ("Submitted again", "A vote of theirs no longer counts, unless it had decided.", ""),
    Event.REVIEWED: ("Vote opened", "{reviewer} voted to {vote}", "reason"),
    Event.REJECTED: ("Rejected by the reviewers", "", ""),
    Event.APPROVED: ("Approved by the reviewers", "", ""),
    Event.SIGNED: ("Determination signed", "", "subject"),
    Event.OVERRIDDEN: ("Overridden", "{by} returns it to its reviewers", "reason"),
    Event.REVOKED: ("Revoked", "By {by} ({role})", "reason"),
    Event.SUPERSEDED: ("Superseded", "By the release {by_release}", ""),
    Event.EXPIRED: ("Expired", "Last day: {valid_until}", ""),
    Event.REASSESSED: ("Assessed again", "{verdict}. {because}", ""),
    Event.COMMENTED: ("Comment", "By {by}", "comment"),
    Event.TRACED: ("Trace made", "", ""),
    Event.KEY_REGISTERED: ("Key registered", "{name}, as {roles}", ""),
    Event.KEY_RETIRED: ("Key retired", "{name}", ""),
    Event.RESTORED: ("Ledger restored from a backup", "", "reason"),
    Event.KEYS_ROTATED: ("Keys of manifests rotated", "", ""),
    Event.ENROLLED: ("Enrolled", "", ""),
    Event.ENROLMENT_ENDED: ("Enrolment ended", "", ""),
}
"""Title and text of an entry by its event, and the field that somebody has written freely; fields are of its body.

What people write stands apart from what the program says, so that no reason can pass for another entry.
"""
_GATES_OVERRIDDEN = "{by} overrode failed gates"
_CANCELLED = ("Cancelled", "{what}", "reason")


@dataclass(frozen=True)
class EntryView:
    """An entry as shown on a page."""

    entry: Entry
    title: str
    text: str
    """Words of the program, with names as enrolled."""
    written: str
    """Text that a person has written, to be shown as theirs."""
    who: str
    """The person it names; empty where it names none."""
    login: str
    """Login that caused it, and where; of an opened vote, the one that it was cast from."""
    opened_by: str
    """Of an opened vote, the login whose vote was the last and opened it; else empty."""

    @property
    def by(self) -> str:
        """Person and login in one line."""
        if self.opened_by:
            cast = f"cast by {self.who} from login {self.login}" if self.login else f"cast by {self.who}"
            return f"{cast}; opened with the last vote, from login {self.opened_by}"
        return f"by {self.who}, login {self.login}" if self.who else f"by login {self.login}"


def casting_logins(entries: Iterable[Entry]) -> dict[tuple[str | None, str | None, str], str]:
    """The login that each reviewer's last vote was cast from, by release, recipient and reviewer; entries in order."""
    voted = (entry for entry in entries if entry.event is Event.VOTED)
    return {(entry.release_id, entry.recipient, text(entry, "reviewer") or ""): entry.actor for entry in voted}


def entry_view(entry: Entry, cast_from: Mapping[tuple[str | None, str | None, str], str] | None = None) -> EntryView:
    """An entry in words; `cast_from` are the logins of votes, as of ``casting_logins``."""
    title, template, free = _WORDS.get(entry.event, (entry.event.value.capitalize(), "", ""))
    if entry.event is Event.OVERRIDDEN and is_gate_override(entry):
        template = _GATES_OVERRIDDEN
    if entry.event is Event.FAILED and text(entry, "by"):
        title, template, free = _CANCELLED
    names = [name for _, name, _, _ in Formatter().parse(template) if name]
    fields = {name: text(entry, name) or (", " if name == "roles" else " ").join(texts(entry, name)) for name in names}
    words = template.format_map(fields).strip() if any(fields.values()) else ""
    people = filter(None, (text(entry, name) for name in _PEOPLE))
    who, login, opened_by = next(people, ""), entry.actor, ""
    if entry.event is Event.REVIEWED:
        login, opened_by = (cast_from or {}).get((entry.release_id, entry.recipient, who), ""), entry.actor
    written = (text(entry, free) or "") if free else ""
    return EntryView(entry, title, words[:1].upper() + words[1:], written, who, login, opened_by)


def _release_prefix(given: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{6,}", given.lower()):
        raise ValueError
    return given.lower()


_TERMS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "release": (_release_prefix, "Give the first six or more digits of a release id: 0–9 and a–f."),
    "event": (Event, "Choose one of the events."),
    "person": (str, ""),
    "from": (date.fromisoformat, "Give a day as 2026-03-31."),
    "to": (date.fromisoformat, "Give a day as 2026-03-31."),
}
"""Terms of a search: how each is read, and the answer where it cannot be."""


@router.get("/ledger")
def search(visitor: CurrentVisitor) -> Response:
    """The form and its results, newest entries first, page by page."""
    if not visitor.sees_all:
        raise not_allowed("The ledger is shown to reviewers, officers and regulators.")
    asked = visitor.request.query_params
    given = {name: asked.get(name, "").strip()[:_LONGEST] for name in _TERMS}
    terms, wrong = dict[str, object](), dict[str, str]()
    for name, (read, mistake) in _TERMS.items():
        try:
            terms[name] = read(given[name]) if given[name] else None
        except ValueError:
            wrong[name] = mistake
    first, last = terms.get("from"), terms.get("to")
    if isinstance(first, date) and isinstance(last, date) and first > last:
        wrong["to"] = "The last day is before the first."
    before = number_of(asked.get("before", "")) or None
    entries, go_on = list[Entry](), None
    if not wrong and has_ledger(visitor.site.workspace):
        wanted = EntryFilter(*(terms[name] for name in ("release", "event", "from", "to")))  # type: ignore[arg-type]
        entries, go_on = _found(visitor.site.workspace, wanted, given["person"], before)
    return visitor.page(
        "ledger.html",
        given=given,
        wrong=wrong,
        events=[event.value for event in Event],
        entries=_views(visitor.site.workspace, entries),
        newest="" if before is None else query(given),
        older="" if go_on is None else query(given, before=str(go_on)),
        searched=any(given.values()),
    )


def _views(workspace: Workspace, entries: Sequence[Entry]) -> list[EntryView]:
    """Entries in words; of opened votes with the logins that they were cast from."""
    opened = {(entry.release_id, entry.recipient) for entry in entries if entry.event is Event.REVIEWED}
    cast_from: dict[tuple[str | None, str | None, str], str] = {}
    if opened:
        with open_ledger(workspace) as ledger:
            for release_id, recipient in opened:
                cast_from |= casting_logins(
                    ledger.entries(release_id=release_id, recipient=recipient, event=Event.VOTED)
                )
    return [entry_view(entry, cast_from) for entry in entries]


def _found(workspace: Workspace, terms: EntryFilter, person: str, before: int | None) -> tuple[list[Entry], int | None]:
    """A page of matching entries, and the number of the last one searched if there may be more before it."""
    matching: list[Entry] = []
    wanted, looked = person_key(person).split(), 0
    size = _READ_AT_ONCE if person else _ROWS + 1
    with open_ledger(workspace) as ledger:
        while looked < _READ_AT_MOST:
            read = ledger.latest(terms, before=before, limit=size)
            for entry in read:
                names = (entry.actor, entry.signer, *(text(entry, name) for name in _PEOPLE))
                keys = [person_key(name) for name in names if name]
                if not any(all(word in key for word in wanted) for key in keys):
                    continue
                if len(matching) == _ROWS:
                    return matching, matching[-1].sequence
                matching.append(entry)
            if len(read) < size:
                return matching, None
            looked, before = looked + len(read), read[-1].sequence
    return matching, before


@router.get("/audit")
def show_audit(visitor: CurrentVisitor) -> Response:
    """The form, with the previous month as period."""
    _check_audits(visitor)
    first, last = month_before(visitor.site.clock().date())
    return _audit_page(visitor, {"from": first.isoformat(), "to": last.isoformat(), "format": "pdf"})


@router.post("/audit")
def download_audit(visitor: CurrentVisitor, form: PostedForm) -> Response:
    """The audit of a period as a file."""
    _check_audits(visitor)
    given = {name: form.text(name).strip()[:20] for name in ("from", "to", "format")}
    site, kind = visitor.site, given["format"]
    try:
        if kind not in _TYPES:
            raise BadInput("there is no such format", expected="PDF, JSON or CSV", got="another format")
        site.limit((site.limits.audits, visitor.account.login))
        with _ONE_AT_A_TIME:
            report = audit_of(site.workspace, given["from"], given["to"], clock=site.clock)
            files = {} if kind == "pdf" else as_data(report)
            content = as_pdf(report) if kind == "pdf" else files.pop(JSON)
            if kind == "csv":
                content = _zipped(files)
    except BadInput as error:
        return _audit_page(visitor, given, f"{error.what}; expected: {error.expected}")
    log.info("an audit was made", extra=fields(login=visitor.account.login))
    name = f"audit-{report.first_day}-{report.last_day}.{'zip' if kind == 'csv' else kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=_TYPES[kind], headers=headers)


def _check_audits(visitor: Visitor) -> None:
    if not visitor.audits:
        raise not_allowed("Audits are shown to officers and regulators.")


def _audit_page(visitor: Visitor, given: dict[str, str], problem: str = "") -> Response:
    return visitor.page(
        "audit.html",
        status=HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK,
        given=given | {"format": given["format"] or "pdf"},
        today=visitor.site.clock().date().isoformat(),
        problem=problem and sentence(problem),
    )


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """A ZIP file of several files; the same bytes each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
