"""Facts of coalitions that may pool a copy with others."""

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.facts import CoalitionFact
from tasks.assessments.identity.identity import transparent_risk
from tasks.candidate.coalition import Coalition
from tasks.generalization.game import Follower
from tasks.generalization.play import CountIndex, Generalization


def coalition_fact(
    table: CountIndex, played: Generalization, kept: NDArray[np.bool_], coalition: Coalition, follower: Follower
) -> CoalitionFact:
    """Risk of one copy's records from a coalition, for the record.

    Parameters
    ----------
    table : CountIndex
    played : Generalization
        The copy alone.
    kept : array of shape (n_tuples,)
        Whether the copy has each tuple's records.
    coalition : Coalition
    follower : Follower
        The recipient of the copy.
    """
    copy, records = coalition.copy, table.data.counts[kept]
    people, effective = copy.people[kept], copy.effective[kept]
    seen, reidentified = transparent_risk(people, effective, records, follower), follower.reidentified(effective)
    return CoalitionFact(
        recipients=coalition.recipients,
        narrowed_share=float(records[people < played.people[kept]].sum() / records.sum()),
        smallest_group=seen.smallest_effective_group,
        maximum_risk=seen.maximum_risk,
        attacked_share=seen.attacked_share,
        expected_reidentifications=seen.expected_reidentifications,
        mean_reidentification=float(records @ reidentified / records.sum()),
        maximum_reidentification=float(reidentified.max()),
    )
