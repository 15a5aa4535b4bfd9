"""The verdict in print, and what of a release was and was not assessed."""

from collections.abc import Mapping

from reports.model import numbers
from reports.model.document import VerdictBox, kept, said, sentence_start
from tasks.assessments.dates.facts import STAGE
from tasks.decision.record import DecisionRecord, NotAssessed, RecipientFact, Verdict
from tasks.decision.standing import AWAITING_SIGNATURE
from tasks.ledger.enrolment import EnrolmentFact
from tasks.request.model import Role


def verdict_box(record: DecisionRecord) -> VerdictBox:
    """The verdict and its consequence."""
    who, exception = record.recipient.organisation, ", by exception" if record.answering else ""
    if record.decision is Verdict.APPROVED:
        meaning = (
            f"The file named below may be delivered to {who}, for the purpose and on the terms stated, from "
            f"{numbers.day(record.valid_from)} until {numbers.day(record.valid_until)}."
        )
        unsigned = _unsigned(record)
        by = " by the gates" if unsigned and not exception else ""
        title = f"Approved{by}{exception}"
        return VerdictBox("✓", title, "awaiting" if exception else "approved", said(meaning, unsigned))
    if record.decision is Verdict.AWAITING_REVIEW:
        need = record.reviews_required
        voters = "the required reviewer has" if need == 1 else f"all {need} required reviewers have"
        if record.expert_signs:
            meaning = (
                f"The gates have passed; that is no determination yet. Nothing may be delivered to {who} before the "
                f"expert has signed and {voters} voted to approve."
            )
            passed = AWAITING_SIGNATURE[0].upper() + AWAITING_SIGNATURE[1:]
            return VerdictBox("◔", f"{passed}{exception}", "awaiting", meaning)
        meaning = f"The measurements are complete. Nothing may be delivered to {who} before {voters} voted to approve."
        return VerdictBox("◔", f"Awaiting review{exception}", "awaiting", meaning)
    return VerdictBox("✗", "Blocked", "blocked", f"Nothing may be delivered to {who} under this request.")


def _unsigned(record: DecisionRecord) -> str | None:
    """Sentence on an approval that waited for nobody's vote or signature; None elsewhere."""
    if record.reviews_required or record.expert_signs:
        return None
    policy = f"the policy “{record.policy.id}”, version {record.policy.version},"
    signed = "it does not wait for the expert's signature" if record.expert else "no qualified person has signed"
    lets = f"lets it leave without an expert or a reviewer, and {signed}."
    if record.answering:
        return sentence_start(f"{policy} {lets}")
    return (
        f"“Approved” means that the file passed every test (gate) of {policy} by measurement, and not that a person "
        f"has judged it: the policy {lets}"
    )


def basis_of_amounts(recipient: RecipientFact) -> str:
    """Sentence on where benefit, loss and cost come from."""
    if recipient.basis is None:
        return "The request does not state where the amounts come from."
    return f"Where the amounts come from, as the request states it: “{recipient.basis}”."


_TESTS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "sequential": ("Sequential adversary", ("sequential", "fmdp"), "no sequential adversary was modelled"),
    "combined": (
        "Identity × attribute score",
        ("identity × attribute", "combined"),
        "how sensitive the disclosed values are was not scored",
    ),
    "linkage": ("Record linkage", ("linkage",), "no attack by an intruder who holds the original file was made"),
    "singling_out": (
        "Singling out by a few columns",
        ("singling out",),
        "sets of other columns than the quasi-identifiers were not searched",
    ),
    "attribute": (
        "Attribute disclosure",
        ("attribute disclosure",),
        "what the records of a class share was not counted",
    ),
    "columns": (
        "Released columns",
        ("released columns",),
        "whether other columns reveal the quasi-identifiers was not checked",
    ),
    "events": ("Rows of people", ("rows of people",), "what the rows of a person reveal was not counted"),
    "dates": (
        "Shifted and relative dates",
        (STAGE,),
        "how many people known dates identify was not counted",
    ),
    "text": ("Text", ("text",), "what released text reveals about people was not measured"),
    "utility": ("Utility", ("utility",), "no utility was measured but the information kept"),
    "decoys": ("Decoys", ("decoy",), "no decoys were placed, and no leak can be traced by them"),
}
"""Tests that a determination may lack, by the key of their section or part: stage, words by which the record's own
entries are known to be about it, and what their absence means."""


