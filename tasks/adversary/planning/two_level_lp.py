"""The adversary's plan by linear programming: the Two-level LP (Xia et al. 2015, section 5.1.1).

Once the record is linked, the states of one group size form a *sink cluster*: it is entered at x_start alone and never
left. A cluster is a small linear program, solved once a size; the program of a record holds what comes before (x_0 and,
per size, the state in which the data is available), with V(x_start) put in. It uses neither the closed form nor value
iteration.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.linear_solver.python import model_builder_helper
from scipy import sparse

from tasks.adversary.group_sizes import Integers, SizeBelief
from tasks.adversary.profile import AdversaryProfile, Floats
from tasks.core.errors import StageFailed

_ZERO = 1e-11


_SETTINGS = (
    # HiGHS drops coefficients below small_matrix_value without telling; 1e-9 by default, 1e-12 at the least.
    "output_flag=false,small_matrix_value=1e-12,primal_feasibility_tolerance=1e-10,dual_feasibility_tolerance=1e-10"
)


@dataclass(frozen=True)
class Program:
    """A Markov decision process as a linear program: least Σ V subject to one condition a state and action.

    *terminate* gives V(x) ≥ R(x, terminate), a bound; every other action a row,
    V(x) − γ Σ P(x' | x, a) V(x') ≥ R(x, a) = R(x, terminate) − C_a. Money is in units of the gain. ``bounds`` has shape
    (n_states,); of each row ``origin`` is the state in which its action is taken, ``follow``, (n_rows, n_states), where
    it leads, and ``costs`` is C_a. ``discount`` is γ.
    """

    bounds: Floats
    origin: Integers
    follow: sparse.csr_array
    costs: Floats
    discount: float

    def solved(self) -> Floats:
        """V, shape (n_states,); raises ``StageFailed`` if the solver does not report an optimum.

        The solver is given V − bounds, what is won by not ending the process: fines, which may be large, drop out.
        """
        count, rows = len(self.bounds), len(self.origin)
        here = sparse.csr_array((np.ones(rows), (np.arange(rows), self.origin)), shape=(rows, count))
        model: Any = model_builder_helper.ModelBuilderHelper()
        model.fill_model_from_sparse_data(
            np.zeros(count),
            np.full(count, np.inf),
            np.ones(count),
            self.discount * (self.follow @ self.bounds) - self.costs,
            np.full(rows, np.inf),
            sparse.csr_matrix(here - self.discount * self.follow),
        )
        solver = model_builder_helper.ModelSolverHelper("highs")
        solver.set_solver_specific_parameters(_SETTINGS)
        solver.solve(model)
        if not solver.has_solution() or solver.status() != model_builder_helper.SolveStatus.OPTIMAL:
            raise StageFailed(
                "a linear program of the adversary's plan was not solved",
                where="HiGHS",
                expected="an optimum",
                got=str(solver.status()),
                fix="state the adversary's terms in units nearer to each other",
            )
        return self.bounds + np.asarray(solver.variable_values(), dtype=np.float64)


class TwoLevelLP:
    """Plans for one adversary and any number of records; clusters that were solved are kept.

    Pruning: V(x_start) never rises with the group size, so sizes from the first with V = 0 on are worth nothing; size 0
    is worth nothing too. The paper prunes within a record, its sizes ascending; here a size beyond those solved is also
    preceded by double the largest of them, so that no cluster is more than twice as large as needed. Values below 1e-11
    of the gain are taken for 0; HiGHS leaves out coefficients below 1e-12, hence detection probabilities of that size.
    """

    def __init__(self, profile: AdversaryProfile) -> None:
        self.profile = profile
        self._clusters: dict[int, _Cluster] = {}
        self._largest = 1
        self._worthless: int | None = None
        self._top_variables = 0

    @property
    def clusters_solved(self) -> int:
        """Linear programs of the bottom level that were solved so far."""
        return len(self._clusters)

    @property
    def variables(self) -> int:
        """Variables of all linear programs that were solved so far, those of records included."""
        return self._top_variables + sum(cluster.variables for cluster in self._clusters.values())

    def start_value(self, size: int) -> float:
        """V(x_start) of a group size, in money."""
        while self._worthless is None and 2 * self._largest < size:
            self._solved_value(2 * self._largest)
        if size == 0 or (self._worthless is not None and size >= self._worthless):
            return 0.0
        return self._solved_value(size)

    def value(self, belief: SizeBelief) -> float:
        """V(x_0) of a record, in money: 0 if the adversary does not access the external data."""
        starts = np.array([self.start_value(size) for size in belief.sizes.tolist()])
        top = top_program(self.profile, belief, starts)
        self._top_variables += len(top.bounds)
        return float(top.solved()[0]) * self.profile.gain

    def reidentification_probability(self, belief: SizeBelief, actual_size: int) -> float:
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
            self._clusters[size] = _solve_cluster(self.profile, size)
        return self._clusters[size]


def top_program(profile: AdversaryProfile, belief: SizeBelief, starts: Floats) -> Program:
    """The top level: x_0, then per size of the belief the state in which the data is available.

    ``starts`` is V(x_start) in money, array of shape (n_sizes,); linking is a bound since its follower is known.
    """
    linked = np.maximum(0.0, (profile.discount * starts - profile.link_cost) / profile.gain)
    access = np.concatenate([[0.0], belief.probabilities])
    return Program(
        bounds=np.concatenate([[0.0], linked]),
        origin=np.zeros(1, dtype=np.int64),
        follow=sparse.csr_array(access[np.newaxis, :]),
        costs=np.array([profile.access_cost / profile.gain]),
        discount=profile.discount,
    )


def cluster_program(profile: AdversaryProfile, size: int) -> Program:
    """The bottom level: the cluster of a group size; its states are numbered by :func:`_numbers`, x_start being 0."""
    number = _numbers(profile, size)
    made, fines, detected, success = (axis.ravel() for axis in np.indices(number.shape))
    finable = np.full(len(made), True) if profile.max_penalties is None else fines < profile.max_penalties
    fined = detected.astype(bool) & finable
    origin = number[:size, :, :, 0].ravel()
    tried = made[origin]
    succeeding, noticed = _success_chances(profile, size)[tried], profile.detection(tried)
    counted = np.minimum(fines[origin] + fined[origin], number.shape[1] - 1)
    rows = np.arange(len(origin))
    follow = sparse.csr_array((len(rows), number.size))
    for success_after, of_success in ((1, succeeding), (0, 1 - succeeding)):
        for detected_after, of_detection in ((1, noticed), (0, 1 - noticed)):
            columns = number[tried + 1, counted, detected_after, success_after]
            follow = follow + sparse.csr_array((of_success * of_detection, (rows, columns)), shape=follow.shape)
    return Program(
        bounds=success - profile.penalty / profile.gain * fined,
        origin=origin,
        follow=follow,
        costs=np.full(len(rows), profile.exploit_cost / profile.gain),
        discount=profile.discount,
    )


def _numbers(profile: AdversaryProfile, size: int) -> Integers:
    """Numbers of a cluster's states by exploits made, fines counted (where they are limited), detected and success."""
    fines = 1 if profile.max_penalties is None else min(profile.max_penalties, size) + 1
    return np.arange((size + 1) * fines * 4).reshape(size + 1, fines, 2, 2)


def _success_chances(profile: AdversaryProfile, size: int) -> Floats:
    """Probability that an exploit succeeds, by the number of exploits made before it (eq. 3)."""
    tried = np.arange(size, dtype=np.float64)
    return profile.confirmation / (size / profile.prior - profile.confirmation * tried)


@dataclass(frozen=True)
class _Cluster:
    start: float
    reidentification: float
    variables: int


def _solve_cluster(profile: AdversaryProfile, size: int) -> _Cluster:
    program = cluster_program(profile, size)
    values = program.solved()
    exploits = values[program.origin] > program.bounds[program.origin] + _ZERO
    success = exploits * _success_chances(profile, size)[program.origin // _numbers(profile, size)[0].size]
    chain = sparse.diags_array(exploits.astype(np.float64)) @ program.follow
    row: Floats = np.zeros(len(values))
    row[0] = 1.0
    reidentification = 0.0
    for _ in range(size):
        reidentification += float(row[program.origin] @ success)
        row = row[program.origin] @ chain
    return _Cluster(float(values[0]) * profile.gain, reidentification, len(values))
