"""Trying changes on one recipient's verdict: judged as a release would be, each change beside nothing else."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import partial

from tasks.decision.explain import terms
from tasks.decision.explain.linking import TooManyAttacks
from tasks.decision.explain.resolve import Judgement, Plays, judge
from tasks.decision.explain.result import Change, Flip, NoFlip
from tasks.decision.explain.search import nearest_flip, outwards
from tasks.decision.explain.terms import Term
from tasks.request.model import Recipient, ReleaseRequest

Progress = Callable[[str], None]

TOO_MANY_ATTACKS = (
    "Not searched to its end: each try attacks the file anew. Try values by hand with “releasegate assess linkage”."
)


@dataclass(frozen=True)
class Trial:
    """One recipient's terms, and the verdict on them that a change may turn."""

    request: ReleaseRequest
    recipient: Recipient
    plays: Plays
    decided_on: date
    passes: bool
    """Whether the release passes as it stands."""
    progress: Progress
    """Told in words what is being tried."""

    @property
    def renewal(self) -> tuple[Change, ...]:
        """The new date that an expired agreement needs, whatever else changes."""
        expires, today = self.recipient.agreement.expires, self.decided_on
        if expires >= today:
            return ()
        where = f"{terms.recipient_path(self.request, self.recipient)}.agreement.expires"
        return (Change(where, expires.isoformat(), today.isoformat()),)

    def judge(self, changes: Sequence[Change], *, exact: bool = True) -> Judgement:
        """Judge the release after some changes.

        Raises
        ------
        RequestError
            If a request may not have such terms.
        TooManyAttacks
            As ``resolve.judge``.
        """
        request = terms.apply(self.request, changes) if changes else self.request
        return judge(request, self.recipient.id, self.plays, self.decided_on, exact=exact)

    def turned(self, judgement: Judgement) -> bool:
        """Whether the verdict is another."""
        return judgement.passes != self.passes

    def searched(
        self, term: Term, directions: Sequence[bool] = (True, False), *, deterrent: bool = False, why: str = ""
    ) -> list[Flip | NoFlip]:
        """A term's result in each direction, or one for all where none changes the verdict.

        Parameters
        ----------
        term : Term
        directions : sequence of bool
            True is up.
        deterrent : bool
            As in ``Flip``.
        why : str
            Why nothing changes the verdict, should nothing do so.
        """
        found: dict[bool, Flip | None] = {}
        with suppress(TooManyAttacks):
            for up in directions:
                found[up] = self._nearest(term, up=up, deterrent=deterrent)
        results: list[Flip | NoFlip] = [flip for flip in found.values() if flip is not None]
        if len(found) < len(directions):
            return [*results, unsearched(term, TOO_MANY_ATTACKS)]
        kept = {term.current}.union(*(outwards(term, up=up) for up, flip in found.items() if flip is None))
        lowest, highest = min(kept), max(kept)
        if lowest < highest:
            present, first, last = (term.written(value) for value in (term.current, lowest, highest))
            reason = why or "Nothing tried in this range turns it."
            results.append(NoFlip(term.lever, term.where, present, first, last, reason))
        return results

    def _nearest(self, term: Term, *, up: bool, deterrent: bool) -> Flip | None:
        """The nearest change that reverses the verdict, solved as it stands."""
        self.progress(f"{term.lever}, {'upwards' if up else 'downwards'}")
        for exact in (False, True):
            value = nearest_flip(term, partial(self._turns, term, exact=exact), up=up)
            if value is None:
                return None
            changes = (*self.renewal, *term.changes(value))
            judgement = self.judge(changes)
            if self.turned(judgement):
                return flip(term.lever, changes, judgement, deterrent=deterrent)
        return None

    def _turns(self, term: Term, value: float, *, exact: bool) -> bool:
        return self.turned(self.judge((*self.renewal, *term.changes(value)), exact=exact))


def flip(lever: str, changes: tuple[Change, ...], judgement: Judgement, *, deterrent: bool = False) -> Flip:
    """A lever that changes the verdict."""
    figures, estimated = judgement.figures, judgement.estimated
    return Flip(lever, changes, judgement.verdict, figures, judgement.failure, deterrent, estimated)


def unsearched(term: Term, why: str) -> NoFlip:
    """A term that was not changed, with the reason."""
    present = term.written(term.current)
    return NoFlip(term.lever, term.where, present, present, present, why)
