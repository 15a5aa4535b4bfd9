"""Identity disclosure before and after, and what a recipient gains who knows the rule, with their charts."""

from collections.abc import Callable, Iterator, Sequence

from reports import numbers
from reports.charting import Chart, Panel
from reports.document import Block, Bullets, Column, Heading, Paragraph, Row, Table, figures, lines, strong, text
from reports.marks import (
    AFTER,
    ALARM,
    BAND,
    BEFORE,
    EDGE,
    PARTLY,
    Bold,
    Box,
    ChartAxis,
    Dots,
    Label,
    Line,
    Mark,
    linear,
    logarithmic,
    note,
    rows_axis,
    threshold,
)
from reports.methods import method_text
from reports.record_view import RecordView
from reports.sections.stakes import other_stakes
from reports.smallcell import SmallCellRule
from reports.statements import stopped
from tasks.assessments.identity.facts import RiskView
from tasks.core.fact import Bin
from tasks.request.model import Measure

_BEFORE_AFTER = figures("Before", "After", width=15)


def risk_section(view: RecordView) -> Iterator[Block]:
    """Risk before and after; where nothing was measured, why."""
    record = view.record
    if record.risk is None:
        yield from _unmeasured(view)
        return
    risk, cells = record.risk, view.cells
    before, after = risk.initial, risk.residual
    models = [number for number, fact in (("12.1", risk.sequential), ("12.2", risk.combined)) if fact]
    sections = f"section{'s' if len(models) == 2 else ''} {' and '.join(models)}"
    modelled = (
        f"; {sections} {'apply models' if len(models) == 2 else 'applies a model'}, whose terms are declared, to such "
        "counts, exactly"
        if models
        else ""
    )
    sampled = "; the shares of section 13.2 carry intervals" if risk.linkage else ""
    yield Paragraph(
        "Both files were measured in the same way against the same population: the source file as it came in, with "
        "direct identifiers removed, and the file that would be released. Every figure is an exact count over file "
        f"and population table, not an estimate{modelled}{sampled}."
    )
    rows: list[Row] = []
    for who, first, second in (
        ("Prosecutor", before.prosecutor, after.prosecutor),
        ("Journalist", before.journalist, after.journalist),
    ):
        over = (cells.share(one.over_threshold / one.records, one.records) for one in (first, second))
        rows += [
            (
                strong(f"{who}, highest"),
                "probability",
                numbers.risk(first.maximum),
                strong(numbers.risk(second.maximum)),
                numbers.risk(risk.threshold),
            ),
            (f"{who}, mean", "probability", numbers.risk(first.mean), numbers.risk(second.mean), "none set"),
            (f"{who}, over threshold", "share of records", *over, "none set"),
        ]
    least = risk.game.minimum_class_size
    in_small = (cells.share(one.below_small_cell, one.prosecutor.records) for one in (before, after))
    rows += [
        (
            strong("Marketer"),
            "expected share linked",
            numbers.risk(before.marketer),
            numbers.risk(after.marketer),
            "none set",
        ),
        (
            "Classes",
            "classes",
            numbers.integer(before.classes),
            "not shown" if view.few_suppressed else numbers.integer(after.classes),
            "none set",
        ),
        (
            "Smallest class",
            "records",
            cells.count(before.smallest_class),
            cells.count(after.smallest_class),
            numbers.integer(least) if least > 1 else "none set",
        ),
        (f"In classes under {numbers.integer(cells.limit)}", "share of records", *in_small, "none set"),
    ]
    columns = (
        Column("Attacker and measure", 34),
        Column("Unit", 20),
        *_BEFORE_AFTER,
        Column("Threshold", 16, "figure"),
    )
    yield Table("Risk of the records, before → after, with the policy's threshold", columns, rows)
    if models:
        yield Table(
            f"Risk of the records by the models of {sections}, before → after, with the policy's gates",
            columns,
            _modelled(view),
            whole=True,
        )
    yield Paragraph(
        "Where “none set” stands, the figure is reported and not limited by itself. The gates are in section 17.",
        "note",
    )
    yield _risk_chart(view)


