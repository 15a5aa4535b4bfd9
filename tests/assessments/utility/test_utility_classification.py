"""Accuracy of classifiers: what can be known beforehand, naive Bayes by hand, what is pooled, refused and capped."""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest

from tasks.assessments.utility import analyses
from tasks.assessments.utility.analyses import MixedNaiveBayes, classification_accuracy
from tasks.assessments.utility.facts import ClassificationFact
from tasks.assessments.utility.features import Features, features
from tasks.core.errors import ParameterError
from tasks.core.wilson import wilson

METHODS = ["decision tree", "naive Bayes", "nearest neighbours", "support vector machine"]


def _classified(original: Features, released: Features, target: np.ndarray) -> ClassificationFact:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return classification_accuracy(original, released, target, "job", np.random.default_rng(7))


def _noise(n: int, seed: int = 1) -> Features:
    return features({"x": np.random.default_rng(seed).normal(size=n)}, {})


def test_what_gives_the_target_away_is_learned_and_what_does_not_is_not() -> None:
    target = np.arange(300) % 3
    telling = features({"x": target + np.random.default_rng(1).normal(scale=0.05, size=300)}, {"c": target})
    found = _classified(telling, _noise(300, 2), target)
    assert [method.name for method in found.classifiers] == METHODS
    assert (found.target, found.classes, found.tested, found.majority) == ("job", 3, 90, 30 / 90)
    for method in found.classifiers:
        assert (method.original, method.original_low, method.original_high) == (1, *wilson(90, 90))
        assert method.released_low < 0.4
        assert method.trained == 210


def test_the_same_features_give_the_same_accuracy() -> None:
    target = np.arange(200) % 2
    same = features({"x": target + np.random.default_rng(1).normal(size=200)}, {})
    for method in _classified(same, same, target).classifiers:
        assert method.original == method.released


def test_the_same_generator_gives_the_same_figures() -> None:
    target = np.random.default_rng(3).integers(0, 3, 150)
    assert _classified(_noise(150), _noise(150, 2), target) == _classified(_noise(150), _noise(150, 2), target)


def test_rare_values_are_pooled_or_left_out() -> None:
    pooled = _classified(_noise(60), _noise(60), np.array([5] * 30 + [6] * 18 + [7] * 6 + [8] * 6))
    assert (pooled.classes, pooled.tested + pooled.classifiers[0].trained) == (3, 60)
    left_out = _classified(_noise(60), _noise(60), np.array([5] * 30 + [6] * 24 + [7] * 6))
    assert (left_out.classes, left_out.tested + left_out.classifiers[0].trained) == (2, 54)


def test_many_values_are_pooled_down_to_the_classes_allowed() -> None:
    target = np.repeat(np.arange(30), 12)
    assert _classified(_noise(360), _noise(360), target).classes == analyses.CLASSES


def test_held_out_and_training_records_hold_each_class_in_proportion() -> None:
    target = np.repeat([0, 1], [700, 300])
    found = _classified(_noise(1000), _noise(1000), target)
    assert (found.majority, found.tested, found.classifiers[0].trained) == (0.7, 300, 700)


def test_slow_methods_learn_from_fewer_records_of_each_class_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    training = np.random.default_rng(1).permutation(1000)
    classes = np.repeat([0, 1, 2], [798, 200, 2])
    chosen = analyses._proportional(training, classes, 100)
    assert len(set(chosen.tolist())) == 100
    assert np.bincount(classes[chosen]).tolist() == [79, 20, 1]
    assert analyses._proportional(training, classes, 1000) is training
    monkeypatch.setattr(analyses, "MOST_TRAINING", dict.fromkeys(analyses.MOST_TRAINING, 50))
    found = _classified(_noise(200), _noise(200), np.arange(200) % 2)
    assert [method.trained for method in found.classifiers] == [50] * 4


def test_training_that_runs_out_of_iterations_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(analyses, "_SVM_ITERATIONS", 1)
    assert len(_classified(_noise(200), _noise(200), np.arange(200) % 2).classifiers) == 4
    assert capfd.readouterr() == ("", "")


def test_features_that_do_not_vary_give_the_majority() -> None:
    target = np.repeat([0, 1], [60, 40])
    flat = features({"x": np.ones(100)}, {"c": np.ones(100, dtype=int)})
    found = _classified(flat, flat, target)
    assert found.majority == 0.6
    for method in found.classifiers:
        if method.name != "nearest neighbours":  # all are equally near: it takes the vote of any fifteen
            assert method.original == 0.6


def _log_normal(x: float, mean: float, variance: float) -> float:
    return -0.5 * math.log(2 * math.pi * variance) - (x - mean) ** 2 / (2 * variance)


def test_naive_bayes_by_hand() -> None:
    # Class 4: x 0, 2 (mean 1, variance 1), indicator 1, 0; class 6: x 3, 5, 7 (mean 5, variance 8/3), indicator 1.
    matrix = np.array([[0.0, 9, 1], [2, 9, 0], [3, 9, 1], [5, 9, 1], [7, 9, 1]])
    model = MixedNaiveBayes(2).fit(matrix, np.array([4, 4, 6, 6, 6]))
    smoothing = 1e-9 * np.var(matrix[:, 0])
    for x in np.linspace(-13, 9, 89):
        for shown in (0, 1):
            scores = []
            for prior, mean, variance, share in ((0.4, 1, 1, 2 / 4), (0.6, 5, 8 / 3, 4 / 5)):
                seen = math.log(share if shown else 1 - share)
                scores.append(math.log(prior) + _log_normal(x, mean, variance + smoothing) + seen)
            expected = 4 if scores[0] > scores[1] else 6
            assert model.predict(np.array([[x, 0.0, shown]])).tolist() == [expected]
    flips = [model.predict(np.array([[x, 9, 1.0]]))[0] for x in np.linspace(-13, 9, 89)]
    assert sum(a != b for a, b in pairwise(flips)) == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.zeros(40, dtype=int), "no two classes"),
        (np.repeat([0, 31337], [35, 5]), "no two classes"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused(target: np.ndarray, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        _classified(_noise(40), _noise(40), target)
    assert "31337" not in str(caught.value)
