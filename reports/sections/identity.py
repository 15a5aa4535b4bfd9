"""Identity disclosure before and after, and what a recipient gains who knows the rule, with their charts."""

from collections.abc import Callable, Iterator, Sequence

from reports.model import charts, numbers
from reports.model.charts import AFTER, ALARM, BEFORE, EDGE, PARTLY, Box, Chart, ChartAxis, Mark, Panel
from reports.model.document import DASH, Block, Bullets, Heading, Paragraph, Row, Table, said, strong, text
from reports.model.methods import method_text
from reports.model.population import counted_over, same_as_prosecutor
from reports.model.record_view import RecordView
from reports.model.smallcell import SmallCellRule
from reports.sections.stakes import other_stakes
from tasks.assessments.identity.facts import EstimateFact, SampleFact
from tasks.core.fact import Bin

_NOT_COMPARED = " Methods that choose for each record would take long to compare, and are left out."
_NONE = "none set"


def risk_section(view: RecordView) -> Iterator[Block]:
    """Risk before and after; where nothing was measured, why."""
    if view.record.risk is None:
        yield from _unmeasured(view)
        return
    risk, cells, write = view.risk, view.cells, numbers.risk
    before, after = risk.initial, risk.residual
    yield (
        "Both files were measured in the same way against the same population: the source file without direct "
        f"identifiers, and the file that would be released. {counted_over(view.record.population)} Sections E10.1 and "
        "E10.2 apply models with declared terms to such counts; only shares of section E11.2"
        f"{' and of the sampled population below' if risk.sample else ''} are estimated, with intervals."
    )
    rows: list[Row] = []
    for who, one, two in (
        ("Prosecutor", before.prosecutor, after.prosecutor),
        ("Journalist", before.journalist, after.journalist),
    ):
        over = (cells.share(side.over_threshold / side.records, side.records) for side in (one, two))
        threshold = write(risk.threshold)
        rows += [
            (strong(f"{who}, highest"), "probability", write(one.maximum), strong(write(two.maximum)), threshold),
            (f"{who}, mean", "probability", write(one.mean), write(two.mean), _NONE),
            (f"{who}, over threshold", "share of records", *over, _NONE),
        ]
    least = risk.game.minimum_class_size
    classes = "not shown" if view.few_suppressed else numbers.integer(after.classes)
    smallest = cells.count(before.smallest_class), cells.count(after.smallest_class)
    small = (cells.share(side.below_small_cell, side.prosecutor.records) for side in (before, after))
    rows += [
        (strong("Marketer"), "expected share linked", write(before.marketer), write(after.marketer), _NONE),
        ("Classes", "classes", numbers.integer(before.classes), classes, _NONE),
        ("Smallest class", "records", *smallest, numbers.integer(least) if least > 1 else _NONE),
        (f"In classes under {numbers.integer(cells.limit)}", "share of records", *small, _NONE),
    ]
    yield Table(
        "Risk of the records before and after, with the policy's threshold; “none set”: not limited by itself",
        "Attacker and measure 34 | Unit 20 | Before 15r | After 15r | Threshold 16r",
        rows,
    )
    same = same_as_prosecutor(view.record.population, risk)
    yield Paragraph(
        f"{f'The journalist has the risks of the prosecutor, since {same}. ' if same else ''}"
        f"Highest risks are {'rounded up to three digits' if view.record.decoys else 'exact'}, since gates judge by "
        "them: 1 over a prosecutor's is the size of the smallest class. It does not show how many classes are that "
        f"small, or whose. Numbers of people below {numbers.integer(cells.limit)} are shown as bounds.",
        "note",
    )
    if risk.sample:
        yield from sampled(view, risk.sample)
    yield _risk_chart(view)


