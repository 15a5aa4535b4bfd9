"""Assumptions of a determination, as they follow from the facts of its record: sentences only."""

from collections.abc import Iterator
from dataclasses import dataclass

from reports import numbers
from reports.methods import method_text
from reports.record_view import RecordView
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.identity.facts import RiskFact
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.record import DecisionRecord
from tasks.request.model import Role

_NO_ACCOUNT = "No risk figure was lowered on their account"


@dataclass(frozen=True)
class Statement:
    """A few words that name an assumption, and the sentences themselves."""

    title: str
    text: str


def assumptions(record: DecisionRecord) -> tuple[Statement, ...]:
    """The assumptions, in the order in which they are numbered."""
    view = RecordView(record)
    return tuple(_assumptions(view))


def _assumptions(view: RecordView) -> Iterator[Statement]:
    record, population, risk = view.record, view.record.population, view.record.risk
    yield Statement(
        "What a recipient can know",
        f"A recipient may know every person's values of {view.names(Role.QUASI)}, exactly and without error. The "
        f"other released columns ({view.names(Role.SENSITIVE, Role.INSENSITIVE)}) are taken not to be available "
        f"elsewhere together with a name{_known_elsewhere(view)}. Where that is wrong the risk is higher than stated.",
    )
    yield Statement(
        "One record a person",
        "Each record stands for one person, and no two records for the same person. The validation stage checks that "
        "record keys are unique; it cannot see a person entered under two keys.",
    )
    yield Statement(
        "What a recipient knows of the method",
        "The recipient is taken to know the hierarchies, the rule of generalization, its parameters and the "
        "population table, but not the workspace key and not the source file.",
    )
    yield Statement(
        "The population table",
        f"“{population.source}” counts {numbers.integer(population.people)} people by the quasi-identifiers and is "
        "taken to be right: a group that the table overstates is riskier than stated. The file holds "
        f"{numbers.percent(population.sampling_fraction)} as many records as the table has people, and the subjects "
        "of the file are taken to belong to that population.",
    )
    if risk:
        yield from _of_game(view, risk)
        if risk.sequential:
            yield from _of_sequential(risk.sequential)
        if risk.combined:
            yield from _of_combined(risk.combined)
        if risk.linkage:
            yield from _of_linkage(view, risk.linkage)
    if record.decoys:
        yield from _of_decoys(record.decoys)
    yield from _of_context(view)


def _known_elsewhere(view: RecordView) -> str:
    """Note that the combined score and the record linkage count columns as known which the other figures do not."""
    columns = [field.name for field in view.fields(Role.SENSITIVE, Role.INSENSITIVE)]
    scored = [name for name in columns if view.combined and view.combined.known_probabilities.get(name, 0.0)]
    held = [name for name in columns if view.linkage and name in view.linkage.known]
    exceptions = (
        [f"in the combined score, which counts {', '.join(scored)} with the probabilities listed"] if scored else []
    )
    exceptions += [f"in the record linkage, whose intruder holds {', '.join(held)}"] if held else []
    return f", except {', and '.join(exceptions)}" if exceptions else ""


def _of_game(view: RecordView, risk: RiskFact) -> Iterator[Statement]:
    recipient, game = view.record.recipient, risk.game
    yield Statement(
        "A recipient who counts costs",
        f"The recipient attacks a record when its expected gain exceeds its cost: {numbers.amount(recipient.gain)} "
        f"units gained from a re-identified record, {numbers.amount(recipient.cost)} units spent on an attempt. A "
        "recipient who gains more, spends less, or acts out of other motives is outside this assumption; the risk "
        "figures of the prosecutor, journalist and marketer do not depend on it.",
    )
    yield Statement(
        "Stakes as declared",
        f"The publisher's benefit of {numbers.amount(recipient.benefit)} units per record and loss of "
        f"{numbers.amount(recipient.loss)} units per re-identified record are the requester's estimates, in one "
        "currency. Only their ratios matter.",
    )
    attempts = (
        "Each record is attempted once and by itself. A sequential adversary, who tries one candidate after another "
        "and learns from each, or who is deterred by detection, was not modelled."
    )
    if risk.sequential:
        single = (
            "The prosecutor, the journalist, the marketer and the informed recipient attempt each record once and by "
            "itself."
        )
        if game.adversary != "one-shot":
            single = (
                "The informed recipient plans, and so chooses what is attacked. The prosecutor, the journalist and "
                "the marketer attempt each record once and by itself."
            )
        attempts = (
            f"{single} The sequential adversary tries one candidate after another for as long as it pays and takes "
            "detection and penalties into account, record by record: what is learned on one record is of no use on "
            "another, but access to the external data, once paid, serves for all of them."
        )
    yield Statement("Single attempts", attempts)
    highest = risk.residual.prosecutor.maximum
    if highest > risk.threshold and not any(gate.id.startswith("prosecutor.") for gate in view.record.gates):
        yield Statement(
            "Presence in the file is not known",
            "The recipient is taken not to know who is in the file. One who knows that a certain person is in it "
            f"finds that person's record with a probability of up to {numbers.risk(highest)} (prosecutor). No gate of "
            "this policy limits that risk.",
        )
    cells = (
        " The cells of the partition are weighted by the "
        f"{'people' if game.cell_weights == 'population' else 'records'} in them."
        if method_text(game.method).partitions
        else ""
    )
    yield Statement(
        "Weights", f"Information loss is weighted as listed under the method.{cells} Other weights give another file."
    )


