"""The sequential adversary (Xia et al. 2015): profile, risk by belief, thresholds and deterrents, with charts."""

import math
from collections.abc import Iterator, Sequence

from scipy.special import expit

from reports import charts, numbers
from reports.charts import AFTER, ALARM, BAND, BEFORE, DASHED, DOTTED, EDGE, INK, Box, Chart, ChartAxis, Line, Panel
from reports.document import DASH, Block, Heading, Paragraph, Row, Table, digest_text, said, strong, text
from reports.record_view import FileView
from reports.smallcell import HIDDEN
from tasks.assessments.sequential.facts import BeliefFact, DeterrentFact, SensitivityFact, SequentialFact
from tasks.core.fact import Bin

_TERMS = {
    "access_cost": ("Cost of access", "Fee for access to the external data", "money, once for the file"),
    "exploit_cost": ("Cost of an exploit", "Cost of an exploit", "money"),
    "penalty": ("Penalty", "Penalty for a detected exploit", "money"),
    "detection": ("Detection", "Detection of the first exploit", "probability"),
    "prior": ("Prior π", "", ""),
    "discount": ("Discount γ", "", ""),
    "confirmation": ("Recognition κ", "", ""),
    "max_penalties": ("Most penalties n_f", "", ""),
}
"""Terms: name in a chart; of those that deter, name in a table and unit."""
_SHARES = frozenset({"detection", "prior", "discount", "confirmation"})
_BELIEFS = {
    "known group": "Group size known; access paid for each record",
    "unknown group": "Group size guessed from frequency (eq. 6); access paid for each record",
    "access shared": "Access paid once for the whole file",
}
_FIRST = 0.5
"""Left end of the axis of group sizes: a size is drawn from half a person below it to half a person above."""
_KNOWN, _LINKED = (AFTER, 2.2, ""), (ALARM, 1.2, DASHED)
"""Colour, width and dashes of an adversary who pays for each record, and of one who has paid."""


def sequential(view: FileView, fact: SequentialFact) -> Iterator[Block]:
    """The part of the section on risk."""
    yield (
        "A sequential adversary goes on for as long as it pays (Xia et al. 2015): pay for access to external data with "
        "names, link a record to the people there who match it, its candidates, exploit one candidate after another, "
        "and stop at any point. Each exploit costs, may be the right one (eq. 3) and may be detected and fined (eq. 2 "
        "and 4). A factored Markov decision process with eight variables was solved exactly for the plan that gains "
        "most; the risk is the probability that this plan ends in a re-identification (eq. 5). It can be higher than "
        "one over the number of candidates, because every candidate may be tried, and it is zero where no plan gains "
        "anything."
    )
    yield Table(
        "The recipient's profile; money in units of the stakes",
        "Symbol 8 | Meaning 46 | Value 16r | From 30",
        _profile_rows(fact),
    )
    source, people = fact.external.source, view.cells.count(fact.external.people)
    external = (
        f"No register is declared. The population itself, “{source}”, stands for the external data: by the prior, "
        f"{people} of its people are expected in them. A record's candidates are that share of the people of its "
        "group, rounded up and at least one."
    )
    if fact.profile.resources:
        external = (
            f"The recipient may consult {_number_of_resources(fact)}, one after the other. Each tier lists a share of "
            f"the people of a group, of “{source}”, rounded up and at least one, who are equally likely to be the "
            "person. Group sizes are of people, not of candidates."
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
        said(
            external,
            "The group of a record as collected are the people with the same values; that of a released record is the "
            "one that an informed recipient knows, the people whose own released cell it is.",
        )
    )
    if fact.profile.resources:
        yield _resources(fact)
        yield Paragraph(_reach(fact))
    after = fact.judged_in(fact.residual)
    baseline = numbers.risk(fact.baseline_maximum), DASH, view.share_out(fact.baseline_attacked_share), DASH, DASH
    yield Table(
        "Risk from a sequential adversary, before → after, by what is known of the group and how often access is paid",
        "Knowledge and access 23 | Highest risk 13p | Mean risk 17p | Records attacked 17p | Expected "
        "re-identifications 18p | Exploits per record 12p",
        [*_belief_rows(view, fact), ("Baseline: a single attempt, after generalization (eq. 7)", *baseline)],
    )
    coalitions = ", and what coalitions see (section 13.1)" if view.has_coalitions else ""
    yield Paragraph(
        said(
            f"The gates judge the row marked so{coalitions}: neither of the other two ways of knowing and paying gives "
            "a higher risk. “Exploits per record” are those expected if none succeeds, over all records of the file.",
            "The baseline attempts records that the plan does not attack because it does not discount what it gains."
            if fact.baseline_attacked_share > after.attacked_share or fact.baseline_maximum > after.maximum_risk
            else None,
        ),
        "note",
    )
    hidden = view.cells.hides(after.attacked_records) or view.cells.hides(view.released - after.attacked_records)
    if fact.expected_loss is not None:
        loss = HIDDEN if hidden else numbers.amount(fact.expected_loss)
        yield Paragraph(
            f"With the publisher's loss for each re-identification, the risk judged comes to an expected loss of "
            f"{loss} units of the stakes (eq. 1)."
        )
    yield Paragraph(threshold_text(view, fact))
    yield _patience(view, fact)
    yield _group_chart(view, fact)
    yield Heading("Deterrents", 4)
    yield Table(
        "Deterrents: current value, and the least, rounded up, at which no record of this file is attacked, the "
        "others staying as they are",
        "Deterrent 38 | Unit 26 | Current 18r | Needed 18r",
        [_deterrent_row(one) for one in fact.deterrents],
    )
    yield _sensitivity_chart(view, fact)


