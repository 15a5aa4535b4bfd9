"""Record linkage of a masked file to its original (Torra 2016).

Of three records whose second attribute was exchanged between two, only the untouched one is linked.

>>> from releasegate.linkage import distance_linkage, files_to_link
>>> original = [[1.0, 10.0], [2.0, 30.0], [9.0, 20.0]]
>>> masked = [[1.0, 30.0], [2.0, 10.0], [9.0, 20.0]]
>>> found = distance_linkage(files_to_link(original, masked))
>>> found.expected_correct, found.n
(1.0, 3)
"""

from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import Learned, learn
from tasks.assessments.linkage.probabilistic import LevelComparison, probabilistic_linkage
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Files, Knowledge, distance_linkage, files_to_link
from tasks.assessments.linkage.within import rank_swap_linkage

__all__ = [
    "Files",
    "Kind",
    "Knowledge",
    "Learned",
    "LevelComparison",
    "Linkage",
    "distance_linkage",
    "files_to_link",
    "learn",
    "probabilistic_linkage",
    "rank_swap_linkage",
]
