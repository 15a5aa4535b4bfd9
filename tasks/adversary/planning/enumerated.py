"""The adversary's factored Markov decision process, state by state (Xia et al. 2015, section 4).

Every reachable state of the eight variables is listed, with the transitions of Fig. 4 for each action; value iteration
solves it and eq. 5's Markov chain gives the probability of re-identification. Nothing is simplified, so it serves
groups of some dozens of people, and to check the solvers that are fast. It does not use what they rest on: closed
forms, clusters, or that V falls with the group size.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tasks.adversary.adversary import AdversaryProfile, Floats
from tasks.adversary.planning.belief import Belief, Beliefs, Integers, as_belief, checked_size
from tasks.core.errors import ParameterError

_TIE = 1e-12


class Action(IntEnum):
    """The four actions (Table 2), in the order in which ties are decided."""

    TERMINATE = 0
    EXPLOIT = 1
    LINK = 2
    ACCESS = 3


class State(NamedTuple):
    """The eight state variables (Table 1): t, d, p, s, a, l, g and r."""

    terminated: bool
    detected: bool
    penalties: int
    success: bool
    accessed: bool
    linked: bool
    group: int
    remaining: int


START = State(False, False, 0, False, False, False, 0, 0)
"""x_0: no action has been taken and the group size is not seen."""
OVER = State(True, False, 0, False, False, False, 0, 0)
"""All the states with t = T, which are absorbing and worth nothing, as one."""


def accessed(group: int) -> State:
    """The state in which the external data is available and the group size seen."""
    return State(False, False, 0, False, True, False, group, group)


def linked(group: int) -> State:
    """x_start: linked, and no exploit made (section 5.1.1)."""
    return accessed(group)._replace(linked=True)


@dataclass(frozen=True)
class Process:
    """The enumerated process: states by number, and the reward and transitions of each action."""

    profile: AdversaryProfile
    number: dict[State, int]
    """Number of each state; the states are in the order of their numbers."""
    rewards: Floats
    """Array of shape (n_states, 4): R(x, a) of eq. 2; −∞ where the action has not what it requires."""
    transitions: tuple[sparse.csr_array, ...]
    """Per action an array of shape (n_states, n_states); rows of an action that is not offered are empty."""


@dataclass(frozen=True)
class Plan:
    """An optimal plan: the value of each state, and the action to take in it."""

    process: Process
    values: Floats
    """V, array of shape (n_states,), in money."""
    actions: Integers
    """Array of shape (n_states,) of :class:`Action`."""
    sweeps: int
    """Sweeps of value iteration until the tolerance was met."""

    def value(self, state: State) -> float:
        """V of a state that was enumerated."""
        return float(self.values[self.process.number[state]])

    def action(self, state: State) -> Action:
        """The action taken in a state that was enumerated."""
        return Action(self.actions[self.process.number[state]])


@dataclass(frozen=True)
class Outcome:
    """Outcome of the plan for a target whose group has a certain size."""

    reidentification: float
    """P_reid (eq. 5)."""
    exploits: float
    """Expected number of exploits."""
    steps: int
    """t_max, time steps until every course of events is over."""


def enumerate_process(profile: AdversaryProfile, belief: Beliefs | Belief, actual_sizes: Iterable[int] = ()) -> Process:
    """List the reachable states with their rewards and transitions.

    Parameters
    ----------
    profile : AdversaryProfile
        The adversary's terms.
    belief : mapping, array-like or Belief
        Probability by group size, P(G_{r,De}); ``{g: 1.0}`` is the known group.
    actual_sizes : iterable of int
        Group sizes to be asked for, which the belief need not hold possible.

    Raises
    ------
    ParameterError
        If the belief is not a distribution, or a size is not a whole number from 0.

    Notes
    -----
    The order of events, which the paper leaves open: rewards are those of the current state, so gain and fine of an
    exploit come one step after it; p counts a fine one step after that; an action is offered only where it can change
    something (access before the data is available, link before linking, exploit as in section 4.4), since it would cost
    time and money otherwise; *t* is set by *terminate*, by s, and by l with r = 0.

    With ``confirmation`` κ < 1, s is a success that is recognized: it brings the gain and ends the attack. A candidate
    who was tried in vain stays possible with weight 1 − κ, so the next is the target with probability 1/(N − κj).
    """
    held = as_belief(belief)
    roots = [START, OVER, *(accessed(checked_size(size, "actual_sizes")) for size in actual_sizes)]
    rules = _Rules(profile, held)
    number: dict[State, int] = {}
    edges: list[list[tuple[int, int, float]]] = [[] for _ in Action]
    rewards: list[list[float]] = []
    waiting = list(dict.fromkeys(roots))
    number.update((state, place) for place, state in enumerate(waiting))
    for state in waiting:
        rewards.append([rules.reward(state, action) for action in Action])
        for action in Action:
            for follower, probability in rules.followers(state, action):
                if follower not in number:
                    number[follower] = len(waiting)
                    waiting.append(follower)
                edges[action].append((number[state], number[follower], probability))
    return Process(
        profile,
        number,
        np.array(rewards),
        tuple(_matrix(of_action, len(waiting)) for of_action in edges),
    )


class _Rules:
    """Rewards and transitions of one state (eq. 2 to 4, Fig. 4)."""

    def __init__(self, profile: AdversaryProfile, belief: Belief) -> None:
        self.profile = profile
        self.belief = belief
        self.limit = np.inf if profile.max_penalties is None else profile.max_penalties
        self.costs = {
            Action.TERMINATE: 0.0,
            Action.EXPLOIT: profile.exploit_cost,
            Action.LINK: profile.link_cost,
            Action.ACCESS: profile.access_cost,
        }

    def offered(self, state: State, action: Action) -> bool:
        if action is Action.TERMINATE:
            return True
        if state.terminated or state.success:
            return False
        if action is Action.ACCESS:
            return not state.accessed
        if action is Action.LINK:
            return state.accessed and not state.linked
        return state.linked and state.remaining > 0

    def fined(self, state: State) -> bool:
        return state.detected and state.penalties < self.limit

    def reward(self, state: State, action: Action) -> float:
        if not self.offered(state, action):
            return -np.inf
        if state.terminated:
            return 0.0
        gain = self.profile.gain if state.success else 0.0
        fine = self.profile.penalty if self.fined(state) else 0.0
        return gain - fine - self.costs[action]

    def followers(self, state: State, action: Action) -> Iterator[tuple[State, float]]:
        if not self.offered(state, action):
            return
        if action is Action.TERMINATE or state.terminated or state.success or (state.linked and state.remaining == 0):
            yield OVER, 1.0
            return
        later = state._replace(detected=False, penalties=state.penalties + self.fined(state))
        if action is Action.ACCESS:
            yield from self._groups(later)
        elif action is Action.LINK:
            yield later._replace(linked=True), 1.0
        else:
            yield from self._outcomes(state, later._replace(remaining=state.remaining - 1))

    def _groups(self, later: State) -> Iterator[tuple[State, float]]:
        for size, probability in zip(self.belief.sizes.tolist(), self.belief.probabilities.tolist(), strict=True):
            yield later._replace(accessed=True, group=size, remaining=size), probability
        left_out = 1 - float(self.belief.probabilities.sum())
        if left_out > 0:
            yield OVER, left_out

    def _outcomes(self, state: State, later: State) -> Iterator[tuple[State, float]]:
        tried = state.group - state.remaining
        kappa = self.profile.confirmation
        right = kappa / (state.group / self.profile.prior - kappa * tried)
        detected = float(self.profile.detection(tried))
        for success, of_success in ((True, right), (False, 1 - right)):
            for detection, of_detection in ((True, detected), (False, 1 - detected)):
                if of_success * of_detection > 0:
                    yield later._replace(success=success, detected=detection), of_success * of_detection


def value_iteration(process: Process, tolerance: float = 0.0) -> Plan:
    """Solve the process by sweeps over all states.

    Parameters
    ----------
    process : Process
        The enumerated process.
    tolerance : float
        Largest error of a value, as a share of the gain; at 0 the sweeps end when nothing changes any more.

    Raises
    ------
    ParameterError
        If the tolerance is less than 0.

    Notes
    -----
    The sweeps come to an end at tolerance 0 and without discount too: but for the end, no state is met twice, so after
    as many sweeps as the longest course of events has steps every value is exact. Between actions that are worth the
    same to 1e-12 of the gain, the first of :class:`Action` is taken.
    """
    if not tolerance >= 0:
        raise _refused("tolerance", "a number from 0", str(tolerance))
    discount = process.profile.discount
    gain = process.profile.gain
    least_change = tolerance * gain * (1 - discount) / discount
    values: Floats = np.zeros(len(process.number))
    sweeps, change = 0, np.inf
    while change > least_change:
        worth = _action_values(process, values)
        better = worth.max(axis=1)
        change = float(np.abs(better - values).max())
        values = better
        sweeps += 1
    worth = _action_values(process, values)
    actions = np.argmax(worth >= worth.max(axis=1, keepdims=True) - _TIE * gain, axis=1)
    return Plan(process, values, actions, sweeps)


def outcome(plan: Plan, actual_size: int) -> Outcome:
    """Follow the plan as a Markov chain from x_0, with the group size that is found (eq. 5).

    Parameters
    ----------
    plan : Plan
        The plan, made from the belief.
    actual_size : int
        g_{r,De}, which the belief or ``actual_sizes`` of the enumeration must hold.

    Raises
    ------
    ParameterError
        If the size was not enumerated.
    """
    number = plan.process.number
    if accessed(actual_size) not in number:
        raise _refused("actual_size", "a size that was enumerated", str(actual_size))
    chain = _chain(plan, actual_size)
    success = np.fromiter((state.success and not state.terminated for state in number), dtype=bool)
    exploiting = plan.actions == Action.EXPLOIT
    row: Floats = np.zeros(len(number))
    row[number[START]] = 1.0
    reidentification, exploits, steps = 0.0, 0.0, 0
    while row.any():
        reidentification += float(row[success].sum())
        exploits += float(row[exploiting].sum())
        row = row @ chain
        row[number[OVER]] = 0.0
        steps += 1
    return Outcome(reidentification, exploits, steps)


def _chain(plan: Plan, actual_size: int) -> sparse.csr_array:
    """M of eq. 5: the rows of the chosen actions, with the access leading to the actual size."""
    count = len(plan.values)
    chain = sparse.csr_array((count, count))
    for action in Action:
        chosen = plan.actions == action
        if action is Action.ACCESS:
            chosen[plan.process.number[START]] = False
        chain = chain + sparse.diags_array(chosen.astype(np.float64)) @ plan.process.transitions[action]
    if plan.action(START) is Action.ACCESS:
        place = (plan.process.number[START], plan.process.number[accessed(actual_size)])
        chain = chain + sparse.csr_array(([1.0], ([place[0]], [place[1]])), shape=(count, count))
    return sparse.csr_array(chain)


def _action_values(process: Process, values: Floats) -> Floats:
    expected = np.column_stack([matrix @ values for matrix in process.transitions])
    worth: NDArray[np.float64] = process.rewards + process.profile.discount * expected
    return worth


def _matrix(edges: list[tuple[int, int, float]], count: int) -> sparse.csr_array:
    table: Floats = np.array(edges, dtype=np.float64).reshape(-1, 3)
    places = (table[:, 0].astype(np.int64), table[:, 1].astype(np.int64))
    return sparse.csr_array((table[:, 2], places), shape=(count, count))


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "a parameter of the enumeration is outside its range",
        where=where,
        expected=expected,
        got=got,
        fix="correct it",
    )
