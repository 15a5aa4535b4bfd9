"""A release that takes the place of another, and the days on which a release ends."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import flows.gate.publishing
from flows.actions.overruling import revoke
from flows.actions.reviewing import overview
from flows.gate.outcome import Outcome
from flows.releases import earlier
from flows.releases.cases import ReleaseAction
from flows.releases.earlier import what_is_superseded
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.core.errors import RequestError, StageFailed, TamperingFound
from tasks.decision.states import State
from tasks.ledger.entry import Entry, Event
from tasks.request.load import load_request
from tests.support.acting import cast_vote, reopen
from tests.support.postgres import Server, running_server
from tests.support.world import NOW, UNIVERSITY, World, make_world, recipient

REVIEWER, OFFICER = "M. Okafor", "P. Officer"
LATER = NOW + timedelta(days=1)
CLINIC = recipient("clinic")
REVIEWED = {"review": {"required": 1, "reviewers": [REVIEWER], "officers": [OFFICER]}}
LAST = datetime(2027, 3, 2, 23, 59, 59, tzinfo=UTC)
"""The last second of the last day: a decision of 2 March 2026 holds for 365 days more."""
NEXT = LAST + timedelta(seconds=1)


@dataclass(frozen=True)
class Office:
    """A workspace in which several requests are released."""

    world: World
    ids: tuple[str, ...] = ()
    """Of what was decided: a first release, and two that would take its place."""

    def ask(self, engine: Any, title: str, at: datetime = NOW, **changes: Any) -> Outcome:
        self.world.ask(title=title, **changes)
        return self.again(engine, at)

    def again(self, engine: Any, at: datetime = LATER) -> Outcome:
        return self.world.run(engine, clock=lambda: at)

    def first_again(self, engine: Any, at: datetime = LATER) -> Outcome:
        return self.ask(engine, "first", at, recipients=[UNIVERSITY, CLINIC], policy=REVIEWED)

    def entries(self) -> tuple[Entry, ...]:
        with open_ledger(self.world.workspace) as ledger:
            ledger.verify()
            return ledger.entries()

    def events(self) -> list[str]:
        return [entry.event.value for entry in self.entries()]

    def vote(self, release: str, vote: Any = "approve", at: datetime = LATER, who: str = "university") -> Any:
        place = self.world.workspace
        return cast_vote(
            ReleaseAction(release, place, by=REVIEWER, reason="seen", recipient=who, clock=lambda: at), vote
        )

    def revoke(self, release: str, at: datetime = LATER, who: str | None = None) -> Any:
        return revoke(
            ReleaseAction(release, self.world.workspace, by=OFFICER, reason="lost", recipient=who, clock=lambda: at)
        )

    def states(self, release: str, at: datetime = LATER) -> dict[str, State]:
        """As ``review`` tells them."""
        shown = overview(release, self.world.workspace, clock=lambda: at)
        return {one.case.recipient: one.case.standing.state for one in shown}

    def sealed(self, release: str) -> bool:
        return self.world.workspace.pending(release, "university").exists()

    def refused(self, at: datetime = LATER, name: str = "0" * 64, **changes: Any) -> RequestError:
        """How a request is refused for what it supersedes."""
        loaded = load_request(self.world.ask(title="another", policy=REVIEWED, **changes))
        with open_ledger(self.world.workspace) as ledger, pytest.raises(RequestError) as caught:
            what_is_superseded(self.world.workspace, ledger, loaded, name, at)
        return caught.value


@pytest.fixture(scope="module")
def decided(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Office:
    """Three releases that await review, two of which would take the place of the first; each test works on a copy."""
    office = Office(make_world(tmp_path_factory.mktemp("office") / "world"))
    first = office.ask(engine, "first", recipients=[UNIVERSITY, CLINIC], policy=REVIEWED)
    second, third = (
        office.ask(engine, title, supersedes=first.release_id, policy=REVIEWED) for title in ("second", "third")
    )
    assert [record.supersedes for record in (*first.records, *second.records)] == [None, None, first.release_id]
    return Office(office.world, (first.release_id, second.release_id, third.release_id))


@pytest.fixture
def office(decided: Office, tmp_path: Path) -> Office:
    shutil.copytree(decided.world.folder.parent, tmp_path / "copy")
    return Office(World(tmp_path / "copy" / "world"), decided.ids)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def test_the_earlier_release_ends_with_the_vote_that_releases_the_later_one(office: Office, engine: Any) -> None:
    first, unaware, _ = office.ids
    assert office.vote(first).standing.state is State.RELEASED
    with pytest.raises(StageFailed, match="another copy was delivered to the same party in the meantime"):
        office.vote(unaware)
    second = office.ask(engine, "aware", LATER, recipients=[UNIVERSITY], policy=REVIEWED, supersedes=first).release_id
    assert office.vote(second).standing.state is State.RELEASED
    assert office.events()[-5:] == ["voted", "reviewed", "approved", "released", "superseded"]
    last = office.entries()[-1]
    assert (last.release_id, last.recipient, last.body) == (first, "university", {"by_release": second})
    assert office.states(first) == {"university": State.SUPERSEDED, "clinic": State.AWAITING_REVIEW}
    again = office.first_again(engine)
    assert again.standings["university"].state is State.SUPERSEDED
    assert again.lapsed == {"university": f"Superseded by the release {second}."}
    assert (again.bundle / "delivery/university/data.csv").is_file(), "evidence of what has left"
    assert office.revoke(first, who="university").standings["university"].state is State.REVOKED
    shutil.rmtree(again.bundle)
    with pytest.raises(StageFailed, match="was superseded, and is not decided again"):
        office.first_again(engine)


def test_a_release_that_waits_ends_too_with_its_votes_and_its_file(office: Office) -> None:
    first, second, _ = office.ids
    assert office.sealed(first)
    office.vote(second)
    assert not office.sealed(first)
    with pytest.raises(StageFailed, match="superseded and takes no votes"):
        office.vote(first)


def test_the_review_of_each_release_names_the_other_as_such(office: Office, engine: Any, releasegate: Any) -> None:
    first, *_ = office.ids
    office.vote(first)
    second = office.ask(engine, "aware", LATER, recipients=[UNIVERSITY], policy=REVIEWED, supersedes=first).release_id
    office.vote(second)
    place = ("--workspace", office.world.workspace.root, "--recipient", "university")
    for release, other in ((first, second), (second, first)):
        told = releasegate("review", release, *place).out
        assert f"  other      {other}, " in told
        assert "earlier" not in told


def test_what_was_rejected_supersedes_nothing(office: Office) -> None:
    first, second, _ = office.ids
    assert office.vote(second, "reject").standing.state is State.BLOCKED
    assert office.states(first)["university"] is State.AWAITING_REVIEW


def test_of_two_that_would_take_one_place_the_second_is_refused(office: Office) -> None:
    _, second, third = office.ids
    office.vote(second)
    before = office.events()
    with pytest.raises(StageFailed, match="was superseded in the meantime"):
        office.vote(third)
    assert office.events() == before, "nothing of the transaction is left"
    assert office.states(third) == {"university": State.AWAITING_REVIEW}
    assert not list((office.world.workspace.bundle(third) / "delivery").iterdir())


def test_a_place_that_was_revoked_meanwhile_is_not_taken(office: Office) -> None:
    first, second, _ = office.ids
    office.revoke(first)
    with pytest.raises(StageFailed, match="was revoked in the meantime"):
        office.vote(second)
    assert office.revoke(second).standings["university"].state is State.REVOKED


def test_what_was_rejected_meanwhile_leaves_its_place(office: Office) -> None:
    first, second, _ = office.ids
    office.vote(first, "reject")
    assert office.vote(second).standing.state is State.RELEASED
    assert "superseded" not in office.events()
    assert office.states(first)["university"] is State.BLOCKED


def test_what_cannot_be_superseded(office: Office) -> None:
    first, second, _ = office.ids
    assert "none of that name" in str(office.refused(supersedes="f" * 64))
    assert "the release itself" in str(office.refused(supersedes=first, name=first))
    assert "one to other recipients" in str(office.refused(supersedes=first, recipients=[recipient("registry")]))
    office.vote(first, "reject")
    assert "blocked for all of them" in str(office.refused(supersedes=first))
    office.vote(second)
    assert "blocked for all of them" in str(office.refused(supersedes=first)), "it had left its place"
    office.revoke(second)
    assert "one that was revoked for university" in str(office.refused(supersedes=second))


def test_a_chain_is_continued_at_its_end(office: Office) -> None:
    first, second, _ = office.ids
    office.vote(second)
    refused = office.refused(supersedes=first)
    assert refused.fix == f"supersede {second}"
    with pytest.raises(RequestError, match="and no other release"):
        load_request(office.world.ask(supersedes=first, continues=second))
    loaded = load_request(office.world.ask(supersedes=second, recipients=[UNIVERSITY, CLINIC]))
    with open_ledger(office.world.workspace) as ledger:
        found = what_is_superseded(office.world.workspace, ledger, loaded, "0" * 64, LATER)
    assert found == {"university": second}, "the clinic had nothing of it"


def test_a_version_that_continues_another_supersedes_it_as_far_as_it_can(office: Office) -> None:
    first, second, _ = office.ids
    loaded = load_request(office.world.ask(continues=first, recipients=[UNIVERSITY, CLINIC]))
    office.vote(second)
    with open_ledger(office.world.workspace) as ledger:
        found = what_is_superseded(office.world.workspace, ledger, loaded, "0" * 64, LATER)
    assert found == {"clinic": first}


ALTERED = {"missing": "no file", "garbled": "no valid decision record", "another's": "the decision of another release"}


def alter(office: Office, how: str) -> Path:
    """Alter the decision file of the first release; returns its path."""
    path = office.world.workspace.bundle(office.ids[0]) / "decision" / "university.json"
    other = path.with_name("clinic.json").read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes(other if how == "another's" else other[:-9])
    return path


@pytest.mark.parametrize("how", ALTERED)
def test_no_vote_takes_the_place_of_a_release_whose_decision_was_altered(office: Office, how: str) -> None:
    second = office.ids[1]
    path, before = alter(office, how), office.events()
    with pytest.raises(TamperingFound) as caught:
        office.vote(second)
    assert caught.value.where == str(path)
    assert ALTERED[how] in caught.value.got
    assert office.events() == before, "nothing of the transaction is left"
    assert office.states(second) == {"university": State.AWAITING_REVIEW}


def test_no_decision_takes_the_place_of_a_release_whose_decision_was_altered(office: Office, engine: Any) -> None:
    paths: list[Path] = []

    def supersede(*arguments: Any) -> None:
        paths.append(alter(office, "garbled"))
        earlier.supersede(*arguments)

    office.world.ask(title="fourth", supersedes=office.ids[0])
    office.world.enrol(lambda: LATER)
    before = office.events()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "supersede", supersede)
        with pytest.raises(TamperingFound) as caught:
            office.again(engine)
    assert caught.value.where == str(paths[0])
    assert office.events() == [*before, "requested", "failed"], "nothing of the transaction is left"


class Killed(BaseException):
    """Stands for the end of the process at this point."""


def killed(*_: object, **__: object) -> None:
    raise Killed


def test_a_crash_after_the_vote_leaves_nothing_that_could_still_be_delivered(office: Office) -> None:
    first, second, _ = office.ids
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flows.actions.reviewing.finish_additions", killed)
        with pytest.raises(Killed):
            office.vote(second)
    assert office.events()[-2:] == ["released", "superseded"]
    assert office.sealed(first)
    assert office.states(first)["university"] is State.SUPERSEDED
    assert not office.sealed(first), "the next command that looks takes it away"
    assert office.states(second) == {"university": State.RELEASED}
    assert (office.world.workspace.bundle(second) / "delivery/university/data.csv").is_file()
    assert office.events().count("superseded") == 1


@pytest.mark.slow
def test_a_crash_of_the_gate_supersedes_once_or_not_at_all(office: Office, engine: Any) -> None:
    first = office.ids[0]
    office.world.ask(title="fourth", supersedes=first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "supersede", killed)
        with pytest.raises(Killed):
            office.again(engine)
    assert office.states(first)["university"] is State.AWAITING_REVIEW
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flows.gate.publishing, "publish", killed)
        with pytest.raises(Killed):
            office.again(engine)
    assert office.states(first)["university"] is State.SUPERSEDED
    outcome = office.again(engine)
    assert outcome.repeated
    assert outcome.standings["university"].state is State.RELEASED
    assert office.events().count("superseded") == 1


@pytest.mark.parametrize("command", ["release", "show", "vote", "revoke"])
def test_an_expiry_is_recorded_by_whoever_looks_first(office: Office, engine: Any, command: str) -> None:
    second = office.ids[1]
    office.world.ask(title="second", supersedes=office.ids[0], policy=REVIEWED)
    assert office.states(second, LAST) == {"university": State.AWAITING_REVIEW}
    assert office.again(engine, LAST).lapsed == {}
    assert "expired" not in office.events()
    after = State.EXPIRED
    if command == "release":
        assert office.again(engine, NEXT).standings["university"].state is State.EXPIRED
    elif command == "show":
        assert office.states(second, NEXT) == {"university": State.EXPIRED}
    elif command == "vote":
        with pytest.raises(StageFailed, match="expired and takes no votes"):
            office.vote(second, at=NEXT)
    else:
        after = State.REVOKED
        assert office.revoke(second, NEXT).standings["university"].state is after
    (entry,) = (entry for entry in office.entries() if entry.event is Event.EXPIRED)
    assert (entry.release_id, entry.body, entry.at) == (second, {"valid_until": "2027-03-02"}, NEXT)
    assert not office.sealed(second)
    assert office.again(engine, NEXT).standings["university"].state is after
    assert office.events().count("expired") == 1
    assert office.again(engine, LAST).standings["university"].state is after, "nor by a clock that is set back"


def test_a_vote_counts_on_the_last_day_and_not_on_the_next(office: Office, engine: Any) -> None:
    first, second, _ = office.ids
    assert office.vote(second, at=LAST).standing.state is State.RELEASED
    assert office.states(second, NEXT) == {"university": State.EXPIRED}
    delivered = office.world.workspace.bundle(second) / "delivery/university/data.csv"
    assert delivered.is_file(), "an expiry condemns no copy that has left"
    assert office.first_again(engine, NEXT).lapsed == {
        "university": f"Superseded by the release {second}.",
        "clinic": "The decision was valid until 2027-03-02.",
    }
    shutil.rmtree(office.world.workspace.bundle(first))
    with pytest.raises(StageFailed, match="not decided again"):
        office.first_again(engine, NEXT)


def test_days_are_those_of_utc_wherever_the_clock_is(office: Office) -> None:
    second = office.ids[1]
    east, west = (timezone(timedelta(hours=hours)) for hours in (14, -11))
    assert office.states(second, LAST.astimezone(east)) == {"university": State.AWAITING_REVIEW}
    assert office.states(second, NEXT.astimezone(west)) == {"university": State.EXPIRED}


def test_a_rejected_release_is_not_reopened_after_its_last_day(office: Office) -> None:
    second = office.ids[1]
    office.vote(second, "reject")
    assert office.sealed(second)
    with pytest.raises(StageFailed, match="last day of this release has passed"):
        reopen(ReleaseAction(second, office.world.workspace, by=OFFICER, reason="amended", clock=lambda: NEXT))
    assert not office.sealed(second)


@pytest.mark.slow
def test_no_decision_outlives_its_agreement_and_what_follows_supersedes_it(
    engine: Any, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the ledger in PostgreSQL: an agreement that ends today, its last second, the next day, and a renewal."""
    monkeypatch.setenv(VARIABLE, server.new_database())
    office = Office(make_world(tmp_path / "world"))
    first = office.ask(engine, "first", recipients=[recipient("university", expires="2026-03-02")])
    assert first.standings["university"].state is State.RELEASED
    assert first.records[0].valid_until == NOW.date()
    midnight = datetime(2026, 3, 3, tzinfo=UTC)
    assert office.again(engine, midnight - timedelta(seconds=1)).lapsed == {}
    second = office.ask(engine, "second", midnight, supersedes=first.release_id, policy=REVIEWED)
    assert second.records[0].supersedes == first.release_id
    assert "expired" not in office.events(), "nobody has looked at the first one yet"
    office.vote(second.release_id, at=midnight)
    assert office.events()[-6:] == ["voted", "reviewed", "approved", "released", "expired", "superseded"]
    assert office.states(first.release_id, midnight) == {"university": State.SUPERSEDED}
    assert office.states(second.release_id, NEXT + timedelta(days=1)) == {"university": State.EXPIRED}
    assert office.events()[-1] == "expired"
