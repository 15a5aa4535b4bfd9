"""The recipient's certificate: the approved file, its recipient, purpose and expiry, and how to check the file.

It says nothing that would help an attacker: no threshold, no measured risk, nothing of the tests made or of what the
file may hold beside the data. How far the copy's statistics are from the data's is rounded so that none and little read
alike.
"""

from collections.abc import Iterator
from datetime import datetime

from reports.model import numbers
from reports.model.document import (
    DASH,
    Block,
    Bullets,
    Document,
    Facts,
    Paragraph,
    Section,
    Signatures,
    Table,
    VerdictBox,
    digest_text,
    kept,
    text,
)
from reports.model.record_view import RecordView
from reports.pdf import write_document
from reports.sections.release import delivery_rows
from reports.sections.statistics import reported_changes
from reports.sections.summary import no_random_sample
from reports.templating import rendering
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.plural import listed
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.encryption import SUFFIX


def render_certificate(record: DecisionRecord, approved_at: datetime | None = None) -> bytes:
    """The certificate as tagged PDF/A-3a; ``approved_at`` is when reviewers approved it, if they did."""
    document = certificate(record, approved_at)
    identifier = digest([record.release_id, record.recipient.id, record.dataset.output_sha256])[:32]
    return write_document(document, (), identifier)


def certificate(record: DecisionRecord, approved_at: datetime | None = None) -> Document:
    """The certificate as a document, which raises as ``render_certificate`` does."""
    if record.decision is not Verdict.APPROVED or record.dataset.output_sha256 is None:
        raise StageFailed(
            "a certificate was requested for a release that is not approved",
            where=f"recipient {record.recipient.id}",
            expected="an approved release with its file",
            got=f"the verdict “{record.decision.value}”",
            fix="deliver nothing to this recipient",
        )
    view, approved, short = RecordView(record), approved_at or record.decided_at, numbers.short(record.release_id)
    with rendering("certificate"):
        changes = tuple(_statistics(view))
        parts = (
            ("certificate", "", _approval(view, approved)),
            ("release", "Release", [_release(view)]),
            ("conditions", "Conditions", [_conditions(view)]),
            ("columns", "Columns", _columns(view)),
            *([("statistics", "Statistics of the copy", changes)] if changes else []),
            ("check", "How to check the file", _check(view)),
        )
        return Document(
            kind="Certificate of a data release",
            title=record.title,
            name=f"Certificate {short}: {record.title}",
            author=record.requester,
            description=f"Certificate of an approved data release to {record.recipient.organisation}",
            head=f"Certificate {short} · {record.recipient.id}",
            foot=f"Certificate · {numbers.day(approved)}",
            moment=approved,
            version=record.code.version,
            compact=True,
            sections=[Section(key, title, tuple(blocks)) for key, title, blocks in parts],
        )


def _approval(view: RecordView, approved: datetime) -> Iterator[Block]:
    record, answering = view.record, view.record.answering
    valid = f"from {numbers.day(record.valid_from)} until {numbers.day(record.valid_until)}"
    yield VerdictBox("✓", "Approved for release", "approved", f"to {record.recipient.organisation}, {valid}.")
    yield (
        "This certifies that the file described below has been de-identified and examined under the releasing "
        "organisation's policy, that its release to the recipient named here was approved on "
        f"{numbers.minute(approved)}, and that it is released for the purpose and on the conditions stated. It does "
        "not permit any other use of the file, or passing it on."
    )
    if answering:
        yield (
            f"It was approved by way of exception: {listed(answering)}, for the releasing organisation, "
            f"{'is' if len(answering) == 1 else 'are'} responsible for a departure from the limits of its policy. "
            "The exception holds for this release alone and relaxes none of the conditions below."
        )


