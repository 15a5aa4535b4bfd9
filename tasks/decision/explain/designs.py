"""Combined changes of a design: method, adversary of the game, class size, suppression, masking and penalty together.

These are what a steward and the recipient's agreement can change. They are tried on a blocked release where none of
them alone lets it pass, and ranked by the information that the file then keeps. At most ``MOST_GAMES`` are solved.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.registry import ATTRIBUTE, COMBINED, LINKAGE, SEQUENTIAL, SINGLING_OUT
from tasks.core.errors import DataError, RequestError
from tasks.decision.explain import levers
from tasks.decision.explain.deterring import deterrent_results
from tasks.decision.explain.estimates import TooManyAttacks
from tasks.decision.explain.result import Flip, Judgement, TermChange
from tasks.decision.explain.trial import Trial
from tasks.request.model import DIVISIONS, LEFT_OUT, Measure, Method

MOST_GAMES = 12
ENOUGH = 3
"""Passing combinations after which no more are sought."""
_BY_CLASS = frozenset({Measure.PROSECUTOR_MAXIMUM, Measure.SMALLEST_CLASS})
_MASKED = frozenset[Measure]().union(*(one.gate_measures for one in (LINKAGE, COMBINED, ATTRIBUTE, SINGLING_OUT)))
_MORE_LEFT_OUT = 0.1
_GENERALIZATION = "policy.generalization"

Changes = tuple[TermChange, ...]


def combined_designs(trial: Trial, methods: Sequence[Method]) -> list[Flip]:
    """Combinations with which a blocked release passes, each tried as a release would be judged.

    ``methods`` are the other methods that the policy has terms for.
    """
    found: list[Flip] = []
    for changes in islice(_combinations(trial, methods), MOST_GAMES):
        if trial.is_over() or len(found) >= ENOUGH:
            break
        trial.progress(f"combined: {in_words(changes)}")
        try:
            found += _passing(trial, changes)
        except (DataError, RequestError, TooManyAttacks):
            continue
    return found


def in_words(changes: Sequence[TermChange]) -> str:
    """A combination as its last keys and needed values; one change alone as its key."""
    if len(changes) == 1:
        return changes[0].where.rpartition(".")[2].replace("_", " ")
    return ", ".join(f"{one.where.rpartition('.')[2]} {one.needed}" for one in changes)


def _combinations(trial: Trial, methods: Sequence[Method]) -> Iterator[Changes]:
    """Generalizations by what they change, the fewest first; a method alone and no change at all are left out."""
    others = [one for one in methods if one in DIVISIONS or one is Method.K_ANONYMITY]
    made = [(trial.to_method(one), one) for one in (trial.request.method_for(trial.recipient), *others)]
    sequential = _sequential(trial)
    for change, method in made:
        if sequential and method is not Method.K_ANONYMITY:
            yield (*change, *sequential)
    for share in (LEFT_OUT, _MORE_LEFT_OUT):
        for change, method in made:
            if classes := _classes(trial, method, share):
                yield (*change, *classes)
        for change, method in made:
            if (classes := _classes(trial, method, share)) and sequential and method is not Method.K_ANONYMITY:
                yield (*change, *sequential, *classes)
    yield from (change for change, _ in made)  # beside which maskings or a penalty may be enough


def _sequential(trial: Trial) -> Changes:
    """The game against an adversary who makes repeated attempts, where a gate judges one and the game does not."""
    judged = any(gate.measure in SEQUENTIAL.gate_measures for gate in trial.request.policy.gates)
    now = trial.request.policy.generalization.adversary
    if not judged or now == "sequential":
        return ()
    return (TermChange(f"{_GENERALIZATION}.adversary", now, "sequential"),)


def _classes(trial: Trial, method: Method, share: float) -> Changes:
    """Classes as large as the gates on them ask for, with a share of the records that may be left out for it."""
    policy = trial.request.policy
    least = policy.fewest_passing(Measure.PROSECUTOR_MAXIMUM)
    least = max([least, *(round(one.threshold) for one in policy.gates if one.measure is Measure.SMALLEST_CLASS)])
    terms = policy.generalization
    if least <= trial.request.fewest_records and share == LEFT_OUT:
        return ()
    if terms.k_anonymity is not None:
        demanded: list[tuple[str, float, float]] = [
            ("k_anonymity.k", terms.k_anonymity.k, max(least, terms.k_anonymity.k)),
            ("k_anonymity.suppression_limit", terms.k_anonymity.suppression_limit, share),
        ]
        changed = tuple(TermChange(f"{_GENERALIZATION}.{key}", was, to) for key, was, to in demanded if to > was)
        return changed if any(gate.measure in _BY_CLASS for gate in policy.gates) else ()
    if least <= 1:
        return ()
    if method not in DIVISIONS:
        size = TermChange(f"{_GENERALIZATION}.minimum_class_size", terms.minimum_class_size, least)
        return (size,) if terms.budget is None and share == LEFT_OUT and size.needed != size.current else ()
    budget = terms.budget
    wanted: dict[str, float] = {"least_records": least, "suppression": share}
    changes = []
    for key, value in wanted.items():
        held: float | None = getattr(budget, key, None)
        if held is None or value > held:
            now = levers.NOT_STATED if held is None else held
            changes.append(TermChange(f"{_GENERALIZATION}.budget.{key}", now, value))
    return tuple(changes)


def _passing(trial: Trial, changes: Changes) -> list[Flip]:
    """The combination if it passes, or with stronger maskings or what deters if these are all that it lacks."""
    whole = (*trial.renewal, *changes)
    judgement = trial.judge(whole, exact=False)
    if judgement.passes:
        judgement = trial.judge(whole)
        if judgement.passes:
            return [Flip(in_words(changes), whole, judgement)] if changes else []
    if not judgement.figures:
        return []
    first = _closed(judgement)
    if first and first <= _MASKED:
        return _with_maskings(trial, changes)
    if first and first <= SEQUENTIAL.gate_measures and not _is_method_alone(changes):  # tried with every other method
        return _with_deterrents(trial, changes)
    return []


def _is_method_alone(changes: Changes) -> bool:
    return all(one.where.endswith(".method") for one in changes)


def _closed(judgement: Judgement) -> set[str]:
    return {gate.id for gate in judgement.gates if not gate.passed and gate.measured is not None}


def _with_maskings(trial: Trial, changes: Changes) -> list[Flip]:
    request, known = trial.request, set(known_attributes(trial.request, trial.candidate.prepared))
    held = [number for number, one in enumerate(request.masking) if known.intersection(one.attributes)]
    for stronger in levers.strengths(request, held, stronger=True) if held and changes else ():
        whole = (*trial.renewal, *changes, *stronger)
        if trial.judge(whole, exact=False).passes and (judgement := trial.judge(whole)).passes:
            return [Flip(in_words((*changes, *stronger)), whole, judgement)]
    return []


def _with_deterrents(trial: Trial, changes: Changes) -> list[Flip]:
    """What deters the sequential adversary beside the combination: only terms of the agreement."""
    whole = (*trial.renewal, *changes)
    found = deterrent_results(trial.changed(whole), trial.judge(whole), ".agreement.")
    return [named_together(replace(one, changes=(*whole, *one.changes))) for one in found if isinstance(one, Flip)]


def named_together(flip: Flip) -> Flip:
    """A combination named by all its terms; it is no deterrent alone, since the file changes."""
    return replace(flip, lever=in_words(flip.changes), deterrent=False)


def kept(flip: Flip) -> float:
    """Share of the information that the file keeps after a change; 0 where nothing is released."""
    return flip.after.figures.get(Measure.INFORMATION_KEPT, 0.0)


def ranked(flips: Sequence[Flip]) -> tuple[Flip, ...]:
    """Changes with which a blocked release passes: what can be chosen first, by the information kept; policy last."""
    return tuple(sorted(flips, key=lambda one: (one.choice.value, -round(kept(one), 6), len(one.changes), _size(one))))


def _size(flip: Flip) -> float:
    return abs(flip.relative_change) if flip.relative_change is not None else 0.0
