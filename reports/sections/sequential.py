"""The sequential adversary (Xia et al. 2015): profile, risk by belief, thresholds and deterrents, with charts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scipy.special import expit

from reports import numbers
from reports.charting import Chart, Panel, box_key, line_key
from reports.document import (
    DASH,
    Block,
    Column,
    Heading,
    Paragraph,
    Row,
    Table,
    digest_text,
    figures,
    lines,
    strong,
    text,
)
from reports.marks import (
    AFTER,
    ALARM,
    BAND,
    BEFORE,
    DASHED,
    DOTTED,
    EDGE,
    INK,
    PARTLY,
    Box,
    ChartAxis,
    Label,
    Line,
    Mark,
    linear,
    note,
    vertical,
)
from reports.record_view import RecordView
from reports.smallcell import HIDDEN
from tasks.assessments.sequential.facts import BeliefFact, DeterrentFact, SensitivityFact, SequentialFact
from tasks.core.fact import Bin

_TERMS = {
    "access_cost": "Cost of access",
    "exploit_cost": "Cost of an exploit",
    "penalty": "Penalty",
    "detection": "Detection",
}
_DETERRENTS = {
    "access_cost": ("Fee for access to the external data", "money, once for the file"),
    "exploit_cost": ("Cost of an exploit", "money"),
    "penalty": ("Penalty for a detected exploit", "money"),
    "detection": ("Detection of the first exploit", "probability"),
}
_BELIEFS = {
    "known group": "Group size known; access paid for each record",
    "unknown group": "Group size guessed from frequency (eq. 6); access paid for each record",
    "access shared": "Access paid once for the whole file",
}
_FIRST = 0.5
"""Left end of the axis of group sizes: a size is drawn from half a person below it to half a person above."""
_KNOWN, _LINKED = (AFTER, 2.2, ""), (ALARM, 1.2, DASHED)
"""Colour, width and dashes of an adversary who pays for each record, and of one who has paid."""


def sequential(view: RecordView, fact: SequentialFact) -> Iterator[Block]:
    """The part of the section on risk."""
    yield Paragraph(
        "The figures so far count one attempt per record. A sequential adversary goes on for as long as it pays (Xia "
        "et al. 2015): pay for access to external data with names, link a record to the people there who match it, "
        "its candidates, exploit one candidate after another, and stop at any point. Each exploit costs, may be the "
        "right one (eq. 3) and may be detected and fined (eq. 2 and 4). What has been done, found, detected and paid "
        "is the state of a factored Markov decision process with eight variables, which was solved exactly for the "
        "plan that gains most; the risk is the probability that this plan ends in a re-identification (eq. 5). It "
        "can be higher than one over the number of candidates, because every candidate may be tried, and it is zero "
        "where no plan gains anything."
    )
    yield Table(
        "The recipient's profile; money in units of the stakes",
        (Column("Symbol", 8), Column("Meaning", 46), *figures("Value", width=16), Column("From", 30)),
        _profile_rows(fact),
        whole=True,
    )
    source, people = fact.external.source, view.cells.count(fact.external.people)
    external = (
        f"No register is declared. The population itself, “{source}”, stands for the external data: by the prior, "
        f"{people} of its people are expected in them. A record's candidates are that share of the people of its "
        "group, rounded and at least one."
    )
    if fact.external.kind == "register":
        external = text(
            "The external data are a register, “{}”, which lists {} people (SHA-256 {}). A record's candidates are "
            "the people of its group whom the register lists.",
            source,
            people,
            digest_text(fact.external.sha256 or ""),
        )
    yield Paragraph(
        external
        + " The group of a record as collected are the people with the same values; that of a released record is the "
        "one that an informed recipient knows, the people whose own released cell it is."
    )
    after = view.judged(fact.residual)
    yield Table(
        "Risk from a sequential adversary, before → after, by what is known of the group and how often access is paid",
        (
            Column("Knowledge and access", 23),
            Column(lines("Highest", "risk"), 13, "pair"),
            Column(lines("Mean", "risk"), 17, "pair"),
            Column(lines("Records", "attacked"), 17, "pair"),
            Column(lines("Expected re-", "identifications"), 18, "pair"),
            Column(lines("Exploits", "per record"), 12, "pair"),
        ),
        [
            *_belief_rows(view, fact),
            (
                "Baseline: a single attempt, after generalization (eq. 7)",
                numbers.risk(fact.baseline_maximum),
                DASH,
                view.share_out(fact.baseline_attacked_share),
                DASH,
                DASH,
            ),
        ],
        whole=True,
    )
    coalitions = ", and what coalitions see (section 13.1)" if view.has_coalitions else ""
    discounted = ""
    if fact.baseline_attacked_share > after.attacked_share or fact.baseline_maximum > after.maximum_risk:
        discounted = (
            " The baseline attempts records that the plan does not attack because it does not discount what it gains."
        )
    yield Paragraph(
        f"The gates judge the row marked so{coalitions}: neither of the other two ways of knowing and paying gives a "
        "higher risk. “Exploits per record” are those expected if none succeeds, over all records of the "
        f"file.{discounted}",
        "note",
    )
    yield Paragraph(threshold_text(view, fact))
    yield _group_chart(view, fact)
    yield Heading("What deters", 4)
    yield Paragraph(
        "Fees, costs, fines and detection keep records safe that group size alone does not. For each of them, the "
        "least value at which no record of this file is attacked, the others staying as they are:",
        "intro",
    )
    yield Table(
        "Deterrents: current value, and the least at which no record of this file is attacked",
        (Column("Deterrent", 38), Column("Unit", 26), *figures("Current", "Needed", width=18)),
        [_deterrent_row(one) for one in fact.deterrents],
        whole=True,
    )
    yield Paragraph("Values needed are rounded up. Detection alone deters nobody where no penalty follows it.", "note")
    yield _sensitivity_chart(view, fact)


def _profile_rows(fact: SequentialFact) -> list[Row]:
    """The terms of the profile in the paper's symbols, with the source of each."""
    profile = fact.profile
    first = numbers.risk(float(expit(profile.detection_intercept)))
    limit = "no limit" if profile.max_penalties is None else numbers.integer(profile.max_penalties)
    rows = (
        ("G", "gain from a right match", numbers.amount(profile.gain), "gain"),
        ("C_p", "penalty for a detected exploit", numbers.amount(profile.penalty), "penalty"),
        ("n_f", "penalties after which detection costs nothing more", limit, "max_penalties"),
        ("C_d", "cost of access to the external data", numbers.amount(profile.access_cost), "access_cost"),
        ("C_l", "cost of linking a record to them", numbers.amount(profile.link_cost), "link_cost"),
        ("C_e", "cost of an exploit", numbers.amount(profile.exploit_cost), "exploit_cost"),
        ("π", "probability that a person of the file is in the external data", numbers.risk(profile.prior), "prior"),
        (
            "h_0",
            f"detection of the first exploit: a probability of {first}",
            numbers.plain(profile.detection_intercept),
            "detection_intercept",
        ),
        (
            "h_1",
            "growth of detection with each further exploit",
            numbers.plain(profile.detection_slope),
            "detection_slope",
        ),
        ("γ", "worth of a unit one step later (discount)", numbers.risk(profile.discount), "discount"),
        ("κ", "probability that a right match is recognized", numbers.risk(profile.confirmation), "confirmation"),
    )
    return [
        (text(symbol), meaning, value, profile.origins.get(name, "not stated")) for symbol, meaning, value, name in rows
    ]