def _unmeasured(view: RecordView) -> Iterator[Block]:
    yield Paragraph(
        "No risk figure exists for this release, before or after, and none should be inferred from this document.",
        "lead",
    )
    why = (
        "A stage before the measurement could not finish, and the gate stops there. No file was made, no attack was "
        "tested and no utility was measured."
    )
    if not view.record.validation.passed:
        why = (
            "The file did not pass validation, and the gate stops there: generalizing or scoring a file that is not "
            "what the request says it is would give figures about something else. No strategy was chosen, no file "
            "was made, no attack was tested and no utility was measured."
        )
    yield Paragraph(why)
    entries = stopped(view.record)
    if entries:
        yield Bullets([text("**{}:** {}", one.stage, one.reason) for one in entries])
    yield Paragraph(
        "The criteria of the Article 29 Working Party (Opinion 05/2014, WP216), singling out, linkability and "
        "inference, were not assessed."
    )


def _modelled(view: RecordView) -> list[Row]:
    rows: list[Row] = []
    if view.sequential:
        before, after = view.judged(view.sequential.initial), view.judged(view.sequential.residual)
        rows += [
            (
                strong("Sequential adversary, highest"),
                "probability",
                numbers.risk(before.maximum_risk),
                strong(numbers.risk(after.maximum_risk)),
                view.bound(Measure.SEQUENTIAL_MAXIMUM, numbers.risk),
            ),
            (
                "Sequential adversary, attacked",
                "share of records",
                view.share_in(before.attacked_share),
                view.share_out(after.attacked_share),
                view.bound(Measure.SEQUENTIAL_ATTACKED, numbers.percent),
            ),
        ]
    fact, cells = view.combined, view.cells
    if fact:
        initial, residual = fact.initial, fact.residual
        above = (cells.share(one.share_above, one.records) for one in (initial, residual))
        rows += [
            (
                strong("Combined score, highest"),
                "score",
                numbers.risk(initial.maximum),
                strong(numbers.risk(residual.maximum)),
                view.bound(Measure.COMBINED_MAXIMUM, numbers.risk),
            ),
            (
                f"Combined score, {numbers.percent(fact.quantile)} quantile",
                "score",
                numbers.risk(initial.quantile),
                numbers.risk(residual.quantile),
                view.bound(Measure.COMBINED_QUANTILE, numbers.risk),
            ),
            (
                f"Combined score, over {numbers.risk(fact.threshold)}",
                "share of records",
                *above,
                view.bound(Measure.COMBINED_ABOVE, numbers.percent),
            ),
        ]
    return rows


def shown_bins(bins: Sequence[Bin], maximum: float, cells: SmallCellRule) -> tuple[Bin, ...]:
    """The bins that may be shown, the last filled one ending at the highest risk."""
    return tuple(
        part.model_copy(update={"high": maximum}) if part.records and part.low < maximum < part.high else part
        for part in cells.bins(bins)
    )


def risk_axis(bins: Sequence[Bin], marks: Sequence[float], title: str, *, largest: float = 1.0) -> ChartAxis:
    """A logarithmic axis that holds the filled bins and the marks; a lower edge of 0 is drawn one step further."""
    filled = [part for part in bins if part.records]
    positive = sorted({edge for part in filled for edge in (part.low, part.high) if edge > 0} | set(marks))
    floor = positive[0] / 2 if any(part.low <= 0 for part in filled) else positive[0]
    return logarithmic(floor, max(min(largest, 2 * positive[-1]), 2 * floor), title)


def bars(bins: Sequence[Bin], colour: str | Callable[[Bin], str]) -> list[Mark]:
    """A histogram in percent of its records, or a note where too few may be shown."""
    total = sum(part.records for part in bins)
    marks: list[Mark] = [
        Box(
            (part.low, part.high),
            (-EDGE, 100 * part.records / total),
            colour if isinstance(colour, str) else colour(part),
            "white",
        )
        for part in bins
        if part.records
    ]
    return marks or [note("too few records to show")]


def tallest(histograms: Sequence[Sequence[Bin]]) -> float:
    """Percent of the records in the tallest bar of all; 1 where there is none."""
    shares = (100 * part.records / sum(one.records for one in bins) for bins in histograms for part in bins)
    return max(shares, default=1.0) or 1.0


