"""Persons are ids of the workspace: who may ask, vote, override and revoke, under which name, at which login."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.actions.overruling import revoke
from flows.actions.reviewing import cast_vote
from flows.gate.release import run_release
from flows.library.enrolment import end_enrolment, enrol, first_enrolment, items_of
from flows.people.persons import account_holder
from flows.people.signing import create_key
from flows.releases.cases import ReleaseAction
from flows.workspace.actor import acting_as
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, RequestError
from tasks.core.people import WorkflowRole
from tasks.decision.record import DecisionRecord
from tasks.decision.states import State
from tasks.ledger.enrolment import Directory, EnrolledPerson
from tasks.ledger.entry import Event
from tasks.request.load import load_request
from tasks.request.policy import Policy
from tests.support.world import NOW, UNIVERSITY, World, make_world

DANA, MARY, JAN, PAUL = "dana.whitfield", "mary.okafor", "jan.brandt", "paul.ortiz"
REVIEW = {"required": 1, "reviewers": [MARY, "Jan Brandt", DANA], "officers": [PAUL]}
PEOPLE = (
    EnrolledPerson(
        id=DANA,
        name="Dana Whitfield",
        title="data steward",
        roles=(WorkflowRole.REQUESTER, WorkflowRole.REVIEWER),
        logins=("dwhitfield", "dana (token)"),
    ),
    EnrolledPerson(id=MARY, name="Mary Okafor", roles=(WorkflowRole.REVIEWER,), logins=("okafor",)),
    EnrolledPerson(id=JAN, name="Jan Brandt", roles=(WorkflowRole.REVIEWER,)),
    EnrolledPerson(id=PAUL, name="Paul Ortiz", roles=(WorkflowRole.OFFICER,), logins=("ortiz",)),
)


def person(person_id: str, **changes: Any) -> EnrolledPerson:
    """One of the people, with changes."""
    return next(one for one in PEOPLE if one.id == person_id).model_copy(update=changes)


def begin(folder: Path) -> World:
    """A workspace in which all people and the request's policy and population are enrolled."""
    world = make_world(folder)
    world.ask(requested_by=DANA, policy={"review": REVIEW}, recipients=[UNIVERSITY])
    items = [
        one for one in items_of(world.workspace, load_request(world.request)) if not isinstance(one, EnrolledPerson)
    ]
    with open_ledger(open_workspace(world.workspace.root), create=True) as ledger:
        first_enrolment(world.workspace, ledger, [*items, *PEOPLE], lambda: NOW)
    return world


def change(place: Workspace, item: EnrolledPerson) -> None:
    with acting_as("ortiz"):
        enrol(place, [item], PAUL, clock=lambda: NOW)


def refused(world: World, login: str = "dwhitfield") -> BadInput:
    """The refusal of the request, which the ledger records; of one that can be read, with the people it concerns."""

    def no_engine(*_: Any) -> Any:
        pytest.fail("a stage ran")

    with acting_as(login), pytest.raises(BadInput) as caught:
        run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=no_engine)
    whom: dict[str, object] = {}
    if not isinstance(caught.value, RequestError):
        asked = load_request(world.request).request
        whom = {"title": asked.title, "recipients": ["university"], "requested_by": asked.requested_by}
    with open_ledger(world.workspace) as ledger:
        body = ledger.entries()[-1].body
        assert re.fullmatch("[0-9a-f]{64}", body.pop("request_id", "0" * 64)), "the release that it would have been"
        assert body == caught.value.fields() | whom
        assert ledger.entries(event=Event.REQUESTED) == ()
    return caught.value


@pytest.fixture
def begun(tmp_path: Path) -> World:
    return begin(tmp_path / "world")


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, str]:
    world = begin(tmp_path_factory.mktemp("persons") / "world")
    with acting_as("dwhitfield"):
        made = run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=engine)
    return world, made.release_id


@pytest.fixture
def asked(decided: tuple[World, str], tmp_path: Path) -> Callable[..., ReleaseAction]:
    """An action on a copy of the release."""
    world, name = decided
    shutil.copytree(world.folder.parent, tmp_path / "copy")
    place = World(tmp_path / "copy" / "world").workspace
    return lambda by, **terms: ReleaseAction(name, place, by=by, reason="Recounted.", clock=lambda: NOW, **terms)


def test_the_record_names_the_requester_by_id_name_and_title(asked: Callable[..., ReleaseAction]) -> None:
    action = asked(MARY)
    path = action.workspace.bundle(action.reference) / "decision/university.json"
    record = DecisionRecord.model_validate_json(path.read_bytes())
    assert (record.requester_id, record.requested_by, record.requester_title) == (
        DANA,
        "Dana Whitfield",
        "data steward",
    )
    assert (record.requester, record.handed_in_by) == ("Dana Whitfield, data steward", "dwhitfield")
    assert (record.reviewers, record.officers) == (("Mary Okafor", "Jan Brandt", "Dana Whitfield"), ("Paul Ortiz",))


