"""The release in its context: who gets what, the data and their fields, conditions, history, and how to check it."""

import hashlib
from collections.abc import Iterator, Mapping

from reports import numbers
from reports.document import (
    Block,
    Bullets,
    Column,
    Facts,
    Heading,
    Paragraph,
    Table,
    digest_text,
    lines,
    plural,
    small,
    strong,
    text,
)
from reports.methods import method_text, treatment_text
from reports.record_view import RecordView
from reports.smallcell import HIDDEN
from tasks.core.canonical import digest
from tasks.decision.record import DeliveryFact
from tasks.request.model import Role


def context(view: RecordView) -> Iterator[Block]:
    """The Five Safes, and earlier releases to the recipient."""
    record, recipient, agreement = view.record, view.record.recipient, view.record.recipient.agreement
    people = (
        f"{recipient.organisation}, recipient “{recipient.id}”, under agreement {agreement.id}, which expires on "
        f"{numbers.day(agreement.expires)}. "
    )
    if agreement.penalty is None:
        people += "It states no penalty for an attempt to identify somebody."
    else:
        detected = (
            ""
            if agreement.detection_rate is None
            else f", which is expected to be detected with a probability of {numbers.risk(agreement.detection_rate)}"
        )
        people += (
            f"It sets a penalty of {numbers.amount(agreement.penalty)} units for a detected attempt to identify "
            f"somebody{detected}; the first breach {'ends it' if agreement.ends_on_breach else 'does not end it'}."
        )
    profile = view.sequential.profile if view.sequential else None
    counted = "No risk figure was lowered on their account."
    if profile and (profile.penalty > 0 or profile.access_cost > 0):
        counted = "Penalty and fees, where declared, lower the figures of section 12.1 and no others."
    data = "Not generalized: the release stopped at an earlier stage."
    if record.risk:
        masked = f" {', '.join(view.masked)} masked;" if view.masked else ""
        data = (
            f"{method_text(record.risk.game.method).title}; direct identifiers removed;{masked} risk measured against "
            "the population named under Data."
        )
    yield Paragraph(
        "The risk of a release lies in the data and in what surrounds them. The table follows the Five Safes (Desai, "
        "Ritchie and Welpton 2016); the last column says what the gate itself verified."
    )
    yield Table(
        "The release in its context",
        (Column("Dimension", 13), Column("Stated or found", 53), Column("Verified by the gate", 34)),
        [
            ("Project", recipient.purpose, "No: the purpose is the request's statement."),
            (
                "People",
                people,
                "That the agreement is in force on the day of the decision; not that its penalty is enforced.",
            ),
            (
                "Settings",
                f"{'; '.join(recipient.controls)}."
                if recipient.controls
                else "No control at the recipient is declared.",
                f"No: declared, not audited. {counted}",
            ),
            ("Data", data, f"Yes: the {'figures' if record.risk else 'validation result'} of this document."),
            (
                "Outputs",
                "The agreement governs what the recipient publishes from the file.",
                "No: outputs of the recipient are outside the gate.",
            ),
        ],
    )
    yield Heading("Earlier releases to this recipient")
    if recipient.prior_release_ids:
        yield Paragraph("They are to be read together with the present one:", "intro")
        yield Bullets([digest_text(release) for release in recipient.prior_release_ids])
    else:
        yield Paragraph("The request names none.")
    if record.supersedes:
        yield Paragraph(
            text(
                "For this recipient it supersedes release {}, under which nothing more is delivered from the moment "
                "at which this one may be delivered.",
                digest_text(record.supersedes),
            )
        )


