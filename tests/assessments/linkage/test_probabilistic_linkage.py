"""Fellegi–Sunter: EM beside a plain one, fitted on all pairs, comparison levels, links and ties by plain loops."""

import itertools
import math

import numpy as np
import pytest

from tasks.assessments.linkage.probabilistic import LevelComparison, _compare, probabilistic_linkage
from tasks.assessments.linkage.problem.files import TIE_ABSOLUTE, TIE_RELATIVE, Files, Knowledge, files_to_link
from tasks.core.errors import ParameterError


def two_files(seed: int, n: int = 60, values: int = 1000) -> Files:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, values, (n, 3)).astype(float)
    shift = values * 0.02 * rng.integers(-2, 3, original.shape)
    return files_to_link(original, np.where(rng.random(original.shape) < 0.3, original, original + shift))


def slow_levels(files: Files, thresholds: tuple[float, ...]) -> list[list[tuple[int, ...]]]:
    spread = files.masked.std(axis=0)
    return [
        [
            tuple(
                sum(abs(a / s - b / s) > t + 1e-12 for t in thresholds)
                for a, b, s in zip(record, other, spread, strict=True)
            )
            for other in files.masked
        ]
        for record in files.original
    ]


def slow_em(
    levels: list[list[tuple[int, ...]]], n_levels: int, steps: int
) -> tuple[list[list[float]], list[list[float]]]:
    pairs = list(itertools.chain(*levels))
    d, share = len(pairs[0]), 1 / len(levels[0])
    m = [[0.9] + [0.1 / (n_levels - 1)] * (n_levels - 1) for _ in range(d)]
    u = [[max(sum(pair[j] == x for pair in pairs) / len(pairs), 1e-9) for x in range(n_levels)] for j in range(d)]
    for _ in range(steps):
        matched = []
        for pair in pairs:
            as_match = share * math.prod(m[j][pair[j]] for j in range(d))
            as_other = (1 - share) * math.prod(u[j][pair[j]] for j in range(d))
            matched.append(as_match / (as_match + as_other))
        total = math.fsum(matched)
        for j, x in itertools.product(range(d), range(n_levels)):
            here = math.fsum(g for g, pair in zip(matched, pairs, strict=True) if pair[j] == x)
            every = sum(pair[j] == x for pair in pairs)
            m[j][x] = max(here / total, 1e-9)
            u[j][x] = max((every - here) / (len(pairs) - total), 1e-9)
    return m, u


def test_em_as_a_plain_one_has_it() -> None:
    files, comparison = two_files(1, n=25), LevelComparison(thresholds=(0.0, 0.1))
    fitted = _compare(files, comparison).fitted()
    m, u = slow_em(slow_levels(files, comparison.thresholds), 3, fitted.iterations)
    assert fitted.iterations < 1000
    assert np.allclose(fitted.matches, m, atol=1e-6)
    assert np.allclose(fitted.others, u, atol=1e-6)


def test_em_finds_what_the_data_were_drawn_from() -> None:
    rng = np.random.default_rng(2)
    original = rng.integers(0, 50, (600, 4)).astype(float)
    kept = rng.random(original.shape) < np.array([0.9, 0.7, 0.5, 0.8])
    masked = np.where(kept, original, rng.integers(0, 50, original.shape))
    fitted = _compare(files_to_link(original, masked), LevelComparison(thresholds=(0.0,))).fitted()
    assert np.allclose(fitted.matches[:, 0], kept.mean(axis=0), atol=0.04)
    assert np.allclose(fitted.others[:, 0], 1 / 50, atol=0.003)


@pytest.mark.parametrize("values", [6, 1000])
def test_links_and_ties_as_plain_loops(values: int) -> None:
    files, comparison = two_files(3, values=values), LevelComparison()
    fitted = _compare(files, comparison).fitted()
    weights = np.log(fitted.matches / fitted.others)
    expected = 0.0
    for record, row in enumerate(slow_levels(files, comparison.thresholds)):
        scores = [-sum(weights[axis, level] for axis, level in enumerate(pair)) for pair in row]
        limit = min(scores) + TIE_RELATIVE * abs(min(scores)) + TIE_ABSOLUTE
        tied = [place for place, score in enumerate(scores) if score <= limit]
        expected += 1 / len(tied) if files.truth[record] in tied else 0.0
    assert probabilistic_linkage(files, comparison).expected_correct == pytest.approx(expected)


def test_an_intruder_with_some_individuals() -> None:
    files = two_files(5)
    few = files_to_link(files.original, files.masked, Knowledge(records=(5, 9, 33)))
    figure = probabilistic_linkage(few, LevelComparison(thresholds=(0.0, 0.1)))
    assert (figure.n, figure.baseline) == (3, 1 / 60)


@pytest.mark.parametrize("thresholds", [(), (0.2, 0.1), (0.1, 0.1), (-0.1, 0.2), (float("nan"),), (0.1, float("inf"))])
def test_levels_out_of_order(thresholds: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="levels of a comparison"):
        LevelComparison(thresholds=thresholds)


def test_more_patterns_than_can_be_fitted() -> None:
    rng = np.random.default_rng(6)
    files = files_to_link(rng.standard_normal((5, 13)), rng.standard_normal((5, 13)))
    with pytest.raises(ParameterError, match="patterns of levels"):
        probabilistic_linkage(files, LevelComparison(thresholds=(0.1, 0.2, 0.3)))
