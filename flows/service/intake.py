"""Taking a request in, whichever way it came: read, named, queued once; or refused, in the ledger too.

What one call does, in order:

1. Read the request with the loader of every command, hash the files that it names, and name the release.
2. One that is queued already, or was decided, is folded into what there is.
3. One that cannot be used is refused: queue and ledger keep the reason, and nothing keeps the document.
"""

import hashlib
import shutil
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from flows.actor import Clock, actor, utc_now
from flows.identity import Inputs, code_fact, read_inputs, release_id
from flows.ledger import open_ledger
from flows.overriding import named
from flows.service.files import write_whole
from flows.service.queue import Entry, Queue, State, new_token
from flows.workspace import Workspace
from tasks.decision.record import digest
from tasks.decision.verdict import utc_day
from tasks.delivery.manifest import printable
from tasks.errors import BadInput, RequestError, WorkspaceError
from tasks.guard import guarded
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.document import MAXIMUM_BYTES
from tasks.request.load import load_request

_LONGEST_TEXT = 2000
Source = Literal["inbox", "http", "event"]


@dataclass(frozen=True)
class Received:
    """What became of a request that came in."""

    entry: Entry
    folded: bool
    """Whether the same request was there already."""


@dataclass(frozen=True)
class Arrival:
    """A request as it comes in."""

    content: bytes
    source: Source
    name: str
    """What messages call it."""
    folders: tuple[Path, ...] = ()
    """Where files that it names may lie; relative paths are tried in this order."""
    id: str = ""
    """Tells this arrival from others of the same bytes; made up where not given."""


def receive(workspace: Workspace, arrival: Arrival, *, most_queued: int = 1000, clock: Clock = utc_now) -> Received:
    """Take a request in.

    Parameters
    ----------
    workspace : Workspace
        Opened before (``open_workspace``).
    arrival : Arrival
    most_queued : int
        Requests without a verdict that the queue may hold.
    clock : callable

    Returns
    -------
    Received
        An entry that is accepted, or refused with its reason.

    Raises
    ------
    WorkspaceError
        If queue or ledger cannot be used now, or the queue is full; then nothing happened, and the same may be tried
        again.
    """
    queue = Queue(workspace)
    with guarded("queue"), open_ledger(workspace, create=True) as ledger:
        queue.prepare()
        place = queue.document(hashlib.sha256(arrival.content).hexdigest())
        kept = place.is_file()
        if not kept and len(arrival.content) <= MAXIMUM_BYTES:
            write_whole(place, arrival.content)
        entry = _named(place, ledger, arrival, clock())
        with queue.changing():
            there = queue.get(entry.id)
            folded = there is not None and _is_same(there, entry)
            if not entry.is_open and not kept:
                _drop(queue, entry)
            if there is not None and folded:
                return Received(there, folded=True)
            if entry.is_open:
                _check_room(queue, most_queued, new=there is None or not there.is_open)
                if not place.is_file():  # dropped by a refusal of the same bytes, asked for with other folders
                    write_whole(place, arrival.content)
            queue.put(entry)
        if not entry.is_open:
            record_end(queue, ledger, entry)
        return Received(entry, folded=False)


def record_end(queue: Queue, ledger: Ledger, entry: Entry) -> None:
    """Tell the ledger that a request was refused, or failed, if it does not know yet; repeating is harmless."""
    event = Event.REFUSED if entry.state is State.REFUSED else Event.FAILED
    requested = entry.state is State.FAILED and ledger.entries(release_id=entry.id, event=Event.REQUESTED)
    with ledger.transaction():
        told = any(known.body.get("queued") == entry.token for known in ledger.entries(event=event))
        if not told:
            reason = {part: printable(text)[:_LONGEST_TEXT] for part, text in entry.reason.items()}
            ledger.append(
                event,
                release_id=entry.id if requested else None,
                recipient=None,
                actor=actor(),
                body={**reason, "request_sha256": entry.request_sha256, "queued": entry.token},
                at=entry.finished_at or entry.accepted_at,
            )
    queue.mark_recorded(entry)


def inputs_digest(inputs: Inputs) -> str:
    """One digest for all files that a request names."""
    return digest(asdict(inputs))


def code_digest() -> str:
    """One digest for the program, as release ids name it."""
    return digest(code_fact().model_dump(mode="json"))


def check_inputs(queue: Queue, entry: Entry) -> None:
    """Refuse to decide on other files than were there when the request was accepted.

    Raises
    ------
    BadInput
        If one of them has changed since, or cannot be used any more.
    """
    loaded = load_request(queue.document(entry.request_sha256), [Path(root) for root in entry.roots])
    if loaded.sha256 != entry.request_sha256 or inputs_digest(read_inputs(loaded)) != entry.inputs:
        raise BadInput(
            "a file that the request names was changed since it was accepted",
            where="data, population, hierarchies or external register",
            expected="the bytes that were there when the request came in",
            got="others",
            fix="make the files ready first, then ask again",
        )


def _named(place: Path, ledger: Ledger, arrival: Arrival, at: datetime) -> Entry:
    """The entry of a request: accepted, under its release id; or refused, under its digest."""
    sha256 = place.parent.name
    new = Entry(
        id=sha256,
        state=State.ACCEPTED,
        source=arrival.source,
        name=printable(arrival.name),
        request_sha256=sha256,
        roots=tuple(str(folder.resolve()) for folder in arrival.folders),
        arrival=arrival.id or new_token(),
        token=new_token(),
        accepted_at=at,
    )
    try:
        with guarded("request"):
            _check_size(arrival)
            loaded = load_request(place, arrival.folders)
            inputs = read_inputs(loaded)
    except BadInput as error:
        reason = {part: text.replace(str(place), new.name) for part, text in error.fields().items()}
        refused = {"state": State.REFUSED, "reason": reason, "finished_at": at}
        return new.model_copy(update=refused)
    name = named(ledger, release_id(loaded, inputs, code_fact()), utc_day(at)).release_id
    return new.model_copy(update={"id": name, "inputs": inputs_digest(inputs), "code": code_digest()})


def _check_size(arrival: Arrival) -> None:
    if len(arrival.content) > MAXIMUM_BYTES:
        raise RequestError(
            "the request is too large",
            where=arrival.name,
            expected=f"at most {MAXIMUM_BYTES:,} bytes",
            got="more",
            fix="name the data by dataset.path, and long hierarchies by hierarchy.file",
        )


def _is_same(there: Entry, entry: Entry) -> bool:
    """Whether what is there answers the request: it is under way, was decided, or came in just so before."""
    if there.state is State.REFUSED or there.state is State.FAILED:
        return there.arrival == entry.arrival
    return entry.is_open


def _check_room(queue: Queue, most_queued: int, *, new: bool) -> None:
    if new and len(queue.open_entries()) >= most_queued:
        raise WorkspaceError(
            "the queue of requests is full",
            where="limits.queued",
            expected=f"at most {most_queued:,} requests without a verdict",
            got="as many",
            fix="wait until some are decided or reviewed; then ask again",
        )


def _drop(queue: Queue, entry: Entry) -> None:
    """Keep nothing of a document that cannot be used: it may hold anything."""
    others = (*queue.open_entries(), *queue.done_entries())
    if not any(one.request_sha256 == entry.request_sha256 and one.state is not State.REFUSED for one in others):
        shutil.rmtree(queue.document(entry.request_sha256).parent, ignore_errors=True)
