"""What a careless or malicious requester does with files while the gate works: refused, or as if never done."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from flows.workspace.ledger import open_ledger
from tasks.core.errors import StageFailed, WorkspaceError
from tasks.decision.record import Verdict
from tasks.ledger.entry import Event
from tests.attacks.exchanges import BLOCKED, HARMLESS, REFUSED, quickly
from tests.attacks.openings import LINK, STAYS, WAITING, attacks, enrol_while, grow, put
from tests.attacks.scenes import REGISTER, VARIANTS, Scene
from tests.support.engines import in_process
from tests.support.world import LAPSED, NOW, make_world

ONCE_WAITED = [("data.csv", kind, frozenset({n})) for kind in WAITING for n in (1, 2)] + [
    ("request.yaml", "a pipe", frozenset({1}))
]
"""What the gate has waited for without end."""
_MOST = 20
"""Attacks on a file that are played, spread over all of them."""


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with quickly():
        yield


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("attacks"), VARIANTS["plain"])


@pytest.mark.parametrize(("name", "kind", "at"), ONCE_WAITED)
def test_what_the_gate_once_waited_for_is_refused(plain: Scene, name: str, kind: str, at: frozenset[int]) -> None:
    assert put(plain, name, kind, at)[0] == REFUSED


@pytest.mark.parametrize("at", [{2}, {2, 5}, {STAYS, 2}, {4, 5}])
def test_a_link_that_is_put_in_place_once_the_path_is_checked_leads_nowhere(plain: Scene, at: set[int]) -> None:
    """It was followed: the file of somebody else was hashed and copied in place of the requester's own."""
    assert put(plain, "data.csv", LINK, frozenset(at))[0] == REFUSED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["request.yaml", "data.csv", "population.csv", "age.csv", REGISTER])
def test_a_part_of_all_that_may_be_in_a_files_place_comes_to_nothing(plain: Scene, name: str) -> None:
    every = list(attacks(plain, name))
    told = {(kind, at): put(plain, name, kind, at) for kind, at in every[:: 1 + len(every) // _MOST]}
    assert {one: outcome for one, outcome in told.items() if outcome[0] not in HARMLESS - {BLOCKED}} == {}


def test_a_file_that_grows_as_fast_as_it_is_read_is_refused(plain: Scene) -> None:
    outcome, why = grow(plain, "data.csv")
    assert (outcome, "changed" in why) == (REFUSED, True)


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("kind", [*WAITING, LINK])
def test_only_a_file_that_is_a_requesters_own_is_enrolled(tmp_path: Path, kind: str, at: int) -> None:
    world = make_world(tmp_path / "world")
    error = enrol_while(world, kind, at)
    assert isinstance(error, WorkspaceError)
    assert "does not change during the run" in error.expected
    with open_ledger(world.workspace) as ledger:
        assert list(ledger.entries()) == []


@pytest.mark.slow
@pytest.mark.parametrize("readings", range(1, 8))
def test_a_clock_that_is_set_back_decides_nothing(tmp_path: Path, readings: int) -> None:
    """An agreement that has ended would be in force again; the first reading is that of the world's enrolment."""
    world, told = make_world(tmp_path / "world"), count()
    world.ask(recipients=[LAPSED])
    verdicts = [Verdict.BLOCKED]
    with suppress(StageFailed, WorkspaceError):
        outcome = world.run(in_process(tmp_path), clock=lambda: NOW - timedelta(200 if next(told) > readings else 0))
        verdicts = [record.decision for record in outcome.records]
    assert verdicts == [Verdict.BLOCKED]
    with open_ledger(world.workspace) as ledger:
        failed = [entry.body["what"] for entry in ledger.entries(event=Event.FAILED)]
    assert failed in ([], ["the clock was set back while the gate was at work"])
    assert list(world.workspace.releases.glob("*/delivery/*")) == []
