"""The solvers of the adversary's plan by name, each run on the groups of a release (Xia et al. 2015, sections 5 and 6).

The gates use the recursion alone. The two others are independent of it: the Two-level LP of section 5.1, and value
iteration on the process with all its states. They are slow: they solve the smallest groups first, stop before they
would exceed ``MOST_VARIABLES`` or ``MOST_STATES``, and report how many groups remain unsolved.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.decisions import access_worth
from tasks.adversary.fmdp import (
    access_values,
    expected_linked_values,
    known_threshold,
    reidentification_probability,
    reidentification_probability_unknown,
)
from tasks.adversary.group_sizes import Integers, SizeBelief, known_size, truncated_binomial
from tasks.adversary.planning.enumerated import START, enumerate_process, reidentification, value_iteration
from tasks.adversary.planning.two_level_lp import TwoLevelLP
from tasks.adversary.profile import AdversaryProfile, Floats
from tasks.candidate.groups import Groups
from tasks.core.errors import ParameterError

MOST_VARIABLES = 1_000_000
"""Variables of all linear programs together, from which no further group is begun."""
MOST_STATES = 100_000
"""States of all enumerated processes together, likewise."""


@dataclass(frozen=True)
class RecordCases:
    """Records that differ for an adversary who decides record by record, smallest groups first.

    ``sizes`` are candidates in the external data, from 1, ``densities`` the share of the population that has the
    record's quasi-identifiers, and ``records`` those of each case, all of shape (n_cases,). If not ``known``, the
    adversary holds a binomial belief about the size before access to the ``external_size`` people.
    """

    sizes: Integers
    densities: Floats
    records: NDArray[np.float64]
    external_size: int
    known: bool

    def belief(self, case: int) -> SizeBelief:
        """The adversary's belief about a case's group size before access."""
        if self.known:
            return known_size(int(self.sizes[case]))
        density = float(self.densities[case])
        return known_size(self.external_size) if density == 1 else truncated_binomial(self.external_size, density)


@dataclass(frozen=True)
class SolvedCases:
    """Solutions of the first cases, V(x_0) in money and P_reid, each of shape (n_solved,), and the work they took."""

    values: Floats
    risks: Floats
    work: dict[str, int]


@dataclass(frozen=True)
class PlanSolution:
    """A solver's result for one belief, with that of another solver for comparison.

    ``groups`` are distinct records that the adversary plans for: group sizes or, where these are not known, also
    densities; so many were ``solved``, with a share of the records and their expected re-identifications. ``work`` is
    by kind, such as variables or sweeps. The differences of V(x_0), in money, and of P_reid are the largest from the
    other solver's, over those ``compared``, which both solved.
    """

    belief: str
    groups: int
    solved: int
    records_share: float
    expected_reidentifications: float
    work: dict[str, int]
    seconds: float
    compared_with: str
    compared: int
    value_difference: float
    risk_difference: float


def solve_plans(profile: AdversaryProfile, groups: Groups, name: str) -> tuple[PlanSolution, ...]:
    """Solve the plan for all records of a file, with their group sizes known and unknown before access.

    ``groups`` are as collected or as released; those without a candidate are at no risk and left out. ``name`` is one
    of ``SOLVERS``. Raises ParameterError if the recursion cannot solve the plan in reasonable time, StageFailed if a
    linear program is not solved.
    """
    if profile.resources:
        raise ParameterError(
            "these solvers handle only one resource",
            where="adversary.resources",
            expected="none",
            got=f"{len(profile.resources)} of them",
            fix="leave out the algorithm; several resources are solved by their own recursion",
        )
    return tuple(_solved(profile, _cases(groups, known=known), name) for known in (True, False))


def _solved(profile: AdversaryProfile, cases: RecordCases, name: str) -> PlanSolution:
    started = time.perf_counter()
    found = SOLVERS[name](profile, cases)
    seconds = time.perf_counter() - started
    other = "two-level-lp" if name == "recursion" else "recursion"
    compared = SOLVERS[other](profile, cases)
    solved, both = len(found.risks), min(len(found.risks), len(compared.risks))
    return PlanSolution(
        belief="known group" if cases.known else "unknown group",
        groups=len(cases.sizes),
        solved=solved,
        records_share=float(cases.records[:solved].sum() / max(cases.records.sum(), 1)),
        expected_reidentifications=float(cases.records[:solved] @ found.risks),
        work=found.work,
        seconds=seconds,
        compared_with=other,
        compared=both,
        value_difference=float(np.abs(found.values[:both] - compared.values[:both]).max(initial=0.0)),
        risk_difference=float(np.abs(found.risks[:both] - compared.risks[:both]).max(initial=0.0)),
    )


def _cases(groups: Groups, *, known: bool) -> RecordCases:
    listed = groups.candidates > 0
    densities = np.zeros(int(listed.sum())) if known else groups.densities[listed]
    distinct, place = np.unique(np.column_stack([groups.candidates[listed], densities]), axis=0, return_inverse=True)
    records = np.bincount(place.ravel(), weights=groups.records[listed], minlength=len(distinct)).astype(np.float64)
    return RecordCases(distinct[:, 0].astype(np.int64), distinct[:, 1], records, groups.external_size, known)


def _recursion(profile: AdversaryProfile, cases: RecordCases) -> SolvedCases:
    sizes, densities, people = cases.sizes, cases.densities, cases.external_size
    if cases.known:
        worth, risks = access_values(profile, sizes), reidentification_probability(profile, sizes)
    else:
        worth = access_worth(profile, expected_linked_values(profile, densities, people))
        risks = reidentification_probability_unknown(profile, sizes, densities, people)
    return SolvedCases(np.maximum(worth, 0.0), risks, {"group sizes": len(np.unique(sizes))})


def _two_level_lp(profile: AdversaryProfile, cases: RecordCases) -> SolvedCases:
    program = TwoLevelLP(profile)
    worthless = known_threshold(replace(profile, access_cost=0.0))
    values, risks = [], []
    for case, size in enumerate(cases.sizes.tolist()):
        belief = cases.belief(case)
        # Variables of the largest cluster that the case may lead to; larger groups are pruned.
        largest = max(size, int(belief.sizes.max(initial=0)))
        largest = largest if worthless is None else min(largest, 2 * worthless)
        fines = 1 if profile.max_penalties is None else min(profile.max_penalties, largest) + 1
        if program.variables + 4 * fines * (largest + 1) > MOST_VARIABLES:
            break
        values.append(program.value(belief))
        risks.append(program.reidentification_probability(belief, size))
    work = {"programs": program.clusters_solved + len(values), "variables": program.variables}
    return SolvedCases(np.array(values), np.array(risks), work)


def _value_iteration(profile: AdversaryProfile, cases: RecordCases) -> SolvedCases:
    values, risks, states, sweeps = [], [], 0, 0
    for case, size in enumerate(cases.sizes.tolist()):
        belief = cases.belief(case)
        sizes = np.union1d(belief.sizes, [size])
        fines = sizes if profile.max_penalties is None else np.minimum(sizes, profile.max_penalties)
        if states + int((4.0 * (sizes + 2.0) * (fines + 1.0)).sum()) + 2 > MOST_STATES:  # no process has more
            break
        plan = value_iteration(enumerate_process(profile, belief, [size]))
        values.append(plan.value(START))
        risks.append(reidentification(plan, size))
        states += len(plan.values)
        sweeps += plan.sweeps
    return SolvedCases(np.array(values), np.array(risks), {"states": states, "sweeps": sweeps})


SOLVERS: dict[str, Callable[[AdversaryProfile, RecordCases], SolvedCases]] = {
    "recursion": _recursion,
    "two-level-lp": _two_level_lp,
    "value-iteration": _value_iteration,
}
"""The solvers by the name that a user gives."""
