"""The copies of the small world with decoys, as the decoy stage gets them, without an orchestrator."""

from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tasks.candidate.candidate import Candidate
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tests.support.decoyed_world import make_decoyed_world
from tests.support.world import World

_folder = cache(partial(TemporaryDirectory, prefix="decoyed-"))
"""Of this process's world, and removed with it."""


@cache
def world() -> World:
    return make_decoyed_world(Path(_folder().name) / "world")


def copies(**changes: Any) -> list[Candidate]:
    """The copies of the world's request with some parts changed; it is asked anew each time."""
    one = world()
    loaded = load_request(one.ask(**changes))
    request = loaded.request
    frame = read_microdata(loaded.resolve(request.dataset.path, "dataset.path"), request)
    prepared = prepare(loaded, frame)
    index = game_table(request, prepared)
    return [
        Candidate(
            request,
            recipient,
            prepared,
            index,
            generalize(index, request.method_for(recipient), payoffs_of(recipient), weights_of(request)),
            source=lambda: frame,
        )
        for recipient in request.recipients
    ]


def generators(purpose: str) -> np.random.Generator:
    """The same numbers for the same purpose."""
    return np.random.default_rng(list(purpose.encode()))
