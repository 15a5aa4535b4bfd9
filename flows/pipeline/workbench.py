"""Objects that the stages of one run share within a process: every file is read, checked and parsed once."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from flows.pipeline.run import Run
from flows.pipeline.stages import PARTS
from tasks.assessments.columns.assessment import PLACES
from tasks.assessments.columns.facts import ColumnsFact
from tasks.assessments.combined.assessment import COLLECTED
from tasks.assessments.combined.facts import ScoreFigure
from tasks.candidate.assessment import load_figure
from tasks.candidate.candidate import Candidate, Redaction
from tasks.core.files import Artifact, checked
from tasks.core.seed import derive_seed
from tasks.dates.offsets import offset_key
from tasks.dates.released_dates import ReleasedDates, released_dates
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.generalization_file import load_generalization
from tasks.generalization.setting import game_table
from tasks.masking.masked_columns import MaskedColumns, load_masked
from tasks.microdata.coded import Prepared
from tasks.microdata.coded_frame import MadeOfColumns, by_columns, read_coded
from tasks.microdata.parts import in_pieces
from tasks.microdata.prepared import load
from tasks.microdata.read import table_files
from tasks.redaction.columns import redacted
from tasks.redaction.redact import redact
from tasks.request.load import LoadedRequest, open_snapshot
from tasks.request.model import ReleaseRequest

Made = TypeVar("Made")
_LARGEST_KEPT_BYTES = 128 * 2**20
"""Microdata up to this size, and all that are read as categories, stay in memory between stages; of larger files only
the last candidate is kept, and one copy is written and checked at a time."""
_LARGEST_SCORED_BYTES = 64 * 2**20
_LARGEST_FREED_BYTES = 16 * 2**20
_CANDIDATE = "candidate "


class Workbench:
    """Objects that the stages of one run share within a process: every file is read, checked and parsed once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._made: dict[tuple[str, str], Any] = {}

    @cached_property
    def loaded(self) -> LoadedRequest:
        """The request, its files those of the snapshot."""
        return open_snapshot(self.run.snapshot, self.run.snapshot_sha256)

    @property
    def request(self) -> ReleaseRequest:
        """The request's content."""
        return self.loaded.request

    @property
    def data_path(self) -> Path:
        """The private copy of the microdata, its bytes checked each time that it is asked for."""
        return self.loaded.resolve(self.request.dataset.path, "dataset.path")

    def frame(self) -> pd.DataFrame:
        """The microdata as text or categories (``read_coded``)."""
        if self.is_large and not in_pieces(self.data_path, self.request):
            return read_coded(self.loaded)
        return self._kept_frame

    @cached_property
    def bytes(self) -> int:
        """Size of the files of microdata."""
        return sum(path.stat().st_size for path in (self.data_path, *table_files(self.loaded).values()))

    @property
    def returns_memory(self) -> bool:
        """Whether the data are so large that what a stage has used is given back to the system after it."""
        return self.bytes > _LARGEST_FREED_BYTES

    @property
    def is_large(self) -> bool:
        """Whether the data are so large that every stage reads them anew, and copies are checked one at a time."""
        return self.bytes > _LARGEST_KEPT_BYTES

    @property
    def scores_alone(self) -> bool:
        """Whether the data are so large that one recipient's combined score is made at a time: it takes most memory."""
        return self.bytes > _LARGEST_SCORED_BYTES

    @cached_property
    def _kept_frame(self) -> pd.DataFrame:
        return read_coded(self.loaded, self.run.dask)

    def by_columns(self, make: MadeOfColumns[Made], names: Sequence[str]) -> list[Made]:
        """Results of `make` for shares of the columns, each from a worker of a cluster; empty without a cluster."""
        if self.run.dask is None or not names:
            return []
        return by_columns(make, names, self.run.snapshot, self.run.snapshot_sha256, self.run.dask)

    def prepared(self, stored: Artifact) -> Prepared:
        """The coded microdata and population."""
        return self._once("prepared", [stored], lambda: load(checked(stored)))

    def index(self, stored: Artifact) -> CountIndex:
        """Both counted by distinct tuples."""
        return self._once("index", [stored], lambda: game_table(self.request, self.prepared(stored)))

    def masked(self, stored: Artifact) -> MaskedColumns:
        """The masked columns."""
        return self._once("masked", [stored], lambda: load_masked(checked(stored)))

    def generalization(self, stored: Artifact) -> Generalization:
        """A recipient's generalization."""
        return self._once("generalization", [stored], lambda: load_generalization(checked(stored)))

    def candidate(self, recipient: str, inputs: Mapping[str, Any]) -> Candidate:
        """A recipient's copy, of the artifacts of ``PARTS``."""

        def make() -> Candidate:
            made = Candidate(
                request=self.request,
                recipient=self.request.recipient(recipient),
                prepared=self.prepared(inputs["prepared"]),
                index=self.index(inputs["prepared"]),
                generalization=self.generalization(inputs["generalization"]),
                masked=self.masked(inputs["masked"]),
                source=self.frame,
                randomness=self.generator,
                redacted=self.redacted,
                known={
                    COLLECTED: load_figure(checked(inputs["collected"]), ScoreFigure),
                    PLACES: load_figure(checked(inputs["columns"]), ColumnsFact),
                },
            )
            return made.with_dates(self.dates(recipient)) if self.request.dated else made

        parts = [inputs[name] for name in PARTS]
        return self._once(_CANDIDATE + recipient, parts, make)

    def dates(self, recipient: str) -> ReleasedDates:
        """Dates as they leave to a recipient, made of the microdata and the workspace's key."""
        return released_dates(self.request, self.frame(), offset_key(self.run.key, self.request, recipient))

    def redacted(self) -> Redaction:
        """The columns of text, redacted."""

        def make() -> Redaction:
            made = self.by_columns(redact, list(self.request.texts))
            return redacted(self.frame(), self.request, {name: one for part in made for name, one in part.items()})

        return self._once("redacted", [], make)

    def generator(self, purpose: str) -> np.random.Generator:
        """Random generator of a measurement: the same for the same inputs and key."""
        seed = derive_seed(self.run.key, self.run.inputs_id, purpose)
        return np.random.default_rng(int.from_bytes(seed))

    def _once(self, kind: str, stored: Sequence[Artifact], make: Callable[[], Made]) -> Made:
        """Object made from artifacts, kept in memory."""
        key = kind, "".join(one["sha256"] for one in stored)
        if key not in self._made:
            if kind.startswith(_CANDIDATE) and self.is_large:
                self._made = {other: one for other, one in self._made.items() if not other[0].startswith(_CANDIDATE)}
            self._made[key] = make()
        made: Made = self._made[key]
        return made


_last: dict[Run, Workbench] = {}


def workbench(run: Run) -> Workbench:
    """The workbench of a run in this process; only the last run's is kept."""
    if run not in _last:
        _last.clear()
        _last[run] = Workbench(run)
    return _last[run]
