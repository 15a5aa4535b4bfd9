"""Known sets with few combinations of values: counted in arrays with an axis an attribute.

One pass over the rows fills a cube; every known set within its attributes is a marginal of it. What the sets add to
the risk is gathered on the cube too, from small sets to large ones, and looked up once a row. All sums are of numbers
that are not negative: nothing cancels.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_letters
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.combined.coded_table import Floats
from tasks.assessments.combined.known_sets import KnownSet

_MAXIMUM_AXES = 32
_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True)
class Node:
    """Attributes whose combinations are counted, and the known sets that are counted from them."""

    axes: KnownSet
    """Attributes in the order of the cube's axes."""
    weight: float
    """Weight of the known set in the risk; 0 where the attributes are only counted together."""
    known: KnownSet
    children: "list[Node]" = field(default_factory=list)

    def gone(self, child: "Node") -> tuple[int, ...]:
        """Axes that a child no longer has."""
        return tuple(axis for axis, attribute in enumerate(self.axes) if attribute not in child.axes)

    def marginal(self, child: "Node", cube: NDArray[_Number]) -> NDArray[_Number]:
        """Sum a cube over the axes that a child no longer has; further axes lead."""
        names = ascii_letters[: len(self.axes)]
        left = "".join(name for name, attribute in zip(names, self.axes, strict=True) if attribute in child.axes)
        summed: NDArray[_Number] = np.einsum(f"...{names}->...{left}", cube)
        return summed


def narrow_sets(sets: Iterable[KnownSet], cardinalities: Sequence[int], cells: int) -> Iterator[KnownSet]:
    """Those of the known sets that have at most so many combinations of values."""
    return (known for known in sets if len(known) <= _MAXIMUM_AXES and _cells(known, cardinalities) <= cells)


def plan_cubes(weights: Mapping[KnownSet, float], cardinalities: Sequence[int], shared_cells: int) -> list[Node]:
    """Cubes that count each known set once.

    A set is counted from the smallest known set with one attribute more, if that has at most ``shared_cells``; sets
    that have none are put together, first fit, in cubes of at most so many cells, or stay alone.

    Parameters
    ----------
    weights : mapping of known set to float
    cardinalities : sequence of int
    shared_cells : int
    """
    order = sorted(range(len(cardinalities)), key=lambda attribute: cardinalities[attribute])
    rank = {attribute: place for place, attribute in enumerate(order)}
    nodes = {
        frozenset(known): Node(tuple(sorted(known, key=rank.__getitem__)), weight, known)
        for known, weight in weights.items()
    }
    used = [attribute for attribute in order if any(attribute in known for known in weights)]
    tops: list[Node] = []
    for members, node in nodes.items():
        larger = (members | {attribute} for attribute in used if attribute not in members)
        parent = next((nodes[found] for found in larger if found in nodes), None)
        if parent is None or _cells(parent.axes, cardinalities) > shared_cells:
            tops.append(node)
        else:
            parent.children.append(node)
    tops.sort(key=lambda node: (-_cells(node.axes, cardinalities), node.known))
    return [_joined(group, rank) for group in _first_fit(tops, cardinalities, shared_cells)]


def _first_fit(tops: list[Node], cardinalities: Sequence[int], shared_cells: int) -> list[list[Node]]:
    groups: list[tuple[frozenset[int], int, list[Node]]] = []
    for node in tops:
        for place, (attributes, cells, members) in enumerate(groups):
            if cells > shared_cells:
                continue
            joined = attributes.union(node.axes)
            grown = cells * _cells(joined - attributes, cardinalities)
            if grown <= shared_cells and len(joined) <= _MAXIMUM_AXES:
                members.append(node)
                groups[place] = (joined, grown, members)
                break
        else:
            groups.append((frozenset(node.axes), _cells(node.axes, cardinalities), [node]))
    return [members for _, _, members in groups]


def _joined(group: list[Node], rank: Mapping[int, int]) -> Node:
    attributes = frozenset(attribute for node in group for attribute in node.axes)
    for node in group:
        if len(node.axes) == len(attributes):
            node.children.extend(other for other in group if other is not node)
            return node
    return Node(tuple(sorted(attributes, key=rank.__getitem__)), 0.0, (), group)


def _cells(attributes: Iterable[int], cardinalities: Sequence[int]) -> int:
    return math.prod([cardinalities[attribute] for attribute in attributes])


def gathered(
    node: Node, counts: NDArray[np.int64], sensitivities: Mapping[int, Floats]
) -> tuple[Floats, Floats | None]:
    """Contribution of a cube's known sets to the risk, by cell.

    Parameters
    ----------
    node : Node
    counts : array with an axis for each of ``node.axes``
        Records of each cell.
    sensitivities : mapping of int to array of shape (cardinality,)
        Weights by code of the sensitive attributes that may be known.

    Returns
    -------
    likelihood : array of the shape of counts
        Σ w(KS)/count(KS) over the node's sets.
    consequence : array of the shape of counts, or None
        Σ w(KS)/count(KS) · Σ W(A)·W(a) over the node's sensitive attributes A ∉ KS; None where there are none.
    """
    likelihood = node.weight / np.maximum(counts, 1)
    consequence: Floats | None = None
    for child in node.children:
        below, known = gathered(child, node.marginal(child, counts), sensitivities)
        gone = node.gone(child)
        below = np.expand_dims(below, gone)
        likelihood += below
        parts = [
            below * np.expand_dims(sensitivities[node.axes[axis]], tuple(range(1, len(node.axes) - axis)))
            for axis in gone
            if node.axes[axis] in sensitivities
        ]
        if known is not None:
            parts.append(np.expand_dims(known, gone))
        for part in parts:
            if consequence is None:
                consequence = np.zeros_like(likelihood)
            consequence += part
    return likelihood, consequence


def totals(node: Node, counts: NDArray[np.int64], sums: Floats) -> Iterator[tuple[KnownSet, Floats]]:
    """Contribution of each known set of a cube over all rows.

    Parameters
    ----------
    node : Node
    counts : array with an axis for each of ``node.axes``
    sums : array with a further leading axis
        Of each cell, sums over its rows of one or more figures.

    Yields
    ------
    known : tuple of int
    array of shape (n_figures,)
        w(KS) · Σ figure/count(KS) over all rows.
    """
    if node.weight:
        shares = node.weight / np.maximum(counts, 1)
        yield node.known, np.einsum("ij,j->i", sums.reshape(len(sums), -1), shares.ravel())
    for child in node.children:
        yield from totals(child, node.marginal(child, counts), node.marginal(child, sums))
