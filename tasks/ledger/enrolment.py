"""Enrolled policies, populations and persons: the facts of their entries, and the directory that entries amount to.

The directory is read from the ledger, which holds nothing else of it: to change it is to add an entry. Every enrolment
names an enrolled officer, except the first of a workspace, which has nobody to name. No file and no clock here.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from tasks.core.errors import BadInput
from tasks.core.fact import Fact, Sha256
from tasks.core.people import PERSON_ID, WorkflowRole, login_of, may_be_same_person, mixes_alphabets, same_person
from tasks.ledger.entry import Entry, Event, broken
from tasks.ledger.signing import is_name

if TYPE_CHECKING:
    from tasks.ledger.store import Ledger


def _line(text: str) -> str:
    if text and not is_name(text):
        raise ValueError("one printable line")
    return text


_Line = Annotated[str, AfterValidator(_line)]


class EnrolledPolicy(Fact):
    """A policy that requests may be decided by; one id and version is one policy permanently."""

    kind: Literal["policy"] = "policy"
    id: str
    version: str
    sha256: Sha256 = Field(description="Of the policy's canonical JSON, as decision records name it.")


class EnrolledPopulation(Fact):
    """A table of counts that risk may be computed from: a population, or a register of named people."""

    kind: Literal["population"] = "population"
    sha256: Sha256 = Field(description="Of the file's bytes.")
    source: str
    count: str = Field(description="Column with the number of people.")
    people: int = Field(description="Sum of that column.")


class EnrolledSample(Fact):
    """A population without a table, which files are random samples of, or hold everybody of."""

    kind: Literal["sample"] = "sample"
    sha256: Sha256 = Field(description="Of the source and what is stated of the file, as canonical JSON.")
    source: str
    size: int | None = Field(description="People of the population; None where the fraction is given.")
    sampling_fraction: float | None = Field(description="Records as a share of the people.")
    everybody: bool = Field(description="Whether everybody of the population is in the file.")


class EnrolledText(Fact):
    """A hierarchy or a template of requests, whose text the workspace keeps; an id and version is one permanently."""

    kind: Literal["hierarchy", "template"]
    id: Annotated[str, Field(pattern=PERSON_ID)]
    version: Annotated[_Line, Field(min_length=1, max_length=64)]
    sha256: Sha256 = Field(description="Of the file's bytes.")


class EnrolledPerson(Fact):
    """A person, their roles, and the logins that are theirs."""

    kind: Literal["person"] = "person"
    id: Annotated[str, Field(pattern=PERSON_ID)]
    name: Annotated[_Line, Field(min_length=1)]
    title: _Line = ""
    roles: tuple[WorkflowRole, ...] = ()
    logins: tuple[_Line, ...] = ()


EnrolledItem = EnrolledPolicy | EnrolledPopulation | EnrolledSample | EnrolledText | EnrolledPerson
_Item = Annotated[EnrolledItem, Field(discriminator="kind")]
_Kind = TypeVar("_Kind", EnrolledPolicy, EnrolledPopulation, EnrolledSample, EnrolledText, EnrolledPerson)


class Enrolment(Fact):
    """Body of ``enrolled``."""

    items: tuple[_Item, ...] = Field(min_length=1)
    by: str | None = Field(description="The officer, as enrolled; None for the first enrolment.")
    first: bool = False


class EndedEnrolment(Fact):
    """Body of ``enrolment ended``."""

    item: _Item
    by: str


class EnrolmentFact(Fact):
    """Enrolment of an item that a decision rests on: the officer, and the time."""

    by: str | None = Field(description="The officer by name; None where the workspace's first enrolment did.")
    officer_id: str | None
    at: datetime


def key_of(item: EnrolledItem) -> tuple[str, ...]:
    """Kind and name of an item; a later enrolment of the same key takes its place."""
    if isinstance(item, EnrolledPolicy | EnrolledText):
        return item.kind, item.id, item.version
    return item.kind, item.id if isinstance(item, EnrolledPerson) else item.sha256


def title_of(item: EnrolledItem) -> str:
    """Name of an item in a message or a list."""
    if isinstance(item, EnrolledPolicy | EnrolledText):
        return f"{item.kind} {item.id}/{item.version}"
    return f"person {item.id}" if isinstance(item, EnrolledPerson) else f"{item.kind} {item.sha256[:12]}"


class Directory:
    """Enrolments in force, after some entries of a ledger."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._items: dict[tuple[str, ...], EnrolledItem] = {}
        self._ever: dict[tuple[str, ...], EnrolledItem] = {}
        self._enrolments: dict[tuple[str, ...], tuple[EnrolmentFact, ...]] = {}
        self._ended: dict[tuple[str, ...], EnrolmentFact] = {}
        self._logins: dict[str, frozenset[str]] = {}
        for entry in entries:
            try:
                if entry.event is Event.ENROLLED:
                    self._take_in(Enrolment.model_validate(entry.body), entry.at)
                else:
                    ended = EndedEnrolment.model_validate(entry.body)
                    self.end(ended)
                    self._ended[key_of(ended.item)] = EnrolmentFact(by=ended.by, officer_id=None, at=entry.at)
            except ValidationError:
                unread = "an enrolment cannot be read"
                raise broken(unread, entry.sequence, "facts that this version knows", "something else") from None
            except BadInput as error:
                raise broken(error.what, entry.sequence, error.expected, error.got) from None

    @classmethod
    def of(cls, ledger: "Ledger") -> Self:
        """The directory that a ledger amounts to; TamperingFound where an enrolment in it was not permitted."""
        entries = (*ledger.entries(event=Event.ENROLLED), *ledger.entries(event=Event.ENROLMENT_ENDED))
        return cls(sorted(entries, key=lambda entry: entry.sequence))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever enrolled."""
        return not self._ever

    def __iter__(self) -> Iterator[EnrolledItem]:
        return iter(self._items.values())

    def all(self, kind: type[_Kind]) -> tuple[_Kind, ...]:
        """The enrolled items of one kind."""
        return tuple(item for item in self if isinstance(item, kind))

    def ever(self) -> tuple[EnrolledItem, ...]:
        """All items that are or were enrolled, each as it was enrolled last."""
        return tuple(self._ever.values())

    def ended(self, item: EnrolledItem) -> EnrolmentFact | None:
        """End of the enrolment of an item, with the officer who ended it; None while it is in force."""
        return None if key_of(item) in self._items else self._ended.get(key_of(item))

    def text(self, kind: str, text_id: str, version: str, *, ended: bool = False) -> EnrolledText | None:
        """The enrolled hierarchy or template of an id and version; `ended`, also one whose enrolment has ended."""
        found = (self._ever if ended else self._items).get((kind, text_id, version))
        return found if isinstance(found, EnrolledText) else None

    def in_force(self, item: EnrolledItem) -> tuple[EnrolledItem, datetime] | None:
        """The enrolled item of the same key, and when it was enrolled last; None where there is none."""
        found = self._items.get(key_of(item))
        return None if found is None else (found, self._enrolments[key_of(item)][-1].at)

    def enrolment(self, item: EnrolledItem, *, but_by: EnrolledPerson | None) -> EnrolmentFact | None:
        """The first enrolment of an item in force in the name of anybody but one person; None without one."""
        found = self._enrolments.get(key_of(item), ())
        return next((one for one in found if but_by is None or one.officer_id != but_by.id), None)

    def policy(self, policy_id: str, version: str, *, ended: bool = False) -> EnrolledPolicy | None:
        """The enrolled policy of an id and version; `ended`, also one whose enrolment has ended."""
        found = (self._ever if ended else self._items).get(("policy", policy_id, version))
        return found if isinstance(found, EnrolledPolicy) else None

    def population(self, sha256: str) -> EnrolledPopulation | None:
        """The enrolled population of a hash."""
        return next((one for one in self.all(EnrolledPopulation) if one.sha256 == sha256), None)

    def sample(self, sha256: str) -> EnrolledSample | None:
        """The enrolled population without a table of a hash."""
        return next((one for one in self.all(EnrolledSample) if one.sha256 == sha256), None)

    def person(self, name: str) -> EnrolledPerson | None:
        """The enrolled person of an id, or of a name in any spelling that is taken for it."""
        people = self.all(EnrolledPerson)
        by_id = next((one for one in people if one.id == name), None)
        return by_id or next((one for one in people if same_person(one.name, name)), None)

    def person_of_login(self, login: str) -> EnrolledPerson | None:
        """The enrolled person whose login it is; ``login`` may be the actor of a ledger entry."""
        wanted = login_of(login)
        return next((one for one in self.all(EnrolledPerson) if wanted in map(login_of, one.logins)), None)

    def logins_of(self, person: EnrolledPerson | None) -> frozenset[str]:
        """Every login that a person has or had; nobody's are none."""
        return frozenset() if person is None else self._logins.get(person.id, frozenset())

    def is_own_login(self, person: EnrolledPerson, login: str) -> bool:
        """Whether a person may act from a login: one of theirs; where they have none, any that is nobody else's."""
        owner = self.person_of_login(login)
        return owner == person or (owner is None and not person.logins)

    def officer(self, name: str | None) -> EnrolledPerson:
        """The enrolled officer of a name; BadInput where there is none."""
        person = self.person(name) if name else None
        if person is None or WorkflowRole.OFFICER not in person.roles:
            raise BadInput(
                "an enrolment without a responsible officer",
                where="--as",
                expected="an enrolled person with the role officer",
                got="nobody" if not name else "nobody of this name" if person is None else "a person without this role",
                fix="let an officer enrol it; releasegate enrol list shows them",
            )
        return person

    def enrol(self, body: Enrolment) -> None:
        """Take in an enrolment; BadInput where it is not permitted."""
        if body.first and not self.is_empty:
            raise BadInput(
                "something is enrolled in this workspace already",
                expected="a first enrolment in a workspace without any",
                got="a second one",
                fix="let an officer enrol it: releasegate enrol policy, population or person, with --as",
            )
        if not body.first:
            self.officer(body.by)
        for item in body.items:
            self._check(item)
            self._items[key_of(item)] = self._ever[key_of(item)] = item
            if isinstance(item, EnrolledPerson):
                self._logins[item.id] = self.logins_of(item) | set(map(login_of, item.logins))

    def _take_in(self, body: Enrolment, at: datetime) -> None:
        before = dict(self._items)
        officer = None if body.first else self.officer(body.by)  # an enrolment may rename them
        self.enrol(body)
        fact = EnrolmentFact(by=body.by, officer_id=officer.id if officer else None, at=at)
        for item in body.items:
            same = before.get(key_of(item)) == item
            self._enrolments[key_of(item)] = (*(self._enrolments[key_of(item)] if same else ()), fact)

    def check_names(self, items: Sequence[EnrolledItem]) -> None:
        """Refuse (BadInput) new persons whose names may be another's.

        Only when they are enrolled: entries stay readable where a later version compares names otherwise.
        """
        people = {one.id: one for one in self.all(EnrolledPerson)}
        for item in items:
            if not isinstance(item, EnrolledPerson):
                continue
            others = [one for one in people.values() if one.id != item.id]
            other = next((one for one in others if may_be_same_person(one.name, item.name)), None)
            if other is not None or mixes_alphabets(item.name):
                raise BadInput(
                    "the name may be another person's" if other else "the name mixes letters that look alike",
                    where=title_of(item),
                    expected="a name of one alphabet that differs from others in more than initials, titles or accents",
                    got=f"a name that may be {other.id}'s" if other else "letters of several alphabets",
                    fix="write both names in full, with a further name where they are alike; or use the enrolled id",
                )
            people[item.id] = item

    def end(self, body: EndedEnrolment) -> None:
        """Take in the end of an enrolment; BadInput where it is not permitted."""
        self.officer(body.by)
        if self._items.get(key_of(body.item)) != body.item:
            raise BadInput(
                "there is no such enrolment",
                where=title_of(body.item),
                expected="an enrolment in force",
                got="none",
                fix="releasegate enrol list shows those in force",
            )
        rest = [one for key, one in self._items.items() if key != key_of(body.item)]
        if not any(isinstance(one, EnrolledPerson) and WorkflowRole.OFFICER in one.roles for one in rest):
            raise _nobody_left(body.item)
        del self._items[key_of(body.item)]

    def _check(self, item: EnrolledItem) -> None:
        before = self._ever.get(key_of(item))
        if isinstance(item, EnrolledPolicy | EnrolledText) and before not in {None, item}:
            raise BadInput(
                f"another {item.kind} is or was enrolled under this id and version",
                where=title_of(item),
                expected=f"the same {item.kind}, or a version of its own",
                got=f"a different {item.kind}",
                fix=f"give the {item.kind} a new version",
            )
        if not isinstance(item, EnrolledPerson):
            return
        logins = set(map(login_of, item.logins))
        for other in self.all(EnrolledPerson):
            if other.id != item.id and logins & set(map(login_of, other.logins)):
                raise BadInput(
                    "another person is enrolled under this login",
                    where=title_of(item),
                    expected="logins of their own",
                    got=f"one that is {other.id}'s",
                    fix="end the other enrolment first, or correct this one",
                )
        if isinstance(before, EnrolledPerson) and WorkflowRole.OFFICER not in item.roles:
            officers = [one.id for one in self.all(EnrolledPerson) if WorkflowRole.OFFICER in one.roles]
            if officers == [item.id]:
                raise _nobody_left(item)


def _nobody_left(item: EnrolledItem) -> BadInput:
    return BadInput(
        "no officer would be left",
        where=title_of(item),
        expected="at least one enrolled officer",
        got="none",
        fix="enrol another officer first",
    )
