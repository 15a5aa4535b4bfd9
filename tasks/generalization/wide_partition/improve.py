"""Local search on a division: parts of it are divided anew, with more room each, and kept where that pays more.

A part is everything below one node. Parts of one round do not overlap, so each is improved by itself; and what a part
pays is never less than before, since its old division is kept otherwise.
"""

import numpy as np

from tasks.generalization.wide_partition.graph import Cells, Explorer, Ints
from tasks.generalization.wide_partition.members import Division
from tasks.generalization.wide_partition.tree import RELEASED, Tree, best_tree

_GAIN = 1e-9
"""Relative: parts that pay this little more are left as they are."""


def improved(division: Division, tree: Tree, largest: int, together: int, limit: int) -> Tree:
    """A division that pays at least as much.

    Parameters
    ----------
    division : Division
    tree : Tree
    largest : int
        Member tuples that a part may have.
    together : int
        Member tuples of the parts that share the room.
    limit : int
        Member tuples, over all cells that wait, as of ``Explorer``.
    """
    part = _parts(tree, largest)
    rows = np.flatnonzero(part >= 0)
    if len(rows) == 0:
        return tree
    rows = rows[np.argsort(part[rows], kind="stable")]
    nodes, sizes = np.unique(part[rows], return_counts=True)
    ends = np.cumsum(sizes)
    batch = (ends - sizes) // max(together, 1)
    found: list[tuple[Ints, Tree]] = []
    for number in np.unique(batch):
        own = np.flatnonzero(batch == number)
        held = rows[ends[own[0]] - sizes[own[0]] : ends[own[-1]]]
        found.append(
            (
                nodes[own],
                best_tree(
                    division, Explorer(division, limit).explore(_cells(division, tree, nodes[own], sizes[own], held))
                ),
            )
        )
    return _grafted(tree, found)


def _parts(tree: Tree, largest: int) -> Ints:
    """Highest divided node above each member that holds at most so many; −1 where there is none."""
    held = _held(tree)
    node = tree.of_member.copy()
    part = np.full(len(node), -1)
    while (node >= 0).any():
        inside = np.flatnonzero(node >= 0)
        fits = inside[held[node[inside]] <= largest]
        part[fits] = node[fits]
        node[inside] = tree.parent[node[inside]]
    part[(part >= 0) & (held[part] < 2)] = -1
    return part


def _held(tree: Tree) -> Ints:
    """Member tuples at and below each node."""
    node = tree.of_member[tree.of_member >= 0]
    held = np.zeros(len(tree.parent), dtype=np.int64)
    while len(node):
        held += np.bincount(node, minlength=len(held))
        node = tree.parent[node]
        node = node[node >= 0]
    return held


def _cells(division: Division, tree: Tree, nodes: Ints, sizes: Ints, rows: Ints) -> Cells:
    starts = np.cumsum(sizes) - sizes
    people = np.add.reduceat(division.members.people[rows], starts)
    weights = np.add.reduceat(division.members.weights[rows], starts)
    return Cells(tree.positions[nodes], sizes, rows.astype(np.int32), people, weights)


def _grafted(tree: Tree, found: list[tuple[Ints, Tree]]) -> Tree:
    """The tree with better parts in place of its own."""
    replaced = np.zeros(len(tree.parent), dtype=np.bool_)
    pieces: list[Tree] = [tree]
    keeps: list[Ints] = [np.empty(0, dtype=np.int64)]
    homes: list[Ints] = [np.empty(0, dtype=np.int64)]
    for nodes, other in found:
        roots = np.arange(len(nodes))
        better = other.value[roots] > tree.value[nodes] + _GAIN * np.abs(tree.value[nodes])
        replaced[nodes[better]] = True
        home = np.full(len(other.parent), -1)
        home[roots[better]] = nodes[better]
        pieces.append(other)
        keeps.append(_below(other, better))
        homes.append(home)
    if not replaced.any():
        return tree
    gone = _under(tree, replaced)
    keeps[0] = np.flatnonzero(~gone)
    return _joined(pieces, keeps, homes)


def _under(tree: Tree, marked: np.ndarray) -> np.ndarray:
    """Whether some ancestor of each node, itself left out, is marked."""
    under = np.zeros(len(tree.parent), dtype=np.bool_)
    node = tree.parent.copy()
    while (node >= 0).any():
        above = node >= 0
        under[above] |= marked[node[above]]
        node[above] = tree.parent[node[above]]
    return under


def _below(tree: Tree, roots: np.ndarray) -> Ints:
    """Nodes at and below some roots."""
    marked = np.zeros(len(tree.parent), dtype=np.bool_)
    marked[: len(roots)] = roots
    return np.flatnonzero(marked | _under(tree, marked))


def _joined(pieces: list[Tree], keeps: list[Ints], homes: list[Ints]) -> Tree:
    """One tree of the kept nodes of all pieces; the roots of new pieces take the places of the nodes they replace."""
    base = pieces[0]
    place = np.full(len(base.parent), -1)
    place[keeps[0]] = np.arange(len(keeps[0]))
    fields = {
        name: [getattr(base, name)[keeps[0]]] for name in ("positions", "leaves", "people", "axis", "level", "value")
    }
    parents = [np.where(base.parent[keeps[0]] >= 0, place[base.parent[keeps[0]]], -1)]
    of_member = np.where(base.of_member >= 0, place[base.of_member], -1)
    count = len(keeps[0])
    for piece, kept, home in zip(pieces[1:], keeps[1:], homes[1:], strict=True):
        own = kept[piece.parent[kept] >= 0]
        here = np.full(len(piece.parent), -1)
        rooted = np.flatnonzero(home >= 0)
        here[rooted] = place[home[rooted]]
        here[own] = count + np.arange(len(own))
        for name, parts in fields.items():
            parts[0][here[rooted]] = getattr(piece, name)[rooted]
            parts.append(getattr(piece, name)[own])
        parents.append(here[piece.parent[own]])
        count += len(own)
        mine = np.flatnonzero(piece.of_member >= 0)
        moved = here[piece.of_member[mine]]
        of_member[mine[moved >= 0]] = moved[moved >= 0]
    joined = {name: np.concatenate(parts) for name, parts in fields.items()}
    parent = np.concatenate(parents)
    _raise_values(joined["value"], parent, joined["axis"])
    return Tree(axes=base.axes, parent=parent, of_member=of_member, **joined)


def _raise_values(value: np.ndarray, parent: Ints, axis: np.ndarray) -> None:
    """Make what every divided node pays the sum over its released ones."""
    last = np.flatnonzero(axis == RELEASED)
    amounts, node = value[last], parent[last]
    value[axis != RELEASED] = 0.0
    while len(node):
        inside = node >= 0
        node, amounts = node[inside], amounts[inside]
        value += np.bincount(node, weights=amounts, minlength=len(value))
        node = parent[node]