def _belief_rows(view: RecordView, fact: SequentialFact) -> list[Row]:
    """Risk before and after by belief.

    Where the number of attacked records may not be shown, neither may what would disclose it: in groups that are tried
    to the end every attacked record has the same risk.
    """
    before = {one.belief: one for one in fact.initial}

    def shown(one: BeliefFact, total: int) -> tuple[str, ...]:
        hidden = view.cells.hides(one.attacked_records) or view.cells.hides(total - one.attacked_records)
        expected = (
            numbers.risk(one.mean_risk),
            numbers.amount(one.expected_reidentifications),
            numbers.amount(one.expected_exploits),
        )
        mean, people, exploits = (HIDDEN,) * 3 if hidden else expected
        return numbers.risk(one.maximum_risk), mean, view.cells.share(one.attacked_share, total), people, exploits

    rows: list[Row] = []
    for after in fact.residual:
        if after.belief in before:
            pairs = zip(shown(before[after.belief], view.rows_in), shown(after, view.released), strict=True)
            row = (_BELIEFS[after.belief], *(f"{first} → {second}" for first, second in pairs))
            judged = after.belief == fact.judged
            rows.append((strong(f"{row[0]} (judged)"), strong(row[1]), *row[2:]) if judged else row)
    return rows


def _deterrent_row(fact: DeterrentFact) -> Row:
    """Present value of a term and the value it would need, rounded up, so that the printed value deters."""
    title, unit = _DETERRENTS[fact.term]
    if fact.needed is None:
        return title, unit, _written(fact.term, fact.current), "no value deters"
    needed = numbers.risk_up(fact.needed) if fact.term == "detection" else numbers.amount_up(fact.needed)
    return title, unit, _written(fact.term, fact.current), strong(needed) if fact.needed > fact.current else needed