def _release(view: RecordView) -> Facts:
    record, recipient, dataset = view.record, view.record.recipient, view.record.dataset
    delivered: list[tuple[str, str]] = []
    if record.delivery:
        delivered = delivery_rows(record.delivery)
    extent = f"{view.cells.count(dataset.rows_out or 0)} records in {numbers.integer(dataset.columns_out)} columns"
    return Facts(
        kept(
            ("Release id", digest_text(record.release_id)),
            ("Recipient", f"{recipient.organisation} ({recipient.id})"),
            ("Purpose", recipient.purpose),
            ("Agreement", f"{recipient.agreement.id}, expires on {numbers.day(recipient.agreement.expires)}"),
            *(("Reviewed by", f"{one.reviewer}, on {numbers.day(one.at)}") for one in record.reviews),
            ("Supersedes", text("release {}", digest_text(record.supersedes))) if record.supersedes else None,
            ("Valid", f"{numbers.day(record.valid_from)} to {numbers.day(record.valid_until)}"),
            ("Dataset", dataset.title),
            ("Source and terms", dataset.source),
            ("File, SHA-256", digest_text(dataset.output_sha256 or "")),
            *delivered,
            ("Extent", extent),
        )
    )


def _conditions(view: RecordView) -> Bullets:
    return Bullets(
        [
            "The file is used for the purpose stated and for no other.",
            "Nobody attempts to identify a person in it, or to learn whether a certain person is in it.",
            "It is not linked with other data about persons, and not passed on to anyone outside the agreement.",
            *(f"{control}." for control in view.record.recipient.controls),
            "A person who recognizes somebody in the file by accident reports it to the releasing organisation "
            "without delay and to nobody else. The same holds for loss of the file or access by others.",
            "The file and all copies are destroyed, and the destruction is confirmed in writing, when the agreement "
            "expires or ends.",
        ],
        "ordered",
    )


def _columns(view: RecordView) -> Iterator[Block]:
    released = [one for one in view.record.fields if one.released]
    if any(one.description for one in released):
        rows = [(one.name, one.delivered_type, one.description or DASH) for one in released]
        yield Table("", "Column 26 | Type 16 | Description 58", rows)
    else:
        yield Table("", "Column 60 | Type 40", [(one.name, one.delivered_type) for one in released])
    yield Paragraph(
        "Values may be given in coarser groups than they were collected in. One column may hold groups beside values "
        "or smaller groups that lie in them, such as a decade beside a year: before you count, bring all values of a "
        "column to one level by its file in “hierarchies”. The data dictionary lists the forms that occur.",
        "note",
    )
    if view.suppressed >= view.cells.limit:
        yield Paragraph("Records in groups too small for the releasing organisation's policy are left out.", "note")
    if biased := no_random_sample(view):
        yield Paragraph(biased, "note")


def _statistics(view: RecordView) -> Iterator[Block]:
    rows = reported_changes(view)
    if rows:
        yield (
            "De-identification changes what is computed from a file. The table gives, rounded, how far columns that "
            "leave ungrouped are from the data as collected: numbers by their mean, other values by their "
            "distribution, as the share of records that would have to change value."
        )
        yield Table(
            "",
            "Column 34 | Mean, in standard deviations 22r | Distribution, share moved 22r | Share of one value, at "
            "most 22r",
            rows,
        )


def _check(view: RecordView) -> Iterator[Block]:
    record, delivery = view.record, view.record.delivery
    if delivery and delivery.encrypted_to:
        clear = delivery.file.removesuffix(SUFFIX)
        yield text(
            "The file is encrypted in the age format (age-encryption.org/v1). Decrypt it with the private half of the "
            "public key named above{}, by age or a program that reads its format; an SSH key's is its `id_…` file. "
            "Then compute the SHA-256 of the decrypted file and compare it with “File, SHA-256” above, digit by "
            "digit. That of the encrypted file is the one under “Delivered as”. If the key named above is not yours, "
            "do not ask for the file in clear: report it.",
            ", or of any one of them" if len(delivery.encrypted_to) > 1 else "",
        )
        yield Paragraph(
            f"age --decrypt --identity KEY_FILE --output {clear} {delivery.file}\nsha256sum {clear}", "code"
        )
    else:
        yield "Compute the SHA-256 of the delivered file and compare it with the one above, digit by digit:"
        yield Paragraph(f"sha256sum {delivery.file if delivery else 'FILE'}", "code")
    yield text(
        "The hashes of the files delivered beside it are in `manifest.json`. The releasing organisation can confirm "
        "from its ledger, by the release id, whether this certificate is genuine and still in force. A file whose hash "
        "differs is not the one certified: do not use it, and report it."
    )
    yield Signatures(
        [
            ("For the releasing organisation", record.requester, "Date, signature"),
            ("Expert", record.expert or DASH, "Date, signature"),
            ("For the recipient", record.recipient.organisation, "Date, signature"),
        ]
    )
