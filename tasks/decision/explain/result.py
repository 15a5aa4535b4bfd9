"""Results of an explanation. A lever that does not change the verdict is a type of its own, with the reason."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from scipy.special import expit

from tasks.decision.explain.at_stake import AtStake
from tasks.decision.record import GateResult, Verdict
from tasks.request.model import Measure, Method

Figures = Mapping[Measure, float]
"""Gate figures, by measure; empty where nothing can be released."""

STRONGEST = 3
"""Reasons that an explanation names."""


IN_VAIN = "Withheld, alone or all together, they leave the verdict as it is."
"""Outcome of withholding the columns behind closed gates, where none that was tried helps."""


@dataclass(frozen=True)
class Measured:
    """Figures of one assessment, and which of them are estimates."""

    figures: Figures
    estimated: frozenset[Measure] = frozenset()
    bounds: frozenset[Measure] = frozenset()
    """Figures that are no better than those they stand for: a gate that they pass is open."""


@dataclass(frozen=True)
class Judgement:
    """Verdict on a candidate under some terms."""

    verdict: Verdict
    """Verdict of the gates that depend on terms; a file that would be written is not read back here."""
    gates: tuple[GateResult, ...]
    figures: Figures
    """Figures measured before a stage failed; empty where nothing can be released at all."""
    failure: str = ""
    """Reason that nothing can be released: the method leaves some record no strategy, every record is suppressed, the
    adversary's plan cannot be solved, or no attack can be made."""
    estimated: frozenset[Measure] = frozenset()
    """Figures that are estimates (``tasks.decision.explain.estimates``)."""

    @property
    def passes(self) -> bool:
        """Whether no gate is closed."""
        return self.verdict is not Verdict.BLOCKED


@dataclass(frozen=True)
class TermChange:
    """Another value for one term of the request."""

    where: str
    """Path in the request, such as ``recipients[0].stakes.cost``."""
    current: float | str
    """The value decided on; dates in ISO form, methods by name."""
    needed: float | str

    @property
    def value(self) -> object:
        """The needed value as a request holds it."""
        return self.needed

    @property
    def relative(self) -> float | None:
        """Change over the present value, 0.33 for a third more; None where it has no size: text, or from 0."""
        if isinstance(self.current, str) or isinstance(self.needed, str) or self.current == 0:
            return None
        return (self.needed - self.current) / abs(self.current)


@dataclass(frozen=True)
class LogOddsChange(TermChange):
    """Another value for a term that is a logarithm of odds; its size is that of the change in probability."""

    @property
    def relative(self) -> float | None:
        """Change over the present probability."""
        return float(expit(float(self.needed)) / expit(float(self.current))) - 1


@dataclass(frozen=True)
class LevelsChange(TermChange):
    """Other levels of a hierarchy, both lists written as in a request."""

    levels: tuple[str | int, ...] = ()

    @property
    def value(self) -> object:
        """The needed levels."""
        return self.levels


@dataclass(frozen=True)
class RenewalChange(TermChange):
    """A renewed agreement: nobody writes another day into a request than the agreement has."""

    tried: str = ""
    """Day that was tried in place of the agreement's."""

    @property
    def value(self) -> object:
        """The day that was tried."""
        return self.tried


class Choice(IntEnum):
    """Parties that can choose a term."""

    DESIGN = 0
    """The steward's, or for the agreement to settle: method, classes, maskings, columns, penalty."""
    FACT = 1
    """Nobody's: stakes, and the recipient's traits."""
    POLICY = 2
    """The organisation's: thresholds of gates."""


def choice_of(where: str) -> Choice:
    """Party that can choose the term at a path of the request.

    >>> choice_of("recipients[0].stakes.gain").name, choice_of("policy.gates[1].at_most").name
    ('FACT', 'POLICY')
    >>> choice_of("policy.generalization.k_anonymity.k").name, choice_of("recipients[0].agreement.penalty").name
    ('DESIGN', 'DESIGN')
    """
    if where.startswith("policy.gates"):
        return Choice.POLICY
    of_recipient = where.partition("].")[2] if where.startswith("recipients[") else ""
    return Choice.FACT if of_recipient.startswith(("stakes.", "adversary.")) else Choice.DESIGN


@dataclass(frozen=True)
class Flip:
    """A lever that changes the verdict, with the smallest change found to do so."""

    lever: str
    changes: tuple[TermChange, ...]
    """All that must change together; one, but where several thresholds fail, the agreement has expired or a penalty
    needs the rate of detection beside it. The lever's own comes last."""
    after: Judgement
    deterrent: bool = False
    """Whether it acts on the recipient's reasons to attack alone, so that the file stays as it is."""

    @property
    def choice(self) -> Choice:
        """Party that can choose all its changes: the policy if one is a threshold, else nobody if one is a fact."""
        return max(choice_of(change.where) for change in self.changes)

    @property
    def relative_change(self) -> float | None:
        """The largest of the changes that have a size; None where none has, or one is a number changed from 0."""
        sizes = [change.relative for change in self.changes if not isinstance(change.needed, str)]
        sized = [size for size in sizes if size is not None]
        return max(sized, key=abs) if sized and len(sized) == len(sizes) else None


@dataclass(frozen=True)
class NoFlip:
    """A lever that does not change the verdict within the range that was searched."""

    lever: str
    where: str
    current: float | str
    searched_from: float | str
    """Lowest value tried; the present one where none below it was."""
    searched_to: float | str
    """Highest value tried; the present one where none above it was."""
    reason: str
    """Reason that it does not, or that nothing within the range does."""


