"""Other stakes, fines and detection: what the method would do under other terms, with its charts."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reports import numbers
from reports.charting import Chart, Panel, line_key
from reports.document import Block, Column, Heading, Paragraph, Row, Table, figures
from reports.marks import (
    AFTER,
    ALARM,
    BEFORE,
    BLUES,
    DOTTED,
    FAINT,
    INK,
    MUTED,
    Box,
    ChartAxis,
    Dots,
    Label,
    Line,
    Mark,
    linear,
    logarithmic,
    mixed,
    note,
    vertical,
)
from reports.methods import method_text
from reports.record_view import RecordView
from reports.smallcell import NO_FILE
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

_STAKES = {
    "benefit": "the benefit V",
    "loss": "the loss L (and the gain G with it)",
    "cost": "the cost c of an attempt",
}
_AXES = {"benefit": "benefit V, units", "loss": "loss L (and gain G), units", "cost": "cost of an attempt c, units"}
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
_MOST_INK = 0.7
"""Greatest shade of the darker colours under which letters are read."""
_SHARE_STEPS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75)
_VALUE_STEPS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
_KNEE = 0.1
"""Payoff of the recipient below which its axis is linear."""
_NEAR = 1e-5

_Item = TypeVar("_Item")
Floats = NDArray[np.float64]
_Shown = tuple[str, Floats, Sequence[float], Callable[[float], str]]
"""Title, figures, steps and how a step is written."""
Cell = tuple[str, float]
"""What is written in a cell, and its shade from 0 to 1."""


def other_stakes(view: RecordView) -> Iterator[Block]:
    """The method under other stakes, and what fines and detection buy, as far as the policy asks for them."""
    game = view.risk.game
    if game.frontier:
        yield Heading("Other stakes", 4)
        yield Paragraph("The method applied, solved again under other stakes of publisher and recipient:", "intro")
        yield _frontier_chart(view, game.frontier)
    if game.stakes:
        one_attempt = (
            ""
            if game.adversary == "one-shot"
            else " The file of this release is made for a sequential adversary. Maps, curves and the table below "
            "assume one attempt per record instead, as in the paper, so that more can be worth attacking there "
            "than the gates count."
        )
        yield Paragraph(
            "In more detail, for the games that give each record a strategy of its own and for Safe Harbor: what "
            "publisher and recipient would earn had the benefit V, the loss L or the cost c of an attempt been "
            "others. GI is how far records are generalized on average, from 0, as collected, to 1, all "
            f"withheld.{one_attempt}"
        )
        yield _map_chart(view, game.stakes.map)
        yield _curves_chart(view, game.stakes)
        yield Table(
            "How far each stake may move, as factors of the request's, while a figure stays within its tolerance",
            (
                Column("Figure", 26),
                *figures("As declared", width=12),
                *figures("Tolerance", width=11),
                *figures("V", "L (and G)", "c", width=17),
            ),
            _reach_rows(view, game.stakes.reaches),
            whole=True,
        )
        best = (
            " “Best file” is what the same method would release for the moved stakes."
            if any(one.figure != "attacked_share" for one in game.stakes.reaches)
            else ""
        )
        yield Paragraph(
            f"{robustness(game.stakes.reaches)} One stake moves at a time. ≤ and ≥ stand where the range that was "
            f"examined ends, and “1 to 1” where the next step already differs.{best}"
        )
    if game.penalties:
        yield Heading("What fines and detection buy", 4)
        yield Paragraph(
            "A sequential adversary weighs a fine against what an attempt may bring (section 12.1). Where the "
            "agreement deters them, smaller groups are safe and the same method can release more detail. "
            f"{fines(view, game.penalties)}"
        )
        yield _penalties_chart(view, game.penalties)
        notes = (
            "The file of this release was made for a recipient who makes one attempt, so that these are other files "
            "than it. "
            if game.adversary == "one-shot"
            else ""
        )
        notes += "They are of a representation for this recipient alone. " if game.sharing else ""
        yield Paragraph(
            f"{notes}A fine deters only those who plan: whoever makes a single attempt all the same finds groups as "
            "small as that, which the gates on one attempt judge.",
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
    points = numbers.setting(100 * tolerances["attacked_share"])
    meaning = (
        "The file is called robust over an order of magnitude in a stake if that stake may be anything from a tenth "
        "to ten times what the request declares, the others as declared, and the share of records worth attacking "
        f"changes by no more than {points} percentage point{'' if points == '1' else 's'}"
    )
    if "regret" in tolerances:
        meaning += (
            f", and the file pays no more than {numbers.percent(tolerances['regret'])} of V less than the best file "
            "would"
        )
    robust, others = [], []
    for stake, name in _STAKES.items():
        found = [reach for reach in judged if reach.stake == stake]
        if found and all(reach.order_of_magnitude for reach in found):
            robust.append(name)
        elif found:
            others.append(f"In {name} it is not: {', and '.join(map(_holding, found))}.")
    *first, last = robust or ["none of the stakes"]
    told = f"{', '.join(first)} and {last}" if first else last
    return " ".join([f"{meaning}.", f"It is so in {told}.", *others])


def _holding(reach: ReachFact) -> str:
    """Within which factors of a stake one figure of the file holds."""
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
    """Effect of fines and detection, from the least of the grid to the most, and under the recipient's own."""

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
        return (
            f"a penalty of {numbers.setting(point.penalty)} that is due with probability "
            f"{numbers.setting(point.detection)}"
        )

    own = f"with {terms(fact.own)}" if fact.own.penalty else "which name no penalty"
    said = [f"Under the recipient's own terms, {own}, {answered(fact.own)}."]
    said += [
        f"{f'With {terms(point)}' if point.penalty else 'Without a penalty'}, {answered(point)}."
        for point in dict.fromkeys((fact.points[0], fact.points[-1]))
    ]
    return " ".join(said)


