"""What is kept of a validation."""

import numpy as np

from tasks.core.canonical import canonical_json
from tasks.decision.record import ValidationFact
from tasks.validation.projection import CheckResult, evidence_digest, first_positions, project
from tasks.validation.suite import Check, Observation, Skip, Table

EMAIL = Check("email", "no e-mail address", Table.VALUES, "note", "text", "ExpectColumnValuesToNotMatchRegex")
UNIQUE = Check("unique", "unique record id", Table.RECORDS, "id", "code", "ExpectColumnValuesToBeUnique")
PASSED = CheckResult(UNIQUE, passed=True, checked=50, failed=0, positions=())
FAILED = CheckResult(EMAIL, passed=False, checked=50, failed=2, positions=(4, 9))
SKIP = Skip("pattern scan", "no identifier", "note", "the request sets scan: false")
SEEN = Observation("age", "ages over 89", "age", "age", 90)


def test_positions_stay_out_of_the_fact():
    outcome = project([PASSED, FAILED], [SKIP], [(SEEN, 12)])
    assert outcome.positions == {"email/expect_column_values_to_not_match_regex/note": (4, 9)}
    kept = outcome.fact.model_dump()
    assert [check["failed"] for check in kept["checks"]] == [0, 2]
    assert set(kept["checks"][0]) == {"id", "expectation", "column", "passed", "checked", "failed"}
    assert [(skip["column"], skip["reason"]) for skip in kept["skipped"]] == [("note", "the request sets scan: false")]
    assert [(seen["column"], seen["records"]) for seen in kept["observed"]] == [("age", 12)]


def test_one_failure_is_enough_to_fail():
    assert project([PASSED], [], []).fact.passed
    assert project([PASSED], [SKIP], [(SEEN, 12)]).fact.passed
    assert not project([PASSED, FAILED], [], []).fact.passed


def test_the_digest_covers_checks_skips_and_counts_and_survives_storing():
    fact = project([PASSED, FAILED], [SKIP], [(SEEN, 12)]).fact
    stored = ValidationFact.model_validate_json(canonical_json(fact))
    assert evidence_digest(stored.checks, stored.skipped, stored.observed) == fact.evidence_sha256
    others = [
        project([PASSED], [SKIP], [(SEEN, 12)]),
        project([PASSED, FAILED], [], [(SEEN, 12)]),
        project([PASSED, FAILED], [SKIP], [(SEEN, 13)]),
        project([FAILED, PASSED], [SKIP], [(SEEN, 12)]),
    ]
    assert fact.evidence_sha256 not in {other.fact.evidence_sha256 for other in others}
    assert len({other.fact.evidence_sha256 for other in others}) == len(others)


def test_only_the_first_hundred_positions_are_kept():
    assert first_positions(np.ones(300, dtype=np.bool_)) == tuple(range(100))
    assert first_positions(np.array([False, True, False, True])) == (1, 3)
