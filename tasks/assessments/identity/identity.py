"""Identity-disclosure risk of a file: prosecutor, journalist, marketer, and the recipient who knows the method.

Prosecutor and journalist risk are as El Emam & Dankar define them (*Protecting Privacy Using k-Anonymity*, JAMIA
2008): one over the class in the file, one over the people who match it in the population. Marketer risk (Dankar & El
Emam 2010) is the share of records expected to be linked rightly when all are tried, which with the population's own
counts is the mean journalist risk.
"""

import numpy as np

from tasks.assessments.identity.facts import RiskFigure, RiskView, TransparentRisk
from tasks.core.fact import Bin
from tasks.generalization.game import Floats, Follower
from tasks.microdata.tuples import Counts

HISTOGRAM_EDGES = (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.09, 0.2, 0.34, 0.5, 1.0)


def histogram(risks: Floats, records: Counts) -> tuple[Bin, ...]:
    """Records by risk, in intervals open below and closed above."""
    place = np.clip(np.searchsorted(HISTOGRAM_EDGES, risks, side="left") - 1, 0, len(HISTOGRAM_EDGES) - 2)
    counts = np.bincount(place, weights=records, minlength=len(HISTOGRAM_EDGES) - 1)
    return tuple(
        Bin(low=low, high=high, records=int(count))
        for low, high, count in zip(HISTOGRAM_EDGES, HISTOGRAM_EDGES[1:], counts, strict=False)
    )


def risk_figure(group_sizes: Counts, records: Counts, threshold: float) -> RiskFigure:
    """Risk 1/size over all records.

    Parameters
    ----------
    group_sizes : array of shape (n_tuples,)
        Size of the group that each tuple's records hide in; below 1 counts as 1.
    records : array of shape (n_tuples,)
        Records of each tuple, all positive.
    threshold : float
        Records with a greater risk are counted.
    """
    risks = 1.0 / np.maximum(group_sizes, 1)
    total = int(records.sum())
    return RiskFigure(
        maximum=float(risks.max()),
        mean=float(records @ risks / total),
        records=total,
        over_threshold=int(records[risks > threshold].sum()),
        histogram=histogram(risks, records),
    )


def risk_view(classes: Counts, people: Counts, records: Counts, threshold: float, small_cell: int) -> RiskView:
    """The three attackers' view of a file.

    Parameters
    ----------
    classes : array of shape (n_tuples,)
        Records in each tuple's equivalence class in the file.
    people : array of shape (n_tuples,)
        People in the population who match that class.
    records : array of shape (n_tuples,)
        Records of each tuple.
    threshold : float
        Records with a greater risk are counted.
    small_cell : int
        Classes with fewer records than this are small.
    """
    journalist = risk_figure(people, records, threshold)
    return RiskView(
        prosecutor=risk_figure(classes, records, threshold),
        journalist=journalist,
        marketer=journalist.mean,
        smallest_class=int(classes.min()),
        classes=int(np.rint((records / classes).sum())),
        below_small_cell=float(records[classes < small_cell].sum() / records.sum()),
    )


def transparent_risk(people: Counts, effective: Counts, records: Counts, payoffs: Follower) -> TransparentRisk:
    """Risk from a recipient who knows hierarchies and rule, with the rule's claim for comparison.

    Parameters
    ----------
    people, effective : arrays of shape (n_tuples,)
        People who match each tuple's cell, n_p, and those whose own cell it is, n_T.
    records : array of shape (n_tuples,)
        Records of each tuple.
    payoffs : Follower
        The recipient: its stakes or its plan decide which records are attacked and re-identified.
    """
    total, safe = int(records.sum()), payoffs.safe_group
    risks = 1.0 / np.maximum(effective, 1)
    claimed = 1.0 / np.maximum(people, 1)
    attacked, claimed_attacked = payoffs.attacked(effective), payoffs.attacked(people)
    return TransparentRisk(
        maximum_risk=float(risks.max()),
        mean_risk=float(records @ risks / total),
        attacked_share=float(records[attacked].sum() / total),
        attacked_records=int(records[attacked].sum()),
        expected_reidentifications=float((records * payoffs.reidentified(effective))[attacked].sum()),
        smallest_effective_group=int(effective.min()),
        naive_maximum_risk=float(claimed.max()),
        naive_attacked_share=float(records[claimed_attacked].sum() / total),
        naive_expected_reidentifications=float((records * payoffs.reidentified(people))[claimed_attacked].sum()),
        histogram=histogram(risks, records),
        attack_group_size=safe if np.isfinite(safe) else float(effective.max()) + 1,
    )