def data(view: RecordView) -> Iterator[Block]:
    """The file that came in, the one that would be released, and the population."""
    record, dataset, population, decoys = view.record, view.record.dataset, view.record.population, view.record.decoys
    columns = f"in {numbers.integer(dataset.columns_out)} columns"
    if dataset.rows_out is None:
        measured = f" ({view.cells.part(view.released, view.rows_in)} were measured for release)" if record.risk else ""
        records_out = f"none: no file was made{measured}"
    elif decoys:
        real = view.cells.part(dataset.rows_out - decoys.count, view.rows_in)
        records_out = f"{real} of those that came in and {numbers.integer(decoys.count)} decoys, {columns}"
    else:
        records_out = f"{view.cells.part(dataset.rows_out, view.rows_in)} {columns}"
    yield Facts(
        [
            ("Title", dataset.title),
            ("Source and terms", dataset.source),
            ("Records in", f"{view.cells.count(view.rows_in)} in {numbers.integer(dataset.columns_in)} columns"),
            ("Records out", records_out),
            ("Source, SHA-256", digest_text(dataset.source_sha256)),
            ("Output, SHA-256", digest_text(dataset.output_sha256) if dataset.output_sha256 else "no file was made"),
            *(delivery_rows(record.delivery) if record.delivery else []),
        ],
        "The file that came in and the file that would be released",
    )
    yield Facts(
        [
            ("Source", population.source),
            (
                "People",
                f"{view.cells.count(population.people)} in {numbers.integer(population.distinct_tuples)} distinct "
                "combinations of quasi-identifier values",
            ),
            ("Sampling fraction", f"{numbers.percent(population.sampling_fraction)} (records over people)"),
            ("Table, SHA-256", digest_text(population.sha256)),
        ],
        "The population that risk is measured against",
    )
    yield Paragraph(
        f"Lineage: the source file was read once and coded; direct identifiers were dropped; {_lineage(view)}"
    )


def _lineage(view: RecordView) -> str:
    record, decoys = view.record, view.record.decoys
    if record.risk is None:
        return "nothing was generalized or written, because the release stopped before."
    steps = ["each record's quasi-identifiers were replaced by the groups that the method chose"]
    suppressed, game = view.left_out[0], record.risk.game
    if suppressed != "0":
        demand = (
            "that do not meet the policy's demands"
            if game.k_anonymity
            else f"smaller than {numbers.integer(game.minimum_class_size)}"
        )
        steps[0] += (
            f", and {'some' if suppressed == HIDDEN else suppressed} records in classes {demand} were suppressed"
        )
    if view.masked:
        steps.append(f"{', '.join(view.masked)} {'was' if len(view.masked) == 1 else 'were'} masked")
    steps.append("the other columns were copied unchanged")
    if decoys:
        kept = ", classes that only other recipients keep left out" if decoys.kept_per_decoy else ""
        steps.append(f"decoys were added{kept}, and all rows put in an order that discloses nothing")
    return "; ".join(steps) + "."


def delivery_rows(delivery: DeliveryFact) -> list[tuple[str, str]]:
    """The file as its recipient gets it."""
    if not delivery.encrypted_to:
        return [("Delivered as", text("`{}`, in clear", delivery.file))]
    keys = (text("{} key {}", key.kind, digest_text(key.fingerprint)) for key in delivery.encrypted_to)
    return [
        (
            "Delivered as",
            text("`{}`, encrypted in the age format; SHA-256 {}", delivery.file, digest_text(delivery.sha256)),
        ),
        ("Encrypted to", lines(*keys)),
    ]


def fields(view: RecordView) -> Iterator[Block]:
    """The field inventory."""
    record = view.record
    removed = len(view.fields(Role.DIRECT))
    yield Paragraph(
        "Every column of the source file with the role that the request declares, the probability that its value is "
        "publicly known of a person (availability), its number of distinct values (distinguishability), and its "
        "treatment. How stable a value is over time (replicability) was not rated: every quasi-identifier counts as "
        "if it never changed, which overstates the risk where it does. "
        f"{numbers.integer(len(record.fields) - removed)} columns may be released; {numbers.integer(removed)} "
        f"{'is' if removed == 1 else 'are'} not."
    )
    yield Table(
        "Fields, roles and treatment",
        (
            Column("Field", 17),
            Column("Role", 16),
            Column("Type", 10),
            Column(lines("Publicly", "known"), 11, "figure"),
            Column(lines("Distinct", "values"), 11, "figure"),
            Column("Treatment", 35),
        ),
        [
            (
                strong(field.name),
                field.role,
                field.type,
                small("not stated") if field.known_probability is None else numbers.percent(field.known_probability),
                numbers.integer(field.distinct_values),
                lines(treatment_text(field.treatment), small(field.description) if field.description else ""),
            )
            for field in record.fields
        ],
    )


