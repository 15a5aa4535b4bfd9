"""Enrolments: a request is decided by rules and counts that an officer has enrolled, and by no others."""

import json
import logging
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows.gate.release import run_release
from flows.library.enrolment import end_enrolment, enrol, first_enrolment, item_of, items_of
from flows.people.signing import create_key
from flows.workspace.actor import acting_as
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import open_ledger
from tasks.core.canonical import digest
from tasks.core.errors import BadInput, TamperingFound
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import Directory, EnrolledPerson, EnrolledPopulation, EnrolmentFact
from tasks.ledger.entry import Event
from tasks.request.load import load_request
from tasks.request.policy import Policy
from tests.support.enrolled import but_enrolments
from tests.support.world import NOW, QUASI_IDENTIFIERS, QUICK_LINKAGE, World, population_rows, write_table

STEWARD = "a.steward"
OFFICER = "olga.fischer"
LAX = [{"measure": "transparent.maximum_risk", "at_most": 1, "because": "no bound"}]
FORM = {"id": "standard", "version": "1", "linkage": QUICK_LINKAGE}


@pytest.fixture
def begun(world: World) -> World:
    """A workspace that was begun with the world's own request."""
    with open_ledger(open_workspace(world.workspace.root), create=True) as ledger:
        first_enrolment(world.workspace, ledger, items_of(world.workspace, load_request(world.request)), lambda: NOW)
    return world


def no_engine(_home: Path, _results: Path) -> Any:
    pytest.fail("a stage was run for a request that names nothing enrolled")


def refusal(world: World, *, enrol: bool = False) -> BadInput:
    """The refusal of the world's request, which the ledger records and which leaves nothing."""
    with pytest.raises(BadInput) as refused:
        run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=no_engine, enrol=enrol)
    with open_ledger(world.workspace) as ledger:
        last = but_enrolments(ledger)[-1]
    asked = load_request(world.request).request
    whom = {
        "title": asked.title,
        "recipients": [one.id for one in asked.recipients],
        "requested_by": asked.requested_by,
    }
    assert last.event is Event.REFUSED
    body = dict(last.body)
    assert re.fullmatch("[0-9a-f]{64}", body.pop("request_id", "0" * 64)), "the release that it would have been"
    assert body == refused.value.fields() | whom
    assert not list(world.workspace.releases.iterdir())
    return refused.value


def lenient(world: World) -> None:
    world.ask(policy=FORM | {"gates": LAX, "validation": {"patterns": []}})


def multiplied(world: World) -> None:
    rows = tuple(row | {"count": str(1000 * int(row["count"]))} for row in population_rows())
    write_table(world.population, rows, (*QUASI_IDENTIFIERS, "count"))


def another_column(world: World) -> None:
    """The file is the enrolled one; its ages pass for numbers of people."""
    world.ask(population={"count": "age"})


def another_source(world: World) -> None:
    world.ask(population={"source": "Census 2030"})


def a_register(world: World) -> None:
    shutil.copyfile(world.population, world.folder / "register.csv")
    (world.folder / "register.csv").open("a").write("20,F,37201,0\n")
    world.ask(external_data={"path": "register.csv", "source": "drawn"})


def of_no_policy(world: World) -> None:
    world.ask(policy={"version": "2"})


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lenient, "the policy is not the one that is enrolled"),
        (of_no_policy, "the policy is not enrolled"),
        (multiplied, "the population is not enrolled"),
        (another_column, "the population is not described as it was enrolled"),
        (another_source, "the population is not described as it was enrolled"),
        (a_register, "the external register is not enrolled"),
    ],
)
@pytest.mark.parametrize("flag", [False, True])
def test_what_is_not_enrolled_decides_nothing(
    spoil: Callable[[World], None], what: str, flag: bool, begun: World
) -> None:
    """Nor does ``--enrol`` help a requester in a workspace that was begun."""
    spoil(begun)
    assert refusal(begun, enrol=flag).what == what