def _payoff(view: RecordView, point: PenaltyPoint) -> str:
    return view.mean_in(point.publisher_payoff, view.record.recipient.benefit, numbers.amount)


def _grid(
    axes: tuple[ChartAxis, ChartAxis], title: str, rows: Sequence[Sequence[Cell]], colour: str, frame: Box | None
) -> Panel:
    """Cells from the bottom row up, hatched where there is no file."""
    marks: list[Mark] = []
    for line, row in enumerate(rows):
        for place, (words, shade) in enumerate(row):
            nothing = words == NO_FILE
            marks += [
                Box(
                    (place - 0.5, place + 0.5),
                    (line - 0.5, line + 0.5),
                    "white" if nothing else mixed(colour, shade),
                    FAINT,
                    hatch=FAINT if nothing else "",
                ),
                Label(place, line, words, halo=nothing),
            ]
    return Panel(*axes, [*marks, *([frame] if frame else [])], title)


def _cells_axis(names: Sequence[str], title: str) -> ChartAxis:
    return ChartAxis(-0.5, len(names) - 0.5, title, tuple(enumerate(names)), line=False)


def _lines_of(points: Sequence[_Item], columns: int) -> list[Sequence[_Item]]:
    return [points[start : start + columns] for start in range(0, len(points), columns)]


