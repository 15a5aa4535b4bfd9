"""Other stakes and fines: what the method would do under other terms, with its charts."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reports.model import charts, numbers
from reports.model.charts import (
    AFTER,
    ALARM,
    BEFORE,
    DOTTED,
    EDGE,
    FAINT,
    INK,
    MUTED,
    Box,
    Chart,
    ChartAxis,
    Dots,
    Line,
    Panel,
)
from reports.model.document import Block, Heading, Paragraph, Row, Table, lines, said, small, strong
from reports.model.methods import method_text
from reports.model.record_view import RecordView
from reports.model.smallcell import NO_FILE
from tasks.assessments.identity.facts import (
    FrontierFact,
    FrontierPoint,
    GameFigures,
    PenaltiesFact,
    PenaltyPoint,
    ReachFact,
    StakesCurve,
    StakesFact,
    StakesMap,
)
from tasks.core.plural import listed
from tasks.request.penalty_grid import OF_PENALTY

_STAKES = {
    "benefit": "the benefit V",
    "loss": "the loss L (and the gain G with it)",
    "cost": "the cost c of an attempt",
}
_AXES = {"benefit": "benefit V, units", "loss": "loss L (and gain G), units", "cost": "cost of an attempt c, units"}


class _Varied(NamedTuple):
    """Words for the term that the columns of a map of penalties vary."""

    heading: str
    columns: str
    with_value: str
    """Before its value, after the penalty."""


_VARIED = {
    "detection": _Varied(
        "detection", "probabilities that the first attempt is detected", "that is due with probability"
    ),
    "discount": _Varied("patience", "discounts γ of the recipient", "and a discount γ of"),
    "confirmation": _Varied("recognition", "probabilities κ that a right match is recognized", "and a κ of"),
    "prior": _Varied("prior", "priors π of the recipient", "and a prior π of"),
    "max_penalties": _Varied(
        "their number", "numbers n_f of penalties after which detection costs nothing more", "and an n_f of"
    ),
}
_JUDGED = {"attacked_share": "the share worth attacking", "regret": "the payoff"}
_REACHES = {
    "attacked_share": "This file: records worth attacking",
    "regret": "This file: loss against the best file, over V",
    "mean_generalization": "Best file: mean GI",
    "best_attacked_share": "Best file: records worth attacking",
}
_STYLES = (
    (AFTER, "", "circle"),
    (ALARM, "5 2", "square"),
    (INK, DOTTED, "triangle"),
    (BEFORE, "5 1.5 1 1.5", "diamond"),
)
"""Colour, dashes and marks of the games in the order of the record."""
_SHADES = ("#e8f2f9", "#c6deee", "#a0c9e3", "#76b1d6", "#4a97c7", "#1f7cb6", "#0b5f97", "#084a77", "#06375a", "#04263f")
_SHARE_STEPS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75)
_VALUE_STEPS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
_KNEE = 0.1
"""Payoff of the recipient below which its axis is linear."""

Floats = NDArray[np.float64]


def other_stakes(view: RecordView) -> Iterator[Block]:
    """The method under other stakes, and what fines and detection buy, as far as the policy asks for them."""
    game = view.risk.game
    if game.frontier or game.stakes:
        yield Heading("Other stakes", 4)
    if game.frontier:
        yield _frontier(view, game.frontier)
    if game.stakes:
        yield said(
            "For the games that give each record a strategy of its own and for Safe Harbor: what publisher and "
            "recipient would earn had the benefit V, the loss L or the cost c of an attempt been others. GI is how "
            "far records are generalized on average, from 0, as collected, to 1, all withheld.",
            "The file of this release is made for a sequential adversary. Maps, curves and the table below assume one "
            "attempt per record instead, as in the paper, so that more can be worth attacking there than the gates "
            "count."
            if game.adversary != "one-shot"
            else None,
        )
        yield _map_chart(view, game.stakes.map)
        yield _curves_chart(view, game.stakes)
        yield Table(
            "How far each stake may move, as factors of the request's, while a figure stays within its tolerance",
            "Figure 26 | As declared 12r | Tolerance 11r | V 17r | L (and G) 17r | c 17r",
            _reach_rows(view, game.stakes.reaches),
        )
        yield said(
            robustness(game.stakes.reaches),
            "One stake moves at a time. ≤ and ≥ stand where the range that was examined ends, and “1 to 1” where the "
            "next step already differs.",
            "“Best file” is what the same method would release for the moved stakes."
            if any(one.figure != "attacked_share" for one in game.stakes.reaches)
            else None,
        )
    if game.penalties:
        yield Heading(f"Effect of fines and {_VARIED[game.penalties.term].heading}", 4)
        yield (
            "A sequential adversary weighs a fine against what an attempt may bring (section E10.1). Where the "
            "agreement deters them, smaller groups are safe and the same method can release more detail. "
            f"{fines(view, game.penalties)}"
        )
        yield _penalties(view, game.penalties)
        yield Paragraph(
            said(
                "The file of this release was made for a recipient who makes one attempt, so that these are other "
                "files than it."
                if game.adversary == "one-shot"
                else None,
                "They are of a representation for this recipient alone." if game.sharing else None,
                "A fine deters only those who plan: an adversary who makes a single attempt regardless finds groups "
                "as small as that, which the gates on one attempt judge.",
            ),
            "note",
        )


def _reach_rows(view: RecordView, reaches: Sequence[ReachFact]) -> list[Row]:
    rows: list[Row] = []
    for figure, title in _REACHES.items():
        found = [reach for reach in reaches if reach.figure == figure]
        if found:
            share = figure.endswith("attacked_share")
            declared = view.share_in(found[0].declared) if share else numbers.risk(found[0].declared)
            tolerance = numbers.percent(found[0].tolerance) if share else numbers.risk(found[0].tolerance)
            rows.append((title, declared, tolerance, *map(_range, found)))
    return rows


def _range(reach: ReachFact) -> str:
    low = "" if reach.breaks_low is not None else "≤ "
    high = "" if reach.breaks_high is not None else "≥ "
    return f"{low}{_factor(reach.low)} to {high}{_factor(reach.high)}"


def robustness(reaches: Sequence[ReachFact]) -> str:
    """Whether the file is robust over an order of magnitude, stake by stake; where it is not, how far it is."""
    judged = [reach for reach in reaches if reach.figure in _JUDGED]
    tolerances = {reach.figure: reach.tolerance for reach in judged}
    points, regret = numbers.setting(100 * tolerances["attacked_share"]), tolerances.get("regret")
    robust, others = [], []
    for stake, name in _STAKES.items():
        found = [reach for reach in judged if reach.stake == stake]
        if found and all(reach.order_of_magnitude for reach in found):
            robust.append(name)
        elif found:
            others.append(f"In {name} it is not: {', and '.join(map(_holding, found))}.")
    payoff = (
        ""
        if regret is None
        else f", and the file pays no more than {numbers.percent(regret)} of V less than the best file would"
    )
    return said(
        "The file is called robust over an order of magnitude in a stake if that stake may be anything from a tenth "
        "to ten times what the request declares, the others as declared, and the share of records worth attacking "
        f"changes by no more than {points} percentage point{'' if points == '1' else 's'}{payoff}.",
        f"It is so in {listed(robust or ['none of the stakes'])}.",
        *others,
    )


def _holding(reach: ReachFact) -> str:
    subject, low, high = _JUDGED[reach.figure], _factor(reach.low), _times(reach.high)
    if reach.order_of_magnitude:
        return f"{subject} holds over the whole order of magnitude"
    if reach.breaks_low == 1:
        return f"{subject} does not hold even as declared"
    if reach.breaks_low is None:
        return f"{subject} holds up to {high}, and down to {low} times it at least"
    if reach.breaks_high is None:
        return f"{subject} holds down to {_times(reach.low)}, and up to {_factor(reach.high)} times it at least"
    if reach.low == reach.high:
        steps = " or ".join(_factor(factor) for factor in (reach.breaks_low, reach.breaks_high))
        return f"{subject} holds at the declared value alone, no longer at {steps} times it"
    return f"{subject} holds from {_times(reach.low) if 1 in {reach.low, reach.high} else low} to {high}"


def _times(factor: float) -> str:
    return "the declared value itself" if factor == 1 else f"{_factor(factor)} times the declared value"


def _factor(value: float) -> str:
    return numbers.risk(float(f"{value:.3g}"))


def fines(view: RecordView, fact: PenaltiesFact) -> str:
    """Effect of fines and the other term, from the first pair of the map to the last, and under the recipient's own."""
    needless = fact.term in OF_PENALTY

    def answered(point: PenaltyPoint) -> str:
        """The publisher's payoff at a point, and whom the recipient does not attack there."""
        safe = "a group of any size is attacked"
        if point.safe_group is not None:
            groups = f"groups of {numbers.integer(int(point.safe_group))} people and more are not attacked"
            safe = "no record is attacked, whatever is released" if point.safe_group <= 1 else groups
        if point.publisher_payoff is None:
            return f"{safe}, and no file can be released"
        return f"{safe}, and the best file pays {_payoff(view, point)} units per record"

    def terms(point: PenaltyPoint) -> str:
        value = "no limit" if point.value is None else numbers.setting(point.value)
        return f"a penalty of {numbers.setting(point.penalty)} {_VARIED[fact.term].with_value} {value}"

    agreement = view.record.recipient.agreement
    uncounted = agreement.penalty is not None and agreement.detection_rate is None
    unnamed = "of which no penalty counts" if uncounted else "which name no penalty"
    own = f"with {terms(fact.own)}" if fact.own.penalty else unnamed
    return said(
        f"Under the recipient's own terms, {own}, {answered(fact.own)}.",
        *(
            f"{'Without a penalty' if needless and not point.penalty else f'With {terms(point)}'}, {answered(point)}."
            for point in dict.fromkeys((fact.points[0], fact.points[-1]))
        ),
    )


