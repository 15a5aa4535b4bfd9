"""How probable it is under other terms that the gates pass which depend on what is uncertain of a recipient.

As recorded where nothing changes that the probability depends on; elsewhere estimated by fewer draws than a release
makes, always the same ones, so that what differs between two sets of terms is due to the terms. Where only ranges are
known nothing is drawn, and nothing is estimated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.identity.uncertain.release import uncertain_release
from tasks.assessments.identity.uncertain.terms import DEPENDENT
from tasks.assessments.identity.uncertain.verdict import estimated
from tasks.generalization.play import CountIndex, Generalization
from tasks.request.model import Recipient, ReleaseRequest

_FEWER = 64
"""Sets of terms that are judged; as few as a policy may ask for."""
_SEED = 20_260_311

_Key = tuple[object, ...]


@dataclass(frozen=True)
class Passing:
    """The figure of a gate on the probability."""

    figure: float
    estimated: bool


class Passings:
    """Probabilities on outcomes of one table, each reckoned once.

    Parameters
    ----------
    table : CountIndex
    """

    def __init__(self, table: CountIndex) -> None:
        self.table = table
        self._found: dict[_Key, Passing] = {}

    def remember(self, request: ReleaseRequest, recipient: Recipient, outcome: _Key, figure: float) -> None:
        """Keep what a decision recorded for its outcome."""
        self._found[_scope(request, recipient, outcome)] = Passing(figure, estimated=False)

    def passing(
        self,
        request: ReleaseRequest,
        recipient: Recipient,
        played: Generalization,
        kept: NDArray[np.bool_],
        outcome: _Key,
        *,
        anew: bool,
    ) -> Passing | None:
        """The figure of an outcome; None where it would take draws that may not be made, or no term is uncertain.

        Parameters
        ----------
        request, recipient, played, kept, outcome
            The release, with the facts that distinguish it, and the copies it may be pooled with, from others.
        anew : bool
            Whether terms may be drawn; else only a figure is given that is known.

        Raises
        ------
        ParameterError
            If terms are asked about that nothing can be solved with.
        """
        key = _scope(request, recipient, outcome)
        if key not in self._found and anew:
            release = uncertain_release(self.table, request, recipient, played, kept)
            if release is None:
                return None
            draws = request.policy.sensitivity.draws
            found = estimated(release, draws, min(_FEWER, draws), np.random.default_rng(_SEED))
            self._found[key] = Passing(found.low, estimated=bool(release.drawn))
        return self._found.get(key)


def _scope(request: ReleaseRequest, recipient: Recipient, outcome: _Key) -> _Key:
    """All that the figure depends on; of an agreement not when it ends, of the gates none but those that are judged."""
    policy = request.policy
    return (
        recipient.id,
        *outcome,
        recipient.model_dump_json(include={"stakes", "adversary", "uncertain"}),
        recipient.agreement.model_dump_json(exclude={"id", "expires"}),
        tuple((gate.measure, gate.threshold) for gate in policy.gates if gate.measure in DEPENDENT),
        policy.generalization.adversary,
        policy.generalization.adversary_belief,
        policy.sensitivity.draws,
    )
