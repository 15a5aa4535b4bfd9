"""A release taken through the stages by hand, without flow or files: what each gets, for a request's recipient."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tasks.generalization.play import Played, Table, play
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.linkage.attack import Attacked, Setting, attack
from tasks.masking.masked_columns import MaskedColumns, mask_columns, with_masked
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import Recipient, ReleaseRequest
from tasks.risk.released import released_tuples
from tasks.utility.analyses import Case
from tasks.utility.measure import Utility, measure


@dataclass(frozen=True)
class Made:
    """What was made for the first recipient of a request."""

    loaded: LoadedRequest
    frame: pd.DataFrame
    prepared: Prepared
    table: Table
    played: Played
    kept: Any
    columns: MaskedColumns

    @property
    def request(self) -> ReleaseRequest:
        return self.loaded.request

    @property
    def recipient(self) -> Recipient:
        return self.request.recipients[0]

    @cached_property
    def setting(self) -> Setting:
        return Setting(self.request, self.recipient, self.prepared, self.table, self.played, self.columns)

    @cached_property
    def case(self) -> Case:
        return Case(self.request, self.frame, self.prepared, self.played, self.kept, self.columns)

    @cached_property
    def as_released(self) -> Prepared:
        return with_masked(self.prepared, self.request, self.columns)

    def attacked(self, **options: Any) -> Attacked:
        return attack(self.setting, np.random.default_rng(1), **options)

    def measured(self) -> Utility:
        return measure(self.case, self.table, np.random.default_rng(1))


def generator_for(name: str) -> np.random.Generator:
    """The generator of a masking, as a key would give it."""
    return np.random.default_rng(int(name[:16], 16))


def made(loaded: LoadedRequest, frame: pd.DataFrame | None = None) -> Made:
    """Prepare, mask and generalize."""
    request, recipient = loaded.request, loaded.request.recipients[0]
    if frame is None:
        frame = read_microdata(loaded.resolve(request.dataset.path, "dataset.path"), request)
    prepared = prepare(loaded, frame)
    table = game_table(request, prepared)
    played = play(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    kept = released_tuples(table, played, request.policy.generalization.minimum_class_size)
    return Made(loaded, frame, prepared, table, played, kept, mask_columns(request, frame, generator_for))
