"""Making the candidates of a request from its microdata, for whoever assesses a request without releasing anything."""

from functools import cached_property

import pandas as pd

from tasks.candidate.candidate import Candidate, Randomness
from tasks.core.fact import Fact
from tasks.generalization.setting import follower_of, game_table, played_against
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.coded import Prepared
from tasks.request.model import Recipient, ReleaseRequest


class CandidateSource:
    """The data of a request, counted and masked once for all of its recipients.

    Parameters
    ----------
    request : ReleaseRequest
    prepared : Prepared
        Microdata and population in integer codes.
    frame : DataFrame of shape (n_records, n_columns)
        The microdata as text, missing cells as NA.
    randomness : callable
        Gives the generator of a purpose, for masking and measurements.
    """

    def __init__(
        self, request: ReleaseRequest, prepared: Prepared, frame: pd.DataFrame, randomness: Randomness
    ) -> None:
        self.request, self.prepared, self.frame, self.randomness = request, prepared, frame, randomness
        self.index = game_table(request, prepared)
        self.known: dict[str, Fact] = {}
        """Facts that are the same for every recipient."""

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
