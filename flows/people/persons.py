"""Persons who act: enrolled in the role, and at a login of theirs or with their registered key."""

import shlex
from collections.abc import Sequence

from tasks.core.errors import BadInput
from tasks.core.people import WorkflowRole, login_of
from tasks.decision.context import InvolvedPeople
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.request.model import ReleaseRequest

_ADVICE = "let an officer enrol them: releasegate enrol person ID --name NAME --role ROLE --as OFFICER"
_BEGIN = "nobody is enrolled in this workspace yet: releasegate enrol request REQUEST, or release with --enrol"


def enrolled(directory: Directory, name: str, *roles: WorkflowRole, where: str = "--as") -> EnrolledPerson:
    """The enrolled person of an id or name with one of some roles; BadInput where there is none."""
    person = directory.person(name)
    if person is None or not set(roles) & set(person.roles):
        wanted = " or ".join(roles)
        raise BadInput(
            f"this person is not enrolled as {wanted}",
            where=where,
            expected=f"id or name of an enrolled person with the role {wanted}",
            got="a person without this role" if person else "nobody of this id or name",
            fix=_BEGIN if directory.is_empty else f"{_ADVICE}; releasegate enrol list shows who is enrolled",
        )
    return person


def check_own_login(
    directory: Directory, person: EnrolledPerson, login: str, where: str = "--as", *, for_key: bool = False
) -> None:
    """Refuse (BadInput) a login that is another person's, or is not one of this person's.

    `for_key` says that a key is being registered, which no page does.
    """
    if not directory.is_own_login(person, login):
        owner = directory.person_of_login(login)
        enrol = "act under your own login, or let an officer enrol this one for the person: releasegate enrol person"
        page = "" if for_key else ", or on the page of releasegate serve"
        own = f"{person.id} acts from a login of their own on this machine{page}"
        if not person.logins:
            own += f": any that is nobody else's, or one that an officer adds: {login_command(person)}"
        raise BadInput(
            f"this login is not one of {person.id}",
            where=where,
            expected=f"a login of {person.id}: {', '.join(person.logins) or 'none is enrolled'}",
            got=f"the login {login_of(login)}" + (f", which is {owner.id}'s" if owner else ""),
            fix=own if owner else enrol,
        )


def login_command(person: EnrolledPerson, officer: str = "OFFICER") -> str:
    """The command by which an officer enrols the first login of a person."""
    title = ["--title", person.title] if person.title else []
    roles = [word for role in person.roles for word in ("--role", role)]
    words = [person.id, "--name", person.name, *title, *roles, "--login", "LOGIN", "--as", officer]
    return f"releasegate enrol person {shlex.join(words)}"


def involved(directory: Directory, request: ReleaseRequest, login: str) -> InvolvedPeople:
    """The people of a request by their names, as enrolled.

    `login` is where the request came from. Raises BadInput if the requester is not enrolled as one or the login is not
    theirs; or if the policy names a reviewer or officer who is not enrolled as such, or one person twice.
    """
    requester = enrolled(directory, request.requested_by, WorkflowRole.REQUESTER, where="requested_by")
    check_own_login(directory, requester, login, "requested_by")
    review = request.policy.review
    return InvolvedPeople(
        requester_id=requester.id,
        requested_by=requester.name,
        requester_title=requester.title,
        handed_in_by=login,
        reviewers=_named(directory, review.reviewers, WorkflowRole.REVIEWER),
        officers=_named(directory, review.officers, WorkflowRole.OFFICER),
    )


def _named(directory: Directory, names: Sequence[str], role: WorkflowRole) -> tuple[str, ...]:
    where = f"policy.review.{role}s"
    people = [enrolled(directory, name, role, where=where) for name in names]
    if len({one.id for one in people}) < len(people):
        raise BadInput(
            "the policy names one person twice",
            where=where,
            expected="each person once",
            got="two names of one enrolled person",
            fix="name each person once, by id",
        )
    return tuple(one.name for one in people)


def account_holder(directory: Directory, name: str, login: str) -> EnrolledPerson:
    """The enrolled person whom an account of some login may stand for; BadInput where there is none."""
    person = directory.person(name)
    if person is None:
        raise BadInput(
            "this person is not enrolled",
            where="--person",
            expected="id or name of an enrolled person",
            got="nobody of this id or name",
            fix=_BEGIN if directory.is_empty else f"{_ADVICE}; releasegate enrol list shows who is enrolled",
        )
    check_own_login(directory, person, login, "LOGIN")
    return person


def check_holder(person: EnrolledPerson, roles: Sequence[str], where: str) -> None:
    """Refuse (BadInput) an account or key for a role that its holder is not enrolled in."""
    missing = sorted(set(roles) - set(person.roles))
    if missing:
        raise BadInput(
            f"this person is not enrolled as {' or '.join(missing)}",
            where=where,
            expected=f"roles of {person.id}: {', '.join(person.roles) or 'none'}",
            got=", ".join(missing),
            fix=_ADVICE,
        )
