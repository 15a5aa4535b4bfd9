"""The answer on the first page: what leaves, who could still find whom, what is lost, and on what that rests."""

from collections import Counter

from reports.model import numbers
from reports.model.document import Paragraph, lines, named, said, sentence_start, text
from reports.model.methods import masking_method
from reports.model.population import rests_on
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN
from reports.sections.groupings import gone, mixed, one_grouping
from reports.sections.study import kept_associations
from tasks.assessments.events.facts import KnownRowsFact
from tasks.core.plural import listed, plural
from tasks.decision.record import RecipientFact, Verdict
from tasks.request.gate import records_for
from tasks.request.model import Measure, Role

_WORTH_SAYING = 0.1
"""Share of the records that lose a column, from which the first page says so."""
_MOST_NAMED = 5
_UNMEASURED = "The data failed validation; no risk was measured."
_FEW_VALUES = 20
"""Most values of a column whose loss is told by value."""


def answer(view: RecordView) -> tuple[Paragraph, ...]:
    """Four paragraphs: on what leaves, who could find whom and how likely, what is kept, and on what that rests."""
    record, recipient = view.record, view.record.recipient
    quasi, population = view.names(Role.QUASI), record.population
    if record.risk is None:
        stopped = "No risk was measured." if record.validation.passed else _UNMEASURED
        return (Paragraph(stopped, "lead"),)
    who, signed = recipient.organisation, "the expert has signed and " if record.expert_signs else ""
    leave = {
        Verdict.APPROVED: f"leave for {who}",
        Verdict.AWAITING_REVIEW: f"may leave for {who} once {signed}all votes are cast",
        Verdict.BLOCKED: f"were measured for {who}, and do not leave",
    }
    records = view.cells.part(view.released, view.rows_in).replace("<", "Fewer than ").replace(">", "More than ")
    agreement = f"agreement {recipient.agreement.id}"
    if view.sequential and view.sequential.profile.penalty > 0:
        agreement += " with its penalty"
    parts = {
        "What leaves.": said(
            f"{records} {_counted(view)} in "
            f"{numbers.integer(record.dataset.columns_out)} columns{_empty(view)} {leave[record.decision]}.",
            _left_out(view),
            _revealing(view),
            _masked(view),
        ),
        "Who could find somebody.": said(_who(view), _accepted(view), _unknowable(view), _nothing_sensitive(view)),
        "What is kept.": said(
            f"{numbers.percent(information_kept(view))} of the information in {quasi} is kept{_weighed(view)}.",
            _lost_most(view),
            one_grouping(view) or _values_lost(view),
            _missed(view),
        ),
        "This rests on": (
            f"{rests_on(population, view.cells.count(population.people))}, on {agreement}, and on the assumptions of "
            "section 5."
        ),
    }
    return tuple(Paragraph(text("**{}** {}", head, told), "lead") for head, told in parts.items())


def _empty(view: RecordView) -> str:
    """Number of the columns that tell nothing; empty where all tell something."""
    number = len(gone(view))
    counted = "one of which holds" if number == 1 else f"{numbers.integer(number)} of which hold"
    return f", {counted} only “*”," if number else ""


def _left_out(view: RecordView) -> str | None:
    """Sentence on suppressed records; none where their number would disclose what other copies keep."""
    shown = view.left_out[0]
    if shown in {"0", HIDDEN}:
        return None
    groups, allowed = view.suppressed_from
    count = shown.replace("<", "Fewer than ")
    records, they = ("record is", "it is") if shown == "1" else ("records are", "they are")
    return said(f"{count} {records} left out{f': {they} in {groups}' if groups else ''}.", allowed)


def _revealing(view: RecordView) -> str | None:
    """Sentence on released columns that somebody has excused."""
    names = [one.name for one in view.excused]
    if not names:
        return None
    they = "it reveals" if len(names) == 1 else "they reveal"
    return f"Excused although {they} other columns or people: {named(names)}; section 3 says by whom and why."


def _counted(view: RecordView) -> str:
    """Records, or the people whom they are and their rows."""
    rows = view.record.dataset.rows
    if rows is None:
        if view.released == view.rows_in or view.few_suppressed:
            return "records"
        return f"of {numbers.integer(view.rows_in)} records"
    of_all = "" if rows.rows_out is None or view.few_suppressed else f"{numbers.integer(rows.rows_out)} of "
    return f"people (records) with {of_all}{numbers.integer(rows.rows_in)} rows"