def conditions(view: RecordView) -> Iterator[Block]:
    """Conditions, re-certification and monitoring."""
    record, recipient, sequential = view.record, view.record.recipient, view.sequential
    until = numbers.day(record.valid_until)
    if view.blocked:
        yield Paragraph(
            text(
                "Nothing may be delivered, so that no condition of use arises. A new request may be made once the "
                "reasons on the first page are dealt with; `releasegate explain {}` names the smallest change that "
                "would alter the verdict.",
                numbers.short(record.release_id),
            )
        )
    else:
        yield Heading("Conditions of the release")
        items = [
            f"The file goes to {recipient.organisation} and nobody else, for this purpose: {recipient.purpose}",
            f"Agreement {recipient.agreement.id} stays in force; it expires on "
            f"{numbers.day(recipient.agreement.expires)}. On expiry the file is destroyed or the agreement renewed.",
            "The recipient makes no attempt to identify anyone and does not link the file with other data about "
            "persons.",
        ]
        if sequential and sequential.profile.penalty > 0:
            items.append(
                "The releasing organization maintains the controls that detect attempts to identify somebody and "
                f"claims the penalty for them, {numbers.amount(sequential.profile.penalty)} units: the figures of "
                "section 12.1 rest on both."
            )
        items += [f"Declared control, to be maintained: {control}" for control in recipient.controls]
        items.append(
            f"No new delivery is made after {until}, when this determination lapses "
            f"({plural(record.policy.validity_days, 'day')} at most). Its lapse does not affect deliveries made "
            "before."
        )
        yield Bullets(items, "ordered")
    yield Heading("What makes a new determination necessary")
    yield Bullets(
        [
            "the source file, the fields released or the hierarchies change;",
            "the recipient, the purpose, the agreement, the controls or the stakes change;",
            *(
                [
                    "a term of the recipient's profile changes: a fee for external data is dropped, a penalty or its "
                    "detection lapses, a register is opened;"
                ]
                if sequential
                else []
            ),
            "a newer or better population table becomes available, or another public source with the same attributes;",
            "another release to this recipient, or to one who may share with it, draws on the same people;",
            "the policy, a threshold or the program changes;",
            "an incident, an attempted re-identification or a published attack concerns this kind of data;",
            f"the determination lapses{'' if view.blocked else f' on {until}'}.",
        ]
    )
    days = record.policy.reassess_days
    again = f"is to be assessed again every {plural(days, 'day')} at least" if days else "can be assessed again"
    yield Paragraph(
        f"A delivered copy {again}: the same bytes with the population, the policy, the terms and the program of the "
        "day, and together with all earlier releases of the same people to the recipient. The ledger records each "
        "re-assessment beside this determination, and a changed verdict is reported. A re-assessment changes no "
        "state; a new determination needs a new request."
    )


