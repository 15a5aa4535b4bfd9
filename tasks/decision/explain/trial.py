"""Trying changes on one recipient's verdict: each is judged by itself, as a release would be.

The verdict need not be monotone in a term: a higher cost makes fewer records worth attacking, and for that reason lets
smaller groups be released. So nothing is inferred from the ends of a range: a number is searched outwards from its
present value for the first that changes the verdict.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from math import ceil, floor, sqrt
from typing import Any, Self

from tasks.candidate.candidate import Candidate
from tasks.core.errors import DataError, RequestError
from tasks.decision.explain import levers
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.estimates import TooManyAttacks
from tasks.decision.explain.levers import FACTORS, FEW_FACTORS, WIDER, WIDTH, Lever, rounded
from tasks.decision.explain.result import Flip, Judgement, NoFlip, RenewalChange, TermChange
from tasks.request.model import Method, Recipient, ReleaseRequest

Progress = Callable[[str], None]

TOO_MANY_ATTACKS = (
    "Not searched to its end: each try attacks the file anew. Try values by hand with “releasegate assess linkage”."
)
OUT_OF_GAMES = "Not searched to its end: as many games were solved as an explanation may take."
_NOTHING = "Nothing tried in this range changes the verdict."
RENEWED = "the last day of the renewed agreement"
_NEXT_TO_ZERO = 1e-6


def never() -> bool:
    """False: as many games as it takes may be solved."""
    return False


def _quiet(_step: str) -> None:
    pass


class OutOfGames(Exception):
    """The games that an explanation may take are used up."""


@dataclass(frozen=True)
class Trial:
    """One recipient's terms, and the verdict on them that a change may reverse."""

    request: ReleaseRequest
    recipient: Recipient
    candidates: Candidates
    decided_on: date
    passes: bool
    """Whether the release passes as it stands."""
    progress: Progress
    """Called with words on what is being tried."""
    is_over: Callable[[], bool] = never
    """Whether as many games were solved as an explanation may take."""

    def __getstate__(self) -> dict[str, Any]:
        """Without the progress, which another process has nobody to tell."""
        return vars(self) | {"progress": _quiet}

    @property
    def candidate(self) -> Candidate:
        """The copy under the terms as they stand."""
        return self.candidates.of(self.request, self.recipient)

    @property
    def renewal(self) -> tuple[TermChange, ...]:
        """The renewal that an expired agreement needs, whatever else changes."""
        expires, today = self.recipient.agreement.expires, self.decided_on
        if expires >= today:
            return ()
        where = f"{levers.recipient_path(self.request, self.recipient)}.agreement.expires"
        return (RenewalChange(where, expires.isoformat(), RENEWED, today.isoformat()),)

    def changed(self, changes: Sequence[TermChange]) -> Self:
        """The trial under other terms; errors as of ``levers.apply``."""
        request = levers.apply(self.request, changes)
        return replace(self, request=request, recipient=request.recipient(self.recipient.id))

    def to_method(self, method: Method) -> tuple[TermChange, ...]:
        """Changes to another method, for all who share the representation; none for the present method."""
        present = self.request.method_for(self.recipient)
        alike = [one for one, _ in self.request.sharing(self.recipient)] or [self.recipient]
        places = [f"{levers.recipient_path(self.request, one)}.method" for one in alike]
        return () if method is present else tuple(TermChange(one, present.value, method.value) for one in places)

    def judge(self, changes: Sequence[TermChange], *, exact: bool = True, brief: bool = False) -> Judgement:
        """Judge the release after some changes, as ``Candidates.judge``.

        Raises ``RequestError`` if a request may not have such terms.
        """
        request = levers.apply(self.request, changes) if changes else self.request
        return self.candidates.judge(request, self.recipient.id, self.decided_on, exact=exact, brief=brief)

    def reversed(self, judgement: Judgement) -> bool:
        """Whether the verdict is another."""
        return judgement.passes != self.passes

    def searched(
        self, lever: Lever, directions: Sequence[bool] = (True, False), *, deterrent: bool = False, why: str = ""
    ) -> list[Flip | NoFlip]:
        """A lever's result in each direction (True is up), or one, with its reason, where none changes the verdict."""
        results, tried = list[Flip | NoFlip](), list[float]()
        for up in directions:
            try:
                flip = self._nearest(lever, up=up, deterrent=deterrent)
            except TooManyAttacks:
                return [*results, lever.unchanged(TOO_MANY_ATTACKS)]
            except OutOfGames:
                return [*results, lever.unchanged(OUT_OF_GAMES)]
            results += [flip] if flip else []
            tried += () if flip else outwards(replace(lever, few=self.candidates.is_large), up=up)
        return [*results, lever.unchanged(why or _NOTHING, tried)] if tried else results

    def chosen(self, lever: Lever, choices: Iterable[tuple[TermChange, ...]], why: str) -> Flip | NoFlip:
        """A lever's result where a few changes are tried in turn, the lever's own term first in each."""
        self.progress(lever.name)
        tried = list[float]()
        for changes in choices:
            try:
                judgement = self.judge((*self.renewal, *changes))
            except TooManyAttacks:
                return lever.unchanged(TOO_MANY_ATTACKS, tried)
            except (DataError, RequestError):  # too strong for so many records
                break
            if self.reversed(judgement):
                return Flip(lever.name, (*self.renewal, *changes), judgement)
            tried.append(float(changes[0].needed))
        return lever.unchanged(why, tried)

    def _nearest(self, lever: Lever, *, up: bool, deterrent: bool) -> Flip | None:
        """The nearest change that reverses the verdict, solved as it stands."""
        self.progress(f"{lever.name}, {'upwards' if up else 'downwards'}")
        lever = replace(lever, few=self.candidates.is_large)
        for exact in (False, True):
            value = nearest_flip(lever, partial(self._is_reversed_by, lever, exact=exact), up=up)
            if value is None:
                return None
            changes = (*self.renewal, *lever.changes(value))
            # That a change would block a release may rest on a game cut short, whose figures are marked as estimates.
            brief = self.passes and self.candidates.is_cut_short(*self._terms(changes))
            judgement = self.judge(changes, exact=not brief)
            if self.reversed(judgement):
                return Flip(lever.name, changes, judgement, deterrent)
        return None

    def _is_reversed_by(self, lever: Lever, value: float, *, exact: bool) -> bool:
        changes = (*self.renewal, *lever.changes(value))
        if self.is_over() and not self.candidates.is_solved(*self._terms(changes)):
            raise OutOfGames
        return self.reversed(self.judge(changes, exact=exact))

    def _terms(self, changes: Sequence[TermChange]) -> tuple[ReleaseRequest, Recipient]:
        request = levers.apply(self.request, changes)
        return request, request.recipient(self.recipient.id)


