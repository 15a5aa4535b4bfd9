"""Rules of requests that release shifted dates, or days since an index event."""

from typing import TYPE_CHECKING

from tasks.core.plural import listed
from tasks.request.attribute import Attribute, Role, ValueType
from tasks.request.measures import DATES
from tasks.request.part import Rule, at_first
from tasks.request.population_rules import decoys_asked, named_in_policy

if TYPE_CHECKING:
    from tasks.request.model import ReleaseRequest


def index_event(request: "ReleaseRequest", name: str) -> Attribute | None:
    """The attribute that a column of relative dates counts from; None for others, and where there is no such name."""
    terms = request.attributes[name].date
    return request.attributes.get(terms.relative_to or "") if terms is not None else None


def counts_from(request: "ReleaseRequest", name: str) -> str | None:
    """Index event whose day stays unknown, from which a dated column counts; None where it moves with shifted dates."""
    terms = request.attributes[name].date
    if terms is None or terms.relative_to is None:
        return None
    index = index_event(request, name)
    return None if index is not None and index.date is not None and index.date.shift else terms.relative_to


def largest_shift(request: "ReleaseRequest") -> int:
    """Most days that a date of the request is moved by, 0 where none is."""
    terms = (one.date for one in request.attributes.values())
    return max((one.days or 0 for one in terms if one is not None), default=0)


def dates_in_words(request: "ReleaseRequest", name: str) -> str:
    """Released form of the dates of a column, for a report or a dictionary; empty where no term treats them."""
    terms = request.attributes[name].date
    if terms is None or not terms.treated:
        return ""
    if terms.relative_to is not None:
        return f"days since {terms.relative_to}"
    return f"shifted by up to {terms.days} days, all dates of a person by the same number"


