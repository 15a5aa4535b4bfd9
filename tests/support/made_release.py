"""A release that was made for the tests of a module: its records and what was delivered."""

from dataclasses import dataclass

import pandas as pd

from flows.gate.outcome import Outcome
from tasks.decision.record import DecisionRecord
from tests.support.world import World


@dataclass(frozen=True)
class Made:
    """One release to some recipients."""

    world: World
    outcome: Outcome

    def record(self, who: str) -> DecisionRecord:
        """The decision on a recipient."""
        return next(record for record in self.outcome.records if record.recipient.id == who)

    def data(self, who: str) -> pd.DataFrame:
        """The file that a recipient got, as text."""
        return pd.read_csv(self.outcome.bundle / "delivery" / who / "data.csv", dtype=str)
