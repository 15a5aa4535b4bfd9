"""Fines and detection in the decision record: the game against the sequential adversary, under other values."""

from pydantic import Field

from tasks.core.fact import Fact


class PenaltyPoint(Fact):
    """The recipient's method against the recipient as a sequential adversary, at one penalty and one detection.

    The figures use n_T, the group sizes of a recipient who knows the rule; suppressed records are worth nothing and are
    not attacked. All but the group size are None where the method gives no file.
    """

    penalty: float = Field(description="Paid for an attempt that is noticed, units.")
    detection: float = Field(description="Probability that the first attempt is noticed.")
    publisher_payoff: float | None = Field(description="Mean over the records that came in, units a record.")
    recipient_payoff: float | None = Field(description="Mean over the records that came in, units a record.")
    information_kept: float | None = Field(description="Mean over the records that came in, 0 to 1.")
    attacked_share: float | None = Field(
        description="Of the records that came in, those that are released and attacked."
    )
    reidentifications: float | None = Field(description="Expected, in records.")
    safe_group: float | None = Field(description="People from whom on a group is left alone; None: none is.")


class PenaltiesFact(Fact):
    """Value of fines and detection: the publisher's best response to each pair, all other terms unchanged."""

    method: str
    belief: str = Field(description="What the sequential adversary knows of groups, or that access is paid anyway.")
    penalties: tuple[float, ...] = Field(description="Of the rows, ascending.")
    detections: tuple[float, ...] = Field(description="Of the columns, ascending.")
    points: tuple[PenaltyPoint, ...] = Field(description="Row by row: all detections of the first penalty, and so on.")
    own: PenaltyPoint = Field(
        description="Under the recipient's own penalty and detection, against a sequential adversary."
    )
    games: int = Field(description="Games solved; pairs that change nothing for the recipient share one.")
