"""The statements of a determination that follow from the facts of its record: verdict, assumptions, scope.

Sentences only: each is chosen and filled from the record, none rests on a figure computed here.
"""

from dataclasses import dataclass

from reports import numbers
from reports.methods import method_text
from reports.smallcell import SmallCellRule
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
    who = record.recipient.organisation
    if record.decision is Verdict.APPROVED:
        meaning = (
            f"The file named below may be delivered to {who}, for the purpose and on the terms stated, "
            f"from {numbers.day(record.valid_from)} until {numbers.day(record.valid_until)}."
        )
        return VerdictText("✓", "Approved", "approved", meaning)
    if record.decision is Verdict.AWAITING_REVIEW:
        need = record.reviews_required
        meaning = (
            f"The measurements are complete. Nothing may be delivered to {who} before "
            f"{'the required reviewer has' if need == 1 else f'all {need} required reviewers have'} voted to approve."
        )
        return VerdictText("◔", "Awaiting review", "awaiting", meaning)
    return VerdictText("✗", "Blocked", "blocked", f"Nothing may be delivered to {who} under this request.")


def names(columns: list[str] | tuple[str, ...]) -> str:
    """Names of columns in a sentence; “none” where there are none."""
    return ", ".join(columns) if columns else "none"


def with_role(record: DecisionRecord, *roles: Role) -> tuple[str, ...]:
    """Names of the record's columns with one of the roles."""
    return tuple(field.name for field in record.fields if field.role in roles)


def assumptions(record: DecisionRecord) -> tuple[Statement, ...]:
    """What the determination rests on, from the facts of the record."""
    statements = [*_of_knowledge(record), *_of_population(record)]
    if record.risk is not None:
        statements += _of_game(record)
    return tuple(statements + _of_context(record))


def _of_knowledge(record: DecisionRecord) -> list[Statement]:
    quasi = names(with_role(record, Role.QUASI))
    others = names(with_role(record, Role.SENSITIVE, Role.INSENSITIVE))
    return [
        Statement(
            "What a recipient can know",
            f"A recipient may know every person's values of {quasi}, exactly and without error. The other released "
            f"columns ({others}) are taken not to be available elsewhere together with a name. Where that is wrong the "
            "risk is higher than stated.",
        ),
        Statement(
            "One record a person",
            "Each record stands for one person, and no two records for the same person. The validation stage checks "
            "that "
            "record keys are unique; it cannot see a person entered under two keys.",
        ),
        Statement(
            "What a recipient knows of the method",
            "The recipient is taken to know the hierarchies, the rule of generalization, its parameters and the "
            "population table, but not the workspace key and not the source file.",
        ),
    ]


def _of_population(record: DecisionRecord) -> list[Statement]:
    population = record.population
    return [
        Statement(
            "The population table",
            f"“{population.source}” counts {numbers.integer(population.people)} people by the quasi-identifiers and is "
            "taken to be right: a group that the table overstates is riskier than stated. The file holds "
            f"{numbers.percent(population.sampling_fraction)} as many records as the table has people, and the "
            "subjects of "
            "the file are taken to belong to that population.",
        )
    ]


def _of_game(record: DecisionRecord) -> list[Statement]:
    risk = record.risk
    if risk is None:
        return []
    recipient, game = record.recipient, risk.game
    by = "people" if game.cell_weights == "population" else "records"
    cells = (
        f" The cells of the partition are weighted by the {by} in them." if method_text(game.method).partitions else ""
    )
    return [
        Statement(
            "A recipient who counts costs",
            "The recipient attempts a record when its expected gain exceeds its cost: "
            f"{numbers.amount(recipient.gain)} units "
            f"gained from a re-identified record, {numbers.amount(recipient.cost)} units spent on an attempt. A "
            "recipient who "
            "gains more, spends less, or acts out of other motives is outside this assumption; the risk figures of the "
            "prosecutor, journalist and marketer do not depend on it.",
        ),
        Statement(
            "Stakes as declared",
            f"The publisher's benefit of {numbers.amount(recipient.benefit)} units a record and loss of "
            f"{numbers.amount(recipient.loss)} units a re-identified record are the requester's estimates, in one "
            "currency. "
            "Only their ratios matter.",
        ),
        Statement(
            "Single attempts",
            "Each record is attempted once and by itself. An adversary who plans a sequence of attempts and learns "
            "from "
            "each, or who is deterred by detection, is not modelled.",
        ),
        *_of_ungated(record),
        Statement(
            "Weights",
            f"Information loss is weighted as listed under the method.{cells} Other weights give another file.",
        ),
    ]