def outwards(lever: Lever, *, up: bool) -> Iterator[float]:
    """Values of the grid and further ones to try, from the present one outwards and within the lever's range."""
    present, least, most = lever.current, lever.lowest, lever.highest
    steps = (present * factor if up else present / factor for factor in (FEW_FACTORS if lever.few else FACTORS))
    grid = {min(max(_written(lever, step, up=up), least), most) for step in steps} - {0}
    values = grid | {value for value in lever.also if least <= value <= most}
    yield from sorted((value for value in values if (value > present if up else value < present)), reverse=not up)


def nearest_flip(lever: Lever, flips: Callable[[float], bool], *, up: bool) -> float | None:
    """The value nearest to the present one that is found to change the verdict; None where none that is tried does.

    Between the first value that changes the verdict and the last before it that does not, the distance is halved on a
    logarithmic scale until it is ``WIDTH``, or ``WIDER`` where ``few`` are tried; next to 0, tenths are tried first.
    The value returned was itself tried. A change that is undone between two neighbouring values is not seen. Where
    ``flips`` raises ``OutOfGames`` between the two, the one that changes the verdict is as near as was found.
    """
    unchanged = lever.current
    for value in outwards(lever, up=up):
        if flips(value):
            return _narrowed(lever, unchanged, value, flips)
        unchanged = value
    return None


def _narrowed(lever: Lever, unchanged: float, flipped: float, flips: Callable[[float], bool]) -> float:
    with suppress(OutOfGames):
        for nearer in _halved(lever, unchanged, flipped, flips):
            flipped = nearer
    return flipped


def _halved(lever: Lever, unchanged: float, flipped: float, flips: Callable[[float], bool]) -> Iterator[float]:
    """Values that change the verdict, each nearer to one that does not."""
    while min(unchanged, flipped) == 0 and max(unchanged, flipped) > _NEXT_TO_ZERO:
        tenth = rounded(max(unchanged, flipped) / 10)
        unchanged, flipped = (unchanged, tenth) if flips(tenth) else (tenth, flipped)
        yield flipped
    width = WIDER if lever.few else WIDTH
    while max(unchanged, flipped) > min(unchanged, flipped) * (1 + width):
        halves = (_written(lever, sqrt(unchanged) * sqrt(flipped), up=up) for up in (True, False))
        middle = next((half for half in halves if half not in (unchanged, flipped)), None)
        if middle is None:
            break
        unchanged, flipped = (unchanged, middle) if flips(middle) else (middle, flipped)
        yield flipped


def _written(lever: Lever, value: float, *, up: bool) -> float:
    if lever.whole:
        # 1e-9: a product such as 10 * 1.1 must not be lifted to 12.
        return ceil(value - 1e-9) if up else floor(value + 1e-9)
    return rounded(value)
