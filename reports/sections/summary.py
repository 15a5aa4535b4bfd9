"""Basis of a board's decision beside the first page: gates, information kept, assumptions, omitted assessments."""

from collections.abc import Iterator
from itertools import count

from scipy.special import expit

from reports.model import numbers
from reports.model.document import (
    DASH,
    Block,
    Bullets,
    Heading,
    Paragraph,
    Table,
    kept,
    lines,
    named,
    passed,
    said,
    small,
    strong,
    text,
)
from reports.model.population import TITLES, same_as_prosecutor
from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN
from reports.model.statements import basis_of_amounts
from reports.sections import columns
from reports.sections.answer import information_kept, is_deterred, single_pays_below
from reports.sections.assumptions import assumptions
from reports.sections.events import withheld_rows
from reports.sections.groupings import begins_above, gone, is_alike, overlapping
from reports.sections.overview import scope
from reports.sections.study import associations
from tasks.adversary.group_sizes import expected_listed
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.plural import listed
from tasks.request.gate import records_for
from tasks.request.model import Measure, Role

_DECISIVE = frozenset(
    {
        "Knowledge of a recipient",
        "One record per person",
        *TITLES.values(),
        "Presence in the file is not known",
        "Detection and penalty as declared",
        "Earlier releases",
        "Copies are not pooled",
        "Copies are pooled as declared",
        "Controls as declared",
    }
)
"""Assumptions that a verdict rests on whatever is measured; the evidence has all of them."""
_MOST_NAMED = 5


def judged(view: RecordView) -> Iterator[Block]:
    """The highest risks before and after, and the gates: what was measured and what is required."""
    yield from columns.excused(view)
    if view.record.risk is not None:
        yield _amounts(view)
        yield from _highest_risks(view)
    if not view.gates:
        yield "No gate was judged."
        return
    yield Table(
        "Gates of the policy and conditions that no policy can switch off; the precedents of the thresholds are in "
        "section E8, notes and intervals in section E14",
        "Gate 46 | Measured 22r | Required 19 | Outcome 13",
        [
            (
                lines(row.gate.heading, row.interval and small(row.interval)),
                strong(row.measured),
                row.asked,
                passed(yes=row.gate.passed, overridden=bool(row.gate.overridden)),
            )
            for row in view.gates
        ],
    )


def _amounts(view: RecordView) -> str:
    """The amounts that the game and the sequential adversary weigh."""
    recipient, money = view.record.recipient, numbers.amount
    counted = [
        f"benefit of sharing {money(recipient.benefit)}",
        f"loss from a re-identification {money(recipient.loss)}",
        f"the recipient's gain from it {money(recipient.gain)}",
        f"cost of an attempt {money(recipient.cost)}",
    ]
    if view.sequential:
        profile = view.sequential.profile
        detected = f"chance of its detection {numbers.risk(float(expit(profile.detection_intercept)))}"
        none = "no penalty, since its chance is not stated" if view.record.recipient.agreement.penalty else "no penalty"
        counted += [f"penalty for an attempt {money(profile.penalty)}", detected] if profile.penalty else [none]
    return said(
        "The gates on attempts that pay rest on amounts that the request states, or that follow from them, and that "
        f"nobody measured for these data; per record, in one currency: {listed(counted)}.",
        basis_of_amounts(recipient),
        "Section 4 says what sets the size of groups." if view.gate(Measure.TRANSPARENT_ATTACKED) else None,
        "Some are known as ranges or distributions only: section E14." if view.risk.uncertainty else None,
    )