def _shades(values: Sequence[float | None], least_range: float) -> Callable[[float | None], float]:
    """Shade of a figure, from the lowest of some to the highest."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    return lambda value: 0.0 if value is None else (value - low) / max(high - low, least_range)


def _attacked(view: RecordView, shares: Sequence[float | None]) -> Callable[[float | None], Cell]:
    """A cell with a share of records attacked, shaded by the highest of some."""
    worst = max((share or 0.0 for share in shares), default=0.0) or 1.0
    return lambda share: (NO_FILE, 0.0) if share is None else (view.share_in(share), _MOST_INK * share / worst)


def _units(value: float) -> str:
    """Units, whole where they are many."""
    return numbers.integer(round(value)) if abs(value) >= 100 else numbers.risk(float(f"{value:.3g}"))


def _frontier_chart(view: RecordView, fact: FrontierFact) -> Chart:
    """Two grids, a row a benefit and a column a loss: the publisher's payoff, and the records worth attacking."""
    rows = _lines_of(fact.points, len(fact.loss_factors))
    one_gain = all(point.gain == point.loss for point in fact.points)
    shade = _shades([point.publisher_payoff and point.publisher_payoff / point.benefit for point in fact.points], 0.05)
    attacked = _attacked(view, [point.attacked_share for point in fact.points])

    def payoff(point: FrontierPoint) -> Cell:
        words = view.mean_in(point.publisher_payoff, point.benefit, _units)
        return words, shade((point.publisher_payoff or 0.0) / point.benefit)

    names = [_units(point.loss) + ("" if one_gain else f" ({_units(point.gain)})") for point in rows[0]]
    x = _cells_axis(names, "loss L, units" if one_gain else "loss L (gain G), units")
    y = _cells_axis([_units(row[0].benefit) for row in rows], "benefit V, units")
    line, place = fact.benefit_factors.index(1.0), fact.loss_factors.index(1.0)
    own = Box((place - 0.5, place + 0.5), (line - 0.5, line + 0.5), edge=INK, width=1.4)

    def told(point: FrontierPoint) -> tuple[str, str, str]:
        return (
            f"V {_units(point.benefit)} and L {_units(point.loss)}",
            payoff(point)[0],
            attacked(point.attacked_share)[0],
        )

    corners = "; ".join(
        "{}: payoff {}, {} attacked".format(*told(row[end])) for row in (rows[0], rows[-1]) for end in (0, -1)
    )
    stakes, earned, share = told(rows[line][place])
    low, high = fact.loss_factors[0], fact.loss_factors[-1]
    games = numbers.integer(fact.games)
    coarse = "the grid is coarse because " if len(fact.loss_factors) < 5 else ""
    solved = f"{games} games were solved; {coarse}each point needs its own."
    if method_text(view.risk.game.method).stakes == "none":
        solved = "The file depends on no stakes, so that one served all points."
    elif fact.games == len(fact.loss_factors):
        solved = f"V changes no choice of this method: {games} games, one for each L, gave all points."
    return Chart(
        "frontier",
        f"Two grids of {numbers.integer(len(rows))} benefits by {numbers.integer(len(names))} losses. At the stakes "
        f"of the request, {stakes}, the payoff is {earned} and {share} of the records are worth attacking. At the "
        f"corners: {corners}.",
        f"The method applied, had V and L been {numbers.plain(low)} to {numbers.plain(high)} times those of the "
        f"request (framed); {'the gain G equals L' if one_gain else 'the gain G keeps its ratio to L'}, and the cost "
        f"of an attempt stays at {numbers.amount(view.record.recipient.cost)}. Left, what the publisher earns against "
        "a recipient who knows the rule, over the records that came in (darker is nearer to V); right, those of them "
        f"worth attacking. {solved}",
        [
            [
                _grid(
                    (x, y),
                    "Publisher's payoff, units per record",
                    [[payoff(point) for point in row] for row in rows],
                    BLUES[3],
                    own,
                ),
                _grid(
                    (x, y),
                    "Records worth attacking, %",
                    [[attacked(point.attacked_share) for point in row] for row in rows],
                    ALARM,
                    own,
                ),
            ]
        ],
        48 + 18 * len(rows),
    )