def _number_of_resources(fact: SequentialFact) -> str:
    """How many resources the recipient consults, in words."""
    number = len(fact.profile.resources)
    return "one resource" if number == 1 else f"{numbers.integer(number)} resources"


def _resources(fact: SequentialFact) -> Table:
    rows: list[Row] = [
        (
            text(one.source),
            numbers.amount(one.access_cost) if first else DASH,
            numbers.percent(tier.people),
            numbers.risk(tier.prior),
        )
        for one in fact.profile.resources
        for first, tier in zip((True, *(False for _ in one.candidates)), one.candidates, strict=False)
    ]
    return Table(
        "External resources in the order in which they are consulted, with whom each adds; costs in units",
        "Resource 46 | Access 16r | People of a group 18r | Person among them 20r",
        rows,
    )


def _reach(fact: SequentialFact) -> str:
    reached, all_of_them = fact.resources_in_reach, len(fact.profile.resources)
    if reached == all_of_them:
        which = "Each of them may pay for the whole file"
    else:
        which = f"Of them the first {numbers.integer(reached)} may pay for the whole file, the others never"
    return (
        f"{which}: what it may bring, of all records together, exceeds its cost, even if nobody has been found before "
        "it. The risk judged is that from a recipient to whom access to these, but for the first, is free; it is an "
        "upper bound. Where each record's access is paid by itself, the risk is exact."
    )


def _unit(fact: SequentialFact) -> str:
    return "people" if fact.profile.resources else "candidates"


