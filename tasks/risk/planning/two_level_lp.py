"""The adversary's plan by linear programming: the Two-level LP, and the plain LP that it replaces.

After Xia et al. 2015, section 5.1.1. Once the record is linked, the states of one group size form a *sink cluster*: it
is entered at x_start alone and never left. A cluster is a small linear program of its own, solved once a size; the
program of a record then holds what comes before (x_0 and, per size, the state in which the data is at hand), with
V(x_start) put in. This module knows neither the closed form nor value iteration; it checks both.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from ortools.linear_solver.python import model_builder_helper
from scipy import sparse

from tasks.errors import ParameterError, StageFailed
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.planning.belief import Belief, Beliefs, Integers, as_belief

_ZERO = 1e-11


class Engine(StrEnum):
    """What solves the linear programs; both are simplex codes that come with OR-Tools."""

    GLOP = "glop"
    HIGHS = "highs"


_SETTINGS = {
    Engine.GLOP: "primal_feasibility_tolerance: 1e-10 dual_feasibility_tolerance: 1e-10",
    # HiGHS drops coefficients below small_matrix_value without telling; 1e-9 by default, 1e-12 at the least.
    Engine.HIGHS: "output_flag=false,small_matrix_value=1e-12,"
    "primal_feasibility_tolerance=1e-10,dual_feasibility_tolerance=1e-10",
}


@dataclass(frozen=True)
class Program:
    """A Markov decision process as a linear program: least Σ V subject to V ≥ bounds and matrix · V ≥ required.

    An action that ends the process gives a bound, V(x) ≥ R(x, terminate); every other action a row,
    V(x) − γ Σ P(x' | x, a) V(x') ≥ R(x, a). Money is in units of the gain.
    """

    bounds: Floats
    """Array of shape (n_states,)."""
    matrix: sparse.csr_array
    """Array of shape (n_rows, n_states)."""
    required: Floats
    """Array of shape (n_rows,)."""

    def solved(self, engine: Engine) -> Floats:
        """V, array of shape (n_states,).

        Raises
        ------
        StageFailed
            If the solver does not report an optimum.
        """
        count = len(self.bounds)
        model: Any = model_builder_helper.ModelBuilderHelper()
        model.fill_model_from_sparse_data(
            self.bounds,
            np.full(count, np.inf),
            np.ones(count),
            self.required,
            np.full(len(self.required), np.inf),
            sparse.csr_matrix(self.matrix),
        )
        solver = model_builder_helper.ModelSolverHelper(engine.value)
        solver.set_solver_specific_parameters(_SETTINGS[engine])
        solver.solve(model)
        if not solver.has_solution() or solver.status() != model_builder_helper.SolveStatus.OPTIMAL:
            raise StageFailed(
                "a linear program of the adversary's plan was not solved",
                where=engine.value,
                expected="an optimum",
                got=str(solver.status()),
                fix="use the other solver, or state the adversary's terms in units nearer to each other",
            )
        return np.asarray(solver.variable_values(), dtype=np.float64)


class TwoLevelLP:
    """Plans for one adversary and any number of records; clusters that were solved are kept.

    Parameters
    ----------
    profile : AdversaryProfile
        The adversary's terms.
    engine : Engine
        What solves the linear programs.

    Notes
    -----
    Pruning: V(x_start) never rises with the group size, so sizes from the first with V = 0 on are worth nothing. Size 0
    is worth nothing either, and is not that first one. The paper prunes within a record, its sizes in ascending order;
    here a size beyond those that were solved is also preceded by double the largest of them, so that no cluster is
    more than twice as large as needed. Values below 1e-11 of the gain are taken for 0. HiGHS leaves out
    coefficients below 1e-12, hence detection probabilities of that size.
    """

    def __init__(self, profile: AdversaryProfile, engine: Engine = Engine.HIGHS) -> None:
        self.profile = profile
        self.engine = engine
        self._clusters: dict[int, _Cluster] = {}
        self._largest = 1
        self._worthless: int | None = None

    @property
    def clusters_solved(self) -> int:
        """Linear programs of the bottom level that were solved so far."""
        return len(self._clusters)

    def start_value(self, size: int) -> float:
        """V(x_start) of a group size, in money.

        Raises
        ------
        ParameterError
            If the size is negative.
        StageFailed
            If the linear program is not solved.
        """
        if size < 0:
            raise ParameterError(
                "a group size is negative",
                where="size",
                expected="a whole number from 0",
                got=str(size),
                fix="correct the size",
            )
        while self._worthless is None and 2 * self._largest < size:
            self._solved_value(2 * self._largest)
        if size == 0 or (self._worthless is not None and size >= self._worthless):
            return 0.0
        return self._solved_value(size)

    def value(self, belief: Beliefs | Belief) -> float:
        """V(x_0) of a record, in money: 0 if the adversary does not access the external data.

        Raises
        ------
        ParameterError
            If the belief is not a distribution over group sizes.
        StageFailed
            If a linear program is not solved.
        """
        held = as_belief(belief)
        starts = np.array([self.start_value(size) for size in held.sizes.tolist()])
        top = top_program(self.profile, held, starts)
        return float(top.solved(self.engine)[0]) * self.profile.gain

    def reidentification_probability(self, belief: Beliefs | Belief, actual_size: int) -> float:
        """P_reid of a record (eq. 5), by following the plan through the cluster of the actual group size."""
        start = self.start_value(actual_size)
        if self.value(belief) <= _ZERO * self.profile.gain:
            return 0.0
        if self.profile.discount * start - self.profile.link_cost <= _ZERO * self.profile.gain:
            return 0.0
        return self._cluster(actual_size).reidentification

    def _solved_value(self, size: int) -> float:
        value = self._cluster(size).start
        self._largest = max(self._largest, size)
        if value > _ZERO * self.profile.gain:
            return value
        self._worthless = size if self._worthless is None else min(size, self._worthless)
        return 0.0

    def _cluster(self, size: int) -> "_Cluster":
        if size not in self._clusters:
            self._clusters[size] = _solve_cluster(self.profile, size, self.engine)
        return self._clusters[size]


def plain_value(profile: AdversaryProfile, belief: Beliefs | Belief, engine: Engine = Engine.HIGHS) -> float:
    """V(x_0) of a record, in money, by one linear program over all its states.

    Raises
    ------
    ParameterError
        If the belief is not a distribution over group sizes.
    StageFailed
        If the linear program is not solved.
    """
    return float(plain_program(profile, as_belief(belief)).solved(engine)[0]) * profile.gain


def top_program(profile: AdversaryProfile, belief: Belief, starts: Floats) -> Program:
    """The top level: x_0, then per size of the belief the state in which the data is at hand.

    ``starts`` is V(x_start) in money, array of shape (n_sizes,); linking is a bound since its follower is known.
    """
    bounds = np.concatenate([[0.0], np.maximum(0.0, (profile.discount * starts - profile.link_cost) / profile.gain)])
    access = np.concatenate([[1.0], -profile.discount * belief.probabilities])
    return Program(bounds, sparse.csr_array(access[np.newaxis, :]), np.array([-profile.access_cost / profile.gain]))


def plain_program(profile: AdversaryProfile, belief: Belief) -> Program:
    """All states of a record: x_0, per size the state in which the data is at hand, then the clusters of all sizes."""
    top = top_program(profile, belief, np.zeros(len(belief.sizes)))
    clusters = [_cluster_program(profile, size).program for size in belief.sizes.tolist()]
    parts = [top, *clusters]
    blocks = sparse.block_diag([part.matrix for part in parts])
    sizes = np.arange(len(clusters))
    at_hand = 1 + sizes
    starts = np.cumsum([len(part.bounds) for part in parts])[:-1]
    ones = np.ones(len(clusters))
    links = sparse.coo_array(
        (
            np.concatenate([ones, -profile.discount * ones]),
            (np.tile(sizes, 2), np.concatenate([at_hand, starts])),
        ),
        shape=(len(clusters), blocks.shape[1]),
    )
    link_cost = np.full(len(clusters), -profile.link_cost / profile.gain)
    return Program(
        np.concatenate([part.bounds for part in parts]),
        sparse.csr_array(sparse.vstack([blocks, links])),
        np.concatenate([*(part.required for part in parts), link_cost]),
    )


@dataclass(frozen=True)
class _ClusterProgram:
    """The program of a cluster, and what is needed to follow a plan through it.

    States are numbered by [exploits made, fines counted, detected, success], x_start being 0; rows by
    [exploits made, fines counted, detected], all of them exploits.
    """

    program: Program
    follow: sparse.csr_array
    """Array of shape (n_rows, n_states): transition probabilities of the exploits."""
    origin: Integers
    """Array of shape (n_rows,): the state that each row's exploit is made in."""
    success: Floats
    """Array of shape (n_rows,): probability that the exploit succeeds."""


