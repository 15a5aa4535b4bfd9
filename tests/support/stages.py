"""A candidate made by hand from a request, without flow or files, for its first recipient."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.assessments.linkage.assessment import attack
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.utility.assessment import UtilityAssessment
from tasks.assessments.utility.facts import UtilityFact
from tasks.candidate.assessment import Finding
from tasks.candidate.candidate import Candidate
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.masking.masked_columns import mask_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest


def generator_for(name: str) -> np.random.Generator:
    """The generator of a masking, as a key would give it."""
    return np.random.default_rng(int(name[:16], 16))


def candidate_of(loaded: LoadedRequest, frame: pd.DataFrame | None = None) -> Candidate:
    """Prepare, mask and generalize; measurements draw from one seed."""
    request, recipient = loaded.request, loaded.request.recipients[0]
    if frame is None:
        frame = read_microdata(loaded.resolve(request.dataset.path, "dataset.path"), request)
    prepared = prepare(loaded, frame)
    table = game_table(request, prepared)
    return Candidate(
        request=request,
        recipient=recipient,
        prepared=prepared,
        index=table,
        generalization=generalize(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request)),
        masked=mask_columns(request, frame, generator_for),
        source=lambda: frame,
        randomness=lambda _purpose: np.random.default_rng(1),
    )


@dataclass(frozen=True)
class Made:
    """A candidate with the request that it was made from, and what methods find of it."""

    loaded: LoadedRequest
    candidate: Candidate

    def __getattr__(self, name: str) -> Any:
        renamed = {
            "kept": "released",
            "columns": "masked",
            "as_released": "as_masked",
            "table": "index",
        }
        return getattr(self.candidate, renamed.get(name, name))

    def attacked(self, **options: Any) -> LinkageFact:
        return attack(self.candidate, np.random.default_rng(1), **options)

    def measured(self) -> Finding[UtilityFact]:
        return UtilityAssessment().assess(self.candidate)


def made(loaded: LoadedRequest, frame: pd.DataFrame | None = None) -> Made:
    """Prepare, mask and generalize."""
    return Made(loaded, candidate_of(loaded, frame))