def _who(view: RecordView) -> str:
    """Sentences on whoever could still find somebody."""
    risk = view.risk
    informed = max(risk.transparent.maximum_risk, *(one.maximum_risk for one in risk.coalitions), 0.0)
    presence = None
    prosecutor = risk.residual.prosecutor.maximum
    if worse := view.worse(Measure.PROSECUTOR_MAXIMUM, prosecutor):
        prosecutor = worse.figure
    if prosecutor > risk.threshold and view.gate(Measure.PROSECUTOR_MAXIMUM) is None:
        presence = (
            "Whoever knows that a person is in the file may find that person's record with a probability of up to "
            f"{numbers.risk(prosecutor)}; no gate limits that."
        )
    return said(
        f"A recipient who knows the method and everybody's {view.names(Role.QUASI)} identifies a record in a single "
        f"attempt with a probability of at most {numbers.risk(informed)}{numbers.one_in(informed)}.",
        _singled_out(view),
        _beyond(view, informed),
        _repeated(view),
        presence,
        _of_rows(view.events.known if view.events else None),
    )


def _accepted(view: RecordView) -> str | None:
    """Sentences on limits of risk that were exceeded and overridden; None where there are none."""
    rows = [(row, row.gate.overridden) for row in view.gates if row.gate.comparison == "at most"]
    told = [
        f"The policy's limit on “{row.gate.title}” was exceeded: {row.measured}, {row.asked}; {override.officer} "
        "accepted this."
        for row, override in rows
        if override
    ]
    return " ".join(told) or None


def _singled_out(view: RecordView) -> str | None:
    """Sentence on the records that a few columns single out, by the figure that a gate judges; None without a gate."""
    row = view.gate(Measure.SINGLED_OUT, Measure.SINGLED_OUT_POPULATION)
    if row is None or row.gate.measured is None:
        return None
    share, fact = f"{row.measured} of the records in the file", view.singling_out
    if row.gate.id != Measure.SINGLED_OUT and (fact is None or fact.sampling_fraction < 1):
        share = f"an estimated {row.measured} of the records in the population"
    others = [name for name in (fact.known if fact else ()) if name not in view.risk.game.weights]
    if fact is None or not others:
        return f"A few columns that may be known single out {share}; the policy allows {row.asked}."
    some = "some of " if len(others) > 1 else ""
    certain = ", and then finds their record for certain" if fact.sampling_fraction >= 1 else ""
    return (
        f"That counts these columns alone. Whoever also knows {some}{named(others)} can single out {share}, by at most "
        f"{numbers.integer(fact.columns)} columns together{certain}; the policy allows {row.asked}."
    )


def _masked(view: RecordView) -> str | None:
    """Sentence on the columns whose values are changed; None where there are none."""
    done = [f"{named(fact.attributes)} ({masking_method(fact.method).plain})" for fact in view.masking]
    if not done:
        return None
    return f"Values are changed (masked) of {listed(done)}."


def _unknowable(view: RecordView) -> str | None:
    """Sentence on the columns that the request declares to be known to nobody outside."""
    names = [one.name for one in view.record.fields if one.released and one.known_probability == 0]
    if not names:
        return None
    return f"The request states that nobody outside can know {named(names)}: these probabilities rest on that."


def _nothing_sensitive(view: RecordView) -> str | None:
    """Sentence where no column that leaves is declared sensitive; None where one is."""
    if any(one.released for one in view.fields(Role.SENSITIVE)):
        return None
    fact = view.combined
    taken = () if fact is None or fact.expected is None else fact.presumed
    if taken:
        return (
            f"No column that leaves is declared sensitive. The expected disclosure counts {named(taken)} as sensitive, "
            "since the request does not say how likely others know them; no gate tests what groups have in common."
        )
    return "No column that leaves is declared sensitive, so no gate tests what the copy reveals about a person."


