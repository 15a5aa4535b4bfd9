"""What would open the closed gates of a blocked release, as far as its record tells.

Nothing is tried here, so that the first page and the terminal have it at once; ``explain`` tries changes.
"""

from collections.abc import Iterator

from tasks.assessments.registry import ATTRIBUTE, COMBINED, LINKAGE, SEQUENTIAL, SINGLING_OUT
from tasks.decision.gates import AGREEMENT_IN_FORCE, STAGES_FINISHED, VALIDATION_PASSED
from tasks.decision.record import DecisionRecord
from tasks.request.model import NUMERIC, Measure, Role

_CONDITIONS = {
    VALIDATION_PASSED: "Correct the data, or withhold the columns that failed a check.",
    AGREEMENT_IN_FORCE: "Name an agreement that is in force.",
    STAGES_FINISHED: "Remove the cause that a stage did not finish, and release again.",
}
_IN_GROUPS = frozenset(
    one for one in Measure if one.value.startswith(("transparent.", "prosecutor.", "journalist.", "estimated."))
) | {Measure.SMALLEST_CLASS}
_LARGER = "Larger groups to hide in: a higher policy.generalization.minimum_class_size, or another method."
_DETER = "A higher penalty or a higher rate of detection in the agreement deters repeated attempts."
_SHARED = "Withhold or group the sensitive columns whose values the records of a class share."

def remedies(record: DecisionRecord) -> tuple[str, ...]:
    """A sentence for each kind of closed gate, that on other columns first; empty where none is known."""
    closed = frozenset(gate.id for gate in record.gates if not gate.passed and not gate.overridden)
    return tuple(_remedies(record, closed))


def _remedies(record: DecisionRecord, closed: frozenset[str]) -> Iterator[str]:
    yield from (sentence for gate, sentence in _CONDITIONS.items() if gate in closed)
    if closed & (LINKAGE.gate_measures | SINGLING_OUT.gate_measures | COMBINED.gate_measures):
        yield from _of_columns(record)
    if closed & _IN_GROUPS:
        yield _LARGER
    if closed & SEQUENTIAL.gate_measures:
        yield _DETER
    if closed & ATTRIBUTE.gate_measures:
        yield _SHARED


def _of_columns(record: DecisionRecord) -> Iterator[str]:
    """Sentences on columns beside the quasi-identifiers that an attacker is assumed to know."""
    beside = [one for one in record.fields if one.released and one.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    unstated = [one.name for one in beside if one.known_probability is None]
    if unstated:
        yield (
            f"State “known_probability: 0” under each of {', '.join(unstated)} that nobody outside can know: where the "
            "request does not say so, gates assume that an attacker may know it."
        )
    known = [one for one in beside if one.known_probability != 0]
    if known:
        names, numbers = ", ".join(one.name for one in known), [one.name for one in known if one.type in NUMERIC]
        listed = ", ".join(numbers)
        mask = f", or mask {listed} in large groups (masking: attributes: [{listed}], method: mdav, k: 200)"
        yield f"Withhold those of {names} that somebody can know{mask if numbers else ''}."
