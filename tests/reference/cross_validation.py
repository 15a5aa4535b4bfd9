"""What a family of distances is worth on records that it was not learned from."""

import numpy as np

from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import learn
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Files


def cross_validated(files: Files, kind: Kind, generator: np.random.Generator, *, folds: int = 5) -> Linkage:
    """Links of records that were not learned from: each fold is linked by what the other folds teach."""
    correct, n = 0.0, len(files.truth)
    everyone = np.arange(n)
    for fold in np.array_split(generator.permutation(n), folds):
        learned = learn(files, kind, generator, records=np.setdiff1d(everyone, fold))
        correct += learned.distance.link(files, records=fold).expected_correct
    return Linkage(correct, n, 1 / len(files.masked))
