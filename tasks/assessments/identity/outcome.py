"""A method's outcome on the data: payoffs, attacks and information kept; claimed, and to an informed recipient."""

import numpy as np

from tasks.assessments.identity.division_fact import DivisionFact
from tasks.assessments.identity.facts import PolicyOutcome
from tasks.generalization.game import Follower
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.play import CountIndex, Generalization


def policy_outcome(
    table: CountIndex, played: Generalization, payoffs: Follower, *, chosen: bool = False
) -> PolicyOutcome:
    """Averages over all records of the data (Wan et al. 2015, Table 7), beside the transparent figures.

    The payoffs are those that the method claims, from n_p; the shares attacked and the expected re-identifications are
    given from n_p and from n_T. Records that k-anonymity suppresses are worth nothing to anybody, keep no information
    and count as withheld in every attribute; a minimum class size is not applied.
    """
    counts, total = table.data.counts, table.data.total
    withheld = np.zeros(len(counts), dtype=np.bool_) if played.withheld is None else played.withheld
    records = np.where(withheld, 0, counts)
    value = payoffs.benefit * played.kept
    intensity = np.where(withheld, 1.0, played.levels.sum(axis=1) / sum(h.n_levels - 1 for h in table.hierarchies))
    claimed, informed = payoffs.attacked(played.people), payoffs.attacked(played.effective)
    return PolicyOutcome(
        method=played.method.value,
        publisher_payoff=float(records @ payoffs.publisher(value, played.people) / total),
        adversary_payoff=float(records @ payoffs.adversary(played.people) / total),
        information_kept=float(records @ played.kept / total),
        most_specific_share=float(records[intensity == 0].sum() / total),
        mean_generalization=float(counts @ intensity / total),
        naive_attacked_share=float(records[claimed].sum() / total),
        transparent_attacked_share=float(records[informed].sum() / total),
        naive_expected_reidentifications=float((records * payoffs.reidentified(played.people))[claimed].sum()),
        transparent_expected_reidentifications=float(
            (records * payoffs.reidentified(played.effective))[informed].sum()
        ),
        chosen=chosen,
    )


def division_fact(table: CountIndex, played: Generalization, cell_weights: str) -> DivisionFact | None:
    """Quality of the chosen partition or remainder classes; None for other methods, and within a budget.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
    cell_weights : {"population", "data"}
        What its cells are weighted by.
    """
    if played.division is None:
        return None
    by_data = cell_weights == "data" and METHODS[played.method].partitions
    made, weight = played.division, (table.data if by_data else table.population).total
    bound = None if made.upper_bound is None else made.upper_bound / weight
    payoff = made.payoff / weight
    below = 0.0 if made.exact or bound is None else max(bound - payoff, 0.0)
    return DivisionFact(payoff=payoff, bound=bound, exact=made.exact, gap=below)
