"""Withholding released columns, or excusing them: those behind the closed gates of a blocked release."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tasks.assessments.attribute.assessment import disclosed_records
from tasks.assessments.columns.facts import ColumnsFact
from tasks.assessments.events.assessment import disclosed_events
from tasks.assessments.linkage.holdings import known_numbers
from tasks.assessments.registry import ATTRIBUTE, COMBINED, EVENTS, SINGLING_OUT
from tasks.candidate.candidate import Candidate
from tasks.core.errors import DataError, RequestError, StageFailed
from tasks.decision.explain import levers
from tasks.decision.explain.estimates import TooManyAttacks
from tasks.decision.explain.levers import ACCEPTED, attribute_path
from tasks.decision.explain.result import IN_VAIN, Flip, Judgement, NoFlip, TermChange
from tasks.decision.explain.trial import TOO_MANY_ATTACKS, Trial
from tasks.microdata.coded import knowable_columns
from tasks.request.gate import masked_together
from tasks.request.model import NUMERIC, MaskingName, Measure, Role, ValueType

_BY_KNOWN = {Measure.LINKED_MASKED} | SINGLING_OUT.gate_measures | COMBINED.gate_measures
_ROUNDS = 3
_OTHERS = "Gates are closed that no column is behind."
_ANSWERED = "What the whole released row leaves closes a gate then."
_NAMED = "Not tried: other terms of the request name them, which a request may not have of withheld columns."


def column_changes(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of withholding each column behind the closed gates, or else as few of them as it takes, and of an excuse.

    None where the release passes, nothing is released, or no closed gate is on a column.
    """
    if trial.passes or not now.figures:
        return []
    behind = _behind(trial, now, ())
    names = _all_of(behind)
    results: list[Flip | NoFlip] = []
    if names and not all(behind.values()):
        results = [_unchanged(trial, names, "role", _OTHERS)]
    elif names:
        alone = [name for name in names if all(name in found for found in behind.values())]
        try:
            results = _withheld(trial, names, alone)
        except TooManyAttacks:
            results = [_unchanged(trial, names, "role", TOO_MANY_ATTACKS)]
        if not trial.request.masking and behind.keys() & _BY_KNOWN and (flip := _masking(trial, names)):
            results.append(flip)
    if behind.keys() == {Measure.COLUMNS_UNPLACED}:
        unplaced = trial.candidates.columns(trial.candidate).unplaced
        results.append(_accepted(trial, [one.name for one in unplaced]))
    return results


def _closed(now: Judgement) -> Iterator[tuple[Measure, float]]:
    """Closed gates that judge a measured figure, with their thresholds."""
    for gate in now.gates:
        if not gate.passed and gate.measured is not None and gate.comparison != "is":
            yield Measure(gate.id), gate.threshold


def _behind(trial: Trial, now: Judgement, gone: Sequence[str]) -> dict[Measure, tuple[str, ...]]:
    """Columns behind each closed gate where some are withheld, as ``now`` has been judged."""
    request = levers.apply(trial.request, _changes(trial, gone, "role", Role.WITHHELD.value))
    candidate = trial.candidates.of(request, request.recipient(trial.recipient.id))
    columns = trial.candidates.columns(candidate)
    by_rows = EVENTS.figures(candidate) if EVENTS.applies(request) else {}
    return {
        measure: tuple(
            _of_rows(candidate, measure)
            if by_rows.get(measure) == now.figures[measure]
            else _at_fault(candidate, columns, now, measure, threshold)
        )
        for measure, threshold in _closed(now)
    }


def _of_rows(candidate: Candidate, measure: Measure) -> Iterator[str]:
    """Attributes of rows that a closed gate is on: those that classes disclose, or that others may know."""
    request = candidate.request
    names = disclosed_events(candidate) if measure in ATTRIBUTE.gate_measures else request.known_events
    return (name for name in names if request.attributes[name].type is not ValueType.DATE)


def _all_of(behind: Mapping[Measure, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for found in behind.values() for name in found))


def _at_fault(
    candidate: Candidate, columns: ColumnsFact, now: Judgement, measure: Measure, threshold: float
) -> Iterator[str]:
    """Released columns that a closed gate is on; dates left out, whose parts would have to be read anew."""
    request = candidate.request
    found: Iterable[str] = ()
    if measure is Measure.COLUMNS_UNPLACED:
        found = (one.name for one in columns.unplaced)
    elif columns.whole_row.get(measure.value) == now.figures[measure]:
        found = columns.revealing(request.quasi_identifiers)
    elif measure in ATTRIBUTE.gate_measures:
        found = disclosed_records(candidate, measure, threshold)[1]
    elif measure is Measure.LINKED_MASKED:
        found = known_numbers(request, candidate.prepared)
    elif measure in SINGLING_OUT.gate_measures | COMBINED.gate_measures:
        found = knowable_columns(request)
    for name in found:
        if name in request.as_they_are and request.attributes[name].type is not ValueType.DATE:
            yield name