def _risk_chart(view: RecordView) -> Chart:
    """Prosecutor and journalist risk, before above after, with the policy's threshold."""
    risk, cells = view.risk, view.cells
    own = (
        (name, one, colour) for name, one, colour in (("Before", risk.initial, BEFORE), ("After", risk.residual, AFTER))
    )
    histograms = [
        [
            (f"{name}: {attacker}", colour, shown_bins(one.histogram, one.maximum, cells))
            for attacker, one in (("prosecutor", side.prosecutor), ("journalist", side.journalist))
        ]
        for name, side, colour in own
    ]
    every = [bins for row in histograms for _, _, bins in row]
    x = risk_axis([part for bins in every for part in bins], (risk.threshold,), "risk of a record")
    y = linear(0, 1.15 * tallest(every), "records, %", last=100)
    words = f"threshold {numbers.risk(risk.threshold)}"
    panels = [
        [
            Panel(
                x,
                y,
                [
                    *bars(bins, colour),
                    *threshold(x, risk.threshold, words if line == 0 else ""),
                ],
                title,
            )
            for title, colour, bins in row
        ]
        for line, row in enumerate(histograms)
    ]

    def over(side: RiskView, attacker: str) -> str:
        figure = side.prosecutor if attacker == "prosecutor" else side.journalist
        return cells.share(figure.over_threshold / figure.records if figure.records else 0.0, figure.records)

    told = "; ".join(
        f"for the {who}, {over(risk.initial, who)} of the records before and {over(risk.residual, who)} after"
        for who in ("prosecutor", "journalist")
    )
    return Chart(
        "risk",
        f"Four histograms of the risk of a record. Above the threshold of {numbers.risk(risk.threshold)} lie, {told}.",
        "Risk of the records before (grey) and after (blue) generalization, for the prosecutor (1/class size in the "
        "file) and the journalist (1/people who match in the population). Bins with few records are joined to a "
        "neighbour.",
        panels,
        240,
    )


def tests(view: RecordView) -> Iterator[Block]:
    """Adversarial tests beside their baselines."""
    if view.record.risk is None:
        yield Paragraph(
            "No attack was made, with or without knowledge of a method, because no file was generalized that could "
            "be attacked. Section 12 says why the release stopped before. Nothing about how safe the data are "
            "follows from this."
        )
        return
    tried = view.record.decoys is not None and view.record.decoys.detectability is not None
    decoys = (
        " Whether decoys can be distinguished from real classes is tested in section 14, also beside guessing."
        if tried
        else ""
    )
    yield Paragraph(
        "Each test makes an attack on the released file and is read beside its baseline, what the same intruder "
        "reaches without it: an attack that does no better than its baseline proves nothing about the file. The "
        "transparency test takes a recipient who knows how the file was made, beside what the method claims for "
        f"itself; the linkage tests take an intruder who holds the source file, beside guessing.{decoys}"
    )