def _payoff(view: RecordView, point: PenaltyPoint) -> str:
    return view.mean_in(point.publisher_payoff, view.record.recipient.benefit, numbers.amount)


def _units(value: float) -> str:
    return numbers.integer(round(value)) if abs(value) >= 100 else numbers.risk(float(f"{value:.3g}"))


def _grid(caption: str, corner: str, columns: Sequence[str], names: Sequence[str], cells: Sequence[str]) -> Table:
    """A table of cells in rows of as many as there are columns."""
    wide = len(columns)
    head = " | ".join([f"{corner} 16", *(f"{name} {84 // wide}r" for name in columns)])
    return Table(caption, head, [(name, *cells[wide * line : wide * (line + 1)]) for line, name in enumerate(names)])


def _frontier(view: RecordView, fact: FrontierFact) -> Table:
    wide, game = len(fact.loss_factors), view.risk.game
    one_gain = all(point.gain == point.loss for point in fact.points)
    own = wide * fact.benefit_factors.index(1.0) + fact.loss_factors.index(1.0)

    def cell(place: int, point: FrontierPoint) -> str:
        earned = view.mean_in(point.publisher_payoff, point.benefit, _units)
        attacked = NO_FILE if point.attacked_share is None else view.share_in(point.attacked_share)
        return lines(strong(earned), strong(attacked)) if place == own else lines(earned, attacked)

    games = numbers.integer(fact.games)
    solved = f"{games} games were solved; {'the grid is coarse because ' if wide < 5 else ''}each point needs its own."
    if method_text(game.method).stakes == "none":
        solved = "The file depends on no stakes, so that one served all points."
    elif fact.games == wide:
        solved = f"V changes no choice of this method: {games} games, one for each L, gave all points."
    return _grid(
        f"The method applied, solved again had V (rows) and L (columns) been {numbers.plain(fact.loss_factors[0])} to "
        f"{numbers.plain(fact.loss_factors[-1])} times those of the request (bold): above, the publisher's payoff in "
        "units per record that came in against a recipient who knows the rule; below, those of the records worth "
        f"attacking. {'The gain G equals L' if one_gain else 'The gain G (in brackets) keeps its ratio to L'}, and "
        f"the cost of an attempt stays at {numbers.amount(view.record.recipient.cost)}. {solved}",
        "V, units",
        [f"L {_units(one.loss)}{'' if one_gain else f' ({_units(one.gain)})'}" for one in fact.points[:wide]],
        [_units(one.benefit) for one in fact.points[::wide]],
        [cell(place, point) for place, point in enumerate(fact.points)],
    )


