"""Assumptions of a determination, as they follow from the facts of its record: sentences only."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import kept, named, said, sentence_start
from reports.model.methods import method_text
from reports.model.population import TITLES, assumed, people_known
from reports.model.record_view import RecordView
from reports.model.statements import basis_of_amounts
from tasks.assessments.dates.facts import DatesFact
from tasks.assessments.identity.facts import RiskFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.plural import listed, plural
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.earlier_facts import EarlierFact
from tasks.decision.record import DecisionRecord, PopulationFact
from tasks.request.model import MissingReading, Role

_NO_ACCOUNT = "No risk figure was lowered on their account"
Assumption = tuple[str, str]
"""A few words that name it, and its sentences."""


def assumptions(record: DecisionRecord) -> tuple[Assumption, ...]:
    """The assumptions, in the order in which they are numbered."""
    view = RecordView(record)
    found = [*_of_data(view), *_of_game(view), *_of_sequential(view), *_of_scores(view)]
    if record.decoys:
        found += _of_decoys(record.decoys, remainders=_has_remainders(record))
    return (*found, *_of_context(view))


def _of_data(view: RecordView) -> Iterator[Assumption]:
    population, columns = view.record.population, [one.name for one in view.fields(Role.SENSITIVE, Role.INSENSITIVE)]
    rows = view.events.known if view.events else None
    scored = [name for name in columns if view.combined and view.combined.known_probabilities.get(name, 0.0)]
    held = [name for name in columns if view.linkage and name in view.linkage.known]
    counted = [name for name in columns if view.singling_out and name in view.singling_out.known]
    exceptions = [
        f"the combined score, that {_these(scored, columns)} may be known, with the probabilities listed"
        if scored
        else "",
        f"the record linkage, that the intruder has {_these(held, columns)}" if held else "",
        f"the search for records that a few columns single out, that {_these(counted, columns)} are known"
        if counted
        else "",
        f"the search by rows, that {_these([*rows.attributes], columns)} of {rows.rows_in_words} of a person are known"
        if rows
        else "",
    ]
    if view.dated:
        exceptions.append(f"the linkage by dates, that some of {', '.join(view.dated)} are known")
    more = "; ".join(one for one in exceptions if one)
    yield (
        "Knowledge of a recipient",
        said(
            f"A recipient is assumed to know the true values of {view.names(Role.QUASI)} of everybody.",
            f"Risks from these count no other released column ({named(columns)}) as known." if columns else None,
            f"Some tests assume more: {more}." if more else None,
            "Where a recipient knows more, the risk is higher than stated.",
        ),
    )
    yield "One record per person", _one_record(view)
    yield (
        "Knowledge of the method",
        "The recipient is assumed to know the hierarchies, the rule of generalization, its parameters and "
        f"{people_known(population)}, but not the workspace key and not the source file.",
    )
    yield from _of_missing(view)
    if view.record.pseudonyms:
        yield (
            "Pseudonyms",
            f"Whoever lacks the workspace key cannot determine whose a pseudonym of {view.names(Role.PSEUDONYM)} is, "
            "make one, or link it to another recipient's. Whoever has the key and a list of identifiers can, as can an "
            "incident responder who opens the crosswalk.",
        )
    if view.dates and view.dates.found:
        yield "Dates", _known_dates(view.dates)
    if view.fields(Role.TEXT):
        yield "Released text", _text(view)
    yield TITLES[population.basis], f"{assumed(population)}{_unfit(population)}"


_MISSING = {
    MissingReading.OWN_GROUP: "Others may know whose records lack a value of {}: such a record hides only among "
    "others that lack it, and people with all values are not among them. No group is counted larger than it is "
    "for somebody who knows this",
    MissingReading.ANY_VALUE: "Nobody outside knows whose records lack a value of {}: such a record may belong to "
    "anybody with its other values, except the people behind other records. Where somebody knows it, the risk of "
    "these records is higher than stated",
}
_MISSING_SENSITIVE = {
    MissingReading.OWN_GROUP: "A missing value of {} is a value of its own: it adds to the diversity of a class, and "
    "nothing is disclosed of its person",
    MissingReading.ANY_VALUE: "A missing value of {} may be any value: it adds no diversity to a class, and what the "
    "class discloses counts as disclosed about its person too",
}


def _of_missing(view: RecordView) -> Iterator[Assumption]:
    """The readings of missing values."""
    missing = view.record.dataset.missing
    if missing is None:
        return
    said = [
        words[reading].format(listed(names))
        for words, reading, names in (
            (_MISSING, missing.read_as, missing.quasi_identifiers),
            (_MISSING_SENSITIVE, missing.sensitive_read_as, missing.sensitive),
        )
        if names
    ]
    yield "Missing values", f"{'. '.join(said)}."


def _known_dates(fact: DatesFact) -> str:
    return said(
        f"Somebody who looks for a person knows {plural(fact.known, 'true date', 'true dates')} of the person at most "
        f"({', '.join((*fact.shifted, *fact.relative))}), those that identify the person best, but not by how many "
        "days they are shifted. The figure for all dates shows how much more somebody finds who knows more.",
        "Only whoever has the workspace key and the name of a person can determine the shift. A recipient gets the "
        "same one in each release. Recipients who compare copies with different shifts can narrow down the true dates; "
        "the agreements must forbid it."
        if fact.shifted
        else None,
    )


def _text(view: RecordView) -> str:
    measured = ""
    if view.text is not None:
        measured = (
            f" On {numbers.integer(view.text.notes)} labelled notes it missed at most "
            f"{numbers.percent(view.text.missed)} of the identifiers of any kind (upper end of a 95 % interval); the "
            "text of this file is assumed to be like them."
        )
    return (
        f"The text of {view.names(Role.TEXT)} is redacted by a scanner.{measured} It does not seek towns and "
        "employers that many texts name, or indirect hints, such as sex by a pronoun, a rare event or a kinship. No "
        "risk figure covers what text reveals about a person, and anybody who knows a passage finds its record."
    )


def _one_record(view: RecordView) -> str:
    rows = view.record.dataset.rows
    if rows is None:
        return (
            "Each record stands for one person, and no two records for the same person. The validation stage checks "
            f"that record keys are unique; it cannot see a person entered under two keys.{_repeated(view)}"
        )
    return (
        f"Rows with the same {rows.person} are of one person, and count as one record; rows with different ones are of "
        "different people. The validation stage checks that attributes of people are the same in all rows of a person; "
        "it cannot see a person entered under two names. How many rows a person has is assumed not to be known "
        f"outside.{_repeated(view)}"
    )


def _repeated(view: RecordView) -> str:
    """Sentence on columns that seem to name people with several records; empty where there is none."""
    found = [one for one in view.record.validation.observed if one.id.startswith("repeated person/")]
    if not found:
        return ""
    columns = listed(f"{one.column} ({view.cells.count(one.records)} records)" for one in found)
    return (
        f" Records share the quasi-identifiers with an earlier record of the same {columns}, as several rows of one "
        "person do: if they are, the risk is higher than stated."
    )


def _unfit(population: PopulationFact) -> str:
    if not population.misfits:
        return ""
    columns = listed(f"values of {one.column}" for one in population.misfits)
    return f" The file's {columns} are distributed differently from the table's."


def _these(names: list[str], columns: list[str]) -> str:
    return "all of these" if names == columns else named(names)


def _of_game(view: RecordView) -> Iterator[Assumption]:
    recipient, risk = view.record.recipient, view.record.risk
    if risk is None:
        return
    yield (
        "A recipient who counts costs",
        f"The recipient attacks a record when its expected gain exceeds its cost: {numbers.amount(recipient.gain)} "
        f"units gained from a re-identified record, {numbers.amount(recipient.cost)} units spent on an attempt. A "
        "recipient who gains more, spends less, or acts out of other motives is outside this assumption; the risk "
        "figures of the prosecutor, journalist and marketer do not depend on it.",
    )
    yield (
        "Stakes as declared",
        f"The publisher's benefit of {numbers.amount(recipient.benefit)} units per record and loss of "
        f"{numbers.amount(recipient.loss)} units per re-identified record are declared, in one currency; "
        f"only their ratios matter. {basis_of_amounts(recipient)}",
    )
    attempts = (
        "Each record is attempted once and by itself. A sequential adversary, who tries one candidate after another "
        "and learns from each, or who is deterred by detection, was not modelled."
    )
    if risk.sequential:
        others = "The prosecutor, the journalist, the marketer and the informed recipient"
        if risk.game.adversary != "one-shot":
            others = (
                "The informed recipient plans, and so chooses what is attacked. The prosecutor, journalist and marketer"
            )
        attempts = (
            f"{others} attempt each record once and by itself. The sequential adversary tries one candidate after "
            "another for as long as it pays and takes detection and penalties into account, record by record: what is "
            "learned on one record is of no use on another, but access to the external data, once paid, serves for all "
            "of them."
        )
    yield "Single attempts", attempts
    highest = risk.residual.prosecutor.maximum
    if highest > risk.threshold and not any(gate.id.startswith("prosecutor.") for gate in view.record.gates):
        yield (
            "Presence in the file is not known",
            "The recipient is assumed not to know who is in the file. A recipient who knows that a certain person is "
            f"in it finds that person's record with a probability of up to {numbers.risk(highest)} (prosecutor). No "
            "gate of this policy limits that risk.",
        )
    weighed = "people" if risk.game.cell_weights == "population" else "records"
    yield (
        "Weights",
        said(
            "Information loss is weighted as listed under the method.",
            f"The cells of the partition are weighted by the {weighed} in them."
            if method_text(risk.game.method).partitions
            else None,
            "Other weights give another file.",
        ),
    )


def _of_sequential(view: RecordView) -> Iterator[Assumption]:
    fact = view.sequential
    if fact is None:
        return
    profile, external = fact.profile, "the population itself, as far as the prior says"
    if fact.external.kind == "register":
        external = f"the register “{fact.external.source}”"
    only = "one source and no second. A person of the file is in it"
    if profile.resources:
        external = listed([f"“{one.source}”" for one in profile.resources])
        only = "in the order in which they are consulted, and no further source. A person of the file is in one of them"
    yield (
        "Aim of the sequential adversary",
        "The sequential adversary seeks the greatest expected gain net of costs and penalties, stops where going on "
        "does not pay, and has no other aim. An intruder who wants to find a certain person whatever it costs, or to "
        "show that it can be done, is outside this assumption: for them, see the prosecutor's and journalist's risks.",
    )
    yield (
        "External data and prior",
        f"The external data are {external}, {only} with a "
        f"probability of {numbers.risk(profile.prior)}, the same for everybody and independent of the rest. A fuller "
        "source makes the risk higher than stated.",
    )
    detection = (
        f"No penalty enters the model ({_origin(fact, 'penalty')}), so that whether misuse is noticed makes no "
        "difference."
    )
    if profile.penalty:
        most = profile.max_penalties
        times = f"{numbers.integer(most or 0)} times at most"
        times = {None: "each time", 1: "the first time"}.get(most, times)
        detection = (
            "Whoever acts on a supposed match, right or wrong, is caught with the probability listed and then pays "
            f"{numbers.amount(profile.penalty)}, {times}. Nobody has verified that misuse is noticed and the penalty "
            "collected; where it is not, the risk is higher than stated."
        )
    yield "Detection and penalty as declared", detection
    yield (
        "Patience and certainty",
        (
            "The recipient is assumed to have unlimited patience: a later gain is worth as much as one now. A "
            if profile.discount == 1
            else f"A unit is worth {numbers.risk(profile.discount)} one step later ({_origin(fact, 'discount')}); a "
            "more patient recipient attacks larger groups. A "
        )
        + f"right match is recognized with a probability of {numbers.risk(profile.confirmation)} "
        f"({_origin(fact, 'confirmation')}).",
    )


def _origin(fact: SequentialFact, name: str) -> str:
    return fact.profile.origins.get(name, "origin not stated")


def _of_scores(view: RecordView) -> Iterator[Assumption]:
    combined, linkage = view.combined, view.linkage
    if combined:
        yield (
            "Independent knowledge",
            said(
                "In the combined score each attribute is known or unknown of a person independently of the others, "
                "with the probability listed there.",
                f"Sets of attributes known with a probability of at most {numbers.risk(combined.epsilon)} were not "
                "counted but bounded, which may overstate the score."
                if combined.epsilon is not None
                else None,
            ),
        )
        yield (
            "Probabilities and weights as declared",
            "How likely an attribute is known and how sensitive it is are judgements of the requester, not "
            "measurements. Compare only scores under the same ones.",
        )
    if linkage:
        yield (
            "The intruder of the record linkage",
            said(
                f"The intruder holds the original file's values of {', '.join(linkage.known)}, of everybody and "
                "without error, and no other column of it.",
                "The informed one also knows the maskings with their parameters; what was drawn at random follows from "
                "the workspace key, which nobody outside has."
                if view.record.masking
                else None,
                "A real recipient holds less, so that the shares linked overstate what they could do with these "
                "attributes; a recipient who holds further attributes may link more.",
            ),
        )
        yield (
            "The attacks that were made",
            "The shares linked are those of the attacks listed, with the interval that the number of people attacked "
            "leaves. They do not prove that no stronger attack exists.",
        )


def _has_remainders(record: DecisionRecord) -> bool:
    return record.risk is not None and method_text(record.risk.game.method).remainders


def _of_decoys(fact: DecoyFact, *, remainders: bool) -> Iterator[Assumption]:
    done = ["what recipients learn who compare their copies"] if fact.collusion else []
    done += ["how well a classifier distinguishes decoys from real classes"] if fact.detectability else []
    measured = f"The tests covered {' and '.join(done)}." if done else "Whether they can be found was not tested."
    bias = "is stated under decoys" if fact.statistics else "was not measured against the copy without them"
    yield (
        "Limits of decoys",
        f"{measured} Decoys prevent no attempt: they name the copy that was used for one. An adversary who knows who "
        "is in the data, or has the register and the method and knows more of its people than the tests allow for, "
        "can rule decoys out. A leak of the original data, in which there are no decoys, is not traced. Decoys bias "
        f"what is computed from the file; by how much {bias}.",
    )
    yield (
        "People whom decoys resemble",
        said(
            "The rule gives a decoy's class to real people of the population, none of whom is in the data. Its groups "
            "also match people of other classes, and some of these are in the data: an adversary who does not know the "
            "rule may take its row for theirs. Its other values are invented, and false of all of them."
            if remainders
            else "The groups of a decoy match real people of the population who are not in the data; its other values "
            "are invented, and false of these people.",
            "Whether the organisation may use their quasi-identifiers so was not checked.",
        ),
    )


def _of_context(view: RecordView) -> Iterator[Assumption]:
    record = view.record
    yield "Earlier releases", _of_earlier(record)
    if record.risk:
        yield _of_copies(record.risk)
    plans = view.record.risk is not None and view.risk.game.adversary != "one-shot"
    yield (
        "Controls as declared",
        "Purpose, agreement and controls are the request's statements. The gate checks that the agreement is in force "
        f"on the day of the decision; it does not audit the recipient. {deterrence_text(view.sequential, plans=plans)}",
    )
    yield (
        "One moment",
        "The figures hold for the file, population table, policy and program named here, on "
        f"{numbers.day(record.decided_at)}. Data that others publish later can raise the risk.",
    )


def _of_earlier(record: DecisionRecord) -> str:
    """Sentences on earlier copies of the same party: those that the ledger knows, and those that the request names."""
    fact, named = record.earlier, len(record.recipient.prior_release_ids)
    hand = "the recipient, its organisation or a recipient assumed to share with it"
    if fact is None:
        found = "Earlier copies of the same party were not compared with this one; their joint disclosure is not known."
    elif not fact.copies:
        found = f"By the ledger of this workspace, no earlier copy, apart from revoked ones, went to {hand}."
    else:
        found = said(
            f"By the ledger of this workspace, {plural(len(fact.copies), 'earlier copy', 'earlier copies')} that "
            f"{'was' if len(fact.copies) == 1 else 'were'} not revoked went to {hand}; {len(fact.judged)} of them "
            f"{'has' if len(fact.judged) == 1 else 'have'} people of this one and "
            f"{'was' if len(fact.judged) == 1 else 'were'} judged together with it.",
            _of_changes(fact),
        )
    siblings = fact.siblings if fact else ()
    return said(
        found,
        f"The copies of this release for {listed(siblings)} go to the same party and were judged together with it."
        if siblings
        else None,
        "The gates count the worse of each figure, of this copy alone and of all of these together."
        if fact and fact.figures
        else None,
        f"The request names {plural(named, 'earlier release')} to this recipient." if named else None,
        "People are matched by record id alone: a person with another id elsewhere is missed, as is a copy that this "
        "workspace did not release.",
    )


def _of_changes(fact: EarlierFact) -> str | None:
    few = f"a few people, fewer than {fact.least_class},"
    found = kept(
        f"{few} are in this copy or an earlier one but not in both" if fact.few_changed else None,
        f"{few} have other values in this copy than in an earlier one" if fact.few_revised else None,
    )
    if not found:
        return None
    text = " and ".join(found)
    text = text[0].upper() + text[1:]
    given = f": “{fact.reason.because}”" if fact.reason else ""
    return f"{text}; the request gives {f'this reason{given}' if given else 'no reason'}."


def _of_copies(risk: RiskFact) -> Assumption:
    if risk.coalitions:
        members = ", ".join(dict.fromkeys(one for seen in risk.coalitions for one in seen.recipients))
        which = "any two of these copies" if len(risk.coalitions) > 1 else "all of these copies"
        return (
            "Copies are pooled as declared",
            f"Recipients who may pool their copies are {members}. The gates judge the worst of this copy alone and of "
            f"{which} together. It is assumed that copies of other recipients, or of another release, are not pooled "
            "with them; the agreements must forbid it.",
        )
    made = "Each copy is as coarse as the gates and the amounts declared of its recipient ask: two copies may differ."
    if risk.game.sharing:
        made = (
            f"One representation was chosen for {', '.join(risk.game.sharing.recipients)}: their copies have the same "
            "groups, and show nothing finer side by side. The copy of any other recipient may differ."
        )
    return (
        "Copies are not pooled",
        f"{made} Recipients who compare differing copies of the same records can match them by the columns released "
        "as collected, and then know finer groups than either copy shows. No figure here bounds that; the agreements "
        "must forbid it.",
    )


def deterrence_text(fact: SequentialFact | None, *, plans: bool = False) -> str:
    """Figures that declared controls, penalties and fees lower; ``plans`` where the informed recipient counts them."""
    if fact is None:
        return f"{_NO_ACCOUNT}."
    profile, counted = fact.profile, []
    if profile.penalty > 0:
        penalty = numbers.amount(profile.penalty)
        counted.append(f"the penalty of {penalty} with its detection ({_origin(fact, 'penalty')})")
    costs = [profile.access_cost, *(one.access_cost for one in profile.resources[1:])]
    if any(costs):
        cost = listed([numbers.amount(one) for one in costs])
        counted.append(f"the cost of access to external data of {cost} ({_origin(fact, 'access_cost')})")
    if not counted:
        return f"{_NO_ACCOUNT}: repeated attempts (sequential adversary) were measured without a penalty and a fee."
    enters, lowers = ("enters", "It lowers") if len(counted) == 1 else ("enter", "They lower")
    tests = "the test of repeated attempts (sequential adversary)"
    figures = "the figures of that test alone"
    if plans:
        tests += " and the count of records worth attacking"
        figures = "the figures of these alone"
    return (
        f"{sentence_start(' and '.join(counted))} {enters} {tests}. {lowers} {figures}; no other risk figure was "
        "lowered on account of a control."
    )
