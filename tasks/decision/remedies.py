"""What would open the closed gates of a blocked release, as far as its record tells.

Nothing is tried here, so that the first page and the terminal have it at once; ``explain`` tries changes.
"""

from collections.abc import Iterator

from tasks.decision.gates import AGREEMENT_IN_FORCE, STAGES_FINISHED, VALIDATION_PASSED
from tasks.decision.record import DecisionRecord
from tasks.request.model import NUMERIC, Measure, Role

_CONDITIONS = {
    VALIDATION_PASSED: "Correct the data, or withhold the columns that failed a check.",
    AGREEMENT_IN_FORCE: "Name an agreement that is in force.",
    STAGES_FINISHED: "Remove the cause that a stage did not finish, and release again.",
}


def _measures(*prefixes: str) -> frozenset[str]:
    """By their names: the assessments themselves take a second to import, which a command's process has no use for."""
    return frozenset(one for one in Measure if one.value.startswith(tuple(f"{prefix}." for prefix in prefixes)))


_BY_COLUMNS = _measures("linkage", "singling_out", "combined")
_IN_GROUPS = _measures("transparent", "prosecutor", "journalist", "estimated") | {Measure.SMALLEST_CLASS}
_REPEATED = _measures("sequential")
_BY_CLASSES = _measures("attribute")
_LARGER = "Larger groups to hide in: a higher policy.generalization.minimum_class_size, or another method."
_DETER = "A higher penalty or a higher rate of detection in the agreement deters repeated attempts."
_SHARED = "Withhold or group the sensitive columns whose values the records of a class share."


def remedies(record: DecisionRecord) -> tuple[str, ...]:
    """A sentence for each kind of closed gate, columns first; only of conditions where no risk was measured."""
    closed = frozenset(gate.id for gate in record.gates if not gate.passed and not gate.overridden)
    measured = closed.intersection(gate.id for gate in record.gates if gate.measured is not None)
    return (*(sentence for gate, sentence in _CONDITIONS.items() if gate in closed), *_remedies(record, measured))


def _remedies(record: DecisionRecord, closed: frozenset[str]) -> Iterator[str]:
    if closed & _BY_COLUMNS:
        yield from _of_columns(record)
    if closed & _IN_GROUPS:
        yield _LARGER
    if closed & _REPEATED:
        yield _DETER
    if closed & _BY_CLASSES:
        yield _SHARED


def _of_columns(record: DecisionRecord) -> Iterator[str]:
    """A sentence on the columns beside the quasi-identifiers that an attacker is assumed to know."""
    beside = [one for one in record.fields if one.released and one.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    known = [one for one in beside if one.known_probability != 0]
    ways = []
    if any(one.known_probability is None for one in known):
        ways.append("state “known_probability: 0” for each that nobody outside can know (unstated, it counts as known)")
    if any(one.type in NUMERIC for one in known):
        ways.append("mask numbers that somebody can know, in large groups (masking: method mdav, k: 200)")
    if known:
        yield f"Of {', '.join(one.name for one in known)}: {'; '.join([*ways, 'withhold the others'])}."
