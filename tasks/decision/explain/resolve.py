"""Solving the game again under other terms and judging it, without solving the same game twice.

What a game's outcome depends on
--------------------------------
Cost c and gain G enter a method only through ``Payoffs.attacked(n)``: is a group of n people worth attacking. That is
monotone in n, so one number determines it, the smallest group n* that is not attacked, and of that only whether it is
within the population. Terms with equal n* give the same outcome to the last bit; raising the cost by a factor and
lowering the gain by it are one game.

No single number stands for a sequential adversary, nor for several who share a representation: all their terms are
compared.

Safe Harbor and k-anonymity solve no game and depend on no stakes at all. Where k-anonymity follows a method, what it
makes of equal outcomes under equal demands is equal.

Under the two No-Attack rules a strategy that is attacked is never chosen, and one that is not loses nothing, so its
payoff is V·(1 − IL/IL_max): the loss L drops out to the last bit, and the benefit V multiplies every payoff that is
compared, so it changes no choice, but for payoffs within the tolerance of ties: a billionth of the benefit or less,
once that is 1 or more. This last step alone is not exact to the bit; it is used to look for changes of such a benefit
(``exact=False``), and what is found is solved as it stands.
"""

from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from datetime import date

import numpy as np

from tasks.core.errors import ParameterError, StageFailed
from tasks.decision.explain.linking import MaskedFor, nothing_masked
from tasks.decision.explain.measuring import Measurements, is_shut
from tasks.decision.explain.result import Figures
from tasks.decision.gates import agreement_gate, judge_gates
from tasks.decision.record import GateResult, Verdict
from tasks.generalization.game import Follower, Payoffs
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.play import CountIndex, Generalization, play
from tasks.generalization.setting import follower_of, table_under, weights_of
from tasks.microdata.coded import Prepared
from tasks.request.model import Measure, Method, Recipient, ReleaseRequest

_LEAST_SHARED_BENEFIT = 1.0
_KEPT_BYTES = 256 * 2**20
_FEWEST_KEPT = 4

Key = tuple[object, ...]


@dataclass(frozen=True)
class Judgement:
    """Verdict on a release under some terms, with its figures."""

    verdict: Verdict
    """Verdict of the gates that depend on terms; a file that would be written is not read back here."""
    gates: tuple[GateResult, ...]
    """The policy's gates and that of the agreement."""
    figures: Figures
    """Figures measured before a stage failed; empty where nothing can be released at all."""
    failure: str = ""
    """Why nothing can be released: the method leaves some record no strategy, every record is suppressed, the
    adversary's plan cannot be solved, or no attack can be made."""
    estimated: frozenset[Measure] = frozenset()
    """Which figures are estimates: what another draw of people is linked by, or of uncertain terms passes; as in
    ``linking`` and ``passing``."""

    @property
    def passes(self) -> bool:
        """Whether no gate is closed."""
        return self.verdict is not Verdict.BLOCKED


def safe_people(payoffs: Payoffs, population: int) -> int:
    """Smallest group n* that is not worth attacking; one more than the population where every group is.

    Parameters
    ----------
    payoffs : Payoffs
    population : int
        People in all; no group is larger.
    """
    sizes = range(1, population + 1)
    return 1 + bisect_left(sizes, True, key=lambda people: not payoffs.attacked(np.array([people]))[0])


