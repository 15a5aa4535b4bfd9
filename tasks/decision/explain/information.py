"""Information that a passing copy keeps: by column, the terms that cost most of it, and changes that keep more.

A term costs the information that the copy would keep without it, whatever gates then say. A change that keeps more is
judged as a release would be, and passes every gate; it is of a design, never of a fact or of a threshold. Everything is
measured by the request's own weights, a record that is left out keeping nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from math import ceil, log, sqrt
from typing import Any

import numpy as np

from tasks.assessments.identity.score import released_levels
from tasks.candidate.candidate import Candidate
from tasks.core.errors import DataError, HierarchyError, ParameterError, PopulationError, RequestError, StageFailed
from tasks.decision.explain import levers
from tasks.decision.explain.designs import fewest_by_gates
from tasks.decision.explain.estimates import TooManyAttacks
from tasks.decision.explain.levers import NOT_STATED, attribute_path
from tasks.decision.explain.result import ColumnKept, Cost, Keeping, LevelsChange, Switch, TermChange
from tasks.decision.explain.trial import Trial
from tasks.generalization.game.payoffs import Floats
from tasks.generalization.methods.registry import METHODS
from tasks.request.model import BudgetPolicy, DatePeriod, GatesBudget, HierarchySource, Measure, ReleaseRequest, Role

Changes = tuple[TermChange, ...]
Levels = tuple[str | int, ...]

WORTH_SAYING = 0.005
"""Share of the information below which a difference is not named."""
_GAMES_IF_LARGE = 4
_STEPS = 4
_MORE_LEFT_OUT = (0.1, 0.05)
_ENOUGH_TO_DETER = 10.0
_WIDE = 4
_OF_WEEKS = {"iso-week", "iso-year"}
_GENERALIZATION = "policy.generalization"
_DEMANDS = f"{_GENERALIZATION}.k_anonymity"
_BUDGET = f"{_GENERALIZATION}.budget"
_NOT_MADE = (DataError, RequestError, HierarchyError, PopulationError, ParameterError, StageFailed)


@dataclass(frozen=True)
class _Copy:
    """Information that a copy keeps under some terms."""

    trial: Trial
    """The terms as those to be judged."""
    columns: Mapping[str, float]
    estimated: bool


@dataclass(frozen=True)
class Information:
    """Information that a copy keeps as it is, and under other terms."""

    trial: Trial

    @property
    def columns(self) -> tuple[ColumnKept, ...]:
        """Information that each quasi-identifier keeps, the least first."""
        made, now = self.trial.candidate, self._now.columns
        found = (ColumnKept(name, now[name], _level(made, axis)) for axis, name in enumerate(now))
        return tuple(sorted(found, key=lambda one: one.kept))

    def costs(self) -> tuple[Cost, ...]:
        """Terms without which the copy would keep more, the most costly first; several together if none does alone."""
        now, found = self._kept(self._now), list[Cost]()
        terms = list(_terms(self.trial))
        most = _GAMES_IF_LARGE if self.trial.candidates.is_large else len(terms)
        for term, without in terms[:most]:
            found += self._cost(term, without)
        limits = [(term, without) for term, without in terms if not term.startswith("repeated attempts")]
        if len(limits) > 1 and not any(one.kept > now + WORTH_SAYING for one in found):
            together = {where: value for _, without in limits for where, value in without.items()}
            found += self._cost("; ".join(term for term, _ in limits) + " (together)", together)
        return tuple(sorted((one for one in found if one.kept > now + WORTH_SAYING), key=lambda one: -one.kept))

    def keeping(self, switches: Sequence[Switch]) -> tuple[Keeping, ...]:
        """Changes with which the release passes and keeps more: of the copy, the most first, then of columns."""
        found, now = list[Keeping](), self._kept(self._now)
        for one in switches:
            kept = one.after.figures.get(Measure.INFORMATION_KEPT, 0.0)
            if one.after.passes and kept > now + WORTH_SAYING:
                found.append(Keeping(one.changes, one.after, now, kept))
        found = [max(found, key=lambda one: one.kept)] if found else []
        most = _GAMES_IF_LARGE if self.trial.candidates.is_large else None
        for choices in islice(self._choices(), most):
            tried = (self._keeping(changes) for changes in choices)
            found += [one for one in tried if one is not None][:1]
        found.sort(key=lambda one: -one.kept)
        return (*self._together(found), *found, *self._dropped(), *self._weighed())

    @cached_property
    def _now(self) -> _Copy:
        return _Copy(self.trial, kept_by_column(self.trial.candidate), estimated=False)

    def _kept(self, copy: _Copy, names: Sequence[str] = ()) -> float:
        """Share of the information kept of some columns, by the request's own weights; of all without names."""
        if len(names) == 1:
            return copy.columns[names[0]]
        weighed = {name: share for name, share in self._shares.items() if name in (names or copy.columns)}
        whole = sum(weighed.values())
        return sum(share * copy.columns[name] for name, share in weighed.items()) / whole if whole else 1.0

    @cached_property
    def _shares(self) -> Mapping[str, float]:
        """Weight of each quasi-identifier times the information that its values hold."""
        made = self.trial.candidate
        held = [log(max(one.n_leaves, 1)) for one in made.index.hierarchies]
        return dict(zip(made.request.quasi_identifiers, (made.weights * held).tolist(), strict=True))

    def _under(self, values: Mapping[str, Any]) -> Trial:
        """The trial under other terms; RequestError if a request may not have them."""
        request = levers.stated(self.trial.request, values)
        candidates = self.trial.candidates
        if any(where.startswith("attributes") and not where.endswith(".weight") for where in values):
            if candidates.recount is None:
                raise RequestError("the data are not at hand", expected="them, to be counted anew")
            candidates = candidates.recount(request)
        recipient = request.recipient(self.trial.recipient.id)
        return replace(self.trial, request=request, recipient=recipient, candidates=candidates)

    def _copy(self, values: Mapping[str, Any]) -> _Copy | None:
        """The copy under other terms, by a brief search where games are large; None where there is none."""
        try:
            trial = self._under(values)
            made = trial.candidates.of(trial.request, trial.recipient, exact=False)
            return _Copy(trial, kept_by_column(made), made.index.brief)
        except _NOT_MADE:
            return None

    def _cost(self, term: str, without: Mapping[str, Any]) -> list[Cost]:
        self.trial.progress(f"without {term}")
        copy = self._copy(without)
        return [] if copy is None else [Cost(term, self._kept(copy), copy.estimated)]

    def _choices(self) -> Iterator[Sequence[Changes]]:
        """Changes of one term of the design each; of those of one term, the first that keeps more and passes counts."""
        request = self.trial.request
        terms, budget, fewest = request.policy.generalization, request.budget, fewest_by_gates(request.policy)
        demands = terms.k_anonymity
        if demands is not None:
            where = f"{_DEMANDS}.k"
            yield [(TermChange(where, demands.k, k),) for k in _between(max(fewest, 2), demands.k)]
            yield from _left_out(f"{_DEMANDS}.suppression_limit", demands.suppression_limit)
            if not demands.local_recoding:
                yield [(TermChange(f"{_DEMANDS}.local_recoding", False, True),)]
        size = terms.minimum_class_size
        yield [(TermChange(f"{_GENERALIZATION}.minimum_class_size", size, one),) for one in _between(fewest, size)]
        if isinstance(budget, GatesBudget) and budget.suppression is not None:
            limits = budget.model_dump(exclude_defaults=True, exclude={"suppression"})
            stated = [TermChange(f"{_BUDGET}.{key}", NOT_STATED, value) for key, value in limits.items()]
            yield [(*stated, TermChange(f"{_BUDGET}.suppression", NOT_STATED, share)) for share in _MORE_LEFT_OUT]
        elif budget is not None:
            if budget.suppression is not None:
                yield from _left_out(f"{_BUDGET}.suppression", budget.suppression)
            if budget.least_records is not None:
                where, least = f"{_BUDGET}.least_records", budget.least_records
                yield [(TermChange(where, least, one),) for one in _between(fewest, least)]
        if terms.adversary == "sequential" and _plays(self.trial):
            yield [(TermChange(f"{_GENERALIZATION}.adversary", "sequential", "one-shot"),)]
        yield from ([(finer,)] for finer in _finer(request).values())

    def _keeping(self, changes: Changes, of: Sequence[str] = ()) -> Keeping | None:
        """A change, if it keeps more of the copy, or of some columns, and passes every gate."""
        self.trial.progress("keeping more: " + ", ".join(one.where.rpartition(".")[2] for one in changes))
        now = self._kept(self._now, of)
        copy = self._copy({one.where: one.value for one in changes})
        if copy is None or self._kept(copy, of) <= now + WORTH_SAYING:
            return None
        try:
            if not copy.trial.judge((), exact=False).passes:
                return None
            judgement = copy.trial.judge((), brief=copy.estimated)
            made = copy.trial.candidates.of(copy.trial.request, copy.trial.recipient, exact=not copy.estimated)
            columns = kept_by_column(made)
        except (*_NOT_MADE, TooManyAttacks):
            return None
        kept = self._kept(replace(copy, columns=columns), of)
        if not judgement.passes or kept <= now + WORTH_SAYING:
            return None
        return Keeping(changes, judgement, now, kept, tuple(of))

    def _together(self, found: Sequence[Keeping]) -> list[Keeping]:
        """Every such change at once, if all pass together and keep more than each alone."""
        if len(found) < 2 or self.trial.candidates.is_large:
            return []
        whole = self._keeping(tuple(change for one in found for change in one.changes))
        return [whole] if whole is not None and whole.kept > found[0].kept + WORTH_SAYING else []

    def _dropped(self) -> list[Keeping]:
        """The column without which the others keep most; sought as one that is free to lose where games are large."""
        names, found = list(self._shares), list[tuple[float, str]]()
        if self.trial.candidates.recount is None or len(names) < 2:
            return []
        gone = ("weight", 0.0) if self.trial.candidates.is_large else ("role", Role.WITHHELD)
        likely = sorted(names, key=lambda one: -self._shares[one])
        for name in likely[: _GAMES_IF_LARGE if self.trial.candidates.is_large else len(names)]:
            others = [one for one in names if one != name]
            copy = self._copy({attribute_path(name, gone[0]): gone[1]})
            gained = 0.0 if copy is None else self._kept(copy, others) - self._kept(self._now, others)
            found.append((gained, name))
        gained, name = max(found)
        if gained <= WORTH_SAYING:
            return []
        role = TermChange(attribute_path(name, "role"), Role.QUASI.value, Role.WITHHELD.value)
        dropped = self._keeping((role,), [one for one in names if one != name])
        return [] if dropped is None else [dropped]

    def _weighed(self) -> list[Keeping]:
        """The column that keeps least for its low weight, at the highest weight of the others."""
        request, columns = self.trial.request, self._now.columns
        if request.policy.generalization.information_loss != "declared":
            return []
        weights = {name: request.attributes[name].weight for name in columns}
        most = max(weights.values())
        for name in sorted(columns, key=lambda one: columns[one]):
            if weights[name] < most and columns[name] < 1 - WORTH_SAYING:
                change = TermChange(attribute_path(name, "weight"), weights[name], most)
                weighed = self._keeping((change,), [name])
                return [] if weighed is None else [weighed]
        return []