def _withheld(trial: Trial, names: Sequence[str], alone: Sequence[str]) -> list[Flip | NoFlip]:
    """Each column that may help ``alone``, or else as few of all as were found to be enough."""
    flips = [flip for name in alone if (flip := _withholding(trial, [name]))]
    if flips:
        return [*flips]
    together, needed = _enough(trial, list(names))
    if together is None:
        return [_unchanged(trial, names, "role", IN_VAIN if _may_be_withheld(trial, names) else _NAMED)]
    with suppress(TooManyAttacks):
        for name in tuple(needed):
            fewer = [one for one in needed if one != name]
            if len(fewer) > 1 and (flip := _withholding(trial, fewer)):
                needed, together = fewer, flip
    return [together]


def _may_be_withheld(trial: Trial, names: Sequence[str]) -> bool:
    """Whether the other terms of the request stay valid."""
    with suppress(RequestError):
        trial.changed(_changes(trial, names, "role", Role.WITHHELD.value))
        return True
    return False


def _enough(trial: Trial, names: list[str]) -> tuple[Flip | None, list[str]]:
    """The change of withholding some columns, and then those that gates are on where they are withheld."""
    for _ in range(_ROUNDS):
        if len(names) > 1 and (flip := _withholding(trial, names)):
            return flip, names
        try:
            left = trial.judge((*trial.renewal, *_changes(trial, names, "role", Role.WITHHELD.value)))
            behind = _behind(trial, left, names)
        except (DataError, RequestError, StageFailed):
            break
        more = [name for name in _all_of(behind) if name not in names]
        if not more or not all(behind.values()):
            break
        names = [*names, *more]
    return None, names


def _withholding(trial: Trial, names: Sequence[str]) -> Flip | None:
    """The change of withholding some columns; None where it does not change the verdict, or other terms need them."""
    listed = " and ".join(names)
    changes = _changes(trial, names, "role", Role.WITHHELD.value)
    return _changed(trial, f"role{'s' if len(names) > 1 else ''} of {listed}", (*trial.renewal, *changes))


@dataclass(frozen=True)
class _Masked(TermChange):
    """Maskings of a request that has none."""

    maskings: tuple[Mapping[str, Any], ...] = ()

    @property
    def value(self) -> object:
        """The maskings as a request holds them."""
        return self.maskings


def _masking(trial: Trial, names: Sequence[str]) -> Flip | None:
    """The change of masking the numbers among some columns, each by itself: a record may lack one and have another."""
    request = trial.request
    numeric = [name for name in names if request.attributes[name].type in NUMERIC]
    k = masked_together(int(trial.candidate.records.sum()))
    maskings = tuple({"attributes": (name,), "method": MaskingName.MDAV.value, "k": k} for name in numeric)
    if not maskings:
        return None
    written = ", ".join(f"{{attributes: [{name}], method: mdav, k: {k}}}" for name in numeric)
    change = _Masked("masking", levers.NOT_STATED, f"[{written}]", maskings)
    return _changed(trial, f"masking of {' and '.join(numeric)}", (*trial.renewal, change))


def _accepted(trial: Trial, names: Sequence[str]) -> Flip | NoFlip:
    changes = (*trial.renewal, *_changes(trial, names, "excused", ACCEPTED))
    found = _changed(trial, f"who accepts the release of {' and '.join(names)}", changes)
    return found or _unchanged(trial, names, "excused", _ANSWERED)


def _changed(trial: Trial, lever: str, changes: tuple[TermChange, ...]) -> Flip | None:
    trial.progress(lever)
    try:
        if not trial.reversed(trial.judge(changes, exact=False)):
            return None
        judgement = trial.judge(changes)
    except (DataError, RequestError):
        return None
    return Flip(lever, changes, judgement) if trial.reversed(judgement) else None


def _changes(trial: Trial, names: Sequence[str], key: str, needed: str) -> tuple[TermChange, ...]:
    return tuple(TermChange(attribute_path(name, key), _now(trial, name, key), needed) for name in names)


def _now(trial: Trial, name: str, key: str) -> str:
    return trial.request.attributes[name].role.value if key == "role" else "nobody"


def _unchanged(trial: Trial, names: Sequence[str], key: str, why: str) -> NoFlip:
    lever = {"role": "role", "excused": "who accepts the release"}[key]
    now = _now(trial, names[0], key)
    return NoFlip(f"{lever} of {', '.join(names)}", attribute_path(names[0], key), now, now, now, why)