def _of_sequential(fact: SequentialFact) -> Iterator[Statement]:
    profile = fact.profile
    external = "the population itself, as far as the prior says"
    if fact.external.kind == "register":
        external = f"the register “{fact.external.source}”"
    yield Statement(
        "A plan for money only",
        "The sequential adversary seeks the greatest expected gain net of costs and penalties, stops where going on "
        "does not pay, and has no other aim. An intruder who wants to find a certain person whatever it costs, or to "
        "show that it can be done, is outside this assumption: for them the prosecutor and the journalist count.",
    )
    yield Statement(
        "External data and prior",
        f"The external data are {external}, one source and no second. A person of the file is in it with a "
        f"probability of {numbers.risk(profile.prior)}, the same for everybody and independent of the rest. A fuller "
        "source makes the risk higher than stated.",
    )
    detection = (
        f"No penalty enters the model ({_origin(fact, 'penalty')}), so that whether an exploit is detected makes no "
        "difference."
    )
    if profile.penalty:
        most = profile.max_penalties
        times = (
            "each time" if most is None else "the first time" if most == 1 else f"{numbers.integer(most)} times at most"
        )
        detection = (
            "An exploit is detected with the probability listed, independently of its success, and a detected one "
            f"costs {numbers.amount(profile.penalty)}, {times}. That misuse is noticed and the penalty collected was "
            "not verified; where either fails the risk is higher than stated."
        )
    yield Statement("Detection and penalty as declared", detection)
    yield Statement(
        "Patience and certainty",
        f"A unit is worth {numbers.risk(profile.discount)} one step later, and a right match is recognized with a "
        f"probability of {numbers.risk(profile.confirmation)}. Both are taken as given (discount: "
        f"{_origin(fact, 'discount')}); a more patient recipient may attack larger groups.",
    )


def _origin(fact: SequentialFact, name: str) -> str:
    return fact.profile.origins.get(name, "origin not stated")


def _of_combined(fact: CombinedFact) -> Iterator[Statement]:
    left_out = ""
    if fact.epsilon is not None:
        left_out = (
            f" Sets of attributes known with a probability of at most {numbers.risk(fact.epsilon)} were left out, "
            "which understates the score."
        )
    yield Statement(
        "Independent knowledge",
        "In the combined score each attribute is known or unknown of a person independently of the others, with the "
        f"probability listed there.{left_out}",
    )
    yield Statement(
        "Probabilities and weights as declared",
        "How likely an attribute is known and how sensitive it is are judgements of the requester, not measurements. "
        "The score is only as good as they are, and only scores under the same ones compare.",
    )


def _of_linkage(view: RecordView, fact: LinkageFact) -> Iterator[Statement]:
    masked = (
        " The informed one also knows the maskings with their parameters; what was drawn at random follows from the "
        "workspace key, which nobody outside has."
        if view.record.masking
        else ""
    )
    yield Statement(
        "The intruder of the record linkage",
        f"The intruder holds the source file's values of {', '.join(fact.known)}, of everybody and without error, and "
        f"no other column of it.{masked} A real recipient holds less, so that the shares linked overstate what it "
        "could do with these attributes; one who holds further attributes may link more.",
    )
    yield Statement(
        "The attacks that were made",
        "The shares linked are those of the attacks listed, with the interval that the number of people attacked "
        "leaves. They do not prove that no stronger attack exists.",
    )


