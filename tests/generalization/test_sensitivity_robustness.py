"""How far a stake may move, on a file small enough to see it."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.generalization.exact import Rule, solve
from tasks.generalization.game import Payoffs
from tasks.generalization.sensitivity.made import made
from tasks.generalization.sensitivity.robustness import Figure, Reach, Stake, Tolerances, default_factors, robustness
from tasks.generalization.sensitivity.staircase import staircases
from tasks.generalization.sensitivity.study import study
from tasks.generalization.sensitivity.sweep import Means, sweep
from tasks.generalization.sensitivity.terms import Stakes
from tasks.request.model import Method
from tests.support import adult

STAKES = Payoffs(benefit=10, loss=20, gain=20, cost=2)
"""Groups from 10 people are safe."""


def reach(found: tuple[Reach, ...], stake: Stake, figure: Figure) -> Reach:
    (one,) = [one for one in found if (one.stake, one.figure) == (stake, figure)]
    return one


def test_factors_are_symmetric_around_the_declared_stakes() -> None:
    factors = default_factors(1.0, 4)
    np.testing.assert_allclose(factors * factors[::-1], 1.0)
    assert (factors[0], factors[4], factors[8]) == (0.1, 1.0, 10.0)


def test_an_attack_begins_where_the_gain_passes_the_group() -> None:
    # 20 people are safe until G/c > 20: twice the gain, or half the cost, is still a tie. Steps are 1/40 of a decade.
    file = made(np.array([20]), np.array([0.5]), np.array([0.5]), np.array([7]))
    found = robustness(file, None, STAKES)
    loss, cost = reach(found, Stake.LOSS, Figure.ATTACKED), reach(found, Stake.COST, Figure.ATTACKED)
    assert loss.breaks_high is not None
    assert cost.breaks_low is not None
    assert loss.high < 2 < loss.breaks_high < 2.12
    assert cost.low == pytest.approx(1 / loss.high)
    assert cost.breaks_low == pytest.approx(1 / loss.breaks_high)
    assert loss.low == pytest.approx(10**-1.5)
    assert (loss.breaks_low, cost.breaks_high) == (None, None)
    assert not loss.order_of_magnitude
    assert reach(found, Stake.BENEFIT, Figure.ATTACKED).order_of_magnitude
    assert {one.figure for one in found} == {Figure.ATTACKED}


def test_regret_is_what_another_file_would_have_paid() -> None:
    # In full detail nobody would attack a group of 12 below 1.2 times the loss; the file as made keeps half of it.
    file = made(np.array([100]), np.array([0.5]), np.array([0.5]), np.array([1]))
    detailed = made(np.array([12]), np.array([1.0]), np.array([0.0]), np.array([1]))

    def best(stakes: Stakes) -> Means:
        sure = detailed.means(stakes).attacked == 0
        one, other = detailed.means(stakes), file.means(stakes)
        names = ("kept", "reidentified", "attacked", "intensity", "specific")
        return Means(*(np.where(sure, getattr(one, name), getattr(other, name)) for name in names))

    factors = [0.5, 1.0, 1.1, 1.3, 2.0]
    found = robustness(file, best, STAKES, Tolerances(regret=0.5), factors)
    assert reach(found, Stake.LOSS, Figure.REGRET).declared == pytest.approx(0.5)
    assert reach(found, Stake.LOSS, Figure.REGRET).breaks_high is None
    assert reach(found, Stake.LOSS, Figure.INTENSITY).high == 1.1
    assert reach(found, Stake.LOSS, Figure.INTENSITY).breaks_high == 1.3
    strict = robustness(file, best, STAKES, Tolerances(regret=0.4), factors)
    one = reach(strict, Stake.LOSS, Figure.REGRET)
    assert (one.low, one.breaks_low, one.high, one.breaks_high) == (1.0, 1.0, 1.0, 1.0), "not even as declared"


@pytest.mark.parametrize("factors", [[0.5, 2.0], [1.0, 0.5], [[1.0]]])
def test_factors_must_be_a_range_around_the_declared(factors: list[float]) -> None:
    file = made(np.array([20]), np.array([0.5]), np.array([0.5]), np.array([7]))
    with pytest.raises(ParameterError, match="range around"):
        robustness(file, file.means, STAKES, factors=factors)


def test_adult_is_robust_in_benefit_and_not_in_loss() -> None:
    """Wan et al. 2015, Fig. 10, hold of Adult-TN; one tenth of V or c, or ten times L, is more than the file stands."""
    table, played, problem = adult.table(), adult.played(Method.BASIC), adult.problem()
    intensity = problem.lattice.intensity(played.levels)
    file = made(played.people, played.kept, intensity, table.data.counts)
    stairs = staircases(problem, table.data, 751)
    found = robustness(file, lambda stakes: sweep(stairs, stakes), adult.PAYOFFS, factors=default_factors(1.0, 10))
    holds = {(one.stake, one.figure): one.order_of_magnitude for one in found}
    assert holds[Stake.BENEFIT, Figure.ATTACKED]
    assert holds[Stake.COST, Figure.REGRET]
    assert not holds[Stake.LOSS, Figure.ATTACKED]
    assert reach(found, Stake.BENEFIT, Figure.REGRET).declared == pytest.approx(0, abs=1e-9)
    assert reach(found, Stake.LOSS, Figure.REGRET).high == pytest.approx(10**0.8)


def test_study_of_adult_has_maps_and_curves_of_every_game() -> None:
    table, problem = adult.table(), adult.problem()
    floor = np.column_stack([axis.floor[table.data.codes[:, at]] for at, axis in enumerate(table.safe_harbor)])
    played = adult.played(Method.SAFE_HARBOR)
    harbor = made(played.people, played.kept, problem.lattice.intensity(played.levels), table.data.counts)
    whole = study(problem, table.data, adult.PAYOFFS, floor=floor, fixed={Method.SAFE_HARBOR: harbor}, points=8)
    assert set(whole.map.means) == {Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY, Method.SAFE_HARBOR}
    assert len(whole.map.stakes) == 64
    for stake, curve in whole.curves.items():
        (own,) = np.flatnonzero(curve.factors == 1)
        earned = {method: means.publisher(curve.stakes)[own].round(2) for method, means in curve.means.items()}
        assert earned == {
            Method.BASIC: 1195.29,
            Method.NO_ATTACK: 1175.79,
            Method.SH_FRIENDLY: 849.57,
            Method.SAFE_HARBOR: 849.26,
        }, stake
    point = whole.map.stakes.select(np.array([8 * 6 + 1]))
    there = Payoffs(*(float(one[0]) for one in (point.benefit, point.loss, point.gain, point.cost)))
    assert (there.benefit, there.loss) == (1200 * whole.map.benefit_factors[6], 300 * whole.map.loss_factors[1])
    _, best = solve(replace(problem, payoffs=there), table.data.codes, Rule.BASIC)
    mean = table.data.counts @ best / table.data.total
    assert whole.map.means[Method.BASIC].publisher(whole.map.stakes)[49] == pytest.approx(mean)