def _unmeasured(view: RecordView) -> Iterator[Block]:
    yield Paragraph(
        "No risk figure exists for this release, before or after, and none should be inferred from this document.",
        "lead",
    )
    why = "A stage before the measurement could not finish."
    if not view.record.validation.passed:
        why = (
            "The file did not pass validation: generalizing or scoring a file that is not what the request says it is "
            "would give figures about something else."
        )
    yield (
        f"{why} The gate stopped there: no strategy was chosen, no file was made, no attack was tested and no utility "
        "was measured. The criteria of the Article 29 Working Party (Opinion 05/2014, WP216), singling out, "
        "linkability and inference, were not assessed."
    )
    if view.record.not_assessed:
        yield Bullets([text("**{}:** {}", one.stage, one.reason) for one in view.record.not_assessed])


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
    return charts.logarithmic(floor, max(min(largest, 2 * positive[-1]), 2 * floor), title)


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
    return marks or [charts.note("too few records to show")]


def tallest(histograms: Sequence[Sequence[Bin]]) -> float:
    """Percent of the records in the tallest bar of all; 1 where there is none."""
    shares = (100 * part.records / sum(one.records for one in bins) for bins in histograms for part in bins)
    return max(shares, default=1.0) or 1.0


def _risk_chart(view: RecordView) -> Chart:
    risk, cells = view.risk, view.cells
    sides = [("Before", risk.initial, BEFORE), ("After", risk.residual, AFTER)]
    drawn = [
        [
            (f"{name}: {who}", colour, shown_bins(one.histogram, one.maximum, cells))
            for who, one in (("prosecutor", side.prosecutor), ("journalist", side.journalist))
        ]
        for name, side, colour in sides
    ]
    every = [bins for row in drawn for _, _, bins in row]
    x = risk_axis([part for bins in every for part in bins], (risk.threshold,), "risk of a record")
    y = charts.linear(0, 1.15 * tallest(every), "records, %", last=100)
    words = f"threshold {numbers.risk(risk.threshold)}"
    return Chart(
        "risk",
        "Four histograms of the risk of a record, of prosecutor and journalist before and after; the shares above the "
        f"threshold of {numbers.risk(risk.threshold)} are in the table above.",
        "Risk of the records before (grey) and after (blue) generalization, for the prosecutor (1/class size in the "
        "file) and the journalist (1/people who match in the population). Bins with few records are joined to a "
        "neighbour.",
        [
            [
                Panel(x, y, [*bars(bins, colour), *charts.limit(x, risk.threshold, "" if line else words)], title)
                for title, colour, bins in row
            ]
            for line, row in enumerate(drawn)
        ],
        210,
    )


def tests(view: RecordView) -> Iterator[Block]:
    """Adversarial tests beside their baselines."""
    if view.record.risk is None:
        yield (
            "No attack was made, with or without knowledge of a method, because no file was generalized that could be "
            "attacked (section E10). Nothing about how safe the data are follows from this."
        )
        return
    yield said(
        "Each test makes an attack on the released file and is read beside its baseline, what the same adversary "
        "reaches without it: an attack that does no better than its baseline proves nothing about the file. The "
        "transparency test assumes a recipient who knows how the file was made, beside what the method claims for "
        "itself; the linkage tests assume an intruder who knows values of the source file, beside guessing.",
        "Whether decoys can be distinguished from real classes is tested in section E12, also beside guessing."
        if view.record.decoys and view.record.decoys.detectability
        else None,
    )


