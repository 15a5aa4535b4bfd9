"""Figures as text: what is drawn and where, without the drawing, which takes a second a page and says nothing more."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

_LONGEST = 240


def sketched(figure: Figure, target: Any) -> None:
    """Write a figure as text."""
    target.write("".join(f"{line}\n" for axes in figure.axes for line in _lines(axes)).encode())


def _lines(axes: Axes) -> Iterator[str]:
    yield f"axes {axes.get_title() or axes.get_title('left')} | {axes.get_xlabel()} | {axes.get_ylabel()}"
    yield f"  from {_figures(axes.get_xlim())} {axes.get_xscale()}, {_figures(axes.get_ylim())} {axes.get_yscale()}"
    for side in (axes.xaxis, axes.yaxis):
        labels = [label.get_text() for label in side.get_ticklabels()]
        yield f"  ticks {_figures(side.get_majorticklocs())} {' | '.join(labels)}".rstrip()
    for artist in axes.get_children():
        told = _of(artist)
        if told:
            yield f"  {told}"
    legend = axes.get_legend()
    if legend is not None:
        yield f"  legend {' | '.join(text.get_text() for text in legend.get_texts())}"


def _of(artist: Any) -> str:
    """One artist; empty for one that every axes has."""
    if isinstance(artist, Text):
        return f"text {_figures(artist.get_position())} {artist.get_text()!r}" if artist.get_text() else ""
    if isinstance(artist, Line2D):
        return f"line {_figures(artist.get_xydata())}"
    if isinstance(artist, Rectangle):
        return f"box {_figures((*artist.get_xy(), artist.get_width(), artist.get_height()))}"
    if isinstance(artist, AxesImage):
        return f"image {_figures(np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan))}"
    if hasattr(artist, "get_paths"):
        paths = [path.vertices for path in artist.get_paths()] + [artist.get_offsets()]
        return f"{type(artist).__name__} {_figures(np.concatenate([np.ravel(part) for part in paths]))}"
    return ""


def _figures(values: Any) -> str:
    """Numbers to six digits; a long row by its length and hash."""
    row = [f"{float(value):.6g}" for value in np.ravel(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan))]
    text = " ".join("0" if one == "-0" else one for one in row)
    if len(text) <= _LONGEST:
        return text
    return f"{len(row)} numbers {hashlib.sha256(text.encode()).hexdigest()[:16]}"
