"""The part of a validation that may be kept: counts and positions, never a value.

The counts go into the decision record. The positions are for the data steward who mends the file; they are returned
apart, and belong neither in the record nor in a report.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.core.canonical import digest
from tasks.decision.record import CheckFact, ObservedCount, SkippedCheck, ValidationFact
from tasks.validation.suite import Check, Observation, Skip

MOST_POSITIONS = 100
"""Positions kept for each check."""


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check."""

    check: Check
    passed: bool
    checked: int
    """Records looked at, or columns for a check of the table's columns."""
    failed: int
    """How many of them do not meet the expectation; above 0 also where the check tolerates some and passed."""
    positions: tuple[int, ...]
    """The first of the records that do not, counted from 0."""


@dataclass(frozen=True)
class ValidationOutcome:
    """Results of validation: a fact for the record, and places for the steward alone."""

    fact: ValidationFact
    positions: dict[str, tuple[int, ...]]
    """For the id of each check with failures, the first record positions, counted from 0."""


def first_positions(failed: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Positions of the first failing records, at most ``MOST_POSITIONS``.

    >>> first_positions(np.array([False, True, True]))
    (1, 2)
    """
    return tuple(np.flatnonzero(failed)[:MOST_POSITIONS].tolist())


def project(
    results: Iterable[CheckResult], skipped: Iterable[Skip], observed: Iterable[tuple[Observation, int]]
) -> ValidationOutcome:
    """Reduce results to what may be kept.

    Parameters
    ----------
    results : iterable of CheckResult
        One for each check of the suite, in its order.
    skipped : iterable of Skip
        Checks that the request opted out of.
    observed : iterable of (Observation, int)
        Counts of records without a verdict.

    Returns
    -------
    ValidationOutcome
        Passed only where every check passed; a skipped check has no verdict.
    """
    kept = tuple(results)
    checks = tuple(
        CheckFact(
            id=result.check.id,
            expectation=result.check.expectation,
            column=result.check.column,
            passed=result.passed,
            checked=result.checked,
            failed=result.failed,
        )
        for result in kept
    )
    left_out = tuple(
        SkippedCheck(
            id=f"{skip.kind}/{skip.column}", expectation=skip.expectation, column=skip.column, reason=skip.reason
        )
        for skip in skipped
    )
    counts = tuple(
        ObservedCount(
            id=f"{seen.kind}/{seen.column}", description=seen.description, column=seen.column, records=records
        )
        for seen, records in observed
    )
    fact = ValidationFact(
        passed=all(check.passed for check in checks),
        checks=checks,
        skipped=left_out,
        observed=counts,
        evidence_sha256=evidence_digest(checks, left_out, counts),
    )
    return ValidationOutcome(fact, {result.check.id: result.positions for result in kept if result.positions})


def evidence_digest(
    checks: Iterable[CheckFact], skipped: Iterable[SkippedCheck], observed: Iterable[ObservedCount]
) -> str:
    """SHA-256 of the canonical JSON of checks, skipped checks and counts."""
    parts = {"checks": checks, "skipped": skipped, "observed": observed}
    return digest({name: [part.model_dump(mode="json") for part in facts] for name, facts in parts.items()})