def transparency(view: RecordView) -> Iterator[Block]:
    """Gain from knowing the rule, for this file, in coalitions, by method, and under other stakes."""
    risk, game, informed = view.risk, view.risk.game, view.risk.transparent
    yield text(
        "Whoever knows the rule of generalization can keep, among the n_p people who match a released cell, only those "
        "for whom the rule would have chosen that very cell, n_T of them. The test applies the rule to the whole "
        "population and counts them. Its baseline is the naive claim, 1/n_p, that the method makes for itself."
    )
    naive, found = informed.naive_expected_reidentifications, informed.expected_reidentifications
    rows: list[tuple[str, str, Callable[[float], str], float, float]] = [
        ("Highest risk of a record", "probability", numbers.risk, informed.naive_maximum_risk, informed.maximum_risk),
        ("Mean risk of a record", "probability", numbers.risk, risk.residual.journalist.mean, informed.mean_risk),
        (
            "Records worth attacking",
            "share of records",
            view.share_out,
            informed.naive_attacked_share,
            informed.attacked_share,
        ),
        ("Expected re-identifications", "records, expected", numbers.amount, naive, found),
    ]
    yield Table(
        "What the method claims, and what holds against a recipient who knows it",
        "Measure 30 | Unit 20 | Naive claim, 1/n_p (baseline) 25r | Informed recipient, 1/n_T 25r",
        [(title, unit, write(one), strong(write(two))) for title, unit, write, one, two in rows],
    )
    verdict = "agree: on these data, knowing the rule gains the recipient nothing"
    if informed.maximum_risk > informed.naive_maximum_risk or found > naive:
        verdict = "differ: knowing the rule helps the recipient, and the naive figures understate the risk"
    also = ", and what coalitions see" if risk.coalitions else ""
    yield (
        f"The two columns {verdict}. The smallest effective group holds "
        f"{view.cells.count(informed.smallest_effective_group)} people. The gates judge the right-hand column{also}."
    )
    if game.deduced:
        bits = ", ".join(f"{name} {numbers.amount(one)}" for name, one in game.deduced.items())
        yield (
            "The recipient also knows which values the people of a class have, and not only which the released groups "
            f"hold. That adds, in bits per record, on average: {bits}. It narrows values, never the people of a class."
        )
    yield _transparent_chart(view)
    if risk.coalitions:
        yield from _coalitions(view)
    rows_by_method: list[Row] = []
    for one in sorted(game.outcomes, key=lambda outcome: -outcome.publisher_payoff):
        expected = one.naive_expected_reidentifications, one.transparent_expected_reidentifications
        row = (
            method_text(one.method).title + (" (applied)" if one.chosen else ""),
            numbers.amount(one.publisher_payoff),
            numbers.amount(one.adversary_payoff),
            f"{view.share_in(one.naive_attacked_share)} → {view.share_in(one.transparent_attacked_share)}",
            " → ".join(map(numbers.amount, expected)),
        )
        rows_by_method.append(tuple(map(strong, row)) if one.chosen else row)
    yield Table(
        "The same test by method: payoffs in units per record, records worth attacking and expected "
        "re-identifications, naive → informed",
        "Method 36 | Publisher's payoff 12r | Recipient's payoff 12r | Worth attacking 19r | Expected "
        "re-identifications 21r",
        rows_by_method,
    )
    by_record = any(method_text(one.method).per_record for one in game.outcomes)
    left = ", before suppression" if game.suppressed_records else ""
    if game.k_anonymity or game.budget:
        left = (
            f", as {'k-anonymity' if game.k_anonymity else 'the budget'} leaves them: what it suppresses is worth "
            "nothing and is not attacked"
        )
    yield Paragraph(
        text(
            "The payoffs are the game's own, computed with the naive 1/n_p; all figures of this table are over the "
            f"records that came in{left}.{'' if by_record else _NOT_COMPARED}"
        ),
        "note",
    )
    yield from other_stakes(view)


def _coalitions(view: RecordView) -> Iterator[Block]:
    coalitions = view.risk.coalitions
    yield Heading("Coalitions", 4)
    yield (
        "Under the policy this recipient is one of several who may pool their copies. A coalition sees the more "
        "detailed value of each attribute of every record, and so a smaller group than one copy shows. The gates judge "
        f"the worst of the copy alone and of {'these' if len(coalitions) > 1 else 'this'}; all other figures of this "
        "report are of the copy alone."
    )
    yield Table(
        text("This copy pooled with others, the rules known; P_reid by this recipient's stakes"),
        "Pooled with the copy of 28 | Smallest group 15r | Worth attacking 15r | Expected re-identifications 20r | "
        "Mean P_reid 11r | Highest P_reid 11r",
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
    )