def transparency(view: RecordView) -> Iterator[Block]:
    """What knowing the rule gains, for this file, in coalitions, by every method, and under other stakes."""
    risk, cells, game = view.risk, view.cells, view.risk.game
    informed = risk.transparent
    yield Paragraph(
        text(
            "Generalization by a rule discloses something by itself: whoever knows the rule can keep, among the n_p "
            "people who match a released cell, only those for whom the rule would have chosen that very cell, n_T of "
            "them. The test applies the rule to the whole population and counts them. Its baseline is the naive "
            "claim, 1/n_p, that the method makes for itself."
        )
    )
    yield Table(
        "What the method claims, and what holds against a recipient who knows it",
        (
            Column("Measure", 34),
            Column("Unit", 24),
            *figures(
                lines(text("Naive claim, 1/n_p"), "(baseline)"), lines("Informed recipient,", text("1/n_T")), width=21
            ),
        ),
        [
            (
                "Highest risk of a record",
                "probability",
                numbers.risk(informed.naive_maximum_risk),
                strong(numbers.risk(informed.maximum_risk)),
            ),
            (
                "Mean risk of a record",
                "probability",
                numbers.risk(risk.residual.journalist.mean),
                numbers.risk(informed.mean_risk),
            ),
            (
                "Records worth attacking",
                "share of records",
                view.share_out(informed.naive_attacked_share),
                strong(view.share_out(informed.attacked_share)),
            ),
            (
                "Expected re-identifications",
                "records, expected",
                numbers.amount(informed.naive_expected_reidentifications),
                strong(numbers.amount(informed.expected_reidentifications)),
            ),
        ],
        whole=True,
    )
    differ = (
        informed.maximum_risk > informed.naive_maximum_risk
        or informed.expected_reidentifications > informed.naive_expected_reidentifications
    )
    found = "agree: on these data, knowing the rule gains the recipient nothing"
    if differ:
        found = "differ: knowing the rule helps the recipient, and the naive figures understate the risk"
    also = ", and what coalitions see" if risk.coalitions else ""
    yield Paragraph(
        f"The two columns {found}. The smallest effective group holds "
        f"{cells.count(informed.smallest_effective_group)} people. The gates judge the right-hand column{also}."
    )
    yield _transparent_chart(view)
    if risk.coalitions:
        yield from _coalitions(view)
    yield Paragraph("The same test for every method, on these data and under these stakes:", "intro")
    yield _payoffs_chart(view)
    rows: list[Row] = []
    for one in sorted(game.outcomes, key=lambda outcome: -outcome.publisher_payoff):
        row = (
            method_text(one.method).title + (" (applied)" if one.chosen else ""),
            numbers.amount(one.publisher_payoff),
            numbers.amount(one.adversary_payoff),
            f"{view.share_in(one.naive_attacked_share)} → {view.share_in(one.transparent_attacked_share)}",
            f"{numbers.amount(one.naive_expected_reidentifications)} → "
            f"{numbers.amount(one.transparent_expected_reidentifications)}",
        )
        rows.append(tuple(map(strong, row)) if one.chosen else row)
    yield Table(
        "Every method: payoffs in units per record, records worth attacking and expected re-identifications, naive → "
        "informed",
        (
            Column("Method", 38),
            *figures(lines("Publisher's", "payoff"), lines("Recipient's", "payoff"), width=12),
            *figures("Worth attacking", lines("Expected", "re-identifications"), width=19),
        ),
        rows,
        whole=True,
    )
    left = ", before suppression" if game.suppressed_records else ""
    if game.k_anonymity or game.budget:
        left = (
            f", as {'k-anonymity' if game.k_anonymity else 'the budget'} leaves them: what it suppresses is worth "
            "nothing and is not attacked"
        )
    further = " Section 13.2 takes the test further, to links between records." if risk.linkage else ""
    yield Paragraph(
        text(
            "The payoffs are the game's own, computed with the naive 1/n_p; all figures of this table are over the "
            f"records that came in{left}.{further}"
        ),
        "note",
    )
    yield from other_stakes(view)


def _coalitions(view: RecordView) -> Iterator[Block]:
    coalitions = view.risk.coalitions
    yield Heading("Coalitions", 4)
    yield Paragraph(
        "The policy takes this recipient to be one of several who may pool their copies. Such a coalition sees the "
        "more detailed value of each attribute of every record, and so a smaller group than one copy shows. Knowing "
        "the rules, it sees of the records of this copy:",
        "intro",
    )
    yield Table(
        text("This copy pooled with others; P_reid by this recipient's stakes"),
        (
            Column("Pooled with the copy of", 28),
            *figures(lines("Smallest", "group"), lines("Worth", "attacking"), width=15),
            *figures(lines("Expected", "re-identifications"), width=20),
            *figures(lines("Mean", text("P_reid")), lines("Highest", text("P_reid")), width=11),
        ),
        [
            (
                ", ".join(name for name in one.recipients if name != view.record.recipient.id),
                view.cells.count(one.smallest_group),
                view.share_out(one.attacked_share),
                numbers.amount(one.expected_reidentifications),
                numbers.risk(one.mean_reidentification),
                numbers.risk(one.maximum_reidentification),
            )
            for one in coalitions
        ],
        whole=True,
    )
    yield Paragraph(
        f"The gates judge the worst of the copy alone and of {'these' if len(coalitions) > 1 else 'this'}. All other "
        "figures of this report are of the copy alone."
    )


