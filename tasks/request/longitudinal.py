"""Rules of requests whose file has several rows per person: attributes of people and of rows, and what they exclude."""

from itertools import chain
from typing import TYPE_CHECKING

from tasks.request.attribute import Role
from tasks.request.measures import Measure
from tasks.request.part import Rule, at_first
from tasks.request.population_rules import decoys_asked, masked_places, named_in_policy, resources_of

if TYPE_CHECKING:
    from tasks.request.model import ReleaseRequest

_JUDGED = frozenset(
    {
        Measure.TRANSPARENT_MAXIMUM,
        Measure.PROSECUTOR_MAXIMUM,
        Measure.JOURNALIST_MAXIMUM,
        Measure.SEQUENTIAL_MAXIMUM,
        Measure.SMALLEST_CLASS,
    }
)
_SCORES = (Measure.COMBINED_MAXIMUM, Measure.COMBINED_QUANTILE, Measure.COMBINED_ABOVE)


def is_identifier(request: "ReleaseRequest", name: str | None) -> bool:
    """Whether a name is that of a direct identifier of the request, released or not as a pseudonym."""
    return name in request.attributes and request.attributes[name].role in (Role.DIRECT, Role.PSEUDONYM)


def role_in_words(request: "ReleaseRequest", name: str | None) -> str:
    """The role of an attribute for a message, or that there is no such attribute."""
    if name not in request.attributes:
        return "a name that is not among the attributes"
    return f"the role “{request.attributes[name].role.value}”"


def longitudinal_rules() -> "tuple[Rule[ReleaseRequest], ...]":
    """Rules that relate the person column, the attributes of rows and the other terms of a request."""
    return (
        Rule(
            "dataset.person must name an attribute of people with the role “direct identifier” or “pseudonym”",
            lambda one: (
                one.dataset.person is not None
                and (not is_identifier(one, one.dataset.person) or one.dataset.person in one.of_rows)
            ),
            "dataset.person",
            got=lambda one: (
                "an attribute of rows" if one.dataset.person in one.of_rows else role_in_words(one, one.dataset.person)
            ),
            fix="name the column that is the same in all rows of a person, such as a patient number, and give it that "
            "role",
        ),
        Rule(
            "of direct identifiers only dataset.record_id is excused, where dataset.person does not say whose rows are",
            at_first(
                "excused",
                lambda one, name: (
                    one.attributes[name].excused is not None
                    and one.attributes[name].role is Role.DIRECT
                    and (name != one.dataset.record_id or one.dataset.person is not None)
                ),
            ),
            got="an excuse for a direct identifier",
            fix="remove it: direct identifiers are not released, and risks are of the people that dataset.person names",
        ),
        Rule(
            "attributes of rows need dataset.person, which says whose each row is",
            at_first("of", lambda one, name: one.dataset.person is None and name in one.of_rows),
            got="of: row without dataset.person",
            fix="name the column of the person under dataset.person, or remove “of: row”",
        ),
        Rule(
            "where a person has several rows, dataset.record_id names rows or is the column of the person",
            lambda one: (
                one.dataset.person not in (None, one.dataset.record_id) and one.dataset.record_id not in one.of_rows
            ),
            "dataset.record_id",
            got="an attribute of people that is not dataset.person",
            fix="add “of: row” to the column that numbers the rows; where there is none, name the column of the person",
        ),
        Rule(
            "a quasi-identifier is an attribute of people",
            at_first("role", lambda one, name: name in one.of_rows and one.attributes[name].role is Role.QUASI),
            got="a quasi-identifier of rows",
            fix="make it sensitive or insensitive; what others may know of rows counts as known unless the request "
            "states “known_probability: 0”",
        ),
        Rule(
            "an attribute of rows is known or not: policy.events says how many rows of a person are",
            at_first(
                "known_probability",
                lambda one, name: name in one.events and one.attributes[name].known_probability not in {None, 0, 1},
            ),
            got="a probability between 0 and 1",
            fix="leave it out if somebody outside may know a value; state 0 if nobody can",
        ),
        Rule(
            "where rows may be known, a gate judges the greatest risk of a person",
            lambda one: bool(one.known_events) and not _JUDGED & {gate.measure for gate in one.policy.gates},
            "policy.gates",
            got="no such gate",
            fix=f"add a gate on {Measure.TRANSPARENT_MAXIMUM.value}",
        ),
        Rule(
            "where rows may be known, an adversary's external data list a share of people by the prior",
            lambda one: resources_of(one) if one.known_events else None,
            got="resources that list shares of groups whose size is not known",
            fix="remove the resources and state a prior; or state “known_probability: 0” of attributes of rows that "
            "nobody outside can know",
        ),
        Rule(
            "masking, policy.linkage, policy.utility and k_anonymity name attributes of people",
            _of_people_only,
            got="an attribute of rows",
            fix="name attributes of people alone",
        ),
        Rule(
            "a gate on a score of combined.* weighs attributes of people alone",
            lambda one: (
                any(gate.measure in _SCORES for gate in one.policy.gates)
                and any(one.attributes[name].tells for name in one.events)
            ),
            "policy.gates",
            got="such a gate beside a sensitive attribute of rows, which the score would leave out",
            fix="remove the gate; one on combined.expected_share counts what is learned of a person who is found",
        ),
        Rule(
            "where a person has several rows there are no decoys",
            lambda one: None if one.dataset.person is None else decoys_asked(one),
            got="decoys beside dataset.person; decoys would need rows that pass for real ones",
            fix="remove them, or release a file with one row a person",
        ),
    )


def _of_people_only(request: "ReleaseRequest") -> str | None:
    """Place of the first term that names an attribute of rows, of those that mean attributes of people."""
    masked = ((place, name) for name, place in masked_places(request))
    named = chain(masked, named_in_policy(request))
    return next((place for place, name in named if name in request.of_rows), None)
