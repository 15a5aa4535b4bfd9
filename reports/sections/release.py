"""The release in its context: who gets what, the data and their fields, conditions, history, and how to check it."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import (
    Block,
    Bullets,
    Facts,
    Heading,
    Paragraph,
    Row,
    Table,
    alike,
    digest_text,
    kept,
    lines,
    named,
    small,
    strong,
    text,
)
from reports.model.methods import method_text, treatment_text
from reports.model.population import basis
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN
from reports.model.statements import enrolled
from tasks.adversary.derived_profile import UNSTATED_DETECTION
from tasks.assessments.identity.facts import FieldFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.canonical import digest
from tasks.core.plural import plural
from tasks.decision.record import DecisionRecord, DeliveryFact, PopulationFact
from tasks.request.model import PopulationBasis, Role


def context(view: RecordView) -> Iterator[Block]:
    """The Five Safes, and earlier releases to the recipient."""
    record, recipient, agreement = view.record, view.record.recipient, view.record.recipient.agreement
    penalty = "It states no penalty for an attempt to identify somebody."
    if agreement.penalty is not None:
        detected = f", not counted: {UNSTATED_DETECTION}"
        if agreement.detection_rate is not None:
            rate = numbers.risk(agreement.detection_rate)
            rising = ", more with each attempt" if (agreement.detection_slope or 0) > 0 else ""
            detected = f", which is expected to be detected with a probability of {rate}{rising}"
        ends = "it is assumed to end with the first breach" if agreement.ends_on_breach else "no breach ends it"
        penalty = (
            f"It sets a penalty of {numbers.amount(agreement.penalty)} units for a detected attempt to identify "
            f"somebody{detected}; {ends}."
        )
    people = (
        f"{recipient.organisation}, recipient “{recipient.id}”, under agreement {agreement.id}, which expires on "
        f"{numbers.day(agreement.expires)}. {penalty}"
    )
    profile = view.sequential.profile if view.sequential else None
    counted = "No risk figure was lowered on their account."
    if profile and (profile.penalty > 0 or profile.access_cost > 0):
        counted = "Penalty and fees, where declared, lower the figures of section E10.1 and no others."
    data = "Not generalized: the release stopped at an earlier stage."
    if record.risk:
        masked = f" {named(view.masked)} masked;" if view.masked else ""
        data = (
            f"{method_text(record.risk.game.method).title}; direct identifiers removed;{masked} risk measured against "
            "the population named under Data."
        )
    controls = f"{'; '.join(recipient.controls)}." if recipient.controls else "No control at the recipient is declared."
    yield Table(
        "The release in its context, by the Five Safes (Desai, Ritchie and Welpton 2016)",
        "Dimension 13 | Stated or found 53 | Verified by the gate 34",
        [
            ("Project", recipient.purpose, "No: the purpose is the request's statement."),
            (
                "People",
                people,
                "That the agreement is in force on the day of the decision; not that its penalty is enforced.",
            ),
            ("Settings", controls, f"No: declared, not audited. {counted}"),
            ("Data", data, f"Yes: the {'figures' if record.risk else 'validation result'} of this document."),
            (
                "Outputs",
                "The agreement governs what the recipient publishes from the file.",
                "No: outputs of the recipient are outside the gate.",
            ),
        ],
    )
    if recipient.prior_release_ids:
        yield Paragraph("Earlier releases to this recipient, to be read together with the present one:", "intro")
        yield Bullets([digest_text(release) for release in recipient.prior_release_ids])
    else:
        yield "The request names no earlier release to this recipient."


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
            *_rows(view),
            ("Lineage", _lineage(view)),
            *(delivery_rows(record.delivery) if record.delivery else []),
        ],
        "The file that came in and the file that would be released",
    )
    if dataset.tables:
        yield from _tables(view)
    yield Facts(
        [
            ("Source", f"{population.source}{enrolled(population.enrolled)}"),
            *([] if population.basis is PopulationBasis.TABLE else [("Counted in", basis(population))]),
            (
                "People",
                f"{view.cells.count(population.people)} in {numbers.integer(population.distinct_tuples)} distinct "
                "combinations of quasi-identifier values",
            ),
            ("Sampling fraction", f"{numbers.percent(population.sampling_fraction)} (records over people)"),
            *([("Does not fit", _misfits(population))] if population.misfits else []),
        ],
        "The population that risk is measured against",
    )


def _rows(view: RecordView) -> Iterator[tuple[str, str]]:
    """Rows in and out where a person can have several; those of few suppressed people are not shown."""
    rows = view.record.dataset.rows
    if rows is None:
        return
    yield "Rows in", f"{numbers.integer(rows.rows_in)} of the people who are the records, named by {rows.person}"
    if rows.rows_out is not None:
        yield "Rows out", HIDDEN if view.few_suppressed else numbers.integer(rows.rows_out)


def _tables(view: RecordView) -> Iterator[Block]:
    """Further tables: their rows before and after, the rows that theirs are within, and how their keys leave."""
    dataset = view.record.dataset

    def out(rows: int | None) -> str:
        if rows is None:
            return "none"
        return HIDDEN if view.few_suppressed else numbers.integer(rows)

    yield Table(
        "Further tables of the same people",
        "Table 18 | Rows in 12r | Rows out 12r | Columns out 12r | Within 14 | Key 32",
        [
            (
                one.name,
                numbers.integer(one.rows_in),
                out(one.rows_out),
                f"{numbers.integer(one.columns_out)} of {numbers.integer(one.columns_in)}",
                one.within or "the person",
                f"{one.key}: {one.key_leaves}" if one.key else "none",
            )
            for one in dataset.tables
        ],
    )
    person = str(dataset.rows and dataset.rows.person)
    yield Paragraph(
        f"Every row of a table is of a person of the dataset, named by {person}; keys have the same pseudonyms in all "
        "tables of a copy. The files that leave are checked: no row is there without its person, or without the row "
        "that it is within.",
        "note",
    )


def _misfits(population: PopulationFact) -> str:
    """Columns that do not fit the population, and what that may mean."""
    columns = ", ".join(f"{one.column} ({numbers.percent(one.share)})" for one in population.misfits)
    return (
        f"{columns}: at least this share of the records would need another value to be distributed as in the "
        "population. Either the data are a selected part of it, or it is the wrong population for them."
    )


def _lineage(view: RecordView) -> str:
    record, decoys = view.record, view.record.decoys
    read = "The source file was read once and coded; direct identifiers were dropped"
    if record.risk is None:
        return f"{read}; nothing was generalized or written, because the release stopped before."
    suppressed, left_out = view.left_out[0], ""
    if suppressed != "0":
        count, groups = "some" if suppressed == HIDDEN else suppressed, view.suppressed_from[0]
        left_out = f", and {count} records{' in ' + groups if groups else ''} were suppressed"
    elsewhere = ", classes that only other recipients keep left out" if decoys and decoys.kept_per_decoy else ""
    steps = kept(
        read,
        f"each record's quasi-identifiers were replaced by the groups that the method chose{left_out}",
        f"{named(view.masked)} {'was' if len(view.masked) == 1 else 'were'} masked" if view.masked else None,
        f"the dates of {', '.join(view.dated)} were shifted, or counted from an index event" if view.dated else None,
        "the other columns were copied unchanged",
        f"decoys were added{elsewhere}, and all rows put in an order that discloses nothing" if decoys else None,
    )
    return "; ".join(steps) + "."


def delivery_rows(delivery: DeliveryFact) -> list[tuple[str, str]]:
    """The file as its recipient gets it."""
    if not delivery.encrypted_to:
        return [("Delivered as", text("`{}`, in clear", delivery.file))]
    keys = (text("{} key {}", key.kind, digest_text(key.fingerprint)) for key in delivery.encrypted_to)
    form = text("`{}`, encrypted in the age format; SHA-256 {}", delivery.file, digest_text(delivery.sha256))
    return [("Delivered as", form), ("Encrypted to", lines(*keys))]


def fields(view: RecordView) -> Iterator[Block]:
    """The field inventory."""
    record = view.record
    removed, unreviewed = sum(not field.released for field in record.fields), view.fields(Role.UNREVIEWED)
    yield (
        "Every column of the source file with its declared role, the probability that its value is publicly known of a "
        "person (availability), its number of distinct values (distinguishability), and its treatment. "
        f"{numbers.integer(len(record.fields) - removed)} columns may be released; {numbers.integer(removed)} "
        f"{'is' if removed == 1 else 'are'} not."
    )
    if unreviewed:
        yield f"Withheld because nobody has reviewed them: {view.names(Role.UNREVIEWED)}."
    yield from _pseudonyms(record)
    yield Table(
        "Fields, roles and treatment",
        "Field 24 | Role 15 | Type 9 | Publicly known 10r | Distinct values 10r | Treatment 32",
        [(strong(row[0]), *row[1:]) for row in alike(map(_field_row, record.fields))],
    )


def _field_row(field: FieldFact) -> Row:
    known = field.known_probability
    return (
        field.name,
        field.role,
        field.type,
        small("not stated") if known is None else numbers.percent(known),
        numbers.integer(field.distinct_values),
        lines(treatment_text(field.treatment), *map(small, kept(*_said_of(field)))),
    )


def _pseudonyms(record: DecisionRecord) -> Iterator[Block]:
    """Making of pseudonyms, records that they link, and place of the crosswalk."""
    if record.pseudonyms is None:
        return
    for one in record.pseudonyms.columns:
        scope = (
            "for this recipient and this release. They link this copy to no other."
            if one.project is None
            else f"for this recipient and the project {one.project}. With them the recipient can join this copy, "
            f"record by record, with its other copies of {one.project}; copies of one party are judged by that link."
        )
        yield (
            f"The column {one.column} holds pseudonyms ({one.format}) of the identifier {one.identifier}, keyed "
            f"by HMAC-SHA-256 with the workspace's key {scope}"
            + (" Several rows have the same pseudonym." if one.repeats else "")
        )
    sealed = record.pseudonyms.crosswalk_sha256
    if sealed is not None:
        yield text(
            "The crosswalk from pseudonyms to identifiers is sealed, for incident response alone; commitment {}.",
            digest_text(sealed),
        )


def _said_of(field: FieldFact) -> Iterator[str | None]:
    yield field.description or None
    yield f"Role confirmed by {field.confirmed}" if field.confirmed else None
    yield f"Excused by {field.excused}" if field.excused else None


def _deterring(fact: SequentialFact | None) -> list[str]:
    """Events that end what the release declares to deter from repeated attempts."""
    if fact is None:
        return []
    profile, others = fact.profile, [one.access_cost for one in fact.profile.resources[1:]]
    return kept(
        "a fee for external data is dropped" if profile.access_cost or any(others) else None,
        "a register is opened" if others else None,
        "a penalty or its detection lapses" if profile.penalty else None,
    )


def conditions(view: RecordView) -> Iterator[Block]:
    """Conditions, re-certification and monitoring."""
    record, recipient, sequential = view.record, view.record.recipient, view.sequential
    until = numbers.day(record.valid_until)
    if view.blocked:
        yield text(
            "Nothing may be delivered, so that no condition of use arises. A new request may be made once the reasons "
            "on the first page are dealt with; `releasegate explain {}` names the smallest change that would alter "
            "the verdict.",
            numbers.short(record.release_id),
        )
        return
    fine = None
    if sequential and sequential.profile.penalty > 0:
        worth = view.risk.game.adversary != "one-shot"
        rests = "the count of records worth attacking and the figures" if worth else "the figures"
        fine = (
            "The releasing organisation maintains the controls that detect attempts to identify somebody and "
            f"claims the penalty for them, {numbers.amount(sequential.profile.penalty)} units: {rests} of section "
            "E10.1 rest on both."
        )
    yield Heading("Conditions of the release")
    yield Bullets(
        kept(
            f"The file goes to {recipient.organisation} and nobody else, for this purpose: "
            f"{recipient.purpose.rstrip('.')}.",
            f"Agreement {recipient.agreement.id} stays in force; it expires on "
            f"{numbers.day(recipient.agreement.expires)}. On expiry the file is destroyed or the agreement renewed.",
            "The recipient makes no attempt to identify anyone, and does not link the file with other data about "
            "persons or pool it with another copy of these records.",
            fine,
            f"Declared controls, to be maintained: {'; '.join(recipient.controls)}." if recipient.controls else None,
            f"No new delivery is made after {until}, when this determination lapses "
            f"({plural(record.policy.validity_days, 'day')} at most). Its lapse does not affect deliveries made "
            "before.",
        ),
        "ordered",
    )
    yield Heading("Events that make a new determination necessary")
    yield Bullets(
        kept(
            "the source file, the released columns, the groups of values (hierarchies), the policy or the program "
            "change;",
            "the recipient, the purpose, the agreement, the controls or the amounts of section 3 (stakes) change;",
            f"{' or '.join(deterring)};" if (deterring := _deterring(sequential)) else None,
            "a newer or better population table becomes available, or another public source with the same attributes;"
            if record.population.basis in {PopulationBasis.TABLE, PopulationBasis.TABLE_AND_FILE}
            else "a population table becomes available, or another public source with the same attributes;",
            "another release to this recipient, or to one who may share with it, draws on the same people;",
            "an incident, an attempted re-identification or a published attack concerns this kind of data.",
        )
    )
    days = record.policy.reassess_days
    again = f"is to be assessed again every {plural(days, 'day')} at least" if days else "can be assessed again"
    yield (
        f"A delivered copy {again}, with the population, policy, terms and program of the day and all earlier releases "
        "of the same people to the recipient. The ledger records each re-assessment, and a changed verdict is reported."
    )


_COUNTED = {
    PopulationBasis.TABLE: "Population table",
    PopulationBasis.TABLE_AND_FILE: "Population table",
    PopulationBasis.FILE: "Population, the source file",
    PopulationBasis.SAMPLE: "People counted, the source file",
}


def reproduction(view: RecordView) -> Iterator[Block]:
    """Inputs of the decision, and ways to check it."""
    record, dataset = view.record, view.record.dataset
    same = "the same figures, and with the same workspace key the same file"
    if record.decoys:
        same = (
            "except for the decoys and what depends on them, the same figures; decoys are drawn at random and sealed, "
            "so that no key reproduces them"
        )
    yield text(
        f"The same request, data, population, policy and code give the same release id and {same}. The decision record "
        "attached to the determination (`decision.json`) is authoritative; both documents render it."
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
            (_COUNTED[record.population.basis], digest_text(record.population.sha256)),
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
        "Inputs of the decision, as SHA-256",
    )
    commit, _, changes = record.code.commit.partition("+")
    if changes:
        yield text(
            "The program that decided differed from this commit: its files held changes that no commit records, named "
            "by `{}`. With the commit alone the release id is a different one.",
            changes,
        )
    yield Paragraph("To check this decision from a checkout of the program:", "intro")
    yield Paragraph(
        f"git checkout {commit}\nmake setup\nreleasegate verify releases/{record.release_id}\nreleasegate verify "
        f"ledger\nreleasegate explain {record.release_id}",
        "code",
    )
    yield text(
        "`verify` compares every file of the bundle with the hashes recorded here and re-reads the released file; "
        "`verify ledger` checks the hash chain; `explain` solves the game again and names the smallest change of a "
        "term or threshold that flips the verdict. To check a delivered file alone: `sha256sum FILE`. The identity of "
        "this document is the digest of the decision record, not the PDF's own hash."
    )


def history(view: RecordView) -> Iterator[Block]:
    """Who requested and who decided."""
    record = view.record
    supersedes = text(
        "release {}, for this recipient, from the moment at which this release may be delivered",
        digest_text(record.supersedes or ""),
    )
    before = text("release {}: the same inputs without overrides", digest_text(record.inputs_id or ""))
    votes = f"{numbers.integer(len(record.reviews))} of {numbers.integer(record.reviews_required)} votes cast"
    yield Facts(
        kept(
            ("Requested", f"{numbers.minute(record.requested_at)}, by {record.requester}"),
            ("Decided by the gate", numbers.minute(record.decided_at)),
            ("Expert", record.expert or "not named in the request"),
            ("Expert's signature", "must come before the votes") if record.expert_signs else None,
            ("Supersedes", supersedes) if record.supersedes else None,
            ("Blocked before as", before) if record.overrides else None,
            ("Reviews", votes if record.reviews_required else "none required"),
            ("Votes", "each signed with the reviewer's registered key") if record.signed_votes else None,
        ),
        "Request and decision",
    )
    overrides = [(gate.title, gate.overridden) for gate in view.overridden if gate.overridden]
    if overrides:
        yield Table(
            "Gates that have failed and are overridden",
            "Gate 24 | Officer 16 | Reason 32 | Recorded 28",
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
        yield (
            "An override is used for one release, within the days that the policy gives it, and covers no figure worse "
            "than the one that the officer saw. An officer who made one does not review the release."
        )
    if record.reviews and len(record.reviews) >= record.reviews_required:
        yield cast_votes(record)
    elif record.reviews_required:
        yield text(
            "Votes stay closed until all are cast, so that no reviewer follows another. The decision of the reviewers "
            "is recorded in the ledger under this release id and, if they approve, in a determination after review, "
            "`approval/{}.pdf` of the bundle; this document stays as it was when the gate decided.",
            record.recipient.id,
        )


def cast_votes(record: DecisionRecord) -> Table:
    """The votes, once all are cast."""
    return Table(
        "Votes",
        "Reviewer 18 | Role 16 | Vote 12 | Reason 34 | At 20",
        [(one.reviewer, one.role, one.vote, one.reason, numbers.minute(one.at)) for one in record.reviews],
    )