def _repeated(view: RecordView) -> str | None:
    """Sentence on whoever attempts for as long as that pays, by the figure that the gate judges."""
    risk, write = view.risk, numbers.risk
    if risk.sequential is None:
        return None
    alone = risk.sequential.judged_in(risk.sequential.residual).maximum_risk
    worse = view.worse(Measure.SEQUENTIAL_MAXIMUM, alone)
    if worse:
        before = f"{worse.alone} {write(alone)}" if alone else f"{worse.alone} no attempt pays"
        return (
            f"An attacker who makes repeated attempts for as long as they pay succeeds, {worse.why}, with a "
            f"probability of at most {write(worse.figure)}; {before}."
        )
    if alone:
        return (
            "An attacker who makes repeated attempts for as long as they pay succeeds with a probability of at most "
            f"{write(alone)}."
        )
    attacked = max(risk.transparent.attacked_share, *(one.attacked_share for one in risk.coalitions), 0.0)
    if attacked or view.worse(Measure.TRANSPARENT_ATTACKED, attacked):
        return (
            "For an attacker who weighs all declared terms, such as a penalty, no attempt pays at the amounts of "
            "section 3; by gain and cost of an attempt alone, some records are worth attacking."
        )
    collected = None
    if not risk.sequential.judged_in(risk.sequential.initial).maximum_risk:
        collected = "None pays on the data as collected either, so that other limits alone protect here."
    if is_deterred(view) and risk.sequential.profile.penalty:
        least = single_pays_below(view.record.recipient)
        return said(
            "For an attacker who weighs gain against cost and the declared penalty, no attempt pays at the amounts of "
            "section 3; without the penalty, a single attempt would pay in groups of fewer than "
            f"{numbers.integer(least)}, and repeated ones in larger groups too. That is not a risk of zero for an "
            "attacker who does not weigh costs.",
            collected,
        )
    return said(
        "For an attacker who weighs gain against cost, no attempt pays at the amounts of section 3; that is not a risk "
        "of zero for an attacker who does not weigh costs.",
        collected,
    )


def is_deterred(view: RecordView) -> bool:
    """Whether a single attempt would pay by its cost and gain alone, and other declared terms deter from it."""
    attacked, highest = view.gate(Measure.TRANSPARENT_ATTACKED), view.risk.transparent.maximum_risk
    least = single_pays_below(view.record.recipient)
    return attacked is not None and attacked.gate.measured == 0 and highest > 0 and records_for(highest) < least


def single_pays_below(recipient: RecipientFact) -> int:
    """Size of the groups below which a single attempt pays by its cost and gain; 0 where none ever does, or all do."""
    return records_for(recipient.cost / recipient.gain) if 0 < recipient.cost < recipient.gain else 0


def _beyond(view: RecordView, informed: float) -> str | None:
    """Sentence on what else is in the copy, or in other copies, where that makes the probability higher."""
    worse = view.worse(Measure.TRANSPARENT_MAXIMUM, informed)
    return (
        None if worse is None else f"{worse.why[0].upper()}{worse.why[1:]}, it is up to {numbers.risk(worse.figure)}."
    )


def _of_rows(known: KnownRowsFact | None) -> str | None:
    """Sentence on whoever knows rows of a person."""
    if known is None:
        return None
    held = f"{', '.join(known.attributes)} of {known.rows_in_words} of a person"
    return (
        f"Whoever also knows {held}, and that the person is in the file, finds the person with a probability of at "
        f"most {numbers.risk(1 / known.fewest)}."
    )


def usefulness(view: RecordView) -> str | None:
    """Information kept and the columns that lost most, a sentence a line; None where nothing was measured or lost."""
    if view.record.risk is None:
        return None
    kept, lost = information_kept(view), _lost_most(view)
    if kept == 1 and lost is None:
        return None
    uneven = (
        f"Groups of {listed(names)} differ in width from record to record; the method no-attack-common gives each "
        "column one grouping for all."
        if (names := mixed(view))
        else None
    )
    kept_of_it = f"Information kept: {numbers.percent(kept)}{_weighed(view)}."
    groups = one_grouping(view) or lines(_values_lost(view), uneven)
    return lines(
        _needed_lost(view),
        kept_of_it,
        lost,
        groups,
        _missed(view),
        kept_associations(view),
        _nothing_sensitive(view),
    )


