"""SIGKILL at random moments of real releases and votes, each followed by the same command to its end.

A kill strikes some time after a step has begun, both drawn at random from a seed. A command that is faster than its
kill does not count; what must hold is checked after it all the same.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from flows.workspace.folders import Workspace
from tasks.ledger.entry import Event
from tests.crashes.cases import CASES, REVIEWERS, Case
from tests.crashes.checks import Memory, Wrong, after_end, after_kill, at_the_end, check
from tests.support.forked_commands import Commands, Running, forked_commands, until
from tests.support.world import World

_LONGEST_DELAY = 1.5
Say = Callable[[str], None]


@dataclass
class Told:
    """What a campaign came to."""

    kills: Counter[str] = field(default_factory=Counter)
    """By case and step."""
    too_late: int = 0
    """Commands that ended before they were killed."""
    seconds_to_finish: list[float] = field(default_factory=list)
    """Of the command that was run again."""
    wrong: list[str] = field(default_factory=list)
    bundles: int = 0
    seconds: float = 0.0


def campaign(
    folder: Path,
    times: int,
    seed: int,
    *,
    cases: Sequence[str] = tuple(CASES),
    most_seconds: float = 7200.0,
    say: Say = lambda _: None,
) -> Told:
    """Kill so many times, or as often as the time allows.

    Parameters
    ----------
    folder : Path
        Empty; holds the workspace and the worlds.
    times : int
        Kills, spread over the cases in turn.
    seed : int
    cases : sequence of str
    most_seconds : float
        No further command is begun after so long.
    """
    told, started = Told(), time.monotonic()
    generator = np.random.default_rng(seed)
    leftovers = folder / "tmp"
    leftovers.mkdir(parents=True)
    with forked_commands(own_workers=True, TMPDIR=str(leftovers)) as commands:
        memory = Memory(Workspace(folder / "workspace"))
        number = 0
        while told.kills.total() < times and number < 2 * times + 10 and time.monotonic() - started < most_seconds:
            case = CASES[cases[number % len(cases)]]
            world = case.write(folder / "worlds" / f"{number}", number)
            one = _Kill(commands, memory, world, case, generator, leftovers, told)
            try:
                one.strike()
                found = "as it must be"
            except (Wrong, TimeoutError) as error:
                found = f"WRONG: {error}"
                told.wrong.append(f"number {number}, {case.name}, {one.moment}: {error}")
            say(f"{told.kills.total()}/{times}: {case.name}, {one.moment}: {found}")
            number += 1
        try:
            told.bundles = at_the_end(memory)
        except Wrong as error:
            told.wrong.append(f"at the end: {error}")
    told.seconds = time.monotonic() - started
    return told


@dataclass
class _Kill:
    """One kill, from the request to the checks of its outcome."""

    commands: Commands
    memory: Memory
    world: World
    case: Case
    generator: np.random.Generator
    leftovers: Path
    told: Told
    moment: str = ""

    def strike(self) -> None:
        """Kill the release, or its last vote."""
        if self.case.votes and self.generator.random() < 0.5:
            self._release(self.case.code)
            release = self._name()
            self._vote(REVIEWERS[0], release)
            self._kill_vote(release)
            again = time.monotonic()
            if not self._is_released(release):
                self._vote(REVIEWERS[1], release)
            self._release(0)
        else:
            self._kill_release()
            again = time.monotonic()
            self._release(self.case.code)
            if self.case.votes:
                for reviewer in REVIEWERS:
                    self._vote(reviewer, self._name())
        self.told.seconds_to_finish.append(time.monotonic() - again)
        after_end(self.memory, self.case, self._name(), self.leftovers)

    def _kill_release(self) -> None:
        step = self.case.steps[int(self.generator.integers(len(self.case.steps)))]
        running = self.commands.start(*self._line())
        self._strike(running, f"{step}", lambda: f"· {step}" in running.said())
        after_kill(self.memory, None)

    def _kill_vote(self, release: str) -> None:
        private = self.memory.workspace.private
        votes, additions = private / "votes" / release, self.memory.workspace.additions(release)
        points: dict[str, Callable[[], bool]] = {
            "the vote begins": lambda: True,
            "the vote is sealed": lambda: len([path for path in votes.rglob("*") if path.is_file()]) > 1,
            "the delivery is opened": additions.is_dir,
        }
        name = list(points)[int(self.generator.integers(len(points)))]
        running = self.commands.start(*self._ballot(REVIEWERS[1], release))
        self._strike(running, name, points[name])
        after_kill(self.memory, release)

    def _strike(self, running: Running, name: str, reached: Callable[[], bool]) -> None:
        delay = float(self.generator.uniform(0, _LONGEST_DELAY))
        self.moment = f"{delay:.2f} s after “{name}”"
        check(until(reached, running), f"it ended before “{name}”:\n{running.said()}")
        running.ended.wait(delay)
        if running.kill():
            self.told.kills[f"{self.case.name}: {name}"] += 1
        else:
            self.told.too_late += 1

    def _line(self) -> list[str]:
        return ["release", str(self.world.request), "--workspace", str(self.memory.workspace.root)]

    def _release(self, code: int) -> None:
        done = self.commands.run(*self._line())
        check(done.code == code, f"the release ended with {done.code} in place of {code}:\n{done.said()}")

    def _ballot(self, reviewer: str, release: str) -> list[str]:
        words = ("--vote", "approve", "--as", reviewer, "--reason", "Figures recounted.")
        return ["review", release, *words, "--workspace", str(self.memory.workspace.root)]

    def _vote(self, reviewer: str, release: str) -> None:
        done = self.commands.run(*self._ballot(reviewer, release))
        check(done.code in (0, 4), f"the vote ended with {done.code}:\n{done.said()}")

    def _is_released(self, release: str) -> bool:
        found = [entry.event for entry in self.memory.entries() if entry.release_id == release]
        return Event.RELEASED in found

    def _name(self) -> str:
        """Id of the release: that of the last request."""
        (*_, last) = (entry for entry in self.memory.entries() if entry.event is Event.REQUESTED)
        return str(last.release_id)
