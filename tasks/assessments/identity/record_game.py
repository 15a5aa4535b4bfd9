"""The game over one record: every strategy with its payoffs (Wan et al. 2015, Fig. 5), and the best over V and L."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tasks.candidate.candidate import Candidate
from tasks.generalization.generalize import game_problem
from tasks.microdata.cube import cells_at

FACTORS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
"""Multiples of V, and of L with the recipient's gain, at which the map of a record is taken."""
_DECIMALS = 9


@dataclass(frozen=True)
class RecordStrategy:
    """One strategy for the record."""

    levels: dict[str, int]
    """Level of each quasi-identifier; 0 is the value itself."""
    value: float
    """Publisher's benefit of the released value, v."""
    people: int
    """People of the population who match the released cell, n_p."""
    attacked: bool
    reidentified: float
    """Expected re-identifications of the record; one attacker's probability."""
    publisher: float
    """Publisher's payoff, U_p."""
    adversary: float
    """Recipient's payoff, U_a."""
    released: bool
    """Whether the record's own method releases this cell."""


@dataclass(frozen=True)
class RecordGame:
    """All strategies for one record, the best first, and which is best at multiples of the stakes."""

    row: int
    """Position in the file, from 1."""
    alike: int
    """Records of the file with the same quasi-identifiers, this one included."""
    is_released: bool
    strategies: tuple[RecordStrategy, ...]
    best: tuple[tuple[int, ...], ...]
    """Place among ``strategies`` of the best one, by ``FACTORS`` of L (rows) and of V (columns)."""
    attacked: tuple[tuple[bool, ...], ...]
    """Whether the recipient attacks it there."""

    def document(self) -> dict[str, Any]:
        """The strategies of the record as JSON."""
        return {**asdict(self), "factors": FACTORS}


def record_game(candidate: Candidate, row: int) -> RecordGame:
    """The game over a record, by its position among the records, from 0.

    Whatever the method chooses among, every strategy is shown: a partition or a rule may take none of the best. Of
    equal strategies the first in lexicographic order comes first.
    """
    index, follower = candidate.index, candidate.game
    problem = game_problem(index, follower, candidate.weights)
    place = int(candidate.prepared.tuple_of_record[row])
    nodes = problem.lattice.nodes
    codes = np.repeat(index.data.codes[place : place + 1], len(nodes), axis=0)
    values, people = problem.evaluate(codes, nodes)
    attacked, reidentified = follower.attacked(people), follower.reidentified(people)
    publisher, adversary = follower.publisher(values, people), follower.adversary(people)
    order = np.argsort(-np.round(publisher, _DECIMALS), kind="stable")
    names = [hierarchy.name for hierarchy in index.hierarchies]
    cells = problem.canonical(cells_at(codes, nodes, index.hierarchies))
    finest = [candidate.request.attributes[name].level or 0 for name in names]
    own = (cells == candidate.generalization.cells[place]).all(axis=1)
    rank = np.argsort(order)
    best, struck = [], []
    for loss in FACTORS:
        scaled = [follower.scaled(benefit, loss) for benefit in FACTORS]
        payoffs = [one.publisher(values * benefit, people) for one, benefit in zip(scaled, FACTORS, strict=True)]
        chosen = [int(np.argmax(np.round(payoff, _DECIMALS))) for payoff in payoffs]
        best.append(tuple(int(rank[one]) for one in chosen))
        struck.append(tuple(bool(one.attacked(people[[at]])[0]) for one, at in zip(scaled, chosen, strict=True)))
    return RecordGame(
        row=candidate.prepared.row_of(row) + 1,
        alike=int(index.data.counts[place]),
        is_released=bool(candidate.released[place]),
        strategies=tuple(
            RecordStrategy(
                levels=dict(zip(names, (nodes[one] + finest).tolist(), strict=True)),
                value=float(values[one]),
                people=int(people[one]),
                attacked=bool(attacked[one]),
                reidentified=float(reidentified[one]),
                publisher=float(publisher[one]),
                adversary=float(adversary[one]),
                released=bool(own[one]),
            )
            for one in order
        ),
        best=tuple(best),
        attacked=tuple(struck),
    )
