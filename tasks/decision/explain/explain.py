"""Explaining a verdict: for each lever of a request, the smallest change that reverses it, found by re-solving.

Everything that depends on terms is solved again: the game, its risk, the sequential adversary, the combined score, the
loss, the draws of uncertain terms, the attacks by record linkage, the policy's gates and the agreement's date. Reading
the written file back belongs to a release itself; “would be approved” therefore means that nothing stands in the way of
running it. Takes codes, numbers and a date; reads no file and no clock.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from tasks.assessments.measures import MEASURES
from tasks.core.errors import ParameterError, RequestError, StageFailed
from tasks.decision.explain import terms
from tasks.decision.explain.at_stake import BY_CLASS, RISKS, AtStake
from tasks.decision.explain.deterring import search_deterrents, trial_deterrents
from tasks.decision.explain.linking import TooManyAttacks
from tasks.decision.explain.masking import search_masking
from tasks.decision.explain.measuring import REMEMBERED
from tasks.decision.explain.reasons import strongest_reasons
from tasks.decision.explain.resolve import Judgement, Plays
from tasks.decision.explain.result import Change, Explanation, Flip, NoFlip, NotByClass, Switch
from tasks.decision.explain.trial import TOO_MANY_ATTACKS, Progress, Trial, flip, unsearched
from tasks.decision.gates import VALIDATION_PASSED
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.generalization.play import CountIndex
from tasks.request.model import (
    BUDGETED,
    PARTITIONS,
    Gate,
    Measure,
    Method,
    Recipient,
    ReleaseRequest,
)

_RELATIVE_TOLERANCE = 1e-9
_ABSOLUTE_TOLERANCE = 1e-12
_WITHOUT_DECOYS = (
    "Figures here are of the file without decoys and with no class missing for others' decoys, which is sealed; those "
    "of the decision differ a little."
)
_OPEN_BY_DECOYS = (
    "It passes as the copy was made; with the classes that it misses for others' decoys a gate would close. Which "
    "these are is sealed, so that no change of terms can be tried."
)


@dataclass(frozen=True)
class Decided:
    """Facts of a decision that an explanation starts from."""

    verdict: Verdict
    gates: tuple[GateResult, ...]
    reasons: tuple[str, ...]
    decided_on: date

    @classmethod
    def of(cls, record: DecisionRecord) -> "Decided":
        """From a decision record."""
        return cls(record.decision, record.gates, record.reasons, record.decided_at.date())


def explain(
    request: ReleaseRequest,
    recipient: Recipient,
    plays: Plays | CountIndex,
    decided: Decided,
    progress: Progress = lambda _: None,
) -> Explanation:
    """Find the smallest changes that reverse the verdict on one recipient's release.

    1. Solve the recorded terms again; the figures must be the recorded ones, but where the release has decoys: which
       classes a copy misses for them is sealed, so that they count here. What the attacks of record linkage gave is
       taken from the record; under other terms it is estimated (``linking``), with a bound on the work. So is the
       probability under uncertain terms (``passing``).
    2. Where the data failed validation, or every gate that depends on terms is open on a blocked release, no term can
       change the verdict, and the explanation says so.
    3. Where the agreement has expired, a date on or after the day of the decision is a lever, and part of every other.
    4. Stakes, minimum class size and the k of k-anonymity are searched outwards, up and down, each alone
       (``search.nearest_flip``).
    5. Where a gate judges the sequential adversary: the terms that deter it are searched upwards if the release is
       blocked and downwards if not, each term alone, around the least value that deters it from the whole file
       (``planning.deterrence``). The game is not solved again for this.
    6. Thresholds: what each would have to be for the figure measured; where several gates fail, all of these together.
    7. Where a gate judges record linkage: each masking is made stronger if the release is blocked, weaker if not.
    8. The data are generalized by every other method that the policy has terms for; where then only gates on the
       sequential adversary stay closed, step 5 for it.
    9. The strongest reasons are ranked (``reasons``), and the records that keep each closed gate on risk closed are
       counted by class (``at_stake``).

    Parameters
    ----------
    request : ReleaseRequest
        As it was decided on.
    recipient : Recipient
        One of its recipients.
    plays : Plays or CountIndex
        Data and population; ``Plays`` to share games among recipients, and for gates on the combined score and on
        record linkage, which need the records.
    decided : Decided
        The decision.
    progress : callable
        Called with words on what is being tried.

    Returns
    -------
    Explanation
        Each change it names was tried and reverses the verdict.

    Raises
    ------
    StageFailed
        If the recorded terms now give other figures or another verdict than recorded: data, population or program are
        then not those of the decision.
    """
    if isinstance(plays, CountIndex):
        plays = Plays(plays)
    return _Inquiry(request, recipient, plays, decided, progress).explanation()


class _Inquiry:
    """One recipient's verdict, and everything that is tried on it."""

    def __init__(
        self, request: ReleaseRequest, recipient: Recipient, plays: Plays, decided: Decided, progress: Progress
    ) -> None:
        self.request, self.recipient, self.plays = request, recipient, plays
        self.decided, self.progress = decided, progress
        self.passes = decided.verdict is not Verdict.BLOCKED
        self.trial = Trial(request, recipient, plays, decided.decided_on, self.passes, progress)
        self.renewal = self.trial.renewal
        self.decoyed = bool(request.continues) or any(one.decoys for one in request.recipients)

    def explanation(self) -> Explanation:
        """All of it."""
        played_before = self.plays.count
        if self._failed(VALIDATION_PASSED):
            return self._fixed("The data did not pass validation; a change of terms does not make them pass.")
        overridden = [gate for gate in self.decided.gates if gate.overridden is not None]
        if overridden and self.passes:
            return self._fixed(_overridden(overridden))
        self.progress("solving the recorded terms again")
        self._remember()
        now = self.trial.judge(())
        if not self.decoyed:
            _check_figures(self.decided.gates, now)
        if now.passes and not self.passes:
            return self._fixed(
                "Every gate that depends on a term of the request is open; what blocked the release is among its "
                "reasons and has to be remedied there."
            )
        if self.passes and not now.passes:
            if self.decoyed:
                return self._fixed(_OPEN_BY_DECOYS)
            raise _contradiction("the verdict of the recorded terms")
        renewed = self.trial.judge(self.renewal) if self.renewal else now
        agreement = self._agreement(renewed)
        alone = self._hopeless() if renewed.passes != self.passes else []
        # What is likeliest to help comes first: the work that attacks may take is bounded.
        maskings = [] if alone else search_masking(self.trial, renewed)
        switches, untried = self._switches()
        searched: list[Flip | NoFlip] = []
        if not alone:
            searched = [*self._stakes(), *self._class_sizes(), *search_deterrents(self.trial, renewed)]
            searched += [*maskings, *self._thresholds(renewed)]
        results = [*alone, *searched, *untried]
        flips = [result for result in results if isinstance(result, Flip)]
        return Explanation(
            recipient=self.recipient.id,
            verdict=self.decided.verdict,
            reasons=self.decided.reasons,
            strongest=strongest_reasons(self.decided.gates),
            figures=now.figures,
            flips=tuple(sorted(flips, key=_size)),
            no_flips=tuple(result for result in results if isinstance(result, NoFlip)),
            switches=switches,
            agreement=agreement,
            fixed="",
            games_played=self.plays.count - played_before,
            note=_WITHOUT_DECOYS if self.decoyed else "",
            at_stake=self._at_stake(),
        )

    def _remember(self) -> None:
        """Keep what draws and attacks gave at the decision, so that none are made again on the same outcome."""
        gates = {gate.id: gate.measured for gate in self.decided.gates}
        recorded = {measure: gates.get(measure.value) for measure in REMEMBERED}
        figures = {measure: figure for measure, figure in recorded.items() if figure is not None}
        measurements = self.plays.measurements
        measurements.linking.renew()
        if figures:
            with suppress(StageFailed):  # reported when the recorded terms are judged
                played = self.plays.outcome(self.request, self.recipient)
                measurements.remember(self.request, self.recipient, played, figures)

    def _failed(self, identifier: str) -> bool:
        return any(gate.id == identifier and not gate.passed for gate in self.decided.gates)

    def _fixed(self, why: str) -> Explanation:
        decided = self.decided
        strongest = strongest_reasons(decided.gates)
        return Explanation(self.recipient.id, decided.verdict, decided.reasons, strongest, {}, (), (), (), None, why, 0)

    # Records at stake

    def _at_stake(self) -> tuple[AtStake | NotByClass, ...]:
        """Records at stake of each closed gate on risk, the strongest reason first."""
        names = {measure.value: measure for measure in RISKS}
        closed = [one.gate for one in strongest_reasons(self.decided.gates, len(self.decided.gates)) if one.failed]
        return tuple(self._of_gate(names[gate.id], gate) for gate in closed if gate.id in names)

    def _of_gate(self, measure: Measure, gate: GateResult) -> AtStake | NotByClass:
        self.progress(f"records at stake: {gate.title[0].lower()}{gate.title[1:]}")
        if measure not in BY_CLASS:
            return NotByClass(measure, "The attack goes by masked numbers alone, whatever the class of a record.")
        try:
            played = self.plays.outcome(self.request, self.recipient)
            return self.plays.measurements.at_stake(self.request, self.recipient, played, gate)
        except (StageFailed, ParameterError) as failure:
            return NotByClass(measure, f"{failure.what[0].upper()}{failure.what[1:]}.")

    # The agreement

    def _agreement(self, renewed: Judgement) -> Flip | NoFlip | None:
        if not self.renewal:
            return None
        change, lever = self.renewal[0], "expiry of the agreement"
        if self.trial.turned(renewed):
            return flip(lever, self.renewal, renewed)
        return NoFlip(
            lever, change.where, change.current, change.current, "any later date", "Other gates are closed as well."
        )

    def _hopeless(self) -> list[Flip | NoFlip]:
        """The numbers, where the agreement alone blocks."""
        why = "The expired agreement blocks, whatever the other terms are."
        sizes = terms.class_size(self.request), *terms.least_k(self.request)
        numbers = (*terms.stakes(self.request, self.recipient), *sizes)
        return [unsearched(one, why) for one in (*numbers, *(lever.term for lever in trial_deterrents(self.trial)))]

    # Stakes and class size

    def _stakes(self) -> list[Flip | NoFlip]:
        results: list[Flip | NoFlip] = []
        for term in terms.stakes(self.request, self.recipient):
            results += self.trial.searched(term)
        return results

    def _class_sizes(self) -> list[Flip | NoFlip]:
        if terms.size_is_the_budgets(self.request):
            return [unsearched(terms.class_size(self.request), "The budget says how many records may be left out.")]
        results: list[Flip | NoFlip] = []
        for term in (terms.class_size(self.request), *terms.least_k(self.request)):
            results += self.trial.searched(term)
        return results

    # Thresholds

    def _thresholds(self, now: Judgement) -> list[Flip | NoFlip]:
        self.progress("thresholds")
        gates = self.request.policy.gates
        if self.passes:
            return [self._closed(gate, now.figures[gate.measure]) for gate in gates]
        shut = {gate.id for gate in now.gates if not gate.passed}
        failing = [gate for gate in gates if gate.measure.value in shut]
        unmeasured = [gate for gate in failing if gate.measure not in now.figures]
        if unmeasured:
            why = now.failure if now.figures else "nothing can be released under these terms"
            why = f"Its figure was not measured: {why}."
            return [self._unmoved(gate, why) for gate in failing]
        results: list[Flip | NoFlip] = []
        needed = [self._change(gate, terms.open_threshold(gate, now.figures[gate.measure])) for gate in failing]
        if len(failing) == 1:
            return [self._turned(_threshold_lever(failing[0]), failing[0], tuple(needed))]
        results.append(self._turned("all failing thresholds together", failing[0], tuple(needed)))
        return results + [self._unmoved(gate, "Other gates are closed as well.") for gate in failing]

    def _closed(self, gate: Gate, measured: float) -> Flip | NoFlip:
        change = self._change(gate, terms.closed_threshold(gate, measured))
        return self._turned(_threshold_lever(gate), gate, (change,))

    def _turned(self, lever: str, gate: Gate, changes: tuple[Change, ...]) -> Flip | NoFlip:
        changes = (*self.renewal, *changes)
        try:
            judgement = self.trial.judge(changes)
        except RequestError:
            return self._unmoved(gate, "No threshold that a policy may have lies beyond the figure.")
        if not self.trial.turned(judgement):
            return self._unmoved(gate, "A threshold on the other side of the figure does not turn the verdict.")
        return flip(lever, changes, judgement)

    def _change(self, gate: Gate, threshold: float) -> Change:
        return Change(terms.threshold_path(self.request, gate), gate.threshold, threshold)

    def _unmoved(self, gate: Gate, why: str) -> NoFlip:
        where = terms.threshold_path(self.request, gate)
        return NoFlip(_threshold_lever(gate), where, gate.threshold, gate.threshold, gate.threshold, why)

    # Methods

    def _switches(self) -> tuple[tuple[Switch, ...], list[NoFlip]]:
        """Every other method, and those that could not be tried."""
        present, switches, untried = self.request.method_for(self.recipient), [], []
        possible = set(Method)
        if self.request.policy.generalization.k_anonymity is None:
            possible.discard(Method.K_ANONYMITY)
        budget = self.request.policy.generalization.budget
        if budget is not None:
            possible &= BUDGETED if budget.least_records is None else PARTITIONS
        if self.request.coalitions(self.recipient):
            possible.discard(Method.SAFE_HARBOR)
        for method in Method:
            if method in possible and method is not present:
                try:
                    switches.append(self._switch(present, method))
                except TooManyAttacks:
                    where = f"{terms.recipient_path(self.request, self.recipient)}.method"
                    name, now = f"method {method.value}", present.value
                    untried.append(NoFlip(name, where, now, now, now, TOO_MANY_ATTACKS))
        return tuple(switches), untried

    def _alike(self) -> tuple[Recipient, ...]:
        """Recipients who must have this recipient's method, this one among them."""
        return tuple(one for one, _ in self.request.sharing(self.recipient)) or (self.recipient,)

    def _switch(self, present: Method, method: Method) -> Switch:
        self.progress(f"method {method.value}")
        places = [f"{terms.recipient_path(self.request, one)}.method" for one in self._alike()]
        changes = (*self.renewal, *(Change(where, present.value, method.value) for where in places))
        judgement = self.trial.judge(changes)
        deterred = () if self.passes or judgement.passes else self._deterred_by(changes, judgement)
        figures, estimated = judgement.figures, judgement.estimated
        return Switch(method, changes, judgement.verdict, figures, judgement.failure, deterred, estimated)

    def _deterred_by(self, changes: tuple[Change, ...], judgement: Judgement) -> tuple[Flip, ...]:
        """Terms that deter the recipient once the method is another."""
        request = terms.apply(self.request, changes)
        switched = replace(self.trial, request=request, recipient=request.recipient(self.recipient.id))
        flips = [result for result in search_deterrents(switched, judgement) if isinstance(result, Flip)]
        return tuple(replace(flip, changes=(*changes, *flip.changes)) for flip in flips)


