"""The reports under test, each rendered once."""

import io
from collections.abc import Callable, Iterator

import pikepdf
import pytest

from reports.certificate import render_certificate
from reports.determination import render_determination, render_evidence
from tasks.decision.record import DecisionRecord
from tests.support import decoy_records, records

MAKERS: dict[str, Callable[[], DecisionRecord]] = {
    "approved": records.approved,
    "blocked": records.blocked,
    "blocked by planning": records.blocked_by_planning,
    "without adversaries": records.without_adversaries,
    "validation failed": records.validation_failed,
    "awaiting review": records.awaiting_review,
    "with decoys": decoy_records.approved,
}


@pytest.fixture(params=MAKERS)
def any_record(request: pytest.FixtureRequest) -> DecisionRecord:
    return MAKERS[request.param]()


@pytest.fixture(scope="session")
def approved_pdf() -> bytes:
    return render_determination(records.approved())


@pytest.fixture(scope="session")
def evidence_pdf() -> bytes:
    return render_evidence(records.approved())


@pytest.fixture(scope="session")
def certificate_pdf() -> bytes:
    return render_certificate(records.approved())


@pytest.fixture(scope="session", params=["determination", "evidence", "validation failed", "certificate"])
def document(
    request: pytest.FixtureRequest, approved_pdf: bytes, evidence_pdf: bytes, certificate_pdf: bytes
) -> Iterator[tuple[str, pikepdf.Pdf]]:
    """Each kind of PDF, opened by another library than the one that wrote it."""
    made = {"determination": approved_pdf, "evidence": evidence_pdf, "certificate": certificate_pdf}
    content = made.get(request.param) or render_evidence(records.validation_failed())
    with pikepdf.open(io.BytesIO(content)) as pdf:
        yield request.param, pdf