def kept_by_column(candidate: Candidate) -> dict[str, float]:
    """Share of the information of each quasi-identifier that a copy keeps, 0 to 1; records left out keep none.

    Raises StageFailed if nothing is released.
    """
    index, released = candidate.index, candidate.released
    kept = dict[str, float]()
    for axis, (name, tree) in enumerate(zip(candidate.request.quasi_identifiers, index.hierarchies, strict=True)):
        sizes: Floats = np.concatenate([tree.sizes, index.safe_harbor[axis].extra_sizes])
        lost = np.log(sizes[candidate.generalization.cells[released, axis]]) / max(log(tree.n_leaves), 1e-12)
        kept[name] = float(candidate.records @ (1.0 - lost) / index.data.total)
    return kept


def _level(made: Candidate, axis: int) -> str:
    """The level at which most records of a copy have a column, in words."""
    released, tree = made.released, made.index.hierarchies[axis]
    levels = released_levels(
        made.index, made.generalization.levels[released, axis], made.generalization.cells[released, axis], axis
    )
    most = int(np.bincount(levels, weights=made.records, minlength=tree.n_levels).argmax())
    attribute = made.request.attributes[made.request.quasi_identifiers[axis]]
    level = most + (attribute.level or 0)
    if level == 0 or most == tree.n_levels - 1:
        return "as collected" if level == 0 else "withheld"
    return level_in_words(attribute.hierarchy, level)