def date_rules() -> "tuple[Rule[ReleaseRequest], ...]":
    """Rules that relate the terms of dates to each other and to the rest of a request."""
    return (
        Rule(
            "relative_to names a different attribute of type date, which is no relative date itself",
            at_first("date.relative_to", lambda one, name: _is_relative(one, name) and not _can_be_index(one, name)),
            got="a different name",
            fix="name the column that has the date of the index event",
        ),
        Rule(
            "an index event is shifted, or withheld and of the person",
            at_first("date.relative_to", lambda one, name: _is_relative(one, name) and not _index_is_hidden(one, name)),
            got="an index event that leaves as it is or generalized, or one of rows that is withheld",
            fix="shift its date too; of a person, it may have the role “direct identifier”",
        ),
        Rule(
            "an attribute of people is relative to one of people",
            at_first(
                "date.relative_to",
                lambda one, name: (
                    (index := index_event(one, name)) is not None
                    and index.of == "row"
                    and one.attributes[name].of == "person"
                ),
            ),
            got="an index event of rows",
            fix="name an index event of the person, or add “of: row” to the column",
        ),
        Rule(
            "the dates of a copy are shifted together, or are all relative to one index event",
            at_first(
                "date.relative_to",
                lambda one, name: name in one.dated and counts_from(one, name) != counts_from(one, one.dated[0]),
            ),
            got="shifted dates and others, or two index events: together they reveal each other",
            fix="shift all of them by the same number of days, or make all relative to the same event",
        ),
        Rule(
            "all dates are shifted by at most the same number of days",
            at_first(
                "date.days",
                lambda one, name: getattr(one.attributes[name].date, "days", None) not in (None, largest_shift(one)),
            ),
            got="two numbers of days",
            fix="give all of them the same days: a person has one offset",
        ),
        Rule(
            "beside shifted or relative dates, no date leaves as it was collected",
            at_first(
                "date",
                lambda one, name: (
                    bool(one.dated)
                    and one.attributes[name].type is ValueType.DATE
                    and one.attributes[name].role in (Role.SENSITIVE, Role.INSENSITIVE)
                    and not one.attributes[name].dated
                ),
            ),
            got="a column of dates as collected, which may reveal by how much the others are shifted",
            fix="shift it too, make it relative, generalize it as a quasi-identifier, or withhold it",
        ),
        Rule(
            "beside shifted or relative dates nobody outside knows other attributes of rows",
            lambda one: (
                f"attributes.{one.known_events[0]}.known_probability" if one.dated and one.known_events else None
            ),
            got="an attribute of rows that others may know: who knows it and dates finds more people than is counted",
            fix="state “known_probability: 0” if nobody outside can know a value, or withhold the column",
        ),
        Rule(
            "beside shifted or relative dates no attribute of rows has levels of dates",
            lambda one: next(
                (
                    f"attributes.{name}.hierarchy.dates"
                    for name in one.of_rows
                    if one.dated and (source := one.attributes[name].hierarchy) is not None and source.dates is not None
                ),
                None,
            ),
            got="periods of the calendar, which reveal by how much the others are shifted",
            fix="shift it too, or withhold it",
        ),
        Rule(
            "a person has one date of birth and one date of death",
            at_first(
                "date.event",
                lambda one, name: (
                    _event(one, name) is not None
                    and (
                        one.attributes[name].of == "row"
                        or next(other for other in one.attributes if _event(one, other) == _event(one, name)) != name
                    )
                ),
            ),
            got="a second column of this event, or one of rows",
            fix="name one attribute of people for each event",
        ),
        Rule(
            "date.age names another attribute, and an age needs a date of birth",
            at_first(
                "date.age",
                lambda one, name: (
                    (terms := one.attributes[name].date) is not None
                    and terms.age is not None
                    and (
                        terms.age not in one.attributes
                        or one.attributes[terms.age].type is ValueType.DATE
                        or not any(_event(one, other) == "birth" for other in one.attributes)
                    )
                ),
            ),
            got="a name that is not among the attributes or has dates, or no column with “date: {event: birth}”",
            fix="name the column of ages, and mark the date of birth, which may be withheld",
        ),
        Rule(
            "where dates are shifted or relative, a gate limits the people whom known dates find",
            lambda one: bool(one.dated) and not any(gate.measure in DATES for gate in one.policy.gates),
            "policy.gates",
            got="no gate on dates.*",
            fix=f"add a gate on {listed(sorted(DATES), 'or')}, such as {{measure: dates.linked_share, at_most: 0.09, "
            "because: …}; gates that are listed replace the usual ones, so list these too",
        ),
        Rule(
            "beside shifted or relative dates there are no decoys and no collusion",
            lambda one: (decoys_asked(one) or _collusion_asked(one)) if one.dated else None,
            got="decoys, whose dates would have to be made up, or recipients who may lay differently shifted copies "
            "side by side",
            fix="remove them, or generalize the dates as quasi-identifiers",
        ),
        Rule(
            "policy.linkage.known, policy.utility.target and k_anonymity name no shifted or relative dates",
            lambda one: next((place for place, name in named_in_policy(one) if name in one.dated), None),
            got="a column of shifted or relative dates",
            fix="leave it out; policy.dates states what is known of dates",
        ),
    )


def _collusion_asked(request: "ReleaseRequest") -> str | None:
    return None if request.policy.generalization.collusion is None else "policy.generalization.collusion"


def _is_relative(request: "ReleaseRequest", name: str) -> bool:
    return getattr(request.attributes[name].date, "relative_to", None) is not None


def _can_be_index(request: "ReleaseRequest", name: str) -> bool:
    index = index_event(request, name)
    return (
        index is not None
        and index is not request.attributes[name]
        and index.type is ValueType.DATE
        and getattr(index.date, "relative_to", None) is None
    )


def _index_is_hidden(request: "ReleaseRequest", name: str) -> bool:
    index = index_event(request, name)
    shifted = index is not None and getattr(index.date, "shift", None) is not None
    return shifted or (index is not None and index.role.withheld and index.of == "person")


def _event(request: "ReleaseRequest", name: str) -> str | None:
    return getattr(request.attributes[name].date, "event", None)