def _penalties(view: RecordView, fact: PenaltiesFact) -> Table:
    some, title = any(point.attacked_share for point in fact.points), method_text(fact.method).title

    def is_own(point: PenaltyPoint) -> bool:
        """At the recipient's own penalty and other term, which may be of no effect without a penalty."""
        pairs: list[tuple[float | None, float | None]] = [(point.penalty, fact.own.penalty)]
        pairs += [(point.value, fact.own.value)] if fact.own.penalty or fact.term not in OF_PENALTY else []
        return all(None not in (one, own) and math.isclose(one or 0, own or 0, rel_tol=1e-5) for one, own in pairs)

    def cell(point: PenaltyPoint) -> str:
        safe = "none is safe" if point.safe_group is None else f"from {numbers.integer(int(point.safe_group))} people"
        attacked = NO_FILE if point.attacked_share is None else view.share_in(point.attacked_share)
        kept = view.mean_in(point.information_kept, 1.0, numbers.percent)
        rest = [small(f"{attacked} attacked"), small(f"{kept} kept")] if some else []
        payoff = _payoff(view, point)
        return lines(strong(payoff) if is_own(point) else payoff, small(safe), *rest)

    games = "one game gave" if fact.games == 1 else f"{numbers.integer(fact.games)} games gave"
    own = "; bold at the recipient's own terms" if any(map(is_own, fact.points)) else ""
    also = ", and records attacked and information kept" if some else ""
    return _grid(
        f"{title} against a sequential adversary, under other penalties (rows) and {_VARIED[fact.term].columns} "
        "(columns), answered with the best file for each: the publisher's payoff in units per "
        f"record that came in{own}; below, the people who match a record from which on no attempt is made{also}. All "
        f"other terms stay; {games} all cells. Gates go by the recipient's own terms.",
        "Penalty, units",
        [numbers.tick(value) for value in fact.values],
        [numbers.tick(fine) for fine in fact.penalties],
        [cell(point) for point in fact.points],
    )


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values])


