import io
import re

import pikepdf
import pytest

from reports.certificate import render_certificate
from tasks.core.errors import StageFailed
from tasks.decision.decoy_facts import DecoyFact, StatisticChange
from tasks.decision.record import DecisionRecord, DeliveryFact
from tests.support import decoy_records, records, texts
from tests.support.rendered import certificate_html

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


def test_values_that_are_kept_alone_are_said_to_be_biased_where_others_are_in_groups() -> None:
    record = records.approved()
    assert "no random sample" in texts.seen(certificate_html(record))
    assert record.risk is not None
    whole = [one.model_copy(update={"most_specific_share": 1.0}) for one in record.risk.game.outcomes]
    game = record.risk.game.model_copy(update={"outcomes": tuple(whole)})
    kept = records.changed(record, risk=record.risk.model_copy(update={"game": game}))
    assert "random sample" not in texts.seen(certificate_html(kept))


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


def delivered(file: str, *keys: str) -> DecisionRecord:
    """An approved record whose file is delivered so, to keys of these kinds."""
    record = records.approved()
    encrypted = [{"kind": kind, "fingerprint": f"SHA256:of+{kind}/key"} for kind in keys]
    sha256 = records.sha("ciphertext") if keys else record.dataset.output_sha256
    form = "parquet" if "parquet" in file else "csv"
    told = {"file": file, "format": form, "sha256": sha256, "encrypted_to": encrypted}
    return records.changed(record, delivery=DeliveryFact.model_validate(told))


def test_an_encrypted_file_is_told_with_its_keys_and_how_to_decrypt_and_check_it() -> None:
    record = delivered("data.parquet.age", "age", "ssh-ed25519")
    text = texts.seen(certificate_html(record))
    for part in (
        "data.parquet.age , encrypted in the age format; SHA-256 " + records.sha("ciphertext"),
        "File, SHA-256 " + str(record.dataset.output_sha256),
        "age key SHA256:of+age/key",
        "ssh-ed25519 key SHA256:of+ssh-ed25519/key",
        "any one of them",
        "age --decrypt --identity KEY_FILE --output data.parquet data.parquet.age",
        "sha256sum data.parquet",
    ):
        assert part in text, part
    assert TELLING.search(text) is None
    assert "any one of them" not in texts.seen(certificate_html(delivered("data.csv.age", "ssh-rsa")))


def test_a_file_in_clear_is_checked_by_its_name() -> None:
    text = texts.seen(certificate_html(delivered("data.csv")))
    assert "sha256sum data.csv" in text
    assert "age --decrypt" not in text
    assert "encrypted" not in text.lower().replace("encrypted storage", "")


def test_the_certificate_of_an_encrypted_file_has_two_pages() -> None:
    content = render_certificate(delivered("data.csv.age", "age", "ssh-rsa", "ssh-ed25519"))
    with pikepdf.open(io.BytesIO(content)) as pdf:
        assert len(pdf.pages) == 2


@pytest.fixture(scope="module")
def with_statistics() -> DecisionRecord:
    return records.changed(records.approved(), statistics=decoy_records.statistics())


def test_decoys_change_nothing_but_the_file(with_statistics: DecisionRecord) -> None:
    """The copy with decoys has its own hash and number of records, and statistics that are a little further off."""
    decoyed = decoy_records.approved()
    biased = decoy_records.statistics(1.02)
    assert biased != with_statistics.statistics
    alone = records.changed(with_statistics, dataset=decoyed.dataset)
    assert certificate_html(records.changed(decoyed, statistics=biased)) == certificate_html(alone)


def test_statistics_of_the_copy_are_told_rounded(with_statistics: DecisionRecord) -> None:
    text = texts.seen(certificate_html(with_statistics))
    for part in (
        "Statistics of the copy",
        "capital-gain 0.02 – –",
        "fnlwgt under 0.01",
        "workclass – under 1% under 1%",
        "native-country – about 1% under 1%",
    ):
        assert part in text
    assert TELLING.search(text) is None
    assert "Statistics of the copy" not in texts.seen(certificate_html(records.approved()))


@pytest.mark.parametrize("scale", [0.0, 0.3, 0.6])
def test_no_change_and_little_change_read_alike(with_statistics: DecisionRecord, scale: float) -> None:
    little = records.changed(with_statistics, statistics=decoy_records.statistics(scale))
    none = records.changed(with_statistics, statistics=decoy_records.statistics(0.0))
    assert certificate_html(little) == certificate_html(none)


@pytest.mark.parametrize(("rows", "shown"), [(32_561, "under 1%"), (400, "under 5%"), (120, "under 10%")])
def test_few_changed_records_do_not_follow_from_a_share(with_statistics: DecisionRecord, rows: int, shown: str) -> None:
    """Ten of the records changed value."""
    column = StatisticChange(name="x", kind="categories", total_variation=10 / rows, largest=10 / rows)
    small = records.changed(
        with_statistics,
        dataset=with_statistics.dataset.model_copy(update={"rows_in": rows}),
        statistics=decoy_records.statistics(columns=(column,)),
    )
    assert f"x – {shown} {shown}" in texts.seen(certificate_html(small))


def test_shares_of_a_tiny_file_are_not_shown(with_statistics: DecisionRecord) -> None:
    tiny = with_statistics.dataset.model_copy(update={"rows_in": 60})
    text = texts.seen(certificate_html(records.changed(with_statistics, dataset=tiny)))
    assert "workclass – not shown not shown" in text


def test_statistics_of_no_column_leave_no_heading(with_statistics: DecisionRecord) -> None:
    empty = records.changed(with_statistics, statistics=decoy_records.statistics(columns=()))
    assert certificate_html(empty) == certificate_html(records.approved())


def test_with_its_statistics_it_stays_on_two_pages(with_statistics: DecisionRecord) -> None:
    with pikepdf.open(io.BytesIO(render_certificate(with_statistics))) as pdf:
        assert len(pdf.pages) == 2


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
