import io
import re

import pikepdf
import pytest

from reports.certificate import certificate_html, render_certificate
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.record import DecisionRecord
from tasks.errors import StageFailed
from tests.support import records, texts

TELLING = re.compile(
    r"threshold|decoy|risk|\bgate|attack|attempt pays|payoff|population|suppress|0\.09|0\.01333|policy “", re.I
)


def test_it_says_what_whom_what_for_and_how_to_check() -> None:
    record = records.approved()
    text = texts.seen(certificate_html(record))
    for part in (
        "Approved for release",
        record.release_id,
        str(record.dataset.output_sha256),
        "Cumberland University, Department of Economics",
        "Study of wages by occupation",
        "DUA-2026-014, expires on 31 December 2028",
        "9 March 2026 to 9 March 2027",
        "32,561 records in 16 columns",
        "Encrypted storage on two named servers.",
        "sha256sum FILE",
    ):
        assert part in text
    assert "record_id" not in text


def test_it_tells_an_attacker_nothing() -> None:
    assert TELLING.search(texts.seen(certificate_html(records.approved()))) is None


def test_it_does_not_depend_on_what_it_keeps_back() -> None:
    record = records.approved()
    blocked = records.blocked()
    other = records.changed(
        record,
        gates=record.gates[:3],
        risk=blocked.risk,
        policy=record.policy.model_copy(update={"risk_threshold": 0.5, "sha256": records.sha("other")}),
        decoys=DecoyFact(count=77, commitment_sha256=records.sha("decoys")),
        validation=records.validation_failed().validation,
        not_assessed=(),
        seed_commitment_sha256=records.sha("other seed"),
    )
    assert certificate_html(other) == certificate_html(record)


def test_neither_adversary_nor_penalty_changes_it() -> None:
    record = records.approved()
    assert record.risk is not None
    agreement = record.recipient.agreement.model_copy(update={"penalty": None, "detection_rate": None})
    other = records.changed(
        record,
        risk=record.risk.model_copy(update={"sequential": None, "combined": None}),
        recipient=record.recipient.model_copy(update={"agreement": agreement}),
    )
    assert certificate_html(other) == certificate_html(record)


def test_the_pdf_holds_the_certificate_alone(certificate_pdf: bytes) -> None:
    with pikepdf.open(io.BytesIO(certificate_pdf)) as pdf:
        assert len(pdf.attachments) == 0
        assert "/AF" not in pdf.Root
    assert certificate_pdf == render_certificate(records.approved())


@pytest.mark.parametrize("record", [records.blocked(), records.validation_failed(), records.awaiting_review()])
def test_only_an_approved_release_gets_one(record: DecisionRecord) -> None:
    with pytest.raises(StageFailed, match="not approved"):
        render_certificate(record)


def test_an_approval_without_a_file_gets_none() -> None:
    record = records.approved()
    with pytest.raises(StageFailed, match="not approved"):
        certificate_html(records.changed(record, dataset=record.dataset.model_copy(update={"output_sha256": None})))
