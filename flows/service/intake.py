"""Taking a request in, whichever way it came: read, named and queued once; or refused, in the ledger too.

1. Read the request with the loader that every command uses, hash the files that it names, and name the release.
2. A request that is queued already, or was decided, is folded into the existing one, which names whoever submits it.
3. A request that cannot be used is refused: queue and ledger keep the reason, and nothing keeps the document.
"""

import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from flows.library.policies import PolicyShelf
from flows.people.persons import check_own_login
from flows.queue.queue import UNDECIDED, Queue, QueuedRequest, RequestState, new_token
from flows.releases.identity import identify, release_id
from flows.releases.program import code_fact
from flows.releases.submissions import note_late_submissions
from flows.service.config import Service
from flows.service.logs import log, log_problem
from flows.service.receipts import Receipts
from flows.workspace.actor import Clock, actor, login_of_user, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import kept_reason, open_ledger
from tasks.core.canonical import digest
from tasks.core.errors import BadInput, Outage, ReleasegateError, RequestError, WorkspaceError
from tasks.core.files import file_sha256, sync_folder, write_whole
from tasks.core.guard import guarded
from tasks.core.modes import make_folder_for_group
from tasks.decision.verdict import utc_day
from tasks.delivery.manifest import printable
from tasks.ledger.enrolment import Directory
from tasks.ledger.entry import EntryFilter, Event
from tasks.ledger.store import Ledger
from tasks.request.document import MAXIMUM_BYTES
from tasks.request.inputs import read_inputs
from tasks.request.load import load_request

ACCEPTED, REFUSED = "accepted", "refused"
_SUFFIXES = (".yaml", ".yml")
_PAUSE = 30.0
"""Seconds, besides those to settle, until a file is tried again."""
_Identity = tuple[int, int, int, int]
"""Distinguishes a file from others of its name, and from itself after a change."""


@dataclass(frozen=True)
class Received:
    """A request after intake."""

    entry: QueuedRequest
    folded: bool
    """Whether the same request was there already."""


@dataclass(frozen=True)
class Arrival:
    """A request as it comes in."""

    content: bytes
    source: Literal["inbox", "http", "event"]
    name: str
    """Name of the document in messages."""
    folders: tuple[Path, ...] = ()
    """Folders that it may name files in; relative paths are tried in this order."""
    id: str = ""
    """Distinguishes this arrival from others of the same bytes; random if omitted."""
    handed_in_by: str = ""
    """Login or token that it comes from; the service's own if omitted."""


def receive(service: Service, arrival: Arrival, *, clock: Clock = utc_now) -> Received:
    """Take a request in, as an entry that is accepted, or refused with its reason.

    Raises WorkspaceError if queue or ledger cannot be used now, or the queue is full. Nothing has happened then, and
    the same request may be submitted again.
    """
    queue, most = service.queue, service.settings.limits.queued
    with guarded("queue"), open_ledger(service.workspace, create=True, clock=clock) as ledger:
        queue.prepare()
        document = queue.document(hashlib.sha256(arrival.content).hexdigest())
        kept = document.is_file()
        if not kept and len(arrival.content) <= MAXIMUM_BYTES:
            write_whole(document, arrival.content)
        entry = _new_entry(service, document, ledger, arrival, clock())
        with queue.changing():
            existing = queue.get(entry.id)
            if not entry.is_open and not kept:
                _drop(queue, entry)
            same = existing if existing is not None and _is_same(existing, entry) else None
            if same is not None:
                entry = _handed_in_too(queue, same, entry)
            elif entry.is_open:
                waiting = len(queue.open_entries())
                if waiting >= most and (existing is None or not existing.is_open):
                    raise WorkspaceError(
                        "the queue of requests is full",
                        where="limits.queued",
                        expected=f"fewer than {most:,} requests without a verdict",
                        got=f"{waiting:,}",
                        fix="wait until some are decided or reviewed, then submit the request again",
                    )
                if not document.is_file():  # dropped by a refusal of the same bytes with other folders
                    write_whole(document, arrival.content)
            if same is None:
                queue.notes(entry.id).clear()  # a request to cancel an earlier submission of the same id ended with it
                queue.put(entry)
        if same is None and not entry.is_open:
            record_end(queue, ledger, entry)
        note_late_submissions(ledger, entry.id, entry.submissions, clock())
        return Received(entry, folded=same is not None)


