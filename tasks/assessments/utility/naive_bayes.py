"""Naive Bayes on numbers and indicators together: normal densities for the one, Bernoulli shares for the other."""

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from tasks.assessments.utility.checks import Floats


class MixedNaiveBayes:
    """Sum of the two models' log likelihoods, the prior counted once; within a class all features are independent.

    Parameters
    ----------
    n_numeric : int
        Leading columns with a normal density; those that do not vary in training are passed over. All others are 0/1.
    """

    def __init__(self, n_numeric: int) -> None:
        self._n_numeric = n_numeric
        self._numeric = GaussianNB()
        self._indicators = BernoulliNB()

    def fit(self, matrix: Floats, classes: NDArray[np.int64]) -> "MixedNaiveBayes":
        """Estimate from records of shape (n_records, n_features) and their classes."""
        self._classes, counts = np.unique(classes, return_counts=True)
        self._log_prior = np.log(counts / len(classes))
        numbers, indicators = matrix[:, : self._n_numeric], matrix[:, self._n_numeric :]
        self._varying = np.flatnonzero(numbers.min(axis=0, initial=np.inf) < numbers.max(axis=0, initial=-np.inf))
        self._binary = indicators.shape[1] > 0
        if len(self._varying):
            self._numeric.fit(numbers[:, self._varying], classes)
        if self._binary:
            self._indicators.fit(indicators, classes)
        return self

    def predict(self, matrix: Floats) -> NDArray[np.int64]:
        """Most likely class of each record."""
        joint = np.tile(self._log_prior, (len(matrix), 1))
        if len(self._varying):
            numbers = matrix[:, : self._n_numeric][:, self._varying]
            joint += self._numeric.predict_joint_log_proba(numbers) - self._log_prior
        if self._binary:
            joint += self._indicators.predict_joint_log_proba(matrix[:, self._n_numeric :]) - self._log_prior
        predicted: NDArray[np.int64] = self._classes[joint.argmax(axis=1)]
        return predicted