@pytest.mark.parametrize("by", [MARY, "Mary Okafor", "Okafor, Mary", "Dr. Mary Okafor"])
def test_people_vote_by_id_or_name(asked: Callable[..., ReleaseAction], by: str) -> None:
    with acting_as("okafor (reviewer's page)"):
        voted = cast_vote(asked(by), "approve")
    assert (voted.reviewer, voted.standing.state) == ("Mary Okafor", State.RELEASED)


@pytest.mark.parametrize("login", ["dwhitfield", "ortiz", "somebody"])
@pytest.mark.parametrize(
    "by", [DANA, "Dana Whitfield", "Whitfield, Dana", "D. Whitfield", "Dána Whitfield", "D\u0430na Whitfield"]
)
def test_a_requester_has_no_vote(asked: Callable[..., ReleaseAction], by: str, login: str) -> None:
    with acting_as(login), pytest.raises(BadInput, match="may not review"):
        cast_vote(asked(by), "approve")


@pytest.mark.parametrize(
    ("by", "login"), [(MARY, "brandt"), (MARY, "ortiz"), (JAN, "okafor"), (JAN, "ortiz"), (JAN, "Okafor (token)")]
)
def test_a_vote_comes_from_the_reviewers_own_login(asked: Callable[..., ReleaseAction], by: str, login: str) -> None:
    with acting_as(login), pytest.raises(BadInput, match="this login is not one of"):
        cast_vote(asked(by), "approve")


def test_with_a_key_it_comes_from_anywhere(asked: Callable[..., ReleaseAction], tmp_path: Path) -> None:
    file, phrase = tmp_path / "key.pem", "ibex saiga marmot quoll"
    place, roles = asked(MARY).workspace, [WorkflowRole.REVIEWER]
    with acting_as("dwhitfield"), pytest.raises(BadInput, match="this login is not one of"):
        create_key(place, MARY, roles, file, lambda: phrase, clock=lambda: NOW)
    with acting_as("okafor"):
        assert create_key(place, MARY, roles, file, lambda: phrase, clock=lambda: NOW).name == "Mary Okafor"
    with acting_as("dwhitfield"):
        voted = cast_vote(asked("Mary Okafor", key=file, ask=lambda: phrase), "approve")
    assert voted.standing.state is State.RELEASED


@pytest.mark.parametrize(
    ("name", "roles", "what"),
    [
        ("lise.sand", [WorkflowRole.REVIEWER], "not enrolled as reviewer"),
        (PAUL, [WorkflowRole.REVIEWER], "not enrolled as reviewer"),
        (PAUL, [WorkflowRole.OFFICER, WorkflowRole.REVIEWER], "not enrolled as reviewer"),
    ],
)
def test_keys_belong_to_enrolled_people(begun: World, tmp_path: Path, name: str, roles: Any, what: str) -> None:
    with acting_as("ortiz"), pytest.raises(BadInput, match=what):
        create_key(begun.workspace, name, roles, tmp_path / "key.pem", lambda: "ibex saiga marmot quoll")


def test_accounts_belong_to_enrolled_people(begun: World) -> None:
    with open_ledger(begun.workspace) as ledger:
        directory = Directory.of(ledger)
    assert account_holder(directory, "Mary Okafor", "okafor").id == MARY
    assert account_holder(directory, JAN, "jb").id == JAN
    for name, login in (("lise.sand", "sand"), (MARY, "mary"), (JAN, "okafor")):
        with pytest.raises(BadInput):
            account_holder(directory, name, login)


def test_an_enrolment_that_ended_takes_the_vote_away(asked: Callable[..., ReleaseAction]) -> None:
    place = asked(MARY).workspace
    with acting_as("ortiz"):
        end_enrolment(place, person(MARY), PAUL, clock=lambda: NOW)
    change(place, person(JAN, roles=(WorkflowRole.OFFICER,)))
    for by, login in ((MARY, "okafor"), ("Mary Okafor", "okafor"), (JAN, "brandt")):
        with acting_as(login), pytest.raises(BadInput, match=r"not enrolled as reviewer|name you as a reviewer"):
            cast_vote(asked(by), "approve")


