"""Earlier releases that matter to a request: the one it continues or supersedes, and those of the same data.

A holder of copies of two releases can compare them. Decoys withstand that within one lineage of versions alone: later
versions keep what the first one planned. So a release of people who were released before is refused where either of the
two has decoys and the new one does not continue the other. People are recognized by the keyed names that are kept with
each copy; a copy whose names cannot be read counts as one of the same people.

A request that continues a version supersedes it; any other names what it supersedes. For a recipient of both, the
earlier release ends in the ledger transaction in which the later one is released. For other recipients nothing changes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

from flows.releases.cases import ReleaseCase, case_of, cases_of, forget
from flows.releases.stale_decisions import no_longer_standing
from flows.workspace.actor import actor
from flows.workspace.folders import Workspace
from flows.workspace.ledger import last_body
from tasks.core.errors import ReleasegateError, RequestError, StageFailed
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.changes import Author, change
from tasks.decision.context import DecisionContext
from tasks.decision.record import DecisionRecord
from tasks.decision.remedies import revoking
from tasks.decision.states import State, StateChange, can_follow
from tasks.decision.verdict import utc_day
from tasks.delivery.verification import BundleReport, verify_bundle
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.request.inputs import Inputs
from tasks.request.load import LoadedRequest
from tasks.request.model import PARAMETER_OF, ReleaseRequest

if TYPE_CHECKING:
    from tasks.delivery.kept import Names

_SHOWN = 12
_ENDED = frozenset({State.REVOKED, State.SUPERSEDED})


def what_was_asked(request: ReleaseRequest, inputs: Inputs) -> dict[str, object]:
    """Facts of a request that the ledger keeps for comparison with later ones."""
    return {"dataset_sha256": inputs.dataset_sha256, "decoys": _with_decoys(request), "continues": request.continues}


def decoys_to_continue(
    workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, inputs: Inputs
) -> dict[str, str] | None:
    """Release and commitment of the version that a request continues; empty for new decoys, None for none.

    Raises RequestError if the version that is named cannot be continued, or copies of the same people were released
    that the release would have to continue; TamperingFound if that version's bundle is not as recorded.
    """
    request, where = loaded.request, str(loaded.path)
    found = _Earlier.of(
        what_was_asked(request, inputs), ledger, _People(workspace, lambda: _people_of(workspace, loaded))
    )
    if found.siblings:
        raise RequestError(
            "the version that is continued is not the last one",
            where=f"{where}, continues",
            expected="the version that no other continues, so that no seat goes to two recipients",
            got=f"one that {_short(found.siblings)} continues",
            fix=f"continue {found.siblings[-1]}",
        )
    if found.exposing:
        raise RequestError(
            "earlier copies of the same people would give the decoys away",
            where=where,
            expected="a first release of these people, or one that continues it",
            got=f"{len(found.exposing)} earlier ({_short(found.exposing)})"
            + ("" if found.decoyed else ", without decoys"),
            fix=found.remedy(request.continues),
        )
    if not request.continues:
        return {} if _with_decoys(request) else None
    records = tuple(_named(workspace, ledger, loaded, "continues").records.values())
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
            fix="release the new version without masking; it has to continue the one with decoys in any case",
        )
    return {"release": request.continues, "commitment": commitments.pop()}


def check_still_apart(workspace: Workspace, ledger: Ledger, record: DecisionRecord) -> None:
    """Refuse a copy that would reveal decoys together with another release made since.

    Reviews take time, so that other releases may follow those that the request was compared with.

    Raises StageFailed if a version was released meanwhile that continues the same one, or copies of the same people
    that this release does not continue, where either of the two has decoys.
    """
    release_id, who = record.release_id, record.recipient.id
    own = last_body(ledger, Event.REQUESTED, release_id)
    people = _People(workspace, lambda: _kept_people(workspace, release_id, who))
    found = _Earlier.of(own, ledger, people, release_id)
    others = [*found.siblings, *found.exposing]
    if others:
        last = [*found.siblings, *found.decoyed][-1:]
        raise StageFailed(
            "copies delivered in the meantime would, with this one, give decoys away",
            where=f"release {_short([release_id])}",
            expected="no other release of these people, or of a version after the one that is continued",
            got=f"release {_short(others[-1:])}",
            fix="ask for a release "
            + (f"with “continues: {last[0]}”" if last else "without these people: they cannot have decoys any more")
            + f"; this one can be revoked: {revoking(release_id, who)}",
        )


def _kept_people(workspace: Workspace, release_id: str, recipient: str) -> "Names":
    from flows.releases.delivered import read_kept  # noqa: PLC0415  imports all assessments

    return read_kept(workspace, release_id, recipient).people


def _people_of(workspace: Workspace, loaded: LoadedRequest) -> "Names":
    """Names of the people of a request's data."""
    from tasks.delivery.kept import names_of  # noqa: PLC0415  imports all assessments
    from tasks.microdata.read import read_microdata  # noqa: PLC0415

    workspace.key()
    dataset = loaded.request.dataset
    frame = read_microdata(loaded.resolve(dataset.path, "dataset.path"), loaded.request)
    return names_of(frame[loaded.request.person_id].dropna().drop_duplicates(), workspace.key_file)


