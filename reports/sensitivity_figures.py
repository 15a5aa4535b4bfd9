"""Figures of other stakes in detail: maps and curves, drawn from the record and from nothing else.

Maps are in steps that darken as figures rise, with their edges written on them, and curves have dashes and marks of
their own, so that no fact is shown by colour alone.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.colors import BoundaryNorm, LinearSegmentedColormap
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullFormatter, NullLocator
from numpy.typing import NDArray

from reports import numbers
from reports.charting import AFTER, ALARM, BEFORE, BLUES, FAINT, INK, MUTED, Figure
from reports.methods import method_text
from reports.smallcell import SmallCellRule
from tasks.assessments.identity.stakes_facts import GameFigures, StakesCurve, StakesFact, StakesMap
from tasks.decision.record import DecisionRecord

_SHADES = LinearSegmentedColormap.from_list("shades", ("#ffffff", *reversed(BLUES)))
_LINES: tuple[dict[str, Any], ...] = (
    {"color": AFTER, "linestyle": "-", "marker": "o"},
    {"color": ALARM, "linestyle": (0, (5, 2)), "marker": "s"},
    {"color": INK, "linestyle": (0, (1, 1.5)), "marker": "^"},
    {"color": BEFORE, "linestyle": (0, (5, 1.5, 1, 1.5)), "marker": "D"},
)
"""Styles of the games in the order of the record."""
_STAKES = {"benefit": "benefit V, units", "loss": "loss L (and gain G), units", "cost": "cost of an attempt c, units"}
_SHARE_STEPS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
_MOST_STEPS = 10
_DOTTED = (0, (1, 2))
_MARKS = 6
_LINEAR_BELOW = 0.1
_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}

Floats = NDArray[np.float64]
Series = Callable[[GameFigures, StakesCurve], Floats]
"""Figures of a game along a curve, as drawn."""
Panel = tuple[str, Floats, Sequence[float], Callable[[float], str]]
"""Title, figures, steps and how a step is written."""


def stakes_map(record: DecisionRecord, fact: StakesMap) -> Figure:
    """Four maps over benefit and loss (after Wan et al. 2015, Fig. 10)."""
    shape = len(fact.benefits), len(fact.losses)
    found, title = fact.figures, method_text(fact.figures.method).title
    cells, total = SmallCellRule(record.policy.small_cell), record.dataset.rows_in
    benefits = np.array(fact.benefits)

    def table(values: Sequence[float | None]) -> Floats:
        return _numbers(values).reshape(shape)

    earned = table(found.publisher_payoff) / benefits[:, None]
    attacked, intensity, gained = (
        table(values) for values in (found.attacked_share, found.mean_generalization, found.adversary_payoff)
    )
    shares = [step for step in _SHARE_STEPS if _tells_none(step, cells, total)]
    panels: tuple[Panel, ...] = (
        ("Mean generalization GI", intensity, _steps(intensity), numbers.tick),
        ("Records worth an attempt, %", attacked, shares, _percent),
        ("Publisher's payoff, % of V", earned, _share_steps(earned), _percent),
        ("Recipient's payoff, units a record", gained, _decades(gained), numbers.tick),
    )

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 2, sharex=True, sharey=True)
        for ax, panel in zip(axes.flat, panels, strict=True):
            _map(ax, fact, panel)
            ax.plot(
                record.recipient.loss,
                record.recipient.benefit,
                marker="x",
                color=INK,
                markersize=6,
                markeredgewidth=1.4,
                zorder=4,
            )
        for ax in axes[1]:
            ax.set_xlabel(_STAKES["loss"])
        for ax in axes[:, 0]:
            ax.set_ylabel(_STAKES["benefit"])

    told = partial(_share, cells, total)
    corners = "; ".join(
        f"at V {numbers.setting(fact.benefits[row])} and L {numbers.setting(fact.losses[column])}: GI "
        f"{_word(intensity[row, column], numbers.risk)}, {_word(attacked[row, column], told)} worth an attempt"
        for row in (0, -1)
        for column in (0, -1)
    )
    alt = (
        f"Four maps of the {title[0].lower() + title[1:]}, each over V from {numbers.setting(fact.benefits[0])} to "
        f"{numbers.setting(fact.benefits[-1])} and L from {numbers.setting(fact.losses[0])} to "
        f"{numbers.setting(fact.losses[-1])}, both logarithmic. At the corners, {corners}."
    )
    caption = (
        f"{title} over these records, had V and L been others (after Wan et al. 2015, Fig. 10); the cross is "
        "the request. The gain G keeps its ratio to L, and the cost of an attempt stays. Darker is more; numbers stand "
        "on the edges of the steps. Groups are those that the game goes by: of a recipient who does not know the rule."
    )
    return Figure("stakes_map", draw, 4.2, alt, caption)


def stakes_curves(record: DecisionRecord, fact: StakesFact) -> Figure:
    """Payoffs, GI and attacks of every game as one stake moves (after Wan et al. 2015, Fig. 11)."""
    cells, total = SmallCellRule(record.policy.small_cell), record.dataset.rows_in

    def earned(game: GameFigures, curve: StakesCurve) -> Floats:
        benefits = np.array(curve.values) if curve.stake == "benefit" else record.recipient.benefit
        return np.asarray(100 * _numbers(game.publisher_payoff) / benefits)

    def attacked(game: GameFigures, _curve: StakesCurve) -> Floats:
        shares = [math.nan if one is None else cells.bounded(one, total) for one in game.attacked_share]
        return 100 * np.array(shares)

    rows: tuple[tuple[str, Series], ...] = (
        ("publisher's payoff,\n% of V", earned),
        ("recipient's payoff,\nunits a record", lambda game, _: _numbers(game.adversary_payoff)),
        ("mean GI", lambda game, _: _numbers(game.mean_generalization)),
        ("worth an attempt, %", attacked),
    )

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(len(rows), len(fact.curves), sharex="col", sharey="row", squeeze=False)
        for line, (title, figures) in enumerate(rows):
            for ax, curve in zip(axes[line], fact.curves, strict=True):
                _curves(ax, curve, figures)
            axes[line][0].set_ylabel(title)
        axes[1][0].set_yscale("symlog", linthresh=_LINEAR_BELOW)
        axes[1][0].yaxis.set_minor_locator(NullLocator())
        ticks = [tick for tick in axes[1][0].get_yticks() if tick >= 0]
        axes[1][0].set_yticks(ticks, [numbers.tick(tick) for tick in ticks])
        axes[1][0].set_ylim(bottom=0)
        for ax, curve in zip(axes[-1], fact.curves, strict=True):
            ax.set_xlabel(_STAKES[curve.stake])
            _log_axis(ax, "x", curve.values)
        handles, labels = axes[0][0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=6.5, handlelength=3)

    words = "; ".join(
        f"{method_text(game.method).title}: " + ", ".join(_ends(curve, index) for curve in fact.curves)
        for index, game in enumerate(fact.curves[0].games)
    )
    caption = (
        "Every game over these records as one stake moves and the others stay (after Wan et al. 2015, Fig. 11); the "
        "dotted line is the request. The recipient's payoff is logarithmic above "
        f"{numbers.tick(_LINEAR_BELOW)}. Groups are those that the games go by."
    )
    alt = f"Twelve charts of payoffs, generalization and attacks by V, L and c. Publisher's payoff. {words}."
    return Figure("stakes_curves", draw, 4.8, alt, caption)


def _map(ax: Any, fact: StakesMap, panel: Panel) -> None:
    title, values, steps, written = panel
    ax.set_title(title)
    _log_axis(ax, "x", fact.losses)
    _log_axis(ax, "y", fact.benefits)
    ax.set_facecolor(FAINT)
    lowest, highest = np.nanmin(values, initial=math.inf), np.nanmax(values, initial=-math.inf)
    crossed = [step for step in steps if lowest < step < highest]
    edges = [min(steps[0], lowest) - 1, *crossed, max(steps[-1], highest) + 1]
    if not math.isfinite(lowest):
        ax.text(0.5, 0.5, "no strategy", transform=ax.transAxes, ha="center", va="center", color=MUTED)
        return
    shades = _SHADES.resampled(256)
    colours = [shades(0.06 + 0.74 * (place + 1) / (len(edges))) for place in range(len(edges) - 1)]
    ax.contourf(fact.losses, fact.benefits, values, levels=edges, colors=colours, norm=BoundaryNorm(edges, len(edges)))
    if not crossed:
        ax.text(
            0.5, 0.5, f"{written(lowest)} throughout", transform=ax.transAxes, ha="center", va="center", bbox=_WHITE
        )
        return
    lines = ax.contour(fact.losses, fact.benefits, values, levels=crossed, colors=INK, linewidths=0.5)
    ax.clabel(lines, levels=crossed[:: 1 + len(crossed) // (_MOST_STEPS + 1)], fmt=written, fontsize=6)


def _curves(ax: Any, curve: StakesCurve, series: Series) -> None:
    for style, game in zip(_LINES, curve.games, strict=False):
        ax.plot(
            curve.values,
            series(game, curve),
            linewidth=1.1,
            markersize=3,
            markerfacecolor="white",
            markevery=max(1, len(curve.values) // _MARKS),
            label=method_text(game.method).title,
            **style,
        )
    ax.axvline(curve.own, color=INK, linewidth=0.9, linestyle=_DOTTED)
    ax.set_xscale("log")


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values])


def _log_axis(ax: Any, name: str, values: Sequence[float]) -> None:
    """A logarithmic axis from the first value to the last, ticked at 1, 2 and 5 of a decade."""
    ax.set(**{f"{name}scale": "log"})
    low, high = values[0], values[-1]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 3) if high / low > 20 else (1, 2, 5)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    axis = ax.xaxis if name == "x" else ax.yaxis
    ax.set(
        **{
            f"{name}ticks": ticks,
            f"{name}ticklabels": [numbers.tick(tick) for tick in ticks],
            f"{name}lim": (low, high),
        }
    )
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _share(cells: SmallCellRule, total: int, share: float) -> str:
    return cells.share(share, total)


def _tells_none(step: float, cells: SmallCellRule, total: int) -> bool:
    """Whether the place where a share passes a step reveals no small count."""
    return not (cells.hides(step * total) or cells.hides((1 - step) * total))


def _steps(values: Floats) -> Sequence[float]:
    """Round steps over the range of some figures, from 0."""
    top = float(np.nanmax(values, initial=0.0))
    if top <= 0:
        return (0.0, 1.0)
    raw = top / _MOST_STEPS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    return [round(step * place, 12) for place in range(math.ceil(top / step) + 1)]


def _share_steps(values: Floats) -> Sequence[float]:
    """Steps of a share of V that is mostly near 1."""
    low = float(np.nanmin(values, initial=1.0))
    edges = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0]
    return [edge for edge in edges if edge >= low - 0.25]


def _decades(values: Floats) -> Sequence[float]:
    top = float(np.nanmax(values, initial=0.0))
    powers = range(-1, max(math.ceil(math.log10(top)), 0) + 1) if top > 0 else range(-1, 1)
    return [0.0, *(10.0**power for power in powers)]


def _percent(share: float) -> str:
    return f"{100 * share:.4g}"


def _word(value: float, written: Callable[[float], str]) -> str:
    return written(float(value)) if math.isfinite(value) else "no strategy"


def _ends(curve: StakesCurve, index: int) -> str:
    game = curve.games[index]
    values = [game.publisher_payoff[place] for place in (0, -1)]
    told = ["none" if value is None else numbers.amount(value) for value in values]
    ends = [numbers.setting(curve.values[place]) for place in (0, -1)]
    return f"{told[0]} to {told[1]} as {curve.stake} rises from {ends[0]} to {ends[1]}"