def record_end(queue: Queue, ledger: Ledger, entry: QueuedRequest) -> None:
    """Record in the ledger, once, that a request was refused or failed.

    One that is recorded late has the time of the last entry: the ledger takes none from before it.
    """
    event = Event.REFUSED if entry.state is RequestState.REFUSED else Event.FAILED
    requested = event is Event.FAILED and ledger.entries(release_id=entry.id, event=Event.REQUESTED)
    with ledger.transaction():
        if all(known.body.get("queued") != entry.token for known in ledger.entries(event=event)):
            asked = {
                "title": entry.title,
                "recipients": list(entry.recipients),
                "requested_by": entry.requested_by,
                "request_sha256": entry.request_sha256,
                "handed_in_by": [one.by for one in entry.submissions],
                "queued": entry.token,
            }
            ended = entry.finished_at or entry.accepted_at
            ledger.append(
                event,
                release_id=entry.id if requested else None,
                recipient=None,
                actor=entry.ended_by or entry.handed_in_by or actor(),
                body={**kept_reason(entry.reason), **asked},
                at=max([ended, *(last.at for last in ledger.latest(EntryFilter(), limit=1))]),
            )
    queue.update(entry, recorded=True)


def record_ends(service: Service, entries: Iterable[QueuedRequest]) -> None:
    """Record in the ledger those of some ended requests that are not recorded."""
    unrecorded = [one for one in entries if not one.recorded]
    if unrecorded:
        with open_ledger(service.workspace, create=True) as ledger:
            for entry in unrecorded:
                record_end(service.queue, ledger, entry)


def is_decided(workspace: Workspace, name: str) -> bool:
    """Whether the ledger has a decision of a request, which no cancelling undoes."""
    with open_ledger(workspace) as ledger:
        return bool(ledger.entries(release_id=name, event=Event.DECIDED))


def code_digest() -> str:
    """Digest of the program, as in release ids."""
    return digest(code_fact().model_dump(mode="json"))


def check_inputs(service: Service, entry: QueuedRequest) -> None:
    """Refuse to decide on files that differ from those at acceptance.

    Raises BadInput if a file has changed since, or can no longer be used.
    """
    document = service.queue.document(entry.request_sha256)
    loaded = load_request(document, [Path(root) for root in entry.roots], PolicyShelf(service.workspace.root))
    if file_sha256(document) != entry.request_sha256 or digest(asdict(read_inputs(loaded))) != entry.inputs:
        raise BadInput(
            "a file that the request names has changed since it was accepted",
            where="data, population, hierarchies or external register",
            expected="the same bytes as on acceptance",
            got="a different hash",
            fix="prepare the files first, then submit the request again",
        )


def _new_entry(service: Service, document: Path, ledger: Ledger, arrival: Arrival, at: datetime) -> QueuedRequest:
    """The entry of a request: accepted, under its release id; or refused, under its digest."""
    workspace, queue = service.workspace, service.queue
    sha256 = document.parent.name
    new = QueuedRequest(
        id=sha256,
        state=RequestState.ACCEPTED,
        source=arrival.source,
        name=printable(arrival.name),
        handed_in_by=arrival.handed_in_by or actor(),
        request_sha256=sha256,
        roots=tuple(str(folder.resolve()) for folder in arrival.folders),
        arrival=arrival.id or new_token(),
        accepted_at=at,
    )
    try:
        with guarded("request"):
            if len(arrival.content) > MAXIMUM_BYTES:
                raise RequestError(
                    "the request is too large",
                    where=arrival.name,
                    expected=f"at most {MAXIMUM_BYTES:,} bytes",
                    got="a larger document",
                    fix="name the data by dataset.path, and long hierarchies by hierarchy.file",
                )
            loaded = load_request(document, arrival.folders, PolicyShelf(workspace.root))
            asked = loaded.request
            new = new.model_copy(
                update={
                    "title": printable(asked.title),
                    "recipients": tuple(one.id for one in asked.recipients),
                    "requested_by": printable(asked.requested_by),
                }
            )
            inputs = read_inputs(loaded)
            name = identify(ledger, release_id(loaded, inputs, code_fact()), asked, utc_day(at)).release_id
            before = queue.get(name)
            if before is None or before.state in UNDECIDED:  # it would be run in the name of this login
                _check_login(ledger, asked.requested_by, new.handed_in_by)
    except Outage:
        raise
    except BadInput as error:
        reason = {part: text.replace(str(document), new.name) for part, text in error.reason().items()}
        refused = {"state": RequestState.REFUSED, "reason": reason, "finished_at": at}
        return new.model_copy(update=refused)
    return new.model_copy(update={"id": name, "inputs": digest(asdict(inputs)), "code": code_digest()})