class _People:
    """The people of a request, read where they have to be compared with those of another release."""

    def __init__(self, workspace: Workspace, read: Callable[[], "Names"]) -> None:
        self.workspace, self._read = workspace, read

    @cached_property
    def names(self) -> frozenset[bytes]:
        """Their keyed names."""
        return frozenset(self._read().tolist())

    def are_in(self, copies: Iterable[Entry]) -> bool:
        """Whether one of some released copies may have people of the request."""
        for entry in copies:
            try:
                kept = _kept_people(self.workspace, str(entry.release_id), str(entry.recipient))
            except ReleasegateError:
                return True
            if not self.names.isdisjoint(kept.tolist()):
                return True
        return False


@dataclass(frozen=True)
class _Earlier:
    """Earlier releases whose copies would reveal decoys beside those of another request."""

    siblings: list[str]
    """Releases that continue the same version, in the order of release, like the other lists."""
    exposing: list[str]
    """Releases of the same people, outside the request's lineage, where either of the two has decoys."""
    decoyed: list[str]
    """Of these, those with decoys that no other of them continues."""

    @classmethod
    def of(cls, own: Mapping[str, object], ledger: Ledger, people: _People, but: str | None = None) -> Self:
        """Releases that matter to a request, by its own facts and people; `but` is the request's own release."""
        asked = {str(entry.release_id): entry.body for entry in ledger.entries(event=Event.REQUESTED)}
        copies: dict[str, list[Entry]] = {}
        for entry in ledger.entries(event=Event.RELEASED):
            copies.setdefault(str(entry.release_id), []).append(entry)
        copies.pop(str(but), None)
        before, data = own.get("continues"), own.get("dataset_sha256")
        lineage, version = set[object](), before
        while version is not None and version not in lineage:
            lineage.add(version)
            version = asked.get(str(version), {}).get("continues")
        exposing = [
            one
            for one, entries in copies.items()
            if one not in lineage
            and (own.get("decoys") or asked[one].get("decoys"))
            and (asked[one].get("dataset_sha256") == data or people.are_in(entries))
        ]
        continued = {asked[one].get("continues") for one in exposing}
        return cls(
            siblings=[one for one in copies if before and asked[one].get("continues") == before],
            exposing=exposing,
            decoyed=[one for one in exposing if asked[one].get("decoys") and one not in continued],
        )

    def remedy(self, continues: str | None) -> str:
        """Advice that gives no decoys away."""
        if continues or len(self.decoyed) > 1:
            return "leave the people out whom these copies have: no release can continue all of them"
        if self.decoyed:
            return f"add “continues: {self.decoyed[0]}”, which keeps the decoys of its recipients"
        return "release these people without decoys; decoys are for people of whom no copy has left"


def what_is_superseded(
    workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, name: str, now: datetime
) -> dict[str, str]:
    """The release that a request supersedes, by recipient; recipients without one are left out.

    Raises RequestError if the request names a release that cannot be superseded: unknown, itself, of none of its
    recipients, revoked or superseded for one of them, or blocked for all; TamperingFound if that release's bundle is
    not as recorded.
    """
    request = loaded.request
    if request.supersedes is None and request.continues is None:
        return {}
    bundle = _named(workspace, ledger, loaded, "supersedes" if request.supersedes else "continues", own=name)
    cases = cases_of(bundle, ledger, now)
    common = [cases[recipient.id] for recipient in request.recipients if recipient.id in cases]
    if request.supersedes:
        _check_superseded(common, f"{loaded.path}, supersedes")
    return {case.recipient: bundle.release_id for case in common if _can_end(case)}