def _highest_risks(view: RecordView) -> Iterator[Block]:
    risk, informed = view.risk, Measure.TRANSPARENT_MAXIMUM
    before, after, journalist = risk.initial.prosecutor.maximum, risk.residual, risk.initial.journalist.maximum
    same = same_as_prosecutor(view.record.population, risk)
    rows: list[tuple[str, float, float, Measure]] = [
        (
            "somebody who knows that a person is in the file (prosecutor)",
            before,
            after.prosecutor.maximum,
            Measure.PROSECUTOR_MAXIMUM,
        ),
        (
            f"somebody who does not (journalist){f': the same, since {same}' if same else ''}",
            journalist,
            after.journalist.maximum,
            Measure.JOURNALIST_MAXIMUM,
        ),
        (
            "the same, who also knows how the file was made (informed recipient)",
            journalist,
            risk.transparent.maximum_risk,
            informed,
        ),
    ]
    if risk.coalitions:
        worst = max(one.maximum_risk for one in risk.coalitions)
        rows.append(("the same, with the copies of others (coalition)", journalist, worst, informed))
    if view.events and view.events.known:
        known = view.events.known
        rows.append((f"the same, who also knows {known.rows_in_words} of a person", 1.0, 1 / known.fewest, informed))
    if risk.sequential:
        first, second = (
            risk.sequential.judged_in(one).maximum_risk for one in (risk.sequential.initial, risk.sequential.residual)
        )
        title = "somebody who tries again for as long as it pays (sequential adversary)"
        rows.append((title, first, second, Measure.SEQUENTIAL_MAXIMUM))

    def highest(measure: Measure) -> float:
        return max(figure for _, _, figure, of in rows if of is measure)

    for row in tuple(rows):
        who, first, _, measure = row
        if row[2] == highest(measure) and (worse := view.worse(measure, row[2])):
            place = rows.index(row)
            alone = (f"{who}, {worse.alone}", *row[1:])
            rows[place : place + 1] = alone, (f"the same, {worse.why}", first, worse.figure, measure)

    def judged(figure: float, measure: Measure) -> tuple[str, str]:
        """Threshold and outcome of the gate, which judges the highest risk of its measure."""
        row = view.gate(measure)
        if row is None:
            return DASH, small("no gate")
        threshold = numbers.risk(row.gate.threshold)
        if figure < highest(measure):
            return threshold, small("not the highest")
        return threshold, passed(yes=row.gate.passed, overridden=bool(row.gate.overridden))

    def unpaid(figure: float, measure: Measure) -> str:
        return " (0: no attempt pays)" if measure is Measure.SEQUENTIAL_MAXIMUM and not figure else ""

    yield Table(
        "Highest risk of a record: probability that it is identified, in the data as collected and in the copy, beside "
        "the threshold of the gate that judges it",
        "Who attempts it 46 | before 12r | after 12r | threshold 13r | gate 17",
        [
            (who + unpaid(two, measure), numbers.risk(one), strong(numbers.risk(two)), *judged(two, measure))
            for who, one, two, measure in rows
        ],
    )
    if highest(Measure.PROSECUTOR_MAXIMUM) > highest(informed):
        yield Paragraph(
            "The prosecutor's risk is one over the records of the copy that are alike, since it takes as known that "
            "the person is one of them. The informed recipient's is one over the people whom a record fits, in the "
            "file or not, who may be more: so it may be lower although this recipient knows the method.",
            "note",
        )


def loss(view: RecordView) -> Iterator[Block]:
    """Information that the copy keeps of the quasi-identifiers."""
    if view.record.risk is None:
        yield "No file was made, so that there is none whose information could be compared with that of the data."
        return
    finest = ", or at the finest level that may leave" if begins_above(view, None) else ""
    yield Table(
        f"Information that the copy keeps (100%: as collected{finest}; 0%: all withheld; all of them: by weight and by "
        "the logarithm of the number of values), and records that keep the value as collected",
        "Column others may know (quasi-identifier) 46 | Information kept 27r | Records with the value as collected 27r",
        [
            (strong("all of them"), numbers.percent(information_kept(view)), _exact(view, None)),
            *(
                (
                    field.name,
                    view.kept(field),
                    _exact(view, field.name),
                )
                for field in view.fields(Role.QUASI)
            ),
        ],
    )
    if _most_specific(view) < 1:
        yield said(demanded(view, "at the amounts of section 3"), overlapping(view), no_random_sample(view))
    yield from associations(view)
    masked = f"{named(view.masked)} {'is' if len(view.masked) == 1 else 'are'} masked." if view.masked else None
    withheld = [field.name for field in view.record.fields if not field.released]
    yield said(
        masked,
        f"Withheld altogether: {named(withheld)}." if withheld else None,
        f"Pseudonyms stand in place of the values of {view.names(Role.PSEUDONYM)}." if view.record.pseudonyms else None,
        f"The text of {view.names(Role.TEXT)} leaves redacted." if view.fields(Role.TEXT) else None,
        _of_rows(view),
        f"Dates of {listed(view.dated)} leave shifted, or as days since an index event." if view.dated else None,
        _as_collected(view),
        "Section E13 compares analyses of both files.",
    )


def _as_collected(view: RecordView) -> str | None:
    """Sentence on the columns that nothing was done to, besides those of the table above; None where there are none."""
    done = {*view.masked, *view.dated, *_coarser_rows(view)}
    names = [one.name for one in view.fields(Role.SENSITIVE, Role.INSENSITIVE) if one.released and one.name not in done]
    if not names:
        return None
    if len(names) > _MOST_NAMED:
        return f"The other {numbers.integer(len(names))} columns leave as they were collected."
    return f"{listed(names)} {'leaves' if len(names) == 1 else 'leave'} as collected."


def _safe_people(fact: SequentialFact) -> int | None:
    """People of the smallest safe group: the threshold counts those whom the external data list of them."""
    listed_ones, prior = fact.threshold_linked, fact.profile.prior
    if listed_ones is None or fact.profile.resources or fact.external.kind != "population":
        return listed_ones
    fewest = max(int((listed_ones - 0.5) / prior), 1)
    return next(people for people in count(fewest) if expected_listed(prior, people) >= listed_ones)