class Plays:
    """Games already solved on one table; the oldest are dropped past a bound on memory.

    Parameters
    ----------
    table : CountIndex
    prepared : Prepared, optional
        The records; needed where a gate judges the combined score or what is linked.
    masked_for : callable, optional
        Gives the masked columns of a request.
    kept_bytes : int
        The bound.
    """

    def __init__(
        self,
        table: CountIndex,
        prepared: Prepared | None = None,
        masked_for: MaskedFor = nothing_masked,
        *,
        kept_bytes: int = _KEPT_BYTES,
    ) -> None:
        self.table = table
        self.measurements = Measurements(table, prepared, masked_for)
        """Measurements of the outcomes."""
        bytes_each = 2 * table.data.codes.nbytes + 3 * table.data.counts.nbytes
        self._most_kept = max(_FEWEST_KEPT, kept_bytes // max(1, bytes_each))
        self.count = 0
        """Games solved so far."""
        self._played: OrderedDict[Key, Generalization | StageFailed] = OrderedDict()
        self._alike: dict[Key, Key] = {}

    def outcome(self, request: ReleaseRequest, recipient: Recipient, *, exact: bool = True) -> Generalization:
        """The recipient's method, generalized under its stakes.

        Parameters
        ----------
        request : ReleaseRequest
        recipient : Recipient
            Of that request.
        exact : bool
            Whether a game that differs in the benefit alone must be solved anew under the No-Attack rules.

        Raises
        ------
        StageFailed
            If the method leaves some record no strategy.
        """
        method = request.method_for(recipient)
        payoffs = follower_of(request, recipient, self.table.population.total)
        alike, key = self._keys(request, method, payoffs)
        known = self._alike.get(alike, key)
        if not exact and known in self._played:
            key = known
        found = self._played.get(key)
        if found is None:
            found = self._play(request, method, payoffs)
            self._played[key] = found
            self._alike[alike] = key
            while len(self._played) > self._most_kept:
                self._played.popitem(last=False)
        self._played.move_to_end(key)
        if isinstance(found, StageFailed):
            raise found.with_traceback(None)
        return found

    def _play(self, request: ReleaseRequest, method: Method, payoffs: Follower) -> Generalization | StageFailed:
        self.count += 1
        try:
            table, cell_weights = table_under(self.table, request), request.policy.generalization.cell_weights
            return play(table, method, payoffs, weights_of(request), cell_weights)
        except StageFailed as failure:
            return failure

    def _keys(self, request: ReleaseRequest, method: Method, payoffs: Follower) -> tuple[Key, Key]:
        """Keys of the terms that fix the outcome up to ties, and to the last bit."""
        policy = request.policy.generalization
        k = None if policy.k_anonymity is None else policy.k_anonymity.k
        game: Key = (method, policy.cell_weights, k, *weights_of(request).tolist())
        if METHODS[method].stakes == "none":
            return game, game
        if not isinstance(payoffs, Payoffs):
            return (*game, payoffs), (*game, payoffs)
        safe = safe_people(payoffs, self.table.population.total)
        if METHODS[method].stakes == "loss":
            exact = (*game, safe, payoffs.benefit)
            return (*game, safe) if payoffs.benefit >= _LEAST_SHARED_BENEFIT else exact, exact
        exact = (*game, safe, payoffs.benefit, payoffs.loss)
        return exact, exact

    @property
    def kept(self) -> int:
        """Games in memory."""
        return len(self._played)


def judge(
    request: ReleaseRequest, recipient_id: str, plays: Plays, decided_on: date, *, exact: bool = True
) -> Judgement:
    """Solve, measure and judge one recipient's release.

    Parameters
    ----------
    request : ReleaseRequest
        With the terms to judge.
    recipient_id : str
    plays : Plays
    decided_on : date
        Day of the decision.
    exact : bool
        As in ``Plays.outcome`` and ``Measurements.measured``. If not, the first gate that is closed ends the
        measurements, and the others are taken as closed as well: enough to know whether the release passes.

    Raises
    ------
    TooManyAttacks
        If it would take more attacks than may be made for one explanation.
    """
    recipient = request.recipient(recipient_id)
    failure = ""
    figures: dict[Measure, float] = {}
    estimated: frozenset[Measure] = frozenset()
    try:
        played = plays.outcome(request, recipient, exact=exact)
        for part in plays.measurements.measured(request, recipient, played, exact=exact):
            figures |= part.figures
            estimated |= part.estimated
            if not exact and is_shut(request, part.figures):
                break
    except (StageFailed, ParameterError) as error:
        failure = error.what
    gates = (agreement_gate(recipient.agreement, decided_on), *judge_gates(request.policy.gates, figures))
    if failure or not all(gate.passed for gate in gates):
        return Judgement(Verdict.BLOCKED, gates, figures, failure, estimated)
    verdict = Verdict.AWAITING_REVIEW if request.policy.review.required else Verdict.APPROVED
    return Judgement(verdict, gates, figures, estimated=estimated)