def reproduction(view: RecordView, evidence: Mapping[str, bytes]) -> Iterator[Block]:
    """What the decision was computed from, and how to check it."""
    record, dataset = view.record, view.record.dataset
    same = "the same figures, and with the same workspace key the same file"
    if record.decoys:
        same = (
            "except for the decoys and what depends on them, the same figures; decoys are drawn at random and "
            "sealed, so that no key reproduces them"
        )
    yield Paragraph(
        text(
            "The same request, data, population, policy and code give the same release id and "
            + same
            + ". The decision record attached to this PDF (`decision.json`) is the truth that this document renders."
        )
    )
    known = (record.validation.evidence_sha256, dataset.output_sha256)
    yield Facts(
        [
            ("Release id", digest_text(record.release_id)),
            ("Decision record", digest_text(digest(record))),
            ("Program", text("releasegate {}, commit {}", record.code.version, digest_text(record.code.commit))),
            ("Requirements lock", digest_text(record.code.lock_sha256)),
            ("Request", digest_text(record.request_sha256)),
            ("Policy", digest_text(record.policy.sha256)),
            ("Source file", digest_text(dataset.source_sha256)),
            ("Population table", digest_text(record.population.sha256)),
            ("Output file", digest_text(dataset.output_sha256) if dataset.output_sha256 else "none was made"),
            ("Validation result", digest_text(record.validation.evidence_sha256)),
            *(
                (f"Evidence of {gate.id}", digest_text(gate.evidence_sha256))
                for gate in record.gates
                if gate.evidence_sha256 and gate.evidence_sha256 not in known
            ),
            ("Seed commitment", digest_text(record.seed_commitment_sha256)),
            ("Ledger head before", digest_text(record.prev_record_sha256)),
        ],
        "What the decision was computed from",
    )
    if evidence:
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(evidence.items())}
        yield Facts(
            [(name, digest_text(sha256)) for name, sha256 in hashes.items()],
            "Files attached beside the decision record",
        )
    commit, _, changes = record.code.commit.partition("+")
    if changes:
        yield Paragraph(
            text(
                "The program that decided differed from this commit: its files held changes that no commit records, "
                "named by `{}`. With the commit alone the release id is a different one.",
                changes,
            )
        )
    yield Paragraph("To check this decision from a checkout of the program:", "intro")
    yield Paragraph(
        f"git checkout {commit}\nmake setup\nreleasegate verify releases/{record.release_id}\nreleasegate verify "
        f"ledger\nreleasegate explain {record.release_id}",
        "code",
    )
    yield Paragraph(
        text(
            "`verify` compares every file of the bundle with the hashes recorded here and re-reads the released "
            "file; `verify ledger` checks the hash chain; `explain` solves the game again and names the smallest "
            "change of a term or threshold that flips the verdict. To check a delivered file alone: `sha256sum FILE`."
        )
    )
    yield Paragraph(
        "The bytes of this PDF are the same for the same record and the same installed requirements and text "
        "libraries; its identity is the digest of the decision record, not the PDF's own hash.",
        "note",
    )


def history(view: RecordView) -> Iterator[Block]:
    """Who requested and who decided."""
    record = view.record
    yield Facts(
        [
            ("Requested", f"{numbers.minute(record.requested_at)}, by {record.requested_by}"),
            ("Decided by the gate", numbers.minute(record.decided_at)),
            ("Expert", record.expert or "not named in the request"),
            *(
                [
                    (
                        "Supersedes",
                        text(
                            "release {}, for this recipient, from the moment at which this release may be delivered",
                            digest_text(record.supersedes),
                        ),
                    )
                ]
                if record.supersedes
                else []
            ),
            *(
                [
                    (
                        "Blocked before as",
                        text("release {}: the same inputs without overrides", digest_text(record.inputs_id)),
                    )
                ]
                if record.inputs_id
                else []
            ),
            (
                "Reviews",
                f"{numbers.integer(record.reviews_required)} required, {numbers.integer(len(record.reviews))} in",
            ),
        ],
        "Who requested and who decided, and when",
    )
    overrides = [(gate.title, gate.overridden) for gate in view.overridden if gate.overridden]
    if overrides:
        yield Table(
            "Gates that have failed and are overridden",
            (Column("Gate", 24), Column("Officer", 16), Column("Reason", 32), Column("Recorded", 28)),
            [
                (
                    title,
                    one.officer,
                    one.reason,
                    lines(
                        numbers.minute(one.at),
                        small(text("ledger entry {}", digest_text(one.entry_sha256))),
                        small(text("on release {}", digest_text(one.release_id))),
                        small(f"usable until {numbers.day(one.valid_until)}"),
                    ),
                )
                for title, one in overrides
            ],
        )
        yield Paragraph(
            "An override is used for one release, within the days that the policy gives it, and covers no figure "
            "worse than the one that the officer saw. Whoever answers for one does not review the release."
        )
    if record.reviews and len(record.reviews) >= record.reviews_required:
        yield Table(
            "Votes",
            (Column("Reviewer", 18), Column("Role", 16), Column("Vote", 12), Column("Reason", 34), Column("At", 20)),
            [(one.reviewer, one.role, one.vote, one.reason, numbers.minute(one.at)) for one in record.reviews],
            whole=True,
        )
    elif record.reviews:
        yield Paragraph("Votes stay closed until all are in, so that no reviewer follows another.")
    elif record.reviews_required:
        yield Paragraph(
            text(
                "No vote is in, and the release waits. Votes stay closed until all are in. What the reviewers decide "
                "is recorded in the ledger under this release id and, if they approve, in `approval/{}.json` of the "
                "bundle; this document stays as it was when the gate decided.",
                record.recipient.id,
            )
        )
