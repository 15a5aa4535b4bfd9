"""k-anonymity in the decision record: the demands, the node that meets them, and its information loss."""

from pydantic import Field

from tasks.core.fact import Fact


class KAnonymityFact(Fact):
    """Optimal k-anonymity of one recipient's file, by itself or after another method."""

    k: int
    suppression_limit: float
    people: int | None = Field(default=None, description="Least people who match a class; None where not demanded.")
    demands: tuple[str, ...] = Field(description="What each class must have, in words.")
    kinds: tuple[str, ...] = Field(description="Privacy models whose papers a report cites, by their policy terms.")
    local_recoding: bool
    metric: str
    levels: dict[str, int] = Field(description="Least level of each attribute; lifted records have others.")
    value: float = Field(description="What the file loses by the metric, suppressed records included.")
    value_before_lifting: float
    suppressed_records: int = Field(description="By these demands; a minimum class size may suppress more.")
    lifted_records: int
    nodes_evaluated: int
    nodes_total: int
    proven_optimal: bool
    lower_bound: float