def _profile_rows(fact: SequentialFact) -> list[Row]:
    profile, amount, risk = fact.profile, numbers.amount, numbers.risk
    first = risk(float(expit(profile.detection_intercept)))
    limit = "no limit" if profile.max_penalties is None else numbers.integer(profile.max_penalties)
    rows = (
        ("G", "gain from a right match", amount(profile.gain), "gain"),
        ("C_p", "penalty for a detected exploit", amount(profile.penalty), "penalty"),
        ("n_f", "penalties after which detection costs nothing more", limit, "max_penalties"),
        ("C_d", "cost of access to the external data", amount(profile.access_cost), "access_cost"),
        ("C_l", "cost of linking a record to them", amount(profile.link_cost), "link_cost"),
        ("C_e", "cost of an exploit", amount(profile.exploit_cost), "exploit_cost"),
        ("π", "probability that a person of the file is in the external data", risk(profile.prior), "prior"),
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
        ("γ", "worth of a unit one step later (discount)", risk(profile.discount), "discount"),
        ("κ", "probability that a right match is recognized", risk(profile.confirmation), "confirmation"),
    )
    return [
        (text(symbol), meaning, value, profile.origins.get(name, "not stated")) for symbol, meaning, value, name in rows
    ]


def _belief_rows(view: FileView, fact: SequentialFact) -> list[Row]:
    """Risk before and after by belief; a mean is hidden where a hidden number of attacked records would follow."""
    before = {one.belief: one for one in fact.initial}

    def shown(one: BeliefFact, total: int) -> tuple[str, ...]:
        mean, people, exploits = (
            numbers.risk(one.mean_risk),
            numbers.amount(one.expected_reidentifications),
            numbers.amount(one.expected_exploits),
        )
        if view.cells.hides(one.attacked_records) or view.cells.hides(total - one.attacked_records):
            mean = people = exploits = HIDDEN
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
    _, title, unit = _TERMS[fact.term]
    needed = "no value deters"
    if fact.needed is not None:
        needed = numbers.risk_up(fact.needed) if fact.term == "detection" else numbers.amount_up(fact.needed)
        needed = strong(needed) if fact.needed > fact.current else needed
    return title, unit, _written(fact.term, fact.current), needed


def _written(term: str, value: float | None) -> str:
    if value is None:
        return "no limit"
    if term == "max_penalties":
        return numbers.integer(round(value))
    return numbers.risk(value) if term in _SHARES else numbers.amount(value)


def _patience(view: FileView, fact: SequentialFact) -> Table:
    """P_reid over γ; figures from which a hidden number of attacked records would follow are hidden."""
    rows: list[Row] = []
    for one in fact.patience:
        hidden = view.cells.hides(one.attacked_records) or view.cells.hides(view.released - one.attacked_records)
        people = HIDDEN if hidden else numbers.amount(one.expected_reidentifications)
        safe = DASH if one.threshold_linked is None else numbers.integer(one.threshold_linked)
        own = one.discount == fact.profile.discount
        label = numbers.risk(one.discount)
        rows.append(
            (
                strong(f"{label} (here)") if own else label,
                numbers.risk(one.maximum_risk),
                view.cells.share(one.attacked_share, view.released),
                people,
                safe,
            )
        )
    return Table(
        "Risk after generalization by the patience of the recipient: γ is the worth of a unit one attempt later",
        "γ 20 | Highest risk 20r | Records attacked 20r | Expected re-identifications 20r | Safe from a group of 20r",
        rows,
    )


def threshold_text(view: FileView, fact: SequentialFact) -> str:
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
            f"{_unit(fact)}, whether or not access to the external data has been paid."
        )
    else:
        safe = (
            f"The smallest group in which a record is safe from this recipient holds {numbers.integer(known)} "
            f"{_unit(fact)} where access must be paid for that record alone, and {numbers.integer(linked)} once "
            "access is paid: a cost that is sunk deters no longer."
        )
    tried = "For every size examined, the adversary tries every candidate." if below is None else None
    if below is not None and below > 1:
        prior = numbers.risk(fact.profile.prior)
        risk = f", and the risk is the prior, {prior}" if fact.profile.confirmation == 1 else ""
        tried = f"In groups of fewer than {numbers.integer(below)}, every candidate is tried{risk}."
    after = fact.judged_in(fact.residual)
    attacked = f"{view.share_out(after.attacked_share)} of them are" if after.attacked_records else "none of them is"
    return said(
        safe,
        tried,
        f"The released records are in groups of {view.cells.count(fact.smallest_group)} to "
        f"{view.cells.count(fact.largest_group)} {_unit(fact)}: {attacked} attacked.",
    )