def _written(term: str, value: float) -> str:
    """A term that deters: an amount, or a probability."""
    return numbers.risk(value) if term == "detection" else numbers.amount(value)


def threshold_text(view: RecordView, fact: SequentialFact) -> str:
    """The group sizes at which the adversary gives up, and where the file's groups lie."""
    known, linked, below = fact.threshold_known, fact.threshold_linked, fact.exhausted_below
    if linked is None:
        before = "" if known is None else f"; before, a record is safe in a group of {numbers.integer(known)}"
        safe = f"No group size is safe once access to the external data is paid{before}."
    elif known is None:
        safe = f"Once access is paid, a record is safe from this recipient in a group of {numbers.integer(linked)}."
    elif known == linked:
        safe = (
            f"The smallest group in which a record is safe from this recipient holds {numbers.integer(linked)} "
            "candidates, whether or not access to the external data has been paid."
        )
    else:
        safe = (
            f"The smallest group in which a record is safe from this recipient holds {numbers.integer(known)} "
            f"candidates where access must be paid for that record alone, and {numbers.integer(linked)} once access "
            "is paid: a cost that is sunk deters no longer."
        )
    said = [safe]
    if below is None:
        said.append("For every size examined, the adversary tries every candidate.")
    elif below > 1:
        risk = (
            f", and the risk is the prior, {numbers.risk(fact.profile.prior)}" if fact.profile.confirmation == 1 else ""
        )
        said.append(f"In groups of fewer than {numbers.integer(below)}, every candidate is tried{risk}.")
    after = view.judged(fact.residual)
    attacked = (
        f"{view.share_out(after.attacked_share)} of them are attacked"
        if after.attacked_records
        else "none of them is attacked"
    )
    said.append(
        f"The released records are in groups of {view.cells.count(fact.smallest_group)} to "
        f"{view.cells.count(fact.largest_group)} candidates: {attacked}."
    )
    return " ".join(said)


def _own_sizes(view: RecordView, fact: SequentialFact) -> tuple[float, float]:
    """Range of the file's group sizes as drawn; the bounds of the rule where an end may not be shown."""
    low = 1 if view.cells.hides(fact.smallest_group) else fact.smallest_group
    high = view.cells.limit - 1 if view.cells.hides(fact.largest_group) else fact.largest_group
    return max(low - 0.5, _FIRST), max(high, 1) + 0.5


def _bound_words(view: RecordView, fact: SequentialFact) -> str:
    return ", from 1 on: the smallest may not be shown" if view.cells.hides(fact.smallest_group) else ""


def _size_axis(top: float, title: str) -> ChartAxis:
    """Group sizes from one on, logarithmic where their range is wide."""
    if top <= 60:
        step = next(step for step in (1, 2, 5, 10) if top / step <= 12)
        ticks, wide = sorted({1, *range(step, int(top) + 1, step)}), False
    else:
        steps = (1, 2, 5) if top < 5000 else (1,)
        ticks, wide = [step * 10**power for power in range(10) for step in steps if step * 10**power <= top], True
    return ChartAxis(
        _FIRST, top, title, tuple((tick, numbers.integer(tick)) for tick in ticks), "log" if wide else "linear"
    )