def _check_login(ledger: Ledger, requester: str, login: str) -> None:
    """Refuse (BadInput) a request from a login that is not its requester's, as its run would.

    Somebody who is not enrolled yet may be by then.
    """
    directory = Directory.of(ledger)
    person = directory.person(requester)
    if person is not None:
        check_own_login(directory, person, login, "requested_by")


def _is_same(existing: QueuedRequest, entry: QueuedRequest) -> bool:
    """Whether an existing entry answers the request: it is under way, was decided, or is the same arrival."""
    if existing.state in UNDECIDED:
        return existing.arrival == entry.arrival
    return entry.is_open


def _handed_in_too(queue: Queue, existing: QueuedRequest, entry: QueuedRequest) -> QueuedRequest:
    """The existing entry, with whoever submits the same request; call it while the queue is `changing`."""
    submission = entry.submissions[0]
    if any(one.by == submission.by for one in existing.submissions):
        return existing
    changed = existing.model_copy(update={"hand_ins": (*existing.hand_ins, submission)})
    queue.put(changed)
    return changed


def _drop(queue: Queue, entry: QueuedRequest) -> None:
    """Delete a document that cannot be used: it may hold anything."""
    others = (*queue.open_entries(), *queue.done_entries())
    used = {one.request_sha256 for one in others if one.state is not RequestState.REFUSED}
    if entry.request_sha256 not in used:
        shutil.rmtree(queue.document(entry.request_sha256).parent, ignore_errors=True)


class InboxWatcher:
    """Takes in the requests that are dropped into a folder.

    A file is read once its size and time have not changed for a while, so that a file still being written is left
    alone. Accepted files are moved to ``accepted/``, unusable ones to ``refused/``, each beside its receipt.
    Hidden files, links and files with other names stay where they are: a request's data may lie beside it.
    """

    def __init__(self, service: Service, folder: Path, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._folder = folder
        self._monotonic = monotonic
        self._seen: dict[_Identity, float] = {}
        """Time since which each file is unchanged."""
        self._receipts = Receipts(service, folder / ACCEPTED)

    def prepare(self) -> None:
        """Create the folders that files are moved to."""
        for name in (ACCEPTED, REFUSED):
            make_folder_for_group(self._folder / name)
        self._receipts.prepare()

    def tick(self) -> list[Received]:
        """Take in the files that have settled. Raises OSError if the folder cannot be read."""
        now, taken = self._monotonic(), list[Received]()
        seen: dict[_Identity, float] = {}
        for path in sorted(self._folder.iterdir()):
            is_request = path.suffix.lower() in _SUFFIXES and not path.name.startswith(".")
            identity = _identity(path) if is_request else None
            if identity is None:
                continue
            since = self._seen.get(identity, now)
            if now - since >= self._service.settings.inbox.settle_seconds:
                received = self._take(path, identity)
                if received is not None:
                    taken.append(received)
                    continue
                since = now + _PAUSE
            seen[identity] = since
        self._seen = seen
        self._receipts.tick()
        return taken

    def _take(self, path: Path, identity: _Identity) -> Received | None:
        """Take a file in and move it aside; None if that must be tried again."""
        identifier = "inbox-" + "-".join(map(str, identity))
        try:
            content, owner = read_document(path)
            roots = (self._folder, *self._service.roots)
            arrival = Arrival(content, "inbox", path.name, roots, identifier, f"{owner} (inbox)")
            received = receive(self._service, arrival)
            self._move(path, received.entry, identity)
        except (ReleasegateError, OSError) as error:
            log_problem("a file of the inbox could not be taken in; will be tried again", error, file=path.name)
            return None
        entry, folded = received.entry, received.folded or None
        log(f"a request was {entry.state.value}", request=entry.id, source="inbox", folded=folded, file=path.name)
        return received

    def _move(self, path: Path, entry: QueuedRequest, identity: _Identity) -> None:
        """Move a file aside, beside its receipt.

        Hashing its data may have taken minutes: a file that has replaced it meanwhile stays, to be read.
        """
        folder = self._folder / (REFUSED if entry.state is RequestState.REFUSED else ACCEPTED)
        target = folder / f"{path.stem}.{entry.token[:8]}{path.suffix}"
        self._receipts.write(target, entry)
        if _identity(path) == identity:
            path.replace(target)
        sync_folder(folder)
        sync_folder(self._folder)


def _identity(path: Path) -> _Identity | None:
    """Identity of a regular file; None for anything else."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def read_document(path: Path) -> tuple[bytes, str]:
    """Read one byte more than a request may have, at most, and the login of its owner; no link is followed."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
        return stream.read(MAXIMUM_BYTES + 1), login_of_user(os.fstat(stream.fileno()).st_uid)
