"""The verdict in print, and what of a release was and was not assessed."""

from collections.abc import Callable
from dataclasses import dataclass

from reports import numbers
from reports.document import VerdictBox
from tasks.decision.record import DecisionRecord, NotAssessed, Verdict


def verdict_box(record: DecisionRecord) -> VerdictBox:
    """The verdict and its consequence."""
    who, exception = record.recipient.organisation, ", by exception" if record.answering else ""
    if record.decision is Verdict.APPROVED:
        meaning = (
            f"The file named below may be delivered to {who}, for the purpose and on the terms stated, from "
            f"{numbers.day(record.valid_from)} until {numbers.day(record.valid_until)}."
        )
        return VerdictBox("✓", f"Approved{exception}", "awaiting" if exception else "approved", meaning)
    if record.decision is Verdict.AWAITING_REVIEW:
        need = record.reviews_required
        voters = "the required reviewer has" if need == 1 else f"all {need} required reviewers have"
        meaning = f"The measurements are complete. Nothing may be delivered to {who} before {voters} voted to approve."
        return VerdictBox("◔", f"Awaiting review{exception}", "awaiting", meaning)
    return VerdictBox("✗", "Blocked", "blocked", f"Nothing may be delivered to {who} under this request.")


@dataclass(frozen=True)
class _Test:
    """A test that a determination may lack."""

    key: str
    """Key of the section or part that describes it."""
    stage: str
    keywords: tuple[str, ...]
    """Words by which the record's own entries are known to be about it."""
    meaning: str
    result: Callable[[DecisionRecord], object]
    """What the record holds of it."""


_TESTS = (
    _Test(
        "sequential",
        "Sequential adversary",
        ("sequential", "fmdp"),
        "no sequential adversary was modelled",
        lambda record: record.risk and record.risk.sequential,
    ),
    _Test(
        "combined",
        "Identity × attribute score",
        ("identity × attribute", "attribute disclosure", "combined"),
        "how sensitive the disclosed values are was not scored",
        lambda record: record.risk and record.risk.combined,
    ),
    _Test(
        "linkage",
        "Record linkage",
        ("linkage",),
        "no attack by an intruder who holds the source file was made",
        lambda record: record.risk and record.risk.linkage,
    ),
    _Test(
        "utility",
        "Utility",
        ("utility",),
        "no utility was measured but the information kept",
        lambda record: record.utility,
    ),
    _Test(
        "decoys",
        "Decoys",
        ("decoy",),
        "none were placed, and no leak can be traced by them",
        lambda record: record.decoys,
    ),
)


def stopped(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """The stages that this release did not reach or finish."""
    return record.not_assessed


def tested(record: DecisionRecord) -> str:
    """Tests that the gate made of a file that it could measure, as one list in a sentence."""
    risk, decoys = record.risk, record.decoys
    placed = "placed decoys in the copy"
    if decoys and decoys.detectability:
        placed += " and tested whether they can be distinguished from real classes"
    elif decoys and decoys.collusion:
        placed += " and tested what recipients who compare their copies learn of them"
    done = [
        (True, "validated the file"),
        (True, "generalized it"),
        (bool(record.masking), "masked numbers"),
        (True, "measured the risk from prosecutor, journalist and marketer before and after"),
        (True, "tested what a recipient gains who knows the method"),
        (
            risk is not None and risk.sequential is not None,
            "planned the attack of a sequential adversary, who tries one candidate after another",
        ),
        (risk is not None and risk.combined is not None, "scored identity and attributes together"),
        (
            risk is not None and risk.linkage is not None,
            "linked the release to the source file as an intruder would who holds it",
        ),
        (decoys is not None, placed),
        (record.utility is not None, "measured the utility of the file"),
    ]
    *first, last = [words for was, words in done if was]
    return f"{', '.join(first)}, and {last}"


def not_assessed(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """Tests that are no part of this determination: those the record names, and those of no stage that ran."""
    stages = [entry.stage.lower() for entry in record.not_assessed]
    further = []
    for test in _TESTS:
        named = any(keyword in stage for keyword in test.keywords for stage in stages)
        if not named and not test.result(record):
            why = "The stage was not reached" if record.risk is None else "The stage did not finish"
            if test.key == "decoys":
                why = "No file was made" if record.dataset.output_sha256 is None else "No decoy records were requested"
            further.append(NotAssessed(stage=test.stage, reason=f"{why}: {test.meaning}."))
    return (*record.not_assessed, *further)


def missing_reasons(record: DecisionRecord, key: str) -> str:
    """Why there is nothing to report of a test, by the key of its section or part."""
    test = next(one for one in _TESTS if one.key == key)
    return " ".join(
        entry.reason
        for entry in not_assessed(record)
        if entry.stage == test.stage or any(word in entry.stage.lower() for word in test.keywords)
    )