def supersede(workspace: Workspace, ledger: Ledger, later: DecisionRecord, at: datetime) -> None:
    """End the release that a later one supersedes; within the transaction in which the later one is released.

    Raises StageFailed if it was revoked or superseded in the meantime.
    """
    if later.supersedes is None:
        return
    recipient = later.recipient.id
    case = case_of(workspace, ledger, later.supersedes, recipient, at)
    if case.standing.state in _ENDED:
        last = case.standing.superseded_by
        raise StageFailed(
            f"the release that is superseded was {case.standing.state.value} in the meantime",
            where=f"release to {recipient}",
            expected=f"{later.supersedes} as it stood when this release was decided",
            got=case.standing.why,
            fix=f"release the request {f'with “supersedes: {last}”' if last else 'without “supersedes”'}; this release "
            f"can be revoked: {revoking(later.release_id, recipient)}",
        )
    if _can_end(case):
        step = (Event.SUPERSEDED, bodies.superseded(later.release_id))
        change(ledger, case.record, case.record_sha256, [step], Author(actor(), at))


def replace_undecided(workspace: Workspace, ledger: Ledger, request: ReleaseRequest, context: DecisionContext) -> None:
    """End what still awaits review of the decisions that a new one replaces; in the transaction that records it.

    Raises StageFailed if one of them is not the last one any more, or what has changed since was taken back.
    """
    at = context.decided_at
    for who, before in context.decided_before.items():
        now = no_longer_standing(ledger, request, str(context.inputs_id), utc_day(at)).get(who)
        if now is None or now.entry_sha256 != before.entry_sha256 or not {*before.changes} <= {*now.changes}:
            raise StageFailed(
                "the reason to decide this request anew no longer holds",
                where=f"release {_short([before.release_id])} to {who}",
                expected="the last decision of this request and the copies of the same party, as when this run began",
                got="another decision or other copies",
                fix="run the command again",
            )
        if before.decision == "awaiting review":
            case = case_of(workspace, ledger, before.release_id, who, at)
            step = (Event.SUPERSEDED, bodies.superseded(context.release_id))
            change(ledger, case.record, case.record_sha256, [step], Author(actor(), at))


def forget_superseded(workspace: Workspace, later: DecisionRecord) -> None:
    """Remove sealed material of a release that a later one supersedes; after a crash this is repeated later."""
    if later.supersedes is not None:
        forget(workspace, later.supersedes, later.recipient.id)


def _named(
    workspace: Workspace,
    ledger: Ledger,
    loaded: LoadedRequest,
    term: Literal["continues", "supersedes"],
    own: str | None = None,
) -> BundleReport:
    name: str = getattr(loaded.request, term)
    bundle = workspace.bundle(name)
    if name == own or not ledger.entries(release_id=name, event=Event.PUBLISHED) or not bundle.is_dir():
        raise RequestError(
            f"the release that “{term}” names is not a release of this workspace",
            where=f"{loaded.path}, {term}",
            expected="the full id of an earlier release that this workspace has published",
            got="the release itself" if name == own else "none of that name",
            fix="correct the id, or name the workspace of that release with --workspace",
        )
    return verify_bundle(bundle, ledger)


def _check_superseded(common: list[ReleaseCase], where: str) -> None:
    for case in common:
        if case.standing.state is State.SUPERSEDED:
            raise RequestError(
                "the release that is superseded has been superseded already",
                where=where,
                expected="the last one for each recipient",
                got=f"one that {case.standing.superseded_by} superseded for {case.recipient}",
                fix=f"supersede {case.standing.superseded_by}",
            )
        if case.standing.state is State.REVOKED:
            raise RequestError(
                "the release that is superseded was revoked",
                where=where,
                expected="a release that was not revoked",
                got=f"one that was revoked for {case.recipient}",
                fix="remove “supersedes”, or ask for this recipient in a request of its own; a revoked release has "
                "ended permanently",
            )
    if not any(_can_end(case) for case in common):
        raise RequestError(
            "there is nothing to supersede",
            where=where,
            expected="a release to at least one of the same recipients that was not blocked",
            got="one that was blocked for all of them" if common else "one to other recipients",
            fix="correct the id, or remove “supersedes”",
        )


def _can_end(case: ReleaseCase) -> bool:
    return can_follow(case.standing.state, StateChange.SUPERSEDE, WorkflowRole.GATE)


def _with_decoys(request: ReleaseRequest) -> bool:
    return bool(request.continues) or any(recipient.decoys for recipient in request.recipients)


def _masked_alike(request: ReleaseRequest, inputs: Inputs, before: DecisionRecord) -> bool:
    if not request.masking and not before.masking:
        return True
    now = [(one.attributes, one.method.value, one.strength) for one in request.masking]
    parameter = {method.value: name for method, name in PARAMETER_OF.items()}
    then = [(one.attributes, one.method, one.parameters.get(parameter[one.method])) for one in before.masking]
    return now == then and inputs.dataset_sha256 == before.dataset.source_sha256


def _short(releases: list[str]) -> str:
    return ", ".join(release[:_SHOWN] for release in releases)