@dataclass(frozen=True)
class _Cluster:
    start: float
    reidentification: float


def _solve_cluster(profile: AdversaryProfile, size: int, engine: Engine) -> _Cluster:
    cluster = _cluster_program(profile, size)
    values = cluster.program.solved(engine)
    exploits = values[cluster.origin] > cluster.program.bounds[cluster.origin] + _ZERO
    chain = sparse.diags_array(exploits.astype(np.float64)) @ cluster.follow
    row: Floats = np.zeros(len(values))
    row[0] = 1.0
    reidentification = 0.0
    for _ in range(size):
        made = row[cluster.origin] * exploits
        reidentification += float(made @ cluster.success)
        row = row[cluster.origin] @ chain
    return _Cluster(float(values[0]) * profile.gain, reidentification)


def _cluster_program(profile: AdversaryProfile, size: int) -> _ClusterProgram:
    if size == 0:
        empty = sparse.csr_array((0, 1))
        return _ClusterProgram(
            Program(np.zeros(1), empty, np.zeros(0)), empty, np.zeros(0, dtype=np.int64), np.zeros(0)
        )
    # Without a limit the number of fines changes nothing, so it is not counted.
    limit = 0 if profile.max_penalties is None else min(profile.max_penalties, size)
    number = np.arange((size + 1) * (limit + 1) * 4).reshape(size + 1, limit + 1, 2, 2)
    made, fines, detected, success = (axis.ravel() for axis in np.indices(number.shape))
    finable = np.full(len(made), True) if profile.max_penalties is None else fines < profile.max_penalties
    bounds = (profile.gain * success - profile.penalty * (detected & finable)) / profile.gain
    origin = number[:size, :, :, 0].ravel()
    tried = made[origin]
    success_chance = profile.confirmation / (size / profile.prior - profile.confirmation * tried)
    noticed = profile.detection(tried)
    counted = np.minimum(fines[origin] + (detected[origin] & finable[origin]), limit)
    rows = np.arange(len(origin))
    follow = sparse.csr_array((len(rows), number.size))
    for of_success, chance_success in ((1, success_chance), (0, 1 - success_chance)):
        for of_detection, chance_detection in ((1, noticed), (0, 1 - noticed)):
            columns = number[tried + 1, counted, of_detection, of_success]
            follow = follow + sparse.csr_array(
                (chance_success * chance_detection, (rows, columns)), shape=(len(rows), number.size)
            )
    here = sparse.csr_array((np.ones(len(rows)), (rows, origin)), shape=follow.shape)
    required = bounds[origin] - profile.exploit_cost / profile.gain
    program = Program(bounds, sparse.csr_array(here - profile.discount * follow), required)
    return _ClusterProgram(program, follow, origin, success_chance)
