"""``python -m tests.crashes.service --times 20 --seed 1``: kill the service or one of its parts at random moments.

Requests are submitted one after the other, some of them to be reviewed; at a random moment of each, SIGKILL strikes
the process of its run, the runner, the Prefect server, the service with all of them, or the PostgreSQL server that
keeps the ledger, where there is one to start. Then nothing is done but what a supervisor does: the service, which ends
when its runner or server does, and PostgreSQL are started again. In the end every request must have one verdict.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flows.queue.queue import Queue, RequestState
from flows.releases.cases import ReleaseAction, cases_of
from flows.workspace.actor import utc_now
from flows.workspace.folders import open_workspace
from flows.workspace.ledger import VARIABLE, open_ledger
from tasks.core.errors import ReleasegateError
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tests.support.acting import cast_vote
from tests.support.postgres import Server, binaries, running_server
from tests.support.search import files_holding_each
from tests.support.serving import TOKEN, Serving, kill
from tests.support.world import ID_MARK, SENSITIVE_MARK, World, make_world

REVIEWERS = ("M. Okafor", "J. Brandt")
_REVIEW = {"review": {"required": 2, "reviewers": list(REVIEWERS)}}
_QUICK = {"linkage": {"learned": False, "individuals": 100}}
VICTIMS = ("run", "runner", "Prefect server", "service", "PostgreSQL")
_RUNNER = "the runner was started"
_LONGEST_DELAY = 2.0
_LONGEST_OUTAGE = 5.0
_STEPS = (
    "request",
    "run",
    "prepared.npz",
    "masked.npz",
    "generalization-*.npz",
    "identity-*.json",
    "decision-*.json",
    "vote",
)
_ONCE = (Event.REQUESTED, Event.DECIDED, Event.PUBLISHED, Event.RELEASED)


class Wrong(Exception):
    """Something does not hold."""


@dataclass
class Told:
    """What a campaign came to."""

    kills: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    """Moments that had passed, or victims that were gone already or not there yet."""
    seconds_to_finish: list[float] = field(default_factory=list)
    """From a kill to the request's verdict."""