def level_in_words(source: HierarchySource | None, level: int) -> str:
    """A level between the values and the top.

    >>> level_in_words(HierarchySource.model_validate({"prefixes": {"keep": [4, 3]}}), 2)
    'first 3 characters'
    """
    named: list[str] = []
    if source is not None and source.intervals is not None:
        named = [f"bands of {width:,}" for width in source.intervals.widths]
    elif source is not None and source.prefixes is not None:
        named = [f"first {kept} characters" if kept > 1 else "first character" for kept in source.prefixes.keep]
    elif source is not None and source.dates is not None:
        named = [one.value for one in source.dates.levels]
    return named[level - 1] if level <= len(named) else f"level {level}"


def finer_levels(source: HierarchySource | None) -> tuple[str, Levels, Levels] | None:
    """Levels between those that a declared hierarchy has: term, levels now, and with them; None where none is missing.

    >>> finer_levels(HierarchySource.model_validate({"intervals": {"minimum": 0, "maximum": 99, "widths": [20]}}))
    ('intervals.widths', (20,), (5, 20, 40))
    >>> finer_levels(HierarchySource.model_validate({"prefixes": {"keep": [4, 1]}}))
    ('prefixes.keep', (4, 1), (4, 3, 2, 1))
    """
    where, now, after = "", tuple[str | int, ...](), tuple[str | int, ...]()
    if source is None or source.levels_may_cross:
        return None
    if source.intervals is not None:
        where, now = "intervals.widths", source.intervals.widths
        after = tuple(_widths(source.intervals.widths, source.intervals.maximum - source.intervals.minimum + 1))
    elif source.prefixes is not None:
        where, now = "prefixes.keep", source.prefixes.keep
        after = tuple(range(max(source.prefixes.keep, default=0), 0, -1))
    elif source.dates is not None:
        where, now = "dates.levels", tuple(one.value for one in source.dates.levels)
        after = now if _OF_WEEKS & set(now) else tuple(one.value for one in DatePeriod if one.value not in _OF_WEEKS)
    return None if after == now else (where, now, after)


