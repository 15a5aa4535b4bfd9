"""The adversary's factored Markov decision process, state by state (Xia et al. 2015, section 4).

Every reachable state of the eight variables is listed, with the transitions of Fig. 4 for each action; value iteration
solves it and eq. 5's Markov chain gives the probability of re-identification. Nothing is simplified, so it serves
groups of some dozens of people, and to check the fast solvers: it uses no closed form or cluster, nor that V falls with
the size.

The order of events, which the paper leaves open: rewards are those of the current state, so gain and fine of an exploit
come one step after it; p counts a fine one step after that; an action is offered only where it can change something
(access before the data is available, link before linking, exploit as in section 4.4); *t* is set by *terminate*, by s,
and by l with r = 0.

With ``confirmation`` κ < 1, s is a success that is recognized: it brings the gain and ends the attack. A candidate who
was tried in vain stays possible with weight 1 − κ, so the next is the target with probability 1/(N − κj).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from scipy import sparse

from tasks.adversary.group_sizes import Integers, SizeBelief
from tasks.adversary.profile import AdversaryProfile, Floats

_TIE = 1e-12


class Action(IntEnum):
    """The four actions (Table 2), in the order in which ties are decided."""

    TERMINATE = 0
    EXPLOIT = 1
    LINK = 2
    ACCESS = 3


class ProcessState(NamedTuple):
    """The eight state variables (Table 1): t, d, p, s, a, l, g and r."""

    terminated: bool
    detected: bool
    penalties: int
    success: bool
    accessed: bool
    linked: bool
    group: int
    remaining: int


START = ProcessState(False, False, 0, False, False, False, 0, 0)
"""x_0: no action has been taken and the group size is not seen."""
OVER = START._replace(terminated=True)
"""All the states with t = T, which are absorbing and worth nothing, as one."""


def accessed(group: int) -> ProcessState:
    """The state in which the external data is available and the group size seen."""
    return START._replace(accessed=True, group=group, remaining=group)


def linked(group: int) -> ProcessState:
    """x_start: linked, and no exploit made (section 5.1.1)."""
    return accessed(group)._replace(linked=True)


@dataclass(frozen=True)
class Process:
    """The enumerated process: states by number, and the reward and transitions of each action."""

    profile: AdversaryProfile
    number: dict[ProcessState, int]
    """Number of each state; the states are in the order of their numbers."""
    rewards: Floats
    """Array of shape (n_states, 4): R(x, a) of eq. 2; −∞ where the action is not offered."""
    transitions: tuple[sparse.csr_array, ...]
    """Per action an array of shape (n_states, n_states); rows of an action that is not offered are empty."""


@dataclass(frozen=True)
class ProcessPlan:
    """An optimal plan: the value of each state, and the action to take in it."""

    process: Process
    values: Floats
    """V, array of shape (n_states,), in money."""
    actions: Integers
    """Array of shape (n_states,) of :class:`Action`."""
    sweeps: int
    """Sweeps of value iteration until nothing changed."""

    def value(self, state: ProcessState) -> float:
        """V of a state that was enumerated."""
        return float(self.values[self.process.number[state]])

    def action(self, state: ProcessState) -> Action:
        """The action taken in a state that was enumerated."""
        return Action(self.actions[self.process.number[state]])


def enumerate_process(profile: AdversaryProfile, belief: SizeBelief, actual_sizes: Iterable[int] = ()) -> Process:
    """The reachable states with their rewards and transitions.

    ``belief``: P(G_{r,De}); ``actual_sizes``: group sizes to be asked for, which the belief need not hold possible.
    """
    waiting = list(dict.fromkeys([START, OVER, *map(accessed, actual_sizes)]))
    number = {state: place for place, state in enumerate(waiting)}
    rewards: list[list[float]] = []
    edges: list[list[tuple[int, int, float]]] = [[] for _ in Action]
    for state in waiting:
        rewards.append([-np.inf] * len(Action))
        for action, reward, followers in _moves(profile, belief, state):
            rewards[-1][action] = reward
            for follower, probability in followers:
                if follower not in number:
                    number[follower] = len(waiting)
                    waiting.append(follower)
                edges[action].append((number[state], number[follower], probability))
    shape, matrices = (len(waiting), len(waiting)), []
    for of_action in edges:
        table = np.array(of_action, dtype=np.float64).reshape(-1, 3)
        places = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
        matrices.append(sparse.csr_array((table[:, 2], places), shape=shape))
    return Process(profile, number, np.array(rewards), tuple(matrices))


def _moves(
    profile: AdversaryProfile, belief: SizeBelief, state: ProcessState
) -> Iterator[tuple[Action, float, list[tuple[ProcessState, float]]]]:
    """The actions that a state offers, with reward and followers (eq. 2 to 4, Fig. 4)."""
    fined = state.detected and (profile.max_penalties is None or state.penalties < profile.max_penalties)
    reward = profile.gain * state.success - profile.penalty * fined
    yield Action.TERMINATE, reward, [(OVER, 1.0)]
    later = state._replace(detected=False, penalties=state.penalties + fined)
    if state.terminated or state.success:
        return
    if not state.accessed:
        held = zip(belief.sizes.tolist(), belief.probabilities.tolist(), strict=True)
        groups = [(later._replace(accessed=True, group=size, remaining=size), chance) for size, chance in held]
        left_out = 1 - float(belief.probabilities.sum())
        yield Action.ACCESS, reward - profile.access_cost, [*groups, *([(OVER, left_out)] if left_out > 0 else [])]
    elif not state.linked:
        yield Action.LINK, reward - profile.link_cost, [(later._replace(linked=True), 1.0)]
    elif state.remaining > 0:
        tried, kappa = state.group - state.remaining, profile.confirmation
        right, noticed = kappa / (state.group / profile.prior - kappa * tried), float(profile.detection(tried))
        after = later._replace(remaining=state.remaining - 1)
        outcomes = [
            (after._replace(success=success, detected=detected), of_success * of_detection)
            for success, of_success in ((True, right), (False, 1 - right))
            for detected, of_detection in ((True, noticed), (False, 1 - noticed))
            if of_success * of_detection > 0
        ]
        yield Action.EXPLOIT, reward - profile.exploit_cost, outcomes


def value_iteration(process: Process) -> ProcessPlan:
    """Solve the process by sweeps over all states, until nothing changes.

    No state but the end is met twice, so the sweeps come to an end without discount too, and every value is exact.
    Between actions that are worth the same to 1e-12 of the gain, the first of :class:`Action` is taken.
    """
    values, sweeps, changed = np.zeros(len(process.number)), 0, True
    while changed:
        expected = np.column_stack([matrix @ values for matrix in process.transitions])
        worth = process.rewards + process.profile.discount * expected
        changed = bool((worth.max(axis=1) != values).any())
        values, sweeps = worth.max(axis=1), sweeps + 1
    tie = _TIE * process.profile.gain
    return ProcessPlan(process, values, np.argmax(worth >= values[:, None] - tie, axis=1), sweeps)


def reidentification(plan: ProcessPlan, actual_size: int) -> float:
    """P_reid (eq. 5): the plan as a Markov chain from x_0, with the group size that is found, which was enumerated."""
    number, count = plan.process.number, len(plan.values)
    chain = sparse.csr_array((count, count))
    for action in Action:
        chosen = plan.actions == action
        chosen[number[START]] &= action is not Action.ACCESS
        chain = chain + sparse.diags_array(chosen.astype(np.float64)) @ plan.process.transitions[action]
    if plan.action(START) is Action.ACCESS:
        access = ([number[START]], [number[accessed(actual_size)]])
        chain = chain + sparse.csr_array(([1.0], access), shape=(count, count))
    success = np.fromiter((state.success for state in number), dtype=bool)
    row: Floats = np.zeros(count)
    found = 0.0
    row[number[START]] = 1.0
    while row.any():
        found += float(row[success].sum())
        row = np.asarray(row @ chain)
        row[number[OVER]] = 0.0
    return found