def _percent(share: float) -> str:
    return f"{100 * share:.4g}"


def _map_chart(view: RecordView, fact: StakesMap) -> Chart:
    found, cells, shape = fact.figures, view.cells, (len(fact.benefits), len(fact.losses))
    attacked, intensity, gained, earned = (
        _floats(one).reshape(shape)
        for one in (found.attacked_share, found.mean_generalization, found.adversary_payoff, found.publisher_payoff)
    )
    # A share passes a step where a count does: such a place must disclose no small one.
    shares = [step for step in _SHARE_STEPS if not any(cells.hides(one * view.rows_in) for one in (step, 1 - step))]
    most, top = (float(np.nanmax(one, initial=0.0)) for one in (gained, intensity))
    decades = [10.0**power for power in range(-1, max(math.ceil(math.log10(most)), 0) + 1)] if most > 0 else [0.1]
    x, y = (
        charts.logarithmic(
            values[0], values[-1], _AXES[name], steps=(1, 3) if values[-1] / values[0] > 20 else (1, 2, 5)
        )
        for name, values in (("loss", fact.losses), ("benefit", fact.benefits))
    )
    own = Dots(((view.record.recipient.loss, view.record.recipient.benefit),), INK, "cross", radius=3)
    shown: list[tuple[str, Floats, Sequence[float], Callable[[float], str]]] = [
        ("Mean generalization GI", intensity, [tick for tick, _ in charts.linear(0, top or 1.0).ticks], numbers.tick),
        ("Records worth attacking, %", attacked, shares, _percent),
        ("Publisher's payoff, % of V", earned / np.array(fact.benefits)[:, None], _VALUE_STEPS, _percent),
        ("Recipient's payoff, units per record", gained, decades, numbers.tick),
    ]
    panels = []
    for title, values, steps, write in shown:
        marks, words = _shaded(fact, values, steps, write)
        panels.append(Panel(x, y, [*marks, own], f"{title}\n{words}"))
    ends = [numbers.setting(one) for one in (fact.benefits[0], fact.benefits[-1], fact.losses[0], fact.losses[-1])]
    corners = "; ".join(
        f"at V {numbers.setting(fact.benefits[row])} and L {numbers.setting(fact.losses[column])}: GI "
        f"{_word(intensity[row, column], numbers.risk)}, {_word(attacked[row, column], view.share_in)} worth attacking"
        for row in (0, -1)
        for column in (0, -1)
    )
    return Chart(
        "stakes_map",
        "Four maps over V from {} to {} and L from {} to {}, both logarithmic. At the corners, {}.".format(
            *ends, corners
        ),
        f"{method_text(found.method).title} over these records, had V and L been others (after Wan et al. 2015, Fig. "
        "10); the cross is the request. The gain G keeps its ratio to L, and the cost of an attempt stays. Darker is "
        "more; a shade begins at the number beside it. Groups are those that the game goes by: of a recipient who "
        "does not know the rule.",
        [panels[:2], panels[2:]],
        310,
    )


def _word(value: float, write: Callable[[float], str]) -> str:
    return write(float(value)) if math.isfinite(value) else "no strategy"


