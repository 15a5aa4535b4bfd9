"""One change of a request, drawn at random: a role, a scan, a hierarchy or a weight of one column."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.mutations.bases import Base, Tree

ROLES = ("direct identifier", "quasi-identifier", "sensitive", "insensitive")


@dataclass(frozen=True)
class Mutant:
    """A request with one change."""

    document: dict[str, Any]
    trees: Mapping[str, Tree]
    change: str


def mutant(base: Base, generator: np.random.Generator) -> Mutant:
    """The careful request of a base with one change."""
    document, trees = base.document(), {name: copy.deepcopy(tree) for name, tree in base.trees.items()}
    kind = str(generator.choice(["role", "role", "scan", "hierarchy", "weight", "known"]))
    attributes = document["attributes"]
    name = str(generator.choice(list(trees) if kind in {"hierarchy", "weight"} else list(attributes)))
    terms = attributes[name]
    if kind == "role":
        role = str(generator.choice([one for one in ROLES if one != terms["role"]]))
        attributes[name] = _in_role(base, name, role)
        return Mutant(document, trees, f"role of {name}: {role}")
    if kind == "hierarchy":
        how = str(generator.choice(list(_TREES)))
        trees[name] = _TREES[how](trees[name], generator)
        return Mutant(document, trees, f"hierarchy of {name}: {how}")
    if kind == "scan":
        terms["scan"] = False
        return Mutant(document, trees, f"no scan of {name}")
    if kind == "weight":
        terms["weight"] = float(generator.choice([0, 0.01, 0.1, 10, 1000]))
        return Mutant(document, trees, f"weight of {name}: {terms['weight']}")
    terms["known_probability"] = float(generator.choice([0, 0.01, 0.5, 1]))
    return Mutant(document, trees, f"{name} known with {terms['known_probability']}")


def _in_role(base: Base, name: str, role: str) -> dict[str, Any]:
    """The terms that a careless requester would give with a role."""
    terms: dict[str, Any] = {"role": role}
    if name in base.trees and role != "quasi-identifier" and "type" in base.attributes[name]:
        terms["type"] = base.attributes[name]["type"]
    if role == "quasi-identifier":
        values = sorted({row[name] for row in base.rows})
        terms["hierarchy"] = {"groups": {"levels": [{"*": values}]}}
    return terms


def _finer(tree: Tree, _generator: np.random.Generator) -> Tree:
    """Without its second level."""
    return [[row[0], *row[2:]] for row in tree] if len(tree[0]) > 2 else tree


def _coarser(tree: Tree, _generator: np.random.Generator) -> Tree:
    """Only its root above the values."""
    return [[row[0], row[-1]] for row in tree]


def _shuffled(tree: Tree, generator: np.random.Generator) -> Tree:
    """Values under labels of others."""
    order = generator.permutation(len(tree))
    return [[row[0], *tree[place][1:]] for row, place in zip(tree, order, strict=True)]


def _unrooted(tree: Tree, _generator: np.random.Generator) -> Tree:
    """Its root replaced by the values themselves."""
    return [[*row[:-1], row[0]] for row in tree]


def _incomplete(tree: Tree, generator: np.random.Generator) -> Tree:
    """Without one of its values."""
    gone = int(generator.integers(len(tree)))
    return [row for place, row in enumerate(tree) if place != gone]


_TREES = {
    "finer": _finer,
    "coarser": _coarser,
    "shuffled": _shuffled,
    "unrooted": _unrooted,
    "incomplete": _incomplete,
}
