"""How far a stake may move, on a file small enough to see it."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.assessments.identity.facts import ReachFact
from tasks.assessments.identity.stakes import Figure, Stake, even_factors, game_means, robustness
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.sensitivity.means import FixedFile, GameMeans, StakesPoints, around, fixed_file
from tasks.generalization.sensitivity.staircase import staircases
from tasks.generalization.sensitivity.sweep import sweep
from tasks.request.model import Method
from tasks.request.policy import SensitivityPolicy
from tests.support import adult

STAKES = Payoffs(benefit=10, loss=20, gain=20, cost=2)
"""Groups from 10 people are safe."""
TERMS = SensitivityPolicy()


def file_of(people: int, kept: float, intensity: float) -> FixedFile:
    return fixed_file(np.array([people]), np.array([kept]), np.array([intensity]), np.array([1]), 1)


def reach(found: tuple[ReachFact, ...], stake: Stake, figure: Figure) -> ReachFact:
    (one,) = [one for one in found if (one.stake, one.figure) == (stake, figure)]
    return one


def test_factors_are_symmetric_around_the_declared_stakes() -> None:
    factors = even_factors(1.0, 4)
    np.testing.assert_allclose(factors * factors[::-1], 1.0)
    assert (factors[0], factors[4], factors[8]) == (0.1, 1.0, 10.0)


def test_an_attack_begins_where_the_gain_passes_the_group() -> None:
    # 20 people are safe until G/c > 20: twice the gain, or half the cost, is still a tie. Steps are 1/40 of a decade.
    file = file_of(20, 0.5, 0.5)
    found = robustness(file, file, None, STAKES, even_factors(), TERMS)
    loss, cost = reach(found, "loss", "attacked_share"), reach(found, "cost", "attacked_share")
    assert loss.breaks_high is not None
    assert cost.breaks_low is not None
    assert loss.high < 2 < loss.breaks_high < 2.12
    assert cost.low == pytest.approx(1 / loss.high)
    assert cost.breaks_low == pytest.approx(1 / loss.breaks_high)
    assert loss.low == pytest.approx(10**-1.5)
    assert (loss.breaks_low, cost.breaks_high) == (None, None)
    assert not loss.order_of_magnitude
    assert reach(found, "benefit", "attacked_share").order_of_magnitude
    assert {one.figure for one in found} == {"attacked_share"}


def test_regret_is_what_another_file_would_have_paid() -> None:
    # In full detail nobody would attack a group of 12 below 1.2 times the loss; the file as made keeps half of it.
    file, detailed = file_of(100, 0.5, 0.5), file_of(12, 1.0, 0.0)

    def best(stakes: StakesPoints) -> GameMeans:
        sure = detailed.means(stakes).attacked == 0
        one, other = detailed.means(stakes), file.means(stakes)
        names = ("kept", "reidentified", "attacked", "intensity")
        return GameMeans(*(np.where(sure, getattr(one, name), getattr(other, name)) for name in names))

    factors = np.array([0.5, 1.0, 1.1, 1.3, 2.0])
    found = robustness(file, file, best, STAKES, factors, SensitivityPolicy(regret=0.5))
    assert reach(found, "loss", "regret").declared == pytest.approx(0.5)
    assert reach(found, "loss", "regret").breaks_high is None
    assert reach(found, "loss", "mean_generalization").high == 1.1
    assert reach(found, "loss", "mean_generalization").breaks_high == 1.3
    strict = robustness(file, file, best, STAKES, factors, SensitivityPolicy(regret=0.4))
    one = reach(strict, "loss", "regret")
    assert (one.low, one.breaks_low, one.high, one.breaks_high) == (1.0, 1.0, 1.0, 1.0), "not even as declared"


def test_adult_is_robust_in_benefit_and_not_in_loss() -> None:
    """Wan et al. 2015, Fig. 10, hold of Adult-TN; one tenth of V or c, or ten times L, is more than the file stands."""
    table, generalization, problem = adult.table(), adult.generalization(Method.BASIC), adult.problem()
    intensity = problem.lattice.intensity(generalization.levels)
    file = fixed_file(generalization.people, generalization.kept, intensity, table.data.counts, table.data.total)
    stairs = staircases(problem, table.data, 751)
    best = lambda stakes: sweep(stairs, stakes)  # noqa: E731
    found = robustness(file, file, best, adult.PAYOFFS, even_factors(1.0, 10), TERMS)
    holds = {(one.stake, one.figure): one.order_of_magnitude for one in found}
    assert holds["benefit", "attacked_share"]
    assert holds["cost", "regret"]
    assert not holds["loss", "attacked_share"]
    assert reach(found, "benefit", "regret").declared == pytest.approx(0, abs=1e-9)
    assert reach(found, "loss", "regret").high == pytest.approx(10**0.8)


def test_means_of_every_game_on_adult() -> None:
    table, problem = adult.table(), adult.problem()
    points = around(adult.PAYOFFS, benefit=[1.0, 4.0], loss=[1.0, 0.2])
    means = game_means(table, problem, points)
    earned = {method: one.publisher(points)[0].round(2) for method, one in means.items()}
    assert earned == {
        Method.BASIC: 1195.29,
        Method.NO_ATTACK: 1175.79,
        Method.SH_FRIENDLY: 849.57,
        Method.SAFE_HARBOR: 849.26,
    }
    _, best = solve(replace(problem, payoffs=points.payoffs(1)), table.data.codes, GameRule.BASIC)
    mean = table.data.counts @ best / table.data.total
    assert means[Method.BASIC].publisher(points)[1] == pytest.approx(mean)
