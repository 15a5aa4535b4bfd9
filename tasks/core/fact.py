"""Base of all parts of a decision record."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Fact(BaseModel):
    """A part of the record: no unknown fields, never changed after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bin(Fact):
    """Records whose figure lies in (low, high]."""

    low: float
    high: float
    records: int


class Interval(Fact):
    """A confidence interval around an estimate."""

    low: float
    high: float
    level: float