def test_a_workspace_without_enrolments_releases_nothing_and_the_message_names_the_command(world: World) -> None:
    open_ledger(open_workspace(world.workspace.root), create=True).close()
    assert "releasegate enrol request" in refusal(world).fix


def test_the_first_enrolment_is_recorded_as_the_first_with_the_login(begun: World) -> None:
    with open_ledger(begun.workspace) as ledger:
        (entry,) = ledger.entries(event=Event.ENROLLED)
        steward = Directory.of(ledger).person("A. Steward")
    assert (entry.body["first"], entry.body["by"]) == (True, None)
    assert steward == EnrolledPerson(
        id=STEWARD,
        name=STEWARD,
        roles=(WorkflowRole.REQUESTER, WorkflowRole.OFFICER),
        logins=(entry.actor,),
    )


def another_policy(world: World, version: str = "2") -> Policy:
    world.ask(policy=FORM | {"version": version, "gates": LAX})
    return load_request(world.request).request.policy


@pytest.fixture
def with_officer(begun: World) -> World:
    """A second officer is enrolled: the steward asks for releases, and sets no terms of their own."""
    olga = EnrolledPerson(id=OFFICER, name="Olga Fischer", roles=(WorkflowRole.OFFICER,))
    enrol(begun.workspace, [olga], STEWARD, clock=lambda: NOW)
    return begun


def test_an_officer_enrols_a_policy_and_ends_it(with_officer: World, engine: Any) -> None:
    world, item = with_officer, another_policy(with_officer)
    with acting_as("fischer"):
        enrol(world.workspace, [item], OFFICER, clock=lambda: NOW)
    made = run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=engine)
    policy = made.records[0].policy
    assert policy.sha256 == digest(item)
    assert policy.enrolled == EnrolmentFact(by="Olga Fischer", officer_id=OFFICER, at=NOW)
    population = made.records[0].population.enrolled
    assert population == EnrolmentFact(by=None, officer_id=None, at=NOW)
    end_enrolment(world.workspace, item_of(item), STEWARD, clock=lambda: NOW)
    # What was decided under it stays as it was decided; a new request is refused.
    again = run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=no_engine)
    assert again.repeated
    world.ask(policy=FORM | {"version": "2", "gates": LAX}, title="Another")
    with pytest.raises(BadInput, match="the policy is not enrolled"):
        run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=no_engine)


def test_who_asks_does_not_set_the_terms(with_officer: World, engine: Any) -> None:
    """An officer who is a requester too could enrol a policy and ask under it."""
    world, item = with_officer, another_policy(with_officer)
    enrol(world.workspace, [item], STEWARD, clock=lambda: NOW)
    refused = refusal(world)
    assert refused.what == "nobody but the requester has enrolled the policy"
    assert refused.where.startswith(f"{world.request}:")
    with acting_as("fischer"):
        enrol(world.workspace, [item], OFFICER, clock=lambda: NOW)
    made = run_release(world.request, world.workspace.root, clock=lambda: NOW, engine=engine)
    assert made.records[0].policy.enrolled == EnrolmentFact(by="Olga Fischer", officer_id=OFFICER, at=NOW)


def test_nor_under_a_name_that_the_same_enrolment_gives_up(with_officer: World) -> None:
    item = another_policy(with_officer)
    with open_ledger(with_officer.workspace) as ledger:
        steward = Directory.of(ledger).person(STEWARD)
    assert steward is not None
    enrol(
        with_officer.workspace, [steward.model_copy(update={"name": "Anna Steward"}), item], STEWARD, clock=lambda: NOW
    )
    assert refusal(with_officer).what == "nobody but the requester has enrolled the policy"


def test_nor_is_the_population_the_requesters_own(with_officer: World) -> None:
    multiplied(with_officer)
    loaded = load_request(with_officer.request)
    own = [one for one in items_of(with_officer.workspace, loaded) if isinstance(one, EnrolledPopulation)]
    enrol(with_officer.workspace, own, STEWARD, clock=lambda: NOW)
    assert refusal(with_officer).what == "nobody but the requester has enrolled the population"