def _transparent_chart(view: RecordView) -> Chart:
    """Risk from an informed recipient, with the point beyond which an attempt pays."""
    risk, informed = view.risk, view.risk.transparent
    bins = shown_bins(informed.histogram, informed.maximum_risk, view.cells)
    pays = 1 / informed.attack_group_size
    first, second = ("left", "right") if pays < risk.threshold else ("right", "left")
    x = risk_axis(bins, (pays, risk.threshold), "risk of a record from an informed recipient, 1/effective group")

    def colour(part: Bin) -> str:
        return AFTER if part.high <= pays * (1 + 1e-9) else ALARM if part.low >= pays else PARTLY

    marks = [
        *bars(bins, colour),
        *threshold(x, pays, f"an attempt pays beyond {numbers.risk(pays)}", height=0.95, side=first),  # type: ignore[arg-type]
        *threshold(x, risk.threshold, f"threshold {numbers.risk(risk.threshold)}", height=0.84, side=second),  # type: ignore[arg-type]
    ]
    group = f"an effective group of fewer than {numbers.plain(informed.attack_group_size)} people"
    return Chart(
        "transparent",
        "Histogram of the informed recipient's risk, one over the effective group. The highest is "
        f"{numbers.risk(informed.maximum_risk)}; an attempt pays beyond {numbers.risk(pays)}, {group}; "
        f"{view.share_out(informed.attacked_share)} of the records lie there.",
        "Released records by the risk from a recipient who knows hierarchies and rule. Beyond the first line, "
        f"{group}, an attempt pays (orange; light orange where the line runs through the interval).",
        [[Panel(x, linear(0, 1.35 * tallest([bins]), "records, %", last=100), marks)]],
        150,
    )


def _payoffs_chart(view: RecordView) -> Chart:
    """Every method's payoff beside its share of records worth attacking, as claimed and to an informed recipient."""
    outcomes = sorted(view.risk.game.outcomes, key=lambda outcome: -outcome.publisher_payoff)
    titles = [method_text(one.method).title for one in outcomes]
    bands = [Box((-EDGE, EDGE), (place - 0.45, place + 0.45), BAND) for place, one in enumerate(outcomes) if one.chosen]
    earned, attacked, said = list[Mark](bands), list[Mark](bands), []
    for place, (one, title) in enumerate(zip(outcomes, titles, strict=True)):
        bold = Bold if one.chosen else str
        payoff = numbers.amount(one.publisher_payoff)
        earned += [
            Dots(((one.publisher_payoff, place),), radius=2.4),
            Label(one.publisher_payoff, place, bold(payoff), "start", 6),
        ]
        shares = (one.naive_attacked_share, one.transparent_attacked_share)
        naive, informed = (100 * view.cells.bounded(share, view.rows_in) for share in shares)
        shown = [view.share_in(share) for share in shares]
        words = shown[1] if shown[0] == shown[1] else " → ".join(shown)
        attacked += [
            Line(((naive, place), (informed, place)), ALARM, 1.6),
            Dots(((naive, place),), ALARM, filled=False, radius=3),
            Dots(((informed, place),), ALARM, radius=2.2),
            Label(max(naive, informed), place, bold(words), "start", 7),
        ]
        said.append(
            f"{title}{' (chosen)' if one.chosen else ''}: payoff {payoff}, attempts {shown[0]} claimed, {shown[1]} "
            "informed"
        )
    payoffs = [one.publisher_payoff for one in outcomes]
    room = max(max(payoffs) - min(payoffs), 1e-6 * max(map(abs, payoffs)), 1e-9)
    most = max(2.0, *(100 * max(one.naive_attacked_share, one.transparent_attacked_share) for one in outcomes))
    names = rows_axis([Bold(title) if one.chosen else title for one, title in zip(outcomes, titles, strict=True)])
    return Chart(
        "payoffs",
        f"Dot chart by method. {'; '.join(said)}.",
        "Every method on these data under these stakes; the one applied is shaded. Where the two dots of a method "
        "lie apart, knowing the rule lets the recipient attack records that the method calls safe.",
        [
            [
                Panel(
                    linear(min(payoffs) - 0.15 * room, max(payoffs) + 0.6 * room),
                    names,
                    earned,
                    "Publisher's payoff, units per record",
                ),
                Panel(
                    linear(
                        -0.03 * most,
                        1.65 * most,
                        "○ claimed by the method    ● found by an informed recipient",
                        last=100,
                    ),
                    names,
                    attacked,
                    "Records worth attacking, %",
                ),
            ]
        ],
        44 + 18 * len(outcomes),
        widths=(1, 1.25),
    )
