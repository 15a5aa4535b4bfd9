"""Identity and attribute disclosure in one score (Orooji & Knapp 2019).

The worked example of the paper: age, gender, race, income and disease of five people, of which income and disease are
sensitive.

>>> from releasegate.combined import disclosure_risk, known_sets
>>> people = [[1, 0, 0, 3, 0], [0, 1, 1, 0, 0], [2, 0, 2, 1, 0], [1, 0, 0, 2, 1], [3, 1, 0, 4, 0]]
>>> known = [0.3, 0.8, 0.7, 0.005, 0.001]
>>> income, disease = [0.9, 0.63, 0.63, 0.63, 0.63], [0.2, 1.0]
>>> disclosure_risk(people, known, [0, 0, 0, income, disease]).round(5).tolist()
[1.19991, 3.06232, 2.20083, 2.36797, 1.92395]
>>> known_sets(known, epsilon=0.5)
((), (1,), (1, 2), (2,))
"""

from tasks.assessments.combined.disclosure import (
    MeanContributions,
    RecordContributions,
    contributions,
    disclosure_risk,
    known_sets,
    mean_contributions,
)

__all__ = [
    "MeanContributions",
    "RecordContributions",
    "contributions",
    "disclosure_risk",
    "known_sets",
    "mean_contributions",
]
