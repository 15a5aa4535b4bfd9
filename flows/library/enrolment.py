"""Enrolling policies, populations and persons in a workspace, and the check that a request names enrolled ones.

An officer enrols, and signs where their key is registered. Nobody can be named for the first enrolment: whoever begins
the workspace makes it, and the ledger records it as the first, with their login.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from flows.library.policies import keep_policy
from flows.library.texts import LibraryText, keep_text
from flows.people.persons import check_own_login
from flows.people.signing import Ask, PrivateKey, nobody_to_ask, signer_of
from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger
from flows.workspace.temporary import held_folder
from tasks.core.canonical import digest
from tasks.core.errors import BadInput
from tasks.core.opening import read_unchanged
from tasks.core.people import PERSON_ID, WorkflowRole, person_key
from tasks.core.plain_name import plain_name
from tasks.ledger.enrolment import (
    Directory,
    EndedEnrolment,
    EnrolledItem,
    EnrolledPerson,
    EnrolledPolicy,
    EnrolledPopulation,
    EnrolledSample,
    Enrolment,
    EnrolmentFact,
)
from tasks.ledger.entry import Event
from tasks.ledger.signing import LONGEST_NAME, Signer
from tasks.ledger.store import Ledger
from tasks.request.inputs import Inputs
from tasks.request.load import LoadedRequest
from tasks.request.model import ExternalData, Population, ReleaseRequest
from tasks.request.policy import Policy

Enrollable = Policy | LibraryText | EnrolledPopulation | EnrolledSample | EnrolledPerson
"""Values that can be enrolled; of policies and texts the ledger keeps the hash, and the workspace the text."""


def enrol(
    workspace: Workspace,
    items: Sequence[Enrollable],
    by: str,
    key: PrivateKey | None = None,
    *,
    ask: Ask = nobody_to_ask,
    clock: Clock = utc_now,
) -> tuple[EnrolledItem, datetime] | None:
    """Enrol items in the name of an officer; an item takes the place of an enrolled one of the same key.

    Returns the item that the first one takes the place of, and when it was enrolled last; None where there is none.

    Raises BadInput if `by` is no enrolled officer or the login is another person's, or an item is not permitted;
    WorkspaceError if the officer's private key cannot be opened.
    """
    with open_ledger(workspace, clock=clock) as ledger, ledger.transaction():
        directory = Directory.of(ledger)
        officer, signer = _acting(ledger, directory, by, key, ask)
        body = Enrolment(items=tuple(map(item_of, items)), by=officer.name)
        before = directory.in_force(body.items[0])
        directory.check_names(body.items)
        directory.enrol(body)
        _keep(workspace, items)
        _append(ledger, Event.ENROLLED, body, clock, signer)
    return before


def end_enrolment(
    workspace: Workspace,
    item: EnrolledItem,
    by: str,
    key: PrivateKey | None = None,
    *,
    ask: Ask = nobody_to_ask,
    clock: Clock = utc_now,
) -> None:
    """End an enrolment; what was decided under it stays as it is. Raises as `enrol`, and if it is not in force."""
    with open_ledger(workspace, clock=clock) as ledger, ledger.transaction():
        directory = Directory.of(ledger)
        officer, signer = _acting(ledger, directory, by, key, ask)
        body = EndedEnrolment(item=item, by=officer.name)
        directory.end(body)
        _append(ledger, Event.ENROLMENT_ENDED, body, clock, signer)


def first_enrolment(workspace: Workspace, ledger: Ledger, items: Sequence[Enrollable], clock: Clock = utc_now) -> None:
    """Enrol items in a workspace where nothing is enrolled; BadInput if something is."""
    with ledger.transaction():
        body = Enrolment(items=tuple(map(item_of, items)), by=None, first=True)
        directory = Directory.of(ledger)
        directory.check_names(body.items)
        directory.enrol(body)
        _keep(workspace, items)
        _append(ledger, Event.ENROLLED, body, clock, None)


def check_enrolled(
    directory: Directory, loaded: LoadedRequest, inputs: Inputs, *, any_policy: bool = False
) -> dict[str, EnrolmentFact]:
    """Enrolments of a request's policy, population and register, by their place in the request.

    With `any_policy`, a policy that is not the one enrolled passes without an enrolment.

    Raises BadInput if one of them is not as enrolled, or nobody but the requester has enrolled it: requesters do not
    set the terms. Only the first enrolment of a workspace may be the requester's, as nobody else is there.
    """
    request, found = loaded.request, dict[str, EnrolmentFact]()
    requester = directory.person(request.requested_by)
    asked = request.policy
    policy = directory.policy(asked.id, asked.version)
    if policy == item_of(asked):
        found["policy"] = _enrolment(directory, policy, requester, loaded.place("policy"))
    elif not any_policy:
        raise _not_enrolled(
            "the policy is not enrolled" if policy is None else "the policy is not the one that is enrolled",
            loaded.place("policy"),
            "an enrolled policy" if policy is None else f"the policy enrolled as {asked.id}/{asked.version}",
            f"{asked.id}/{asked.version}, which is not enrolled"
            if policy is None
            else "the same id and version with other terms",
            directory,
        )
    found |= _enrolled_sample(directory, loaded, requester)
    people = request.population
    tables: tuple[tuple[str, Population | ExternalData | None, str | None], ...] = (
        ("population", people if people.path is not None else None, inputs.population_sha256),
        ("external_data", request.external_data, inputs.external_data_sha256),
    )
    for place, table, sha256 in tables:
        if table is None or sha256 is None:
            continue
        known = directory.population(sha256)
        if known is None or (known.count, known.source) != (table.count, table.source):
            noun = "population" if place == "population" else "external register"
            raise _not_enrolled(
                f"the {noun} is not enrolled" if known is None else f"the {noun} is not described as it was enrolled",
                loaded.place(place),
                "a file enrolled by its hash"
                if known is None
                else f"count: “{known.count}” and source: “{known.source}”, as enrolled",
                "an unknown file" if known is None else f"count: “{table.count}” and source: “{table.source}”",
                directory,
            )
        found[place] = _enrolment(directory, known, requester, loaded.place(place))
    return found


def _enrolled_sample(
    directory: Directory, loaded: LoadedRequest, requester: EnrolledPerson | None
) -> dict[str, EnrolmentFact]:
    """Enrolment of a population without a table.

    Its size decides whether estimated risks pass; a file of everybody gives the size of each group.
    """
    stated = sample_item(loaded.request.population)
    if stated is None:
        return {}
    known = directory.sample(stated.sha256)
    if known is None:
        raise _not_enrolled(
            "the population whose people are counted in the file is not enrolled",
            loaded.place("population"),
            "an enrolled source, with self, a size or a sampling fraction",
            f"a source or size other than those of the {len(directory.all(EnrolledSample))} enrolled",
            directory,
        )
    return {"population": _enrolment(directory, known, requester, loaded.place("population"))}


def sample_item(population: Population) -> EnrolledSample | None:
    """A population without a table as it is enrolled; None where it has one."""
    if population.path is not None:
        return None
    stated = population.model_dump(mode="json", include={"source", "size", "sampling_fraction"})
    stated["everybody"] = population.self
    return EnrolledSample(sha256=digest(stated), **stated)


def stated_sample(terms: Mapping[str, object], where: str = "") -> EnrolledSample:
    """A population without a table, by its terms in a request; BadInput if these are not valid."""
    try:
        item = sample_item(Population.model_validate(terms))
    except ValidationError:
        item = None
    if item is None:
        raise BadInput(
            "the population is not valid",
            where=where,
            expected="a source, and one of: a size from 1, a fraction above 0 and at most 1, everybody",
            got="none of them, several, or another value",
            fix="give one of them",
        )
    return item


def _enrolment(directory: Directory, item: EnrolledItem, requester: EnrolledPerson | None, where: str) -> EnrolmentFact:
    found = directory.enrolment(item, but_by=requester)
    if found is None:
        raise BadInput(
            f"nobody but the requester has enrolled the {item.kind}",
            where=where,
            expected="an enrolment by another officer, or the first one of the workspace",
            got="one by the requester, as an officer",
            fix="let another officer enrol it too, or somebody else ask for the release",
        )
    return found


def _not_enrolled(what: str, where: str, expected: str, got: str, directory: Directory) -> BadInput:
    fix = (
        "name what releasegate enrol list shows, let an officer other than the requester enrol it (releasegate enrol "
        "policy, population or sample, with --as), or name another --workspace: --enrol makes only the first enrolment"
    )
    if directory.is_empty:
        fix = "nothing is enrolled in this workspace yet: releasegate enrol request REQUEST, or release with --enrol"
    return BadInput(what, where=where, expected=expected, got=got, fix=fix)


def item_of(one: Enrollable) -> EnrolledItem:
    """A policy or text as the ledger names it; anything else as it is."""
    if isinstance(one, LibraryText):
        return one.item
    if isinstance(one, Policy):
        return EnrolledPolicy(id=one.id, version=one.version, sha256=digest(one))
    return one


def _keep(workspace: Workspace, items: Sequence[Enrollable]) -> None:
    """Write the files of policies and texts, once their enrolment is permitted and before it is recorded."""
    for one in items:
        if isinstance(one, LibraryText):
            keep_text(workspace, one)
        if isinstance(one, Policy):
            keep_policy(workspace, one)


def population_item(
    workspace: Workspace, stream: BinaryIO, path: Path, table: Population | ExternalData
) -> EnrolledPopulation:
    """A population or register as it is enrolled: hash and people of a file that was just opened.

    Raises PopulationError if its counts cannot be read, BadInput if the file changes meanwhile.
    """
    with held_folder(workspace.private) as folder:
        copy = folder / path.name
        with copy.open("xb") as target:
            sha256 = read_unchanged(stream, target.write)
        if sha256 is None:
            raise BadInput(
                "the file changes while it is read",
                where=str(path),
                expected="a file that nothing writes to",
                got="different bytes",
                fix="wait until nothing writes to it, then enrol it again",
            )
        from tasks.microdata.read import read_population  # noqa: PLC0415  pandas takes a third of a second to import

        _, counts = read_population(copy, table, ())
    return EnrolledPopulation(sha256=sha256, source=table.source, count=table.count, people=int(counts.sum()))


def tables_of(loaded: LoadedRequest) -> Iterator[tuple[Path, BinaryIO, Population | ExternalData]]:
    """Path, open file and description of a request's population and register."""
    request = loaded.request
    for place, table in (("population", request.population), ("external_data", request.external_data)):
        if table is not None and table.path is not None:
            path = loaded.resolve(table.path, f"{place}.path")
            with loaded.opened(path, f"{place}.path") as stream:
                yield path, stream, table