def _penalties_chart(view: RecordView, fact: PenaltiesFact) -> Chart:
    """Grids, a row a penalty and a column a detection: payoff, groups not attacked, records attacked where some are."""
    benefit, points = view.record.recipient.benefit, fact.points
    rows = _lines_of(points, len(fact.detections))
    x = _cells_axis(
        [numbers.tick(chance) for chance in fact.detections], "probability that the first attempt is detected"
    )
    y = _cells_axis([numbers.tick(fine) for fine in fact.penalties], "penalty, units")
    earns = _shades([point.publisher_payoff for point in points], 0.02 * benefit)
    keeps = _shades([point.information_kept for point in points], 0.02)
    largest = math.log(max(2.0, *(point.safe_group or 0.0 for point in points)))
    attacked = _attacked(view, [point.attacked_share for point in points])

    def safe(point: PenaltyPoint) -> Cell:
        return (
            ("none", 1.0)
            if point.safe_group is None
            else (numbers.integer(int(point.safe_group)), math.log(max(point.safe_group, 1.0)) / largest)
        )

    def kept(point: PenaltyPoint) -> Cell:
        return view.mean_in(point.information_kept, 1.0, numbers.percent), keeps(point.information_kept)

    grids: list[tuple[str, Callable[[PenaltyPoint], Cell], str]] = [
        (
            "Publisher's payoff, units per record",
            lambda point: (_payoff(view, point), earns(point.publisher_payoff)),
            BLUES[3],
        ),
        ("Not attacked from, people", safe, BLUES[3]),
    ]
    if any(point.attacked_share for point in points):
        grids += [
            ("Records attacked, %", lambda point: attacked(point.attacked_share), ALARM),
            ("Information kept, %", kept, BLUES[3]),
        ]
    own = _own_cells(fact)
    panels = [
        _grid((x, y), title, [[cell(point) for point in row] for row in rows], colour, own)
        for title, cell, colour in grids
    ]
    title = method_text(fact.method).title
    told = "; ".join(
        f"penalty {numbers.setting(point.penalty)} and detection {numbers.setting(point.detection)}: payoff "
        f"{_payoff(view, point)}, not attacked from {safe(point)[0]} people on"
        for point in dict.fromkeys((rows[0][0], rows[0][-1], rows[-1][0], rows[-1][-1]))
    )
    games = "one game gave" if fact.games == 1 else f"{numbers.integer(fact.games)} games gave"
    return Chart(
        "penalties",
        f"Grids of {numbers.integer(len(rows))} penalties by {numbers.integer(len(fact.detections))} probabilities of "
        f"detection, for the {title[0].lower() + title[1:]} against a sequential adversary. At the corners, {told}.",
        f"{title} against a sequential adversary, under other penalties and detection; all other terms stay, and the "
        "publisher answers each pair with its best file. "
        f"{'Framed: the recipient’s own terms. ' if own else ''}Payoffs are over the records that came in; darker is "
        "more. “Not attacked from” is the number of people who match a record from which on no attempt is made; "
        f"{games} all cells.",
        _lines_of(panels, 2),
        (54 + 16 * len(rows)) * len(panels) / 2,
    )


def _own_cells(fact: PenaltiesFact) -> Box | None:
    """The cell of the recipient's own terms; without a penalty the whole row, and none where the grid lacks them."""

    def place(values: Sequence[float], own: float) -> int | None:
        return next((place for place, one in enumerate(values) if math.isclose(one, own, rel_tol=_NEAR)), None)

    row, column = place(fact.penalties, fact.own.penalty), place(fact.detections, fact.own.detection)
    if row is None or (column is None and fact.own.penalty):
        return None
    first, last = (0, len(fact.detections) - 1) if column is None or not fact.own.penalty else (column, column)
    return Box((first - 0.5, last + 0.5), (row - 0.5, row + 0.5), edge=INK, width=1.4)