def demanded(view: RecordView, amounts: str) -> str | None:
    """Sentence on the group sizes that the gates demand, at the stakes of the request; None where none of them does."""
    recipient, write = view.record.recipient, numbers.integer
    limits = [
        row.gate.threshold
        for measure in (Measure.PROSECUTOR_MAXIMUM, Measure.TRANSPARENT_MAXIMUM)
        if (row := view.gate(measure)) and row.gate.threshold > 0
    ]
    pays, deterred = [], None
    least = single_pays_below(recipient)
    if view.gate(Measure.TRANSPARENT_ATTACKED) and least:
        single = (
            f"a single attempt pays below {write(least)} people (it costs {numbers.amount(recipient.cost)} and gains "
            f"{numbers.amount(recipient.gain)} if it names the right one)"
        )
        if is_deterred(view):
            deterred = f"By gain and cost alone, {single}; {_deterrent(view)}, so that smaller groups suffice."
        else:
            pays.append(single)
    safe = _safe_people(view.sequential) if view.sequential and view.gate(Measure.SEQUENTIAL_MAXIMUM) else None
    if safe is not None and safe > 1:
        pays.append(f"repeated attempts below {write(safe)}")
    demands = kept(
        f"a risk of at most {numbers.risk(min(limits))} takes groups of at least {write(records_for(min(limits)))}"
        if limits
        else None,
        f"{amounts} {listed(pays)}" if pays else None,
    )
    if not demands:
        return deterred
    return said(
        f"The gates set how large groups are, and so how coarse the copy is: {'; '.join(demands)}.",
        "The largest of these decides." if len(limits[:1]) + len(pays) > 1 else None,
        deterred,
        "If attempts cost more or gained less, smaller groups would deter anyone who weighs the cost, and another "
        "gate might close."
        if pays
        else None,
    )


def _deterrent(view: RecordView) -> str:
    """Clause on what keeps a recipient off whom the cost of an attempt alone would not."""
    profile = view.sequential.profile if view.sequential else None
    if profile and profile.penalty:
        chance = numbers.risk(float(expit(profile.detection_intercept)))
        return f"the penalty of {numbers.amount(profile.penalty)} and its chance of {chance} deter from that"
    return "the other terms that the request declares deter from that"


def _coarser_rows(view: RecordView) -> dict[str, int]:
    """Levels of the attributes of rows that are generalized."""
    return {name: level for name, level in view.events.levels.items() if level} if view.events else {}


def _of_rows(view: RecordView) -> str | None:
    """Sentence on what is generalized or withheld of rows."""
    fact = view.events
    if fact is None:
        return None
    levels = [f"{name} at level {level}" for name, level in _coarser_rows(view).items()]
    return said(
        f"Rows leave with {', '.join(levels)} of the hierarchy." if levels else None,
        withheld_rows(view, fact),
    )


def no_random_sample(view: RecordView) -> str | None:
    """Sentence on what is computed from the values that are kept alone; None where all records keep them alike."""
    if _most_specific(view) == 1 or is_alike(view):
        return None
    return (
        "Rare values are given in groups or withheld (“*”) before others, so that the records that keep theirs are no "
        "random sample: percentages of the values kept alone mislead (are biased)."
    )


def _most_specific(view: RecordView) -> float:
    """Share of the records that keep all values."""
    return next(one for one in view.risk.game.outcomes if one.chosen).most_specific_share


def _exact(view: RecordView, name: str | None) -> str:
    """Share of records that keep the value of a quasi-identifier, or of all of them; a dash where none may leave."""
    if begins_above(view, name):
        return DASH
    if name is None:
        return DASH if gone(view) else view.most_specific(_most_specific(view))
    field = next(field for field in view.fields(Role.QUASI) if field.name == name)
    if not field.records_per_level:
        return DASH
    counts = (*field.records_per_level, view.rows_in - view.released)
    shown = view.cells.breakdown(counts)[0]
    return view.share_in(counts[0] / view.rows_in) if shown == numbers.integer(counts[0]) else HIDDEN


def assumed(view: RecordView) -> Iterator[Block]:
    """The assumptions that matter, as they are numbered in the evidence, and what was not assessed."""
    if view.record.risk is not None:
        yield (
            "The determination holds as far as its assumptions do; where one fails, it must be made again. These are "
            "the ones that it rests on most, numbered as in section E1, which states all of them."
        )
    numbered = enumerate(assumptions(view.record), start=1)
    yield Bullets(
        [
            text('<span class="number">A{}</span>**{}.** {}', place, title, words)
            for place, (title, words) in numbered
            if title in _DECISIVE
        ],
        "assumptions",
    )
    yield Heading("What was and was not assessed")
    yield from scope(view)


def about(view: RecordView) -> Iterator[Block]:
    """The record that the evidence renders."""
    yield text(
        "The evidence for the determination of release {} to {}: every figure of the same decision record, which is "
        "attached to the determination. The determination has sections 1 to 6, this document E1 to E17.",
        numbers.short(view.record.release_id),
        view.record.recipient.organisation,
    )
