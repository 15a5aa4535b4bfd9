"""People whom a policy names, and what each of them may do."""

from collections.abc import Collection, Iterable

from tasks.core.errors import BadInput
from tasks.core.people import WorkflowRole, same_person
from tasks.decision.kept import Judged


def reviewer_of(record: Judged, name: str, answering: Collection[str] = ()) -> str:
    """The reviewer of a release with a given name, as the policy spells it.

    Parameters
    ----------
    record : Judged
    name : str
    answering : collection of str
        Officers who answer for an override that this release rests on; they may not review it.

    Raises
    ------
    BadInput
        If the policy names no such reviewer, or the person is the requester or an officer who answers for it.
    """
    answers = any(same_person(name, officer) for officer in answering)
    if answers or same_person(name, record.requested_by):
        raise BadInput(
            "an officer who answers for an override may not review the release"
            if answers
            else "the requester of a release may not review it",
            where=f"release to {record.recipient.id}",
            expected="one of the policy's reviewers who has not overridden anything for this release"
            if answers
            else "one of the policy's reviewers who did not ask for this release",
            got="the name of such an officer" if answers else "the name of the requester",
            fix="ask a different reviewer",
        )
    return _listed(record, name, record.reviewers, "a reviewer", "policy.review.reviewers")


def officer_of(record: Judged, name: str) -> str:
    """The officer with a given name, as the policy spells it; officers may not override their own requests.

    Raises
    ------
    BadInput
        If the policy names no such officer, or the person is the requester.
    """
    if same_person(name, record.requested_by):
        raise BadInput(
            "the requester of a release may not override its gates or reviewers",
            where=f"release to {record.recipient.id}",
            expected="an officer who did not ask for this release",
            got="the name of the requester",
            fix="ask a different officer",
        )
    return _listed(record, name, record.officers, "an officer", "policy.review.officers")


def revoking_roles(record: Judged, name: str) -> frozenset[WorkflowRole]:
    """Roles in which a person may revoke a release: officer, requester, or both.

    Raises
    ------
    BadInput
        If there is none.
    """
    people = {WorkflowRole.REQUESTER: (record.requested_by,), WorkflowRole.OFFICER: record.officers}
    roles = frozenset(role for role, names in people.items() if any(same_person(name, one) for one in names))
    if not roles:
        raise BadInput(
            "this person may not revoke the release",
            where=f"release to {record.recipient.id}",
            expected="the requester, or one of policy.review.officers",
            got="a different name",
            fix="ask one of them; a request with other officers is a new release",
        )
    return roles


def _listed(record: Judged, name: str, names: Iterable[str], what: str, place: str) -> str:
    found = next((one for one in names if same_person(one, name)), None)
    if found is not None:
        return found
    raise BadInput(
        f"this person is not {what} of the release",
        where=f"release to {record.recipient.id}",
        expected=f"one of {place} of the policy that it was decided under",
        got="a different name",
        fix="check the name; a request with other people in its policy is a new release",
    )