def _of_decoys(fact: DecoyFact) -> Iterator[Statement]:
    """What the decoys of a copy do not protect against."""
    done = ["what recipients learn who compare their copies"] if fact.collusion else []
    done += ["how well a classifier distinguishes decoys from real classes"] if fact.detectability else []
    measured = f"The tests covered {' and '.join(done)}." if done else "Whether they can be found was not tested."
    bias = (
        "by how much is stated under decoys"
        if fact.statistics
        else "by how much was not measured against the copy without them"
    )
    yield Statement(
        "What decoys do not protect against",
        f"{measured} Decoys prevent no attempt: they name the copy that was used for one. Whoever knows who is in the "
        "data, or has the register and the method and knows more of its people than the tests allow for, can rule "
        "decoys out. A leak by somebody who holds the original data, in which there are no decoys, is not traced. "
        f"Decoys bias what is computed from the file; {bias}.",
    )
    yield Statement(
        "Whom a decoy stands for",
        "The groups of a decoy match real people of the population who are not in the data; its other values are "
        "invented. Whoever takes a decoy for one of these people believes something false of them. Whether the "
        "organization may use their quasi-identifiers so was not checked.",
    )


def _of_context(view: RecordView) -> Iterator[Statement]:
    record, earlier = view.record, len(view.record.recipient.prior_release_ids)
    named = (
        "The request names no earlier release to this recipient. What comparing a later file with this one would "
        "disclose was not measured."
    )
    if earlier:
        named = (
            f"The request names {numbers.integer(earlier)} earlier release{'s' if earlier > 1 else ''} to this "
            "recipient. What comparing the files discloses was not measured."
        )
    yield Statement("Earlier releases", named)
    if record.risk:
        yield _of_copies(record.risk)
    yield Statement(
        "Controls as declared",
        "Purpose, agreement and controls are the request's statements. The gate checks that the agreement is in "
        f"force on the day of the decision; it does not audit the recipient. {deterrence_text(view.sequential)}",
    )
    yield Statement(
        "One moment",
        "The figures hold for the file, population table, policy and program named here, on "
        f"{numbers.day(record.decided_at)}. Data that others publish later can raise the risk.",
    )


def _of_copies(risk: RiskFact) -> Statement:
    """Recipients who compare their copies."""
    if risk.coalitions:
        members = ", ".join(dict.fromkeys(one for seen in risk.coalitions for one in seen.recipients))
        which = "any two of these copies" if len(risk.coalitions) > 1 else "all of these copies"
        return Statement(
            "Copies are pooled as declared",
            f"Recipients who may pool their copies are {members}. The gates judge the worst of this copy alone and of "
            f"{which} together. It is assumed that copies of other recipients, or of another release, are not pooled "
            "with them; the agreements must forbid it.",
        )
    made = "Each recipient's copy is generalized for its own stakes."
    if risk.game.sharing:
        made = (
            f"One representation was chosen for {', '.join(risk.game.sharing.recipients)}: their copies have the same "
            "groups, and show nothing finer side by side. Any other recipient's copy is generalized for other stakes."
        )
    return Statement(
        "Copies are not pooled",
        f"{made} Recipients who compare differing copies of the same records can match them by the columns released "
        "as collected, and then know finer groups than either copy shows. No figure here bounds that; the agreements "
        "must forbid it.",
    )


def deterrence_text(fact: SequentialFact | None) -> str:
    """Figures that the declared controls, penalties and fees lower."""
    if fact is None:
        return f"{_NO_ACCOUNT}."
    profile, counted = fact.profile, []
    if profile.penalty > 0:
        counted.append(
            f"the penalty of {numbers.amount(profile.penalty)} with its detection ({_origin(fact, 'penalty')})"
        )
    if profile.access_cost > 0:
        counted.append(
            f"the cost of access to external data of {numbers.amount(profile.access_cost)} "
            f"({_origin(fact, 'access_cost')})"
        )
    if not counted:
        return f"{_NO_ACCOUNT}: the sequential adversary was modelled without a penalty and without a fee."
    what, one = " and ".join(counted), len(counted) == 1
    return (
        f"{what[0].upper()}{what[1:]} {'enters' if one else 'enter'} the profile of the sequential adversary. "
        f"{'It lowers' if one else 'They lower'} the figures of that test alone; no other risk figure was lowered on "
        "account of a control."
    )