def _map_chart(view: RecordView, fact: StakesMap) -> Chart:
    """Four maps over benefit and loss (after Wan et al. 2015, Fig. 10), in steps that darken as figures rise."""
    found, title, cells = fact.figures, method_text(fact.figures.method).title, view.cells
    attacked, intensity, gained = (
        _table(fact, one) for one in (found.attacked_share, found.mean_generalization, found.adversary_payoff)
    )
    earned = _table(fact, found.publisher_payoff) / np.array(fact.benefits)[:, None]
    # A share passes a step where a count does: such a place must disclose no small one.
    shares = [
        step
        for step in _SHARE_STEPS
        if not cells.hides(step * view.rows_in) and not cells.hides((1 - step) * view.rows_in)
    ]
    most = float(np.nanmax(gained, initial=0.0))
    decades = [10.0**power for power in range(-1, max(math.ceil(math.log10(most)), 0) + 1)] if most > 0 else [0.1]
    top = float(np.nanmax(intensity, initial=0.0))
    x, y = (
        logarithmic(values[0], values[-1], _AXES[name], steps=(1, 3) if values[-1] / values[0] > 20 else (1, 2, 5))
        for name, values in (("loss", fact.losses), ("benefit", fact.benefits))
    )
    own = Dots(((view.record.recipient.loss, view.record.recipient.benefit),), INK, "cross", radius=3)
    panels = [
        _map(fact, x, y, own, one)
        for one in (
            ("Mean generalization GI", intensity, [tick for tick, _ in linear(0, top or 1.0).ticks], numbers.tick),
            ("Records worth attacking, %", attacked, shares, _percent),
            ("Publisher's payoff, % of V", earned, _VALUE_STEPS, _percent),
            ("Recipient's payoff, units per record", gained, decades, numbers.tick),
        )
    ]

    def word(value: float, written: Callable[[float], str]) -> str:
        return written(float(value)) if math.isfinite(value) else "no strategy"

    corners = "; ".join(
        f"at V {numbers.setting(fact.benefits[row])} and L {numbers.setting(fact.losses[column])}: GI "
        f"{word(intensity[row, column], numbers.risk)}, {word(attacked[row, column], view.share_in)} worth attacking"
        for row in (0, -1)
        for column in (0, -1)
    )
    low_v, high_v, low_l, high_l = map(
        numbers.setting, (fact.benefits[0], fact.benefits[-1], fact.losses[0], fact.losses[-1])
    )
    return Chart(
        "stakes_map",
        f"Four maps of the {title[0].lower() + title[1:]}, each over V from {low_v} to {high_v} and L from {low_l} to "
        f"{high_l}, both logarithmic. At the corners, {corners}.",
        f"{title} over these records, had V and L been others (after Wan et al. 2015, Fig. 10); the cross is the "
        "request. The gain G keeps its ratio to L, and the cost of an attempt stays. Darker is more; a shade begins "
        "at the number beside it. Groups are those that the game goes by: of a recipient who does not know the rule.",
        _lines_of(panels, 2),
        310,
    )


def _map(fact: StakesMap, x: ChartAxis, y: ChartAxis, own: Mark, shown: _Shown) -> Panel:
    """One map, with the numbers at which its shades begin above it."""
    title, values, steps, written = shown
    known = values[np.isfinite(values)]
    if not known.size:
        return Panel(x, y, [Box((-math.inf, math.inf), (-math.inf, math.inf), FAINT), note("no strategy"), own], title)
    crossed = [step for step in steps if known.min() < step <= known.max()]
    shade = np.where(np.isfinite(values), np.searchsorted(crossed, values, side="right"), -1)
    edges_x, edges_y = (_edges(np.array(one)) for one in (fact.losses, fact.benefits))
    marks: list[Mark] = []
    for line, row in enumerate(shade):
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1), len(row)]
        for start, end in pairwise(starts):
            fill = FAINT if row[start] < 0 else mixed(BLUES[1], 0.06 + 0.74 * row[start] / max(len(crossed), 1))
            marks.append(Box((edges_x[start], edges_x[end]), (edges_y[line], edges_y[line + 1]), fill, fill, 0.2))
    words = (
        f"{written(float(known.min()))} throughout"
        if not crossed
        else "shades from " + " · ".join(map(written, crossed))
    )
    return Panel(x, y, [*marks, own], f"{title}\n{words}")


def _edges(values: Floats) -> Floats:
    """Between neighbours on a logarithmic scale, and the ends themselves."""
    middles = np.sqrt(values[1:] * values[:-1])
    return np.array([values[0], *middles, values[-1]])


def _table(fact: StakesMap, values: Sequence[float | None]) -> Floats:
    return _floats(values).reshape(len(fact.benefits), len(fact.losses))


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values])