def test_a_version_is_one_policy_for_good(begun: World) -> None:
    first, second = another_policy(begun), another_policy(begun, "1")
    with pytest.raises(BadInput, match="another policy is or was enrolled"):
        enrol(begun.workspace, [second], STEWARD, clock=lambda: NOW)
    enrol(begun.workspace, [first], STEWARD, clock=lambda: NOW)
    end_enrolment(begun.workspace, item_of(first), STEWARD, clock=lambda: NOW)
    with pytest.raises(BadInput, match="another policy is or was enrolled"):
        enrol(
            begun.workspace, [second.model_copy(update={"version": "2", "small_cell": 5})], STEWARD, clock=lambda: NOW
        )


@pytest.mark.parametrize(
    ("who", "login", "what"),
    [
        ("nobody", None, "without a responsible officer"),
        ("requester", "requester", "without a responsible officer"),
        (STEWARD, "requester", "login is not one of"),
        (STEWARD, "somebody", "login is not one of"),
    ],
)
def test_who_is_no_officer_enrols_nothing(who: str, login: str | None, what: str, begun: World) -> None:
    person = EnrolledPerson(id="requester", name="R.", roles=(WorkflowRole.REQUESTER,), logins=("requester",))
    enrol(begun.workspace, [person], STEWARD, clock=lambda: NOW)
    with acting_as(login or "somebody"), pytest.raises(BadInput, match=what):
        enrol(begun.workspace, [another_policy(begun)], who, clock=lambda: NOW)


