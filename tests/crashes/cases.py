"""The releases that are killed: what is asked for, what must come of it, and the moments to strike at."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tasks.ledger.entry import Event
from tests.support import decoyed_world
from tests.support.world import LAPSED, UNIVERSITY, World, make_world, recipient

REVIEWERS = ("M. Okafor", "J. Brandt")
_QUICK = {"linkage": {"learned": False, "individuals": 100}}
_STEPS = (
    "starting",
    "reading",
    "masking",
    "validating",
    "scoring",
    "judging",
    "generalizing",
    "assessing",
    "writing",
    "deciding",
    "checking",
    *["sealing"] * 4,
)
"""Beginnings of the steps that the command tells; the last ones, in which things are recorded and moved, more often."""


@dataclass(frozen=True)
class Case:
    """A kind of release."""

    name: str
    write: Callable[[Path, int], World]
    """Makes a world of its own, by its number."""
    code: int
    """Exit code of the release."""
    events: Counter[Event]
    """All entries of the ledger that it leaves in the end."""
    delivered: tuple[str, ...]
    """Recipients who have a copy in the end."""
    steps: tuple[str, ...] = _STEPS
    votes: bool = False
    """Whether two reviewers vote on it."""


def _asked(world: World, number: int, **changes: Any) -> World:
    world.ask(title=f"Visits {number}", **changes)
    return world


def _plain(folder: Path, number: int) -> World:
    policy = {"id": "standard", "version": "1", "presence": "unknown"} | _QUICK
    return _asked(make_world(folder), number, recipients=[UNIVERSITY, LAPSED], policy=policy)


def _reviewed(folder: Path, number: int) -> World:
    review = {"required": 2, "reviewers": list(REVIEWERS)}
    policy = {"id": "reviewed", "version": "1", "presence": "unknown", "review": review} | _QUICK
    return _asked(make_world(folder), number, recipients=[UNIVERSITY], policy=policy)


def _decoyed(folder: Path, number: int) -> World:
    """People of its own, with values of their own: copies of people whose copies are out already would be refused."""
    world = decoyed_world.make_decoyed_world(folder)
    rows = [row | {"record_id": f"{row['record_id']}-{number + 100}"} for row in decoyed_world.drawn_rows()]
    draw = np.random.default_rng(number)
    for name in ("diagnosis", "visits"):
        for row, value in zip(rows, draw.permutation([row[name] for row in rows]).tolist(), strict=True):
            row[name] = value
    rows[0]["note"] = f"seen in room {number + 100}"
    world.write_rows(rows)
    recipients = [
        decoyed_world.with_decoys("clinic"),
        recipient("university", stakes=decoyed_world.STAKES),
    ]
    return _asked(world, number, recipients=recipients, policy=decoyed_world.POLICY | _QUICK)


_ONE = {Event.REQUESTED: 1, Event.PUBLISHED: 1}
CASES = {
    case.name: case
    for case in (
        Case("plain", _plain, 3, Counter(_ONE | {Event.DECIDED: 2, Event.RELEASED: 1}), ("university",)),
        Case(
            "decoys",
            _decoyed,
            0,
            Counter(_ONE | {Event.DECIDED: 2, Event.RELEASED: 2}),
            ("clinic", "university"),
            (*_STEPS, "placing", "placing"),
        ),
        Case(
            "reviews",
            _reviewed,
            4,
            Counter(_ONE | {Event.DECIDED: 1, Event.VOTED: 2, Event.REVIEWED: 2, Event.APPROVED: 1, Event.RELEASED: 1}),
            ("university",),
            votes=True,
        ),
    )
}