def _widths(widths: Sequence[int], values: int) -> Iterator[int]:
    """Interval widths with one between two that are far apart, and one below the whole."""
    for narrow, wide in pairwise((1, *widths)):
        between = [one for one in range(2 * narrow, wide, narrow) if wide % one == 0]
        if wide >= _WIDE * narrow and between:
            yield min(between, key=lambda one: (one % 5 > 0, abs(log(one / sqrt(narrow * wide)))))
        yield wide
    if widths and values >= _WIDE * widths[-1]:
        yield 2 * widths[-1]


def _terms(trial: Trial) -> Iterator[tuple[str, dict[str, Any]]]:
    """Terms that may cost information, each in words with the values that take it away."""
    request, recipient = trial.request, trial.recipient
    terms = request.policy.generalization
    alike = [one for one, _ in request.sharing(recipient)] or [recipient]
    if _plays(trial):
        stakes, values = recipient.stakes, dict[str, Any]()
        for one in alike:
            cost = _ENOUGH_TO_DETER * max(one.stakes.gain or one.stakes.loss, one.stakes.cost, 1.0)
            place = levers.recipient_path(request, one)
            values[f"{place}.stakes.cost"] = cost
            if one.adversary is not None and one.adversary.exploit_cost is not None:
                values[f"{place}.adversary.exploit_cost"] = cost
        gain = stakes.loss if stakes.gain is None else stakes.gain
        yield f"stakes: gain {gain:g}, cost {stakes.cost:g}, loss {stakes.loss:g}", values
    if terms.k_anonymity is not None:
        yield from _demanded(request)
    if terms.minimum_class_size > 1:
        words = f"minimum class size: {terms.minimum_class_size:,}"
        yield words, {f"{_GENERALIZATION}.minimum_class_size": 1}
    yield from _limits(request)
    if terms.adversary == "sequential" and _plays(trial):
        values = {f"{_GENERALIZATION}.adversary": "one-shot"}
        if terms.adversary_belief is not None:
            values[f"{_GENERALIZATION}.adversary_belief"] = None
        yield "repeated attempts (adversary: sequential)", values
    for name, finer in _finer(request).items():
        yield f"levels of {name}: {finer.current} (tried with {finer.needed})", {finer.where: finer.value}


