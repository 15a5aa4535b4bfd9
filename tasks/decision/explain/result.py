"""Results of an explanation. A lever that does not change the verdict is a type of its own, with the reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log1p

from tasks.decision.explain.at_stake import AtStake
from tasks.decision.explain.reasons import Reason
from tasks.decision.record import Verdict
from tasks.request.model import Measure, Method

Figures = Mapping[Measure, float]
"""Figures that the gates judge, by measure; empty where nothing can be released."""


@dataclass(frozen=True)
class Change:
    """Another value for one term of the request."""

    where: str
    """Path in the request, such as ``recipients[0].stakes.cost``."""
    current: float | str
    """The value decided on; dates in ISO form, methods by name."""
    needed: float | str
    """The value to put in its place."""

    @property
    def relative(self) -> float | None:
        """Change over the present value, 0.33 for a third more; None where it has no size: text, or from 0."""
        if isinstance(self.current, str) or isinstance(self.needed, str) or self.current == 0:
            return None
        return (self.needed - self.current) / abs(self.current)


@dataclass(frozen=True)
class LogOddsChange(Change):
    """Another value for a term that is a logarithm of odds; its size is that of the change in probability."""

    @property
    def relative(self) -> float | None:
        """Change over the present probability."""
        if isinstance(self.current, str) or isinstance(self.needed, str):
            return None
        return _probability(self.needed) / _probability(self.current) - 1


def _probability(log_odds: float) -> float:
    return exp(log_odds - log1p(exp(log_odds))) if log_odds < 0 else 1 / (1 + exp(-log_odds))


@dataclass(frozen=True)
class Flip:
    """A lever that changes the verdict, with the smallest change found to do so."""

    lever: str
    """Name of the term that is changed, in words."""
    changes: tuple[Change, ...]
    """All that must change together; one, but where several thresholds fail, the agreement has expired or a penalty
    needs the rate of detection beside it. The lever's own comes last."""
    verdict: Verdict
    """Verdict on the release after the change."""
    figures: Figures
    """Figures measured after the change."""
    failure: str
    """Why nothing can then be released; empty where something can."""
    deterrent: bool = False
    """Whether it acts on the recipient's reasons to attack alone, so that the file stays as it is."""
    estimated: frozenset[Measure] = frozenset()
    """Which of the figures are estimates: the attacks were made on other people than a release would draw, or other
    and fewer sets of uncertain terms were judged."""

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
    """Name of the term that was changed, in words."""
    where: str
    """Path in the request."""
    current: float | str
    """The value decided on."""
    searched_from: float | str
    """Lowest value tried; the present one where none below it was."""
    searched_to: float | str
    """Highest value tried; the present one where none above it was."""
    reason: str
    """Why it does not, or that nothing within the range does."""


@dataclass(frozen=True)
class Switch:
    """Another method in place of the chosen one, everything else as it was."""

    method: Method
    """The other method."""
    changes: tuple[Change, ...]
    """Changes needed for it; with a new agreement date where the agreement has expired."""
    verdict: Verdict
    """Verdict on the release after the change."""
    figures: Figures
    """Figures measured after the change."""
    failure: str
    """Why the method cannot be used at all; empty where it can."""
    deterred: tuple[Flip, ...] = ()
    """Where a blocked release would still be blocked because of the sequential adversary alone: terms that deter it
    then, each with the method's own changes."""
    estimated: frozenset[Measure] = frozenset()
    """Estimated figures, as in ``Flip``."""


@dataclass(frozen=True)
class NotByClass:
    """A closed gate whose records cannot be identified by class."""

    measure: Measure
    reason: str


@dataclass(frozen=True)
class Explanation:
    """Why one recipient's release was decided as it was, and what would change the verdict."""

    recipient: str
    """Id of the recipient."""
    verdict: Verdict
    """The verdict as recorded."""
    reasons: tuple[str, ...]
    """The reasons as recorded."""
    strongest: tuple[Reason, ...]
    """The strongest of them, ranked; of a release that passed, its tightest gates."""
    figures: Figures
    """Figures of the recorded terms when solved again; empty where nothing was measured."""
    flips: tuple[Flip, ...]
    """Levers that change the verdict, the smallest change first, those whose change has no size last."""
    no_flips: tuple[NoFlip, ...]
    """Levers that do not."""
    switches: tuple[Switch, ...]
    """Every other method."""
    agreement: Flip | NoFlip | None
    """The new agreement date, where the agreement had expired on the day of the decision; else None."""
    fixed: str
    """Why no term of the request can change the verdict, such as data that failed validation; empty where one might."""
    games_played: int
    """Games solved for this explanation."""
    note: str = ""
    """Note that applies to all figures; empty for none."""
    at_stake: tuple[AtStake | NotByClass, ...] = ()
    """The records that keep each closed risk gate closed, in the order of their reasons' strength."""

    @property
    def smallest(self) -> Flip | None:
        """The smallest change that reverses the verdict; None where none was found."""
        return self.flips[0] if self.flips else None