@dataclass(frozen=True)
class Switch:
    """Another method in place of the chosen one, everything else as it was."""

    method: Method
    changes: tuple[TermChange, ...]
    """Changes needed for it; with a new agreement date where the agreement has expired."""
    after: Judgement
    deterred: tuple[Flip, ...] = ()
    """Terms that deter the sequential adversary, where it alone would still block the release after the switch;
    each with the method's own changes."""


@dataclass(frozen=True)
class Reason:
    """A gate, and how far beyond its threshold its figure is."""

    gate: GateResult
    beyond: float
    """(figure − threshold) / |threshold| for a gate that asks for at most, its negative for one that asks for at least:
    0.5 is half as much again as allowed, −0.5 half of it. Infinite where no factor says it: a failed condition, a
    figure that was not measured, one above a threshold of 0."""

    @property
    def failed(self) -> bool:
        """Whether it keeps the release from being approved."""
        return not self.gate.passed or self.beyond > 0


@dataclass(frozen=True)
class NotByClass:
    """A closed gate whose records cannot be identified by class."""

    measure: Measure
    reason: str


@dataclass(frozen=True)
class ColumnKept:
    """Information that a copy keeps of a quasi-identifier."""

    name: str
    kept: float
    """Share of its information, 0 to 1; a record that is left out keeps none."""
    released: str
    """Level at which most records have it, in words."""


@dataclass(frozen=True)
class Cost:
    """A term of the request, or several together, without which a copy would keep more."""

    term: str
    """With its value, in words."""
    kept: float
    """Share of the information that the copy would keep without it, 0 to 1, whatever the gates then say."""
    estimated: bool = False
    """Whether the game was searched more briefly than a release would."""


@dataclass(frozen=True)
class Keeping:
    """Changes of a design, made together, with which a release still passes and keeps more."""

    changes: tuple[TermChange, ...]
    after: Judgement
    now: float
    kept: float
    """Share of the information kept then, 0 to 1, by the weights of the request as it is."""
    of: tuple[str, ...] = ()
    """Columns whose information that is; all of the copy's where empty."""


@dataclass(frozen=True)
class Explanation:
    """Explanation of the decision on one recipient's release, and changes that would reverse the verdict."""

    recipient: str
    verdict: Verdict
    reasons: tuple[str, ...]
    strongest: tuple[Reason, ...]
    """The strongest of them, ranked; of a release that passed, its tightest gates."""
    figures: Figures
    """Figures of the recorded terms when solved again; empty where nothing was measured."""
    flips: tuple[Flip, ...] = ()
    """Levers that change the verdict. Of a blocked release those that can be chosen come first, by the information
    kept, then facts, then thresholds; of one that passed the smallest change, those whose change has no size last."""
    no_flips: tuple[NoFlip, ...] = ()
    switches: tuple[Switch, ...] = ()
    agreement: Flip | NoFlip | None = None
    """The new agreement date, where the agreement had expired on the day of the decision; else None."""
    fixed: str = ""
    """Reason that no term of the request can change the verdict, such as invalid data; empty where one might."""
    games_solved: int = 0
    note: str = ""
    at_stake: tuple[AtStake | NotByClass, ...] = ()
    """The records that keep each closed risk gate closed, in the order of their reasons' strength."""
    columns: tuple[ColumnKept, ...] = ()
    """Quasi-identifiers of a copy that passes, the one that keeps least first."""
    costs: tuple[Cost, ...] = ()
    """Terms that cost a copy that passes most of its information, the most costly first."""
    keeping: tuple[Keeping, ...] = ()
    """Changes with which it would keep more and still pass, the most first."""

    @property
    def withheld_in_vain(self) -> bool:
        """Whether to withhold the columns behind the closed gates was tried, and is not enough."""
        return any(one.reason == IN_VAIN for one in self.no_flips)

    @property
    def smallest(self) -> Flip | None:
        """The smallest change that reverses the verdict; None for none.

        Of a blocked release it can be chosen; of one that passed it may be of a fact. It is never of a threshold.
        """
        most = Choice.DESIGN if self.verdict is Verdict.BLOCKED else Choice.FACT
        found = [flip for flip in self.flips if flip.choice <= most]
        return found[0] if found else None


def strongest_reasons(gates: Sequence[GateResult], most: int = STRONGEST) -> tuple[Reason, ...]:
    """The ``most`` strongest reasons of a verdict; equally strong ones in the order of the record.

    Where gates failed, these, furthest beyond first, those not measured after the others that no figure tells; else
    the tightest, whose figures are nearest to their thresholds. Conditions that are fulfilled have no distance and are
    none.
    """
    reasons = [Reason(gate, _beyond(gate)) for gate in gates]
    failed = [reason for reason in reasons if reason.failed]
    chosen = failed or [reason for reason in reasons if math.isfinite(reason.beyond)]
    return tuple(sorted(chosen, key=lambda reason: (-reason.beyond, reason.gate.measured is None))[:most])


def _beyond(gate: GateResult) -> float:
    if gate.comparison == "is" or gate.measured is None:
        return -math.inf if gate.passed and gate.measured is not None else math.inf
    over = gate.measured - gate.threshold
    over = over if gate.comparison == "at most" else -over
    if gate.threshold == 0:
        return math.copysign(math.inf, over) if over else 0.0
    return over / abs(gate.threshold)
