"""Risk and outcome of a file: prosecutor, journalist, marketer, the recipient who knows the method, and coalitions.

Prosecutor and journalist risk are as El Emam & Dankar define them (*Protecting Privacy Using k-Anonymity*, JAMIA
2008): one over the class in the file, one over the people who match it in the population. Marketer risk (Dankar & El
Emam 2010) is the share of records expected to be linked rightly when all are tried, which with the population's own
counts is the mean journalist risk.
"""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.facts import (
    CoalitionFact,
    DivisionFact,
    PolicyOutcome,
    RiskFigure,
    RiskView,
    SharingFact,
    TransparentRisk,
)
from tasks.candidate.coalition import Coalition
from tasks.core.errors import StageFailed
from tasks.core.fact import Bin
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.setting import generalized_against, own_follower
from tasks.microdata.tuples import Counts
from tasks.request.model import Recipient, ReleaseRequest

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
    """Risk 1/size over all records, of which those with a risk above the threshold are counted.

    ``group_sizes``, where below 1 counts as 1, and ``records``, all positive, are by tuple, shape (n_tuples,).
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

    By tuple, shape (n_tuples,): the records of its equivalence ``classes``, the ``people`` of the population who match
    that, and its ``records``. Records with a greater risk than the ``threshold`` are counted, and classes with fewer
    records than ``small_cell``.
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

    By tuple, shape (n_tuples,): ``people`` who match its cell, n_p, ``effective``, those whose own cell it is, n_T, and
    its ``records``. The stakes or plan of the recipient decide which records are attacked and re-identified.
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


def policy_outcome(
    table: CountIndex, generalization: Generalization, payoffs: Follower, *, chosen: bool = False
) -> PolicyOutcome:
    """Averages over all records of the data (Wan et al. 2015, Table 7), with the transparent figures.

    The payoffs are those that the method claims, from n_p; the shares attacked and the expected re-identifications are
    given from n_p and from n_T. Records that k-anonymity suppresses are worth nothing to anybody, keep no information
    and count as withheld in every attribute; a minimum class size is not applied.
    """
    counts, total = table.data.counts, table.data.total
    withheld = np.zeros(len(counts), dtype=np.bool_) if generalization.withheld is None else generalization.withheld
    records = np.where(withheld, 0, counts)
    value = payoffs.benefit * generalization.kept
    intensity = np.where(
        withheld, 1.0, generalization.levels.sum(axis=1) / sum(h.n_levels - 1 for h in table.hierarchies)
    )
    people, effective = generalization.people, generalization.effective
    claimed, informed = payoffs.attacked(people), payoffs.attacked(effective)
    exact = records @ (generalization.levels == 0) / total
    return PolicyOutcome(
        method=generalization.method.value,
        publisher_payoff=float(records @ payoffs.publisher(value, people) / total),
        adversary_payoff=float(records @ payoffs.adversary(people) / total),
        information_kept=float(records @ generalization.kept / total),
        most_specific_share=float(records[intensity == 0].sum() / total),
        mean_generalization=float(counts @ intensity / total),
        naive_attacked_share=float(records[claimed].sum() / total),
        transparent_attacked_share=float(records[informed].sum() / total),
        naive_expected_reidentifications=float((records * payoffs.reidentified(people))[claimed].sum()),
        transparent_expected_reidentifications=float((records * payoffs.reidentified(effective))[informed].sum()),
        chosen=chosen,
        exact_values=dict(zip((tree.name for tree in table.hierarchies), exact.tolist(), strict=True)),
    )


def division_fact(table: CountIndex, generalization: Generalization, cell_weights: str) -> DivisionFact | None:
    """Quality of the chosen partition or remainder classes; None for other methods, and within a budget.

    ``cell_weights``, population or data, is what its cells are weighted by.
    """
    if generalization.division is None:
        return None
    by_data = cell_weights == "data" and METHODS[generalization.method].partitions
    made, weight = generalization.division, (table.data if by_data else table.population).total
    bound = None if made.upper_bound is None else made.upper_bound / weight
    payoff = made.payoff / weight
    below = 0.0 if made.exact or bound is None else max(bound - payoff, 0.0)
    return DivisionFact(payoff=payoff, bound=bound, exact=made.exact, gap=below, bound_by=made.bound_by)


def coalition_fact(
    table: CountIndex, generalization: Generalization, kept: NDArray[np.bool_], coalition: Coalition, follower: Follower
) -> CoalitionFact:
    """Risk of one copy's records from a coalition, for the record.

    ``generalization`` is the copy alone; ``kept``, of shape (n_tuples,), says whether it has each tuple's records;
    ``follower`` is its recipient.
    """
    copy, records = coalition.copy, table.data.counts[kept]
    people, effective = copy.people[kept], copy.effective[kept]
    seen, reidentified = transparent_risk(people, effective, records, follower), follower.reidentified(effective)
    return CoalitionFact(
        recipients=coalition.recipients,
        narrowed_share=float(records[people < generalization.people[kept]].sum() / records.sum()),
        smallest_group=seen.smallest_effective_group,
        maximum_risk=seen.maximum_risk,
        attacked_share=seen.attacked_share,
        expected_reidentifications=seen.expected_reidentifications,
        mean_reidentification=float(records @ reidentified / records.sum()),
        maximum_reidentification=float(reidentified.max()),
    )


def sharing_fact(
    table: CountIndex, generalization: Generalization, request: ReleaseRequest, recipient: Recipient
) -> SharingFact | None:
    """Payoffs of the shared representation and of each recipient's own; None where the recipient shares none.

    All are means over the records that came in, as the methods claim them (n_p); records that k-anonymity suppresses
    are worth nothing. The method is the recipients' own, with the cell weights of the policy: where these are the
    population's, the optimum is one over people and the price over the data's records may come out below 0.
    ``generalization`` is the shared representation.
    """
    sharing = request.sharing(recipient)
    if not sharing:
        return None
    own: dict[str, float | None] = {}
    shared, apart = 0.0, list[float]()
    for one, weight in sharing:
        follower = own_follower(request, one, table.population.total, from_below=table.from_below)
        shared += weight * mean_payoff(table, generalization, follower)
        own[one.id] = None
        with suppress(StageFailed):  # some record has no strategy, or k-anonymity cannot be had
            alone = mean_payoff(table, generalized_against(table, request, one, follower), follower)
            own[one.id] = alone
            apart.append(weight * alone)
    price = sum(apart) - shared if len(apart) == len(sharing) else None
    return SharingFact(recipients={one.id: weight for one, weight in sharing}, own=own, shared=shared, price=price)


def mean_payoff(table: CountIndex, generalization: Generalization, follower: Follower) -> float:
    """Publisher's payoff a record that came in, as the method claims it; one that is suppressed is worth nothing."""
    withheld = generalization.withheld
    records = table.data.counts if withheld is None else np.where(withheld, 0, table.data.counts)
    payoffs = follower.publisher(follower.benefit * generalization.kept, generalization.people)
    return float(records @ payoffs / table.data.total)