def _finer(request: ReleaseRequest) -> dict[str, LevelsChange]:
    """Levels that declared hierarchies lack, by quasi-identifier; none where one of them is stated by its number."""
    found = dict[str, LevelsChange]()
    for name in request.quasi_identifiers:
        finer = finer_levels(request.attributes[name].hierarchy)
        if finer is not None and not request.attributes[name].level:
            where, now, after = finer
            found[name] = LevelsChange(attribute_path(name, f"hierarchy.{where}"), _listed(now), _listed(after), after)
    return found


def _demanded(request: ReleaseRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each demand of k-anonymity on a class."""
    demands = request.policy.generalization.k_anonymity
    if demands is None:
        return
    if demands.k > 1:
        yield f"k: {demands.k:,}", {f"{_DEMANDS}.k": 1}
    if demands.people is not None:
        yield f"people of a class: {demands.people:,}", {f"{_DEMANDS}.people": None}
    for field, place, one in demands.of_attributes:
        held = getattr(demands, field)
        left = tuple(each.model_dump() for position, each in enumerate(held) if position != place)
        stated = ", ".join(f"{key} {value:g}" for key, value in one if isinstance(value, float | int) and value)
        yield f"{field} of {one.attribute}: {stated}", {f"{_DEMANDS}.{field}": left}


def _limits(request: ReleaseRequest) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each limit of the whole file: the policy's, or that of the gates that imply it."""
    budget = request.budget
    if budget is None:
        return
    if not isinstance(budget, GatesBudget):
        held = [name for name in BudgetPolicy.model_fields if getattr(budget, name) not in (None, {})]
        for name in held:
            words = name.replace("_", " ")
            said = "" if name == "utility_floor" else f": {getattr(budget, name):,g}"
            gone: dict[str, Any] = {f"{_BUDGET}.{name}": {} if name == "utility_floor" else None}
            yield f"budget, {words}{said}", gone if len(held) > 1 else {_BUDGET: None}
        return
    people = Measure.TRANSPARENT_MAXIMUM, Measure.JOURNALIST_MAXIMUM
    for least, who, measures in (
        (budget.least_records, "records", (Measure.PROSECUTOR_MAXIMUM,)),
        (budget.least_people, "people", people),
    ):
        if least is not None and least > 1:
            gates = [gate for gate in request.policy.gates if gate.measure in measures]
            why = "presence known" if who == "records" and request.policy.presence == "known" else "gates on risk"
            opened = {levers.threshold_path(request, one): 1.0 for one in gates}
            yield f"{why}: at least {least:,} {who} a class", opened


def _plays(trial: Trial) -> bool:
    """Whether the method weighs stakes."""
    return METHODS[trial.request.method_for(trial.recipient)].stakes != "none"


def _between(least: int, now: int) -> list[int]:
    """Sizes below the present one, from the least, on a logarithmic scale."""
    if least >= now:
        return []
    steps = (ceil(least * (now / least) ** (step / _STEPS) - 1e-9) for step in range(_STEPS))
    return [one for one in dict.fromkeys(steps) if one < now]


def _left_out(where: str, now: float) -> Iterator[Sequence[Changes]]:
    shares = [share for share in _MORE_LEFT_OUT if share > now]
    if shares:
        yield [(TermChange(where, now, share),) for share in shares]


def _listed(levels: Sequence[object]) -> str:
    return f"[{', '.join(map(str, levels))}]"