def test_a_requester_who_is_enrolled_under_a_new_name_has_no_vote(asked: Callable[..., ReleaseAction]) -> None:
    place = asked(DANA).workspace
    with acting_as("ortiz"):
        end_enrolment(place, person(JAN), PAUL, clock=lambda: NOW)
    change(place, person(DANA, name="Jan Brandt", logins=("brandt",)))
    with acting_as("brandt"), pytest.raises(BadInput, match="may neither review nor override their own"):
        cast_vote(asked("Jan Brandt"), "approve")


def test_the_requester_and_officers_revoke_and_others_do_not(asked: Callable[..., ReleaseAction]) -> None:
    with acting_as("okafor"), pytest.raises(BadInput):
        revoke(asked(MARY))
    with acting_as("okafor"), pytest.raises(BadInput, match="this login is not one of"):
        revoke(asked(DANA))
    with acting_as("dwhitfield"):
        (standing,) = revoke(asked(DANA)).standings.values()
    assert "Dana Whitfield (requester)" in standing.why


@pytest.mark.parametrize(
    ("requested_by", "login", "what"),
    [
        ("lise.sand", "sand", "not enrolled as requester"),
        (MARY, "okafor", "not enrolled as requester"),
        (DANA, "okafor", "this login is not one of dana.whitfield"),
        (DANA, "somebody", "this login is not one of dana.whitfield"),
    ],
)
def test_a_request_comes_from_a_login_of_its_requester(begun: World, requested_by: str, login: str, what: str) -> None:
    begun.ask(requested_by=requested_by, policy={"review": REVIEW}, recipients=[UNIVERSITY])
    error = refused(begun, login)
    assert what in error.what
    assert error.where == "requested_by"
    assert "releasegate" in error.fix
    if login == "okafor" and requested_by == DANA:
        assert error.got == f"the login okafor, which is {MARY}'s"
        assert error.fix.startswith(f"{DANA} acts from a login of their own")


def test_a_person_without_a_login_is_told_how_to_get_one(asked: Callable[..., ReleaseAction]) -> None:
    """Whoever tries the gate alone acts for everybody from one login."""
    with acting_as("okafor"), pytest.raises(BadInput) as refused:
        cast_vote(asked(JAN), "approve")
    told = refused.value
    assert (told.expected, told.got) == (f"a login of {JAN}: none is enrolled", f"the login okafor, which is {MARY}'s")
    command = f"releasegate enrol person {JAN} --name 'Jan Brandt' --role reviewer --login LOGIN --as OFFICER"
    assert told.fix.endswith(f"any that is nobody else's, or one that an officer adds: {command}")


@pytest.mark.parametrize("name", ["Dana Whitfield, data steward", "Dana Whitfield", "D\u0430na"])
def test_a_request_names_an_id(begun: World, name: str) -> None:
    begun.ask(requested_by=name, policy={"review": REVIEW}, recipients=[UNIVERSITY])
    assert "requested_by" in refused(begun).where


@pytest.mark.parametrize(
    ("people", "where"),
    [
        ({"reviewers": [MARY, "Lise Sand"]}, "policy.review.reviewers"),
        ({"reviewers": [MARY, PAUL]}, "policy.review.reviewers"),
        ({"officers": [MARY]}, "policy.review.officers"),
    ],
)
def test_a_policy_names_enrolled_people(begun: World, people: dict[str, Any], where: str) -> None:
    begun.ask(requested_by=DANA, policy={"review": REVIEW | people}, recipients=[UNIVERSITY])
    policy = [one for one in items_of(begun.workspace, load_request(begun.request)) if isinstance(one, Policy)]
    with acting_as("ortiz"):
        enrol(begun.workspace, policy, PAUL, clock=lambda: NOW)
    assert refused(begun).where == where


@pytest.mark.parametrize(
    "name",
    ["Dana Whitfield", "Dr. Dana Whitfield", "Whitfield, Dana", "D. Whitfield", "Dána Whitfield", "Dana Whit-Field"],
)
def test_names_that_may_be_one_persons_are_not_enrolled(begun: World, name: str) -> None:
    other = EnrolledPerson(id="other", name=name, roles=(WorkflowRole.REVIEWER,))
    with pytest.raises(BadInput, match="the name may be another person's"):
        change(begun.workspace, other)


@pytest.mark.parametrize("name", ["Li\u0455e Sand", "Лise Sand"])
def test_a_name_has_one_alphabet(begun: World, name: str) -> None:
    with pytest.raises(BadInput, match="mixes letters"):
        change(begun.workspace, EnrolledPerson(id="other", name=name, roles=(WorkflowRole.REVIEWER,)))


def test_a_login_is_one_persons(begun: World) -> None:
    for login in ("okafor", "Okafor", "okafor (token)"):
        with pytest.raises(BadInput, match="another person is enrolled under this login"):
            change(begun.workspace, EnrolledPerson(id="other", name="Lise Sand", logins=(login,)))