def _percent(share: float) -> str:
    return f"{100 * share:.4g}"


def _curves_chart(view: RecordView, fact: StakesFact) -> Chart:
    """Payoffs, GI and attacks of every game as one stake moves (after Wan et al. 2015, Fig. 11)."""

    def earned(game: GameFigures, curve: StakesCurve) -> Floats:
        benefits = np.array(curve.values) if curve.stake == "benefit" else view.record.recipient.benefit
        return np.asarray(100 * _floats(game.publisher_payoff) / benefits)

    def attacked(game: GameFigures, _: StakesCurve) -> Floats:
        return 100 * _floats(
            [share if share is None else view.cells.bounded(share, view.rows_in) for share in game.attacked_share]
        )

    rows: tuple[tuple[str, Callable[[GameFigures, StakesCurve], Floats]], ...] = (
        ("publisher's payoff,\n% of V", earned),
        ("recipient's payoff,\nunits per record", lambda game, _: _floats(game.adversary_payoff)),
        ("mean GI", lambda game, _: _floats(game.mean_generalization)),
        ("worth attacking, %", attacked),
    )
    across = [logarithmic(curve.values[0], curve.values[-1], _AXES[curve.stake], steps=(1, 3)) for curve in fact.curves]
    panels = []
    for title, figure in rows:
        series = [[figure(game, curve) for game in curve.games[: len(_STYLES)]] for curve in fact.curves]
        every = np.concatenate([one for curve in series for one in curve])
        low, high = float(np.nanmin(every, initial=0.0)), float(np.nanmax(every, initial=1e-3))
        y = linear(low, high + 0.05 * (high - low), title, grid=True)
        if "recipient" in title:
            ticks = (0.0, *(10.0**power for power in range(-1, math.ceil(math.log10(max(high, _KNEE))) + 1)))
            y = ChartAxis(
                0.0,
                1.3 * max(high, _KNEE),
                title,
                tuple((tick, numbers.tick(tick)) for tick in ticks),
                "symlog",
                _KNEE,
                grid=True,
            )
        panels.append(
            [Panel(x, y, _curve_marks(curve, own)) for x, curve, own in zip(across, fact.curves, series, strict=True)]
        )

    def told(curve: StakesCurve, index: int) -> str:
        game = curve.games[index]
        pays = [
            "none" if value is None else numbers.amount(value)
            for value in (game.publisher_payoff[0], game.publisher_payoff[-1])
        ]
        return (
            f"{pays[0]} to {pays[1]} as {curve.stake} rises from {numbers.setting(curve.values[0])} to "
            f"{numbers.setting(curve.values[-1])}"
        )

    games = [method_text(game.method).title for game in fact.curves[0].games]
    words = "; ".join(
        f"{game}: " + ", ".join(told(curve, index) for curve in fact.curves) for index, game in enumerate(games)
    )
    return Chart(
        "stakes_curves",
        f"Twelve charts of payoffs, generalization and attacks by V, L and c. Publisher's payoff. {words}.",
        "Every game over these records as one stake moves and the others stay (after Wan et al. 2015, Fig. 11); the "
        f"dotted line is the request. The recipient's payoff is logarithmic above {numbers.tick(_KNEE)}. Groups are "
        "those that the games go by.",
        panels,
        345,
        legend=[
            line_key(game, Line((), colour, 1.1, dash), Dots((), colour, shape, filled=False, radius=1.5))
            for game, (colour, dash, shape) in zip(games, _STYLES, strict=False)
        ],
    )


def _curve_marks(curve: StakesCurve, series: Sequence[Floats]) -> list[Mark]:
    marks: list[Mark] = [vertical(curve.own, MUTED, DOTTED)]
    for values, (colour, dash, shape) in zip(series, _STYLES, strict=False):
        points = list(zip(curve.values, map(float, values), strict=True))
        marks += [
            Line(points, colour, 1.1, dash),
            Dots(points[:: max(1, len(points) // 6)], colour, shape, filled=False, radius=1.5),
        ]
    return marks
