"""Reading a decided release again: its bundle and records, and its request and data if they are unchanged."""

import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flows.library.policies import PolicyShelf
from flows.releases.identity import release_id
from flows.workspace.folders import Workspace, no_workspace
from flows.workspace.kept_request import kept_request
from flows.workspace.ledger import last_body
from tasks.core.errors import BadInput, RequestError, WorkspaceError
from tasks.decision.record import DecisionRecord
from tasks.delivery.verification import DECISIONS, verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.inputs import read_inputs
from tasks.request.load import LoadedRequest, load_request, request_of_bytes

_PREFIX, _TOO_SHORT = re.compile(r"[0-9a-f]{6,64}"), re.compile(r"[0-9a-f]{1,5}")


@dataclass(frozen=True)
class Recalled:
    """A decided release and its inputs."""

    release_id: str
    bundle: Path
    records: tuple[DecisionRecord, ...]
    """One a recipient, in the order of the request."""
    loaded: LoadedRequest
    """The request, byte for byte."""
    edited: bool
    """Whether it is no longer so in its own place."""


def find_bundle(reference: str, workspace: Workspace) -> Path:
    """The bundle that a release id, the beginning of one, or a path names.

    An id needs its first six digits at least. Raises WorkspaceError if no bundle, or several, are meant.
    """
    path = Path(reference)
    if (path / DECISIONS).is_dir():
        return path.resolve()
    found: list[str] = []
    if _PREFIX.fullmatch(reference):
        if not workspace.releases.is_dir():
            raise no_workspace(workspace.root)
        found = sorted(one.name for one in workspace.releases.iterdir() if one.name.startswith(reference))
    if len(found) == 1:
        return workspace.bundle(found[0])
    fix = "check the id, or name its workspace with --workspace"
    if found or _TOO_SHORT.fullmatch(reference):
        fix = "give more digits of the id" if found else "give at least the first six digits"
    raise WorkspaceError(
        "several releases begin like that" if found else "there is no such release",
        where=str(workspace.releases),
        expected="a release id, its first six digits or more, or the path of a bundle",
        got=f"{len(found)} releases" if found else "no release of that name",
        fix=fix,
    )


def recall(bundle: Path, ledger: Ledger, workspace: Workspace) -> Recalled:
    """Read a release's decisions, and its request from where it was, or as the workspace has kept it.

    1. The bundle must be what was sealed, and what the ledger records.
    2. The request must have the same bytes.
    3. Data, population and hierarchies must have the SHA-256 that the release was named by.

    Raises TamperingFound if the bundle or the ledger is not as recorded; BadInput if request, data, population or a
    hierarchy is missing or has changed since.
    """
    report = verify_bundle(bundle, ledger)
    record = next(iter(report.records.values()))
    loaded, edited = request_of(record, ledger, workspace)
    inputs, request = read_inputs(loaded), loaded.request
    asked = place_of_request(ledger, record.release_id)[0]
    if inputs.dataset_sha256 != record.dataset.source_sha256:
        raise _changed(asked, "the data", loaded.place("dataset.path"), request.dataset.path)
    for table in record.dataset.tables:
        if inputs.tables.get(table.name) != table.source_sha256:
            name = f"tables.{table.name}.path"
            raise _changed(asked, f"the table {table.name}", loaded.place(name), request.tables[table.name].path)
    if inputs.population_sha256 != record.population.sha256:
        raise _changed(
            asked, "the population", loaded.place("population.path"), request.population.path or request.dataset.path
        )
    if release_id(loaded, inputs, record.code) != record.of_inputs:
        what = "a hierarchy or the external register" if request.external_data else "a hierarchy"
        raise _changed(asked, what, str(loaded.path), ", ".join(sorted(inputs.hierarchies)))
    recipients = [recipient.id for recipient in request.recipients if recipient.id in report.records]
    return Recalled(report.release_id, bundle, tuple(report.records[one] for one in recipients), loaded, edited)


def request_of(record: DecisionRecord, ledger: Ledger, workspace: Workspace) -> tuple[LoadedRequest, bool]:
    """The request of a release, as it was decided on, and whether it has changed in its place since.

    Then it is the copy that the workspace keeps.

    Raises WorkspaceError if it is not in its place any more, BadInput if it has changed, and no copy was kept.
    """
    path, roots = place_of_request(ledger, record.release_id)
    policies, kept = PolicyShelf(workspace.root), kept_request(workspace, record.request_sha256)
    with suppress(RequestError, WorkspaceError):
        loaded = load_request(path, roots, policies)
        if loaded.sha256 == record.request_sha256:
            return loaded, False
    if kept is not None:
        return request_of_bytes(kept, path, roots, policies), True
    if not path.is_file():
        raise WorkspaceError(
            "the request of this release is not where it was",
            where=str(path),
            expected="the request that was decided on",
            got="no such file",
            fix="put it back, with the files it names",
        )
    raise _changed(path, "the request", str(path))


def place_of_request(ledger: Ledger, release_id: str) -> tuple[Path, list[Path]]:
    """Path of a release's request, and the folders that it could name files in; they need not exist any more."""
    body = last_body(ledger, Event.REQUESTED, release_id)
    return Path(body["request_path"]), [Path(root) for root in body["roots"]]


def _changed(asked: Path, what: str, where: str, named: str = "") -> BadInput:
    return BadInput(
        f"{what} changed since the decision",
        where=where + (f" ({named})" if named else ""),
        expected="the SHA-256 in the decision record",
        got="a different SHA-256",
        fix="put it back as it was; or decide on it as it is now, and explain that release: "
        + shlex.join(["releasegate", "release", str(asked)]),
    )
