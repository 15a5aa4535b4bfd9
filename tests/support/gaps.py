"""A world whose file has missing values, and a candidate of it without the gate."""

from pathlib import Path
from typing import Any

import numpy as np

from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.request.model import MissingReading
from tests.support.world import QUASI_IDENTIFIERS, Row, World, drawn_rows, make_world

MASKING = [{"attributes": ["visits"], "method": "additive-noise", "noise": 0.5}]


def with_gaps(share: float = 0.05) -> list[Row]:
    """The world's records, a share of each attribute without a value."""
    generator, rows = np.random.default_rng(23), [dict(row) for row in drawn_rows()]
    for row in rows:
        for name in (*QUASI_IDENTIFIERS, "diagnosis", "visits"):
            if generator.random() < share:
                row[name] = ""
    return rows


def make_gaps(
    folder: Path, reading: MissingReading = MissingReading.OWN_GROUP, share: float = 0.05, **terms: Any
) -> World:
    """Write a world of records with gaps, of which the visits are masked; ``terms`` are of the generalization."""
    world = make_world(folder)
    world.write_rows(with_gaps(share))
    missing = {"quasi_identifiers": reading.value}
    world.ask(masking=MASKING, policy={"missing": missing, "generalization": {"adversary": "sequential", **terms}})
    return world


def candidate_of(world: World) -> Candidate:
    """The copy of a world's first recipient."""
    loaded = load_request(world.request)
    frame = read_microdata(world.data, loaded.request)
    prepared = prepare(loaded, frame)
    source = CandidateSource(loaded.request, prepared, frame, lambda _: np.random.default_rng(1))
    return source.candidate(loaded.request.recipients[0])
