"""Assumptions of a determination, numbered, as they follow from the facts of its record.

Sentences only: each is chosen and filled from the record, none rests on a figure computed here.
"""

from reports import numbers
from reports.decoys import of_decoys
from reports.methods import method_text
from reports.model_assumptions import deterrence_text, known_elsewhere_text, of_combined, of_linkage, of_sequential
from reports.statements import Statement, names, with_role
from tasks.decision.record import DecisionRecord
from tasks.request.model import Role


def assumptions(record: DecisionRecord) -> tuple[Statement, ...]:
    """Assumptions of the determination, from the facts of the record."""
    statements = [*_of_knowledge(record), *_of_population(record)]
    if record.risk is not None:
        statements += [*_of_game(record), *of_sequential(record), *of_combined(record), *of_linkage(record)]
    return (*statements, *of_decoys(record), *_of_context(record))


def _of_knowledge(record: DecisionRecord) -> list[Statement]:
    quasi = names(with_role(record, Role.QUASI))
    others = names(with_role(record, Role.SENSITIVE, Role.INSENSITIVE))
    return [
        Statement(
            "What a recipient can know",
            f"A recipient may know every person's values of {quasi}, exactly and without error. The other released "
            f"columns ({others}) are taken not to be available elsewhere together with a name"
            f"{known_elsewhere_text(record)}. Where that is wrong the risk is higher than stated.",
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
            _attempts_text(record),
        ),
        *_of_ungated(record),
        Statement(
            "Weights",
            f"Information loss is weighted as listed under the method.{cells} Other weights give another file.",
        ),
    ]


def _attempts_text(record: DecisionRecord) -> str:
    if record.risk is None or record.risk.sequential is None:
        return (
            "Each record is attempted once and by itself. A recipient who plans a sequence of attempts and learns from "
            "each, or who is deterred by detection, was not modelled."
        )
    single = "The prosecutor, the journalist, the marketer and the informed recipient attempt each record once and by "
    if record.risk.game.adversary != "one-shot":
        single = (
            "The informed recipient plans, and so chooses what is attacked. The prosecutor, the journalist and the "
            "marketer attempt each record once and by "
        )
    return (
        f"{single}"
        "itself. The recipient who plans tries one candidate after another for as long as it pays and counts detection "
        "and penalties in, record by record: what is learned on one record is of no use on another, but access to the "
        "external data, once paid, serves for all of them."
    )


def _of_ungated(record: DecisionRecord) -> list[Statement]:
    """Assumptions that no gate limits: an attacker who knows that a person is in the file."""
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
        *_of_copies(record),
        Statement(
            "Controls as declared",
            "Purpose, agreement and controls are the request's statements. The gate checks that the agreement is in "
            f"force on the day of the decision; it does not audit the recipient. {deterrence_text(record)}",
        ),
        Statement(
            "One moment",
            f"The figures hold for the file, population table, policy and program named here, on "
            f"{numbers.day(record.decided_at)}. Data that others publish later can raise the risk.",
        ),
    ]


def _of_copies(record: DecisionRecord) -> list[Statement]:
    """Assumptions on recipients who compare their copies."""
    if record.risk is None:
        return []
    game, coalitions = record.risk.game, record.risk.coalitions
    if coalitions:
        members = names(tuple(dict.fromkeys(one for seen in coalitions for one in seen.recipients)))
        which = "any two of these copies" if len(coalitions) > 1 else "all of these copies"
        return [
            Statement(
                "Copies are pooled as declared",
                f"Recipients who may put their copies side by side are {members}. The gates judge "
                f"the worst of this copy alone and of {which} together. Copies of other recipients, or of another "
                "release, are taken not to be put beside them; the agreements must forbid it.",
            )
        ]
    made = "Each recipient's copy is generalized for its own stakes."
    if game.sharing is not None:
        made = (
            f"One representation was chosen for {names(tuple(game.sharing.recipients))}: their copies have the same "
            "groups, and show nothing finer side by side. Any other recipient's copy is generalized for other stakes."
        )
    return [
        Statement(
            "Copies are not pooled",
            f"{made} Recipients who put differing copies of the same records side by side can match them by the "
            "columns released as collected, and then know finer groups than either copy shows. No figure here bounds "
            "that; the agreements must forbid it.",
        )
    ]