def _missed(view: RecordView) -> str | None:
    """Sentence on columns of one of whose values many records are left out; None where there are none.

    Shares are whole per cents: exact ones would tell how few records they are of.
    """
    if view.record.utility is None or view.few_suppressed:
        return None
    missed = {one.name: one.most_missed for one in view.record.utility.marginals if one.most_missed >= _WORTH_SAYING}
    if not missed:
        return None
    most = sorted(missed, key=lambda name: -missed[name])[:_MOST_NAMED]
    shares = listed(
        f"one value of {name} lost {numbers.percent(round(missed[name], 2))}{' of its records' * (place == 0)}"
        for place, name in enumerate(most)
    )
    tables = "by it" if len(most) == 1 else "by them"
    return f"Records left out fall heavily on some values: {shares}. Tables {tables} will mislead."


def _needed_lost(view: RecordView) -> str | None:
    """Sentence on columns that count most and of which no value is left, and how they could be."""
    weights = view.risk.game.weights
    most = max(weights.values(), default=1.0)
    needed = [name for name in gone(view) if weights.get(name) == most > min(weights.values())]
    if not needed:
        return None
    are, them = ("is", "it") if len(needed) == 1 else ("are", "them")
    return (
        f"{listed(needed)} should count most, and {are} lost: withhold columns that the study can do without, or write "
        f"wider groups of others into their hierarchies, to leave room for {them}."
    )


def _lost_most(view: RecordView) -> str | None:
    """Sentence on the columns that most records lose; None where few records lose any.

    A share counts the records left out only where the evidence shows their number: beside the count of a column's level
    it would follow from the share.
    """
    lost: dict[str, tuple[bool, float]] = {}
    nothing_left, beside = gone(view), ""
    for field in view.fields(Role.QUASI):
        if not field.records_per_level or field.groups_per_level[-1] > 1:
            continue
        *leave, withheld, left_out = counts = (*field.records_per_level, view.rows_in - view.released)
        shown = view.cells.breakdown(counts)
        if not any(leave):
            continue
        if shown[-1] == numbers.integer(left_out):
            withheld += left_out
        else:
            beside = ", beside those left out"
        lost[field.name] = shown[-2] == numbers.integer(counts[-2]), withheld / view.rows_in
    most = [name for name in lost if lost[name][1] >= _WORTH_SAYING]
    most.sort(key=lambda name: (not lost[name][0], -lost[name][1]))
    shares = [f"{name} ({view.share_in(lost[name][1])})" if lost[name][0] else name for name in most[:_MOST_NAMED]]
    if shares and not lost[most[len(shares) - 1]][0]:
        shares[-1] += " (how often is not shown: it would tell a count of few records)"
    if most and lost[most[0]][0]:
        share = view.share_in(lost[most[0]][1])
        shares[0] = f"{most[0]} (withheld for {share} of the records{beside})"
    nothing = None
    if nothing_left:
        nothing = f"No value of {listed(nothing_left, 'or')} is left: every record has “*” in place of it."
    return said(nothing, f"Lost most: {', '.join(shares)}." if shares else None) or None


def _values_lost(view: RecordView) -> str | None:
    """Sentence on categories of which no record is left; bands of many values are expected to leave few."""
    lost = {
        one.name: one.values_lost
        for one in view.fields(Role.QUASI)
        if one.values_lost and one.distinct_values <= _FEW_VALUES and one.records_per_level[0]
    }
    if not lost:
        return None
    values = listed(f"{plural(number, 'value')} of {name}" for name, number in lost.items())
    if sum(lost.values()) == 1:
        return f"One {values.removeprefix('1 ')} is never shown by itself, so its group cannot be compared."
    return f"{sentence_start(values)} are never shown by themselves, so their groups cannot be compared."


def _weighed(view: RecordView) -> str:
    """Columns whose information counts more or less than that of most others; empty where all count alike."""
    weights = view.risk.game.weights
    counted = Counter(one for one in weights.values() if one).most_common(1)
    usual = counted[0][0] if counted else 1.0
    told = []
    for weight in sorted({*weights.values()} - {usual}, reverse=True):
        names = [name for name, one in weights.items() if one == weight]
        times = f"{weight / usual:g} times as much" if weight else "for nothing"
        told.append(f"{listed(names)} {'counts' if len(names) == 1 else 'count'} {times}")
    return f", where {listed(told)}" if told else ""


def information_kept(view: RecordView) -> float:
    """Mean share of the information that the method applied keeps."""
    return next(one for one in view.risk.game.outcomes if one.chosen).information_kept
