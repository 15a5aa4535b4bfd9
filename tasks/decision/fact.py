"""What all parts of a decision record have in common."""

from pydantic import BaseModel, ConfigDict


class Fact(BaseModel):
    """A part of the record: no unknown fields, never changed after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bin(Fact):
    """Records whose figure lies in (low, high]."""

    low: float
    high: float
    records: int
