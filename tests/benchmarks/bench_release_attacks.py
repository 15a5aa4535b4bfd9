"""Record linkage of whole releases as the gate makes it: Adult-TN, the same with masked numbers, a million records."""

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import SpawnContext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tasks.assessments.linkage.assessment import attack
from tasks.assessments.linkage.facts import gate_figures
from tasks.candidate.candidate import Candidate
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.masking.masked_columns import mask_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.request.model import Measure
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

MASKED = adult.EXAMPLE.with_name("request-masked.yaml")
MILLION = 1_000_000
_MEBIBYTE = 1024 if sys.platform != "darwin" else 1024**2
_CASES = (
    ("Adult-TN", adult.EXAMPLE, None),
    ("Adult-TN, numbers masked", MASKED, None),
    ("a million records", adult.EXAMPLE, MILLION),
    ("a million records, numbers masked", MASKED, MILLION),
)


def run() -> Benchmark:
    """Seconds of the attack on each recipient's release, and what it needs; a process for each case."""
    rows: list[Row] = []
    spawn = SpawnContext()
    for name, request, records in _CASES:
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
            rows += pool.submit(case, name, request, records).result()
    return {"name": "release_attacks", "title": "Record linkage of a release, every attack", "rows": rows}


def case(name: str, request: Path, records: int | None) -> list[Row]:
    """The attacks on one file; its records drawn with replacement where a number of them is given.

    Parameters
    ----------
    name : str
        What the file is called.
    request : Path
    records : int or None
        The file as it is for None.
    """
    with TemporaryDirectory() as folder:
        loaded = load_request(request if records is None else adult.drawn(request, Path(folder) / "drawn", records))
        asked = loaded.request
        frame = read_microdata(loaded.resolve(asked.dataset.path, "dataset.path"), asked)
        prepared = prepare(loaded, frame)
    table = game_table(asked, prepared)
    started = time.perf_counter()
    columns = mask_columns(asked, frame, lambda _: np.random.default_rng(1))
    masking = time.perf_counter() - started
    del frame
    rows: list[Row] = []
    if asked.masking:
        rows.append({"figure": f"{name}: masking", "ours": masking, "unit": "s"})
    before = _peak()
    for recipient in asked.recipients:
        generalization = generalize(table, asked.method_for(recipient), payoffs_of(recipient), weights_of(asked))
        candidate = Candidate(asked, recipient, prepared, table, generalization, columns)
        started = time.perf_counter()
        found = attack(candidate, np.random.default_rng(1))
        seconds = time.perf_counter() - started
        share = gate_figures(found)[Measure.LINKED_INFORMED]
        rows.append({"figure": f"{name}: {recipient.id}, {generalization.method.value}", "ours": seconds, "unit": "s"})
        rows.append({"figure": f"{name}: {recipient.id}, linked by the informed", "ours": 100 * share, "unit": "%"})
    rows.append({"figure": f"{name}: peak memory, {before:,.0f} MiB of it before", "ours": _peak(), "unit": "MiB"})
    return rows


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEBIBYTE
