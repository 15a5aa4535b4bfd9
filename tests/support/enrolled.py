"""Enrolments that the requests of tests need: the first one of a workspace, and an officer's for what comes later."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from flows.library.enrolment import (
    Enrollable,
    enrol,
    first_enrolment,
    item_of,
    persons_of,
    population_item,
    sample_item,
    tables_of,
)
from flows.library.policies import PolicyShelf
from flows.workspace.actor import Clock, acting_as, utc_now
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import PopulationError, ReleasegateError
from tasks.core.files import file_sha256
from tasks.core.people import WorkflowRole, person_key
from tasks.ledger.enrolment import Directory, EnrolledPerson, EnrolledPopulation
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.request.load import LoadedRequest, load_request

_ANOTHER = EnrolledPerson(id="olga.fischer", name="Olga Fischer", roles=(WorkflowRole.OFFICER,))
"""Who enrols where the requester is the only officer: a requester's own policy decides nothing."""


def enrol_for(request: Path, workspace: Path, roots: Sequence[Path] = (), clock: Clock = utc_now) -> None:
    """Begin a workspace and enrol what a request needs; the gate refuses what cannot be read."""
    place = open_workspace(workspace)
    open_ledger(place, create=True).close()
    try:
        loaded = load_request(request, roots, PolicyShelf(workspace))
        items = _needed(place, loaded)
    except ReleasegateError:
        return
    with open_ledger(place, clock=clock) as ledger:
        directory = Directory.of(ledger)
        if directory.is_empty:
            first_enrolment(place, ledger, [*items, *_people(loaded)], clock)
            return
    missing = [one for one in items if item_of(one) not in directory]
    for one in _people(loaded):
        known = directory.person(one.id) or directory.person(one.name)
        if known is None or not set(one.roles) <= set(known.roles):
            roles = tuple(dict.fromkeys((*known.roles, *one.roles))) if known else one.roles
            missing.append((known or one).model_copy(update={"roles": roles}))
    if missing:
        officers = [one for one in directory.all(EnrolledPerson) if WorkflowRole.OFFICER in one.roles]
        requester = directory.person(loaded.request.requested_by)
        others = [one for one in officers if one != requester]
        if not others:
            _enrol_as(officers[0], place, [_ANOTHER], clock)
        _enrol_as((others or [_ANOTHER])[0], place, missing, clock)


def _enrol_as(officer: EnrolledPerson, place: Workspace, items: Sequence[Enrollable], clock: Clock) -> None:
    with acting_as(officer.logins[0] if officer.logins else officer.id):
        enrol(place, items, officer.id, clock=clock)


def _people(loaded: LoadedRequest) -> list[EnrolledPerson]:
    """Those of the request, at whatever login they act."""
    return [one.model_copy(update={"logins": ()}) for one in persons_of(loaded.request, "")]


def enrol_people(workspace: Workspace, people: Mapping[str, Collection[WorkflowRole]], clock: Clock = utc_now) -> None:
    """Begin a workspace with people by name, whose ids follow from the names."""
    items = [EnrolledPerson(id=person_id(name), name=name, roles=tuple(roles)) for name, roles in people.items()]
    with open_ledger(workspace, create=True, clock=clock) as ledger:
        first_enrolment(workspace, ledger, items, clock)


def person_id(name: str) -> str:
    """The id that a name makes."""
    return person_key(name).replace(" ", ".")


def enrol_before(arguments: Sequence[str | Path]) -> None:
    """Enrol what the request of a command ``release`` needs; nothing for any other command."""
    words = [str(one) for one in arguments]
    if len(words) < 2 or words[0] != "release" or words[1].startswith("-") or "--enrol" in words:
        return
    named = {words[place] for place in range(len(words)) if words[place] in {"--workspace", "-w"}}
    if named:
        roots = [Path(after) for before, after in pairwise(words) if before == "--root"]
        enrol_for(Path(words[1]), Path(words[words.index(named.pop()) + 1]), roots)


def _needed(place: Workspace, loaded: LoadedRequest) -> list[Enrollable]:
    items: list[Enrollable] = [loaded.request.policy]
    for path, stream, table in tables_of(loaded):
        try:
            items.append(population_item(place, stream, path, table))
        except PopulationError:
            sha256 = file_sha256(path)
            items.append(EnrolledPopulation(sha256=sha256, source=table.source, count=table.count, people=0))
    sample = sample_item(loaded.request.population)
    return items if sample is None else [*items, sample]


def but_enrolments(ledger: Ledger) -> list[Entry]:
    """The entries of a ledger without enrolments, which tests of requests do not count."""
    return [entry for entry in ledger.entries() if entry.event is not Event.ENROLLED]