def _size_bins(view: RecordView, bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """Records by group size, the sizes too small to be shown in one interval."""
    small = [part for part in bins if part.high < view.cells.limit]
    if small:
        joined = Bin(low=small[0].low, high=small[-1].high, records=sum(part.records for part in small))
        bins = (joined, *bins[len(small) :])
    return view.cells.bins(bins)


def _group_chart(view: RecordView, fact: SequentialFact) -> Chart:
    """Risk and expected exploits by group size, with the thresholds and the file's own groups below."""
    bins, (low, high), curve = _size_bins(view, fact.group_sizes), _own_sizes(view, fact), fact.curve
    right = max(curve[-1].size + _FIRST, high)
    # Beyond the last threshold all values are 0, so that they reach to the edge.
    passed = fact.threshold_linked is not None and curve[-1].size >= fact.threshold_linked
    end = right if passed else curve[-1].size + 0.5
    x = _size_axis(right, "candidates in the external data (group size)")
    band = Box((low, high), (-EDGE, EDGE), BAND)

    def steps(values: Sequence[float], style: tuple[str, float, str]) -> Line:
        colour, width, dash = style
        edges = [*(point.size - 0.5 for point in curve), end]
        return Line(list(zip(edges, [*values, values[-1]], strict=True)), colour, width, dash, steps=True)

    marks: list[Mark] = [
        band,
        steps([one.known for one in curve], _KNOWN),
        steps([one.linked for one in curve], _LINKED),
    ]
    thresholds = (
        (fact.threshold_known, AFTER, "safe from {} on", 0.93),
        (fact.threshold_linked, ALARM, "safe from {} on, access paid", 0.79),
    )
    for size, colour, words, height in thresholds[: 1 if fact.threshold_known == fact.threshold_linked else 2]:
        if size is not None:
            left = x.at(size - 0.5) > 0.6
            label = Label(
                size - 0.5,
                height,
                words.format(numbers.integer(size)),
                "end" if left else "start",
                -3 if left else 3,
                halo=True,
                of_panel="y",
            )
            marks += [vertical(size - 0.5, colour, DOTTED), label]
    total = sum(part.records for part in bins)
    shares = [100 * part.records / total for part in bins]
    groups: list[Mark] = [
        Box((max(part.low + 0.5, low), min(part.high + 0.5, high)), (-EDGE, share), BEFORE, "white")
        for part, share in zip(bins, shares, strict=True)
        if part.records
    ] or [note("too few records to show")]
    most = max(1.0, *(one.exploits for one in curve))
    top = 1.3 * max(0.1, *(one.linked for one in curve))
    exploits = linear(0, 1.1 * most, "exploits")
    exploits = replace(exploits, ticks=tuple(tick for tick in exploits.ticks if tick[0] == int(tick[0])))
    attacked = view.share_out(view.judged(fact.residual).attacked_share)

    def safe(threshold: int | None, when: str) -> str:
        return f"no size is safe {when}" if threshold is None else f"safe from {numbers.integer(threshold)} on {when}"

    return Chart(
        "sequential",
        "Three panels over the group size. Above, the probability that a record is re-identified, from "
        f"{numbers.risk(curve[0].linked)} in a group of one once access is paid; "
        f"{safe(fact.threshold_known, 'where access is paid for each record')}; "
        f"{safe(fact.threshold_linked, 'once access is paid')}. In the middle, the exploits expected if none "
        f"succeeds, at most {numbers.plain(max(one.exploits for one in curve))}. Below, the released records by group "
        f"size, from {view.cells.count(fact.smallest_group)} to {view.cells.count(fact.largest_group)} candidates; "
        f"{attacked} of them are attacked.",
        "What a sequential adversary does at each group size: probability of re-identification (top), expected "
        "exploits if none succeeds (middle), and the groups in which the released records are (bottom; shaded "
        f"throughout{_bound_words(view, fact)}). Intervals of small groups, or with few records, are drawn as one.",
        [
            [Panel(x, linear(0, top, "probability", last=1), marks)],
            [Panel(x, exploits, [band, steps([one.exploits for one in curve], _LINKED)])],
            [Panel(x, linear(0, max(shares, default=1.0) * 1.05, "records, %", last=100), [band, *groups])],
        ],
        255,
        [
            line_key("group known, access paid for each record", Line((), *_KNOWN)),
            line_key("once access is paid", Line((), *_LINKED)),
            box_key("groups of this file", BAND),
        ],
        heights=(1.5, 1, 0.8),
    )


def _sensitivity_chart(view: RecordView, fact: SequentialFact) -> Chart:
    """Threshold group sizes as one term varies (after Xia et al. 2015, Fig. 10), with the file's groups."""
    own = _own_sizes(view, fact)
    sizes = [
        size
        for series in fact.sensitivity
        for one in series.points
        for size in (one.known_threshold, one.linked_threshold)
    ]
    y = _size_axis(1.8 * max(own[0], 2, *(size for size in sizes if size is not None)), "group size")
    words = "; ".join(
        f"{_TERMS[series.term]}: "
        + ", ".join(
            f"{'none found' if one.linked_threshold is None else numbers.integer(one.linked_threshold)} at "
            f"{_written(series.term, one.value)}"
            for one in (series.points[0], series.points[-1])
        )
        + f", here {_written(series.term, series.own)}"
        for series in fact.sensitivity
    )
    beyond = " Where a line leaves the top, no size that was examined is safe." if None in sizes else ""
    return Chart(
        "sensitivity",
        f"Four charts of the smallest safe group once access is paid. {words}.",
        "The smallest safe group as one term varies and the others stay (after Xia et al. 2015, Fig. 10); the dotted "
        f"line is this release. Shaded: group sizes from the file's smallest on{_bound_words(view, fact)}; hatched: "
        f"those of them that are attacked at that value once access is paid.{beyond}",
        [[_sensitivity_panel(series, own, y) for series in fact.sensitivity]],
        165,
        [
            line_key("safe from, access paid for each record", Line((), *_KNOWN)),
            line_key("safe from, once access is paid", Line((), *_LINKED)),
            box_key("groups of this file", BAND),
            box_key("of them attacked, once access is paid", "white", PARTLY, PARTLY),
        ],
    )


def _sensitivity_panel(series: SensitivityFact, own: tuple[float, float], y: ChartAxis) -> Panel:
    low, high = own[0], max(min(own[1], y.high), own[0])
    known, linked = (
        [EDGE if size is None else size for size in sizes]
        for sizes in zip(*((one.known_threshold, one.linked_threshold) for one in series.points), strict=True)
    )
    values = [one.value for one in series.points]
    marks: list[Mark] = [Box((-EDGE, EDGE), (low, high), BAND)]
    for (value, size), (following, next_size) in zip(
        zip(values, linked, strict=True), list(zip(values, linked, strict=True))[1:], strict=False
    ):
        attacked = min(max(min(size, next_size) - 0.5, low), high)
        if attacked > low:
            marks.append(Box((value, following), (low, attacked), "white", hatch=PARTLY))
    marks += [
        Line(list(zip(values, known, strict=True)), *_KNOWN),
        Line(list(zip(values, linked, strict=True)), *_LINKED),
        vertical(series.own, INK, DOTTED),
    ]
    if min(*known, *linked) == EDGE:
        marks.append(note("no safe size found"))
    title = f"{_TERMS[series.term]}\nhere {_written(series.term, series.own)}"
    return Panel(_term_axis(sorted({*values, series.own})), y, marks, title)


def _term_axis(values: Sequence[float]) -> ChartAxis:
    """A term's values: logarithmic where they span a wide range, and linear below the first where they begin at 0."""
    positive = [value for value in values if value > 0]
    low, high = values[0], values[-1] if values[-1] > values[0] else values[0] + 1
    if not positive or positive[-1] < 50 * positive[0]:
        return linear(low, high)
    powers = range(math.ceil(math.log10(positive[0])), math.floor(math.log10(positive[-1])) + 1)
    ticks = [*([0.0] if low <= 0 else []), *(10.0**power for power in powers[:: 1 + (len(powers) - 1) // 3])]
    return ChartAxis(
        low, high, "", tuple((tick, numbers.tick(tick)) for tick in ticks), "log" if low > 0 else "symlog", positive[0]
    )
