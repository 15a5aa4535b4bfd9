"""The statements of a determination that follow from the facts of its record: verdict and scope.

Sentences only: each is chosen and filled from the record, none rests on a figure computed here.
"""

from dataclasses import dataclass

from reports import numbers
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.record import DecisionRecord, NotAssessed, Verdict
from tasks.request.model import Role


@dataclass(frozen=True)
class Statement:
    """A numbered statement: a few words that name it and the sentences themselves."""

    title: str
    text: str


@dataclass(frozen=True)
class VerdictText:
    """The verdict in print: a sign, the words, and what they mean for the file."""

    sign: str
    words: str
    css: str
    meaning: str


def verdict_text(record: DecisionRecord) -> VerdictText:
    """The verdict and its consequence, in one sentence."""
    who, exception = record.recipient.organisation, ", by exception" if record.answering else ""
    if record.decision is Verdict.APPROVED:
        meaning = (
            f"The file named below may be delivered to {who}, for the purpose and on the terms stated, "
            f"from {numbers.day(record.valid_from)} until {numbers.day(record.valid_until)}."
        )
        return VerdictText("✓", f"Approved{exception}", "awaiting" if exception else "approved", meaning)
    if record.decision is Verdict.AWAITING_REVIEW:
        need = record.reviews_required
        meaning = (
            f"The measurements are complete. Nothing may be delivered to {who} before "
            f"{'the required reviewer has' if need == 1 else f'all {need} required reviewers have'} voted to approve."
        )
        return VerdictText("◔", f"Awaiting review{exception}", "awaiting", meaning)
    return VerdictText("✗", "Blocked", "blocked", f"Nothing may be delivered to {who} under this request.")


def names(columns: list[str] | tuple[str, ...]) -> str:
    """Names of columns in a sentence; “none” where there are none."""
    return ", ".join(columns) if columns else "none"


def with_role(record: DecisionRecord, *roles: Role) -> tuple[str, ...]:
    """Names of the record's columns with one of the roles."""
    return tuple(field.name for field in record.fields if field.role in roles)


@dataclass(frozen=True)
class _Test:
    """A test that a determination may lack."""

    key: str
    """Key of the section or part that describes it."""
    stage: str
    keywords: tuple[str, ...]
    """Words by which the record's own entries are known to be about it."""
    meaning: str
    is_stage: bool
    """Whether it is a stage of every release, or made only where it is asked for."""


_TESTS = (
    _Test(
        "sequential",
        "Sequential adversary",
        ("sequential", "fmdp"),
        "no recipient who plans was modelled",
        is_stage=True,
    ),
    _Test(
        "combined",
        "Identity × attribute score",
        ("identity × attribute", "attribute disclosure", "combined"),
        "how sensitive the disclosed values are was not scored",
        is_stage=True,
    ),
    _Test(
        "linkage",
        "Record linkage",
        ("linkage",),
        "no attack by an intruder who holds the source file was made",
        is_stage=True,
    ),
    _Test("utility", "Utility", ("utility",), "no utility was measured but the information kept", is_stage=True),
    _Test("decoys", "Decoys", ("decoy",), "none were placed, and no leak can be traced by them", is_stage=False),
)
_NO_RELEASE_HAS = ("decoy records",)
"""Stages, in lower case, by which records of earlier versions name tests that no release had."""


def stopped(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """The stages that this release did not reach or finish, without the tests that no release had."""
    return tuple(entry for entry in record.not_assessed if entry.stage.lower() not in _NO_RELEASE_HAS)


def tested(record: DecisionRecord) -> str:
    """Tests that the gate made of a file that it could measure, as one list in a sentence."""
    risk = record.risk
    done = [
        "validated the file",
        "generalized it",
        *(["masked numbers"] if record.masking else []),
        "measured the risk from prosecutor, journalist and marketer before and after",
        "tested what a recipient gains who knows the method",
    ]
    if risk is not None and risk.sequential is not None:
        done.append("planned the attack of a recipient who tries one candidate after another")
    if risk is not None and risk.combined is not None:
        done.append("scored identity and attributes together")
    if risk is not None and risk.linkage is not None:
        done.append("linked the release to the source file as an intruder would who holds it")
    if record.decoys is not None:
        done.append(_placed(record.decoys))
    if record.utility is not None:
        done.append("measured what the file is still good for")
    return f"{', '.join(done[:-1])}, and {done[-1]}"


def _placed(fact: DecoyFact) -> str:
    if fact.detectability is not None:
        return "placed decoys in the copy and tested whether they can be told from real classes"
    if fact.collusion:
        return "placed decoys in the copy and tested what recipients learn of them who compare their copies"
    return "placed decoys in the copy"


def not_assessed(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """Tests that are no part of this determination: those the record names, and those of no stage that ran."""
    stages = [entry.stage.lower() for entry in record.not_assessed]
    made = _made(record)
    further = []
    for test in _TESTS:
        named = any(keyword in name for keyword in test.keywords for name in stages)
        if not named and test.stage not in made:
            why = "The stage was not reached" if record.risk is None else "The stage did not finish"
            if not test.is_stage:
                why = "No file was made" if record.dataset.output_sha256 is None else "No decoy records were asked for"
            further.append(NotAssessed(stage=test.stage, reason=f"{why}: {test.meaning}."))
    return (*record.not_assessed, *further)


def unfinished(record: DecisionRecord) -> dict[str, tuple[str, ...]]:
    """Why there is nothing to report of a test, by the key of its section or part."""
    missing = not_assessed(record)
    return {
        test.key: tuple(
            entry.reason
            for entry in missing
            if entry.stage == test.stage or any(word in entry.stage.lower() for word in test.keywords)
        )
        for test in _TESTS
    }


def _made(record: DecisionRecord) -> set[str]:
    """The tests that the record holds results of."""
    risk = record.risk
    results = (
        risk.sequential if risk else None,
        risk.combined if risk else None,
        risk.linkage if risk else None,
        record.utility,
        record.decoys,
    )
    return {test.stage for test, result in zip(_TESTS, results, strict=True) if result is not None}