def _threshold_lever(gate: Gate) -> str:
    return f"threshold: {MEASURES[gate.measure].title[0].lower()}{MEASURES[gate.measure].title[1:]}"


def _size(flip: Flip) -> float:
    return math.inf if flip.relative_change is None else abs(flip.relative_change)


def _overridden(gates: Sequence[GateResult]) -> str:
    """Why nothing is sought of a release that rests on overrides."""
    facts = [gate.overridden for gate in gates if gate.overridden is not None]
    return (
        f"It rests on overrides: {' and '.join(sorted({one.officer for one in facts}))} answered for "
        f"{', '.join(f'“{gate.title}”' for gate in gates)}. The changes that would open these gates are those of the "
        f"release that they blocked: releasegate explain {facts[-1].release_id[:12]}."
    )


def _check_figures(recorded: Sequence[GateResult], now: Judgement) -> None:
    """Refuse to explain a decision whose figures cannot be found again."""
    names = {measure.value: measure for measure in Measure}
    for gate in recorded:
        if gate.id not in names or gate.measured is None:
            continue
        figure = now.figures.get(names[gate.id])
        if figure is None or not math.isclose(
            figure, gate.measured, rel_tol=_RELATIVE_TOLERANCE, abs_tol=_ABSOLUTE_TOLERANCE
        ):
            raise _contradiction(gate.id)


def _contradiction(where: str) -> StageFailed:
    return StageFailed(
        "solved again, the recorded terms do not give what was recorded",
        where=where,
        expected="the figures and the verdict of the decision record",
        got="others",
        fix="the decision was made by another version of the program; run the release again and explain the new one",
    )
