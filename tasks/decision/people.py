"""People whom a policy names: when two names are one person's, and who may do what.

A name is what somebody says of himself; that it is his, only a signature shows.
"""

import unicodedata
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from tasks.decision.states import Role
from tasks.errors import BadInput

if TYPE_CHECKING:
    from tasks.decision.judged import Judged


_LEFT_OUT = frozenset("'`´‘’‛′ʹʻʼʽˈ＇") | {chr(0x34F), *map(chr, range(0xFE00, 0xFE10))}
"""Apostrophes in all their forms, and marks that only choose how a character is drawn."""


def person_key(name: str) -> str:
    """A name without what two spellings of it may differ in: case, spaces, punctuation, forms of a character.

    Characters that nobody sees, and apostrophes, are left out; other punctuation parts words. A name of nothing else
    stands for itself.
    """
    seen = "".join(character for character in name if character not in _LEFT_OUT)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return " ".join("".join(map(_kept, folded)).split()) or " ".join(folded.split())


def _kept(character: str) -> str:
    kind = unicodedata.category(character)
    if kind == "Cf":
        return ""
    return " " if kind.startswith("P") or kind == "Cc" else character


def same_person(one: str, other: str) -> bool:
    """Whether two names are taken for one person's."""
    return person_key(one) == person_key(other)


def reviewer_of(record: "Judged", name: str, answering: Collection[str] = ()) -> str:
    """The reviewer of a release who goes by a name, as the policy spells it.

    Parameters
    ----------
    record : Judged
    name : str
    answering : collection of str
        Officers who have answered for an exception that this release rests on; they do not judge their own.

    Raises
    ------
    BadInput
        If the policy names nobody like that, it is whoever asked for the release, or an officer who answers for it.
    """
    if any(same_person(name, officer) for officer in answering):
        raise BadInput(
            "whoever answers for an override does not review the release",
            where=f"release to {record.recipient.id}",
            expected="one of the policy's reviewers who has not overridden anything for this release",
            got="the name of such an officer",
            fix="let somebody else review it",
        )
    if same_person(name, record.requested_by):
        raise BadInput(
            "whoever asks for a release does not review it",
            where=f"release to {record.recipient.id}",
            expected="one of the policy's reviewers who did not ask for this release",
            got="the name of the requester",
            fix="let somebody else review it",
        )
    return _listed(record, name, record.reviewers, "reviewer", "policy.review.reviewers")


def officer_of(record: "Judged", name: str) -> str:
    """The officer who goes by a name, as the policy spells it; officers do not override what they asked for.

    Raises
    ------
    BadInput
        If the policy names nobody like that, or it is whoever asked for the release.
    """
    if same_person(name, record.requested_by):
        raise BadInput(
            "whoever asks for a release does not override its reviewers",
            where=f"release to {record.recipient.id}",
            expected="an officer who did not ask for this release",
            got="the name of the requester",
            fix="let another officer answer for it",
        )
    return _listed(record, name, record.officers, "officer", "policy.review.officers")


def revoking_roles(record: "Judged", name: str) -> frozenset[Role]:
    """In which roles somebody may revoke a release: as officer, as requester, or both.

    Raises
    ------
    BadInput
        If neither.
    """
    roles = set()
    if same_person(name, record.requested_by):
        roles.add(Role.REQUESTER)
    if any(same_person(name, officer) for officer in record.officers):
        roles.add(Role.OFFICER)
    if not roles:
        raise BadInput(
            "this person may not revoke the release",
            where=f"release to {record.recipient.id}",
            expected="whoever asked for it, or one of policy.review.officers",
            got="another name",
            fix="let one of them revoke it; a request with other officers is a new release",
        )
    return frozenset(roles)


def _listed(record: "Judged", name: str, names: Iterable[str], what: str, place: str) -> str:
    for one in names:
        if same_person(one, name):
            return one
    raise BadInput(
        f"this person is no {what} of the release",
        where=f"release to {record.recipient.id}",
        expected=f"one of {place} of the policy that it was decided under",
        got="another name",
        fix="check the name; a request with other people in its policy is a new release",
    )
