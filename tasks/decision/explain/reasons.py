"""The strongest reasons for a verdict: gates ranked by how far beyond its threshold each figure is.

The measure is (figure − threshold) / |threshold| for a gate that asks for at most, and its negative for one that asks
for at least: 0.5 is half as much again as allowed, −0.5 half of it. A failed condition, a figure that was not measured
and one above a threshold of 0 are beyond by any factor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.decision.record import GateResult

STRONGEST = 3
"""Reasons that an explanation names."""


@dataclass(frozen=True)
class Reason:
    """A gate, and how far beyond its threshold its figure is."""

    gate: GateResult
    beyond: float
    """Relative to the threshold; positive where the gate failed, infinite where no factor says it."""

    @property
    def failed(self) -> bool:
        """Whether it keeps the release from being approved."""
        return not self.gate.passed or self.beyond > 0


def strongest_reasons(gates: Sequence[GateResult], most: int = STRONGEST) -> tuple[Reason, ...]:
    """The reasons of a verdict, the strongest first; equally strong ones in the order of the record.

    Parameters
    ----------
    gates : sequence of GateResult
        All gates of the decision.
    most : int
        Reasons to name.

    Returns
    -------
    tuple of Reason
        Where a gate failed, those that did, furthest beyond first. Where none did, the tightest: those whose figures
        are nearest to their thresholds. Conditions that are fulfilled have no distance and are none.
    """
    reasons = [Reason(gate, _beyond(gate)) for gate in gates]
    failed = [reason for reason in reasons if reason.failed]
    chosen = failed or [reason for reason in reasons if math.isfinite(reason.beyond)]
    return tuple(sorted(chosen, key=lambda reason: -reason.beyond)[:most])


def _beyond(gate: GateResult) -> float:
    if gate.comparison == "is" or gate.measured is None:
        return -math.inf if gate.passed and gate.measured is not None else math.inf
    over = gate.measured - gate.threshold
    over = over if gate.comparison == "at most" else -over
    if gate.threshold == 0:
        return math.copysign(math.inf, over) if over else 0.0
    return over / abs(gate.threshold)
