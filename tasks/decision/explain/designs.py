"""Combined changes of a design: method, adversary of the game, class size, suppression, masking and penalty together.

These are what a steward and the recipient's agreement can change. They are tried on a blocked release where none of
them alone lets it pass, and ranked by the information that the file then keeps. At most ``MOST_GAMES`` are solved.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.registry import ATTRIBUTE, COMBINED, LINKAGE, SEQUENTIAL, SINGLING_OUT
from tasks.core.errors import DataError, ParameterError, RequestError
from tasks.decision.explain import levers
from tasks.decision.explain.estimates import TooManyAttacks
from tasks.decision.explain.levers import Lever
from tasks.decision.explain.result import Flip, Judgement, NoFlip, TermChange
from tasks.decision.explain.trial import Trial
from tasks.request.model import DIVISIONS, LEFT_OUT, Measure, Method, Policy

_DETERRED_GATES = SEQUENTIAL.gate_measures | {Measure.PASSING_PROBABILITY}
NOTHING_RELEASED = "Nothing can be released under these terms."
OTHERS_CLOSED = "Other gates are closed as well."


def deterring(trial: Trial) -> tuple[Lever, ...]:
    """The terms that deter, where a gate judges the sequential adversary; else none."""
    if not any(gate.measure in SEQUENTIAL.gate_measures for gate in trial.request.policy.gates):
        return ()
    return levers.deterrents(trial.request, trial.recipient, derive_profile(trial.recipient).profile)


def deterrent_results(trial: Trial, now: Judgement, within: str = "") -> list[Flip | NoFlip]:
    """Results of each term that deters, on the terms as they stand but for a new date of the agreement.

    ``within`` has to be part of a term's path. Costs and penalties never raise the risk
    (``tasks.adversary.planning.deterrence``): they are searched upwards where the release is blocked, else downwards.
    So is detection, though it may raise the risk where penalties are limited.
    """
    in_vain = _deterred_in_vain(now)
    results: list[Flip | NoFlip] = []
    for lever in (one for one in deterring(trial) if within in one.where):
        why = in_vain or lever.unable
        if not why and trial.passes and lever.current == 0:
            why = "There is none that could be lowered."
        results += [lever.unchanged(why)] if why else _deterrent(trial, lever)
    return results


def trait_results(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of the recipient's traits: prior, discount, recognition and most penalties, in both directions."""
    if not deterring(trial):
        return []
    in_vain = _deterred_in_vain(now)
    found = levers.traits(trial.request, trial.recipient, derive_profile(trial.recipient).profile)
    return [one for lever in found for one in ([lever.unchanged(in_vain)] if in_vain else trial.searched(lever))]


def _deterred_in_vain(now: Judgement) -> str:
    """Reason that the release stays blocked whatever the recipient does; empty where it need not."""
    if not now.figures:
        return NOTHING_RELEASED
    closed = [gate for gate in now.gates if not gate.passed and gate.measured is not None]
    return OTHERS_CLOSED if any(gate.id not in _DETERRED_GATES for gate in closed) else ""


def _deterrent(trial: Trial, lever: Lever) -> list[Flip | NoFlip]:
    """Results of one term, by values around the least that deters from the whole file."""
    trial.progress(f"{lever.name}, the least that deters")
    request, least = levers.apply(trial.request, lever.changes(lever.current)) if lever.stated else trial.request, None
    with suppress(ParameterError):
        candidate = trial.candidates.of(request, request.recipient(trial.recipient.id))
        least = None if lever.moved is None else trial.candidates.deterring(candidate, lever.moved)
    why = "The gates stay open without it."
    if not trial.passes:
        why = "No value of it alone was found that deters the recipient."
        if least is not None:
            why = "What would deter is more than a request may state." if least > lever.highest else ""
    deterred = not trial.passes and least is not None and least <= lever.current
    tried = levers.tried_beyond(lever) if deterred else levers.tried_around(lever, least)
    return trial.searched(tried, (not trial.passes,), deterrent=True, why=why) or [tried.unchanged(why)]


MOST_GAMES = 12
ENOUGH = 3
"""Passing combinations after which no more are sought."""
_BY_CLASS = frozenset({Measure.PROSECUTOR_MAXIMUM, Measure.SMALLEST_CLASS})
MASKED_GATES = frozenset[Measure]().union(*(one.gate_measures for one in (LINKAGE, COMBINED, ATTRIBUTE, SINGLING_OUT)))
"""Gates whose figures follow from masked values."""
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
    """Classes of the size that the gates require, with the share of records that may be left out for it."""
    policy = trial.request.policy
    least = fewest_by_gates(policy)
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


def fewest_by_gates(policy: Policy) -> int:
    """Records of a class that the gates require, 1 at least."""
    sizes = [round(one.threshold) for one in policy.gates if one.measure is Measure.SMALLEST_CLASS]
    return max(policy.fewest_passing(Measure.PROSECUTOR_MAXIMUM), *sizes, 1)


def _passing(trial: Trial, changes: Changes) -> list[Flip]:
    """The combination if it passes, or with stronger maskings or deterrents if it lacks only these."""
    whole = (*trial.renewal, *changes)
    judgement = trial.judge(whole, exact=False)
    if judgement.passes:
        judgement = trial.judge(whole)
        if judgement.passes:
            return [Flip(in_words(changes), whole, judgement)] if changes else []
    if not judgement.figures:
        return []
    first = _closed(judgement)
    if first and first <= MASKED_GATES:
        return _with_maskings(trial, changes)
    method_alone = all(one.where.endswith(".method") for one in changes)  # tried with every other method
    if first and first <= SEQUENTIAL.gate_measures and not method_alone:
        return _with_deterrents(trial, changes)
    return []


def _closed(judgement: Judgement) -> set[str]:
    return {gate.id for gate in judgement.gates if not gate.passed and gate.measured is not None}


def _with_maskings(trial: Trial, changes: Changes) -> list[Flip]:
    request, known = trial.request, set(known_attributes(trial.request, trial.candidates.prepared))
    held = [number for number, one in enumerate(request.masking) if known.intersection(one.attributes)]
    for stronger in levers.strengths(request, held, stronger=True) if held and changes else ():
        whole = (*trial.renewal, *changes, *stronger)
        if trial.judge(whole, exact=False).passes and (judgement := trial.judge(whole)).passes:
            return [Flip(in_words((*changes, *stronger)), whole, judgement)]
    return []


def _with_deterrents(trial: Trial, changes: Changes) -> list[Flip]:
    """Changes of the agreement alone that deter the sequential adversary, each together with the combined change."""
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
