"""The combined score of identity and attributes (Orooji and Knapp 2019) in print.

Rows and sentences only, filled from the record; nothing is measured here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reports import numbers
from tasks.assessments.combined.facts import CombinedFact, Contribution
from tasks.decision.record import DecisionRecord

_SHOWN = 8
_NOTHING_KNOWN = "nothing: any record may be the one"


@dataclass(frozen=True)
class WeightRow:
    """One attribute: how likely it is known, and how sensitive it is."""

    name: str
    role: str
    known: str
    sensitivity: str


@dataclass(frozen=True)
class ContributionRow:
    """A part of all scores."""

    name: str
    share: str


def weight_rows(record: DecisionRecord, fact: CombinedFact) -> tuple[WeightRow, ...]:
    """The attributes that are known with some probability or sensitive, in the order of the file."""
    rows = []
    for field in record.fields:
        known, sensitivity = fact.known_probabilities.get(field.name), fact.sensitivities.get(field.name)
        if known or sensitivity is not None:
            rows.append(
                WeightRow(
                    field.name,
                    field.role,
                    "0" if known is None else numbers.risk(known),
                    "–" if sensitivity is None else numbers.plain(sensitivity),
                )
            )
    return tuple(rows)


def contribution_rows(parts: Sequence[Contribution]) -> tuple[ContributionRow, ...]:
    """The largest parts of all scores."""
    return tuple(
        ContributionRow(", ".join(part.attributes) or _NOTHING_KNOWN, numbers.percent(min(part.share, 1.0)))
        for part in parts[:_SHOWN]
    )


def known_sets_text(fact: CombinedFact) -> str:
    """How many sets of attributes were counted, and which not."""
    sets = f"{numbers.integer(fact.known_sets)} known set{'' if fact.known_sets == 1 else 's'}"
    if fact.epsilon is None:
        return f"all {sets} of a probability above 0"
    return f"the {sets} of a probability above ε"
