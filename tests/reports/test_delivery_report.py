"""How a determination tells the form in which the file is delivered, and the keys that it is encrypted to."""

import pytest

from tasks.decision.record import DecisionRecord, DeliveryFact
from tests.support import records, texts
from tests.support.rendered import determination_html


def told(record: DecisionRecord) -> str:
    return texts.seen(determination_html(record))


def delivered(**changes: object) -> DecisionRecord:
    record = records.approved()
    fact = {"file": "data.csv", "format": "csv", "sha256": record.dataset.output_sha256} | changes
    return records.changed(record, delivery=DeliveryFact.model_validate(fact))


def test_a_file_in_clear_is_told_by_its_name() -> None:
    assert "Delivered as data.parquet , in clear" in told(delivered(file="data.parquet", format="parquet"))


def test_an_encrypted_file_is_told_with_its_hash_and_its_keys() -> None:
    keys = [{"kind": kind, "fingerprint": f"SHA256:of+{kind}/key"} for kind in ("age", "ssh-rsa")]
    text = told(delivered(file="data.csv.age", sha256=records.sha("ciphertext"), encrypted_to=keys))
    assert f"Delivered as data.csv.age , encrypted in the age format; SHA-256 {records.sha('ciphertext')}" in text
    assert "Encrypted to age key SHA256:of+age/key ssh-rsa key SHA256:of+ssh-rsa/key" in text
    assert f"Output file {records.approved().dataset.output_sha256}" in text


@pytest.mark.parametrize("record", [records.blocked(), records.approved()])
def test_where_no_delivery_is_recorded_none_is_told(record: DecisionRecord) -> None:
    assert "Delivered as" not in told(record)
