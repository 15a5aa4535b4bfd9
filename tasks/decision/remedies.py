"""Remedies for the closed gates of a blocked release, as far as its record reveals them.

Nothing is tried here, so that the first page and the terminal have it at once; ``explain`` tries changes.
"""

from collections.abc import Iterator, Sequence

from tasks.decision.gates import AGREEMENT_IN_FORCE, EARLIER_COPIES, STAGES_FINISHED, VALIDATION_PASSED
from tasks.decision.record import DecisionRecord, GateResult
from tasks.request.model import NUMERIC, Measure, Role

_CONDITIONS = {
    VALIDATION_PASSED: "Correct the data, or withhold the columns that failed a check.",
    AGREEMENT_IN_FORCE: "Name an agreement that is in force.",
    STAGES_FINISHED: "Remove the cause that a stage did not finish, and release again.",
    EARLIER_COPIES: "Where another copy was never delivered, or is destroyed, an officer may revoke it (releasegate "
    "revoke); a request whose purpose says so is a new one and is decided anew, while this one stays decided.",
}


def _measures(*prefixes: str) -> frozenset[str]:
    """By their names: the assessments themselves take a second to import, which a command's process has no use for."""
    return frozenset(one for one in Measure if one.value.startswith(tuple(f"{prefix}." for prefix in prefixes)))


_BY_COLUMNS = _measures("linkage", "singling_out", "combined")
_IN_GROUPS = _measures("transparent", "prosecutor", "journalist", "estimated") | {Measure.SMALLEST_CLASS}
_REPEATED = _measures("sequential")
_BY_CLASSES = _measures("attribute")
_LARGER = "Larger groups to hide in: a higher policy.generalization.minimum_class_size, or another method."
_KEEP = (
    "More information is kept by another method (no-attack-remainder, where it is not the method yet), or where rare "
    "values are grouped in the hierarchies."
)
_DETER = "A higher penalty or a higher rate of detection in the agreement deters repeated attempts."


def remedies(record: DecisionRecord) -> tuple[str, ...]:
    """A sentence for each kind of closed gate, columns first; only of conditions where no risk was measured."""
    closed = [gate for gate in record.gates if not gate.passed and not gate.overridden]
    conditions = (sentence for gate, sentence in _CONDITIONS.items() if any(one.id == gate for one in closed))
    return (*conditions, *_remedies(record, [gate for gate in closed if gate.measured is not None]))


def _remedies(record: DecisionRecord, closed: Sequence[GateResult]) -> Iterator[str]:
    ids = frozenset(gate.id for gate in closed)
    if revealing := dict.fromkeys(name for gate in closed for name in gate.columns):
        yield _of_revealing(list(revealing))
    if ids & _BY_COLUMNS:
        yield from _of_columns(record)
    if any(gate.id in _IN_GROUPS and not (gate.columns and _passes_alone(gate)) for gate in closed):
        yield _LARGER
    if Measure.INFORMATION_KEPT in ids:
        yield _KEEP
    if ids & _REPEATED:
        yield _DETER
    if ids & _BY_CLASSES:
        yield _of_classes(record)


def _passes_alone(gate: GateResult) -> bool:
    """Whether the figure by the quasi-identifiers alone would pass."""
    if gate.alone is None:
        return False
    return gate.alone <= gate.threshold if gate.comparison == "at most" else gate.alone >= gate.threshold


def _of_revealing(names: Sequence[str]) -> str:
    """A sentence on released columns that reveal values of quasi-identifiers."""
    one = len(names) == 1
    made = "make it a quasi-identifier with a hierarchy" if one else "make them quasi-identifiers with hierarchies"
    return (
        f"{' and '.join(names)} {'reveals' if one else 'reveal'} generalized values, so that groups are smaller than "
        f"they seem: withhold {'it' if one else 'them'} (role: withheld), or {made}."
    )


def _of_columns(record: DecisionRecord) -> Iterator[str]:
    """A sentence on the columns besides the quasi-identifiers that an attacker is assumed to know."""
    beside = [one for one in record.fields if one.released and one.role in (Role.SENSITIVE, Role.INSENSITIVE)]
    known = [one for one in beside if one.known_probability != 0]
    masked = [one.name for one in known if one.treatment.startswith("masked")]
    numbers = [one.name for one in known if one.type in NUMERIC and one.name not in masked]
    ways = []
    if any(one.known_probability is None for one in known):
        ways.append("state “known_probability: 0” for each that nobody outside can know (unstated, it counts as known)")
    if numbers:
        written = f"masking: [{{attributes: [{', '.join(numbers)}], method: mdav, k: 200}}]"
        ways.append(f"mask numbers that somebody can know, in large groups (“{written}”)")
    if masked:
        ways.append(f"take a larger k for {', '.join(masked)}, which is not enough as masked")
    ways.append("withhold the others (role: withheld)")
    if known:
        yield f"Of {', '.join(one.name for one in known)}: {'; '.join(ways)}."


def _of_classes(record: DecisionRecord) -> str:
    """A sentence on sensitive columns whose values classes share."""
    columns = record.further.get("attribute", {}).get("columns", ())
    names = [one["column"] for one in columns if one["disclosed_records"]]
    shared = ", ".join(names) if names else "sensitive columns"
    return f"Classes disclose values of {shared}: withhold what they disclose, or give it in wider groups."