def _of_ungated(record: DecisionRecord) -> list[Statement]:
    """What is taken for granted because no gate limits it: an attacker who knows that a person is in the file."""
    risk = record.risk
    gated = any(gate.id.startswith("prosecutor.") for gate in record.gates)
    if risk is None or gated or risk.residual.prosecutor.maximum <= risk.threshold:
        return []
    return [
        Statement(
            "Presence in the file is not known",
            "The recipient is taken not to know who is in the file. One who knows that a certain person is in it finds "
            f"that person's record with a probability of up to {numbers.risk(risk.residual.prosecutor.maximum)} "
            "(prosecutor). No gate of this policy limits that risk.",
        )
    ]


def _of_context(record: DecisionRecord) -> list[Statement]:
    recipient = record.recipient
    earlier = len(recipient.prior_release_ids)
    differencing = (
        f"The request names {numbers.integer(earlier)} earlier release{'s' if earlier > 1 else ''} to this "
        "recipient. What "
        "follows from putting the files side by side was not measured."
        if earlier
        else "The request names no earlier release to this recipient. What would follow from putting a later file "
        "beside "
        "this one was not measured."
    )
    return [
        Statement("Earlier releases", differencing),
        Statement(
            "Copies are not pooled",
            "Each recipient's copy is generalized for its own stakes. Recipients who put their copies of the same "
            "records side by side can match them by the columns released as collected, and then know finer groups "
            "than either copy shows. No figure here bounds that; the agreements must forbid it.",
        ),
        Statement(
            "Controls as declared",
            "Purpose, agreement and controls are the request's statements. The gate checks that the agreement is in "
            "force "
            "on the day of the decision; it does not audit the recipient. No risk figure was lowered on their account.",
        ),
        Statement(
            "One moment",
            f"The figures hold for the file, population table, policy and program named here, on "
            f"{numbers.day(record.decided_at)}. Data that others publish later can raise the risk.",
        ),
    ]


_OUTSIDE = (
    (("sequential", "fmdp"), "Sequential adversary", "no planning recipient was modelled"),
    (
        ("identity × attribute", "attribute disclosure", "combined"),
        "Identity × attribute score",
        "how sensitive the disclosed values are was not scored",
    ),
    (
        ("learned", "linkage"),
        "Linkage by learned distances",
        "no record-linkage attack was run against the source file",
    ),
    (("decoy",), "Decoys", "no decoy records were placed in the file"),
)


def stopped(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """The stages that this release did not reach or finish, without the tests that no release has."""
    outside = [keyword for keywords, _, _ in _OUTSIDE for keyword in keywords]
    return tuple(
        entry for entry in record.not_assessed if not any(keyword in entry.stage.lower() for keyword in outside)
    )


def not_assessed(record: DecisionRecord) -> tuple[NotAssessed, ...]:
    """Tests that are no part of this determination: those the record names, and those of no stage that ran."""
    stages = [entry.stage.lower() for entry in record.not_assessed]
    further = []
    for keywords, stage, meaning in _OUTSIDE:
        named = any(keyword in name for keyword in keywords for name in stages)
        if named or (stage == "Decoys" and record.decoys is not None):
            continue
        further.append(NotAssessed(stage=stage, reason=f"Not part of this determination: {meaning}."))
    return (*record.not_assessed, *further)


@dataclass(frozen=True)
class Criterion:
    """One criterion of Opinion 05/2014 (WP216): whether it was assessed, and what was found."""

    title: str
    assessed: str
    finding: str


def wp216(record: DecisionRecord) -> tuple[Criterion, ...]:
    """Singling out, linkability, inference, each with a plain word on whether it was assessed."""
    cells = SmallCellRule(record.policy.small_cell)
    sensitive = names(with_role(record, Role.SENSITIVE))
    inference = Criterion(
        "Inference",
        "not assessed",
        "A class whose members share a sensitive value gives that value away without any identification. No figure in "
        f"this document bounds that. Sensitive columns released: {sensitive}.",
    )
    if record.risk is None:
        nothing = "The stage that measures it did not run."
        return (
            Criterion("Singling out", "not assessed", nothing),
            Criterion("Linkability", "not assessed", nothing),
            inference,
        )
    residual, transparent = record.risk.residual, record.risk.transparent
    return (
        Criterion(
            "Singling out",
            "assessed",
            f"The smallest class of the released file holds {cells.count(residual.smallest_class)} records, the "
            "smallest "
            f"effective group {cells.count(transparent.smallest_effective_group)} people of the population. A class of "
            "one singles a record out in the file; an effective group of one singles out a person.",
        ),
        Criterion(
            "Linkability",
            "assessed in part",
            f"Against the one population table of this document: the journalist's highest risk is "
            f"{numbers.risk(residual.journalist.maximum)} and the informed recipient's "
            f"{numbers.risk(transparent.maximum_risk)}. "
            "Linking two released files to each other was not assessed.",
        ),
        inference,
    )
