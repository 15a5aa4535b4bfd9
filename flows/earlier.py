"""Earlier releases of the same data: those that a release with decoys must continue, and those that forbid it.

A holder of copies of two releases can compare them. Decoys withstand that within one lineage of versions alone: later
versions keep what the first one planned. So a release of data that were released before is refused where either of the
two has decoys and the new one does not continue the other. Equal SHA-256 show that data are the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from flows.identity import Inputs
from flows.recall import read_records
from flows.workspace import Workspace
from tasks.core.errors import RequestError, StageFailed
from tasks.decision.record import DecisionRecord
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import LoadedRequest
from tasks.request.model import PARAMETER_OF, ReleaseRequest

_SHOWN = 12


def what_was_asked(request: ReleaseRequest, inputs: Inputs) -> dict[str, object]:
    """Facts of a request that the ledger keeps for comparison with later ones."""
    return {
        "dataset_sha256": inputs.dataset_sha256,
        "decoys": _with_decoys(request),
        "continues": request.continues,
    }


def decoys_to_continue(
    workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, inputs: Inputs
) -> dict[str, str] | None:
    """Release and commitment of the version that a request continues; empty for new decoys, None for none.

    Raises
    ------
    RequestError
        If the version that is named cannot be continued, or copies of the same data were released that the release
        would have to continue.
    TamperingFound
        If that version's bundle is not as recorded.
    """
    request, where = loaded.request, str(loaded.path)
    found = _Earlier.of(what_was_asked(request, inputs), ledger)
    if found.siblings:
        raise RequestError(
            "the version that is continued is not the last one",
            where=f"{where}, continues",
            expected="the version that no other continues, so that no seat goes to two recipients",
            got=f"one that {_short(found.siblings)} continues",
            fix=f"continue {found.siblings[-1]}",
        )
    if found.exposing:
        raise _out_already(found, where)
    if request.continues:
        return _continued(request.continues, workspace, ledger, request, inputs, where=where)
    return {} if _with_decoys(request) else None


def check_still_apart(ledger: Ledger, release_id: str) -> None:
    """Refuse a release whose copies would give decoys away beside another release made since.

    Reviews take time, so that other releases may follow those that the request was compared with.

    Raises
    ------
    StageFailed
        If a version was released meanwhile that continues the same one, or copies of the same data that this release
        does not continue, where either of the two has decoys.
    """
    own = ledger.entries(release_id=release_id, event=Event.REQUESTED)
    found = _Earlier.of(own[-1].body if own else {}, ledger, release_id)
    others = [*found.siblings, *found.exposing]
    if others:
        raise StageFailed(
            "copies have left meanwhile that would give decoys away together with this one",
            where=f"release {_short([release_id])}",
            expected="no other release of these data, or of a version after the one that is continued",
            got=f"release {_short([min(others)])}",
            fix=f"let this release be rejected or revoked, and ask for one that continues {min(others)}",
        )


@dataclass(frozen=True)
class _Earlier:
    """Releases whose copies are out and would give decoys away beside those of another request."""

    siblings: list[str]
    """Those that continue the same version."""
    exposing: list[str]
    """Those of the same data, outside the request's lineage, where either of the two has decoys."""
    decoyed: list[str]
    """Of these, those with decoys."""

    @classmethod
    def of(cls, own: Mapping[str, object], ledger: Ledger, but: str | None = None) -> Self:
        """Those that matter to a request, by its own facts; `but` is the request's own release."""
        asked = {entry.release_id: entry.body for entry in ledger.entries(event=Event.REQUESTED) if entry.release_id}
        out = sorted({str(entry.release_id) for entry in ledger.entries(event=Event.RELEASED)} - {but})
        before, data = own.get("continues"), own.get("dataset_sha256")
        lineage = _lineage(before, asked)
        known = [(one, asked[one]) for one in out if one in asked]
        same = [
            (one, body) for one, body in known if one not in lineage and data and body.get("dataset_sha256") == data
        ]
        return cls(
            siblings=[one for one, body in known if before and body.get("continues") == before],
            exposing=[one for one, body in same if own.get("decoys") or body.get("decoys")],
            decoyed=[one for one, body in same if body.get("decoys")],
        )


def _with_decoys(request: ReleaseRequest) -> bool:
    return bool(request.continues) or any(recipient.decoys for recipient in request.recipients)


def _lineage(release: object, asked: Mapping[str, Mapping[str, object]]) -> set[str]:
    """The version that is named and those before it."""
    lineage: set[str] = set()
    while isinstance(release, str) and release not in lineage:
        lineage.add(release)
        release = asked.get(release, {}).get("continues")
    return lineage


def _continued(
    release: str, workspace: Workspace, ledger: Ledger, request: ReleaseRequest, inputs: Inputs, *, where: str
) -> dict[str, str]:
    bundle = workspace.bundle(release)
    if not ledger.entries(release_id=release, event=Event.PUBLISHED) or not bundle.is_dir():
        raise RequestError(
            "the version that is continued is not a release of this workspace",
            where=f"{where}, continues",
            expected="the full id of a release that this workspace has published",
            got="none of that name",
            fix="correct the id, or name the workspace of that release with --workspace",
        )
    verify_bundle(bundle, ledger)
    records = read_records(bundle)
    commitments = {record.decoys.commitment_sha256 for record in records if record.decoys}
    if len(commitments) != 1:
        raise RequestError(
            "the version that is continued has no decoys",
            where=f"{where}, continues",
            expected="a release with decoys",
            got="one without",
            fix="leave “continues” out",
        )
    if not _masked_alike(request, inputs, records[0]):
        raise RequestError(
            "masked values of decoys would stay while those of real people change",
            where=f"{where}, masking",
            expected="no masking in any version; or the very same data and maskings, for new recipients alone",
            got="masked columns, and other data or maskings",
            fix="release the new version without “continues” and without decoys, or without masking",
        )
    return {"release": release, "commitment": commitments.pop()}


def _masked_alike(request: ReleaseRequest, inputs: Inputs, before: DecisionRecord) -> bool:
    if not request.masking and not before.masking:
        return True
    now = [(one.attributes, one.method.value, one.strength) for one in request.masking]
    then = []
    for fact in before.masking:
        named = next((name for name in PARAMETER_OF if name.value == fact.method), None)
        then.append((fact.attributes, fact.method, None if named is None else fact.parameters.get(PARAMETER_OF[named])))
    return now == then and inputs.dataset_sha256 == before.dataset.source_sha256


def _out_already(found: _Earlier, where: str) -> RequestError:
    fix = (
        f"add “continues: {found.decoyed[-1]}”, which keeps the decoys of its recipients"
        if found.decoyed
        else "release this data without decoys; the next version of the data can have some from the beginning"
    )
    return RequestError(
        "copies of the same data are out that would give decoys away",
        where=where,
        expected="a first release of these data, or one that continues it",
        got=f"{len(found.exposing)} earlier ({_short(found.exposing)})" + ("" if found.decoyed else ", without decoys"),
        fix=fix,
    )


def _short(releases: list[str]) -> str:
    return ", ".join(release[:_SHOWN] for release in releases)
