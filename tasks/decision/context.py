"""The context of a decision: release, program, time, the ledger's head; without assessments, which import slowly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter

from tasks.core.fact import Sha256
from tasks.decision.earlier_facts import EarlierDecision
from tasks.decision.overrides import GateOverrides
from tasks.decision.record import CodeFact
from tasks.ledger.enrolment import EnrolmentFact


@dataclass(frozen=True)
class InvolvedPeople:
    """People of a release by their names, as enrolled when it was asked for."""

    requester_id: str
    requested_by: str
    requester_title: str
    handed_in_by: str
    """Actor of the ledger's entry of the request."""
    reviewers: tuple[str, ...] = ()
    officers: tuple[str, ...] = ()


@dataclass(frozen=True)
class DecisionContext:
    """Circumstances of a decision: identity, program, time, and the ledger's head."""

    release_id: Sha256
    request_sha256: Sha256
    dataset_sha256: Sha256
    population_sha256: Sha256
    code: CodeFact
    seed_commitment_sha256: Sha256
    requested_at: datetime
    people: InvolvedPeople
    decided_at: datetime
    prev_record_sha256: Sha256
    inputs_id: Sha256 | None = None
    """Release id of the same inputs, first decided and without overrides; None where it is this one."""
    overrides: tuple[GateOverrides, ...] = ()
    """Overrides of gates that the release is named by, of all its recipients."""
    supersedes: Mapping[str, Sha256] = field(default_factory=dict)
    """By recipient, the release whose place this one takes."""
    decided_before: Mapping[str, EarlierDecision] = field(default_factory=dict)
    """By recipient, the decision of the same inputs that this one replaces."""
    beside: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """By recipient, the ledger's entries of other copies held by the same party, by their sequence."""
    enrolments: Mapping[str, EnrolmentFact] = field(default_factory=dict)
    """Enrolments of policy, population and register, by their place in the request."""
    tables_sha256: Mapping[str, Sha256] = field(default_factory=dict)
    """By name, the file of each further table."""


CONTEXT = TypeAdapter(DecisionContext)
"""DecisionContext as JSON, and back."""