def _shaded(
    fact: StakesMap, values: Floats, steps: Sequence[float], write: Callable[[float], str]
) -> tuple[list[charts.Mark], str]:
    """A map's cells, neighbours of one shade in one, and the numbers at which its shades begin."""
    known = values[np.isfinite(values)]
    if not known.size:
        return [Box((-EDGE, EDGE), (-EDGE, EDGE), FAINT)], "no strategy"
    crossed = [step for step in steps if known.min() < step <= known.max()]
    shade = np.where(np.isfinite(values), np.searchsorted(crossed, values, side="right"), -1)
    # Between neighbours on a logarithmic scale, and the ends themselves.
    edges_x, edges_y = (
        np.array([one[0], *np.sqrt(one[1:] * one[:-1]), one[-1]]) for one in map(np.array, (fact.losses, fact.benefits))
    )
    marks: list[charts.Mark] = []
    for line, row in enumerate(shade):
        for start, end in pairwise([0, *(np.flatnonzero(np.diff(row)) + 1), len(row)]):
            fill = FAINT if row[start] < 0 else _SHADES[row[start] * (len(_SHADES) - 1) // max(len(crossed), 1)]
            marks.append(Box((edges_x[start], edges_x[end]), (edges_y[line], edges_y[line + 1]), fill, fill))
    words = "shades from " + " · ".join(map(write, crossed)) if crossed else f"{write(float(known.min()))} throughout"
    return marks, words


def _curves_chart(view: RecordView, fact: StakesFact) -> Chart:
    def earned(game: GameFigures, curve: StakesCurve) -> Floats:
        benefits = np.array(curve.values) if curve.stake == "benefit" else view.record.recipient.benefit
        return np.asarray(100 * _floats(game.publisher_payoff) / benefits)

    def attacked(game: GameFigures, _: StakesCurve) -> Floats:
        shares = game.attacked_share
        return 100 * _floats([one if one is None else view.cells.bounded(one, view.rows_in) for one in shares])

    rows: tuple[tuple[str, Callable[[GameFigures, StakesCurve], Floats]], ...] = (
        ("publisher's payoff,\n% of V", earned),
        ("recipient's payoff,\nunits per record", lambda game, _: _floats(game.adversary_payoff)),
        ("mean GI", lambda game, _: _floats(game.mean_generalization)),
        ("worth attacking, %", attacked),
    )
    panels = []
    for title, figure in rows:
        series = [[figure(game, curve) for game in curve.games[: len(_STYLES)]] for curve in fact.curves]
        every = np.concatenate([one for curve in series for one in curve])
        low, high = float(np.nanmin(every, initial=0.0)), float(np.nanmax(every, initial=1e-3))
        y = charts.linear(low, high + 0.05 * (high - low), title, grid=True)
        if "recipient" in title:
            most = max(high, _KNEE)
            ticks = charts.labelled((0.0, *(10.0**power for power in range(-1, math.ceil(math.log10(most)) + 1))))
            y = ChartAxis(0.0, 1.3 * most, title, ticks, "symlog", _KNEE, grid=True)
        panels.append([_curve_panel(curve, own, y) for curve, own in zip(fact.curves, series, strict=True)])
    games = [method_text(game.method).title for game in fact.curves[0].games]
    return Chart(
        "stakes_curves",
        "Twelve charts: publisher's and recipient's payoff, mean generalization and records worth attacking, each by "
        f"V, L and c, for {', '.join(games)}.",
        "Every game over these records as one stake moves and the others stay (after Wan et al. 2015, Fig. 11); the "
        f"dotted line is the request. The recipient's payoff is logarithmic above {numbers.tick(_KNEE)}. Groups are "
        "those that the games go by.",
        panels,
        345,
        legend=[
            charts.line_key(game, Line((), colour, 1.1, dash), Dots((), colour, shape, filled=False, radius=1.5))
            for game, (colour, dash, shape) in zip(games, _STYLES, strict=False)
        ],
    )


def _curve_panel(curve: StakesCurve, series: Sequence[Floats], y: ChartAxis) -> Panel:
    marks: list[charts.Mark] = [charts.vertical(curve.own, MUTED, DOTTED)]
    for values, (colour, dash, shape) in zip(series, _STYLES, strict=False):
        points = list(zip(curve.values, map(float, values), strict=True))
        dots = points[:: max(1, len(points) // 6)]
        marks += [Line(points, colour, 1.1, dash), Dots(dots, colour, shape, filled=False, radius=1.5)]
    return Panel(charts.logarithmic(curve.values[0], curve.values[-1], _AXES[curve.stake], steps=(1, 3)), y, marks)
