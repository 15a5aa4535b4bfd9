"""Assumptions of the models: sequential adversary, combined score, record linkage; and the controls that they count.

Sentences only: each is chosen and filled from the record, none rests on a figure computed here.
"""

from reports import numbers
from reports.statements import Statement, names, with_role
from tasks.assessments.sequential.facts import AdversaryFact
from tasks.decision.record import DecisionRecord
from tasks.request.model import Role

_NO_ACCOUNT = "No risk figure was lowered on their account"


def of_sequential(record: DecisionRecord) -> list[Statement]:
    """Assumptions of the sequential adversary; none where the stage did not finish."""
    fact = record.risk.sequential if record.risk else None
    if fact is None:
        return []
    profile = fact.profile
    return [
        Statement(
            "A plan for money only",
            "The recipient who plans seeks the greatest expected gain net of costs and penalties, stops where going on "
            "does not pay, and has no other aim. One who wants to find a certain person whatever it costs, or to show "
            "that it can be done, is outside this assumption: the prosecutor and the journalist count for him.",
        ),
        Statement(
            "External data and prior",
            f"The external data are {_external(record)}, one source and no second. A person of the file is in it with "
            f"a probability of {numbers.risk(profile.prior)}, the same for everybody and independent of the rest. A "
            "fuller source makes the risk higher than stated.",
        ),
        Statement("Detection and penalty as declared", _detection_text(profile)),
        Statement(
            "Patience and certainty",
            f"A unit is worth {numbers.risk(profile.discount)} one step later, and a right match is recognized with a "
            f"probability of {numbers.risk(profile.confirmation)}. Both are taken as "
            f"given (discount: {_origin(profile, 'discount')}); a more patient recipient may attack larger groups.",
        ),
    ]


def of_combined(record: DecisionRecord) -> list[Statement]:
    """Assumptions of the combined score; none where the stage did not finish."""
    fact = record.risk.combined if record.risk else None
    if fact is None:
        return []
    left_out = (
        ""
        if fact.epsilon is None
        else f" Sets of attributes known with a probability of at most {numbers.risk(fact.epsilon)} were left out, "
        "which understates the score."
    )
    return [
        Statement(
            "Independent knowledge",
            "In the combined score each attribute is known or unknown of a person independently of the others, with "
            f"the probability listed there.{left_out}",
        ),
        Statement(
            "Probabilities and weights as declared",
            "How likely an attribute is known and how sensitive it is are judgements of the requester, not "
            "measurements. The score is only as good as they are, and only scores under the same ones compare.",
        ),
    ]


def of_linkage(record: DecisionRecord) -> list[Statement]:
    """Assumptions of the record linkage; none where the stage did not finish."""
    fact = record.risk.linkage if record.risk else None
    if fact is None:
        return []
    masked = (
        " The informed one also knows the maskings with their parameters; what was drawn at random follows from the "
        "workspace key, which nobody outside has."
        if record.masking
        else ""
    )
    return [
        Statement(
            "The intruder of the record linkage",
            f"The intruder holds the source file's values of {names(fact.known)}, of everybody and without error, and "
            f"no other column of it.{masked} A real recipient holds less, so that the shares linked overstate what it "
            "could do with these attributes; one who holds further attributes may link more.",
        ),
        Statement(
            "The attacks that were made",
            "The shares linked are those of the attacks listed, with the interval that the number of people attacked "
            "leaves. That no stronger attack exists is not proven by them.",
        ),
    ]


def deterrence_text(record: DecisionRecord) -> str:
    """Figures that the declared controls, penalties and fees lower."""
    fact = record.risk.sequential if record.risk else None
    if fact is None:
        return f"{_NO_ACCOUNT}."
    profile = fact.profile
    counted = []
    if profile.penalty > 0:
        counted.append(
            f"the penalty of {numbers.amount(profile.penalty)} with its detection ({_origin(profile, 'penalty')})"
        )
    if profile.access_cost > 0:
        counted.append(
            f"the cost of access to external data of {numbers.amount(profile.access_cost)} "
            f"({_origin(profile, 'access_cost')})"
        )
    if not counted:
        return f"{_NO_ACCOUNT}: the recipient who plans was modelled without a penalty and without a fee."
    what = " and ".join(counted)
    verb = "enters" if len(counted) == 1 else "enter"
    lowers = "It lowers" if len(counted) == 1 else "They lower"
    return (
        f"{what[0].upper()}{what[1:]} {verb} the profile of the recipient who plans. {lowers} the figures of that test "
        "alone; no other risk figure was lowered on account of a control."
    )


def known_elsewhere_text(record: DecisionRecord) -> str:
    """Note that the combined score and the record linkage count columns as known which the other figures do not."""
    if record.risk is None:
        return ""
    scored, linked = record.risk.combined, record.risk.linkage
    columns = with_role(record, Role.SENSITIVE, Role.INSENSITIVE)
    counted = [name for name in columns if scored is not None and scored.known_probabilities.get(name, 0.0)]
    held = [name for name in columns if linked is not None and name in linked.known]
    exceptions = []
    if counted:
        exceptions.append(f"in the combined score, which counts {names(counted)} with the probabilities listed")
    if held:
        exceptions.append(f"in the record linkage, whose intruder holds {names(held)}")
    return f", save {', and '.join(exceptions)}" if exceptions else ""


def _external(record: DecisionRecord) -> str:
    fact = record.risk.sequential if record.risk else None
    if fact is not None and fact.external.kind == "register":
        return f"the register “{fact.external.source}”"
    return "the population itself, as far as the prior says"


def _detection_text(profile: AdversaryFact) -> str:
    if profile.penalty == 0:
        return (
            f"No penalty enters the model ({_origin(profile, 'penalty')}), so that whether an exploit is detected "
            "makes no difference."
        )
    times = (
        "each time"
        if profile.max_penalties is None
        else "the first time"
        if profile.max_penalties == 1
        else f"{numbers.integer(profile.max_penalties)} times at most"
    )
    return (
        "An exploit is detected with the probability listed, independently of its success, and a detected one costs "
        f"{numbers.amount(profile.penalty)}, {times}. That misuse is noticed and the penalty collected was not "
        "verified; where either fails the risk is higher than stated."
    )


def _origin(profile: AdversaryFact, name: str) -> str:
    return profile.origins.get(name, "origin not stated")
