"""Classes once all cells were tried: divided where that is allowed, and extended to hold people left over."""

import numpy as np

from tasks.generalization.kanonymity.classes import Ints, compact
from tasks.generalization.remainder.problem import UNPLACED, RemainderProblem
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import radix_strides


def divided(problem: RemainderProblem, node: Ints) -> Ints:
    """Classes divided along an attribute where every part may be released: at no loss, or at a gain."""
    node, placed = node.copy(), np.flatnonzero(node != UNPLACED)
    classes = np.zeros(len(node), dtype=np.int64)
    classes[placed], n_whole = problem.classes(node, placed)
    strides = radix_strides(problem.lattice.heights)
    for axis, hierarchy in enumerate(problem.hierarchies):
        levels = problem.lattice.nodes[:, axis][node]
        for level in range(hierarchy.n_levels - 1 if hierarchy.is_tree else 0):
            rows = placed[levels[placed] > level]
            whole = classes[rows]
            group, n_groups = hierarchy.groups[:, level][problem.codes[rows, axis]], len(hierarchy.labels[level])
            part, many = compact(whole * n_groups + group, n_whole * n_groups)
            allowed = problem.enough(rows, part, many)
            finer = node[rows] - (levels[rows] - level) * strides[axis]
            if problem.admissible is not None and len(rows):
                allowed &= problem.admissible(rows, part, many, finer)
            undivided = np.bincount(whole[~allowed[part]], minlength=n_whole) > 0
            parted = (~undivided[whole]).nonzero()[0]
            if len(parted):
                rows, finer = rows[parted], finer[parted]
                node[rows], levels[rows] = finer, level
                # A part joins the class of its label, if there is one: only classes of these strategies change.
                changed = np.zeros(len(problem.lattice), dtype=np.bool_)
                changed[finer] = True
                again = placed[changed[node[placed]]]
                number, many = problem.classes(node, again)
                classes[again], n_whole = n_whole + number, n_whole + many
    return node


def joined(problem: RemainderProblem, node: Ints, left_out: float = 0.0) -> Ints:
    """Rows in no class, one after the other, in the class that is worth most once it is made to hold the row.

    Up to ``left_out`` records stay in no class where all would keep less with them. Where no class may take a row,
    everybody is in one.
    """
    alone, placed = np.flatnonzero(node == UNPLACED), np.flatnonzero(node != UNPLACED)
    if len(alone) == 0:
        return node
    node, (classes, many) = node.copy(), problem.classes(node, placed)
    member = np.empty(many, dtype=np.int64)
    member[classes] = placed
    codes, levels = problem.codes[member], problem.lattice.nodes[node[member]]
    of_file = problem.counts if problem.records is None else problem.records
    people, records = (np.bincount(classes, weights[placed], many) for weights in (problem.counts, of_file))
    chosen, kept = np.full(len(alone), many), problem.kept(codes, node[member])
    for number in np.argsort(-problem.counts[alone], kind="stable").tolist():
        own, count, filed = (each[alone[number]] for each in (problem.codes, problem.counts, of_file))
        axes = zip(problem.hierarchies, codes.T, levels.T, own.tolist(), strict=True)
        holding = [_holding(tree, leaves, at, leaf) for tree, leaves, at, leaf in axes]
        after = 1.0 - sum(lost[leaves, at] for lost, leaves, at in zip(problem.lost, codes.T, holding, strict=True))
        gain = np.where(problem.filed(records + filed), (people + count) * after - people * kept, -np.inf)
        best = int(np.argmax(gain)) if many else 0
        if filed <= left_out and (many == 0 or gain[best] < 0):
            left_out -= filed
        elif many == 0 or gain[best] == -np.inf:
            return np.full(len(node), problem.top)
        else:
            chosen[number], levels[best], kept[best] = best, [at[best] for at in holding], after[best]
            people[best], records[best] = people[best] + count, records[best] + filed
    named = np.append(problem.lattice.number(levels), UNPLACED)
    node[placed], node[alone] = named[classes], named[chosen]
    return node


def _holding(tree: Hierarchy, leaves: Codes, levels: Codes, leaf: int) -> Codes:
    """Least level at which the groups that some leaves have at some levels hold another leaf too."""
    same = tree.groups == tree.groups[leaf]
    if tree.is_tree:
        return np.asarray(np.maximum(levels, np.argmax(same, axis=1).astype(np.int32)[leaves]))
    return np.where(same[leaves, levels], levels, np.int32(tree.n_levels - 1))
