"""Objects that the stages of one run share within a process: every file is read, checked and parsed once."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from flows.pipeline.run import Run
from tasks.assessments.combined.assessment import COLLECTED
from tasks.assessments.combined.facts import ScoreFigure
from tasks.assessments.stored import load_figure
from tasks.candidate.candidate import Candidate
from tasks.core.files import Artifact, checked
from tasks.core.seed import derive_seed
from tasks.generalization.generalization_file import load_generalization
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.setting import game_table
from tasks.masking.masked_columns import MaskedColumns
from tasks.masking.masked_file import load_masked
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import load
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import ReleaseRequest
from tasks.request.snapshot import open_snapshot

_LARGEST_KEPT_BYTES = 128 * 2**20
"""Microdata up to this size stay in memory between stages; larger files are read anew by each stage that needs them."""


class Workbench:
    """Objects that the stages of one run share within a process: every file is read, checked and parsed once."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._made: dict[tuple[str, str], Any] = {}

    @cached_property
    def loaded(self) -> LoadedRequest:
        """The request, its files those of the snapshot."""
        return open_snapshot(self.run.snapshot)

    @property
    def request(self) -> ReleaseRequest:
        """The request's content."""
        return self.loaded.request

    @cached_property
    def data_path(self) -> Path:
        """The private copy of the microdata."""
        return self.loaded.resolve(self.request.dataset.path, "dataset.path")

    def frame(self) -> pd.DataFrame:
        """The microdata as text."""
        if self.data_path.stat().st_size > _LARGEST_KEPT_BYTES:
            return read_microdata(self.loaded.resolve(self.request.dataset.path, "dataset.path"), self.request)
        return self._kept_frame

    @cached_property
    def _kept_frame(self) -> pd.DataFrame:
        return read_microdata(self.data_path, self.request)

    def prepared(self, stored: Artifact) -> Prepared:
        """The coded microdata and population."""
        found: Prepared = self._once("prepared", stored, load)
        return found

    def index(self, stored: Artifact) -> CountIndex:
        """Both counted by distinct tuples."""
        key = "index", stored["sha256"]
        if key not in self._made:
            self._made[key] = game_table(self.request, self.prepared(stored))
        found: CountIndex = self._made[key]
        return found

    def masked(self, stored: Artifact) -> MaskedColumns:
        """The masked columns."""
        found: MaskedColumns = self._once("masked", stored, load_masked)
        return found

    def generalization(self, stored: Artifact) -> Generalization:
        """A recipient's generalization."""
        found: Generalization = self._once("generalization", stored, load_generalization)
        return found

    def candidate(self, recipient: str, inputs: Mapping[str, Any]) -> Candidate:
        """A recipient's copy, of the artifacts ``prepared``, ``generalization``, ``masked`` and ``collected``."""
        key = (
            f"candidate {recipient}",
            "".join(inputs[name]["sha256"] for name in ("prepared", "generalization", "masked")),
        )
        if key not in self._made:
            collected = load_figure(checked(inputs["collected"]), ScoreFigure)
            self._made[key] = Candidate(
                request=self.request,
                recipient=self.request.recipient(recipient),
                prepared=self.prepared(inputs["prepared"]),
                index=self.index(inputs["prepared"]),
                generalization=self.generalization(inputs["generalization"]),
                masked=self.masked(inputs["masked"]),
                source=self.frame,
                randomness=self.generator,
                known={COLLECTED: collected},
            )
        found: Candidate = self._made[key]
        return found

    def generator(self, purpose: str) -> np.random.Generator:
        """Random generator of a measurement: the same for the same inputs and key."""
        seed = derive_seed(self.run.key, self.run.inputs_id, purpose)
        return np.random.default_rng(int.from_bytes(seed))

    def _once(self, kind: str, stored: Artifact, load_file: Any) -> Any:
        key = kind, stored["sha256"]
        if key not in self._made:
            self._made[key] = load_file(checked(stored))
        return self._made[key]


_last: dict[Run, Workbench] = {}


def workbench(run: Run) -> Workbench:
    """The workbench of a run in this process; only the last run's is kept."""
    if run not in _last:
        _last.clear()
        _last[run] = Workbench(run)
    return _last[run]
