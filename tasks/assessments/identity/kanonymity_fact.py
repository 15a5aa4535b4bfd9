"""k-anonymity in the decision record: the demands, the node that meets them, and its information loss."""

from pydantic import Field

from tasks.generalization.table import KAnonymityOutcome


class KAnonymityFact(KAnonymityOutcome):
    """Optimal k-anonymity of one recipient's file, by itself or after another method."""

    k: int
    suppression_limit: float
    people: int | None = Field(default=None, description="Least people who match a class; None where not demanded.")
    demands: tuple[str, ...] = Field(description="What each class must have, in words.")
    kinds: tuple[str, ...] = Field(description="Privacy models whose papers a report cites, by their policy terms.")
    local_recoding: bool
