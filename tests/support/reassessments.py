"""Records of re-assessments, put together by hand."""

from datetime import UTC, date, datetime
from typing import Any

from tasks.core.canonical import digest
from tasks.decision.record import DecisionRecord
from tasks.reassessment.record import Reassessment, ReassessmentInputs, TodaysVerdict
from tests.support.records import approved

_DAY = datetime(2026, 4, 1, 9, tzinfo=UTC)


def inputs_like(decided: DecisionRecord) -> ReassessmentInputs:
    """The inputs of a decision, as those of a re-assessment in a world that has not changed."""
    sequential = None if decided.risk is None else decided.risk.sequential
    return ReassessmentInputs(
        record_sha256=digest(decided),
        delivered_sha256="0" * 64,
        request_sha256="0" * 64,
        request_from="where it lay",
        dataset_sha256=decided.dataset.source_sha256,
        population_sha256=decided.population.sha256,
        external_sha256=None if sequential is None else sequential.external.sha256,
        code=decided.code,
        in_force=True,
        lapsing=(),
        others=(),
        hindrances=(),
    )


def reassessment(*, small_cell: int = 11, **changes: Any) -> Reassessment:
    """A re-assessment by which everything holds, but for some changes."""
    decided = approved()
    policy = decided.policy.model_copy(update={"small_cell": small_cell})
    fields: dict[str, Any] = {
        "release_id": "0" * 64,
        "recipient": "university",
        "organisation": "A university",
        "title": "A release",
        "released_at": _DAY,
        "reassessed_at": _DAY,
        "verdict": TodaysVerdict.HOLDS,
        "before": TodaysVerdict.HOLDS,
        "because": (),
        "causes": (),
        "gates": (),
        "coalitions": (),
        "lapses": (),
        "not_measured": (),
        "people_then": 1000,
        "people": 1000,
        "rows_in": 40,
        "rows": 36,
        "decoyed": False,
        "policy": policy,
        "policy_then": policy,
        "every_days": 90,
        "due": date(2026, 4, 1),
        "next_due": date(2026, 6, 30),
        "inputs": inputs_like(decided),
    }
    return Reassessment(**{**fields, **changes})