def _results(record: DecisionRecord) -> dict[str, object]:
    risk = record.risk
    return {
        "sequential": risk and risk.sequential,
        "combined": risk and risk.combined,
        "linkage": risk and risk.linkage,
        "singling_out": record.further.get("singling_out"),
        "attribute": record.further.get("attribute"),
        "columns": record.further.get("columns"),
        "events": record.further.get("events") or record.dataset.rows is None,
        "dates": record.further.get("dates") or all(one.stage != STAGE for one in record.not_assessed),
        "text": record.further.get("text") or not _has_text(record),
        "utility": record.utility,
        "decoys": record.decoys,
    }


def _has_text(record: DecisionRecord) -> bool:
    return any(field.role == Role.TEXT for field in record.fields)


def tested(record: DecisionRecord) -> str:
    """Tests that the gate made of a file that it could measure, as one list in a sentence."""
    found, decoys = _results(record), record.decoys
    placed = "placed decoys in the copy"
    if decoys and decoys.detectability:
        placed += " and tested whether they can be distinguished from real classes"
    elif decoys and decoys.collusion:
        placed += " and tested what recipients who compare their copies learn of them"
    *first, last = kept(
        "validated the file",
        "made it coarser (generalized it)",
        "masked numbers" if record.masking else None,
        "measured, before and after, the risk from somebody who knows that a person is in the file (prosecutor), from "
        "somebody who does not (journalist), and of the records on average (marketer)",
        "tested what a recipient gains who knows the method",
        "planned repeated attempts, at one candidate after another (sequential adversary)"
        if found["sequential"]
        else None,
        "scored in one figure who is found and what that discloses" if found["combined"] else None,
        "matched the release with the source file as an intruder would who holds it (record linkage)"
        if found["linkage"]
        else None,
        "searched the released columns for sets that single records out" if found["singling_out"] else None,
        "counted what groups of alike records (classes) disclose" if found["attribute"] else None,
        "counted people instead of rows, and what classes disclose of these rows"
        if record.further.get("events")
        else None,
        "counted the people whom known dates identify" if record.further.get("dates") else None,
        "judged what every released column reveals about those that others may know (quasi-identifiers)"
        if found["columns"]
        else None,
        "replaced identifiers in text, and measured how well they are found"
        if _has_text(record) and record.further.get("text")
        else None,
        placed if decoys else None,
        "measured the utility of the file" if found["utility"] else None,
    )
    return f"{', '.join(first)}, and {last}"


def not_assessed(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """Tests that are no part of this determination: those the record names, and those of no stage that ran."""
    stages, results = [entry.stage.lower() for entry in record.not_assessed], _results(record)
    further = []
    for key, (stage, keywords, meaning) in _TESTS.items():
        if not results[key] and not any(keyword in one for keyword in keywords for one in stages):
            why = "The stage was not reached:" if record.risk is None else "The stage did not finish:"
            if key == "decoys":
                why = "No decoy records were requested, so"
                if record.dataset.output_sha256 is None:
                    why = "No file was made, so"
            further.append(NotAssessed(stage=stage, reason=f"{why} {meaning}."))
    return (*record.not_assessed, *further)


def missing_reasons(record: DecisionRecord, key: str) -> str:
    """Why there is nothing to report of a test, by the key of its section or part."""
    stage, keywords, _ = _TESTS[key]
    return " ".join(
        entry.reason
        for entry in not_assessed(record)
        if entry.stage == stage or any(word in entry.stage.lower() for word in keywords)
    )


def enrolled(fact: EnrolmentFact | None) -> str:
    """Clause on who enrolled a policy or a population; empty for records of earlier versions."""
    if fact is None:
        return ""
    by = f"by {fact.by}" if fact.by else "at the workspace's first enrolment"
    return f"; accepted for use (enrolled) {by} on {numbers.day(fact.at.date())}"