def test_an_officer_with_a_key_signs(begun: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEASEGATE_KEY_PASSPHRASE", "a passphrase of the tests")
    key = tmp_path / "key.pem"
    create_key(begun.workspace, "A. Steward", [WorkflowRole.OFFICER], key, str, clock=lambda: NOW)
    with pytest.raises(BadInput, match="private key"):
        enrol(begun.workspace, [another_policy(begun)], STEWARD, tmp_path / "none.pem", clock=lambda: NOW)
    with acting_as("somebody"):  # the signature shows who it is
        enrol(begun.workspace, [another_policy(begun)], STEWARD, key, clock=lambda: NOW)
    with open_ledger(begun.workspace) as ledger:
        assert ledger.entries(event=Event.ENROLLED)[-1].signer == STEWARD
        ledger.verify()


def test_an_officer_is_always_left(begun: World) -> None:
    with open_ledger(begun.workspace) as ledger:
        steward = Directory.of(ledger).officer(STEWARD)
    with pytest.raises(BadInput, match="no officer would be left"):
        end_enrolment(begun.workspace, steward, STEWARD, clock=lambda: NOW)
    with pytest.raises(BadInput, match="no officer would be left"):
        enrol(begun.workspace, [steward.model_copy(update={"roles": ()})], STEWARD, clock=lambda: NOW)


@pytest.mark.parametrize("taken", [{"name": "a steward"}, {"logins": ("somebody", "own")}])
def test_names_and_logins_are_of_one_person(taken: dict[str, Any], begun: World) -> None:
    person = EnrolledPerson(id="other", name="Another", roles=(WorkflowRole.REVIEWER,), logins=("own",))
    enrol(begun.workspace, [person], STEWARD, clock=lambda: NOW)
    second = EnrolledPerson(id="second", name="Second", roles=(WorkflowRole.REVIEWER,)).model_copy(update=taken)
    with pytest.raises(BadInput, match=r"another person"):
        enrol(begun.workspace, [second], STEWARD, clock=lambda: NOW)


def test_an_enrolment_that_no_officer_made_is_tampering(begun: World) -> None:
    """An entry written past the gate."""
    body = {"items": [item_of(another_policy(begun)).model_dump(mode="json")], "by": None, "first": True}
    with open_ledger(begun.workspace) as ledger:
        ledger.append(Event.ENROLLED, release_id=None, recipient=None, actor="x", body=body, at=NOW)
    with pytest.raises(TamperingFound, match="enrolled in this workspace already"):
        run_release(begun.request, begun.workspace.root, clock=lambda: NOW, engine=no_engine)


def test_the_command(world: World, releasegate: Any) -> None:
    place = ("--workspace", world.workspace.root, "--json")
    made = releasegate("enrol", "request", world.request, *place)
    assert [one["kind"] for one in made.document["enrolled"]] == ["policy", "population", "person"]
    assert releasegate("enrol", "request", world.request, *place).code == 2
    another_policy(world)
    for words in (
        ("policy", world.request),
        ("population", world.population, "--source", "again"),
        ("person", "okafor", "--name", "Mary Okafor", "--role", "reviewer", "--login", "okafor"),
    ):
        assert releasegate("enrol", *words, "--as", "A. Steward", *place).code == 0
    assert releasegate("enrol", "person", "Ä", "--name", "x", "--role", "officer", "--as", STEWARD, *place).code == 2
    assert releasegate("enrol", "end", "policy", "standard/1", "--as", STEWARD, *place).code == 0
    assert releasegate("enrol", "end", "policy", "standard/1", "--as", STEWARD, *place).code == 2
    listed = releasegate("enrol", "list", *place).document["enrolled"]
    assert [one.get("version") or one.get("source") or one["id"] for one in listed] == ["again", STEWARD, "2", "okafor"]
    assert "from “again”" in releasegate("enrol", "list", *place[:2]).out
    again = ("enrol", "population", world.population, "--as", "A. Steward", *place[:2], "--source")
    assert "was enrolled already, on " in " ".join(releasegate(*again, "again").out.split())
    told = " ".join(releasegate(*again, "once more").out.split())
    assert re.search("replaces the enrolment of [0-9-]{10}: [0-9,]+ people in column “count”, from “again”", told)
    assert "was enrolled already" in releasegate("enrol", "policy", world.request, "--as", STEWARD, *place[:2]).out


def test_a_first_enrolment_lists_what_it_enrols_and_who_has_no_login(world: World, releasegate: Any) -> None:
    world.ask(policy={"review": {"reviewers": ["Mary Okafor"], "officers": ["paul.ortiz"]}})
    told = releasegate("enrol", "request", world.request, "--workspace", world.workspace.root)
    released = releasegate("release", world.request, "--enrol", "--workspace", world.folder / "second")
    assert released.code == 0
    assert released.out.startswith(told.out)
    command = "enrol person mary.okafor --name 'Mary Okafor' --role reviewer --login LOGIN --as paul.ortiz"
    for shown in (told, released):
        assert "no login is enrolled for mary.okafor, paul.ortiz, who may act" in " ".join(shown.err.split())
        assert command in " ".join(shown.err.split())


def test_a_release_from_another_folder_begins_no_workspace(
    begun: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second ledger would know nothing of earlier copies."""
    elsewhere = begun.folder.parent / "elsewhere" / "below"
    elsewhere.mkdir(parents=True)
    monkeypatch.delenv("RELEASEGATE_WORKSPACE", raising=False)
    monkeypatch.chdir(elsewhere)
    assert [one["id"] for one in releasegate("enrol", "list", "--json").document["enrolled"][:1]] == ["standard"]
    shutil.move(begun.workspace.root, begun.folder / "workspace")  # no longer above
    for words in (
        ("release", begun.request),
        ("release", begun.request, "--workspace=named"),  # in one word, so that the tests enrol nothing
        ("key", "create", "Ana", "--role", "officer"),
        ("account", "add", "ana", "--person", "Ana", "--role", "officer", "--by-proxy"),
        ("serve",),
    ):
        told = releasegate(*words)
        assert (told.code, "there is no workspace" in told.err) == (2, True), told
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("named", ["option", "variable"])
def test_a_service_takes_a_workspace_by_its_name_in_the_current_folder(
    named: str, begun: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("releasegate")  # the service sets its own up
    for name, value in (("handlers", [*log.handlers]), ("level", log.level), ("propagate", log.propagate)):
        monkeypatch.setattr(log, name, value)
    shutil.move(begun.workspace.root, begun.folder / "workspace")
    monkeypatch.chdir(begun.folder)
    monkeypatch.delenv("RELEASEGATE_WORKSPACE", raising=False)
    if named == "variable":
        monkeypatch.setenv("RELEASEGATE_WORKSPACE", "workspace")
    told = releasegate("serve", "--inbox", "none", *(["--workspace", "workspace"] if named == "option" else []))
    assert (told.code, "there is no such folder" in told.err) == (2, True), told


def by_name(world: World, **changes: Any) -> None:
    """The request names its policy in place of the policy itself."""
    world.ask(policy="standard/1", **changes)


@pytest.mark.slow
def test_a_request_may_name_its_policy(begun: World, engine: Any, releasegate: Any) -> None:
    by_name(begun)
    place = ("--workspace", begun.workspace.root, "--json")
    assert releasegate("check", begun.request, *place).code == 0
    (alone,) = releasegate("assess", "combined", begun.request, *place).document["recipients"]
    assert alone == "university"
    made = run_release(begun.request, begun.workspace.root, clock=lambda: NOW, engine=engine)
    assert (made.records[0].policy.id, made.records[0].decision.value) == ("standard", "approved")
    again = run_release(begun.request, begun.workspace.root, clock=lambda: NOW, engine=no_engine)
    assert (again.repeated, again.release_id) == (True, made.release_id)
    for words in (("verify", made.bundle), ("reassess", made.release_id)):
        assert releasegate(*words, *place).code == 0, words
    # The enrolment of its policy ends: what was decided can still be explained.
    enrol(begun.workspace, [another_policy(begun)], STEWARD)
    assert releasegate("enrol", "end", "policy", "standard/1", "--as", STEWARD, *place).code == 0
    by_name(begun)
    assert releasegate("explain", made.release_id, *place).code == 0
    by_name(begun, title="Another")
    assert refusal_of(begun) == "the policy is not enrolled"


def refusal_of(world: World) -> str:
    with pytest.raises(BadInput) as refused:
        run_release(world.request, world.workspace.root, engine=no_engine)
    return refused.value.what


def test_a_policy_that_is_named_needs_its_workspace(begun: World, releasegate: Any) -> None:
    by_name(begun)
    told = releasegate("check", begun.request, "--workspace", begun.folder)
    assert (told.code, "there is no workspace" in told.err, "--workspace" in told.err) == (2, True, True)
    with pytest.raises(BadInput, match="no workspace is given"):
        load_request(begun.request)


def test_the_first_enrolment_needs_the_policy_itself(world: World, releasegate: Any) -> None:
    """There is no circle: one message led to the other."""
    by_name(world)
    place = ("--workspace", world.folder / "new")
    for words in (("enrol", "request", world.request), ("release", world.request, "--enrol")):
        told = releasegate(*words, *place)
        assert (told.code, "the first enrolment needs the policy written out in the request" in told.err) == (2, True)
    told = releasegate("enrol", "list", "--workspace", world.folder / "none")
    assert "with the policy written out in the request" in told.err


def test_the_file_of_a_policy_is_the_one_that_was_enrolled(begun: World) -> None:
    by_name(begun)
    (path,) = (begun.workspace.root / "policies").iterdir()
    assert path.name == "standard@1.yaml"
    policy = json.loads(path.read_bytes())
    path.write_text(json.dumps(policy | {"gates": LAX}))
    with pytest.raises(TamperingFound, match="not the one that was enrolled"):
        run_release(begun.request, begun.workspace.root, clock=lambda: NOW, engine=no_engine)


def test_a_population_with_fewer_people_than_records_is_refused(world: World, engine: Any) -> None:
    """Though it is enrolled."""
    write_table(
        world.population,
        tuple(row | {"count": "1" if number % 3 else "0"} for number, row in enumerate(population_rows())),
        (*QUASI_IDENTIFIERS, "count"),
    )
    with pytest.raises(BadInput, match="more records than people"):
        world.run(engine)