def _own_sizes(view: FileView, fact: SequentialFact) -> tuple[float, float]:
    """Range of the file's group sizes as drawn; the bounds of the rule where an end may not be shown."""
    low = 1 if view.cells.hides(fact.smallest_group) else fact.smallest_group
    high = view.cells.limit - 1 if view.cells.hides(fact.largest_group) else fact.largest_group
    return max(low - 0.5, _FIRST), max(high, 1) + 0.5


def _bound_words(view: FileView, fact: SequentialFact) -> str:
    return ", from 1 on: the smallest may not be shown" if view.cells.hides(fact.smallest_group) else ""


def _size_axis(top: float, title: str) -> ChartAxis:
    """Group sizes from one on, logarithmic where their range is wide."""
    if top <= 60:
        step = next(step for step in (1, 2, 5, 10) if top / step <= 12)
        return ChartAxis(_FIRST, top, title, charts.labelled(sorted({1, *range(step, int(top) + 1, step)})))
    steps = (1, 2, 5) if top < 5000 else (1,)
    ticks = [step * 10**power for power in range(10) for step in steps if step * 10**power <= top]
    return ChartAxis(_FIRST, top, title, charts.labelled(ticks), "log")


def _size_bins(view: FileView, bins: Sequence[Bin]) -> tuple[Bin, ...]:
    """Records by group size, the sizes too small to be shown in one interval."""
    small = [part for part in bins if part.high < view.cells.limit]
    if small:
        joined = Bin(low=small[0].low, high=small[-1].high, records=sum(part.records for part in small))
        bins = (joined, *bins[len(small) :])
    return view.cells.bins(bins)


