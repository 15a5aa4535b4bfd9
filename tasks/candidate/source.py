"""Making the candidates of a request from its microdata, for whoever assesses a request without releasing anything."""

from functools import cached_property

import pandas as pd

from tasks.candidate.candidate import Candidate, Randomness
from tasks.core.fact import Fact
from tasks.generalization.setting import follower_of, game_table, played_against
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import LoadedRequest
from tasks.request.model import Recipient


class CandidateSource:
    """The data of a request, coded, counted and masked once for all of its recipients.

    Parameters
    ----------
    loaded : LoadedRequest
        Names population and hierarchies.
    frame : DataFrame of shape (n_records, n_columns)
        The microdata as text, missing cells as NA.
    randomness : callable
        Gives the generator of a purpose, for masking and measurements.

    Raises
    ------
    BadInput
        If population, hierarchies or data cannot be used.
    """

    def __init__(self, loaded: LoadedRequest, frame: pd.DataFrame, randomness: Randomness) -> None:
        self.request, self.frame, self.randomness = loaded.request, frame, randomness
        self.prepared = prepare(loaded, frame)
        self.index = game_table(loaded.request, self.prepared)
        self.known: dict[str, Fact] = {}
        """Facts that are the same for every recipient."""

    @classmethod
    def of(cls, loaded: LoadedRequest, randomness: Randomness) -> "CandidateSource":
        """The data that a request names; errors as of the class."""
        path = loaded.resolve(loaded.request.dataset.path, "dataset.path")
        return cls(loaded, read_microdata(path, loaded.request), randomness)

    @cached_property
    def masked(self) -> MaskedColumns:
        """Numeric columns before and after masking."""
        return mask_columns(self.request, self.frame, self.randomness)

    def candidate(self, recipient: Recipient) -> Candidate:
        """The recipient's copy.

        Raises
        ------
        StageFailed
            If the recipient's method leaves a record without a strategy, or k-anonymity cannot be reached.
        """
        follower = follower_of(self.request, recipient, self.index.population.total)
        return Candidate(
            request=self.request,
            recipient=recipient,
            prepared=self.prepared,
            index=self.index,
            generalization=played_against(self.index, self.request, recipient, follower),
            masked=self.masked,
            source=lambda: self.frame,
            randomness=self.randomness,
            known=self.known,
        )