@dataclass
class Campaign:
    """One service, and what is done to it."""

    serving: Serving
    world: World
    generator: np.random.Generator
    database: Server | None = None
    told: Told = field(default_factory=Told)

    def strike(self, number: int) -> str:
        """Submit a request, kill something, and wait for the verdict; what was done."""
        reviewed = bool(self.generator.random() < 0.4)
        name = self._hand_in(number, reviewed=reviewed)
        step = _STEPS[int(self.generator.integers(len(_STEPS) - (not reviewed)))]
        victim = VICTIMS[int(self.generator.integers(len(VICTIMS) - (self.database is None)))]
        delay = float(self.generator.uniform(0, _LONGEST_DELAY))
        if step == "vote":
            self.serving.wait_for(name, RequestState.AWAITING_REVIEW.value)
            self._vote(name, REVIEWERS[0])
        else:
            self._reach(name, step)
        time.sleep(delay)
        killed = self._kill(victim)
        self.told.kills[f"{victim}: {step}"] += killed
        self.told.missed += not killed
        again = time.monotonic()
        if reviewed:
            self._review(name)
        self.serving.wait_for(name, RequestState.DECIDED.value)
        self.told.seconds_to_finish.append(time.monotonic() - again)
        self._check(name)
        return f"{victim} {delay:.2f} s after “{step}”" + ("" if killed else " (not there)")

    def _hand_in(self, number: int, *, reviewed: bool) -> str:
        content = self.world.ask(title=f"Visits {number}", policy=_QUICK | (_REVIEW if reviewed else {})).read_bytes()
        status, _, body = self.serving.ask("/api/requests", content=content, token=TOKEN)
        if status != 202:
            raise Wrong(f"the request was answered by {status}: {body.decode()}")
        (entry,) = (one for one in Queue(self.world.workspace).open_entries() if one.is_open)
        return entry.id

    def _reach(self, name: str, step: str) -> None:
        """Wait for the moment, or for the verdict that was faster."""
        folder = self.world.workspace.run(name)
        reached: dict[str, Callable[[], Any]] = {
            "request": lambda: True,
            "run": lambda: Queue(self.world.workspace).is_claimed(name),
        }
        there = reached.get(step, lambda: list(folder.glob(step)))
        self.serving.wait(lambda: there() or not self._is_under_way(name), step)

    def _is_under_way(self, name: str) -> bool:
        entry = Queue(self.world.workspace).get(name)
        return entry is not None and entry.state is RequestState.ACCEPTED

    def _kill(self, victim: str) -> bool:
        if victim == "service":
            self.serving.kill()
            time.sleep(float(self.generator.uniform(0, 1)))
            self.serving.start()
            return True
        if victim == "PostgreSQL" and self.database is not None:
            self.database.kill()
            time.sleep(float(self.generator.uniform(0, _LONGEST_OUTAGE)))
            self.database.start()
            return True
        if victim == "run":
            found = self._runs()
            for process in found:
                kill(process)
            return bool(found)
        event = "the Prefect server answers" if victim == "Prefect server" else _RUNNER
        if self.serving.told(event) is None:
            return False
        kill(self.serving.process_of(event))
        if self.serving.wait_for_end() != 1:
            raise Wrong(f"the service has not ended with an error after its {victim}")
        self.serving.start()
        return True

    def _runs(self) -> list[int]:
        """Processes of runs; none where the service has just begun."""
        return [] if self.serving.told(_RUNNER) is None else self.serving.runs()

    def _review(self, name: str) -> None:
        self.serving.wait_for(name, RequestState.AWAITING_REVIEW.value, RequestState.DECIDED.value)
        for reviewer in REVIEWERS:
            entry = Queue(self.world.workspace).get(name)
            if (
                entry is not None
                and entry.state is RequestState.AWAITING_REVIEW
                and not self._has_voted(name, reviewer)
            ):
                self._vote(name, reviewer)

    def _has_voted(self, name: str, reviewer: str) -> bool:
        with open_ledger(self.world.workspace) as ledger:
            return any(one.body["reviewer"] == reviewer for one in ledger.entries(name, event=Event.VOTED))

    def _vote(self, name: str, reviewer: str) -> None:
        cast_vote(ReleaseAction(name, self.world.workspace, by=reviewer, reason="Figures recounted."), "approve")

    def _check(self, name: str) -> None:
        workspace = self.world.workspace
        with open_ledger(workspace) as ledger:
            ledger.verify()
            found = Counter(entry.event for entry in ledger.entries(release_id=name))
            wrong = {event.value: found[event] for event in _ONCE if found[event] != 1}
            if wrong or found[Event.FAILED] or found[Event.REFUSED]:
                raise Wrong(f"the ledger holds {dict(found)}")
            (case,) = cases_of(verify_bundle(workspace.bundle(name), ledger), ledger, utc_now()).values()
        if case.standing.state.value != "released":
            raise Wrong(f"it stands as {case.standing.state.value}")

    def check_at_the_end(self) -> None:
        """Nothing is left but bundles."""
        workspace = self.world.workspace
        if self.serving.stop() != 0:
            raise Wrong("the service did not end well")
        self.serving.wait_until_nothing_is_left()
        if Queue(workspace).open_entries():
            raise Wrong("a request is left without a verdict")
        left = [path.name for path in (workspace.private / "runs").iterdir() if path.suffix != ".lock"]
        left += [path.name for path in workspace.staging.iterdir()]
        if left:
            raise Wrong(f"files of runs are left: {left}")
        found = files_holding_each(workspace.root, (ID_MARK, SENSITIVE_MARK))
        outside = [name for name in found[SENSITIVE_MARK] if "/delivery/university/" not in name]
        if found[ID_MARK] or outside:
            raise Wrong(f"values in {found[ID_MARK] + outside}")


def main() -> int:
    """Run a campaign; 1 if something did not hold, the folder then being left to be looked at."""
    parser = argparse.ArgumentParser(prog="python -m tests.crashes.service", description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="kills (20)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="releasegate-outages-"))
    with ExitStack() as stack:
        database = stack.enter_context(running_server()) if binaries() is not None else None
        variables = {} if database is None else {VARIABLE: database.new_database()}
        os.environ.update(variables)
        world = make_world(folder / "world")
        open_workspace(world.workspace.root)
        for policy in (_QUICK, _QUICK | _REVIEW):
            world.ask(policy=policy)
            world.enrol()
        (folder / "inbox").mkdir()
        serving = Serving(world.workspace, folder / "inbox", (world.folder,), variables)
        return _told(Campaign(serving, world, np.random.default_rng(given.seed), database), folder, given)


def _told(campaign: Campaign, folder: Path, given: argparse.Namespace) -> int:
    told, number, wrong = campaign.told, 0, ""
    campaign.serving.start()
    try:
        while told.kills.total() < given.times and number < 2 * given.times + 5:
            number += 1
            print(f"{told.kills.total()}/{given.times}: {campaign.strike(number)}", flush=True)
        campaign.check_at_the_end()
    except (Wrong, AssertionError, ReleasegateError) as error:
        wrong = f"{type(error).__name__}: {error}"
        traceback.print_exc()
        campaign.serving.kill()
    seconds = sorted(told.seconds_to_finish) or [0.0]
    print(f"kills               {told.kills.total()} of {given.times}, seed {given.seed}; not there {told.missed}")
    for moment, count in sorted(told.kills.items()):
        print(f"  {count:3}  {moment}")
    print(f"requests            {number}, each with one verdict" if not wrong else f"WRONG: {wrong}")
    print(f"to finish           {seconds[len(seconds) // 2]:.1f} s in the middle, {seconds[-1]:.1f} s at most")
    if wrong:
        print(f"left to be looked at: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0 if told.kills.total() >= given.times else 1


if __name__ == "__main__":
    sys.exit(main())