def _transparent_chart(view: RecordView) -> Chart:
    risk, informed = view.risk, view.risk.transparent
    bins = shown_bins(informed.histogram, informed.maximum_risk, view.cells)
    pays = 1 / informed.attack_group_size
    x = risk_axis(bins, (pays, risk.threshold), "risk of a record from an informed recipient, 1/effective group")

    def colour(part: Bin) -> str:
        return AFTER if part.high <= pays * (1 + 1e-9) else ALARM if part.low >= pays else PARTLY

    marks = [
        *bars(bins, colour),
        *charts.limit(x, pays, f"an attempt pays beyond {numbers.risk(pays)}", height=0.95),
        *charts.limit(x, risk.threshold, f"threshold {numbers.risk(risk.threshold)}", height=0.82),
    ]
    group = f"an effective group of fewer than {numbers.plain(informed.attack_group_size)} people"
    return Chart(
        "transparent",
        "Histogram of the informed recipient's risk, one over the effective group. The highest is "
        f"{numbers.risk(informed.maximum_risk)}; an attempt pays beyond {numbers.risk(pays)}, {group}; "
        f"{view.share_out(informed.attacked_share)} of the records lie there.",
        "Released records by the risk from a recipient who knows hierarchies and rule. Beyond the first line, "
        f"{group}, an attempt pays (orange; light orange where the line runs through the interval).",
        [[Panel(x, charts.linear(0, 1.35 * tallest([bins]), "records, %", last=100), marks)]],
        130,
    )


_MODELS = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "slide negative binomial"}


def sampled(view: RecordView, fact: SampleFact) -> Iterator[Block]:
    """The released records in the population that the file is a random sample of: limits, estimates and intervals."""
    write, cells, total, found = numbers.risk, view.cells, view.released, fact.uniques
    models = (found.pitman, found.zayatz, found.snb)
    shown = [DASH if one is None else cells.share(one, total) for one in models]
    low, high = (cells.share(one, total) for one in (found.estimate.interval.low, found.estimate.interval.high))
    yield Table(
        "Risk of the released records in the sampled population; gates use the upper ends",
        "Figure 40 | Estimate 22r | Interval (95%) 26r",
        [
            (
                "Journalist, highest: 1 over the people of the class that has fewest",
                DASH,
                strong(f"at most {write(fact.maximum_risk)}"),
            ),
            ("Journalist, mean", write(fact.mean_risk.figure), _between(fact.mean_risk)),
            (
                f"Records that are unique in the population, {_MODELS[found.chosen]}",
                cells.share(found.estimate.figure, total),
                f"{low} to {high}" if low != high else low,
            ),
        ],
    )
    yield Paragraph(
        f"The file is assumed to be a simple random sample of {numbers.integer(fact.people)} people, "
        f"{numbers.percent(fact.fraction)} of them. Limits of the people of a class follow from the draw alone, with "
        f"binomial tails for hypergeometric ones (Uhlmann 1966), and hold of all {fact.cells:,.0f} cells of all "
        "strategies at once, so that the choice of cells by the same sample changes nothing. The class with fewest has "
        f"at least {cells.count(fact.least_people)} people. The mean is estimated with people negative binomial given "
        "the records (Benedetti and Franconi 1998); its interval does not rest on that. Unique records: Pitman "
        f"{shown[0]}, Zayatz {shown[1]}, slide negative binomial {shown[2]}, chosen as Dankar et al. (2012) do; none "
        f"exceeds the {cells.share(found.alone, total)} that are alone in the copy. Their interval is that of a "
        "jackknife over twentieths of the records: of sampling, not of the model.",
        "note",
    )


def _between(fact: EstimateFact) -> str:
    return f"{numbers.risk(fact.interval.low)} to {numbers.risk(fact.interval.high)}"