def items_of(workspace: Workspace, loaded: LoadedRequest) -> tuple[Enrollable, ...]:
    """Policy, population, which may be without a table, register and persons of a request.

    The requester gets the present login, and is the officer too where the policy names none. Raises PopulationError if
    a table of counts cannot be read.
    """
    tables = [population_item(workspace, stream, path, table) for path, stream, table in tables_of(loaded)]
    sample = sample_item(loaded.request.population)
    stated = () if sample is None else (sample,)
    return (loaded.request.policy, *tables, *stated, *persons_of(loaded.request, actor()))


def persons_of(request: ReleaseRequest, login: str) -> tuple[EnrolledPerson, ...]:
    """Requester, reviewers and officers of a request; the requester with their login.

    Where the policy names a person by name, the id follows from it; one who is named by id alone has it as the name.
    """
    requester, review = request.requested_by, request.policy.review
    named = [(requester, WorkflowRole.REQUESTER)]
    named += [(_line(one), WorkflowRole.REVIEWER) for one in review.reviewers]
    named += [(_line(one), WorkflowRole.OFFICER) for one in review.officers or (requester,)]
    roles: dict[str, list[WorkflowRole]] = {}
    spelled: dict[str, list[str]] = {}
    for one, role in named:
        roles.setdefault(person_key(one), []).append(role)
        spelled.setdefault(person_key(one), []).append(one)
    people: list[EnrolledPerson] = []
    for who, spellings in spelled.items():
        given = next((one for one in spellings if re.match(PERSON_ID, one)), None)
        name = next((one for one in spellings if not re.match(PERSON_ID, one)), None) or str(given)
        own = (login,) if person_key(requester) == who else ()
        person_id = given or _id_of(name, [one.id for one in people])
        people.append(EnrolledPerson(id=person_id, name=name, roles=tuple(roles[who]), logins=own))
    return tuple(people)


def _id_of(name: str, taken: Collection[str]) -> str:
    """The id that a name makes: its letters without accents, and a number where it is taken."""
    stem = plain_name(name, ".")[:50] or "person"
    return stem if stem not in taken else f"{stem}.{len(taken) + 1}"


def _line(text: str) -> str:
    """A name or title without what cannot be printed."""
    return "".join(mark for mark in text if mark.isprintable()).strip()[:LONGEST_NAME]


def _acting(
    ledger: Ledger, directory: Directory, by: str, key: PrivateKey | None, ask: Ask
) -> tuple[EnrolledPerson, Signer | None]:
    """The officer who acts, and their key where one is registered; without one, the login must be theirs."""
    officer = directory.officer(by)
    signer = signer_of(ledger, officer.name, key, ask)
    if signer is None:
        check_own_login(directory, officer, actor())
    return officer, signer


def _append(
    ledger: Ledger, event: Event, body: Enrolment | EndedEnrolment, clock: Clock, signer: Signer | None
) -> None:
    document = body.model_dump(mode="json")
    ledger.append(event, release_id=None, recipient=None, actor=actor(), body=document, at=clock(), signer=signer)
