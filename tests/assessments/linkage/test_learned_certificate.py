"""What the bound of learned parameters says, and learned weights beside the proven best of all."""

import numpy as np
import pytest

from tasks.assessments.linkage.learning.comparisons import (
    Pairs,
    Rows,
    minimal_rivals,
    pairs_of,
    rows_of,
    scaled_components,
    unbreakable_ties,
    unit,
)
from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import Fit, learn
from tasks.assessments.linkage.problem.files import files_to_link
from tests.reference.best_weights import best_weights, value
from tests.support.learning_problems import sampled_problem
from tests.support.slow_distances import most_won


def rows_for(kind: Kind, pairs: Pairs) -> Rows:
    """All comparisons that can bind."""
    return rows_of(kind, pairs, minimal_rivals(kind, pairs), unbreakable_ties(kind, pairs))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m", "seeds"), [(12, 2, 5), (5, 3, 4)])
def test_the_best_weights_of_all_cells(n: int, m: int, seeds: int) -> None:
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        distances = rng.random((n, n, m))
        distances[2, 4] = distances[2, 2]
        given = scaled_components(distances, tuple(map(str, range(m))))
        rows = rows_for(Kind.WEIGHTED_MEAN, pairs_of(given, Kind.WEIGHTED_MEAN))
        learned = learn(given, Kind.WEIGHTED_MEAN, np.random.default_rng(seed), certificate=True)
        _, best = best_weights(rows, learned.distance.parameters, np.inf, 8_000)
        assert learned.certificate is not None
        assert learned.certificate.found == best == pytest.approx(most_won(given.distances))
        assert learned.certificate.upper_bound >= best


def test_the_best_owa_of_all_cells() -> None:
    rng = np.random.default_rng(9)
    given = scaled_components(rng.random((10, 10, 2)), ("a", "b"))
    learned = learn(given, Kind.OWA, rng, certificate=True)
    assert learned.certificate is not None
    assert learned.certificate.found == pytest.approx(most_won(np.sort(given.distances, axis=2)))


@pytest.mark.slow
def test_from_poor_weights_to_the_best() -> None:
    files = sampled_problem("M4-82", 0)
    pairs = pairs_of(files, Kind.WEIGHTED_MEAN)
    rows = rows_for(Kind.WEIGHTED_MEAN, pairs)
    equal = np.ones(4)
    same, nothing_proven = best_weights(rows, equal, np.inf, 0)
    assert same.tolist() == equal.tolist()
    better, some_bound = best_weights(rows, equal, np.inf, 30)
    best, proven = best_weights(rows, equal, np.inf, 5_000)
    assert value(rows, equal) < value(rows, better) <= value(rows, best)
    assert proven == value(rows, best) <= some_bound <= nothing_proven
    found = learn(files, Kind.WEIGHTED_MEAN, np.random.default_rng(0)).in_sample.expected_correct
    assert found == proven


@pytest.mark.parametrize("kind", [Kind.CHOQUET, Kind.BILINEAR])
def test_no_parameters_exceed_the_bound(kind: Kind) -> None:
    rng = np.random.default_rng(4)
    original = rng.standard_normal((30, 3))
    files = files_to_link(original, original + rng.standard_normal((30, 3)))
    pairs = pairs_of(files, kind)
    fit = Fit(kind, pairs, rng)
    certificate = fit.certificate()
    assert certificate.found <= certificate.upper_bound <= 30
    assert certificate.gap == certificate.upper_bound - certificate.found
    for _ in range(200):
        matrix = rng.standard_normal((3, 3))
        if kind is Kind.CHOQUET:
            parameters = np.maximum.accumulate(rng.random(7))
            parameters[[2, 4, 5]] = [parameters[:2].max(), parameters[[0, 3]].max(), parameters[[1, 3]].max()]
            parameters[6] = parameters[:6].max()
        else:
            parameters = (matrix + matrix.T)[np.triu_indices(3)]
        assert fit.won_alone(unit(parameters)) <= certificate.upper_bound


def test_who_can_never_be_linked_is_known() -> None:
    # The second record is nearer to the first's masked record in both attributes, whatever the weights.
    distances = np.array([[[1.0, 1.0], [2.0, 3.0]], [[1.0, 1.0], [2.0, 2.0]]])
    for kind in (Kind.WEIGHTED_MEAN, Kind.CHOQUET):
        given = scaled_components(distances, ("a", "b"))
        certificate = learn(given, kind, np.random.default_rng(0), certificate=True).certificate
        assert certificate is not None
        assert (certificate.found, certificate.upper_bound) == (1, 1)


def test_nothing_is_certified_where_nothing_is_learned() -> None:
    given = scaled_components(1 - np.eye(3)[:, :, None], ("a",))
    assert learn(given, Kind.ARITHMETIC_MEAN, np.random.default_rng(0), certificate=True).certificate is None