def _group_chart(view: FileView, fact: SequentialFact) -> Chart:
    bins, (low, high), curve = _size_bins(view, fact.group_sizes), _own_sizes(view, fact), fact.curve
    right = max(curve[-1].size + _FIRST, high)
    # Beyond the last threshold all values are 0, so that they reach to the edge.
    passed = fact.threshold_linked is not None and curve[-1].size >= fact.threshold_linked
    edges = [*(point.size - 0.5 for point in curve), right if passed else curve[-1].size + 0.5]
    of_people = "people of the group (group size)"
    x = _size_axis(right, of_people if fact.profile.resources else "candidates in the external data (group size)")
    band = Box((low, high), (-EDGE, EDGE), BAND)

    def steps(values: Sequence[float], style: tuple[str, float, str]) -> Line:
        return Line(list(zip(edges, [*values, values[-1]], strict=True)), *style, steps=True)

    marks: list[charts.Mark] = [
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
            marks += charts.limit(x, size - 0.5, words.format(numbers.integer(size)), height=height, colour=colour)
    total = sum(part.records for part in bins)
    groups: list[charts.Mark] = [
        Box(
            (max(part.low + 0.5, low), min(part.high + 0.5, high)), (-EDGE, 100 * part.records / total), BEFORE, "white"
        )
        for part in bins
        if part.records
    ]
    tallest = max((100 * part.records / total for part in bins), default=1.0)
    top = 1.3 * max(0.1, *(one.linked for one in curve))
    records = charts.linear(0, 1.05 * tallest, "records, %", last=100)
    return Chart(
        "sequential",
        "Two panels over the group size: above, the probability that a record is re-identified, which falls to 0 at "
        "the group sizes named in the text; below, the released records by group size, from "
        f"{view.cells.count(fact.smallest_group)} to {view.cells.count(fact.largest_group)} {_unit(fact)}.",
        "Probability of re-identification by a sequential adversary at each group size (top), and the groups in which "
        f"the released records are (bottom; shaded throughout{_bound_words(view, fact)}). Intervals of small groups, "
        "or with few records, are drawn as one.",
        [
            [Panel(x, charts.linear(0, top, "probability", last=1), marks)],
            [Panel(x, records, [band, *(groups or [charts.note("too few records to show")])])],
        ],
        190,
        [
            charts.line_key("group known, access paid for each record", Line((), *_KNOWN)),
            charts.line_key("once access is paid", Line((), *_LINKED)),
            charts.box_key("groups of this file", BAND),
        ],
        heights=(1.5, 1),
    )


def _sensitivity_chart(view: FileView, fact: SequentialFact) -> Chart:
    own = _own_sizes(view, fact)
    points = [one for series in fact.sensitivity for one in series.points]
    sizes = [size for one in points for size in (one.known_threshold, one.linked_threshold)]
    y = _size_axis(1.8 * max(own[0], 2, *(size for size in sizes if size is not None)), "group size")

    def ends(series: SensitivityFact) -> str:
        shown = (
            f"{'none found' if one.linked_threshold is None else numbers.integer(one.linked_threshold)} at "
            f"{_written(series.term, one.value)}"
            for one in (series.points[0], series.points[-1])
        )
        return f"{_TERMS[series.term][0]}: {', '.join(shown)}, here {_written(series.term, series.own)}"

    starts = range(0, len(fact.sensitivity), 4)
    beyond = " Where a line leaves the top, no size that was examined is safe." if None in sizes else ""
    return Chart(
        "sensitivity",
        f"Charts of the smallest safe group once access is paid. {'; '.join(map(ends, fact.sensitivity))}.",
        "The smallest safe group as one term varies and the others stay (after Xia et al. 2015, Fig. 10); the dotted "
        f"line is this release. Shaded: group sizes of the file{_bound_words(view, fact)}; those below a line are "
        f"attacked at that value.{beyond}",
        [[_sensitivity_panel(one, own, y) for one in fact.sensitivity[row : row + 4]] for row in starts],
        145 * len(starts),
        [
            charts.line_key("safe from, access paid for each record", Line((), *_KNOWN)),
            charts.line_key("safe from, once access is paid", Line((), *_LINKED)),
            charts.box_key("groups of this file", BAND),
        ],
    )


def _sensitivity_panel(series: SensitivityFact, own: tuple[float, float], y: ChartAxis) -> Panel:
    known, linked = (
        [(one.value, EDGE if size is None else size) for one, size in zip(series.points, sizes, strict=True)]
        for sizes in zip(*((one.known_threshold, one.linked_threshold) for one in series.points), strict=True)
    )
    marks: list[charts.Mark] = [
        Box((-EDGE, EDGE), own, BAND),
        Line(known, *_KNOWN),
        Line(linked, *_LINKED),
        *([] if series.own is None else [charts.vertical(series.own, INK, DOTTED)]),
    ]
    if min(size for _, size in (*known, *linked)) == EDGE:
        marks.append(charts.note("no safe size found"))
    title = f"{_TERMS[series.term][0]}\nhere {_written(series.term, series.own)}"
    return Panel(
        _term_axis(sorted({*(value for value, _ in known), *([] if series.own is None else [series.own])})),
        y,
        marks,
        title,
    )


def _term_axis(values: Sequence[float]) -> ChartAxis:
    """A term's values: logarithmic where they span a wide range, and linear below the first where they begin at 0."""
    positive = [value for value in values if value > 0]
    low, high = values[0], values[-1] if values[-1] > values[0] else values[0] + 1
    if not positive or positive[-1] < 50 * positive[0]:
        return charts.linear(low, high)
    powers = range(math.ceil(math.log10(positive[0])), math.floor(math.log10(positive[-1])) + 1)
    ticks = [*([0.0] if low <= 0 else []), *(10.0**power for power in powers[:: 1 + (len(powers) - 1) // 3])]
    return ChartAxis(low, high, "", charts.labelled(ticks), "log" if low > 0 else "symlog", positive[0])
